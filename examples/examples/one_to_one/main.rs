//! One-to-one: the program is `odm_examples::one_to_one`, in `examples/src/one_to_one.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::one_to_one()
}
