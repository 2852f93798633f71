//! The declarations of the derives, as constants: metadata, shapes, paths, sizes, values, references; and the bounds.
//!
//! Invariant: nothing here asks a server, and nothing knows a handle.

pub(crate) mod asserts;
pub(crate) mod average;
pub(crate) mod bucket;
pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod default;
pub(crate) mod document;
pub(crate) mod elements;
pub mod geo;
pub(crate) mod graph;
pub(crate) mod key;
pub(crate) mod names;
pub(crate) mod path;
pub(crate) mod reference;
pub(crate) mod shape;
pub(crate) mod size;
pub(crate) mod value;
pub(crate) mod visit;
