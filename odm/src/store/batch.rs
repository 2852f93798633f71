//! Documents in batches, as deletion and audit go through them: in the order of their ids, within a bound of memory.
//!
//! They are read from the primary and written to a majority, whatever the application's client prefers: a rule looks,
//! writes and looks again, and the second look may not miss what was acknowledged before.

use crate::graph::fields;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::shape::{Managed, Shape};
use crate::store::batches;
use crate::store::core::{held_cursor, hold, sees};
use crate::store::cx::{Cx, collect, not_unique};
use crate::store::filter::{all, named_id, within};
use crate::store::held::FreeCursor;
use crate::store::map::Context;
use crate::store::options::with_options;
use crate::{Error, Result};
use futures::{StreamExt, TryStreamExt};
use mongodb::bson::RawBsonRef;
use mongodb::bson::RawDocument;
use mongodb::bson::{self, Bson, Document, RawDocumentBuf, doc};
use mongodb::options::{
    CollectionOptions, FindOptions, ReadConcern, ReadPreference, SelectionCriteria, UpdateModifications,
    UpdateOptions, WriteConcern,
};
use mongodb::raw_batch_cursor::{RawBatch, RawBatchCursor};
use std::collections::{HashSet, VecDeque};

/// Executes an action of the driver, in the session if there is one.
macro_rules! act {
    ($cx:expr, $meta:expr, $kind:ident, $action:expr) => {{
        $cx.trip();
        let outcome = crate::store::core::act!($cx, $kind, $action);
        outcome.map_err(|error| Context::new($meta).driver(error))
    }};
}

/// Maximum number of times that documents are inserted again, where another one is in the way that may be deleted.
const RESTORED: usize = 5;

/// Maximum size of a batch of documents in bytes, and one document more: they wait in memory while others are written.
const BYTES: usize = 4 << 20;

/// Documents in the order of their ids.
pub(crate) struct DocumentBatch {
    pub(crate) documents: Vec<RawDocumentBuf>,
    /// Whether there may be more behind them.
    pub(crate) more: bool,
}

impl DocumentBatch {
    /// Nothing is behind it.
    pub(crate) fn last(documents: Vec<RawDocumentBuf>) -> DocumentBatch {
        DocumentBatch {
            documents,
            more: false,
        }
    }
}

