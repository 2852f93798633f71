//! Two-way references: both sides agree, whoever writes, dies or writes past the library.
#![allow(missing_docs)]

mod linked_versions;
mod meetings;
mod reconciled_links;
mod two_way;

use odm_tests::fixtures::{links, stopped};
