//! Keeps references true: which there are, whether their targets exist, and that both sides of a two-way one agree.
//!
//! Everything here works on the constants of documents, on raw collections and on BSON, so that it is compiled once. The
//! typed operations say what they write, and hand over how.

mod changes;
mod checks;
mod effects;
pub(crate) mod graph;
mod links;
mod order;
mod scope;
mod write;

pub(crate) use checks::Recheck;
pub(crate) use graph::Graph;
pub(crate) use write::{Done, Duties, What, Write, prepare};

use crate::{Odm, Result};
use std::sync::atomic::AtomicU64;

/// Asks once more, after the commit of a transaction, whether the targets of the references that it wrote are there.
///
/// # Errors
/// [`Error::MissingReference`](crate::Error::MissingReference): the references were taken back.
pub(crate) async fn after_commit(odm: &Odm, rechecks: &[Recheck]) -> Result<()> {
    if rechecks.is_empty() {
        return Ok(());
    }
    let trips = AtomicU64::new(0);
    let scope = scope::Scope {
        odm,
        session: None,
        trips: &trips,
    };
    checks::after(&scope, rechecks).await
}
