//! Fields that are copied to other documents, and kept in sync.
#![allow(missing_docs)]

mod copies;
mod copies_declared;
mod copies_meet;
mod fan_out;
mod hot_documents;
mod parent_entries;

use odm_tests::fixtures::{copying, stopped};

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
