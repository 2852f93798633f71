//! Copies: the program is `odm_examples::copies`, in `examples/src/copies.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::copies()
}
