//! Audit, repair, reconciler and workers; the command line and the spans by which operations are watched.
#![allow(missing_docs)]

mod audit;
mod cli;
mod leases;
mod reconciler;
mod sensitive;
mod standalone;
mod tracing;
mod watching;

use odm_tests::fixtures::{copying, models};

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
