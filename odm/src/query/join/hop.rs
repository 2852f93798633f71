//! One hop of a join: every document that is wanted next, each once, and the queries that bring them.

use crate::model::document::DocumentMeta;
use crate::model::key::{Key, Places, as_stored, chunks};
use crate::model::normalize;
use crate::model::shape::of_field;
use crate::model::tree::{Slot, Tree};
use crate::model::types::holds_text;
use crate::query::untyped::Query;
use crate::store::core::Core;
use crate::store::cx::Cx;
use crate::store::filter::all;
use crate::store::routes::Routes;
use crate::store::session::Session;
use crate::store::trace::Trace;
use crate::{Document, Filter, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{StreamExt, TryStreamExt};
use mongodb::bson::{Bson, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of queries of one join that run at once, outside a transaction.
const IN_FLIGHT: usize = 4;

/// Where a join reads: a database, within a transaction or not.
#[derive(Clone)]
pub struct Source {
    pub(crate) odm: Odm,
    pub(crate) session: Option<Session>,
    /// Whether the queries of a join may sort on disk.
    pub(crate) on_disk: bool,
    /// What the queries of a join know of shard keys.
    pub(crate) routes: Option<Arc<Routes>>,
}

impl Source {
    pub(crate) fn on_disk(mut self, on_disk: Option<bool>) -> Source {
        self.on_disk = on_disk == Some(true);
        self
    }

    pub(super) fn core(&self, meta: &'static DocumentMeta) -> Core {
        Core::new(&self.odm, meta, self.session.clone()).sharing(self.routes.clone())
    }

    /// The driver executes one operation of a session at a time.
    pub(super) fn in_flight(&self) -> usize {
        if self.session.is_some() { 1 } else { IN_FLIGHT }
    }
}

/// The source of a join: an [`Odm`], or a [`Tx`](crate::Tx) for the snapshot of its transaction.
///
/// ```no_run
/// # use samples::model::*;
/// /// Within a transaction or not.
/// async fn owner(from: &impl odm::query::ReadFrom, post: &Post) -> odm::Result<User> {
///     post.author.load(from).await
/// }
/// ```
pub trait ReadFrom: Sync {
    /// The database, and the transaction if there is one.
    #[doc(hidden)]
    fn source(&self) -> Source;
}

impl ReadFrom for Odm {
    fn source(&self) -> Source {
        Source {
            odm: self.clone(),
            session: None,
            on_disk: false,
            routes: None,
        }
    }
}

impl ReadFrom for Core {
    fn source(&self) -> Source {
        Source {
            odm: self.odm().clone(),
            session: self.session().cloned(),
            on_disk: false,
            routes: self.routes(),
        }
    }
}

impl Query {
    /// Where its joins read.
    pub(crate) fn source(&self) -> Source {
        self.core.source().on_disk(self.options.allow_disk_use)
    }
}

/// A function that notes what is wanted behind hop number `level`, when the hops up to it have their documents.
pub(super) type Further<'a> = &'a mut (dyn FnMut(usize, &[Hop], &mut Hop) -> Result<()> + Send);

/// Asks for everything that is joined, hop by hop.
pub(super) fn run_all<'a>(
    hops: &'a mut Vec<Hop>,
    from: &'a Source,
    further: Further<'a>,
) -> BoxFuture<'a, Result<()>> {
    async move {
        for level in 0.. {
            match hops.get_mut(level) {
                Some(hop) if hop.is_empty() => break,
                Some(hop) => {
                    if !hop.embedded {
                        hop.run(from).await?;
                    }
                    hop.find_deleted(from).await?;
                }
                None => break,
            }
            let mut next = Hop::further(hops.iter().any(|hop| hop.embedded));
            further(level, hops, &mut next)?;
            hops.push(next);
        }
        Ok(())
    }
    .boxed()
}

/// The documents that are wanted next, by collection.
#[derive(Default)]
pub struct Hop {
    fetches: Vec<Box<dyn Fetch>>,
    /// Documents may be asked for more often than they are wanted, since what they belong to is given several times.
    pub(super) repeated: bool,
    /// The documents stand in those that refer to them already: the server has joined them.
    pub(super) embedded: bool,
    /// The join that adds targets: two joins that the server executed don't share documents, since further joined documents are
    /// inside them.
    pub(super) lane: u32,
}

