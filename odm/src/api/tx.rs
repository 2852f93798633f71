//! Transactions, as users hold them.

use crate::api::bucket::{Bucketed, Buckets};
use crate::query::join::{ReadFrom, Source};
use crate::store::session::Session;
use crate::store::transaction;
use crate::{Collection, Document, Odm, Result};
use mongodb::ClientSession;
use tokio::sync::MutexGuard;

/// An open transaction. Collections that come from it read and write within it; those of the [`Odm`] do not.
///
/// Cheap to clone. The operations of one transaction take turns, also where they are awaited together.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// odm.transaction(async |tx| {
///     let accounts = tx.collection::<Account>();
///     accounts.update(&1).inc(|a| a.cents, -500).await?;
///     accounts.update(&2).inc(|a| a.cents, 500).await?;
///     Ok(())
/// })
/// .await?;
/// # Ok(()) }
/// ```
///
/// It ends with the closure that it was handed to: what a collection or a stream of it does later is no part of the
/// transaction any more.
#[derive(Clone)]
pub struct Tx {
    odm: Odm,
    session: Session,
}

impl std::fmt::Debug for Tx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx")
            .field("odm", &self.odm)
            .finish_non_exhaustive()
    }
}

/// An [`Odm`] or a [`Tx`]: what gives typed collections, so that a function works in a transaction and outside of one.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::Handle;
///
/// async fn deposit(handle: &impl Handle, account: i64, cents: i64) -> odm::Result<()> {
///     handle.collection::<Account>().update(&account).inc(|a| a.cents, cents).await?;
///     Ok(())
/// }
///
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// deposit(&odm, 1, 500).await?;
/// odm.transaction(async |tx| {
///     deposit(&tx, 1, -500).await?;
///     deposit(&tx, 2, 500).await
/// })
/// .await?;
/// # Ok(()) }
/// ```
pub trait Handle: sealed::Sealed + Send + Sync {
    /// The collection of `T`: of the database, or within the transaction.
    fn collection<T: Document>(&self) -> Collection<T>;

    /// Several writes to several collections: see [`Odm::bulk`].
    fn bulk(&self) -> crate::Bulk;

    /// The items of type `I` in buckets: see [`Odm::buckets`].
    fn buckets<I: Bucketed>(&self) -> Buckets<I>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Odm {}
    impl Sealed for super::Tx {}
}

impl Handle for Odm {
    fn collection<T: Document>(&self) -> Collection<T> {
        Odm::collection(self)
    }

    fn bulk(&self) -> crate::Bulk {
        Odm::bulk(self)
    }

    fn buckets<I: Bucketed>(&self) -> Buckets<I> {
        Odm::buckets(self)
    }
}

impl Handle for Tx {
    fn collection<T: Document>(&self) -> Collection<T> {
        Tx::collection(self)
    }

    fn bulk(&self) -> crate::Bulk {
        Tx::bulk(self)
    }

    fn buckets<I: Bucketed>(&self) -> Buckets<I> {
        Tx::buckets(self)
    }
}

impl Tx {
    /// The collection of `T`, within the transaction.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, id: ObjectId) -> odm::Result<()> {
    /// let person = odm.transaction(async |tx| tx.collection::<Person>().get(id).await).await?;
    /// # Ok(()) }
    /// ```
    pub fn collection<T: Document>(&self) -> Collection<T> {
        Collection::new(&self.odm, Some(self.session.clone()))
    }

