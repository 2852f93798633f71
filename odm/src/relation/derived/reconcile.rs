//! Follows what others write past the library, and mends the copies that it leaves stale, the links that it leaves on one side,
//! and what buckets no longer say rightly of their items.

use super::super::audit::Source;
use super::super::graph::{Edge, Graph};
use super::super::scope::Scope;
use super::super::{follow, pairs};
use super::children::parents_of;
use super::deliver::raise;
use super::each::Written;
use super::fill::{first_version, needed};
use super::inspect::Kept;
use super::pay::settle;
use super::place::{self, Place, STATE, beat, is_lost, is_unknown, state};
use super::recover::{but_for_the_deployment, passes};
use super::{Token, at, backfill, plain_name};
use crate::bucket::BucketMeta;
use crate::copy::SyncMode;
use crate::document::DocumentMeta;
use crate::key::Key;
use crate::names::meet;
use crate::own_fields::{COPIED, LINKS, OWN, VERSION};
use crate::{Error, Odm, Result};
use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::change_stream::event::{ChangeStreamEvent, OperationType, ResumeToken};
use mongodb::options::{ChangeStreamOptions, FullDocumentBeforeChangeType};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// At most so many changes are taken up together.
const TOGETHER: usize = 500;

/// They take so many bytes at most, and one change more: each may bring two whole documents.
const BYTES: usize = 16 << 20;

/// An idle stream is kept from aging by a heartbeat this often.
const HEARTBEAT: Duration = Duration::from_secs(60);

/// What is waited after an error, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));

impl Odm {
    /// Follows the change stream of the database, and mends copies, derived fields, two-way references and what buckets say of
    /// their items after writes that came from elsewhere: from programs in other languages, from the shell, from the driver's
    /// own collection. Of a two-way reference the side is followed that [`repair`](Odm::repair) believes; references to what
    /// was deleted are left to that.
    ///
    /// The place in the stream is stored after a change has been applied, so that none is lost when the process ends;
    /// another one with the same models goes on there. Where there is no such place yet, where the server has lost it,
    /// and where a collection is dropped or renamed, everything is compared instead, as by
    /// [`backfill().all()`](crate::Backfilling::all), and both sides of all two-way references, and all buckets. Several
    /// reconcilers do no harm, and what the library writes itself is right already.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let reconciler = odm.reconciler().start().await?;
    /// // … somebody writes past the library …
    /// reconciler.caught_up().await?;
    /// reconciler.stop().await?;
    /// # Ok(()) }
    /// ```
    pub fn reconciler(&self) -> Reconciling {
        Reconciling { odm: self.clone() }
    }
}

/// A reconciler that is to be started: [`Odm::reconciler`].
#[must_use = "a reconciler does nothing until it is started"]
#[derive(Clone, Debug)]
pub struct Reconciling {
    odm: Odm,
}

impl Reconciling {
    /// Opens the change stream and follows it in the background, in the tokio runtime that this is called in. What is
    /// written from now on is seen, and what was written since a former reconciler with the same models stored its
    /// place. The first one with these models compares everything before it follows, which
    /// [`caught_up`](Reconciler::caught_up) waits for.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) on a standalone server, which has no change streams.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let reconciler = odm.reconciler().start().await?;
    /// # Ok(()) }
    /// ```
    pub async fn start(self) -> Result<Reconciler> {
        let odm = self.odm;
        let server = odm.server().await?;
        if !server.has_transactions() {
            return Err(Error::Unsupported {
                operation: "a reconciler",
                needs: "a replica set or a sharded cluster",
                is: server.to_string(),
            });
        }
        place::tidy(&odm).await?;
        let name = Token::new();
        let place = Place::of(&odm);
        let token = place.stored(&odm).await?;
        let (seen, seen_by) = watch::channel(0_i64);
        let stop = Arc::new(Notify::new());
        let mut follower = Follower {
            odm: odm.clone(),
            name,
            beat: Arc::new(AtomicI64::new(0)),
            seen,
            place,
            token,
        };
        // The first stream is opened here, so that what is written after this returns is in it.
        let stream = follower.open().await?;
        let (beat, stopped) = (follower.beat.clone(), stop.clone());
        let task = tokio::spawn(async move {
            tokio::select! {
                () = stopped.notified() => {}
                () = follower.run(stream) => {}
            }
        });
        Ok(Reconciler {
            odm,
            name,
            beat,
            seen: seen_by,
            stop,
            task: Some(task),
        })
    }
}

