//! Streams that go on where a cursor or a connection was lost: from the last document that came, by the order of a page.

use super::behind::{KeysetKey, behind};
use super::order::{keep_keys, refuse_several, total_order, twins};
use super::position::SortPosition;
use crate::model::stored::Row;
use crate::model::types::holds_text;
use crate::query::find::Rows;
use crate::query::join::Join;
use crate::query::untyped::{JOINED_AT_ONCE, Query, QueryOptions};
use crate::store::action::Action;
use crate::store::batches::RawDocuments;
use crate::store::core::Core;
use crate::store::filter::all;
use crate::{Document, Error, Filter, Find, Result};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, StreamExt};
use mongodb::bson::{self, Bson};
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of losses without a document in between, before the stream gives the error.
const MOST_LOSSES: u32 = 5;

/// The pause before the first attempt to go on; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// A query whose stream resumes automatically where the server closes its cursor or the connection breaks: [`Find::resumable`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// use futures::TryStreamExt;
///
/// let mut stream = people.find_all().resumable().stream().await?;
/// while let Some(person) = stream.try_next().await? {
///     println!("{}", person.name);
/// }
/// # Ok(()) }
/// ```
#[must_use = "a query does nothing until its `stream` is awaited"]
pub struct ResumableFind<T, Out, J = ()> {
    find: Find<T, Out, J>,
}

impl<T: Document, Out, J> std::fmt::Debug for ResumableFind<T, Out, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.find.fmt(f)
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Find<T, Out, J> {
    /// Resumes the stream automatically where the server has closed its cursor, or where the connection breaks.
    ///
    /// The documents come in the order of the query, and in the order of `_id` where they are equal in it, so that the stream
    /// resumes after the last document: none comes twice, and none is missing except those that were inserted or moved before
    /// that position meanwhile. An index with this order saves the server from sorting.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let stream = people.find(|p| p.age.gte(18)).resumable().stream().await?;
    /// # Ok(()) }
    /// ```
    pub fn resumable(self) -> ResumableFind<T, Out, J> {
        ResumableFind { find: self }
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> ResumableFind<T, Out, J> {
    /// One after the other, as [`Find::stream`].
    ///
    /// # Errors
    /// As [`Find::stream`]. After a lost cursor or connection it tries five times to go on, 100 ms after the loss, then after
    /// twice as long each time, and gives the error where no document came between. In a transaction it gives the error at
    /// once, since the loss ends the transaction. [`Error::Query`] for an order that pages can't have either: by an array,
    /// or with a collation by which two ids may be equal. The queries of a join are not repeated.
    ///
    /// # Cost
    /// As [`Find::stream`], and one round trip more for each loss.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut stream = people.find_all().sort(|p| p.age.desc()).resumable().stream().await?;
    /// while let Some(person) = stream.try_next().await? {
    ///     println!("{} {}", person.name, person.age);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn stream(self) -> Action<BoxStream<'static, Result<J::Row<Out>>>> {
        let (query, join) = self.find.into_query();
        let (from, projected) = (query.source(), query.is_projected());
        let batches = batches(query);
        let rows = async move { Ok(Rows::of(batches.await?, from, join, projected).whole()) };
        Action::new(T::META.collection, "stream", Box::new(rows))
    }
}

type PageBatches = BoxStream<'static, Result<RawDocuments>>;

/// The batches of a query that goes on by itself.
fn batches(mut query: Query) -> BoxFuture<'static, Result<PageBatches>> {
    async move {
        refuse_several(query.meta(), &query.sort)?;
        query.resolve_joined().await?;
        let keys = total_order(&query)?;
        if let Some(fields) = &mut query.fields {
            keep_keys(fields, &keys);
        }
        query.prepare_projection();
        if query.joins() {
            query.options.batch_size.get_or_insert(JOINED_AT_ONCE);
        }
        if query.options.limit == Some(0) {
            return Ok(futures::stream::empty().boxed());
        }
        query.options.sort = Some(
            keys.iter()
                .map(|key| (key.name.to_owned(), Bson::Int32(key.direction())))
                .collect(),
        );
        let mut going = Going {
            core: query.core,
            filter: query.filter.into_document()?,
            options: query.options,
            place: Arc::new(SortPosition::of_keys(&keys)),
            keys,
            given: 0,
            losses: 0,
            open: None,
        };
        going.begin().await?;
        let batches = futures::stream::unfold(Some(going), |going| async {
            let mut going = going?;
            match going.next().await {
                Ok(Some(batch)) => Some((Ok(batch), Some(going))),
                Ok(None) => None,
                // The last.
                Err(error) => Some((Err(error), None)),
            }
        });
        Ok(batches.boxed())
    }
    .boxed()
}

