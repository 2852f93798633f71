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

use crate::engine::{self, One, Operation, Outcome, Reply, What};
use crate::insert_many::insert_encoded;
use crate::modify::execute;
use crate::operators::{Built, Changes, Rooted};
use crate::query::aggregate;
use crate::query::filter::{Element, below};
use crate::relation;
use crate::store::action::Action;
use crate::store::core::Core;
use crate::store::decode::not_encoded;
use crate::store::packed::Part;
use crate::store::trace::Trace;
use crate::write::encode_behind;
use crate::{Collection, Error, Filter, Find, Odm, Result, Target, Tx};
use crate::{Document as _, store::core::act};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use mongodb::bson::{self, Bson, DateTime, Document, RawDocumentBuf, doc, oid::ObjectId};
use std::collections::HashMap;
use std::ops::{Range, RangeBounds};
use std::time::Duration;

mod meta;
mod summary;

use meta::ROOM;
pub(crate) use meta::VERSION;
pub use meta::{
    BucketMeta, BucketPeriod, BucketSum, BucketTime, Bucketed, ByCount, ByTime, Per, PushInsteadOfInsert,
    Summable, Timed,
};
pub(crate) use summary::{renew, retell};

/// Maximum number of attempts of a push. One fails where the bucket is full and another client creates the next one: each time
/// other clients have filled a whole bucket meanwhile, so only very small buckets with very many writers need more than a few.
const ATTEMPTS: u64 = 1_000;

/// The pause before another attempt grows up to this.
const LONGEST_PAUSE: u64 = 20;

/// Approximate number of items that are in memory while a stream is read.
const STREAMED: i32 = 1_000;

/// The items of type `I`, in buckets. Cheap to clone; `Send` and `Sync`.
///
/// It comes from [`Odm::buckets`], or within a transaction from [`Tx::buckets`]. The buckets themselves are documents like
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
/// # Example
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let comments = odm.buckets::<Comment>();
    /// # Ok(()) }
    /// ```
    pub fn buckets<I: Bucketed>(&self) -> Buckets<I> {
        Buckets {
            collection: self.collection(),
        }
    }
}

impl Tx {
    /// The same within the transaction.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
    /// # async fn example(odm: Odm, post: Post, comment: Comment) -> odm::Result<()> {
    /// odm.transaction(async |tx| {
    ///     tx.buckets::<Comment>().push(&post, comment.clone()).await?;
    ///     tx.collection::<Post>().update(&post).inc(|p| p.answers, 1).await
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    pub fn buckets<I: Bucketed>(&self) -> Buckets<I> {
        Buckets {
            collection: self.collection(),
        }
    }
}

/// The buckets that follow each other by their pages: those of a parent, or of one period of it.
#[derive(Clone, Debug)]
struct Row {
    parent: Bson,
    start: Option<DateTime>,
}

impl Row {
    fn filter(&self, meta: &BucketMeta) -> Document {
        let mut filter = of_parent(meta, &self.parent);
        if let (Some(period), Some(start)) = (&meta.period, self.start) {
            filter.insert(period.start, doc! { "$eq": start });
        }
        filter
    }
}

fn of_parent(meta: &BucketMeta, parent: &Bson) -> Document {
    doc! { meta.parent: { "$eq": parent } }
}

/// The newest page.
#[derive(Clone, Copy)]
struct Newest {
    page: i32,
    room: i32,
}

impl<I: Bucketed> Buckets<I> {
    /// The buckets as documents: for queries, joins and pipelines, and to delete whole ones. No update changes a field of
    /// them, and none is inserted, upserted or replaced: that does not compile.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
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
    /// [transaction](Tx::buckets) all of them are added or none. Nothing is sent if one of them breaks a bound.
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
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
    fn untyped(&self) -> Untyped {
        Untyped {
            core: self.collection.core().clone(),
            meta: I::BUCKET,
        }
    }
}

