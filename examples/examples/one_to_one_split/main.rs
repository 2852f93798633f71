//! One-to-one, split: the program is `odm_examples::one_to_one_split`, in `examples/src/one_to_one_split.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::one_to_one_split()
}
