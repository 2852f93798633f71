//! References that go one way: their targets exist, whatever is written, and whatever fails.
#![allow(missing_docs)]

mod beside;
mod gone;
mod integrity;
mod moved;
mod references;
mod same;
mod taken_back;
mod three;
mod undone;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
