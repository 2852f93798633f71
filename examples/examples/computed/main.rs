//! Computed fields: the program is `odm_examples::computed`, in `examples/src/computed.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::computed()
}