/// A stream on its way.
struct Going {
    core: Core,
    filter: bson::Document,
    options: QueryOptions,
    keys: Vec<KeysetKey>,
    place: Arc<SortPosition>,
    /// The number of documents so far.
    given: u64,
    /// The number of losses in a row, without a document between them.
    losses: u32,
    open: Option<PageBatches>,
}

impl Going {
    /// Asks for the first batch, or for the first behind the last document that came.
    async fn begin(&mut self) -> Result<()> {
        while self.open.is_none() {
            match self.ask().await {
                Ok(batches) => self.open = Some(batches),
                Err(error) => self.loses(error).await?,
            }
        }
        Ok(())
    }

    async fn ask(&mut self) -> Result<PageBatches> {
        let mut options = self.options.clone();
        let mut filter = self.filter.clone();
        if let Some(position) = self.place.last() {
            if holds_text((self.core.meta().shape)(), "_id")
                && let Some((one, other)) =
                    twins(&self.core, &filter, &options, &self.keys, &position).await?
            {
                return Err(Error::Query {
                    collection: self.core.meta().collection,
                    message: format!(
                        "the stream was lost at two documents that this collation takes for equal, with the ids {one} and \
                         {other}, so neither comes before the other: use no collation, or give them other ids"
                    ),
                });
            }
            filter = all([filter, behind(&self.keys, &position)]);
            options.skip = None;
            if let Some(limit) = options.limit {
                let given = i64::try_from(self.given).unwrap_or(i64::MAX);
                let left = limit.saturating_sub(given);
                if left <= 0 {
                    return Ok(futures::stream::empty().boxed());
                }
                options.limit = Some(left);
            }
        }
        let mut query = Query::new(self.core.clone(), Filter::raw(filter));
        query.options = options;
        query.batches(self.place.clone()).await
    }

    async fn next(&mut self) -> Result<Option<RawDocuments>> {
        loop {
            self.begin().await?;
            let Some(batches) = &mut self.open else { continue };
            match batches.next().await {
                None => return Ok(None),
                Some(Ok(batch)) => {
                    if batch.len() > 0 {
                        self.losses = 0;
                        self.given += batch.len();
                    }
                    return Ok(Some(batch));
                }
                Some(Err(error)) => {
                    self.open = None;
                    self.loses(error).await?;
                }
            }
        }
    }

    /// Waits before the next attempt, or gives the error.
    async fn loses(&mut self, error: Error) -> Result<()> {
        let may_go_on = matches!(error, Error::CursorLost { .. } | Error::Unavailable { .. })
            && self.core.session().is_none()
            && (self.given == 0 || self.place.last().is_some())
            && self.losses < MOST_LOSSES;
        if !may_go_on {
            return Err(self.place.lost(error));
        }
        let error = crate::store::trace::kind(&error);
        tracing::debug!(
            target: "odm",
            collection = self.core.meta().collection,
            %error,
            "lost the cursor of a stream, resuming after its last document"
        );
        tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(self.losses)).await;
        self.losses += 1;
        Ok(())
    }
}
