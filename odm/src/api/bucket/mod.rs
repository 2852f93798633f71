//! Buckets: documents that each hold a bounded number of items of one parent, in the order in which they were pushed.
//!
//! A bucket counts down how many items it still takes (`room`). A push is one update of the one bucket that has room, which is
//! atomic, so no number of concurrent pushes overfills it. Where none has room, the next page is inserted; of several that try,
//! the unique index of the pages lets one through, and the others push onto what it made.
//!
//! Room never grows, also where items are deleted: a full bucket is closed forever. A page is inserted only after one that was
//! seen closed, so only the newest page has room, and the items stay in order. A stale read (on a secondary) returns a page
//! that is not the newest any more; the next page exists already then, and the index refuses a second one.
//!
//! A change of items depends on the bucket's version: count and sums are computed from the items that were read, and written
//! with the change if the version is still the same.

use crate::Document as _;
use crate::api::encoded::encode_behind;
use crate::engine::bucket::{
    BucketRow, BucketRows, BucketWriter, ChangeAll, Fate, Items, of_parent, start_of,
};
use crate::model::encode::stored_document;
use crate::plan::operators::{Built, Changes, Rooted};
use crate::query::aggregate;
use crate::query::filter::Element;
use crate::rules::bucket::touching;
use crate::store::action::Action;
use crate::store::decode::{decode, not_encoded};
use crate::{Collection, Error, Filter, Find, Odm, Result, Target};
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use mongodb::bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use std::collections::HashMap;
use std::ops::{Range, RangeBounds};

mod traits;

pub use traits::{Bucketed, ByCount, ByTime, Timed, WritesBuckets};

/// Approximate number of items that are in memory while a stream is read.
const STREAMED: i32 = 1_000;

/// The items of type `I`, in buckets. Cheap to clone; `Send` and `Sync`.
///
/// It comes from [`Odm::buckets`], or within a transaction from [`Tx::buckets`](crate::Tx::buckets). The buckets themselves are documents like
/// others: [`collection`](Buckets::collection) queries them.
///
/// # Order, and what a bucket takes
/// Items stay in the order in which they were pushed. A bucket takes as many as its size, once: the room of a deleted item is
/// not reused, so that no page changes because of a change on another one.
///
/// # Concurrency
/// Any number of programs may push at the same time: no bucket is overfilled, no item is lost, and the pages have no gap. A
/// write that is sent again after a network error is executed once, by the [retryable
/// writes](https://www.mongodb.com/docs/manual/core/retryable-writes/) of replica sets and sharded clusters. A standalone
/// server has none: there the error is returned, and the item may be stored or not.
///
/// A push while its parent is deleted may be acknowledged, and its item is then deleted with the parent. That can happen, too,
/// where `restrict` forbids the deletion in the end, if the bucket was inserted at the same moment and that insert was refused.
/// If an item refers to a document that is deleted at that moment, its push or edit is undone and the error names the missing
/// document. The place of such an item is not used again. A page that was created for it is deleted, unless another process has
/// written to it meanwhile or other documents derive values from it.
///
/// Where the library itself changes items, since a reference is emptied or a copy updated, it raises the bucket's version: an
/// `edit` or `delete` that has read them before starts again.
///
/// # Changes of the declaration
/// A greater `size` applies to new pages. After a smaller one, buckets that hold more items, or have room for more, violate the
/// validator: `sync` reports their number, and pushes don't use the excess room. When an item is pushed after the newest page,
/// that page is cut to the present size; if it already holds more, it stays and the next page begins. `audit` finds the buckets
/// that have room for more, and `repair` and `backfill` remove the excess.
///
/// After a new `time` or `sum`, older pages lack the field or have it for new items alone. `backfill` has the server compute it,
/// a thousand buckets at a time, without sending any item. Deleting an item, or editing a summed field, computes its bucket's
/// sums again.
///
/// # Other programs
/// A program that writes a bucket without this library has to write its counts, times, sums and room as well. `audit` has the
/// server compare them with the items; sums of `f32` and `f64` are equal if they differ by no more than a billionth of the
/// greatest number in them. `repair` computes wrong ones again, removes room that exceeds what the items leave, and never adds
/// room; computed fields that depend on the buckets follow. Whole buckets may be deleted through
/// [`collection`](Buckets::collection): the numbers of the pages then have a gap, and if the newest page was deleted, the next
/// one takes its number. A `.raw(…)` that would change what the library keeps is refused: [`Error::Query`].
///
/// # Example
/// ```no_run
/// # use samples::bucket::*;
/// # async fn example(odm: Odm, sensor: Sensor) -> odm::Result<()> {
/// let readings = odm.buckets::<Reading>();
/// readings.push(&sensor, Reading { at: DateTime::now(), celsius: 21.5 }).await?;
/// println!("{} readings", readings.count(&sensor).await?);
/// # Ok(()) }
/// ```
pub struct Buckets<I: Bucketed> {
    collection: Collection<I::Bucket>,
}

