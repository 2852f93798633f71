//! The documents that the examples in the documentation of `odm` use. They are compiled once, not for each of 450 examples.

#![allow(missing_docs)]

pub mod bucket;
pub mod model;
pub mod request;
pub mod tour;
