//! The batches in which the server sends documents, as raw BSON.

use crate::model::document::DocumentMeta;
use crate::store::held::HeldCursor;
use crate::store::map::Context;
use crate::{Error, Result};
use futures::stream::{BoxStream, Stream, StreamExt};
use mongodb::bson::{self, RawBsonRef, RawDocument};
use mongodb::raw_batch_cursor::{RawBatch, RawBatchCursor};
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::task::{Poll, ready};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tracing::Instrument;

/// A function that takes the documents of a reply, one after the other.
pub(crate) type Take<'a> = &'a mut (dyn FnMut(&RawDocument) -> Result<()> + Send);

/// A batch of documents.
pub(crate) struct RawDocuments {
    raw: RawBatch,
    /// Where each of them stands in the reply.
    places: Vec<Range<usize>>,
}

impl RawDocuments {
    /// # Errors
    /// [`Error::Decode`] where it holds anything but documents.
    pub(crate) fn new(meta: &'static DocumentMeta, raw: RawBatch) -> Result<RawDocuments> {
        let reply = raw.as_raw_document().as_bytes();
        let begin = reply.as_ptr() as usize;
        let mut places = Vec::new();
        each(meta, &raw, &mut |document| {
            let bytes = document.as_bytes();
            let at = (bytes.as_ptr() as usize).saturating_sub(begin);
            let place = at..at + bytes.len();
            match reply.get(place.clone()).map(RawDocument::from_bytes) {
                Some(Ok(_)) => places.push(place),
                _ => {
                    return Err(not_a_document(
                        meta,
                        "the server's batch holds no document here".to_owned(),
                    ));
                }
            }
            Ok(())
        })?;
        Ok(RawDocuments { raw, places })
    }

    /// The number of its documents.
    pub(crate) fn len(&self) -> u64 {
        self.places.len() as u64
    }

    /// The document at this position.
    pub(crate) fn get(&self, at: usize) -> Option<&RawDocument> {
        let bytes = self.raw.as_raw_document().as_bytes();
        RawDocument::from_bytes(bytes.get(self.places.get(at)?.clone())?).ok()
    }

    /// Its documents.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RawDocument> {
        (0..self.places.len()).filter_map(|at| self.get(at))
    }

    /// Hands its documents to `take`.
    pub(crate) fn each(&self, take: Take<'_>) -> Result<()> {
        self.iter().try_for_each(take)
    }
}

/// The documents of a stream of batches, each of which is read when it is asked for.
pub(crate) struct Documents {
    batches: BoxStream<'static, Result<RawDocuments>>,
    batch: Option<RawDocuments>,
    /// The position of the next one in the batch.
    next: usize,
}

impl Documents {
    pub(crate) fn new(batches: BoxStream<'static, Result<RawDocuments>>) -> Documents {
        Documents {
            batches,
            batch: None,
            next: 0,
        }
    }

