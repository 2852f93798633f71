//! Values on their way through the derives, BSON and a server: numbers, equality, bounds, and what other clients store.
#![allow(missing_docs)]

mod bounds;
mod derive;
mod edges;
mod equality;
mod faults;
mod native;
mod plain;
mod roundtrip;
mod rules;
mod stored;
mod variants;
mod zoned;

use odm_tests::fixtures::models;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