/// A task that mends copies after writes from elsewhere: [`Odm::reconciler`].
#[must_use = "a reconciler ends when it is dropped"]
#[derive(Debug)]
pub struct Reconciler {
    odm: Odm,
    name: Token,
    beat: Arc<AtomicI64>,
    seen: watch::Receiver<i64>,
    stop: Arc<Notify>,
    task: Option<JoinHandle<()>>,
}

impl Reconciler {
    /// Waits until everything that was written before this call has been taken up.
    ///
    /// # Errors
    /// What the server says; [`Error::Query`](crate::Error::Query) where the reconciler has ended.
    ///
    /// ```no_run
    /// # async fn example(reconciler: odm::upkeep::Reconciler) -> odm::Result<()> {
    /// reconciler.caught_up().await?;
    /// # Ok(()) }
    /// ```
    pub async fn caught_up(&self) -> Result<()> {
        let beat = beat(&self.odm, self.name, &self.beat).await?;
        let mut seen = self.seen.clone();
        match seen.wait_for(|seen| *seen >= beat).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::Query {
                collection: STATE,
                message: "the reconciler has ended".to_owned(),
            }),
        }
    }

    /// Ends it at once, also while it compares everything. What it has not taken up to the end another one will: the place in the
    /// stream is stored behind what is done. A command that was on its way to the server may be carried out after this has
    /// returned.
    ///
    /// # Errors
    /// What the server says of the heartbeat's removal; the reconciler has ended all the same.
    ///
    /// ```no_run
    /// # async fn example(reconciler: odm::upkeep::Reconciler) -> odm::Result<()> {
    /// reconciler.stop().await?;
    /// # Ok(()) }
    /// ```
    pub async fn stop(mut self) -> Result<()> {
        self.stop.notify_one();
        if let Some(task) = self.task.take()
            && let Err(error) = task.await
        {
            tracing::warn!(target: "odm", %error, "the reconciler ended before it was stopped");
        }
        state(&self.odm).delete_one(doc! { "_id": self.name }).await?;
        Ok(())
    }
}

impl Drop for Reconciler {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

type Event = ChangeStreamEvent<RawDocumentBuf>;
type Stream = mongodb::change_stream::ChangeStream<Event>;

struct Follower {
    odm: Odm,
    name: Token,
    beat: Arc<AtomicI64>,
    seen: watch::Sender<i64>,
    place: Place,
    /// Everything before it was taken up. As long as there is none, everything is still to be compared.
    token: Option<ResumeToken>,
}

/// What others wrote in one collection.
#[derive(Default)]
struct ByOthers {
    ids: HashSet<Key>,
    /// Of these the sources of copies were changed, past the library.
    sources: HashSet<Key>,
    /// As they were, where the server keeps that.
    before: Vec<RawDocumentBuf>,
    /// Children were taken away from parents that nobody knows any more.
    lost: bool,
    /// Those whose two-way references may have been changed.
    linked: HashSet<Key>,
    /// Buckets that may no longer say what is true of their items.
    buckets: HashSet<Key>,
}

impl Follower {
    /// Opens the stream where it was left. Where the server has no more what came since, or knows no such place, it
    /// begins now, and everything is to be compared behind it.
    async fn open(&mut self) -> Result<Stream> {
        let stream = match self.watch().await {
            Err(error) if self.token.is_some() && is_unknown(&error) => {
                self.lose(&error);
                self.watch().await?
            }
            stream => stream?,
        };
        self.odm.learn().await?;
        if self.token.is_none() {
            // The heartbeat that somebody waits for may have come before this stream: a later one comes within it.
            beat(&self.odm, self.name, &self.beat).await?;
        }
        Ok(stream)
    }

