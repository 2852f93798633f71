//! Outlier: the program is `odm_examples::outlier`, in `examples/src/outlier.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::outlier()
}