impl Cx<'_> {
    pub(crate) fn collection<D: Send + Sync>(&self, meta: &DocumentMeta) -> mongodb::Collection<D> {
        let database = self.odm.database();
        if self.session.is_some() {
            return database.collection(meta.collection);
        }
        let options = CollectionOptions::builder()
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
            .read_concern(ReadConcern::local())
            .write_concern(WriteConcern::majority())
            .build();
        database.collection_with_options(meta.collection, options)
    }

    /// The first documents that fit, in the order of their ids: `limit` at most.
    pub(crate) async fn batch(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        projection: Option<Document>,
        limit: usize,
    ) -> Result<DocumentBatch> {
        self.find_some(meta, filter, projection, limit, true).await
    }

    /// The same for the first batch. Most of the time it is the only one, and an index on what is looked for finds it; in
    /// the order of the ids the server may rather go through the whole collection.
    pub(crate) async fn first_batch(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        projection: Option<Document>,
        limit: usize,
    ) -> Result<DocumentBatch> {
        let batch = self
            .find_some(meta, filter.clone(), projection.clone(), limit, false)
            .await?;
        if !batch.more {
            Ok(batch)
        } else {
            self.batch(meta, filter, projection, limit).await
        }
    }

    /// The documents that fit after the last one that was read, or the first ones.
    pub(crate) async fn next_batch(
        &self,
        meta: &'static DocumentMeta,
        filter: &Document,
        last: Option<&Bson>,
        projection: Option<Document>,
        limit: usize,
    ) -> Result<DocumentBatch> {
        match last {
            None => self.first_batch(meta, filter.clone(), projection, limit).await,
            Some(last) => {
                let rest = all([filter.clone(), after_id(meta, last)]);
                self.batch(meta, rest, projection, limit).await
            }
        }
    }

    /// A few of the documents that fit.
    pub(crate) async fn few(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        projection: Document,
        limit: usize,
    ) -> Result<Vec<RawDocumentBuf>> {
        self.up_to(meta, filter, projection, limit, false).await
    }

    /// The same, in the order of their ids if that is asked for.
    pub(crate) async fn up_to(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        projection: Document,
        limit: usize,
        in_order: bool,
    ) -> Result<Vec<RawDocumentBuf>> {
        let some = self
            .find_some(meta, filter, Some(projection), limit, in_order)
            .await?;
        Ok(some.documents)
    }

    /// The same, and whether there may be more: also where they are too large to be read together.
    pub(crate) async fn some(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        projection: Document,
        limit: usize,
    ) -> Result<DocumentBatch> {
        self.find_some(meta, filter, Some(projection), limit, false).await
    }

    async fn find_some(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        projection: Option<Document>,
        limit: usize,
        in_order: bool,
    ) -> Result<DocumentBatch> {
        let mut options = FindOptions::default();
        options.sort = in_order.then(|| doc! { "_id": 1 });
        options.projection = projection;
        self.find_with(meta, filter, options, limit).await
    }

    async fn find_with(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        mut options: FindOptions,
        limit: usize,
    ) -> Result<DocumentBatch> {
        options.limit = Some(i64::try_from(limit).unwrap_or(i64::MAX));
        options.batch_size = Some(u32::try_from(limit).unwrap_or(u32::MAX));
        let filter = self.routed(meta, filter);
        options.projection = options
            .projection
            .map(|projection| self.with_shard_keys(meta, projection));
        let failed = |error| Context::new(meta).driver(error);
        let collection = self.collection::<RawDocumentBuf>(meta);
        let mut documents: Vec<RawDocumentBuf> = Vec::new();
        let mut bytes = 0;
        let mut full = |document: RawDocumentBuf| {
            self.note(meta, &document);
            bytes += document.as_bytes().len();
            documents.push(document);
            bytes >= BYTES || documents.len() >= limit
        };
        self.trip();
        let mut more = false;
        match hold(self.session, self.odm, sees!(comment)) {
            None => {
                let action = with_options!(self, comment, collection.find(filter).with_options(options));
                let mut cursor = action.await.map_err(failed)?;
                while !more && let Some(document) = cursor.try_next().await.map_err(failed)? {
                    more = full(document);
                }
            }
            Some(hold) => {
                let cursor =
                    held_cursor!(self, hold, comment, [] collection.find(filter).with_options(options));
                let mut batches = batches::of_held(cursor.map_err(failed)?);
                while !more && let Some(batch) = batches.try_next().await.map_err(failed)? {
                    let mut take = |document: &RawDocument| {
                        more = more || full(document.to_owned());
                        Ok(())
                    };
                    batches::each(meta, &batch, &mut take)?;
                }
            }
        }
        Ok(DocumentBatch { documents, more })
    }

    /// Gives the documents that fit to `take`, until it says that there are enough: those of one batch are in memory.
    pub(crate) async fn each_until(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        projection: Document,
        at_a_time: usize,
        mut take: impl FnMut(&RawDocumentBuf) -> bool + Send,
    ) -> Result<()> {
        let filter = self.routed(meta, filter);
        let mut take = |document: &RawDocumentBuf| {
            self.note(meta, document);
            take(document)
        };
        let options = FindOptions::builder()
            .projection(self.with_shard_keys(meta, projection))
            .batch_size(u32::try_from(at_a_time).unwrap_or(u32::MAX))
            .build();
        let failed = |error| Context::new(meta).driver(error);
        let collection = self.collection::<RawDocumentBuf>(meta);
        self.trip();
        let mut enough = false;
        match hold(self.session, self.odm, sees!(comment)) {
            None => {
                let action = with_options!(self, comment, collection.find(filter).with_options(options));
                let mut cursor = action.await.map_err(failed)?;
                while !enough && let Some(document) = cursor.try_next().await.map_err(failed)? {
                    enough = take(&document);
                }
            }
            Some(hold) => {
                let cursor =
                    held_cursor!(self, hold, comment, [] collection.find(filter).with_options(options));
                let mut batches = batches::of_held(cursor.map_err(failed)?);
                while !enough && let Some(batch) = batches.try_next().await.map_err(failed)? {
                    let mut one = |document: &RawDocument| {
                        enough = enough || take(&document.to_owned());
                        Ok(())
                    };
                    batches::each(meta, &batch, &mut one)?;
                }
            }
        }
        Ok(())
    }

    /// All documents that fit; what the projection makes of them has to be small.
    pub(crate) async fn every(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        projection: Document,
    ) -> Result<Vec<RawDocumentBuf>> {
        let (filter, projection) = (self.routed(meta, filter), self.with_shard_keys(meta, projection));
        let collection = self.collection::<RawDocumentBuf>(meta);
        let batch = i32::MAX as u32;
        let found = collect!(
            self,
            meta,
            collection.find(filter).projection(projection).batch_size(batch)
        );
        found.map(|found| self.noted(meta, found))
    }

    /// Those of these ids that have a document.
    pub(crate) async fn there(
        &self,
        meta: &'static DocumentMeta,
        ids: &[Bson],
    ) -> Result<Vec<RawDocumentBuf>> {
        let filter = doc! { "_id": { "$in": ids } };
        self.every(meta, filter, doc! { "_id": 1 }).await
    }

    /// The first documents that fit, in this order.
    pub(crate) async fn first(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        sort: Document,
        projection: Document,
        limit: i64,
    ) -> Result<Vec<RawDocumentBuf>> {
        let filter = self.routed(meta, filter);
        let collection = self.collection::<RawDocumentBuf>(meta);
        let mut options = FindOptions::default();
        options.sort = Some(sort);
        options.projection = Some(self.with_shard_keys(meta, projection));
        options.limit = Some(limit);
        options.batch_size = Some(i32::MAX as u32);
        let found = collect!(self, meta, collection.find(filter).with_options(options));
        found.map(|found| self.noted(meta, found))
    }

    /// The result of a pipeline, which has to be small.
    pub(crate) async fn aggregate(
        &self,
        meta: &'static DocumentMeta,
        pipeline: Vec<Document>,
    ) -> Result<Vec<Document>> {
        let pipeline = self.routed_pipeline(meta, pipeline);
        let collection = self.collection::<RawDocumentBuf>(meta);
        let batch = i32::MAX as u32;
        collect!(self, meta, collection.aggregate(pipeline).batch_size(batch))
    }

    /// The same of all documents of a collection, which the server may do on its disk.
    pub(crate) async fn aggregate_all(
        &self,
        meta: &'static DocumentMeta,
        pipeline: Vec<Document>,
    ) -> Result<Vec<Document>> {
        let collection = self.collection::<RawDocumentBuf>(meta);
        let batch = i32::MAX as u32;
        collect!(
            self,
            meta,
            collection
                .aggregate(pipeline)
                .allow_disk_use(true)
                .batch_size(batch)
        )
    }

    /// The same as [`aggregate`](Cx::aggregate), as it comes, in as few batches as there can be.
    pub(crate) async fn aggregate_raw(
        &self,
        meta: &'static DocumentMeta,
        pipeline: Vec<Document>,
    ) -> Result<Vec<RawDocumentBuf>> {
        let pipeline = self.routed_pipeline(meta, pipeline);
        let collection = self.collection::<RawDocumentBuf>(meta);
        let batch = i32::MAX as u32;
        collect!(
            self,
            meta,
            collection
                .aggregate(pipeline)
                .batch_size(batch)
                .with_type::<RawDocumentBuf>()
        )
    }

    pub(crate) async fn count(&self, meta: &'static DocumentMeta, filter: Document) -> Result<u64> {
        let filter = self.routed(meta, filter);
        let collection = self.collection::<RawDocumentBuf>(meta);
        act!(self, meta, own, collection.count_documents(filter))
    }

    /// Deletes all documents that fit; gives how many. What names one by its id is a deletion of one: the driver sends that
    /// once more where the reply was lost, which the server allows of no deletion of many.
    ///
    /// # Errors
    /// [`Error::IdNotUnique`] where it named one by its id, and several were deleted.
    pub(crate) async fn delete(&self, meta: &'static DocumentMeta, filter: Document) -> Result<u64> {
        let collection = self.collection::<RawDocumentBuf>(meta);
        let filter = all([self.routed(meta, filter)]);
        let Some(id) = named_id(&filter).cloned() else {
            let result = act!(self, meta, write, collection.delete_many(filter));
            return Ok(result?.deleted_count);
        };
        let result = act!(self, meta, write, collection.delete_one(filter));
        match result?.deleted_count {
            deleted @ (0 | 1) => Ok(deleted),
            deleted => Err(not_unique(meta, self.session, vec![id], deleted)),
        }
    }

    /// Deletes one document that matches, and gives these fields of it, by one command: of a sharded collection the server takes that
    /// only with a shard key.
    pub(crate) async fn take(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        fields: Document,
    ) -> Result<Option<RawDocumentBuf>> {
        let (filter, fields) = (self.routed(meta, filter), self.with_shard_keys(meta, fields));
        let collection = self.collection::<RawDocumentBuf>(meta);
        let taken = act!(
            self,
            meta,
            modify,
            collection.find_one_and_delete(filter).projection(fields)
        );
        taken.inspect(|taken| taken.iter().for_each(|document| self.note(meta, document)))
    }

    /// Deletes all documents that match, for which it makes no difference if that is done twice: where the reply of the first attempt
    /// is lost outside of a transaction, the command is sent once more. Documents that the first one has deleted are not counted then.
    pub(crate) async fn delete_repeatedly(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
    ) -> Result<u64> {
        match self.delete(meta, filter.clone()).await {
            Err(error) if self.session.is_none() && error.outcome_unknown() => {
                self.delete(meta, filter).await
            }
            deleted => deleted,
        }
    }

    /// The number of changed documents; a change with the id of one document is an update of one. It is executed as it is: it
    /// changes no timestamp, and no version except that of a bucket whose items it changes.
    pub(crate) async fn change(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        change: UpdateSpec,
    ) -> Result<u64> {
        let mut update = change.update;
        if let Some(bucket) = meta.bucket {
            crate::model::meta::bucket::renew(bucket, &mut update);
        }
        let update = UpdateModifications::Document(update);
        let collection = self.collection::<RawDocumentBuf>(meta);
        let filter = all([self.routed(meta, filter)]);
        let mut options = UpdateOptions::default();
        options.array_filters = Some(change.array_filters).filter(|filters| !filters.is_empty());
        let updated = act!(self, meta, write, {
            let action = if named_id(&filter).is_some() {
                collection.update_one(filter, update)
            } else {
                collection.update_many(filter, update)
            };
            action.with_options(options)
        });
        Ok(updated?.modified_count)
    }

    /// Inserts documents as they are; one whose id is there already is left out. Gives their ids.
    pub(crate) async fn restore(
        &self,
        meta: &'static DocumentMeta,
        documents: &[RawDocumentBuf],
    ) -> Result<HashSet<Key>> {
        let mut restored = HashSet::new();
        for _ in 1..RESTORED {
            match self.restore_once(meta, documents, &mut restored).await {
                // The twin was there for a moment, and is deleted again.
                Err(Error::DuplicateKey { .. }) => {}
                outcome => return outcome,
            }
        }
        self.restore_once(meta, documents, &mut restored).await
    }

    async fn restore_once(
        &self,
        meta: &'static DocumentMeta,
        documents: &[RawDocumentBuf],
        restored: &mut HashSet<Key>,
    ) -> Result<HashSet<Key>> {
        let collection = self.collection::<RawDocumentBuf>(meta);
        self.trip();
        let action = collection.insert_many(documents).ordered(false);
        let Err(error) = with_options!(self, comment, action).await else {
            return Ok(HashSet::new());
        };
        let errors = match Context::new(meta).insert_many(error, documents.len(), false) {
            Error::InsertMany { errors, .. } => errors,
            error => return Err(error),
        };
        // The faster client may have restored another unique value too: the server decides which of the two it reports.
        let of_another_field = |error: &Error| matches!(error, Error::DuplicateKey { fields, .. } if !fields.iter().map(String::as_str).eq(["_id"]));
        let twins: Vec<Bson> = errors
            .iter()
            .filter(|(_, error)| of_another_field(error))
            .filter_map(|(at, _)| documents.get(*at).map(document_id))
            .collect();
        let there: HashSet<Key> = if twins.is_empty() {
            HashSet::new()
        } else {
            self.there(meta, &twins).await?.iter().map(id).collect()
        };
        let is_there = |at: usize| {
            documents
                .get(at)
                .is_some_and(|document| there.contains(&id(document)))
        };
        let refused: HashSet<usize> = errors.iter().map(|(at, _)| *at).collect();
        let new = documents
            .iter()
            .enumerate()
            .filter(|(at, _)| !refused.contains(at));
        restored.extend(new.map(|(_, document)| id(document)));
        let mut left_out = HashSet::new();
        for (at, error) in errors {
            match error {
                Error::DuplicateKey { .. } if !of_another_field(&error) || is_there(at) => {
                    // Documents that an earlier attempt has inserted are this operation's own.
                    let of_others = documents.get(at).map(id).filter(|id| !restored.contains(id));
                    left_out.extend(of_others);
                }
                error => return Err(error),
            }
        }
        Ok(left_out)
    }
}

