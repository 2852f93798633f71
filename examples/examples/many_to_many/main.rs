//! Many-to-many: the program is `odm_examples::many_to_many`, in `examples/src/many_to_many.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::many_to_many()
}