/// Documents that one query brings (or several, where they are very many).
pub(super) trait Fetch: Any + Send {
    fn run<'a>(&'a mut self, from: &'a Source) -> BoxFuture<'a, Result<()>>;
    /// Takes a document that came in another way.
    fn take(&mut self, raw: &RawDocument) -> Result<()>;
    fn collection(&self) -> &'static str;
    fn has(&self, at: u32) -> bool;
    /// What each document was wanted by, in their order.
    fn keys(&self) -> Vec<&Key>;
    fn raw(&self, at: u32) -> Option<&RawDocument>;
    /// The value of a key, of the type that the field stores.
    fn stored(&self, key: &Key) -> Bson {
        key.to_bson()
    }
    /// Those that are missing may be deleted and kept, which is no error.
    fn take_deleted(&mut self) {}
    /// Finds out which of the missing ones are deleted and kept, where that is to be known.
    fn find_deleted<'a>(&'a mut self, _: &'a Source) -> BoxFuture<'a, Result<()>> {
        std::future::ready(Ok(())).boxed()
    }
    fn is_deleted(&self, _: u32) -> bool {
        false
    }
    /// The raw documents are needed too, for what is joined to them.
    fn keep_raw(&mut self);
    fn as_any(&mut self) -> &mut dyn Any;
}