/// The last ids of batches of the matching documents, in the order of their ids. A cursor reads them, a batch at a time.
///
/// A query of its own reads the first few: a server that finds all documents before it returns the first one is done with these
/// soon, and finds the rest while they are written.
pub(crate) struct IdBatches<'s> {
    cx: &'s Cx<'s>,
    meta: &'static DocumentMeta,
    filter: Document,
    batch: u32,
    /// Number of ids for a first, smaller query; `None` after it.
    first: Option<u64>,
    /// Where the next batches end, so far as that is known without asking.
    known: VecDeque<Bson>,
    cursor: Option<IdCursor>,
    /// How many more ids a cursor of the first ones gives at most.
    left: Option<u64>,
    /// The end of the batch before.
    last: Option<Bson>,
    over: bool,
}

impl<'s> IdBatches<'s> {
    /// The ids after this one, if there is one, in batches of this size; `first` of them are needed first. Outside of a
    /// transaction.
    pub(crate) fn new(
        cx: &'s Cx<'s>,
        meta: &'static DocumentMeta,
        filter: Document,
        behind: Option<Bson>,
        batch: usize,
        first: usize,
    ) -> IdBatches<'s> {
        // The driver refuses a greater one.
        let batch = i32::try_from(batch.max(1)).unwrap_or(i32::MAX).unsigned_abs();
        IdBatches {
            cx,
            meta,
            filter,
            batch,
            first: Some(u64::from(batch).saturating_mul(first as u64)),
            known: VecDeque::new(),
            cursor: None,
            left: None,
            last: behind,
            over: false,
        }
    }

    /// The first batches end with these ids.
    pub(crate) fn are_known(&mut self, ends: VecDeque<Bson>) {
        if !ends.is_empty() {
            // The rest is looked for while these are written.
            self.first = None;
            self.known = ends;
        }
    }

    /// Whether the last batch has been read.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// The last ids of the next batches, for at most this number of batches. Empty when there are no more.
    pub(crate) async fn next(&mut self, batches: usize) -> Result<Vec<Bson>> {
        let known = batches.min(self.known.len());
        let mut ends: Vec<Bson> = self.known.drain(..known).collect();
        if let Some(last) = ends.last() {
            self.last = Some(last.clone());
            return Ok(ends);
        }
        while ends.len() < batches && !self.over {
            let Some(end) = self.next_end().await? else {
                continue;
            };
            self.last = Some(end.clone());
            ends.push(end);
        }
        Ok(ends)
    }

    /// The id that the next batch ends with; `None` for an empty one.
    async fn next_end(&mut self) -> Result<Option<Bson>> {
        let failed = |error| Context::new(self.meta).driver(error);
        let reply = match self.cursor.take() {
            None => None,
            Some(cursor) => {
                self.cx.trip();
                // A cursor outlives neither a long pause nor the primary: then another one goes on behind it.
                match cursor.next().await {
                    Some((Ok(reply), rest)) => {
                        self.cursor = rest;
                        Some(reply)
                    }
                    Some((Err(error), _)) => {
                        tracing::debug!(target: "odm", %error, "lost the cursor over the ids, opening another one");
                        None
                    }
                    None => None,
                }
            }
        };
        let reply = match reply {
            Some(reply) => reply,
            None => {
                let behind = self.last.as_ref().map(|last| after_id(self.meta, last));
                let filter = all([behind.unwrap_or_default(), self.filter.clone()]);
                let filter = self.cx.routed(self.meta, filter);
                self.left = self.first.take();
                let limit = self.left.and_then(|first| i64::try_from(first).ok());
                self.cx.trip();
                let collection = self.cx.collection::<RawDocumentBuf>(self.meta);
                let options = FindOptions::builder()
                    .limit(limit)
                    .sort(doc! { "_id": 1 })
                    // Where the reference has no index, they are sorted by the server.
                    .allow_disk_use(true)
                    .projection(doc! { "_id": 1 })
                    .batch_size(self.batch)
                    .build();
                let cursor = match hold(None, self.cx.odm, sees!(comment)) {
                    None => {
                        let action =
                            with_options!(self.cx, comment, collection.find(filter).with_options(options));
                        IdCursor::Plain(action.batch().await.map_err(failed)?)
                    }
                    Some(hold) => {
                        let cx = self.cx;
                        let cursor =
                            held_cursor!(cx, hold, comment, [] collection.find(filter).with_options(options));
                        IdCursor::Held(cursor.map_err(failed)?.release())
                    }
                };
                let Some((first, rest)) = cursor.next().await else {
                    self.over = true;
                    return Ok(None);
                };
                self.cursor = rest;
                first.map_err(failed)?
            }
        };
        let (mut read, mut last) = (0, None);
        for id in reply.doc_slices().map_err(failed)?.into_iter() {
            (read, last) = (read + 1, Some(id));
        }
        self.left = self.left.map(|left| left.saturating_sub(read));
        if batches::is_last(&reply) {
            self.cursor = None;
            // Behind the first ones there may be more.
            self.over = self.left != Some(0);
        }
        let Some(last) = last else {
            return Ok(None);
        };
        let id = last
            .ok()
            .and_then(|last| last.as_document()?.get("_id").ok()?)
            .and_then(|id| Bson::try_from(id).ok());
        match id {
            Some(id) => Ok(Some(id)),
            None => Err(Error::Decode {
                collection: self.meta.collection.to_owned(),
                id: None,
                ty: self.meta.name,
                path: "_id".to_owned(),
                message: "the server sent a document without an id that can be read".to_owned(),
            }),
        }
    }
}

