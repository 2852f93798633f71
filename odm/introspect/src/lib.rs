//! Reads the design of a database from its documents.
//!
//! [`design::Design`] is the result. It may change in any release: the program `odm` alone uses it.

pub mod advice;
pub mod design;
pub mod kind;
pub mod sketch;