    fn lose(&mut self, why: &dyn std::fmt::Display) {
        tracing::warn!(target: "odm", %why, "the resume token is no longer valid, comparing all copies, links and buckets");
        self.token = None;
    }

    async fn watch(&self) -> Result<Stream> {
        let mut options = ChangeStreamOptions::default();
        options.resume_after = self.token.clone();
        // MongoDB 6.0: wire version 17.
        if self.odm.server().await?.max_wire_version() >= 17 {
            options.full_document_before_change = Some(FullDocumentBeforeChangeType::WhenAvailable);
        }
        let stream = self
            .odm
            .database()
            .watch()
            .pipeline([doc! { "$match": place::filter(&self.odm) }])
            .with_options(options)
            .await?;
        Ok(stream.with_type::<Event>())
    }

    async fn run(mut self, stream: Stream) {
        let mut stream = Some(stream);
        let mut pause = PAUSE.0;
        loop {
            let followed = match stream.take() {
                Some(stream) => self.follow(stream, &mut pause).await,
                None => match self.open().await {
                    Ok(stream) => self.follow(stream, &mut pause).await,
                    Err(error) => Err(error),
                },
            };
            match followed {
                // The database was dropped. Behind that there is no going on at a place before it.
                Ok(()) => self.lose(&"the change stream ended"),
                Err(error) => {
                    tracing::warn!(target: "odm", %error, "the change stream failed, reopening it");
                }
            }
            tokio::time::sleep(pause).await;
            pause = PAUSE.1.min(pause * 2);
        }
    }

    /// Compares everything, unless there is a place before which everything was taken up already.
    async fn begin(&mut self, beginning: Option<ResumeToken>) -> Result<()> {
        if self.token.is_some() {
            return Ok(());
        }
        self.compare().await?;
        // A server before MongoDB 4.0.7 does not say where a stream begins: then the first change is the first place.
        self.token = beginning;
        self.place.store(&self.odm, self.token.as_ref()).await
    }

    /// What came through the stream. The server may find only now that it has lost the place.
    fn received(&mut self, event: mongodb::error::Result<Event>) -> Result<Event> {
        if let Err(error) = &event
            && is_lost(error)
        {
            self.lose(error);
        }
        Ok(event?)
    }

    async fn follow(&mut self, mut stream: Stream, pause: &mut Duration) -> Result<()> {
        self.begin(stream.resume_token()).await?;
        loop {
            let first = match tokio::time::timeout(HEARTBEAT, stream.next()).await {
                Ok(Some(event)) => self.received(event)?,
                Ok(None) => return Ok(()),
                Err(_) => {
                    self.odm.learn().await?;
                    beat(&self.odm, self.name, &self.beat).await?;
                    continue;
                }
            };
            let mut bytes = size(&first);
            let mut events = vec![first];
            while events.len() < TOGETHER
                && bytes < BYTES
                && let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(2), stream.next()).await
            {
                let event = self.received(event)?;
                bytes += size(&event);
                events.push(event);
            }
            let seen = self.take_up(&events).await?;
            // Only what has been applied is passed.
            self.token = events.last().map(|event| event.id.clone());
            self.place.store(&self.odm, self.token.as_ref()).await?;
            reach(&self.seen, seen);
            *pause = PAUSE.0;
        }
    }

