//! What a write touches, worked out from its operators.
//!
//! Invariant: nothing here is asynchronous, and nothing asks a server.

pub(crate) mod changes;
pub(crate) mod concern;
pub(crate) mod condition;
pub(crate) mod fields;
pub(crate) mod keep;
pub(crate) mod links;
pub(crate) mod operators;
pub(crate) mod raw;
pub(crate) mod upsert;
