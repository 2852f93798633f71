//! Programs of two versions on one database, and what is declared over documents that are there already.
#![allow(missing_docs)]

mod declared_later;
mod older;
mod rules;
mod snapshots_later;
mod two_versions;

use odm_tests::fixtures::stopped;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
