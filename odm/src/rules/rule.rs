//! The steps that the rules have in common by which values are kept in sync.

use crate::Result;
use crate::graph::Graph;
use crate::model::document::DocumentMeta;
use crate::own_fields::Token;
use crate::plan::image::{Changed, Image};
use crate::plan::operation::Write;
use crate::rules::derived::{DerivedValue, Rewritten};
use crate::rules::effects::{DeferredWork, Draining, Effects};
use crate::rules::filling::{NewDocuments, Replacing, Updating};
use crate::store::scope::Scope;
use futures::future::BoxFuture;
use std::collections::HashSet;

/// The documents of one model.
pub(crate) type Meta = &'static DocumentMeta;

/// A step of a rule.
pub(crate) type Step<'s, T = ()> = BoxFuture<'s, Result<T>>;

/// A rule by which values are kept in sync with the documents that they are derived of. One whose values
/// are written by the statement itself, as summaries of buckets, implements only `values`.
pub(crate) trait Rule: Send + Sync {
    /// The values of a graph that are kept by this rule.
    fn values<'g>(&self, graph: &'g Graph) -> Vec<Box<dyn DerivedValue + 'g>>;

    /// Fills in new documents before they are inserted.
    fn fill_new<'s>(
        &'s self,
        _scope: &'s Scope<'_>,
        _meta: Meta,
        _new: &'s mut NewDocuments<'_>,
    ) -> Step<'s> {
        nothing()
    }

    /// Adds to an update what follows from it in the same document.
    fn fill_update<'s>(
        &'s self,
        _scope: &'s Scope<'_>,
        _meta: Meta,
        _updating: &'s mut Updating<'_>,
    ) -> Step<'s> {
        nothing()
    }

    /// Prepares a replacement, so that it keeps what the library has in the document.
    fn fill_replacement<'s>(
        &'s self,
        _scope: &'s Scope<'_>,
        _meta: Meta,
        _replacing: &'s mut Replacing<'_>,
    ) -> Step<'s> {
        nothing()
    }

    /// Adds the fields of a document that the rule reads where the document is changed, apart from the library's own.
    fn fields(&self, _graph: &Graph, _meta: &DocumentMeta, _names: &mut HashSet<String>) {}

    /// Whether the rule compares documents of this type with what they were before these writes, which are all of that type.
    fn compares(&self, _graph: &Graph, _meta: &DocumentMeta, _writes: &[&Write]) -> bool {
        false
    }

    /// Updates the values after a write, in its transaction. On a standalone server this updates nothing: it adds to the effects
    /// the work that no mark in a document records.
    fn after_write<'s>(
        &'s self,
        _scope: &'s Scope<'_>,
        _meta: Meta,
        _images: &'s [Image],
        _effects: &'s mut Effects,
    ) -> Step<'s> {
        nothing()
    }

    /// Updates the values that are derived from documents which rules have changed, in the same transaction.
    fn after_effects<'s>(
        &'s self,
        _scope: &'s Scope<'_>,
        _meta: Meta,
        _documents: &'s [Changed],
        _effects: &'s mut Effects,
    ) -> Step<'s> {
        nothing()
    }

    /// Applies the pending work of documents, after the write that left it. It may have been applied before, and may be
    /// applied by another process at the same time.
    ///
    /// # Errors
    /// An error that would occur with every document; others are in [`Draining::applied`].
    fn drain<'s>(&'s self, _scope: &'s Scope<'_>, _meta: Meta, _draining: &'s mut Draining) -> Step<'s> {
        nothing()
    }

    /// Applies the work of a transaction that no document holds, after its commit. Changes of values that others are derived of are
    /// pending with the token.
    ///
    /// # Errors
    /// As [`drain`](Rule::drain).
    fn after_commit<'s>(
        &'s self,
        _scope: &'s Scope<'_>,
        _deferred: &'s DeferredWork,
        _token: Token,
    ) -> Step<'s, Rewritten> {
        nothing()
    }
}

fn nothing<'s, T: Default + Send + 's>() -> Step<'s, T> {
    Box::pin(async { Ok(T::default()) })
}
