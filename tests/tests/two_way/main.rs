//! Two-way references: both sides agree, after any write, crash or out-of-band write.
#![allow(missing_docs)]

mod linked_versions;
mod meetings;
mod named_before;
mod reconciled_links;
mod two_way;

use odm_tests::fixtures::{links, stopped};

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
