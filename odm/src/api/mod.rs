//! What applications hold: handles, and the builders of operations. Values are encoded and decoded here.
//!
//! Invariant: nothing here executes a statement that writes; an operation goes to `engine`, most of them by
//! [`engine::execute`](crate::engine::execute). `save` and `merge` send a `find_one` each.

pub(crate) mod bucket;
pub(crate) mod bulk;
pub(crate) mod bulk_write;
mod by_key;
pub(crate) mod collection;
pub(crate) mod documents;
pub(crate) mod encoded;
pub(crate) mod first;
pub mod hooks;
pub(crate) mod insert_many;
pub(crate) mod merge;
mod odm;
pub(crate) mod optional;
pub(crate) mod save;
pub(crate) mod scoped;
pub(crate) mod stored_form;
pub(crate) mod switches;
pub(crate) mod tree;
pub(crate) mod tx;
pub(crate) mod update;
