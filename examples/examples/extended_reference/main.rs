//! Extended reference: the program is `odm_examples::extended_reference`, in `examples/src/extended_reference.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::extended_reference()
}