impl Hop {
    /// A hop behind the first one.
    pub(super) fn further(embedded: bool) -> Hop {
        Hop {
            fetches: Vec::new(),
            repeated: true,
            embedded,
            lane: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fetches.is_empty()
    }

    /// The document of a `T` whose field `by` has this value.
    pub(crate) fn want<T: Document + Clone>(&mut self, value: RawBsonRef<'_>, by: &'static str) -> Slot {
        for (fetch, known) in self.fetches.iter_mut().enumerate() {
            if let Some(known) = known.as_any().downcast_mut::<HopById<T>>()
                && known.by == by
                && known.lane == self.lane
            {
                return Slot {
                    fetch: fetch as u32,
                    at: known.want(value),
                };
            }
        }
        let mut new = HopById::<T>::new(by);
        new.lane = self.lane;
        let at = new.want(value);
        self.add(Box::new(new)).at(at)
    }

    pub(super) fn add(&mut self, fetch: Box<dyn Fetch>) -> Slot {
        self.fetches.push(fetch);
        Slot {
            fetch: (self.fetches.len() - 1) as u32,
            at: 0,
        }
    }

    pub(crate) fn get<T: Document + Clone>(&mut self, slot: Slot) -> Option<T> {
        let repeated = self.repeated;
        let fetch = self.fetches.get_mut(slot.fetch as usize)?;
        fetch
            .as_any()
            .downcast_mut::<HopById<T>>()?
            .get(slot.at, repeated)
    }

    pub(super) fn fetch(&self, slot: Slot) -> Option<&dyn Fetch> {
        self.fetches.get(slot.fetch as usize).map(|fetch| &**fetch)
    }

    pub(super) fn fetch_mut(&mut self, slot: Slot) -> Option<&mut dyn Fetch> {
        match self.fetches.get_mut(slot.fetch as usize) {
            Some(fetch) => Some(&mut **fetch),
            None => None,
        }
    }

    /// Takes the documents that the server has put into `raw` under `name`, for the lists that `tree` refers to.
    pub(super) fn take_embedded(&mut self, raw: &RawDocument, name: &str, tree: &Tree) -> Result<()> {
        let mut fetches: Vec<u32> = Vec::new();
        tree.each(&mut |slot| {
            if !fetches.contains(&slot.fetch) {
                fetches.push(slot.fetch);
            }
        });
        for document in embedded(raw, name) {
            for fetch in &fetches {
                if let Some(fetch) = self.fetches.get_mut(*fetch as usize) {
                    fetch.take(document)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the document is deleted and kept.
    pub(super) fn is_deleted(&self, slot: Slot) -> bool {
        self.fetch(slot).is_some_and(|fetch| fetch.is_deleted(slot.at))
    }

    async fn find_deleted(&mut self, from: &Source) -> Result<()> {
        for fetch in &mut self.fetches {
            fetch.find_deleted(from).await?;
        }
        Ok(())
    }

    /// Brings all of them.
    pub(super) async fn run(&mut self, from: &Source) -> Result<()> {
        if let [fetch] = self.fetches.as_mut_slice() {
            return fetch.run(from).await;
        }
        // Collected, since a stream of closures that borrow can't be shown to be `Send`.
        let queries: Vec<_> = self.fetches.iter_mut().map(|fetch| fetch.run(from)).collect();
        futures::stream::iter(queries)
            .buffer_unordered(from.in_flight())
            .try_collect::<()>()
            .await
    }
}

/// The documents in an array.
pub(super) fn embedded<'d>(raw: &'d RawDocument, name: &str) -> impl Iterator<Item = &'d RawDocument> {
    raw.get_array(name)
        .ok()
        .into_iter()
        .flatten()
        .filter_map(|item| item.ok()?.as_document())
}

impl Slot {
    pub(super) fn at(self, at: u32) -> Slot {
        Slot { at, ..self }
    }
}

/// Documents that are wanted by the value of a field.
pub(crate) struct HopById<T> {
    by: &'static str,
    places: Places,
    found: Vec<FoundTarget<T>>,
    with_raw: bool,
    lane: u32,
    /// What its queries are called.
    operation: &'static str,
    takes_deleted: bool,
    /// The places of documents that are deleted and kept.
    deleted: HashSet<u32>,
}

struct FoundTarget<T> {
    document: Option<T>,
    raw: Option<RawDocumentBuf>,
    wanted: u32,
}

impl<T> Default for FoundTarget<T> {
    fn default() -> Self {
        FoundTarget {
            document: None,
            raw: None,
            wanted: 0,
        }
    }
}

impl<T: Document + Clone> HopById<T> {
    pub(crate) fn new(by: &'static str) -> HopById<T> {
        HopById {
            by,
            places: Places::default(),
            found: Vec::new(),
            with_raw: false,
            lane: 0,
            operation: "join",
            takes_deleted: false,
            deleted: HashSet::new(),
        }
    }

    pub(crate) fn named(self, operation: &'static str) -> HopById<T> {
        HopById { operation, ..self }
    }

    pub(crate) fn want(&mut self, value: RawBsonRef<'_>) -> u32 {
        self.want_key(stored_key(T::META, self.by, value))
    }

    pub(crate) fn want_key(&mut self, key: Key) -> u32 {
        let next = self.found.len() as u32;
        let at = place(&mut self.places, key, next);
        match self.found.get_mut(at as usize) {
            Some(found) => found.wanted = found.wanted.saturating_add(1),
            None => self.found.push(FoundTarget {
                document: None,
                raw: None,
                wanted: 1,
            }),
        }
        at
    }

    /// The document: itself where it is wanted for the last time, else a copy.
    pub(crate) fn get(&mut self, at: u32, repeated: bool) -> Option<T> {
        let found = self.found.get_mut(at as usize)?;
        found.wanted = found.wanted.saturating_sub(1);
        if found.wanted == 0 && !repeated {
            found.document.take()
        } else {
            found.document.clone()
        }
    }

    /// Asks for all of them.
    pub(crate) fn load<'a>(&'a mut self, from: &'a Source) -> BoxFuture<'a, Result<()>> {
        let (by, operation) = (self.by, self.operation);
        let chunks = all_chunks(&self.places);
        load_by(
            self,
            from.core(T::META),
            by,
            operation,
            (chunks, None),
            from.in_flight(),
        )
    }
}

impl<T: Document + Clone> HopById<T> {
    /// Asks for all of them in this collection. Gives what [`found_by_collation`](HopById::found_by_collation) does.
    pub(crate) async fn load_from(&mut self, core: Core) -> Result<HashMap<u32, u32>> {
        let from = core.source();
        let (by, operation) = (self.by, self.operation);
        let chunks = all_chunks(&self.places);
        let beside = core.at()?.cloned();
        load_by(self, core, by, operation, (chunks, beside), from.in_flight()).await?;
        self.found_by_collation(&from).await
    }

    /// Whether texts that differ may name the same document.
    fn is_folded(&self) -> bool {
        // Also with a strength of 3 accents may be written in several ways.
        let collation = T::META.collation.filter(|one| one.locale != "simple");
        collation.is_some() && holds_text((T::META.shape)(), self.by)
    }

    /// The places of keys that name a document by the collation alone, with those of the documents: the server says which are equal.
    pub(crate) async fn found_by_collation(&mut self, from: &Source) -> Result<HashMap<u32, u32>> {
        let mut others = HashMap::new();
        let (there, missing): (Vec<_>, Vec<_>) =
            self.places.iter().partition(|(_, at)| Fetch::has(self, **at));
        if !self.is_folded() || there.is_empty() || missing.is_empty() {
            return Ok(others);
        }
        let trace = Trace::without_span().knowing(from.routes.clone());
        let cx = Cx::new(&from.odm, from.session.as_ref(), &trace);
        for keys in chunks(missing.into_iter().map(|(key, _)| key)) {
            let of = format!("${}", self.by);
            let same = doc! { "$eq": ["$$this", &of] };
            let pipeline = vec![
                doc! { "$match": { self.by: { "$in": &keys } } },
                doc! { "$project": {
                    "_id": 0,
                    "of": &of,
                    "k": { "$filter": { "input": { "$literal": &keys }, "cond": same } },
                } },
                doc! { "$unwind": "$k" },
            ];
            for row in cx.aggregate(T::META, pipeline).await? {
                let place = |name: &str| self.places.get(&Key::of_bson(row.get(name)?)).copied();
                if let (Some(key), Some(document)) = (place("k"), place("of")) {
                    others.insert(key, document);
                }
            }
        }
        for (key, document) in &others {
            let wanted = self.found.get(*key as usize).map_or(0, |found| found.wanted);
            if let Some(found) = self.found.get_mut(*document as usize) {
                found.wanted = found.wanted.saturating_add(wanted);
            }
        }
        Ok(others)
    }
}

/// The key by which a document is referred to. The application's document may hold it as it is not stored.
pub(super) fn stored_key(meta: &DocumentMeta, by: &str, value: RawBsonRef<'_>) -> Key {
    let (RawBsonRef::String(text), false) = (value, by == "_id") else {
        return Key::of(value);
    };
    let mut key = Bson::from(text);
    if let Some(field) = meta.field(by) {
        normalize::value(field, false, &mut key);
    }
    Key::of_bson(&key)
}

/// The keys in the order of their places.
fn in_order(places: &Places) -> Vec<&Key> {
    let mut keys: Vec<(u32, &Key)> = places.iter().map(|(key, at)| (*at, key)).collect();
    keys.sort_unstable_by_key(|(at, _)| *at);
    keys.into_iter().map(|(_, key)| key).collect()
}

fn all_chunks(places: &Places) -> Vec<Vec<Bson>> {
    chunks(places.keys())
}

/// The place of a key, which is the next one where it is new.
fn place(places: &mut Places, key: Key, next: u32) -> u32 {
    *places.entry(key).or_insert(next)
}

/// The keys of documents that did not come, in the lists in which they are asked for.
fn missing(places: &Places, is_there: &dyn Fn(u32) -> bool) -> Vec<Vec<Bson>> {
    let missing = places.iter().filter(|(_, at)| !is_there(**at));
    chunks(missing.map(|(key, _)| key))
}

/// The places of documents that are deleted and kept: of these, whose field `by` has one of these values and whose field `mark` is not
/// null.
fn find_deleted<'a>(
    core: Core,
    places: &'a Places,
    keys: Vec<Vec<Bson>>,
    (by, mark): (&'static str, &'static str),
    operation: &'static str,
) -> BoxFuture<'a, Result<HashSet<u32>>> {
    async move {
        let mut deleted = HashSet::new();
        for keys in keys {
            let condition = doc! { by: { "$in": keys }, mark: { "$ne": null } };
            let mut query = Query::new(core.clone(), Filter::raw(condition));
            query.options.projection = Some(doc! { by: 1 });
            let mut take = |raw: &RawDocument| {
                deleted.extend(wanted(places, by, raw));
                Ok(())
            };
            query.each(operation, &mut take).await?;
        }
        Ok(deleted)
    }
    .boxed()
}

/// Asks for the documents whose field `by` has one of these values, and that match a condition beside it, and hands them to `to`.
fn load_by<'a>(
    to: &'a mut dyn Fetch,
    core: Core,
    by: &'static str,
    operation: &'static str,
    (mut chunks, beside): (Vec<Vec<Bson>>, Option<mongodb::bson::Document>),
    in_flight: usize,
) -> BoxFuture<'a, Result<()>> {
    async move {
        let find = |chunk: Vec<Bson>| {
            let named = [doc! { by: { "$in": chunk } }];
            let filter = all(named.into_iter().chain(beside.clone()));
            Query::for_application(core.clone(), Filter::raw(filter))
        };
        if chunks.len() <= 1 {
            // The usual case, without what it costs to wait for several at once.
            let Some(chunk) = chunks.pop() else { return Ok(()) };
            return find(chunk).each(operation, &mut |raw| to.take(raw)).await;
        }
        let to = Mutex::new(to);
        let mut queries = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let (query, to) = (find(chunk), &to);
            queries.push(async move {
                let mut take =
                    |raw: &RawDocument| to.lock().unwrap_or_else(PoisonError::into_inner).take(raw);
                query.each(operation, &mut take).await
            });
        }
        let answers = futures::stream::iter(queries).buffer_unordered(in_flight);
        answers.try_collect().await
    }
    .boxed()
}