/// A cursor over ids, outside of a transaction.
enum IdCursor {
    Plain(RawBatchCursor),
    /// In a session that begins with the times of commits.
    Held(FreeCursor),
}

impl IdCursor {
    /// The next batch, if there is one, and the cursor behind it.
    async fn next(self) -> Option<(mongodb::error::Result<RawBatch>, Option<IdCursor>)> {
        match self {
            IdCursor::Plain(mut cursor) => {
                let batch = cursor.next().await?;
                Some((batch, Some(IdCursor::Plain(cursor))))
            }
            IdCursor::Held(cursor) => {
                let (batch, cursor) = cursor.next().await?;
                Some((batch, cursor.map(IdCursor::Held)))
            }
        }
    }
}

/// An update with its array filters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UpdateSpec {
    pub(crate) update: Document,
    pub(crate) array_filters: Vec<Document>,
}

/// The id of a document.
pub(crate) fn document_id(document: &RawDocumentBuf) -> Bson {
    value(document, "_id").unwrap_or(Bson::Null)
}

pub(crate) fn ids<'d>(documents: impl IntoIterator<Item = &'d RawDocumentBuf>) -> Vec<Bson> {
    documents.into_iter().map(document_id).collect()
}

/// The value of a field, by its dotted name.
pub(crate) fn value(document: &RawDocumentBuf, name: &str) -> Option<Bson> {
    let mut parts = name.split('.');
    let mut value = document.get(parts.next()?).ok()??;
    for part in parts {
        value = value.as_document()?.get(part).ok()??;
    }
    Bson::try_from(value).ok()
}

