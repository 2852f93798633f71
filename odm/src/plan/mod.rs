//! What a write touches, worked out from its operators.
//!
//! Invariant: nothing here is asynchronous, and nothing asks a server.

pub(crate) mod affected;
pub(crate) mod condition;
pub(crate) mod fields;
pub(crate) mod keep;
pub(crate) mod links;
pub(crate) mod operation;
pub(crate) mod operators;
pub(crate) mod prepare;
pub(crate) mod touches;
pub(crate) mod upsert;
pub(crate) mod write;