/// The items of a push, in their type.
trait Items: Send + Sync {
    fn count(&self) -> usize;
    /// The update that adds a range of them to a bucket.
    fn update(&self, range: Range<usize>) -> Result<Built>;
    /// Writes a bucket behind what is there, if it is within its bounds.
    fn encode(&self, bucket: &Document, bytes: &mut Vec<u8>) -> Result<()>;
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
        let bucket: I::Bucket = RawDocumentBuf::try_from(bucket)
            .and_then(|raw| bson::deserialize_from_slice(raw.as_bytes()))
            .map_err(|source| not_encoded(I::Bucket::META, source))?;
        encode_behind(&bucket, bytes)
    }
}

/// The items to push onto each row of buckets, and how they are stored.
type Rows = Vec<(Row, Box<dyn Items>, Vec<Document>)>;

/// One item, for the row of its bucket.
fn one_row<I: Bucketed>(parent: Bson, item: I) -> Result<Rows> {
    let encoded = encode_item(&item)?;
    let start = start_of(I::BUCKET, &encoded)?;
    Ok(vec![(Row { parent, start }, Box::new(vec![item]), vec![encoded])])
}

/// The items by the rows of their buckets, if each is within its bounds.
fn rows<I: Bucketed>(parent: &Bson, items: impl IntoIterator<Item = I>) -> Result<Rows> {
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
    let mut all: Rows = Vec::with_capacity(rows.len());
    for (start, items, encoded) in rows {
        let parent = parent.clone();
        all.push((Row { parent, start }, Box::new(items), encoded));
    }
    Ok(all)
}

/// Buckets without the type of their items.
struct Untyped {
    core: Core,
    meta: &'static BucketMeta,
}

impl Untyped {
    fn push_one(self, rows: Result<Rows>) -> Action<i32> {
        let collection = self.core.meta().collection;
        let push = async move { self.push("push", rows?).await };
        Action::new(collection, "push", Box::new(push))
    }