impl<I: Bucketed> Clone for Buckets<I> {
    fn clone(&self) -> Self {
        Buckets {
            collection: self.collection.clone(),
        }
    }
}

impl<I: Bucketed> std::fmt::Debug for Buckets<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buckets")
            .field("collection", &self.collection)
            .finish()
    }
}

impl Odm {
    /// The items of type `I`, which `#[bucket(…)]` keeps in buckets. Nothing is sent.
    ///
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let comments = odm.buckets::<Comment>();
    /// # Ok(()) }
    /// ```
    pub fn buckets<I: Bucketed>(&self) -> Buckets<I> {
        Buckets::new(self.collection())
    }
}

impl<I: Bucketed> Buckets<I> {
    pub(crate) fn new(collection: Collection<I::Bucket>) -> Buckets<I> {
        Buckets { collection }
    }

    /// The buckets as documents: for queries, joins and pipelines, and to delete whole ones. No update changes a field of
    /// them, and none is inserted, upserted or replaced: that does not compile.
    ///
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let comments = odm.buckets::<Comment>();
    /// let by_kate = comments.collection().find(|b| b.comments.name.eq("Kate")).count().await?;
    /// # Ok(()) }
    /// ```
    pub fn collection(&self) -> &Collection<I::Bucket> {
        &self.collection
    }

    /// Adds an item after the others of this parent, and returns the number of its page.
    ///
    /// # Errors
    /// [`Error::MissingReference`] if there is no such parent, [`Error::Invalid`] where the item breaks a bound.
    ///
    /// # Cost
    /// One round trip. Where the newest bucket is full, and for the first item: that one, one for the number of the newest page
    /// and one for the new bucket, and two more that check the existence of the parent, before and after. With `check = false`
    /// these two are omitted.
    ///
    /// A push into an existing bucket does not check the parent: a deletion of the parent deletes its buckets too (`on_delete =
    /// cascade`), or they prevent it.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// let comment = Comment { name: "Kate".into(), text: "Nice".into(), stars: 5 };
    /// let page = odm.buckets::<Comment>().push(&post, comment).await?;
    /// println!("see page {page}");
    /// # Ok(()) }
    /// ```
    pub fn push(&self, parent: impl Target<I::Parent>, item: I) -> Action<i32> {
        let rows = parent.target_id().and_then(|parent| one_row(parent, item));
        self.untyped().push_one(rows)
    }

    /// Adds items after the others of this parent, in their order; in buckets by time, after those of the same period.
    ///
    /// The items of one bucket are added together. Where a later bucket is refused, the items in earlier buckets stay; in a
    /// [transaction](crate::Tx::buckets) all of them are added or none. Nothing is sent if one of them breaks a bound.
    ///
    /// # Errors
    /// As [`push`](Buckets::push).
    ///
    /// # Cost
    /// For each period: one round trip where the newest bucket has room for all. Otherwise one for the number of the newest
    /// page, one for the items that it takes, and one for all new buckets, with two that check the existence of the parent.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm, post: Post, imported: Vec<Comment>) -> odm::Result<()> {
    /// odm.buckets::<Comment>().push_many(&post, imported).await?;
    /// # Ok(()) }
    /// ```
    pub fn push_many(
        &self,
        parent: impl Target<I::Parent>,
        items: impl IntoIterator<Item = I>,
    ) -> Action<()> {
        let rows = parent.target_id().and_then(|parent| rows(&parent, items));
        self.untyped().push_many(rows)
    }

    /// The same, without the type of the items.
    fn untyped(&self) -> BucketWriter {
        BucketWriter {
            core: self.collection.core().clone(),
            meta: I::BUCKET,
        }
    }
}

impl<I: Bucketed> Items for Vec<I> {
    fn count(&self) -> usize {
        self.len()
    }

    fn update(&self, range: Range<usize>) -> Result<Built> {
        let items = self.get(range).unwrap_or_default();
        I::push(Changes::new(), items).build(false, crate::now())
    }

