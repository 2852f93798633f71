//! Values derived of children and of the items of buckets: subsets, computed fields, summaries.
#![allow(missing_docs)]

mod blocked;
mod buckets;
mod buckets_beside;
mod buckets_true;
mod counted;
mod first;
mod late_parents;
mod linked;
mod subsets;

use odm_tests::fixtures::copying;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