    fn push_many(self, rows: Result<Rows>) -> Action<()> {
        let collection = self.core.meta().collection;
        let push = async move { self.push("push_many", rows?).await.map(drop) };
        Action::new(collection, "push_many", Box::new(push))
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

    /// Adds items to rows of buckets, and gives the page of the last.
    fn push(self, operation: &'static str, rows: Rows) -> BoxFuture<'static, Result<i32>> {
        async move {
            let trace = self.core.trace(operation);
            trace
                .run(async {
                    let mut page = 0;
                    for (at, (row, items, encoded)) in rows.iter().enumerate() {
                        let pushed = self.push_row(row, &**items, encoded, &trace).await;
                        page = pushed.map_err(|error| match at > 0 && self.core.session().is_none() {
                            true => error.after_a_part(self.meta.collection),
                            false => error,
                        })?;
                    }
                    Ok(page)
                })
                .await
        }
        .boxed()
    }

    /// Adds items to one row of buckets, and gives the page of the last.
    async fn push_row(
        &self,
        row: &Row,
        items: &dyn Items,
        encoded: &[Document],
        trace: &Trace,
    ) -> Result<i32> {
        let meta = self.meta;
        let all = items.count();
        // How many of them are added already.
        let mut added = 0;
        // Out of a transaction, what has been added before an error stays.
        let partly = |added: usize, error: Error| match added > 0 && self.core.session().is_none() {
            true => error.after_a_part(self.meta.collection),
            false => error,
        };
        let mut newest: Option<Newest> = None;
        // The round trips beside those of the update.
        let mut trips = 0;
        for attempt in 0..ATTEMPTS {
            let room = newest.map_or(meta.most(), |newest| usize::try_from(newest.room).unwrap_or(0));
            // Before the bucket was read there may be room for all; afterwards the room is known.
            let fits = match newest {
                None => all - added <= room,
                Some(_) => room > 0,
            };
            if fits {
                let part = added..added + room.min(all - added);
                let behind = part.end;
                let onto = self.add_to_open(row, items, part, encoded, trace).await;
                if let Some(page) = onto.map_err(|error| partly(added, error))? {
                    added = behind;
                    if added == all {
                        trace.done(trips, 1);
                        return Ok(page);
                    }
                }
            }
            trips += 1;
            let found = self.newest(row).await;
            let found = found.map_err(|error| partly(added, error.of_read()))?;
            newest = Some(found);
            // Another client has created one with room since the update was executed.
            if found.room > 0 {
                pause(attempt).await;
                continue;
            }
            let made = self.insert(row, found.page, items, added..all, encoded).await;
            match made {
                Ok(last) => {
                    trace.done(trips + 1, 1);
                    return Ok(last);
                }
                Err(Refused { inserted, error }) => {
                    let others = is_ours(meta, &error) && self.core.session().is_none();
                    if !others {
                        trace.done(trips + 1, 0);
                        return Err(match inserted {
                            0 => partly(added, error),
                            _ => error.after_a_part(self.meta.collection),
                        });
                    }
                    added = inserted
                        .saturating_mul(meta.most())
                        .saturating_add(added)
                        .min(all);
                    newest = None;
                    pause(attempt).await;
                }
            }
        }
        let error = Error::Contention {
            collection: self.meta.collection,
            source: None,
            message: format!(
                "other writers filled the newest bucket before this push in each of {ATTEMPTS} attempts: try again, or declare \
                 a greater `size` than {}",
                meta.size
            ),
        };
        Err(partly(added, error))
    }

    /// Adds the items to the bucket that has room for them, and gives its page; `None` if none has.
    async fn add_to_open(
        &self,
        row: &Row,
        items: &dyn Items,
        part: Range<usize>,
        encoded: &[Document],
        trace: &Trace,
    ) -> Result<Option<i32>> {
        let meta = self.meta;
        let (odm, documents) = (self.core.odm(), self.core.meta());
        let more = count(part.len());
        let encoded = encoded.get(part.clone()).unwrap_or_default();
        let mut built = items.update(part)?;
        // That there is room is in the condition.
        built.guards.clear();
        summary::add(meta, &mut built.update, encoded)?;
        relation::prepare(odm, documents, &mut built)?;
        let mut filter = row.filter(meta);
        // The page may have been made by a declaration with a greater size, and says that it has room for more.
        filter.insert(ROOM, doc! { "$gte": more, "$lte": meta.size });
        filter.insert(meta.count, doc! { "$lte": meta.size.saturating_sub(more) });
        let update = engine::Update {
            one: None,
            filter,
            built,
            upsert: false,
            collation: None,
            reply: Reply::Field(meta.page),
        };
        let operation = Operation::one(documents, What::Update(Box::new(update)));
        let done = engine::execute(odm, self.core.session(), trace, operation).await?;
        let page = |found: RawDocumentBuf| number(found.get(meta.page).ok().flatten());
        Ok(done.document.map(page))
    }

    /// The number of the newest page and its room; 0 and none if there is no page. One that was made by a declaration with a
    /// greater size is cut to the present one first.
    async fn newest(&self, row: &Row) -> Result<Newest> {
        let meta = self.meta;
        let mut attempts = 0;
        loop {
            let action = self
                .core
                .raw()
                .find_one(row.filter(meta))
                .sort(doc! { meta.page: -1 })
                .projection(doc! { meta.page: 1, meta.count: 1, ROOM: 1, VERSION: 1 });
            let found = act!(self.core.session(), action).map_err(|error| self.core.error(error))?;
            let Some(found) = found else {
                return Ok(Newest { page: 0, room: 0 });
            };
            let value = |name: &str| number(found.get(name).ok().flatten());
            let (page, room) = (value(meta.page), value(ROOM));
            let allowed = meta.size.saturating_sub(value(meta.count)).max(0);
            if room <= allowed {
                return Ok(Newest { page, room });
            }
            // It holds more than a page may by now, or as much, and a push passes by it.
            if allowed == 0 {
                return Ok(Newest { page, room: 0 });
            }
            let id = found.get("_id").ok().flatten();
            let id = id.and_then(|id| Bson::try_from(id).ok()).unwrap_or(Bson::Null);
            let version = found.get_i64(VERSION).unwrap_or_default();
            let mut built = Changes::new().build_for(self.core.meta(), false, crate::now())?;
            summary::merge(&mut built.update, "$set", doc! { ROOM: allowed });
            summary::merge(&mut built.update, "$inc", doc! { VERSION: 1_i64 });
            match change(&self.core, id.clone(), version, built).await {
                Ok(_) => return Ok(Newest { page, room: allowed }),
                Err(Error::Conflict { .. } | Error::NotFound { .. }) if attempts == ATTEMPTS => {
                    return Err(contended(meta, &id));
                }
                // Another client has written it.
                Err(Error::Conflict { .. } | Error::NotFound { .. }) => {
                    attempts += 1;
                    pause(attempts).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Inserts the pages behind the newest one that hold the items, and gives the last.
    async fn insert(
        &self,
        row: &Row,
        newest: i32,
        items: &dyn Items,
        which: Range<usize>,
        encoded: &[Document],
    ) -> Result<i32, Refused> {
        let meta = self.meta;
        let refused = |error| Refused { inserted: 0, error };
        let mut page = newest;
        let mut buckets = Part::default();
        // A bound that one item breaks is reported for the item, as where it is pushed onto a bucket.
        for start in which.clone().step_by(meta.most()) {
            let part = start..which.end.min(start + meta.most());
            items.update(part).map_err(refused)?;
        }
        let encoded = encoded.get(which).unwrap_or_default();
        for (at, part) in encoded.chunks(meta.most()).enumerate() {
            page = page.saturating_add(1);
            let bucket = self.bucket(row, page, part).map_err(refused)?;
            buckets.add(at, |bytes| items.encode(&bucket, bytes));
        }
        match insert_encoded(&self.core, vec![buckets], true, true).await {
            Ok(_) => Ok(page),
            Err(Error::InsertMany {
                inserted, mut errors, ..
            }) if !errors.is_empty() => {
                let (_, error) = errors.swap_remove(0);
                Err(Refused { inserted, error })
            }
            Err(error) => Err(refused(error)),
        }
    }

    fn bucket(&self, row: &Row, page: i32, items: &[Document]) -> Result<Document> {
        let meta = self.meta;
        let held = count(items.len());
        let mut bucket = doc! {
            "_id": ObjectId::new(),
            meta.parent: row.parent.clone(),
            meta.page: page,
            meta.count: held,
            meta.items: items.to_vec(),
            ROOM: meta.size.saturating_sub(held),
            VERSION: 1_i64,
        };
        if let (Some(period), Some(start)) = (&meta.period, row.start) {
            bucket.insert(period.start, start);
        }
        bucket.extend(summary::of(meta, items)?.fields());
        Ok(bucket)
    }
}

/// Changes a bucket of which this version was read.
async fn change(core: &Core, id: Bson, version: i64, mut built: Built) -> Result<Outcome> {
    // The number and the sums of the items are written too, so the update does not change items alone.
    built.met = None;
    let seen = Some(version);
    let update = engine::Update::new(core.odm(), core.meta(), One { id, seen }, built, false)?;
    execute(core.clone(), "update", update).await
}

impl BucketMeta {
    fn most(&self) -> usize {
        usize::try_from(self.size).unwrap_or(1).max(1)
    }
}

/// Why the pages after the inserted ones were not inserted.
struct Refused {
    inserted: usize,
    error: Error,
}

/// Whether another client has created the page.
fn is_ours(meta: &BucketMeta, error: &Error) -> bool {
    let Error::DuplicateKey { fields, .. } = error else {
        return false;
    };
    // An index on the items' own fields has others.
    let ours = [
        Some(meta.parent),
        Some(meta.page),
        meta.period.as_ref().map(|period| period.start),
    ];
    !fields.is_empty() && fields.iter().all(|field| ours.contains(&Some(field.as_str())))
}

async fn pause(attempt: u64) {
    if attempt > 1 {
        tokio::time::sleep(Duration::from_millis(attempt.min(LONGEST_PAUSE))).await;
    }
}

fn number(value: Option<bson::RawBsonRef<'_>>) -> i32 {
    value.and_then(|value| value.as_i32()).unwrap_or(0)
}

fn count(items: usize) -> i32 {
    i32::try_from(items).unwrap_or(i32::MAX)
}

fn encode_item<I: Bucketed>(item: &I) -> Result<Document> {
    crate::query::operand::stored_document(item).map_err(|source| Error::Encode {
        field: I::BUCKET.items.to_owned(),
        source: Box::new(source),
    })
}

/// The beginning of the period that the item is of; `None` of buckets by count.
fn start_of(meta: &BucketMeta, item: &Document) -> Result<Option<DateTime>> {
    let (Some(period), Some(time)) = (&meta.period, &meta.time) else {
        return Ok(None);
    };
    match item.get(time.field) {
        Some(Bson::DateTime(at)) => Ok(Some(period.per.start(*at))),
        _ => Err(Error::Query {
            collection: meta.collection,
            message: format!(
                "an item has no date in `{}`, by which its bucket is found",
                time.field
            ),
        }),
    }
}

/// Reading.
impl<I: Bucketed> Buckets<I> {
    fn of(&self, parent: Result<Bson>) -> Find<I::Bucket> {
        let meta = I::BUCKET;
        let filter = parent.map(|parent| of_parent(meta, &parent));
        let mut find = Find::new(&self.collection, Filter::of(filter));
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
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
        find.query
            .and(Filter::raw(summary::touching(meta, time.0, time.1)));
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
type Paths<I> = <Element<I> as Rooted>::Paths;

/// A bucket with items that match a condition.
struct Hit {
    id: Bson,
    version: i64,
    /// How many items it holds.
    count: i32,
    /// The positions of the items.
    at: Vec<usize>,
}

/// What becomes of the items.
enum Fate {
    /// The operators on an item, by its own names.
    Changed(Document),
    Deleted,
}

/// Changes of items.
impl<I: Bucketed> Buckets<I> {
    /// Changes every item of this parent that matches the condition, and returns their number.
    ///
    /// A condition selects items by their fields: give items that must be distinguished a field for it, such as `id: ObjectId`.
    /// The items of one bucket are changed together with its sums, all or nothing; in a [transaction](Tx::buckets) those of all
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// let comments = odm.buckets::<Comment>();
    /// comments.edit(&post, |c| c.name.eq("Kate"), |c| c.set(|c| c.stars, 4)).await?;
    /// # Ok(()) }
    /// ```
    pub fn edit(
        &self,
        parent: impl Target<I::Parent>,
        condition: impl FnOnce(Paths<I>) -> Filter<Element<I>>,
        change: impl FnOnce(Changes<Element<I>>) -> Changes<Element<I>>,
    ) -> Action<u64> {
        let condition = condition(<Element<I> as Rooted>::rooted());
        let edit = edit_of::<I>(parent.target_id(), condition, change(Changes::new()));
        self.untyped().change_all("edit", edit)
    }

    /// Deletes every item of this parent that matches the condition, and returns their number.
    ///
    /// The items after them move up within their bucket. The bucket stays, also without an item, so that the pages keep their
    /// numbers, and a later push does not reuse the room. Count and sums are written with it, all or nothing; in a
    /// [transaction](Tx::buckets) in all buckets.
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/bucket.rs")); } use model::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// let gone = odm.buckets::<Comment>().delete(&post, |c| c.name.eq("Spam")).await?;
    /// # Ok(()) }
    /// ```
    pub fn delete(
        &self,
        parent: impl Target<I::Parent>,
        condition: impl FnOnce(Paths<I>) -> Filter<Element<I>>,
    ) -> Action<u64> {
        let condition = condition(<Element<I> as Rooted>::rooted());
        self.untyped()
            .change_all("delete", deletion_of::<I>(parent.target_id(), condition))
    }
}

/// A change of all items of a parent that match a condition.
struct ChangeAll {
    parent: Bson,
    condition: Document,
    built: Built,
    fate: Fate,
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
    let fate = Fate::Changed(change.operators().clone());
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

impl Untyped {
    fn change_all(self, operation: &'static str, change: Result<Option<ChangeAll>>) -> Action<u64> {
        let collection = self.core.meta().collection;
        let changed = async move {
            let meta = self.meta;
            let Some(change) = change? else { return Ok(0) };
            let (parent, condition, built, fate) =
                (&change.parent, &change.condition, &change.built, &change.fate);
            let trace = self.core.trace(operation);
            let work = async {
                let mut items = 0_u64;
                let hits = self.hits(of_parent(meta, parent), condition).await?;
                for hit in hits {
                    let mut hit = Some(hit);
                    let mut attempt = 0;
                    while let Some(seen) = hit {
                        if self.change(&seen, built, fate).await? {
                            items += seen.at.len() as u64;
                            break;
                        }
                        attempt += 1;
                        if attempt == ATTEMPTS {
                            return Err(contended(meta, &seen.id));
                        }
                        pause(attempt).await;
                        hit = self
                            .hits(doc! { "_id": { "$eq": seen.id } }, condition)
                            .await?
                            .pop();
                    }
                }
                Ok(items)
            };
            trace.run(work).await
        };
        Action::new(collection, operation, Box::new(changed))
    }

    /// The buckets among these with matching items.
    async fn hits(&self, buckets: Document, condition: &Document) -> Result<Vec<Hit>> {
        let meta = self.meta;
        let items = below(meta.items, condition.clone()).map_err(|message| Error::Query {
            collection: self.meta.collection,
            message,
        })?;
        // Buckets without such an item need not be taken apart. Not every server takes `$or` and its like there, and what
        // follows asks again.
        let mut matching = vec![buckets];
        if !condition.keys().any(|key| key.is_empty() || key.starts_with('$')) {
            matching.push(doc! { meta.items: { "$elemMatch": condition } });
        }
        let start = meta.period.as_ref().map(|period| period.start);
        let mut group = doc! {
            "_id": "$_id",
            VERSION: { "$first": format!("${VERSION}") },
            "count": { "$first": format!("${}", meta.count) },
            "at": { "$push": "$_at" },
        };
        let mut order = Document::new();
        for (name, by) in [("p0", start), ("p1", Some(meta.page))] {
            if let Some(by) = by {
                group.insert(name, doc! { "$first": format!("${by}") });
                order.insert(name, 1);
            }
        }
        let stages = vec![
            doc! { "$match": { "$and": matching } },
            doc! { "$unwind": { "path": format!("${}", meta.items), "includeArrayIndex": "_at" } },
            doc! { "$match": items },
            doc! { "$group": group },
            doc! { "$sort": order },
        ];
        let found = aggregate::documents(&self.core, stages).await?;
        let position = |value: &Bson| match value {
            Bson::Int64(n) => usize::try_from(*n).ok(),
            Bson::Int32(n) => usize::try_from(*n).ok(),
            _ => None,
        };
        let hits = found.into_iter().filter_map(|found| {
            Some(Hit {
                id: found.get("_id")?.clone(),
                version: found.get_i64(VERSION).ok()?,
                count: found.get_i32("count").unwrap_or_default(),
                at: found.get_array("at").ok()?.iter().filter_map(position).collect(),
            })
        });
        Ok(hits.collect())
    }

    /// Changes the items of one bucket; `false` if it was changed meanwhile.
    async fn change(&self, hit: &Hit, built: &Built, fate: &Fate) -> Result<bool> {
        let meta = self.meta;
        let mut built = built.clone();
        let concerned = match fate {
            Fate::Deleted => meta.has_summary(),
            Fate::Changed(operators) => summary::concerns(meta, operators),
        };
        if matches!(fate, Fate::Deleted) {
            let gone = count(hit.at.len());
            summary::merge(
                &mut built.update,
                "$inc",
                doc! { meta.count: gone.saturating_neg() },
            );
            // The place of a deleted item is not taken again: nor where the page was made for more of them.
            let room = meta.size.saturating_sub(hit.count).max(0);
            summary::merge(&mut built.update, "$min", doc! { ROOM: room });
        }
        if concerned {
            let Some((start, mut items)) = self.summed(hit).await? else {
                return Ok(false);
            };
            match fate {
                Fate::Deleted => {
                    let mut at = 0;
                    items.retain(|_| {
                        at += 1;
                        !hit.at.contains(&(at - 1))
                    });
                }
                Fate::Changed(operators) => {
                    let collection = self.meta.collection;
                    for at in &hit.at {
                        if let Some(item) = items.get_mut(*at) {
                            summary::apply(meta, operators, item)
                                .map_err(|message| Error::Query { collection, message })?;
                            stays(meta, item, start)?;
                        }
                    }
                }
            }
            let summary = summary::of(meta, &items)?;
            summary::merge(&mut built.update, "$unset", summary.missing(meta));
            summary::merge(&mut built.update, "$set", summary.fields());
        }
        match change(&self.core, hit.id.clone(), hit.version, built).await {
            Ok(_) => Ok(true),
            // It was deleted with its parent, or by another client.
            Err(Error::Conflict { .. } | Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The summed fields of the bucket's items, if it is unchanged since it was found; and the beginning of its period.
    async fn summed(&self, hit: &Hit) -> Result<Option<(Option<DateTime>, Vec<Document>)>> {
        let meta = self.meta;
        let mut fields = doc! { "_id": 1 };
        for field in meta.summed() {
            fields.insert(format!("{}.{field}", meta.items), 1);
        }
        if let Some(period) = &meta.period {
            fields.insert(period.start, 1);
        }
        let filter = doc! { "_id": { "$eq": &hit.id }, VERSION: { "$eq": hit.version } };
        let action = self.core.raw().find_one(filter).projection(fields);
        let found = act!(self.core.session(), action).map_err(|error| self.core.error(error))?;
        let Some(found) = found else { return Ok(None) };
        let found = Document::try_from(&*found).map_err(|source| Error::Encode {
            field: meta.items.to_owned(),
            source: Box::new(source),
        })?;
        let start = meta
            .period
            .as_ref()
            .and_then(|period| found.get_datetime(period.start).ok().copied());
        let items = found.get_array(meta.items).map(Vec::as_slice).unwrap_or_default();
        let items = items.iter().filter_map(Bson::as_document).cloned();
        Ok(Some((start, items.collect())))
    }
}

/// An item whose time is changed stays in its bucket.
fn stays(meta: &BucketMeta, item: &Document, start: Option<DateTime>) -> Result<()> {
    match start {
        Some(start) if start_of(meta, item)? != Some(start) => Err(Error::Query {
            collection: meta.collection,
            message: format!(
                "the new time of an item belongs to another bucket than that of {start}: delete the item, and push it again \
                 with its new time"
            ),
        }),
        _ => Ok(()),
    }
}

fn contended(meta: &BucketMeta, id: &Bson) -> Error {
    Error::Contention {
        collection: meta.collection,
        source: None,
        message: format!(
            "the bucket with _id {id} changed during each of {ATTEMPTS} attempts to change an item: try again"
        ),
    }
}