    /// Waits until there is a next document, which [`take`](Documents::take) gives.
    pub(crate) fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Option<Result<()>>> {
        loop {
            if self
                .batch
                .as_ref()
                .is_some_and(|batch| self.next < batch.places.len())
            {
                return Poll::Ready(Some(Ok(())));
            }
            match ready!(self.poll_batch(cx)) {
                Some(Ok(batch)) => (self.batch, self.next) = (Some(batch), 0),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }

    /// The next document; `None` where none is ready.
    pub(crate) fn take(&mut self) -> Option<&RawDocument> {
        let at = self.next;
        self.next += 1;
        self.batch.as_ref()?.get(at)
    }

    /// The next batch as a whole.
    pub(crate) fn poll_batch(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<RawDocuments>>> {
        self.batch = None;
        self.batches.poll_next_unpin(cx)
    }
}

/// Hands every document of these batches to `take`, and counts both.
pub(crate) async fn each_of(
    meta: &'static DocumentMeta,
    mut batches: impl Stream<Item = mongodb::error::Result<RawBatch>> + Unpin,
    take: Take<'_>,
) -> Result<(u64, u64)> {
    let (mut round_trips, mut documents) = (0, 0);
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(|error| Context::new(meta).driver(error))?;
        round_trips += 1;
        let mut take = |document: &RawDocument| {
            documents += 1;
            take(document)
        };
        each(meta, &batch, &mut take)?;
    }
    Ok((round_trips, documents))
}

/// The batches of a cursor without a session. From the second batch on, the next one is requested while one is decoded: a reader of the
/// first batch alone costs no further command. A stream that is dropped ends the request.
pub(crate) fn ahead(cursor: RawBatchCursor) -> BoxStream<'static, mongodb::error::Result<RawBatch>> {
    futures::stream::unfold(NextBatch::First(cursor), NextBatch::receive).boxed()
}

/// Where the next batch of a cursor comes from.
enum NextBatch {
    /// The reply that opened the cursor.
    First(RawBatchCursor),
    /// A request that is not sent yet.
    Requested(RawBatchCursor),
    /// A task, which ends with the set.
    OnTheWay(JoinSet<(Option<mongodb::error::Result<RawBatch>>, RawBatchCursor)>),
    /// There is none.
    End,
}

impl NextBatch {
    async fn receive(self) -> Option<(mongodb::error::Result<RawBatch>, NextBatch)> {
        let is_first = matches!(self, NextBatch::First(_));
        let (batch, cursor) = match self {
            NextBatch::First(mut cursor) | NextBatch::Requested(mut cursor) => (cursor.next().await, cursor),
            NextBatch::OnTheWay(mut task) => match task.join_next().await? {
                Ok(received) => received,
                // Its runtime is shut down.
                Err(error) => return Some((Err(std::io::Error::other(error).into()), NextBatch::End)),
            },
            NextBatch::End => return None,
        };
        let batch = batch?;
        let next = match &batch {
            Ok(batch) if !is_last(batch) => {
                if is_first {
                    NextBatch::Requested(cursor)
                } else {
                    NextBatch::request(cursor)
                }
            }
            _ => NextBatch::End,
        };
        Some((batch, next))
    }

    fn request(mut cursor: RawBatchCursor) -> NextBatch {
        let Ok(runtime) = Handle::try_current() else {
            return NextBatch::Requested(cursor);
        };
        let request = async move { (cursor.next().await, cursor) };
        let mut task = JoinSet::new();
        task.spawn_on(request.in_current_span(), &runtime);
        NextBatch::OnTheWay(task)
    }
}

/// Whether the server has closed the cursor with this reply.
pub(crate) fn is_last(batch: &RawBatch) -> bool {
    let cursor = batch.as_raw_document().get_document("cursor");
    cursor.is_ok_and(|cursor| matches!(cursor.get_i64("id"), Ok(0)))
}

/// The batches of a cursor within a session, which is locked until all of them are read.
pub(crate) fn of_held(cursor: HeldCursor) -> BoxStream<'static, mongodb::error::Result<RawBatch>> {
    futures::stream::unfold(cursor, HeldCursor::next).boxed()
}

/// All documents of a cursor within a session.
pub(crate) async fn collect<D: DeserializeOwned + Send>(
    meta: &'static DocumentMeta,
    cursor: HeldCursor,
) -> Result<Vec<D>> {
    let mut all = Vec::new();
    let mut take = |document: &RawDocument| {
        let document = bson::deserialize_from_slice(document.as_bytes());
        all.push(document.map_err(|error| Context::new(meta).driver(error.into()))?);
        Ok(())
    };
    each_of(meta, of_held(cursor), &mut take).await?;
    Ok(all)
}

pub(crate) fn each(meta: &'static DocumentMeta, batch: &RawBatch, take: Take<'_>) -> Result<()> {
    let documents = batch.doc_slices();
    for document in documents.map_err(|error| Context::new(meta).driver(error))? {
        take(document_of(meta, document)?)?;
    }
    Ok(())
}

/// The document in an item of a batch.
fn document_of<'d>(
    meta: &'static DocumentMeta,
    item: mongodb::bson::error::Result<RawBsonRef<'d>>,
) -> Result<&'d RawDocument> {
    let message = match item {
        Ok(RawBsonRef::Document(document)) => return Ok(document),
        Ok(other) => format!(
            "the server's batch holds a {:?} in the place of a document",
            other.element_type()
        ),
        Err(error) => error.to_string(),
    };
    Err(not_a_document(meta, message))
}

#[cold]
fn not_a_document(meta: &'static DocumentMeta, message: String) -> Error {
    Error::Decode {
        collection: meta.collection.to_owned(),
        id: None,
        ty: meta.name,
        path: String::new(),
        message,
    }
}
