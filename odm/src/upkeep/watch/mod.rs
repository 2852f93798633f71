//! Typed change streams: the changes of a collection, or of all registered collections, as they are made.

pub(crate) mod event;
pub(crate) mod reroot;
pub(crate) mod source;
mod stream;

pub use event::{AnyChange, ChangeEvent, ChangedFields};

use crate::model::document::{Document, PreAndPostImages};
use crate::query::filter::Filter;
use crate::store::action::Action;
use crate::store::core::Core;
use crate::store::trace::Trace;
use crate::{Odm, Result};
use futures::stream::Stream;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use stream::{AskedFrom, Following};

impl Odm {
    /// The changes of all registered collections, as they are made. The library's own collections and fields are not shown.
    ///
    /// [`start`](Watch::start) opens the stream; [`AnyChange::of`] decodes a change as one of a collection.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut changes = odm.watch().start().await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     if let Some(change) = change.of::<Account>()? {
    ///         println!("an account: {change:?}");
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub fn watch(&self) -> Watch<AnyChange> {
        Watch::of(AskedFrom {
            odm: self.clone(),
            of: None,
            filter: Filter::always(),
            pre_images: false,
            name: None,
            in_transaction: false,
        })
    }
}

mod sealed {
    pub trait Sealed {}
}

/// The items of a [`ChangeStream`]: a [`ChangeEvent`] of a collection, or [`AnyChange`] of the database.
pub trait Watched: sealed::Sealed + Sized {
    #[doc(hidden)]
    fn read(change: AnyChange) -> Result<Option<Self>>;
}

impl<T: Document> sealed::Sealed for ChangeEvent<T> {}
impl sealed::Sealed for AnyChange {}

impl<T: Document> Watched for ChangeEvent<T> {
    fn read(change: AnyChange) -> Result<Option<Self>> {
        change.of()
    }
}

impl Watched for AnyChange {
    fn read(change: AnyChange) -> Result<Option<Self>> {
        Ok(Some(change))
    }
}

/// The items of a [`ChangeStream`] whose collection has images of its documents, as far as that is known.
pub trait HasImages: Watched {}

impl<T: PreAndPostImages> HasImages for ChangeEvent<T> {}
impl HasImages for AnyChange {}

/// A change stream that is not open yet: [`Collection::watch`](crate::Collection::watch), [`Odm::watch`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let mut changes = people.watch(|p| p.age.gte(18)).resume_as("mailer").start().await?;
/// # Ok(()) }
/// ```
#[must_use = "a change stream is open when it is awaited"]
pub struct Watch<E> {
    asked: AskedFrom,
    of: PhantomData<fn() -> E>,
}

impl<E: Watched + 'static> std::future::IntoFuture for Watch<E> {
    type Output = Result<ChangeStream<E>>;
    type IntoFuture = <Action<ChangeStream<E>> as std::future::IntoFuture>::IntoFuture;

    fn into_future(self) -> Self::IntoFuture {
        self.open(false).into_future()
    }
}

impl<E> std::fmt::Debug for Watch<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("collection", &self.asked.collection())
            .field("filter", &self.asked.filter)
            .field("name", &self.asked.name)
            .finish_non_exhaustive()
    }
}

impl<T: Document> Watch<ChangeEvent<T>> {
    /// Of a collection.
    pub(crate) fn new(core: &Core, filter: Filter<T>) -> Self {
        Watch::of(AskedFrom {
            odm: core.odm().clone(),
            of: Some(core.meta()),
            filter: filter.untyped(),
            pre_images: false,
            name: None,
            in_transaction: core.session().is_some(),
        })
    }
}

impl<E> Watch<E> {
    fn of(asked: AskedFrom) -> Self {
        Watch {
            asked,
            of: PhantomData,
        }
    }
}

