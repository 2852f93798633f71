//! Random operations, compared with a model in memory.
#![allow(missing_docs)]

mod parents_follow;
mod random_copies;
mod second_client;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
