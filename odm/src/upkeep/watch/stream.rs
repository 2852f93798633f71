//! A change stream of an application, without the types of its documents: what is asked of the server, where it goes on after a
//! failure, and its stored position.

use crate::model::document::{CollectionKind, DocumentMeta};
use crate::query::filter::Filter;
use crate::schema::index::collation;
use crate::store::cx::Cx;
use crate::store::each::{OF_THE_SERVER, is_one_of, passes};
use crate::store::map::Context;
use crate::store::trace::Trace;
use crate::upkeep::position::{Begin, StreamPosition, fingerprint, is_refused, token_of};
use crate::upkeep::watch::event::AnyChange;
use crate::upkeep::watch::reroot::rerooted;
use crate::upkeep::watch::source::{Event, Pause, Stream, WatchSource, with_change_streams};
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, Timestamp, deserialize_from_document, doc};
use mongodb::change_stream::event::{OperationType, ResumeToken};
use mongodb::error::{Error as DriverError, ErrorKind};
use mongodb::options::{ChangeStreamOptions, FullDocumentBeforeChangeType, FullDocumentType};
use std::sync::Arc;
use std::task::{Context as Waker, Poll};
use std::time::{Duration, Instant};

/// How often the position of a named stream is stored that has no change to hand out: it would age otherwise, until the server
/// has not the changes since then any more.
const STORED: Duration = Duration::from_secs(60);

/// The options of a change stream, as an application sets them.
pub(super) struct AskedFrom {
    pub(super) odm: Odm,
    /// The document whose collection is watched; `None` for all that are registered.
    pub(super) of: Option<&'static DocumentMeta>,
    /// The condition on documents.
    pub(super) filter: Filter<()>,
    pub(super) pre_images: bool,
    /// The name of the stored position.
    pub(super) name: Option<String>,
    /// Whether it was asked for within a transaction, in which there are no change streams.
    pub(super) in_transaction: bool,
}

