//! The crash matrix: writes by a process that dies after each of its commands.
#![allow(missing_docs)]

mod dropped;
mod ends;
mod matrix;
mod passed_over;

use odm_tests::fixtures::{claims, links};

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
