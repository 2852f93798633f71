//! Plans and their application: collections, validators, indexes, collations.
#![allow(missing_docs)]

mod collations;
mod databases;
mod expiry;
mod kinds;
mod partial;
mod refused;
mod replace;
mod schema;
mod search;
mod shard_keys;
mod sharded;
mod shared_null;
mod wildcards;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
