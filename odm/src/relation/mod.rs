//! Keeps references true: which there are, whether their targets exist, and that both sides of a two-way one agree.
//!
//! Everything here works on the constants of documents, on raw collections and on BSON, so that it is compiled once. The
//! typed operations say what they write, and hand over how.

pub(crate) mod graph;

pub(crate) use graph::{Edge, Graph};
