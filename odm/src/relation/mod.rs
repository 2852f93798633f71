//! Keeps references true: which there are, whether their targets exist, and that both sides of a two-way one agree.
//!
//! Everything here works on the constants of documents, on raw collections and on BSON, so that it is compiled once. The
//! typed operations say what they write, and hand over how.

pub(crate) mod db;
pub(crate) mod graph;
pub(crate) mod remove;
pub(crate) mod rule;

pub(crate) use db::Db;
pub(crate) use graph::{Edge, Graph};
pub(crate) use remove::remove;
pub(crate) use rule::has_rules;
