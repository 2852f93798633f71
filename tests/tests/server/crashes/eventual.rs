//! Copies that are declared to follow behind the write.

super::models::declare!(, sync = eventual);

#[path = "rows.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "the same writes of documents that are declared in another way"
)]
pub mod rows;
