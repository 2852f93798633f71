//! One-to-squillions: the program is `odm_examples::one_to_squillions`, in `examples/src/one_to_squillions.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::one_to_squillions()
}