/// The value at a path of a stored document.
///
/// # Errors
/// [`Error::Decode`].
pub(crate) fn stored_value(meta: &DocumentMeta, path: &str, value: RawBsonRef<'_>) -> Result<Bson> {
    Bson::try_from(value).map_err(|error| Error::Decode {
        collection: meta.collection.to_owned(),
        id: None,
        ty: meta.name,
        path: path.to_owned(),
        message: error.to_string(),
    })
}

/// The id of a stored document.
///
/// # Errors
/// [`Error::Decode`], also for a document without one.
pub(crate) fn stored_id(meta: &DocumentMeta, document: &RawDocument) -> Result<Bson> {
    match document.get("_id") {
        Ok(Some(id)) => stored_value(meta, "_id", id),
        found => Err(Error::Decode {
            collection: meta.collection.to_owned(),
            id: None,
            ty: meta.name,
            path: "_id".to_owned(),
            message: found
                .err()
                .map_or("it is missing".to_owned(), |error| error.to_string()),
        }),
    }
}

pub(crate) fn document(raw: &RawDocumentBuf, meta: &DocumentMeta) -> Result<Document> {
    Document::try_from(raw).map_err(|error: bson::error::Error| Error::Decode {
        collection: meta.collection.to_owned(),
        id: Some(Box::new(document_id(raw))),
        ty: meta.name,
        path: String::new(),
        message: error.to_string(),
    })
}

