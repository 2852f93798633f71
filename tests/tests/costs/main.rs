//! What each operation costs, in commands and documents; and the programs of the guide.
#![allow(missing_docs)]

mod commands;
mod costs;
mod designs;
mod north_star;
mod shapes;

use odm_tests::fixtures::models;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
