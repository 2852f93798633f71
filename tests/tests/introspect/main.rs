//! The design of databases, read from their documents: of other people's databases, of which the design is known.
#![allow(missing_docs)]

mod advice;
mod demo;
mod followed;
mod interrupted;
mod patterns;
mod reading;
mod sets;
mod truth;

fn main() -> std::process::ExitCode {
    // A process that a test has started.
    if let Ok(database) = std::env::var(interrupted::DATABASE) {
        return interrupted::process(&database);
    }
    odm_tests::harness::main()
}