    /// Takes up some changes. Gives the last heartbeat of this reconciler's own among them.
    async fn take_up(&self, events: &[Event]) -> Result<Option<i64>> {
        let graph = self.odm.graph();
        let mut seen = None;
        let mut is_moved = false;
        let mut collections: HashMap<&'static str, (&'static DocumentMeta, ByOthers)> = HashMap::new();
        for event in events {
            is_moved |= is_of_a_collection(event);
            let name = event
                .ns
                .as_ref()
                .and_then(|ns| ns.coll.as_deref())
                .unwrap_or_default();
            let Some(id) = event.document_key.as_ref().and_then(|key| key.get("_id")) else {
                continue;
            };
            if name == STATE {
                if *id == Bson::ObjectId(self.name) {
                    seen = beat_of(event).max(seen);
                }
                continue;
            }
            let Some(meta) = place::followed(graph).find(|meta| meta.collection == name) else {
                continue;
            };
            let (_, written) = collections
                .entry(meta.collection)
                .or_insert_with(|| (meta, ByOthers::default()));
            written.note(graph, meta, event, id);
        }
        let trips = AtomicU64::new(0);
        let scope = Scope::new(&self.odm, None, &trips);
        for (meta, written) in collections.into_values() {
            if self.odm.knows_copies(meta).is_err() {
                // They may have been forgotten since.
                self.odm.learn().await?;
            }
            if let Err(error) = self.odm.knows_copies(meta) {
                tracing::warn!(target: "odm", %error, "skipped an out-of-band change: the models of this process lack copies \
                                                       that depend on it");
                continue;
            }
            pass_over(mend(&scope, meta, written).await)?;
        }
        if is_moved {
            self.compare().await?;
        }
        Ok(seen)
    }

    async fn compare(&self) -> Result<()> {
        match backfill::compare_all(&self.odm).await? {
            Err(error @ Error::UnknownCopies { .. }) => {
                tracing::warn!(target: "odm", %error, "skipped comparing copies that the models of this process lack");
                Ok(())
            }
            compared => pass_over(compared),
        }
    }
}

/// The heartbeat in a change, if it says one: a heartbeat that comes after a later one changes only the time.
fn beat_of(event: &Event) -> Option<i64> {
    let updated = event
        .update_description
        .as_ref()
        .map(|update| &update.updated_fields);
    let of_update = updated.and_then(|fields| fields.get_i64("beat").ok());
    let whole = event
        .full_document
        .as_ref()
        .and_then(|document| document.get_i64("beat").ok());
    of_update.or(whole)
}

/// Tells those who wait for a heartbeat that this one was seen. It never goes back: who waits would wait for ever.
fn reach(seen: &watch::Sender<i64>, beat: Option<i64>) {
    seen.send_if_modified(|seen| {
        let before = *seen;
        *seen = before.max(beat.unwrap_or(before));
        *seen > before
    });
}

/// How many bytes a change takes, nearly.
fn size(event: &Event) -> usize {
    let documents = [&event.full_document, &event.full_document_before_change];
    let whole: usize = documents
        .into_iter()
        .flatten()
        .map(|document| document.as_bytes().len())
        .sum();
    let updated = event.update_description.as_ref();
    let updated = updated.and_then(|update| RawDocumentBuf::try_from(&update.updated_fields).ok());
    whole + updated.map_or(0, |fields| fields.as_bytes().len())
}

/// Whether a whole collection is another one now: it was dropped, or renamed, or another one got its name, as by
/// `$out`. None of its documents has a change of its own, so everything is compared.
fn is_of_a_collection(event: &Event) -> bool {
    matches!(event.operation_type, OperationType::Drop | OperationType::Rename)
}

