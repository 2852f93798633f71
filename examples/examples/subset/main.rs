//! Subset: the program is `odm_examples::subset`, in `examples/src/subset.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::subset()
}
