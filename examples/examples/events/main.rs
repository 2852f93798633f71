//! Events of four kinds: the program is `odm_examples::events`, in `examples/src/events.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::events::start()
}
