//! Transactions and sessions, and what meets in one of them.
#![allow(missing_docs)]

mod hooks;
mod passed_over;
mod sessions;
mod sharded;
mod together;
mod transactions;

use odm_tests::fixtures::{copying, models};

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
