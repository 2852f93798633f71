//! The documents that the examples in the documentation of `odm` use. They are compiled once, not for each of 450 examples.
//!
//! The package is not beside its files: cargo leaves a folder with a package of its own out of the package around it, and these files
//! are shown in the documentation of the library.

#![allow(missing_docs)]

#[path = "../../odm/doc/bucket.rs"]
pub mod bucket;
#[path = "../../odm/doc/model.rs"]
pub mod model;
#[path = "../../odm/doc/request.rs"]
pub mod request;
#[path = "../../odm/doc/tour.rs"]
pub mod tour;