/// The place of a document, by the value of its field `by`.
fn wanted(places: &Places, by: &str, raw: &RawDocument) -> Option<u32> {
    let key = Key::of(raw.get(by).ok()??);
    places.get(&key).copied()
}

impl<T: Document + Clone> Fetch for HopById<T> {
    fn run<'a>(&'a mut self, from: &'a Source) -> BoxFuture<'a, Result<()>> {
        self.load(from)
    }

    fn take(&mut self, raw: &RawDocument) -> Result<()> {
        if self.is_folded()
            && let Ok(Some(value)) = raw.get(self.by)
        {
            // It is one of those that are wanted, by a text that may be another one.
            let next = self.found.len() as u32;
            if place(&mut self.places, Key::of(value), next) == next {
                self.found.push(FoundTarget::default());
            }
        }
        let Some(at) = wanted(&self.places, self.by, raw) else {
            return Ok(());
        };
        let Some(found) = self.found.get_mut(at as usize) else {
            return Ok(());
        };
        // The server puts a document into each one that refers to it.
        if found.document.is_none() {
            found.document = Some(super::stages::read::<T>(T::META, raw)?);
            found.raw = self.with_raw.then(|| raw.to_owned());
        }
        Ok(())
    }

    fn collection(&self) -> &'static str {
        T::META.collection
    }

    fn has(&self, at: u32) -> bool {
        self.found
            .get(at as usize)
            .is_some_and(|found| found.document.is_some())
    }

    fn keys(&self) -> Vec<&Key> {
        in_order(&self.places)
    }

    fn raw(&self, at: u32) -> Option<&RawDocument> {
        self.found.get(at as usize)?.raw.as_deref()
    }

    fn stored(&self, key: &Key) -> Bson {
        match T::META.field(self.by) {
            Some(field) => as_stored(of_field(field), key.to_bson()),
            None => key.to_bson(),
        }
    }

    fn take_deleted(&mut self) {
        self.takes_deleted = true;
    }

    fn find_deleted<'a>(&'a mut self, from: &'a Source) -> BoxFuture<'a, Result<()>> {
        async move {
            let Some(name) = T::META.soft_delete.filter(|_| self.takes_deleted) else {
                return Ok(());
            };
            let core = Core::new(&from.odm.with_deleted(), T::META, from.session.clone());
            let core = core.sharing(from.routes.clone());
            let missing = missing(&self.places, &|at| Fetch::has(self, at));
            let found = find_deleted(core, &self.places, missing, (self.by, name), self.operation).await?;
            self.deleted.extend(found);
            Ok(())
        }
        .boxed()
    }

    fn is_deleted(&self, at: u32) -> bool {
        self.deleted.contains(&at)
    }

    fn keep_raw(&mut self) {
        self.with_raw = true;
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::Person;
    use mongodb::bson::rawdoc;

    /// The second one could not be decoded.
    #[test]
    fn a_target_that_comes_several_times_is_decoded_once() {
        let mut hop = HopById::<Person>::new("_id");
        let id = mongodb::bson::oid::ObjectId::new();
        let at = hop.want(RawBsonRef::ObjectId(id));
        assert_eq!(hop.want(RawBsonRef::ObjectId(id)), at);
        hop.take(&rawdoc! { "_id": id, "name": "Kate", "addresses": [], "home": null, "boss": null })
            .expect("is decoded");
        hop.take(&rawdoc! { "_id": id, "name": 5 })
            .expect("is not decoded");
        for _ in 0..2 {
            assert_eq!(
                hop.get(at, false).map(|person| person.name),
                Some("Kate".to_owned())
            );
        }
        let other = hop.want(RawBsonRef::Int32(1));
        assert!(hop.take(&rawdoc! { "_id": 1, "name": 5 }).is_err());
        assert!(hop.get(other, false).is_none());
    }
}
