//! Reads the design of a database from its documents.
//!
//! [`design::Design`] is the result. It may change in any release: the program `odm` alone uses it.

pub mod advice;
pub mod code;
pub mod design;
mod infer;
pub mod kind;
pub mod no_values;
pub mod read;
pub mod report;
pub mod shape;
pub mod sketch;

pub use infer::introspect;
