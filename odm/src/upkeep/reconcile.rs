//! Follows out-of-band writes, and repairs the copies that they leave stale, the links that they leave on one side, and the
//! summaries of buckets.

use crate::engine::write::drain::drain;
use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::model::copy::Consistency;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::bucket::BucketMeta;
use crate::model::meta::names::{meet, plain_name};
use crate::model::own_fields::{LINKS, Token, VERSION, is_own_path};
use crate::rules::bucket::Summaries;
use crate::rules::children::parents::parents_of;
use crate::rules::children::value::OfChildren;
use crate::rules::claims::{self, Owners};
use crate::rules::copy::deliver::raise;
use crate::rules::copy::value::Copies;
use crate::rules::derived::DerivedValue;
use crate::rules::link::count;
use crate::rules::needed;
use crate::rules::pending::first_version;
use crate::store::action::Action;
use crate::store::batch::document_id;
use crate::store::cx::Cx;
use crate::store::each::{WriteReport, but_for_the_deployment, passes};
use crate::store::fields::at;
use crate::store::trace::Trace;
use crate::upkeep::audit::InspectedDocuments;
use crate::upkeep::position::{Begin, STATE, StreamPosition, beat, is_lost, is_unknown, state};
use crate::upkeep::watch::source::{Event, Pause, Stream, WatchSource as Changes, with_change_streams};
use crate::upkeep::{backfill, copies, follow, position};
use crate::{Error, Odm, Result};
use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::change_stream::event::{OperationType, ResumeToken};
use mongodb::options::{ChangeStreamOptions, FullDocumentBeforeChangeType};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// Maximum number of changes that are applied together.
const TOGETHER: usize = 500;

/// Maximum size of these changes in bytes, and one change more: each may contain two whole documents.
const BYTES: usize = 16 << 20;

/// An idle stream is kept from aging by a heartbeat this often.
const HEARTBEAT: Duration = Duration::from_secs(60);

impl Odm {
    /// Follows the change stream of the database, and updates copies, derived fields, two-way references and the summaries of
    /// buckets after out-of-band writes: those of programs in other languages, of the shell, of the driver's own collection.
    /// For a two-way reference the same side is authoritative as in a [`repair`](Odm::repair); dangling references are left to
    /// a repair.
    ///
    /// The resume token is stored after a change has been applied, so that no change is lost when the process ends; another
    /// process with the same models continues there. Where there is no resume token yet, where it has expired, and where a
    /// collection is dropped or renamed, everything is compared instead: all copies, as by
    /// [`backfill().again()`](crate::Backfilling::again), both sides of all two-way references, and all buckets. Several
    /// reconcilers may run at once. Writes of the library itself need no reconciler.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let reconciler = odm.reconciler().start().await?;
    /// // … another program writes out of band …
    /// reconciler.caught_up().await?;
    /// reconciler.stop().await?;
    /// # Ok(()) }
    /// ```
    pub fn reconciler(&self) -> Reconciling {
        Reconciling { odm: self.unscoped() }
    }
}

/// A reconciler, started by [`start`](Reconciling::start): [`Odm::reconciler`].
#[must_use = "a reconciler does nothing until it is started"]
#[derive(Clone, Debug)]
pub struct Reconciling {
    odm: Odm,
}

impl Reconciling {
    /// Opens the change stream and follows it in the background, in the tokio runtime that this is awaited in. It sees all
    /// writes from now on, and those since a previous reconciler with the same models stored its resume token. The first one
    /// with these models compares everything before it follows, and [`caught_up`](Reconciler::caught_up) waits for that.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) on a standalone server, which has no change streams.
    ///
    /// # Cost
    /// Four round trips: two for the stored resume tokens, one that opens the change stream, and one for the declarations in the
    /// database; one more where there is no resume token yet. In the background one for each batch of changes, and those of what
    /// they leave stale.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let reconciler = odm.reconciler().start().await?;
    /// # Ok(()) }
    /// ```
    pub fn start(self) -> Action<Reconciler> {
        Action::new("(all)", "reconciler", Box::new(start(self.odm)))
    }
}

