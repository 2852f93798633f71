//! Programs of several operations on buckets: a push that finds the newest bucket full, and changes of items in several buckets.

use crate::engine::execute;
use crate::model::meta::bucket;
use crate::model::meta::bucket::{BucketMeta, ROOM, VERSION};
use crate::plan::operation::{Batching, DocumentById, Reply, UpdateWrite, WriteKind, WriteOperation, Writes};
use crate::plan::operators::{Built, UntypedChanges};
use crate::plan::outcome::Outcome;
use crate::plan::touches::prepare;
use crate::query::aggregate;
use crate::query::filter::condition::below;
use crate::rules::bucket::{self as summary, count};
use crate::store::core::{Core, act};
use crate::store::filter::all;
use crate::store::packed::{DocumentBuffer, Packed};
use crate::store::trace::Trace;
use crate::{Error, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, Bson, DateTime, Document, RawDocumentBuf, doc, oid::ObjectId};
use std::ops::Range;
use std::time::Duration;

/// Maximum number of attempts of a push. One fails where the bucket is full and another client creates the next one: each time
/// other clients have filled a whole bucket meanwhile, so only very small buckets with very many writers need more than a few.
const ATTEMPTS: u64 = 1_000;

/// The pause before another attempt grows up to this.
const LONGEST_PAUSE: u64 = 20;

/// The buckets that follow each other by their pages: those of a parent, or of one period of it.
#[derive(Clone, Debug)]
pub(crate) struct BucketRow {
    pub(crate) parent: Bson,
    pub(crate) start: Option<DateTime>,
}

impl BucketRow {
    fn filter(&self, meta: &BucketMeta) -> Document {
        let mut filter = of_parent(meta, &self.parent);
        if let (Some(period), Some(start)) = (&meta.period, self.start) {
            filter.insert(period.start, doc! { "$eq": start });
        }
        filter
    }
}

pub(crate) fn of_parent(meta: &BucketMeta, parent: &Bson) -> Document {
    doc! { meta.parent: { "$eq": parent } }
}

/// The newest page.
#[derive(Clone, Copy)]
struct Newest {
    page: i32,
    room: i32,
}

/// The items of a push, in their type.
pub(crate) trait Items: Send + Sync {
    fn count(&self) -> usize;
    /// The update that adds a range of them to a bucket.
    fn update(&self, range: Range<usize>) -> Result<Built>;
    /// Writes a bucket behind what is there, if it is within its bounds.
    fn encode(&self, bucket: &Document, bytes: &mut Vec<u8>) -> Result<()>;
}

/// The items to push onto each row of buckets, and how they are stored.
pub(crate) type BucketRows = Vec<(BucketRow, Box<dyn Items>, Vec<Document>)>;

/// Buckets without the type of their items.
pub(crate) struct BucketWriter {
    pub(crate) core: Core,
    pub(crate) meta: &'static BucketMeta,
}