/// The types that an id can have, in the order that the server sorts them by. Source:
/// <https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/>
const TYPES: [&str; 13] = [
    "minKey",
    "null",
    "number",
    "string",
    "symbol",
    "object",
    "binData",
    "objectId",
    "bool",
    "date",
    "timestamp",
    "javascript",
    "maxKey",
];

fn type_of(value: &Bson) -> &'static str {
    match value {
        Bson::MinKey => "minKey",
        Bson::Null | Bson::Undefined => "null",
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => "number",
        Bson::String(_) | Bson::Symbol(_) => "string",
        Bson::Document(_) => "object",
        Bson::Binary(_) => "binData",
        Bson::ObjectId(_) => "objectId",
        Bson::Boolean(_) => "bool",
        Bson::DateTime(_) => "date",
        Bson::Timestamp(_) => "timestamp",
        Bson::JavaScriptCode(_) => "javascript",
        _ => "maxKey",
    }
}

/// The documents behind this id, in the order of their ids.
pub(crate) fn after_id(meta: &DocumentMeta, last: &Bson) -> Document {
    let behind = doc! { "_id": { "$gt": last } };
    if has_one_type(meta) {
        return behind;
    }
    // `$gt` compares with values of the same type only.
    let last = type_of(last);
    let later: Vec<&str> = TYPES
        .iter()
        .copied()
        .skip_while(|name| *name != last)
        .skip(1)
        .collect();
    if later.is_empty() {
        behind
    } else {
        doc! { "$or": [behind, { "_id": { "$type": later } }] }
    }
}

