//! Keys that are unique over all shards and shard keys, `unique(global)`, and their claims.
#![allow(missing_docs)]

mod declared;
mod deletions;
mod meetings;
mod operations;
mod races;
mod upkeep;

use odm_tests::fixtures::claims;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
