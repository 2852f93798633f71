//! The plan of an operation: its writes as plain data, and the fields, references and derived values that they touch.
//!
//! Invariant: nothing here is asynchronous, and nothing asks a server.

pub(crate) mod images;
pub(crate) mod keep;
pub(crate) mod links;
pub(crate) mod modes;
pub(crate) mod operation;
pub(crate) mod operators;
pub(crate) mod outcome;
pub(crate) mod put_back;
pub(crate) mod repeated;
pub(crate) mod steps;
pub(crate) mod targets;
pub(crate) mod touches;
pub(crate) mod upsert;