impl<E: Watched + 'static> Watch<E> {
    /// Gives the document before a change, too, where the server has it: with MongoDB 6.0 and later, of a document with
    /// `#[document(pre_and_post_images)]`. The filter then also decides which deletions are shown.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # use odm::watch::PreAndPostImages;
    /// # async fn example<T: PreAndPostImages + std::fmt::Debug + 'static>(jobs: Collection<T>) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    /// use odm::watch::ChangeEvent;
    ///
    /// let mut changes = jobs.watch_all().pre_images().start().await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     if let ChangeEvent::Deleted { before: Some(job), .. } = change {
    ///         println!("deleted: {job:?}");
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub fn pre_images(mut self) -> Self
    where
        E: HasImages,
    {
        self.asked.pre_images = true;
        self
    }

    /// The name of a position that is stored in the database (`_odm_state`). A stream with this name begins at that position:
    /// where [`store_position`](ChangeStream::store_position) or [`stop`](ChangeStream::stop) of the previous one has stored it,
    /// in this process or another. The first one with the name begins with the changes from now on.
    ///
    /// Each consumer has a name of its own. The filter may change from one stream to the next: then the changes of the
    /// time of the position are shown once more.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut changes = people.watch_all().resume_as("mailer").start().await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     println!("{change:?}");
    ///     changes.store_position().await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn resume_as(mut self, name: impl Into<String>) -> Self {
        self.asked.name = Some(name.into());
        self
    }

    /// Opens the stream, as awaiting it does: at its stored position if it has one. Writes that begin after this has returned are in it.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) on a standalone server, which has no change streams, and for
    /// [`pre_images`](Watch::pre_images) before MongoDB 6.0; [`Error::PositionLost`](crate::Error::PositionLost) where the
    /// server has not the changes since the stored position any more; [`Error::Query`](crate::Error::Query) for a filter that
    /// can't be one of a change stream (`near`, `text`), within a transaction, and of a handle with a [scope](Odm::scoped).
    ///
    /// # Cost
    /// One round trip, and one each for a batch of changes. With [`resume_as`](Watch::resume_as) one more, which reads the
    /// position; the first stream with the name costs a third, which stores where it begins.
    /// On a sharded cluster one more for each deletion in a transaction, which looks whether the document has moved to another shard.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut changes = people.watch_all().start().await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     println!("{change:?}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn start(self) -> Action<ChangeStream<E>> {
        self.open(false)
    }

    /// Opens the stream with the changes from now on, whatever position is stored, and stores that position.
    ///
    /// # Errors
    /// As [`start`](Watch::start), without [`Error::PositionLost`](crate::Error::PositionLost).
    ///
    /// # Cost
    /// One round trip, and one each for a batch of changes. With [`resume_as`](Watch::resume_as) one more, which stores the
    /// position.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let watch = || people.watch_all().resume_as("index");
    /// let changes = match watch().start().await {
    ///     Err(Error::PositionLost { .. }) => {
    ///         let changes = watch().start_fresh().await?;
    ///         // Changes were missed: read everything again, behind the beginning of the stream.
    ///         for person in people.find_all().all().await? {
    ///             println!("{}", person.name);
    ///         }
    ///         changes
    ///     }
    ///     changes => changes?,
    /// };
    /// # Ok(()) }
    /// ```
    pub fn start_fresh(self) -> Action<ChangeStream<E>> {
        self.open(true)
    }

    fn open(self, fresh: bool) -> Action<ChangeStream<E>> {
        let asked = self.asked;
        let collection = asked.collection();
        let opened = async move {
            asked.has_no_scope()?;
            asked.has_changes()?;
            let trace = Trace::new(collection, "watch");
            let started = async {
                let (following, trips) = Following::start(asked, fresh).await?;
                trace.done(trips, 0);
                Ok(following)
            };
            let following = trace.run(started).await?;
            Ok(ChangeStream {
                following,
                of: PhantomData,
            })
        };
        Action::new(collection, "watch", Box::new(opened))
    }
}

/// A change stream that is open: a [`Stream`](futures::Stream) of the changes, opened by [`Watch::start`].
///
/// A change that can't be decoded is an item with [`Error::Decode`](crate::Error::Decode), and the changes after it follow.
/// After a failure of the network or an election the stream goes on where it was, as often as needed. It ends behind
/// [`ChangeEvent::Invalidated`], and behind an item with any other error:
/// [`Error::PositionLost`](crate::Error::PositionLost) where the server has not the next changes any more. A stream that is
/// dropped is closed, and its position is not stored. A `next` that is dropped before it is ready loses no change.
#[must_use = "a change stream is closed when it is dropped"]
pub struct ChangeStream<E> {
    following: Following,
    of: PhantomData<fn() -> E>,
}

impl<E> std::fmt::Debug for ChangeStream<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeStream")
            .field("collection", &self.following.collection())
            .finish_non_exhaustive()
    }
}

impl<E: Watched> Stream for ChangeStream<E> {
    type Item = Result<E>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<E>>> {
        loop {
            match ready!(self.following.poll(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(change)) => {
                    if let Some(change) = E::read(change).transpose() {
                        return Poll::Ready(Some(change));
                    }
                }
            }
        }
    }
}

impl<E: Watched> ChangeStream<E> {
    /// Stores the position behind the last change that was handed out, under the name of [`resume_as`](Watch::resume_as). Call
    /// it once a change has had its effect: after a crash the changes since then are handed out again, so each is handed out at
    /// least once.
    ///
    /// While no change comes, and none was handed out since the position was stored, the stream stores it every minute by
    /// itself, so that it does not expire.
    ///
    /// # Errors
    /// [`Error::Query`](crate::Error::Query) where the stream has no name; errors of the server.
    ///
    /// # Cost
    /// One round trip; none where the position is stored already.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut changes = people.watch_all().resume_as("log").start().await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     println!("{change:?}");
    ///     changes.store_position().await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn store_position(&mut self) -> Result<()> {
        self.following.store().await
    }

    /// Closes the stream, after its position was stored where it has a name: the next stream with the name begins behind the
    /// last change that this one has handed out.
    ///
    /// # Errors
    /// Errors of the server while the position is stored; the stream is closed nevertheless.
    ///
    /// # Cost
    /// One round trip; none where the stream has no name, or the position is stored already.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, ends: impl Future<Output = ()> + Unpin) -> odm::Result<()> {
    /// use futures::StreamExt;
    ///
    /// let changes = people.watch_all().resume_as("log").start().await?;
    /// let mut until = changes.take_until(ends);
    /// while let Some(change) = until.next().await {
    ///     println!("{:?}", change?);
    /// }
    /// until.into_inner().stop().await?;
    /// # Ok(()) }
    /// ```
    pub async fn stop(mut self) -> Result<()> {
        if self.following.has_name() {
            self.following.store().await
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::Person;

    #[test]
    fn a_task_may_follow_a_stream() {
        fn goes_anywhere<T: Send + Unpin + 'static>() {}
        goes_anywhere::<ChangeStream<AnyChange>>();
        goes_anywhere::<ChangeStream<ChangeEvent<Person>>>();
        goes_anywhere::<Watch<AnyChange>>();
    }
}