impl AskedFrom {
    pub(super) fn collection(&self) -> &'static str {
        self.of.map_or("(all)", |meta| meta.collection)
    }

    /// Refuses a stream of documents of which the handle sees a part: a deletion is shown without the document.
    ///
    /// # Errors
    /// [`Error::Query`]. As [`Odm::can_restrict`].
    pub(super) fn has_no_scope(&self) -> Result<()> {
        if let Some((tag, name)) = self.of.and_then(DocumentMeta::variant) {
            return Err(Error::Query {
                collection: self.collection(),
                message: format!(
                    "a change stream shows each deletion without its document, and so not of which variant it was: watch the collection \
                     of the enum, and take the events with `{tag}` `{name}`"
                ),
            });
        }
        for meta in self.metas() {
            self.odm.can_restrict(meta, false)?;
        }
        let is_scoped = |meta: &&'static DocumentMeta| {
            self.odm.has_scope() && self.odm.scope_with_deleted(meta).is_some()
        };
        if !self.metas().iter().any(is_scoped) {
            return Ok(());
        }
        Err(Error::Query {
            collection: self.collection(),
            message: "a change stream shows each deletion without its document, whatever the scope of the handle is: open it on a \
                      handle without a scope, and give the filter to `watch`"
                .to_owned(),
        })
    }

    /// The server tells no changes of a view and of a time series.
    ///
    /// # Errors
    /// [`Error::CollectionType`].
    pub(super) fn has_changes(&self) -> Result<()> {
        let Some(meta) = self.of else { return Ok(()) };
        let (is, instead) = match meta.kind {
            CollectionKind::View(_) => ("a view", "watch the documents that it shows"),
            CollectionKind::TimeSeries(_) => {
                ("a time series", "ask for the measurements since a time: `find`")
            }
            _ => return Ok(()),
        };
        Err(Error::CollectionType {
            collection: meta.collection,
            is,
            message: format!("MongoDB has no change stream of it; {instead}"),
            source: None,
        })
    }

    fn metas(&self) -> Vec<&'static DocumentMeta> {
        match self.of {
            Some(meta) => vec![meta],
            None => self.odm.models().iter().map(|model| model.meta).collect(),
        }
    }

    /// The condition on the change events: an event is left out only by a document that the server has.
    fn condition(&self, metas: &[&'static DocumentMeta], condition: &Document) -> Result<Document> {
        let names: Vec<&str> = metas.iter().map(|meta| meta.collection).collect();
        let of_documents = |operations: &[&str], field: &str, is_there: bool| {
            let mut made =
                doc! { "operationType": { "$in": operations.to_vec() }, "ns.coll": { "$in": &names } };
            if is_there && !condition.is_empty() {
                let own = rerooted(field, condition.clone()).map_err(|what| Error::Query {
                    collection: self.collection(),
                    message: format!("the filter of the change stream {what}"),
                })?;
                made.insert("$or", vec![doc! { field: null }, own]);
            }
            Ok::<Document, Error>(made)
        };
        Ok(doc! { "$or": [
            of_documents(&["insert", "update", "replace"], "fullDocument", true)?,
            of_documents(&["delete"], "fullDocumentBeforeChange", self.pre_images)?,
            { "operationType": { "$in": ["drop", "rename"] }, "$or": [
                { "ns.coll": { "$in": &names } },
                { "to.coll": { "$in": &names } },
            ] },
            { "operationType": { "$in": ["dropDatabase", "invalidate"] } },
        ] })
    }

    async fn source(&mut self, metas: &[&'static DocumentMeta]) -> Result<WatchSource> {
        let condition = std::mem::replace(&mut self.filter, Filter::always()).into_document()?;
        let server = with_change_streams(&self.odm, "a change stream").await?;
        if self.pre_images && !server.has_pre_and_post_images() {
            return Err(Error::Unsupported {
                operation: "`pre_images` of a change stream",
                needs: "MongoDB 6.0 or later",
                is: server.to_string(),
            });
        }
        let mut options = ChangeStreamOptions::default();
        if self.pre_images {
            options.full_document_before_change = Some(FullDocumentBeforeChangeType::WhenAvailable);
        }
        let has_images =
            server.has_pre_and_post_images() && metas.iter().all(|meta| meta.pre_and_post_images);
        options.full_document = Some(if has_images {
            FullDocumentType::WhenAvailable
        } else {
            FullDocumentType::UpdateLookup
        });
        // A change stream compares byte by byte, whatever the collation of the collection is.
        let declared = self
            .of
            .and_then(|meta| meta.collation)
            .filter(|_| !condition.is_empty());
        options.collation = declared.and_then(|meta| deserialize_from_document(collation(meta)).ok());
        Ok(WatchSource {
            odm: self.odm.clone(),
            collection: self.of.map(|meta| meta.collection),
            filter: self.condition(metas, &condition)?,
            options,
        })
    }
}

/// A change stream that is followed.
pub(super) struct Following {
    asked: AskedFrom,
    source: Arc<WatchSource>,
    metas: Vec<&'static DocumentMeta>,
    place: Option<Arc<StreamPosition>>,
    /// Tells the filter from another one.
    filter: String,
    /// Every change before it was handed out, or is not shown.
    position: ResumePosition,
    /// Whether the stored position is another one.
    moved: bool,
    /// Whether a change was handed out since the position was stored: then only the application knows whether it is done.
    handed_out: bool,
    stored: Instant,
    pause: Pause,
    state: StreamState,
}

#[derive(Clone)]
struct ResumePosition {
    begin: Begin,
    /// The time of the event that it is behind. A position between two events has none.
    time: Option<Timestamp>,
}

impl ResumePosition {
    fn token(&self) -> Option<&ResumeToken> {
        match &self.begin {
            Begin::After(token) => Some(token),
            _ => None,
        }
    }

    /// Where a stream with this filter goes on. Behind an event that another filter let through the server may not find it, so
    /// there it begins with the events of that time.
    fn stored(entry: &Document, filter: &str) -> Option<ResumePosition> {
        let token = token_of(entry)?;
        let time = entry.get_timestamp("time").ok();
        let begin = match time {
            Some(time) if entry.get_str("filter").ok() != Some(filter) => Begin::At(time),
            _ => Begin::After(token),
        };
        Some(ResumePosition { begin, time })
    }
}

enum StreamState {
    Open(Box<Stream>),
    Waiting(BoxFuture<'static, StreamStep>),
    Ended,
}

/// What comes of waiting.
enum StreamStep {
    Event(Box<Stream>, Box<Event>),
    /// The same, of a deletion in a transaction on a sharded cluster, and whether the document is there.
    Looked(Box<Stream>, Box<Event>, Result<bool>),
    /// An event that the driver can't read, and the position behind it.
    Unread(Box<Stream>, DriverError, Option<ResumeToken>),
    /// There is no event now, and this is the position.
    Nothing(Box<Stream>, Option<ResumeToken>),
    Opened(Box<Stream>),
    Stored(Box<Stream>, Result<()>),
    Failed(DriverError),
    /// The server has closed the stream.
    Closed,
}

async fn next(mut stream: Box<Stream>) -> StreamStep {
    match stream.next_if_any().await {
        Ok(Some(event)) => StreamStep::Event(stream, Box::new(event)),
        Ok(None) if !stream.is_alive() => StreamStep::Closed,
        Ok(None) => {
            let token = stream.resume_token();
            StreamStep::Nothing(stream, token)
        }
        Err(error) if matches!(&*error.kind, ErrorKind::BsonDeserialization(_)) => {
            let token = stream.resume_token();
            StreamStep::Unread(stream, error, token)
        }
        Err(error) => StreamStep::Failed(error),
    }
}

/// Looks whether a document is there that was deleted on a shard, for a stream of a sharded cluster.
async fn look(
    odm: Odm,
    meta: &'static DocumentMeta,
    id: Bson,
    (stream, event): (Box<Stream>, Box<Event>),
) -> StreamStep {
    let trace = Trace::without_span();
    let cx = Cx::new(&odm, None, &trace);
    let found = cx.every(meta, doc! { "_id": id }, doc! { "_id": 1 });
    let is_there = found.await.map(|found| !found.is_empty());
    StreamStep::Looked(stream, event, is_there)
}

impl Following {
    /// Opens the stream: at the stored position, unless it is to begin anew. Returns the number of round trips, too.
    pub(super) async fn start(mut asked: AskedFrom, fresh: bool) -> Result<(Following, u64)> {
        if asked.in_transaction {
            return Err(Error::Query {
                collection: asked.collection(),
                message: "a change stream can't be opened within a transaction: open it by the collection of `odm.collection()`"
                    .to_owned(),
            });
        }
        let metas = asked.metas();
        let source = asked.source(&metas).await?;
        let filter = fingerprint(format!("{:?} {}", source.collection, source.filter).as_bytes());
        let place = asked
            .name
            .as_deref()
            .map(|name| Arc::new(StreamPosition::named(name)));
        let mut trips = 1;
        let entry = match &place {
            Some(place) if !fresh => {
                trips += 1;
                place.entry(&asked.odm).await?
            }
            _ => None,
        };
        let position = entry.and_then(|entry| ResumePosition::stored(&entry, &filter));
        let mut following = Following {
            asked,
            source: Arc::new(source),
            metas,
            place,
            filter,
            moved: position.is_none(),
            position: position.unwrap_or(ResumePosition {
                begin: Begin::Now,
                time: None,
            }),
            handed_out: false,
            stored: Instant::now(),
            pause: Pause::new(),
            state: StreamState::Ended,
        };
        let stream = match following.source.open(&following.position.begin).await {
            Ok(stream) => stream,
            Err(error) => return Err(following.failed(error)),
        };
        if let (Begin::Now, Some(token)) = (&following.position.begin, stream.resume_token()) {
            following.position.begin = Begin::After(token);
            if following.place.is_some() {
                // A process that ends before it has stored another position goes on here.
                trips += 1;
                following.store().await?;
            }
        }
        following.state = StreamState::Open(Box::new(stream));
        Ok((following, trips))
    }

    /// The error of a stream that can't go on.
    fn failed(&self, error: DriverError) -> Error {
        let is_lost = is_refused(&error) && !matches!(self.position.begin, Begin::Now);
        if is_lost {
            return Error::PositionLost {
                collection: self.asked.collection(),
                name: self.asked.name.clone(),
                source: Box::new(error),
            };
        }
        let error = match self.asked.of {
            Some(meta) => Context::new(meta).driver(error),
            None => error.into(),
        };
        error.of_read()
    }

    /// Goes on after a failure, where that can be helped by opening the stream once more.
    fn open_again(&mut self, error: DriverError) -> Option<Error> {
        // Where it has no position yet, the changes since its beginning would be lost.
        let has_position = !matches!(self.position.begin, Begin::Now);
        let error = self.failed(error);
        self.go_on(error, has_position)
    }

    fn go_on(&mut self, error: Error, has_position: bool) -> Option<Error> {
        if !(has_position && passes_by(&error)) {
            self.state = StreamState::Ended;
            return Some(error);
        }
        tracing::warn!(target: "odm", %error, collection = self.asked.collection(), "a change stream failed, opening it again");
        let (source, begin, pause) = (
            self.source.clone(),
            self.position.begin.clone(),
            self.pause.next(),
        );
        let opened = async move {
            tokio::time::sleep(pause).await;
            match source.open(&begin).await {
                Ok(stream) => StreamStep::Opened(Box::new(stream)),
                Err(error) => StreamStep::Failed(error),
            }
        };
        self.state = StreamState::Waiting(opened.boxed());
        None
    }

    fn move_to(&mut self, token: ResumeToken, time: Option<Timestamp>) {
        self.moved |= self.position.token() != Some(&token);
        self.position = ResumePosition {
            begin: Begin::After(token),
            time,
        };
    }

    /// The document of a deletion that may be half of a move to another shard, by a change of its shard key: that is a deletion and an
    /// insert, in a transaction and in either order.
    fn may_have_moved(&self, event: &Event) -> Option<(&'static DocumentMeta, Bson)> {
        let is_of_move = self.asked.odm.is_sharded()
            && event.operation_type == OperationType::Delete
            && event.txn_number.is_some();
        let name = event.ns.as_ref().filter(|_| is_of_move)?.coll.as_deref()?;
        let meta = self.metas.iter().copied().find(|meta| meta.collection == name)?;
        Some((meta, event.document_key.as_ref()?.get("_id")?.clone()))
    }

    /// Moves the position behind an event, and gives it if it is shown.
    fn pass(&mut self, stream: Box<Stream>, event: Box<Event>) -> Option<AnyChange> {
        self.move_to(event.id.clone(), event.cluster_time);
        // The server closes a stream behind this one.
        if event.operation_type != OperationType::Invalidate {
            self.state = StreamState::Open(stream);
        }
        let change = AnyChange::shown(&self.metas, *event)?;
        self.handed_out = true;
        Some(change)
    }

    pub(super) fn poll(&mut self, cx: &mut Waker<'_>) -> Poll<Option<Result<AnyChange>>> {
        loop {
            let next = match std::mem::replace(&mut self.state, StreamState::Ended) {
                StreamState::Ended => return Poll::Ready(None),
                StreamState::Open(stream) => {
                    self.state = StreamState::Waiting(next(stream).boxed());
                    continue;
                }
                StreamState::Waiting(mut waiting) => match waiting.poll_unpin(cx) {
                    Poll::Ready(next) => next,
                    Poll::Pending => {
                        self.state = StreamState::Waiting(waiting);
                        return Poll::Pending;
                    }
                },
            };
            match next {
                StreamStep::Event(stream, event) => {
                    self.pause.reset();
                    if let Some((meta, id)) = self.may_have_moved(&event) {
                        let looked = look(self.asked.odm.unscoped(), meta, id, (stream, event));
                        self.state = StreamState::Waiting(looked.boxed());
                        continue;
                    }
                    if let Some(change) = self.pass(stream, event) {
                        return Poll::Ready(Some(Ok(change)));
                    }
                }
                StreamStep::Looked(stream, event, is_there) => match is_there {
                    // It has moved to another shard: it was inserted there.
                    Ok(true) => {
                        self.move_to(event.id.clone(), event.cluster_time);
                        self.state = StreamState::Open(stream);
                    }
                    Ok(false) => {
                        if let Some(change) = self.pass(stream, event) {
                            return Poll::Ready(Some(Ok(change)));
                        }
                    }
                    // The stream is opened before the event.
                    Err(error) => {
                        let has_position = !matches!(self.position.begin, Begin::Now);
                        if let Some(error) = self.go_on(error, has_position) {
                            return Poll::Ready(Some(Err(error)));
                        }
                    }
                },
                StreamStep::Unread(stream, error, token) => {
                    if let Some(token) = token {
                        self.move_to(token, None);
                    }
                    self.handed_out = true;
                    self.state = StreamState::Open(stream);
                    return Poll::Ready(Some(Err(self.failed(error))));
                }
                StreamStep::Nothing(stream, token) => {
                    if let Some(token) = token {
                        self.move_to(token, None);
                    }
                    self.state = self.idle(stream);
                }
                StreamStep::Opened(stream) => self.state = StreamState::Open(stream),
                StreamStep::Stored(stream, stored) => {
                    if let Err(error) = stored {
                        tracing::warn!(target: "odm", %error, "the position of a change stream could not be stored");
                    }
                    self.state = StreamState::Open(stream);
                }
                StreamStep::Failed(error) => {
                    if let Some(error) = self.open_again(error) {
                        return Poll::Ready(Some(Err(error)));
                    }
                }
                StreamStep::Closed => return Poll::Ready(None),
            }
        }
    }

    /// Stores the position from time to time while there is nothing to hand out, and nothing that was handed out since it was
    /// stored.
    fn idle(&mut self, stream: Box<Stream>) -> StreamState {
        let is_due = self.moved && !self.handed_out && self.stored.elapsed() >= STORED;
        let storing = if is_due { self.storing() } else { None };
        let Some(storing) = storing else {
            return StreamState::Open(stream);
        };
        self.stored = Instant::now();
        self.moved = false;
        let stored = async move {
            let stored = storing.await;
            StreamStep::Stored(stream, stored)
        };
        StreamState::Waiting(stored.boxed())
    }

    /// The write of the position, where it has a name.
    fn storing(&self) -> Option<BoxFuture<'static, Result<()>>> {
        let place = self.place.clone()?;
        let token = self.position.token()?.clone();
        let (odm, time, filter) = (self.asked.odm.clone(), self.position.time, self.filter.clone());
        let stored = async move {
            let time = time.map_or(Bson::Null, Bson::Timestamp);
            place
                .store_with(&odm, &token, doc! { "time": time, "filter": filter })
                .await
        };
        Some(stored.boxed())
    }

    /// Stores the position, unless it is stored.
    pub(super) async fn store(&mut self) -> Result<()> {
        if self.place.is_none() {
            return Err(Error::Query {
                collection: self.asked.collection(),
                message: "the change stream has no name to store its position under: give it one by `resume_as(\"…\")`"
                    .to_owned(),
            });
        }
        if !self.moved {
            self.handed_out = false;
            return Ok(());
        }
        if let Some(storing) = self.storing() {
            storing.await?;
            self.stored = Instant::now();
            (self.moved, self.handed_out) = (false, false);
        }
        Ok(())
    }

    pub(super) fn has_name(&self) -> bool {
        self.place.is_some()
    }

    pub(super) fn collection(&self) -> &'static str {
        self.asked.collection()
    }
}

/// Whether a stream that failed so may go on where it was: after an election, an interruption, a cursor that was closed, a failure
/// of the network, and once a missing privilege is given.
fn passes_by(error: &Error) -> bool {
    let of_the_server = |error: &DriverError| {
        is_one_of(error, &OF_THE_SERVER) || error.contains_label("ResumableChangeStreamError")
    };
    match error {
        Error::PositionLost { .. } => false,
        Error::Unavailable { .. } => true,
        other => passes(other) || other.driver_error().is_some_and(of_the_server),
    }
}