/// The documents up to this id, in the order of their ids.
pub(crate) fn up_to(meta: &DocumentMeta, last: &Bson) -> Document {
    let before = doc! { "_id": { "$lte": last } };
    if has_one_type(meta) {
        return before;
    }
    let last = type_of(last);
    let earlier: Vec<&str> = TYPES.iter().copied().take_while(|name| *name != last).collect();
    if earlier.is_empty() {
        before
    } else {
        doc! { "$or": [before, { "_id": { "$type": earlier } }] }
    }
}

/// The documents behind the first id and up to the second one.
pub(crate) fn between(meta: &DocumentMeta, behind: Option<&Bson>, up_to: &Bson) -> Document {
    let end = self::up_to(meta, up_to);
    let Some(behind) = behind else { return end };
    if has_one_type(meta) {
        return doc! { "_id": { "$gt": behind, "$lte": up_to } };
    }
    all([self::after_id(meta, behind), end])
}

/// The documents behind the first id and up to the second one, of a collection whose ids may be of several types.
pub(crate) fn between_ids(behind: Option<&Bson>, up_to: &Bson) -> Document {
    let types =
        |names: &mut dyn Iterator<Item = &&'static str>| -> Vec<&'static str> { names.copied().collect() };
    let end = type_of(up_to);
    let Some(behind) = behind else {
        let earlier = types(&mut TYPES.iter().take_while(|name| **name != end));
        let before = doc! { "_id": { "$lte": up_to } };
        return if earlier.is_empty() {
            before
        } else {
            doc! { "$or": [before, { "_id": { "$type": earlier } }] }
        };
    };
    let begin = type_of(behind);
    if begin == end {
        return doc! { "_id": { "$gt": behind, "$lte": up_to } };
    }
    // `$gt` and `$lte` compare with values of the same type only.
    let between = types(
        &mut TYPES
            .iter()
            .skip_while(|name| **name != begin)
            .skip(1)
            .take_while(|name| **name != end),
    );
    let mut parts = vec![
        doc! { "_id": { "$gt": behind } },
        doc! { "_id": { "$lte": up_to } },
    ];
    if !between.is_empty() {
        parts.push(doc! { "_id": { "$type": between } });
    }
    doc! { "$or": parts }
}

