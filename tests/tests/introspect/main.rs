//! The design of databases, read from their documents: of other people's databases, of which the design is known.
#![allow(missing_docs)]

mod advice;
mod reading;
mod sets;
mod truth;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
