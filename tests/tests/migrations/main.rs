//! Steps from one version of an application's documents to the next.
#![allow(missing_docs)]

mod blog;
mod cookbook;
mod fields;
mod follow;
mod records;
mod runs;
mod versions;

fn main() -> std::process::ExitCode {
    // A process that a test has started.
    if let Ok(role) = std::env::var(blog::ROLE) {
        return blog::process(&role);
    }
    odm_tests::harness::main()
}