    fn encode(&self, bucket: &Document, bytes: &mut Vec<u8>) -> Result<()> {
        // Read as a document of the collection is.
        let meta = I::Bucket::META;
        let raw = RawDocumentBuf::try_from(bucket).map_err(|source| not_encoded(meta, source))?;
        let bucket: I::Bucket = decode(meta, &raw)?;
        encode_behind(&bucket, bytes)
    }
}

/// One item, for the row of its bucket.
fn one_row<I: Bucketed>(parent: Bson, item: I) -> Result<BucketRows> {
    let encoded = encode_item(&item)?;
    let start = start_of(I::BUCKET, &encoded)?;
    Ok(vec![(
        BucketRow { parent, start },
        Box::new(vec![item]),
        vec![encoded],
    )])
}

/// The items by the rows of their buckets, if each is within its bounds.
fn rows<I: Bucketed>(parent: &Bson, items: impl IntoIterator<Item = I>) -> Result<BucketRows> {
    let mut rows: Vec<(Option<DateTime>, Vec<I>, Vec<Document>)> = Vec::new();
    let mut places: HashMap<Option<DateTime>, usize> = HashMap::new();
    for item in items {
        let encoded = encode_item(&item)?;
        let start = start_of(I::BUCKET, &encoded)?;
        let place = *places.entry(start).or_insert(rows.len());
        match rows.get_mut(place) {
            Some((_, items, all)) => {
                items.push(item);
                all.push(encoded);
            }
            None => rows.push((start, vec![item], vec![encoded])),
        }
    }
    for (_, items, _) in &rows {
        for part in items.chunks(I::BUCKET.most()) {
            I::push(Changes::new(), part).build(false, crate::now())?;
        }
    }
    let mut all: BucketRows = Vec::with_capacity(rows.len());
    for (start, items, encoded) in rows {
        let parent = parent.clone();
        all.push((BucketRow { parent, start }, Box::new(items), encoded));
    }
    Ok(all)
}

/// The operations, as they are awaited.
impl BucketWriter {
    fn push_one(self, rows: Result<BucketRows>) -> Action<i32> {
        let collection = self.core.meta().collection;
        let push = async move { self.push("push", rows?).await };
        Action::new(collection, "push", Box::new(push))
    }

    fn push_many(self, rows: Result<BucketRows>) -> Action<()> {
        let collection = self.core.meta().collection;
        let push = async move { self.push("push_many", rows?).await.map(drop) };
        Action::new(collection, "push_many", Box::new(push))
    }

    fn change_of(self, operation: &'static str, change: Result<Option<ChangeAll>>) -> Action<u64> {
        let collection = self.core.meta().collection;
        let changed = async move {
            match change? {
                Some(change) => self.change_all(operation, change).await,
                None => Ok(0),
            }
        };
        Action::new(collection, operation, Box::new(changed))
    }

    /// The number of items that this parent has.
    fn count(self, parent: Result<Bson>) -> Action<u64> {
        let collection = self.core.meta().collection;
        let count = async move {
            let meta = self.meta;
            let stages = vec![
                doc! { "$match": of_parent(meta, &parent?) },
                doc! { "$group": { "_id": null, "n": { "$sum": format!("${}", meta.count) } } },
                doc! { "$limit": 1 },
            ];
            let counted = aggregate::documents(&self.core, stages).await?.pop();
            let n = match counted.as_ref().and_then(|counted| counted.get("n")) {
                Some(Bson::Int32(n)) => i64::from(*n),
                Some(Bson::Int64(n)) => *n,
                _ => 0,
            };
            Ok(u64::try_from(n).unwrap_or(0))
        };
        Action::new(collection, "aggregate", Box::new(count))
    }
}

fn encode_item<I: Bucketed>(item: &I) -> Result<Document> {
    let items = I::BUCKET.items;
    let item = stored_document(items, item)?;
    Document::try_from(item).map_err(|source| Error::Encode {
        field: items.to_owned(),
        source: Box::new(source),
    })
}

/// Reading.
impl<I: Bucketed> Buckets<I> {
    fn of(&self, parent: Result<Bson>) -> Find<I::Bucket> {
        let meta = I::BUCKET;
        let filter = parent.map(|parent| of_parent(meta, &parent));
        let mut find = Find::new(self.collection.core().clone(), Filter::of(filter));
        let start = meta.period.as_ref().map(|period| period.start);
        let order = start.into_iter().chain([meta.page]);
        find.query.sort = order.map(|name| crate::Order::new(name, false)).collect();
        find
    }

