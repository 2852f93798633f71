//! Handles of one tenant, by a model: whatever is asked of one, the documents of other tenants make no difference.
#![allow(missing_docs)]

mod broadcasts;
mod cross_check;
mod designs;
mod faults;
mod load;
mod moves;
mod reference;
mod sharded_shop;
mod statements;
mod targeting;
mod world;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
