//! Deletions with what they mean for other documents, and operations on more documents than one transaction changes.
#![allow(missing_docs)]

mod deletion;
mod detached;
mod kept;
mod memory;
mod parts;
mod restored;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
