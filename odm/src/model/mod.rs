//! Declarations of the derives, and what follows of them without a server: metadata as constants, shapes, paths, sizes, values,
//! references.
//!
//! Invariant: nothing here asks a server, and nothing knows a handle.

pub(crate) mod asserts;
pub(crate) mod average;
pub(crate) mod checked;
pub(crate) mod claims;
pub(crate) mod compare;
pub(crate) mod copy;
pub(crate) mod date_text;
pub(crate) mod default;
pub(crate) mod deferred;
pub(crate) mod described;
pub(crate) mod document;
pub(crate) mod elements;
pub(crate) mod encode;
pub(crate) mod field;
pub mod geo;
pub(crate) mod if_serde;
pub(crate) mod itself;
pub(crate) mod key;
pub(crate) mod level;
pub(crate) mod meta;
pub mod native;
pub(crate) mod normalize;
pub(crate) mod numbered;
pub(crate) mod numeric;
pub(crate) mod own_fields;
pub(crate) mod path;
pub(crate) mod reference;
pub(crate) mod sensitive;
pub(crate) mod several;
pub(crate) mod shape;
pub(crate) mod size;
pub(crate) mod stored;
pub(crate) mod sum;
pub(crate) mod tree;
pub(crate) mod types;
pub(crate) mod value;
pub(crate) mod variant;
#[cfg(all(feature = "__oracle", debug_assertions))]
pub(crate) mod visit;
