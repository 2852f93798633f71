//! `cargo xtask`: see the library of this package.

fn main() -> std::process::ExitCode {
    xtask::main()
}
