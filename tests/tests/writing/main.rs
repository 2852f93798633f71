//! Inserts, updates, replacements, upserts and bulk writes of documents, seen from the database.
#![allow(missing_docs)]

mod builders;
mod bulk;
mod bulk_upserts;
mod computing;
mod deferred;
mod exact_ids;
mod input;
mod inserted_parts;
mod items;
mod items_in_items;
mod items_that_meet_nothing;
mod new_documents;
mod one_by_condition;
mod operations;
mod options;
mod patches;
mod racing_upserts;
mod replacing;
mod scoped;
mod scoped_texts;
mod several;
mod trees;
mod upserts;
mod versions;

use odm_tests::fixtures::{copying, models};

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