    /// The items of type `I`, within the transaction. Nothing is sent.
    ///
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm, post: Post, comment: Comment) -> odm::Result<()> {
    /// odm.transaction(async |tx| {
    ///     tx.buckets::<Comment>().push(&post, comment.clone()).await?;
    ///     tx.collection::<Post>().update(post.id).inc(|p| p.answers, 1).await
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    pub fn buckets<I: Bucketed>(&self) -> Buckets<I> {
        Buckets::new(self.collection())
    }

    /// Several writes to several collections, within the transaction.
    ///
    /// # Cost
    /// As of [`Odm::bulk`].
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.transaction(async |tx| {
    ///     let accounts = tx.collection::<Account>();
    ///     tx.bulk()
    ///         .add(accounts.update(&1).inc(|a| a.cents, -500))
    ///         .add(accounts.update(&2).inc(|a| a.cents, 500))
    ///         .await
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    pub fn bulk(&self) -> crate::Bulk {
        crate::Bulk::new(&self.odm, Some(self.session.clone()))
    }

    /// Lends the driver's session, for an operation of the driver's own within the transaction. It waits for the operations of
    /// the transaction that run, and nothing else of the transaction runs meanwhile.
    ///
    /// An operation of the driver's own that is dropped before it completes, by a timeout for example, may be a part of the
    /// transaction or not. Return an error from the closure where that matters: it rolls both back.
    ///
    /// # Errors
    /// [`Error::Application`](crate::Error::Application) where the future of the transaction was dropped: the transaction is
    /// rolled back, and the session would execute commands outside of it. Errors of the server.
    ///
    /// # Cost
    /// One round trip where nothing of the transaction was sent before, which begins it; else none.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.transaction(async |tx| {
    ///     let people = tx.collection::<Person>().driver::<odm::bson::Document>();
    ///     let mut session = tx.session().await?;
    ///     people.update_one(doc! {}, doc! { "$currentDate": { "seen": true } }).session(&mut *session).await?;
    ///     Ok(())
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    pub async fn session(&self) -> Result<MutexGuard<'_, ClientSession>> {
        self.session.lend(&self.odm).await
    }
}

impl Odm {
    /// Executes `work` as one transaction: all of its writes or none. Reads see one snapshot; the commit has the write concern
    /// `majority`.
    ///
    /// `work` may run several times: after an error that MongoDB marks as transient (`TransientTransactionError`), the
    /// transaction is rolled back and retried, and a commit of unknown outcome is sent again, for two minutes altogether, [the
    /// limit of all
    /// drivers](https://github.com/mongodb/specifications/blob/master/source/transactions-convenient-api/transactions-convenient-api.md).
    /// It is also retried up to five times where an [upsert](crate::UpdateMany::upsert) by a unique key was refused because of
    /// a document that was inserted at the same time. So `work` should do nothing but read and write through `tx`. An error
    /// that `work` returns rolls the transaction back and is returned; [`Error::application`] makes one of the application's
    /// own.
    ///
    /// An operation that the server refuses ends the transaction: if `work` ignores that error and goes on, nothing is
    /// committed. The transaction then returns an [`Error::Application`] with the text of the failure, since the error itself
    /// was handed to `work`; `downcast_ref` tells it from an error of the application. The same happens after a write whose
    /// copies or other side failed (a two-way reference to a document that does not exist), after a deletion that failed
    /// halfway, after an insert [`with`](crate::Insert::with) children of which one was refused, and where `work` drops an
    /// operation before it completes, as a timeout does, if the operation adds references, inserts children, or changes copies,
    /// computed fields or the other side of a reference. Errors that are found before the write is sent ([`Error::Invalid`],
    /// [`Error::StillReferenced`], [`Error::MissingReference`] of a one-way reference) and errors of an update that matches
    /// nothing ([`Error::NotFound`], [`Error::ArrayFull`]) may be ignored: the transaction continues.
    ///
    /// A written reference is checked in the transaction's snapshot, and again after the commit, since the transaction and
    /// another client's delete of the target can both succeed. If the target is gone by then, the references to it are undone
    /// (inserted documents are deleted, changed references get their previous values) while the transaction's other writes
    /// stay, and the transaction returns [`Error::MissingReference`]. References that are not checked, and those with
    /// `on_delete = keep`, are left as they are.
    ///
    /// In the same way, references to deleted documents are looked up again after the commit, and their `on_delete` rule is
    /// applied. A reference with `restrict` restores the deleted document while the transaction's other writes stay, and the
    /// transaction returns [`Error::StillReferenced`].
    ///
    /// If the future of the transaction is dropped, by a timeout for example, the transaction is rolled back in a task of its own, or
    /// committed if its commit was sent; [`shutdown`](Odm::shutdown) waits for that. An operation of a [`Tx`] that is kept
    /// elsewhere sends nothing then, and fails with an [`Error::Application`].
    ///
    /// No other error is returned after the commit. Pending work that can't be applied is left to [`recover`](Odm::recover),
    /// and references that can't be looked up are left to [`audit`](Odm::audit); both are logged.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a standalone server. The error that `work` returns; [`Error::Application`] where it ignored an
    /// error that ended the transaction. [`Error::MissingReference`] and [`Error::StillReferenced`].
    ///
    /// # Cost
    /// One round trip for the commit, beyond those of `work`; one more for the first question about the deployment; and one
    /// more for each collection that a written reference names, and for each declared reference to deleted documents.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.transaction(async |tx| {
    ///     let accounts = tx.collection::<Account>();
    ///     accounts.update(&1).inc(|a| a.cents, -500).await?;
    ///     accounts.update(&2).inc(|a| a.cents, 500).await?;
    ///     Ok(())
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// [`Error::application`]: crate::Error::application
    /// [`Error::Application`]: crate::Error::Application
    /// [`Error::Invalid`]: crate::Error::Invalid
    /// [`Error::StillReferenced`]: crate::Error::StillReferenced
    /// [`Error::MissingReference`]: crate::Error::MissingReference
    /// [`Error::NotFound`]: crate::Error::NotFound
    /// [`Error::ArrayFull`]: crate::Error::ArrayFull
    /// [`Error::Unsupported`]: crate::Error::Unsupported
    pub async fn transaction<R, F, Fut>(&self, work: F) -> Result<R>
    where
        F: Fn(Tx) -> Fut,
        Fut: Future<Output = Result<R>>,
    {
        let tx = |session| Tx {
            odm: self.clone(),
            session,
        };
        transaction::transaction(self, None, |session| work(tx(session))).await
    }
}

impl Tx {
    pub(crate) fn new(odm: Odm, session: Session) -> Tx {
        Tx { odm, session }
    }
}

impl ReadFrom for Tx {
    fn source(&self) -> Source {
        Source {
            odm: self.odm.clone(),
            session: Some(self.session.clone()),
            on_disk: false,
            routes: None,
        }
    }
}
