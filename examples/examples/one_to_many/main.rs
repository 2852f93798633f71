//! One-to-many: the program is `odm_examples::one_to_many`, in `examples/src/one_to_many.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::one_to_many()
}