    /// All buckets of this parent, in their order. For many buckets, [`stream`](Buckets::stream) holds only a few in memory.
    ///
    /// # Errors
    /// [`Error::Decode`] if one can't be decoded.
    ///
    /// # Cost
    /// One round trip for each batch of 16 MB.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// for bucket in odm.buckets::<Comment>().pages(&post).await? {
    ///     println!("page {}: {} comments", bucket.page, bucket.count);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn pages(&self, parent: impl Target<I::Parent>) -> Action<Vec<I::Bucket>> {
        self.of(parent.target_id()).all()
    }

    /// How many items this parent has.
    ///
    /// # Errors
    /// Those of the server and the network.
    ///
    /// # Cost
    /// One round trip, which adds up the counts of the buckets.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// println!("{} comments", odm.buckets::<Comment>().count(&post).await?);
    /// # Ok(()) }
    /// ```
    pub fn count(&self, parent: impl Target<I::Parent>) -> Action<u64> {
        self.untyped().count(parent.target_id())
    }

    /// The items of this parent, one after the other: bucket by bucket, and within one in the order of their pushes.
    ///
    /// # Errors
    /// Those of the server and the network, from `.await` for the first batch, as an item for a later one;
    /// [`Error::Decode`] in the place of a bucket that can't be decoded.
    ///
    /// # Cost
    /// One round trip for about a thousand items, of which one batch is in memory.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut comments = odm.buckets::<Comment>().stream(&post).await?;
    /// while let Some(comment) = comments.try_next().await? {
    ///     println!("{}: {}", comment.name, comment.text);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn stream(&self, parent: impl Target<I::Parent>) -> Action<BoxStream<'static, Result<I>>> {
        let batch = STREAMED / I::BUCKET.size.max(1);
        let buckets = self
            .of(parent.target_id())
            .batch_size(u32::try_from(batch).unwrap_or(1).max(1))
            .stream();
        let items = async move {
            let items = |bucket: I::Bucket| futures::stream::iter(I::items(bucket).into_iter().map(Ok));
            Ok(buckets.await?.map_ok(items).try_flatten().boxed())
        };
        Action::new(I::Bucket::META.collection, "stream", Box::new(items))
    }
}

impl<I: Bucketed> Buckets<I> {
    /// The items of one page, from 1; none if there is no such page.
    ///
    /// # Errors
    /// [`Error::Decode`] if the bucket can't be decoded.
    ///
    /// # Cost
    /// One round trip that reads one document.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// let second = odm.buckets::<Comment>().page(&post, 2).await?;
    /// # Ok(()) }
    /// ```
    pub fn page(&self, parent: impl Target<I::Parent>, page: i32) -> Action<Vec<I>>
    where
        I: ByCount,
    {
        let mut find = self.of(parent.target_id());
        find.query
            .and(Filter::raw(doc! { I::BUCKET.page: { "$eq": page } }));
        find.query.sort.clear();
        let bucket = find.one();
        let items = async move { Ok(bucket.await?.map(I::items).unwrap_or_default()) };
        Action::new(I::Bucket::META.collection, "find_one", Box::new(items))
    }

    /// The items of a period, in the order of their times; items of the same time in the order of their pushes.
    ///
    /// # Errors
    /// [`Error::Decode`] if a bucket can't be decoded.
    ///
    /// # Cost
    /// One round trip for each batch of 16 MB, which reads the buckets that may hold items of the time. For buckets by time the
    /// index finds them; for buckets by count all buckets of the parent are scanned.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm, sensor: Sensor, from: DateTime, to: DateTime) -> odm::Result<()> {
    /// let readings = odm.buckets::<Reading>().range(&sensor, from..to).await?;
    /// # Ok(()) }
    /// ```
    pub fn range(&self, parent: impl Target<I::Parent>, time: impl RangeBounds<DateTime>) -> Action<Vec<I>>
    where
        I: Timed,
    {
        let meta = I::BUCKET;
        let mut find = self.of(parent.target_id());
        let time = (time.start_bound().cloned(), time.end_bound().cloned());
        find.query.and(Filter::raw(touching(meta, time.0, time.1)));
        let buckets = find.all();
        let items = async move {
            let mut found = Vec::new();
            for item in buckets.await?.into_iter().flat_map(I::items) {
                let at = match &meta.time {
                    Some(time) => encode_item(&item)?.get_datetime(time.field).ok().copied(),
                    None => None,
                };
                if let Some(at) = at.filter(|at| time.contains(at)) {
                    found.push((at, item));
                }
            }
            found.sort_by_key(|(at, _)| *at);
            Ok(found.into_iter().map(|(_, item)| item).collect())
        };
        Action::new(I::Bucket::META.collection, "find", Box::new(items))
    }
}

