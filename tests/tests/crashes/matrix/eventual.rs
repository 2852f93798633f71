//! Copies that are declared to follow behind the write.

use odm::prelude::*;
pub use odm_tests::fixtures::edges::eventual::*;

#[path = "rows.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "the same writes of documents that are declared in another way"
)]
pub mod rows;
