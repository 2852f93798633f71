//! Tree: the program is `odm_examples::tree`, in `examples/src/tree.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::tree()
}