/// The typed paths of an item.
type BucketPaths<I> = <Element<I> as Rooted>::Paths;

impl<I: Bucketed> Buckets<I> {
    /// Changes every item of this parent that matches the condition, and returns their number.
    ///
    /// A condition selects items by their fields: give items that must be distinguished a field for it, such as `id: ObjectId`.
    /// The items of one bucket are changed together with its sums, all or nothing; in a [transaction](crate::Tx::buckets) those of all
    /// buckets.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a value breaks a bound; [`Error::MissingReference`]; [`Error::Query`] where the time of an
    /// item is changed to one of another bucket's (delete it and push it again), and where a field that is summed, or the
    /// time, is changed by something else than `set`, `unset` and `inc`.
    ///
    /// # Cost
    /// One round trip to find the items, and one for each bucket that has some; one more for each where the change concerns
    /// the time or a sum. Where another client has written to the bucket meanwhile, the same again for it.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// let comments = odm.buckets::<Comment>();
    /// comments.edit(&post, |c| c.name.eq("Kate"), |c| c.set(|c| c.stars, 4)).await?;
    /// # Ok(()) }
    /// ```
    pub fn edit(
        &self,
        parent: impl Target<I::Parent>,
        condition: impl FnOnce(BucketPaths<I>) -> Filter<Element<I>>,
        change: impl FnOnce(Changes<Element<I>>) -> Changes<Element<I>>,
    ) -> Action<u64> {
        let condition = condition(<Element<I> as Rooted>::rooted());
        let edit = edit_of::<I>(parent.target_id(), condition, change(Changes::new()));
        self.untyped().change_of("edit", edit)
    }

    /// Deletes every item of this parent that matches the condition, and returns their number.
    ///
    /// The items after them move up within their bucket. The bucket stays, also without an item, so that the pages keep their
    /// numbers, and a later push does not reuse the room. Count and sums are written with it, all or nothing; in a
    /// [transaction](crate::Tx::buckets) in all buckets.
    ///
    /// # Errors
    /// [`Error::Query`] where the condition can't be applied to the items of an array.
    ///
    /// # Cost
    /// One round trip to find the items, and one for each bucket that has some; one more for each where the bucket knows the
    /// time or a sum. Where another client has written to the bucket meanwhile, the same again for it.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::bucket::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// let gone = odm.buckets::<Comment>().delete(&post, |c| c.name.eq("Spam")).await?;
    /// # Ok(()) }
    /// ```
    pub fn delete(
        &self,
        parent: impl Target<I::Parent>,
        condition: impl FnOnce(BucketPaths<I>) -> Filter<Element<I>>,
    ) -> Action<u64> {
        let condition = condition(<Element<I> as Rooted>::rooted());
        self.untyped()
            .change_of("delete", deletion_of::<I>(parent.target_id(), condition))
    }
}

/// `None` for a change without an operator.
fn edit_of<I: Bucketed>(
    parent: Result<Bson>,
    condition: Filter<Element<I>>,
    change: Changes<Element<I>>,
) -> Result<Option<ChangeAll>> {
    let (parent, condition) = (parent?, condition.into_document()?);
    if change.is_empty() {
        return Ok(None);
    }
    let fate = Fate::Changed(change.untyped.operators().clone());
    let changes = I::edit(Changes::new(), Filter::raw(condition.clone()), change);
    Ok(Some(ChangeAll {
        parent,
        condition,
        built: changes.build(false, crate::now())?,
        fate,
    }))
}

fn deletion_of<I: Bucketed>(
    parent: Result<Bson>,
    condition: Filter<Element<I>>,
) -> Result<Option<ChangeAll>> {
    let (parent, condition) = (parent?, condition.into_document()?);
    let changes = I::delete(Changes::new(), Filter::raw(condition.clone()));
    Ok(Some(ChangeAll {
        parent,
        condition,
        built: changes.build(false, crate::now())?,
        fate: Fate::Deleted,
    }))
}
