//! Two-way references: the program is `odm_examples::two_way`, in `examples/src/two_way.rs`.

fn main() -> std::process::ExitCode {
    odm_examples::start::two_way()
}
