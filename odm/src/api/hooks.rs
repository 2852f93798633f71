//! Hooks: functions of the application that every write of a document calls, with the document before and after it.
//!
//! A model declares them, `#[document(before_write = f, after_write = g)]`. They are async functions of one argument, and return a
//! `Result` of `()` with an error of the application's own.
//!
//! | declared | argument | called |
//! | --- | --- | --- |
//! | `before_write = f` | [`InTransaction`] | before the commit: its error refuses the write, and nothing of the operation stays |
//! | `after_write(in_transaction) = f` | [`InTransaction`] | after those of `before_write`, before the commit: what it writes is committed with the write |
//! | `after_write = f` | [`Committed`] | after the commit, once |
//!
//! Inserts, updates, replacements and deletions of every kind call them, with each document that they have changed; so do
//! deletions by `on_delete = cascade` and by [`Odm::delete_expired`]. Changes by the library are no such writes: copies and
//! computed fields that follow others, the other side of a link, a reference that is taken out since its target is gone, repairs and backfills,
//! and what is undone after a commit because a reference dangles. Nor are those of other programs, and of the driver.
//!
//! # Cost
//! A write of documents with hooks is a transaction, the application's or one of its own, so it needs a replica set or a sharded cluster:
//! [`Error::Unsupported`](crate::Error::Unsupported) otherwise. Beside its own round trips it has one for the commit. Documents that it
//! updates are read whole before and after it, those of each collection at once, and so are deleted ones before; new documents of a type
//! without references and copies are not read. Documents without hooks cost nothing more, except where their deletion cascades to some.

use crate::engine::hooks::call::HookTx;
use crate::model::meta::{HookCall, HookResult};
use crate::store::decode::decode;
use crate::{Document, Odm, Result, Tx};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::RawDocument;

/// A write of one document before its commit: the argument of a function that `before_write = f` or
/// `after_write(in_transaction) = f` of [`#[document(…)]`](derive@crate::Document) names.
///
/// The write is made, in the transaction: a collection of [`tx`](InTransaction::tx) finds the document as it is in
/// [`after`](InTransaction::after). An error that the function returns undoes the whole operation, which then ends with
/// [`Error::Hook`](crate::Error::Hook). Its own writes by `tx` are committed with the write, or not at all. It may be called
/// again for the same write, where the transaction is retried.
///
/// ```
/// use odm::hooks::InTransaction;
/// use odm::prelude::*;
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "orders", before_write = check, after_write(in_transaction) = audit)]
/// pub struct Order {
///     pub id: i32,
///     pub cents: i64,
///     pub shipped: bool,
/// }
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "changes")]
/// pub struct OrderChange {
///     pub id: ObjectId,
///     pub order: i32,
///     pub cents: Option<i64>,
/// }
///
/// async fn check(write: InTransaction<Order>) -> Result<(), &'static str> {
///     match (write.before, write.after) {
///         (Some(before), None) if before.shipped => Err("a shipped order stays"),
///         (Some(before), Some(after)) if before.shipped && before.cents != after.cents => Err("it is shipped already"),
///         _ => Ok(()),
///     }
/// }
///
/// async fn audit(write: InTransaction<Order>) -> odm::Result<()> {
///     let Some(order) = write.after.as_ref().or(write.before.as_ref()) else { return Ok(()) };
///     let change = NewOrderChange { order: order.id, cents: write.after.as_ref().map(|order| order.cents) };
///     write.tx.collection::<OrderChange>().insert(change).await?;
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InTransaction<T> {
    /// The document before the operation; `None` where it is inserted.
    pub before: Option<T>,
    /// The document as it will be committed; `None` where it is deleted.
    pub after: Option<T>,
    /// The transaction of the write: the application's, or the write's own.
    pub tx: Tx,
}

/// A committed write of one document: the argument of a function that `after_write = f` of [`#[document(…)]`](derive@crate::Document)
/// names.
///
/// The function is called once for each commit, by the process that has made it, before the operation returns, or the transaction of which
/// it is a part. The write stays committed whatever the function returns: an error is logged. If the process ends between the commit and the
/// call, the call is lost; a [change stream](crate::Collection::watch) with a stored position loses none.
///
/// ```
/// use odm::hooks::Committed;
/// use odm::prelude::*;
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "pages", after_write = forget)]
/// pub struct Page {
///     pub id: i32,
///     pub text: String,
/// }
///
/// /// Takes the page out of a cache of this process.
/// async fn forget(write: Committed<Page>) -> odm::Result<()> {
///     if let Some(before) = write.before {
///         println!("page {} has changed", before.id);
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Committed<T> {
    /// The document before the operation; `None` where it was inserted.
    pub before: Option<T>,
    /// The document as it was committed; `None` where it was deleted.
    pub after: Option<T>,
    /// The handle by which the document was written, out of the transaction.
    pub odm: Odm,
}

/// Calls a hook in the transaction.
#[doc(hidden)]
pub fn in_transaction<'c, T, F, Fut, E>(call: HookCall<'c>, hook: F) -> Result<BoxFuture<'c, HookResult>>
where
    T: Document,
    F: FnOnce(InTransaction<T>) -> Fut,
    Fut: Future<Output = Result<(), E>> + Send + 'c,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (before, after) = documents::<T>(&call)?;
    let HookTx { odm, session } = handle(&call)?;
    let tx = Tx::new(odm.clone(), session.clone());
    Ok(called(hook(InTransaction { before, after, tx })))
}

/// Calls a hook after the commit.
#[doc(hidden)]
pub fn after_commit<'c, T, F, Fut, E>(call: HookCall<'c>, hook: F) -> Result<BoxFuture<'c, HookResult>>
where
    T: Document,
    F: FnOnce(Committed<T>) -> Fut,
    Fut: Future<Output = Result<(), E>> + Send + 'c,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (before, after) = documents::<T>(&call)?;
    let odm: &Odm = handle(&call)?;
    let odm = odm.clone();
    Ok(called(hook(Committed { before, after, odm })))
}

fn called<'c, Fut, E>(hook: Fut) -> BoxFuture<'c, HookResult>
where
    Fut: Future<Output = Result<(), E>> + Send + 'c,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    async move { hook.await.map_err(Into::into) }.boxed()
}

fn documents<T: Document>(call: &HookCall<'_>) -> Result<(Option<T>, Option<T>)> {
    let read = |document: Option<&RawDocument>| document.map(|raw| decode(T::META, raw)).transpose();
    Ok((read(call.before)?, read(call.after)?))
}

fn handle<'c, H: 'static>(call: &HookCall<'c>) -> Result<&'c H> {
    let handle = call.handle.downcast_ref();
    handle.ok_or_else(|| {
        crate::Error::application("a hook was called in another place than it is declared for")
    })
}