/// Whether all ids are of one type.
fn has_one_type(meta: &DocumentMeta) -> bool {
    let id = fields(meta)
        .unwrap_or_default()
        .iter()
        .find(|field| field.managed == Managed::Id);
    let mut shape = id.map_or(Shape::Any, |id| (id.shape)());
    for _ in 0..8 {
        shape = match shape {
            Shape::Bounded(field) => (field.shape)(),
            Shape::Any | Shape::Null | Shape::Optional(_) | Shape::Enum(_) => return false,
            _ => return true,
        };
    }
    false
}

/// The documents with these ids, with these fields of theirs.
pub(crate) async fn by_ids<'k, 'n>(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    ids: impl Iterator<Item = &'k Key>,
    names: impl IntoIterator<Item = &'n str> + Clone,
) -> Result<Vec<RawDocumentBuf>> {
    by_ids_within(cx, meta, ids, names, None).await
}

/// Those of them that a further condition fits.
pub(crate) async fn by_ids_within<'k, 'n>(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    ids: impl Iterator<Item = &'k Key>,
    names: impl IntoIterator<Item = &'n str> + Clone,
    condition: Option<&Document>,
) -> Result<Vec<RawDocumentBuf>> {
    let mut found = Vec::new();
    for ids in crate::model::key::chunks(ids) {
        let mut filter = doc! { "_id": { "$in": ids } };
        if let Some(condition) = condition {
            filter = within(filter, condition);
        }
        found.append(&mut cx.find(meta, filter, names.clone(), None).await?);
    }
    Ok(found)
}

/// The key of a document's id.
pub(crate) fn id(document: &(impl AsRef<RawDocument> + ?Sized)) -> Key {
    let id = document.as_ref().get("_id").ok().flatten();
    Key::of(id.unwrap_or(RawBsonRef::Null))
}

#[cfg(test)]
mod tests {
    use crate::store::batch::*;

    #[test]
    fn values_are_found_by_their_dotted_names() {
        let document = RawDocumentBuf::try_from(&doc! { "_id": 7, "a": { "b": "x" } }).expect("encodes");
        assert_eq!(document_id(&document), Bson::Int32(7));
        assert_eq!(value(&document, "a.b"), Some(Bson::from("x")));
        assert_eq!(value(&document, "a.b.c"), None);
        assert_eq!(value(&document, "b"), None);
    }

    #[test]
    fn every_type_of_an_id_has_a_place_in_the_order() {
        for value in [
            Bson::Null,
            Bson::Int32(1),
            Bson::Double(f64::NAN),
            Bson::from("x"),
            doc! {}.into(),
            Bson::ObjectId(bson::oid::ObjectId::new()),
            Bson::Boolean(true),
            Bson::DateTime(bson::DateTime::now()),
            Bson::MaxKey,
        ] {
            assert!(TYPES.contains(&type_of(&value)), "{value}");
        }
    }
}
