//! Keeps references true: which there are, whether their targets exist, and that both sides of a two-way one agree.
//!
//! Everything here works on the constants of documents, on raw collections and on BSON, so that it is compiled once. The
//! typed operations say what they write, and hand over how.

pub(crate) mod audit;
mod batch;
mod changes;
mod checks;
mod effects;
pub(crate) mod graph;
mod inspect;
mod links;
mod order;
mod remove;
pub(crate) mod repair;
mod rule;
mod scope;
#[cfg(test)]
mod testing;
mod write;

pub(crate) use checks::Recheck;
pub(crate) use graph::{Edge, Graph};
pub(crate) use remove::{Later, combines, remove};
pub(crate) use rule::has_rules;
pub(crate) use scope::Scope;
pub(crate) use write::{Done, Duties, What, Write, prepare};

use crate::{Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use std::sync::atomic::AtomicU64;

/// What is looked at once more after the commit of a transaction, since nothing that others do can be seen within it.
#[derive(Default)]
pub(crate) struct AfterCommit {
    /// References that were written: whether their targets are there.
    pub(crate) written: Vec<Recheck>,
    /// Documents that were deleted: whether something refers to them.
    pub(crate) deleted: Vec<Later>,
}

/// Looks once more, after the commit of a transaction.
///
/// # Errors
/// [`Error::MissingReference`](crate::Error::MissingReference): the references were taken back.
/// [`Error::StillReferenced`](crate::Error::StillReferenced): the document was put back.
pub(crate) fn after_commit(odm: &Odm, left: AfterCommit) -> BoxFuture<'_, Result<()>> {
    async move {
        let trips = AtomicU64::new(0);
        let scope = Scope {
            odm,
            session: None,
            trips: &trips,
        };
        let deleted = match left.deleted.is_empty() {
            true => Ok(()),
            false => remove::look_again(scope, left.deleted).await,
        };
        if !left.written.is_empty() {
            checks::after(&scope, &left.written).await?;
        }
        deleted
    }
    .boxed()
}
