//! A reference in the child: the program is `odm_examples::reference_in_child`, in `examples/src/reference_in_child.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::reference_in_child()
}
