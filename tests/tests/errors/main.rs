//! Errors as an application sees them, retries, and how other systems fail.
#![allow(missing_docs)]

mod after_the_write;
mod concerns;
mod contention;
mod errors;
mod failures;
mod faults;
mod retries;
mod sharded;

use odm_tests::fixtures::{copying, models};

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