async fn start(odm: Odm) -> Result<Reconciler> {
    let server = with_change_streams(&odm, "a reconciler").await?;
    let mut options = ChangeStreamOptions::default();
    if server.has_pre_and_post_images() {
        options.full_document_before_change = Some(FullDocumentBeforeChangeType::WhenAvailable);
    }
    let changes = Changes {
        odm: odm.clone(),
        collection: None,
        filter: position::filter(&odm),
        options,
    };
    position::tidy(&odm).await?;
    let name = Token::new();
    let place = StreamPosition::of(&odm);
    let token = place.stored(&odm).await?;
    let (seen, seen_by) = watch::channel(0_i64);
    let stop = Arc::new(Notify::new());
    let mut follower = Follower {
        odm: odm.clone(),
        changes,
        name,
        beat: Arc::new(AtomicI64::new(0)),
        seen,
        place,
        token,
        deleted: VecDeque::new(),
    };
    // The first stream is opened here, so that what is written after this returns is in it.
    let stream = follower.open().await?;
    let (beat, stopped, tasks) = (follower.beat.clone(), stop.clone(), odm.tasks().clone());
    let task = tokio::spawn(async move {
        tokio::select! {
            () = stopped.notified() => {}
            () = tasks.are_shut_down() => {}
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

/// A task that updates copies after out-of-band writes: [`Odm::reconciler`].
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
    /// Waits until all writes before the `.await` have been applied.
    ///
    /// # Errors
    /// Errors of the server; [`Error::Query`](crate::Error::Query) where the reconciler has ended.
    ///
    /// # Cost
    /// One round trip, for a heartbeat that comes back through the change stream.
    ///
    /// # Example
    /// ```no_run
    /// # async fn example(reconciler: odm::upkeep::Reconciler) -> odm::Result<()> {
    /// reconciler.caught_up().await?;
    /// # Ok(()) }
    /// ```
    pub fn caught_up(&self) -> Action<()> {
        let (odm, name, last) = (self.odm.clone(), self.name, self.beat.clone());
        let mut seen = self.seen.clone();
        let caught_up = async move {
            let beat = beat(&odm, name, &last).await?;
            match seen.wait_for(|seen| *seen >= beat).await {
                Ok(_) => Ok(()),
                Err(_) => Err(Error::Query {
                    collection: STATE,
                    message: "the reconciler has ended".to_owned(),
                }),
            }
        };
        Action::new("(all)", "caught_up", Box::new(caught_up))
    }

    /// Ends the reconciler at once, also while it compares everything. Another one continues after the last change that this
    /// one has applied completely, as the stored resume token says. The server may still execute a command that was already
    /// sent after this has returned.
    ///
    /// # Errors
    /// Errors of the server when the heartbeat is removed; the reconciler has ended nevertheless.
    ///
    /// # Cost
    /// One round trip, which removes the heartbeat.
    ///
    /// # Example
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

struct Follower {
    odm: Odm,
    changes: Changes,
    name: Token,
    beat: Arc<AtomicI64>,
    seen: watch::Sender<i64>,
    place: StreamPosition,
    /// All changes before it have been applied. While there is none, everything is still to be compared.
    token: Option<ResumeToken>,
    /// The documents that the last transactions have deleted: one that has moved may be inserted in a later reply of the stream. A process
    /// that begins between the two does not know the first.
    deleted: VecDeque<InTransaction>,
}

/// A document in a transaction: the transaction's number and session, the collection and the id.
type InTransaction = (i64, Vec<u8>, String, Key);

/// The out-of-band writes in one collection.
#[derive(Default)]
struct ByOthers {
    ids: HashSet<Key>,
    /// Those of which the sources of copies were changed out of band.
    sources: HashSet<Key>,
    /// Their before-images, where the server keeps them.
    before: Vec<RawDocumentBuf>,
    /// Whether children were removed from parents that can't be determined any more.
    lost: bool,
    /// Those whose two-way references may have been changed.
    linked: HashSet<Key>,
    /// Buckets whose summaries may differ from their items.
    buckets: HashSet<Key>,
}

impl Follower {
    /// Opens the stream at the resume token. Where the server does not have the changes since then any more, or does not know
    /// the token, the stream begins now, and everything is to be compared after that.
    async fn open(&mut self) -> Result<Stream> {
        let stream = match self.changes.open(&Begin::at(self.token.as_ref())).await {
            Err(error) if self.token.is_some() && is_unknown(&error) => {
                self.lose(&error);
                self.changes.open(&Begin::Now).await?
            }
            stream => stream?,
        };
        self.odm.learn().await?;
        if self.token.is_none() {
            // A heartbeat that a caller waits for may have come before this stream: a later one comes within it.
            beat(&self.odm, self.name, &self.beat).await?;
        }
        Ok(stream)
    }

    fn lose(&mut self, why: &dyn std::fmt::Display) {
        tracing::warn!(target: "odm", %why, "the resume token is no longer valid, comparing all copies, links and buckets");
        self.token = None;
    }

    async fn run(mut self, stream: Stream) {
        let mut stream = Some(stream);
        let mut pause = Pause::new();
        loop {
            let followed = match stream.take() {
                Some(stream) => self.follow(stream, &mut pause).await,
                None => match self.open().await {
                    Ok(stream) => self.follow(stream, &mut pause).await,
                    Err(error) => Err(error),
                },
            };
            match followed {
                // The database was dropped. A resume token from before that is not valid any more.
                Ok(()) => self.lose(&"the change stream ended"),
                Err(error) => {
                    tracing::warn!(target: "odm", %error, "the change stream failed, reopening it");
                }
            }
            tokio::time::sleep(pause.next()).await;
        }
    }

    /// Compares everything, unless a resume token says that all changes before it have been applied.
    async fn begin(&mut self, beginning: Option<ResumeToken>) -> Result<()> {
        if self.token.is_some() {
            return Ok(());
        }
        self.compare().await?;
        // A server before MongoDB 4.0.7 does not say where a stream begins: then the first change is the first place.
        self.token = beginning;
        self.place.store(&self.odm, self.token.as_ref()).await
    }

    /// A change from the stream. The server may report only now that the resume token has expired.
    fn received(&mut self, event: mongodb::error::Result<Event>) -> Result<Event> {
        if let Err(error) = &event
            && is_lost(error)
        {
            self.lose(error);
        }
        Ok(event?)
    }

    async fn follow(&mut self, mut stream: Stream, pause: &mut Pause) -> Result<()> {
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
            pause.reset();
        }
    }

    /// Applies some changes. Returns the last heartbeat of this reconciler among them.
    async fn take_up(&mut self, events: &[Event]) -> Result<Option<i64>> {
        let graph = self.odm.graph();
        let mut seen = None;
        let mut is_moved = false;
        let mut collections: HashMap<&'static str, (&'static DocumentMeta, ByOthers)> = HashMap::new();
        let deleted = events
            .iter()
            .filter(|event| event.operation_type == OperationType::Delete)
            .filter_map(in_transaction);
        self.deleted.extend(deleted);
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
            let Some(meta) = position::followed(graph).find(|meta| meta.collection == name) else {
                continue;
            };
            let (_, written) = collections
                .entry(meta.collection)
                .or_insert_with(|| (meta, ByOthers::default()));
            let has_moved = event.operation_type == OperationType::Insert
                && in_transaction(event).is_some_and(|document| self.deleted.contains(&document));
            written.note(graph, meta, event, id, has_moved);
        }
        let behind = self.deleted.len().saturating_sub(TOGETHER);
        self.deleted.drain(..behind);
        let trace = Trace::without_span();
        let cx = Cx::new(&self.odm, None, &trace);
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
            pass_over(repair(&cx, meta, written).await)?;
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

/// Notifies waiters that this heartbeat was seen. It never goes back, or a waiter would wait forever.
fn reach(seen: &watch::Sender<i64>, beat: Option<i64>) {
    seen.send_if_modified(|seen| {
        let before = *seen;
        *seen = before.max(beat.unwrap_or(before));
        *seen > before
    });
}

/// The approximate size of a change in bytes.
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

/// One document that can't be written, whatever the error, must not stop the changes of all others. The failure is logged, and
/// `audit` finds the document.
fn pass_over(repaired: Result<()>) -> Result<()> {
    match but_for_the_deployment(repaired)? {
        // A program with more models repairs that.
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

/// The document of a change in a transaction, with the transaction. A change of a shard key may move a document to another shard: it is
/// deleted and inserted in one.
fn in_transaction(event: &Event) -> Option<InTransaction> {
    let session = event.lsid.as_ref()?.to_vec().ok()?;
    let name = event.ns.as_ref()?.coll.clone()?;
    let id = event.document_key.as_ref()?.get("_id")?;
    Some((event.txn_number?, session, name, Key::of_bson(id)))
}

impl ByOthers {
    /// Changes of these documents in any of their fields.
    fn of(graph: &Graph, meta: &DocumentMeta, ids: HashSet<Key>) -> ByOthers {
        let if_any = |is: bool| if is { ids.clone() } else { HashSet::new() };
        ByOthers {
            sources: if_any(graph.copied(meta).next().is_some()),
            linked: if_any(graph.is_linked(meta)),
            buckets: if_any(meta.bucket.is_some()),
            ids,
            ..ByOthers::default()
        }
    }

    /// Notes a change. `has_moved`: the same transaction has deleted the document that is inserted.
    fn note(
        &mut self,
        graph: &Graph,
        meta: &'static DocumentMeta,
        event: &Event,
        id: &Bson,
        has_moved: bool,
    ) {
        let key = Key::of_bson(id);
        let names = written_names(event);
        let touches = |field: &str| names.iter().any(|name| meet(name, field));
        if is_linked_alone(graph, meta, event, has_moved, touches) {
            self.linked.insert(key.clone());
        }
        if meta
            .bucket
            .is_some_and(|bucket| is_told_alone(bucket, event, touches))
        {
            self.buckets.insert(key.clone());
        }
        // A write of the library also sets one of its own fields: in a source the version, in a parent the revision, beside a
        // copy the version of its source.
        if !graph.takes_part(meta) || names.iter().any(|name| is_own_path(name)) {
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
                if copies.any(|copy| copy.consistency != Consistency::Snapshot && touches(copy.source)) {
                    self.sources.insert(key.clone());
                }
                if graph
                    .derived_from(meta)
                    .map(|derived| graph.parent_edge(derived))
                    .any(|edge| touches(&edge.path))
                {
                    self.note_before(event);
                }
                self.ids.insert(key);
            }
            OperationType::Insert => {
                // The library inserts a source with its version. One that was deleted and inserted again may have
                // holders, and one that has moved may have changed.
                let has_version = event
                    .full_document
                    .as_ref()
                    .is_some_and(|document| at(document, VERSION).is_some());
                if graph.copied(meta).next().is_some() && (!has_version || has_moved) {
                    self.sources.insert(key.clone());
                }
                self.ids.insert(key);
            }
            OperationType::Replace => {
                if graph.copied(meta).next().is_some() {
                    self.sources.insert(key.clone());
                }
                if children {
                    self.note_before(event);
                }
                self.ids.insert(key);
            }
            OperationType::Delete => {
                if children {
                    self.note_before(event);
                }
                if graph.is_claimed(meta) {
                    self.ids.insert(key);
                }
            }
            _ => {}
        }
    }

    /// Notes the before-image, which names the previous parent.
    fn note_before(&mut self, event: &Event) {
        match &event.full_document_before_change {
            Some(before) => self.before.push(before.clone()),
            None => self.lost = true,
        }
    }
}

/// Whether something is kept true of documents, in others or in themselves.
pub(crate) fn is_followed(graph: &Graph, meta: &DocumentMeta) -> bool {
    graph.is_depended_on(meta) || meta.bucket.is_some()
}

/// Repairs what a change of documents has left stale that was made without the rules, given as they were with the
/// [fields from which something follows](followed_fields). Those that are as they were are left out.
///
/// # Errors
/// As [`repair`].
pub(crate) async fn follow_change(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    mut before: Vec<RawDocumentBuf>,
) -> Result<()> {
    let graph = cx.odm.graph();
    let ids: Vec<Bson> = before.iter().map(document_id).collect();
    let now = cx
        .every(meta, doc! { "_id": { "$in": ids } }, followed_fields(graph, meta))
        .await?;
    let now: HashMap<Key, RawDocumentBuf> = now
        .into_iter()
        .map(|document| (Key::of_bson(&document_id(&document)), document))
        .collect();
    before.retain(|document| now.get(&Key::of_bson(&document_id(document))) != Some(document));
    let keys: HashSet<Key> = before
        .iter()
        .map(|document| Key::of_bson(&document_id(document)))
        .collect();
    repair(
        cx,
        meta,
        ByOthers {
            before,
            ..ByOthers::of(graph, meta, keys)
        },
    )
    .await
}

/// Repairs everything that these writes have left stale, as far as possible: a refusal of one document stops neither the others
/// nor a later step.
///
/// # Errors
/// The first refusal, at the end; at once an error that would occur with every document.
fn repair<'s>(cx: &'s Cx<'_>, meta: &'static DocumentMeta, written: ByOthers) -> BoxFuture<'s, Result<()>> {
    async move {
        let graph = cx.odm.graph();
        let mut repaired = WriteReport::default();
        if !written.linked.is_empty() {
            repaired.add(follow::follow(cx, meta, &written.linked).await)?;
        }
        let of = |keys: &HashSet<Key>| doc! { "_id": { "$in": keys.iter().map(Key::to_bson).collect::<Vec<_>>() } };
        if let Some(summary) = Summaries::for_model(meta)
            && !written.buckets.is_empty()
        {
            // Before what is derived of it.
            let read = cx.every(meta, of(&written.buckets), summary.projection()).await;
            let buckets = repaired.and(read)?.unwrap_or_default();
            repaired.add(compare(cx, &summary, &buckets).await)?;
        }
        if !written.sources.is_empty() {
            // It did not raise the version: that is done now, so that the copies are older.
            let token = Token::new();
            repaired.add(raise(cx, meta, of(&written.sources), first_version(), token).await)?;
            repaired.and(drain(*cx, meta, token).await)?;
        }
        let mut documents = Vec::new();
        if !written.ids.is_empty() {
            let read = cx.every(meta, of(&written.ids), needed_to_compare(graph, meta)).await;
            documents = repaired.and(read)?.unwrap_or_default();
        }
        if let Some(owners) = Owners::for_model(graph, meta) {
            // Of deleted documents, and on values that documents don't have any more. They may be those of other documents now.
            let ids = written.ids.iter().map(Key::to_bson).collect();
            let claims = cx.every(owners.holder(), Owners::of_documents(ids), owners.projection()).await;
            let claims = repaired.and(claims)?.unwrap_or_default();
            repaired.add(compare(cx, &owners, &claims).await)?;
        }
        for value in claims::of_documents(graph, meta) {
            repaired.add(compare(cx, value.as_ref(), &documents).await)?;
        }
        for edge in graph.copying(meta) {
            repaired.add(compare(cx, &Copies { edge }, &documents).await)?;
        }
        for derived in graph.derived_in(meta) {
            repaired.add(compare(cx, &OfChildren { derived }, &documents).await)?;
        }
        let children: Vec<RawDocumentBuf> = documents.into_iter().chain(written.before).collect();
        for (edge, list, keys) in parents_of(graph, meta, &children, |_, _| true) {
            let keys: Vec<Bson> = keys.iter().map(Key::to_bson).collect();
            for derived in list {
                let value = OfChildren { derived };
                let filter = doc! { edge.by(): { "$in": &keys } };
                let parents = cx.every(derived.parent, filter, value.projection()).await;
                let parents = repaired.and(parents)?.unwrap_or_default();
                repaired.add(compare(cx, &value, &parents).await)?;
            }
        }
        if written.lost {
            for derived in graph.derived_from(meta) {
                let value = OfChildren { derived };
                let mut source = InspectedDocuments::from(derived.parent, value.projection(), None);
                while let Some(Some(parents)) = repaired.and(source.next(cx).await)? {
                    repaired.add(compare(cx, &value, &parents).await)?;
                }
            }
        }
        repaired.all().map(drop)
    }
    .boxed()
}

/// The fields that an update has written, without positions in arrays.
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
    has_moved: bool,
    touches: impl Fn(&str) -> bool,
) -> bool {
    // A transaction of the library counts itself in both documents. Neither sign alone is enough: other programs have
    // transactions, too, and write back a count that they have read. A repair records no more than its own pending work.
    let is_together = event.txn_number.is_some();
    let mut links = graph.outgoing(meta).filter(|edge| edge.is_two_way());
    match &event.operation_type {
        OperationType::Update => !(is_together && is_counted(event)) && links.any(|edge| touches(&edge.path)),
        OperationType::Insert if has_moved => links.next().is_some(),
        OperationType::Insert => {
            let Some(document) = &event.full_document else {
                return links.next().is_some();
            };
            // The library inserts documents without links outside of a transaction. A document that is copied from elsewhere
            // may contain a count, but rarely that of a first write.
            let names_some = |edge: &Edge| edge.values(document).next().is_some();
            if count::writes(document) == 1 {
                !is_together && links.any(names_some)
            } else {
                links.next().is_some()
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
            !touches(crate::model::meta::bucket::VERSION)
                && bucket.summary_fields().chain([bucket.items]).any(touches)
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

/// The fields from which something follows, in other documents or in the document itself.
pub(crate) fn followed_fields(graph: &Graph, meta: &'static DocumentMeta) -> Document {
    let mut fields = needed_to_compare(graph, meta);
    let links = graph.outgoing(meta).filter(|edge| edge.is_two_way());
    fields.extend(links.map(|edge| (edge.path.to_string(), Bson::Int32(1))));
    // Items with copies are compared as a whole.
    for (name, projected) in Summaries::for_model(meta)
        .into_iter()
        .flat_map(|summary| summary.projection())
    {
        fields.entry(name).or_insert(projected);
    }
    // A projection has no field within another one.
    let names: Vec<String> = fields.keys().cloned().collect();
    let is_within = |name: &str| {
        let mut outer = names.iter();
        outer.any(|outer| {
            name.strip_prefix(outer.as_str())
                .is_some_and(|rest| rest.starts_with('.'))
        })
    };
    fields.into_iter().filter(|(name, _)| !is_within(name)).collect()
}

fn needed_to_compare(graph: &Graph, meta: &DocumentMeta) -> Document {
    let mut fields = needed(graph, meta);
    for edge in graph.copying(meta) {
        fields.extend(Copies { edge }.projection());
    }
    for derived in graph.derived_in(meta) {
        fields.extend(OfChildren { derived }.projection());
    }
    fields
}

async fn compare(cx: &Cx<'_>, value: &dyn DerivedValue, documents: &[RawDocumentBuf]) -> Result<WriteReport> {
    if documents.is_empty() {
        Ok(WriteReport::default())
    } else {
        copies::correct(value, cx, documents)
            .await
            .map(|corrected| corrected.written)
    }
}

#[cfg(test)]
mod tests {
    use crate::upkeep::reconcile::*;
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
    fn a_refusal_of_one_document_is_skipped() {
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