/// One document that can't be written, whatever the server says of it, must not keep the changes of all the others from being
/// taken up. What is not mended is told, and `audit` finds it.
fn pass_over(mended: Result<()>) -> Result<()> {
    match but_for_the_deployment(mended)? {
        // A program with more models is to mend that.
        Err(error @ Error::UnknownCopies { .. }) => Err(error),
        Err(error) if passes(&error) => Err(error),
        Err(error) => {
            tracing::warn!(target: "odm", %error, "repairing after an out-of-band change failed for some documents; `audit` \
                                                   finds them");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

impl ByOthers {
    fn note(&mut self, graph: &Graph, meta: &'static DocumentMeta, event: &Event, id: &Bson) {
        let key = Key::of_bson(id);
        let names = written_names(event);
        let touches = |field: &str| names.iter().any(|name| meet(name, field));
        if is_linked_alone(graph, meta, event, touches) {
            self.linked.insert(key.clone());
        }
        if meta
            .bucket
            .is_some_and(|bucket| is_told_alone(bucket, event, touches))
        {
            self.buckets.insert(key.clone());
        }
        // The library leaves its mark by the same write: in a source a version, in a parent a stamp, beside a copy the version
        // that it was taken from.
        let is_mark = |name: &String| meet(name, OWN) || name.split('.').any(|part| part == COPIED);
        if !graph.takes_part(meta) || names.iter().any(is_mark) {
            return;
        }
        let children = graph.derived_from(meta).next().is_some();
        match &event.operation_type {
            OperationType::Update => {
                let read = needed_to_compare(graph, meta);
                let is_read = |name: &String| read.keys().any(|field| meet(name, field));
                if !names.iter().any(is_read) {
                    return;
                }
                let mut copies = graph.copied(meta).flat_map(|edge| &edge.copies);
                if copies.any(|copy| copy.sync != SyncMode::Snapshot && touches(copy.source)) {
                    self.sources.insert(key.clone());
                }
                if graph
                    .derived_from(meta)
                    .filter_map(|derived| graph.parent_edge(derived))
                    .any(|edge| touches(&edge.path))
                {
                    self.former(event);
                }
                self.ids.insert(key);
            }
            OperationType::Insert => {
                // The library inserts a source with its version. One that was deleted and inserted again may have
                // holders.
                let has_version = event
                    .full_document
                    .as_ref()
                    .is_some_and(|document| at(document, VERSION).is_some());
                if graph.copied(meta).next().is_some() && !has_version {
                    self.sources.insert(key.clone());
                }
                self.ids.insert(key);
            }
            OperationType::Replace => {
                if graph.copied(meta).next().is_some() {
                    self.sources.insert(key.clone());
                }
                if children {
                    self.former(event);
                }
                self.ids.insert(key);
            }
            OperationType::Delete if children => self.former(event),
            _ => {}
        }
    }

    /// The document as it was says who its parent was.
    fn former(&mut self, event: &Event) {
        match &event.full_document_before_change {
            Some(before) => self.before.push(before.clone()),
            None => self.lost = true,
        }
    }
}

/// Mends what these writes have left stale, as far as it can be: what one document is refused for holds up no other, and none
/// of the steps.
///
/// # Errors
/// The first refusal at the end; what would fail with all documents at once.
fn mend<'s>(
    scope: &'s Scope<'_>,
    meta: &'static DocumentMeta,
    written: ByOthers,
) -> BoxFuture<'s, Result<()>> {
    async move {
        let graph = scope.odm.graph();
        let mut mended = Written::default();
        if !written.linked.is_empty() {
            mended.add(follow::follow(scope, meta, &written.linked).await)?;
        }
        let of = |keys: &HashSet<Key>| doc! { "_id": { "$in": keys.iter().map(Key::to_bson).collect::<Vec<_>>() } };
        if let Some(bucket) = meta.bucket
            && !written.buckets.is_empty()
        {
            // Before what is derived of it.
            let kept = Kept::Bucket(meta, bucket);
            let read = scope.every(meta, of(&written.buckets), kept.projection()).await;
            let buckets = mended.and(read)?.unwrap_or_default();
            mended.add(compare(scope, kept, &buckets).await)?;
        }
        if !written.sources.is_empty() {
            // It did not raise the version: that is done now, so that the copies are older.
            let token = Token::new();
            mended.add(raise(scope, meta, of(&written.sources), first_version(), token).await)?;
            mended.and(settle(*scope, meta, token).await)?;
        }
        let mut documents = Vec::new();
        if !written.ids.is_empty() {
            let read = scope.every(meta, of(&written.ids), needed_to_compare(graph, meta)).await;
            documents = mended.and(read)?.unwrap_or_default();
        }
        for edge in graph.copying(meta) {
            mended.add(compare(scope, Kept::Beside(edge), &documents).await)?;
        }
        for derived in graph.derived_in(meta) {
            mended.add(compare(scope, Kept::Derived(derived), &documents).await)?;
        }
        let children: Vec<RawDocumentBuf> = documents.into_iter().chain(written.before).collect();
        for (edge, list, keys) in parents_of(graph, meta, &children, |_, _| true) {
            let keys: Vec<Bson> = keys.iter().map(Key::to_bson).collect();
            for derived in list {
                let kept = Kept::Derived(derived);
                let filter = doc! { edge.by(): { "$in": &keys } };
                let parents = scope.every(derived.parent, filter, kept.projection()).await;
                let parents = mended.and(parents)?.unwrap_or_default();
                mended.add(compare(scope, kept, &parents).await)?;
            }
        }
        if written.lost {
            for derived in graph.derived_from(meta) {
                let kept = Kept::Derived(derived);
                let mut source = Source::from(derived.parent, kept.projection(), None);
                while let Some(Some(parents)) = mended.and(source.next(scope).await)? {
                    mended.add(compare(scope, kept, &parents).await)?;
                }
            }
        }
        mended.all().map(drop)
    }
    .boxed()
}

/// What an update has written. The positions in arrays are left out.
fn written_names(event: &Event) -> Vec<String> {
    let Some(update) = &event.update_description else {
        return Vec::new();
    };
    let truncated = update.truncated_arrays.iter().flatten().map(|array| &array.field);
    let names = update.updated_fields.keys().chain(&update.removed_fields);
    names.chain(truncated).map(|name| plain_name(name)).collect()
}

/// Whether a change may have linked or unlinked a document on one side alone.
fn is_linked_alone(
    graph: &Graph,
    meta: &'static DocumentMeta,
    event: &Event,
    touches: impl Fn(&str) -> bool,
) -> bool {
    // A transaction of the library's counts itself in both documents. Neither is enough: others have transactions, too, and
    // write a count back that they have read. What is mended notes at most what it owes.
    let is_together = event.txn_number.is_some();
    let mut links = graph.outgoing(meta).filter(|edge| edge.is_two_way());
    match &event.operation_type {
        OperationType::Update => !(is_together && is_counted(event)) && links.any(|edge| touches(&edge.path)),
        OperationType::Insert => {
            let Some(document) = &event.full_document else {
                return links.next().is_some();
            };
            // What the library inserts without links needs no transaction. What is taken from elsewhere may bring a count
            // along, but mostly none of a first write.
            let names_some = |edge: &Edge| edge.values(document).next().is_some();
            match pairs::writes(document) == 1 {
                true => !is_together && links.any(names_some),
                false => links.next().is_some(),
            }
        }
        OperationType::Replace => links.next().is_some(),
        _ => false,
    }
}

/// Whether a change may have left a bucket without what is true of its items. Whenever the library changes items, it makes the
/// bucket's version greater by the same write; a bucket that is new is looked at in any case.
fn is_told_alone(bucket: &BucketMeta, event: &Event, touches: impl Fn(&str) -> bool) -> bool {
    match &event.operation_type {
        OperationType::Update => {
            !touches(crate::bucket::VERSION) && bucket.told().chain([bucket.items]).any(touches)
        }
        OperationType::Insert | OperationType::Replace => true,
        _ => false,
    }
}

/// Whether an update was counted as one of both sides of two-way references. A server tells of the count alone, or of all that
/// the library has in the document, where that is new.
fn is_counted(event: &Event) -> bool {
    let (own, name) = LINKS.split_once('.').unwrap_or((LINKS, ""));
    event.update_description.as_ref().is_some_and(|update| {
        let fields = &update.updated_fields;
        fields.contains_key(LINKS) || fields.get_document(own).is_ok_and(|own| own.contains_key(name))
    })
}

fn needed_to_compare(graph: &Graph, meta: &DocumentMeta) -> Document {
    let mut fields = needed(graph, meta);
    for edge in graph.copying(meta) {
        fields.extend(Kept::Beside(edge).projection());
    }
    for derived in graph.derived_in(meta) {
        fields.extend(Kept::Derived(derived).projection());
    }
    fields
}

async fn compare(scope: &Scope<'_>, kept: Kept<'_>, documents: &[RawDocumentBuf]) -> Result<Written> {
    match documents.is_empty() {
        true => Ok(Written::default()),
        false => kept.correct(scope, documents).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::deserialize_from_document;

    /// A change of a heartbeat's document.
    fn change(updated: Document) -> Event {
        deserialize_from_document(doc! {
            "_id": { "_data": "82" },
            "operationType": "update",
            "documentKey": { "_id": 1 },
            "updateDescription": { "updatedFields": updated, "removedFields": [] },
        })
        .unwrap()
    }

    #[test]
    fn a_heartbeat_that_was_seen_never_goes_back() {
        let (seen, by) = watch::channel(0_i64);
        // The second one was stored before the first, which changes nothing but the time.
        for (fields, expected) in [
            (doc! { "beat": 2_i64, "at": 1 }, 2),
            (doc! { "at": 2 }, 2),
            (doc! { "beat": 1_i64 }, 2),
            (doc! { "beat": 3_i64 }, 3),
        ] {
            reach(&seen, beat_of(&change(fields)));
            assert_eq!(*by.borrow(), expected);
        }
    }

    #[test]
    fn only_a_count_says_that_both_sides_were_written() {
        for (fields, expected) in [
            (doc! { "books": [1], "_odm.links": 3_i64 }, true),
            (
                doc! { "books.1": 1, "_odm": { "links": 1_i64, "revision": 1_i64 } },
                true,
            ),
            (doc! { "books": [1], "_odm": { "pending": 1 } }, false),
            (
                doc! { "books": [1], "_odm.pending": { "fields": { "books": 1 } } },
                false,
            ),
            (doc! { "books": [1], "links": 1 }, false),
            (doc! { "_odm": 1 }, false),
        ] {
            assert_eq!(is_counted(&change(fields.clone())), expected, "{fields}");
        }
    }

    #[test]
    fn a_change_has_the_size_of_its_documents() {
        let text = "x".repeat(1_000);
        let mut event = change(doc! { "text": &text });
        assert!((1_000..1_100).contains(&size(&event)));
        let whole = RawDocumentBuf::try_from(&doc! { "text": &text }).unwrap();
        event.full_document = Some(whole.clone());
        event.full_document_before_change = Some(whole);
        assert!((3_000..3_300).contains(&size(&event)));
    }

    #[test]
    fn what_is_refused_for_a_document_is_passed_over() {
        let refusal = |code: i32| -> Error {
            let reply = doc! { "code": code, "codeName": "", "errmsg": "" };
            let error: mongodb::error::CommandError = deserialize_from_document(reply).unwrap();
            mongodb::error::Error::from(mongodb::error::ErrorKind::Command(error)).into()
        };
        for code in [28, 121, 171, 11000, 16755, 17262, 17419] {
            assert!(pass_over(Err(refusal(code))).is_ok(), "{code}");
        }
        for code in [13, 43, 50, 91, 112, 189, 262, 10107, 11600, 11602, 13435, 13436] {
            assert!(pass_over(Err(refusal(code))).is_err(), "{code}");
        }
        let unknown = Error::UnknownCopies { edges: Vec::new() };
        assert!(pass_over(Err(unknown)).is_err());
        let io: mongodb::error::Error = std::io::Error::other("reset").into();
        assert!(pass_over(Err(io.into())).is_err());
    }
}
