//! The code that comes out: structs with odm's attributes, which read every document of the sample and write it back.
//!
//! [`links`] says which references and copies are declared, [`build`] makes types, [`print`] their text. [`check`] interprets the types
//! on documents, since there is no compiler, and [`against`] compares them with the structs that there are.

mod bounds;
mod build;
mod indexes;
mod links;
pub mod model;
mod names;
mod print;
mod remarks;
mod unify;

use crate::design::Design;
pub use print::File;

/// The files of the models: `mod.rs`, and one of each collection.
pub fn write(design: &Design) -> Vec<File> {
    print::files(&build::models(design), design)
}
