//! Steps from one version of an application's documents to the next.
#![allow(missing_docs)]

mod fields;
mod follow;
mod records;
mod runs;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
