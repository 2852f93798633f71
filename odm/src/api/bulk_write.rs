//! Writes that a bulk takes: the builders of a collection, each as one write without its type.

use crate::engine::WriteKind;
use crate::model::document::DocumentMeta;
use crate::store::core::Core;
use crate::{Error, Result};

/// A write of a collection that [`Bulk::add`](crate::Bulk::add) takes: [`Insert`](crate::Insert), [`Update`](crate::Update),
/// [`Upsert`](crate::update::Upsert), [`UpdateMany`](crate::UpdateMany), [`Replace`](crate::Replace), [`Delete`](crate::Delete) and
/// [`DeleteMany`](crate::DeleteMany). It can't be implemented outside of this crate.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::write::{Bulk, BulkWrite};
///
/// /// Adds a write, if there is one.
/// fn add_some(bulk: Bulk, write: Option<impl BulkWrite>) -> Bulk {
///     bulk.add_all(write)
/// }
///
/// # async fn example(odm: Odm, accounts: Collection<Account>) -> odm::Result<()> {
/// add_some(odm.bulk(), Some(accounts.delete(&7))).await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no write that a bulk takes",
    label = "not an insert, update, upsert, replacement or deletion of a collection",
    note = "a bulk returns counts: leave out `returning()`, `returning_before()` and `optional()`, or `.await` this write outside of the bulk",
    note = "add each document of an `insert_many` by its own `insert`: `bulk.add_all(documents.into_iter().map(|new| movies.insert(new)))`",
    note = "one document with a condition: `update_where(|m| m.id.eq(id) & m.stock.gte(1))` in the place of `update(id).filter(…)`",
    note = "`.await` reads, `save`, `or_get_by`, `update_first` and `delete_first` outside of the bulk"
)]
pub trait BulkWrite: sealed::IntoPart {}

/// A write for a bulk, and the collection that it comes from.
pub struct BulkPart {
    pub(crate) core: Core,
    pub(crate) what: Result<WriteKind>,
}

pub(crate) mod sealed {
    /// A builder that gives its write.
    pub trait IntoPart {
        fn into_part(self) -> super::BulkPart;
    }
}

/// Declares builders that a bulk takes.
macro_rules! bulk_writes {
    ($($write:ident),*) => {$(
        impl<T: $crate::Document> $crate::api::bulk_write::BulkWrite for $write<T> {}
    )*};
}
pub(crate) use bulk_writes;

/// The refusal of a write that a bulk can't execute.
pub(crate) fn refused(meta: &DocumentMeta, message: &str) -> Error {
    Error::Query {
        collection: meta.collection,
        message: message.to_owned(),
    }
}

/// Refuses a collation of a write that names its document.
///
/// # Errors
/// [`Error::Query`].
pub(crate) fn takes_no_collation(meta: &DocumentMeta, has_collation: bool) -> Result<()> {
    if has_collation {
        return Err(refused(
            meta,
            "in a bulk, only `update_where` and `delete_where` take a collation: declare it for the collection, with \
             `#[document(collation(locale = \"…\"))]`, or `.await` this write outside of the bulk",
        ));
    }
    Ok(())
}

/// Refuses a collation of a condition on documents with rules. The library finds those documents by a read of its own, which a bulk has
/// no place for.
///
/// # Errors
/// [`Error::Query`].
pub(crate) fn may_have_collation(core: &Core, has_collation: bool) -> Result<()> {
    let (graph, meta) = (core.odm().graph(), core.meta());
    if has_collation && (graph.is_related(meta) || graph.is_depended_on(meta) || meta.has_hooks()) {
        return Err(refused(
            meta,
            "in a bulk, conditions on documents with relationships or hooks use the collation of their collection: declare it for the \
             collection, with `#[document(collation(locale = \"…\"))]`, or `.await` this write outside of the bulk",
        ));
    }
    Ok(())
}
