//! One-to-few: the program is `odm_examples::one_to_few`, in `examples/src/one_to_few.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::one_to_few()
}