impl BucketWriter {
    /// Adds items to rows of buckets, and gives the page of the last.
    pub(crate) fn push(self, operation: &'static str, rows: BucketRows) -> BoxFuture<'static, Result<i32>> {
        async move {
            let trace = self.core.trace(operation);
            trace
                .run(async {
                    let mut page = 0;
                    for (at, (row, items, encoded)) in rows.iter().enumerate() {
                        let pushed = self.push_row(row, &**items, encoded, &trace).await;
                        page = pushed.map_err(|error| self.after_parts(at as u64, error))?;
                    }
                    Ok(page)
                })
                .await
        }
        .boxed()
    }

    /// An error behind this number of written parts. Out of a transaction these stay; the caller's transaction can't be committed with
    /// them.
    fn after_parts(&self, parts: u64, error: Error) -> Error {
        match self.core.session() {
            _ if parts == 0 => error,
            None => error.after_a_part(self.meta.collection),
            Some(session) => {
                session.spoil(&error);
                error
            }
        }
    }

    /// Adds items to one row of buckets, and gives the page of the last.
    async fn push_row(
        &self,
        row: &BucketRow,
        items: &dyn Items,
        encoded: &[Document],
        trace: &Trace,
    ) -> Result<i32> {
        let meta = self.meta;
        let all = items.count();
        // How many of them are added already.
        let mut added = 0;
        let mut newest: Option<Newest> = None;
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
                if let Some(page) = onto.map_err(|error| self.after_parts(added as u64, error))? {
                    added = behind;
                    if added == all {
                        trace.documents(1);
                        return Ok(page);
                    }
                }
            }
            let found = self.newest(row, trace).await;
            let found = found.map_err(|error| self.after_parts(added as u64, error.of_read()))?;
            newest = Some(found);
            // Another client has created one with room since the update was executed.
            if found.room > 0 {
                pause(attempt).await;
                continue;
            }
            let made = self
                .insert(row, found.page, items, added..all, encoded, trace)
                .await;
            match made {
                Ok(last) => {
                    trace.documents(1);
                    return Ok(last);
                }
                Err(RefusedItems { inserted, error }) => {
                    let others = is_ours(meta, &error) && self.core.session().is_none();
                    if !others {
                        return Err(self.after_parts(added.saturating_add(inserted) as u64, error));
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
        Err(self.after_parts(added as u64, error))
    }

    /// Adds the items to the bucket that has room for them, and gives its page; `None` if none has.
    async fn add_to_open(
        &self,
        row: &BucketRow,
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
        prepare(odm.graph(), documents, &mut built)?;
        let mut filter = row.filter(meta);
        // The page may have been made by a declaration with a greater size, and says that it has room for more.
        filter.insert(ROOM, doc! { "$gte": more, "$lte": meta.size });
        filter.insert(meta.count, doc! { "$lte": meta.size.saturating_sub(more) });
        let update = UpdateWrite::matching(filter, built, Reply::Field(meta.page));
        let operation = WriteOperation::one(documents, WriteKind::Update(Box::new(update)));
        let done = execute(self.core.cx(trace), operation).await?;
        let page = |found: RawDocumentBuf| number(found.get(meta.page).ok().flatten());
        Ok(done.document.map(page))
    }

    /// The number of the newest page and its room; 0 and none if there is no page. One that was made by a declaration with a
    /// greater size is cut to the present one first.
    async fn newest(&self, row: &BucketRow, trace: &Trace) -> Result<Newest> {
        let meta = self.meta;
        let mut attempts = 0;
        loop {
            let core = &self.core;
            let filter = core.odm().in_scope(core.meta(), row.filter(meta), false)?;
            let filter = core.cx(trace).routed(core.meta(), filter);
            let mut options = core.on_primary();
            options.sort = Some(doc! { meta.page: -1 });
            options.projection = Some(doc! { meta.page: 1, meta.count: 1, ROOM: 1, VERSION: 1 });
            trace.trip();
            let found = act!(core, own, [core] core.raw().find_one(filter).with_options(options));
            let found = found.map_err(|error| core.error(error))?;
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
            let mut built = UntypedChanges::default().build_for(self.core.meta(), false, crate::now())?;
            bucket::merge(&mut built.update, "$set", doc! { ROOM: allowed });
            bucket::merge(&mut built.update, "$inc", doc! { VERSION: 1_i64 });
            match change(&self.core, trace, id.clone(), version, built).await {
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
        row: &BucketRow,
        newest: i32,
        items: &dyn Items,
        which: Range<usize>,
        encoded: &[Document],
        trace: &Trace,
    ) -> Result<i32, RefusedItems> {
        let meta = self.meta;
        let refused = |error| RefusedItems { inserted: 0, error };
        let mut page = newest;
        let mut buckets = DocumentBuffer::default();
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
        if let Some((_, error)) = buckets.refused.pop() {
            return Err(refused(error));
        }
        let operation = WriteOperation {
            writes: Writes::Packed {
                meta: self.core.meta(),
                documents: Packed::from(vec![buckets]),
                give_back: false,
            },
            batching: Batching::InsertMany { ordered: true },
        };
        let made = execute(self.core.cx(trace), operation).await;
        let (inserted, errors) = match made {
            Ok(outcome) => (outcome.counts.inserted, outcome.refusals.errors),
            Err(Error::Bulk { errors, done }) => (done.inserted, errors),
            Err(error) => return Err(refused(error)),
        };
        match errors.into_iter().next() {
            None => Ok(page),
            Some((_, error)) => Err(RefusedItems {
                inserted: usize::try_from(inserted).unwrap_or(usize::MAX),
                error,
            }),
        }
    }

    fn bucket(&self, row: &BucketRow, page: i32, items: &[Document]) -> Result<Document> {
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
        bucket.extend(summary::summarize(meta, items)?.fields());
        self.core.odm().complete(self.core.meta(), &mut bucket)?;
        Ok(bucket)
    }
}

/// Changes a bucket of which this version was read.
async fn change(core: &Core, trace: &Trace, id: Bson, version: i64, mut built: Built) -> Result<Outcome> {
    // The number and the sums of the items are written too, so the update does not change items alone.
    built.met = None;
    let seen = Some(version);
    let update = UpdateWrite::new(core.odm(), core.meta(), DocumentById::new(id, seen), built, false)?;
    let operation = WriteOperation::one(core.meta(), WriteKind::Update(Box::new(update)));
    execute(core.cx(trace), operation).await
}

impl BucketMeta {
    pub(crate) fn most(&self) -> usize {
        usize::try_from(self.size).unwrap_or(1).max(1)
    }
}

/// Why the pages after the inserted ones were not inserted.
struct RefusedItems {
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

/// The beginning of the period that the item is of; `None` of buckets by count.
pub(crate) fn start_of(meta: &BucketMeta, item: &Document) -> Result<Option<DateTime>> {
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
pub(crate) enum Fate {
    /// The operators on an item, by its own names.
    Changed(Document),
    Deleted,
}

/// A change of all items of a parent that match a condition.
pub(crate) struct ChangeAll {
    pub(crate) parent: Bson,
    pub(crate) condition: Document,
    pub(crate) built: Built,
    pub(crate) fate: Fate,
}

/// Changes of items.
impl BucketWriter {
    pub(crate) fn change_all(
        self,
        operation: &'static str,
        change: ChangeAll,
    ) -> BoxFuture<'static, Result<u64>> {
        async move {
            let meta = self.meta;
            let ChangeAll {
                parent,
                condition,
                built,
                fate,
            } = &change;
            let trace = self.core.trace(operation);
            let mut items = 0_u64;
            let work = async {
                let hits = self.hits(of_parent(meta, parent), condition).await?;
                for hit in hits {
                    let mut hit = Some(hit);
                    let mut attempt = 0;
                    while let Some(seen) = hit {
                        if self.change(&seen, built, fate, &trace).await? {
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
                Ok(())
            };
            match trace.run(work).await {
                Ok(()) => Ok(items),
                Err(error) => Err(self.after_parts(items, error)),
            }
        }
        .boxed()
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
            doc! { "$match": all(matching) },
            doc! { "$unwind": { "path": format!("${}", meta.items), "includeArrayIndex": "_at" } },
            doc! { "$match": items },
            doc! { "$group": group },
            doc! { "$sort": order },
        ];
        let found = aggregate::documents(&self.core.before_write(), stages).await?;
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
    async fn change(&self, hit: &Hit, built: &Built, fate: &Fate, trace: &Trace) -> Result<bool> {
        let meta = self.meta;
        let mut built = built.clone();
        let concerned = match fate {
            Fate::Deleted => meta.has_summary(),
            Fate::Changed(operators) => summary::concerns(meta, operators),
        };
        if matches!(fate, Fate::Deleted) {
            let gone = count(hit.at.len());
            bucket::merge(
                &mut built.update,
                "$inc",
                doc! { meta.count: gone.saturating_neg() },
            );
            // The place of a deleted item is not taken again: nor where the page was made for more of them.
            let room = meta.size.saturating_sub(hit.count).max(0);
            bucket::merge(&mut built.update, "$min", doc! { ROOM: room });
        }
        if concerned {
            let Some((start, mut items)) = self.summed(hit, trace).await? else {
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
            let summary = summary::summarize(meta, &items)?;
            bucket::merge(&mut built.update, "$unset", summary.missing(meta));
            bucket::merge(&mut built.update, "$set", summary.fields());
        }
        match change(&self.core, trace, hit.id.clone(), hit.version, built).await {
            Ok(_) => Ok(true),
            // It was deleted with its parent, or by another client.
            Err(Error::Conflict { .. } | Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The summed fields of the bucket's items, if it is unchanged since it was found; and the beginning of its period.
    async fn summed(&self, hit: &Hit, trace: &Trace) -> Result<Option<(Option<DateTime>, Vec<Document>)>> {
        let meta = self.meta;
        let mut fields = doc! { "_id": 1 };
        for field in meta.summed() {
            fields.insert(format!("{}.{field}", meta.items), 1);
        }
        if let Some(period) = &meta.period {
            fields.insert(period.start, 1);
        }
        let core = &self.core;
        let filter = doc! { "_id": { "$eq": &hit.id }, VERSION: { "$eq": hit.version } };
        let filter = core.cx(trace).routed(core.meta(), filter);
        let mut options = core.on_primary();
        options.projection = Some(fields);
        trace.trip();
        let found = act!(core, own, [core] core.raw().find_one(filter).with_options(options));
        let found = found.map_err(|error| core.error(error))?;
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
