//! The batches in which the server sends documents, as raw BSON.

use crate::model::document::DocumentMeta;
use crate::store::held::HeldCursor;
use crate::store::map::Context;
use crate::{Error, Result};
use futures::stream::{BoxStream, Stream, StreamExt};
use mongodb::bson::{self, RawBsonRef, RawDocument};
use mongodb::raw_batch_cursor::{RawBatch, RawBatchCursor};
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tracing::Instrument;

/// A function that takes the documents of a reply, one after the other.
pub(crate) type Take<'a> = &'a mut (dyn FnMut(&RawDocument) -> Result<()> + Send);

/// A batch of documents.
pub(crate) struct RawDocuments {
    raw: RawBatch,
    documents: u64,
}

impl RawDocuments {
    /// # Errors
    /// [`Error::Decode`] where it holds anything but documents.
    pub(crate) fn new(meta: &'static DocumentMeta, raw: RawBatch) -> Result<RawDocuments> {
        let mut batch = RawDocuments { raw, documents: 0 };
        let mut documents = 0;
        batch.each(meta, &mut |_| {
            documents += 1;
            Ok(())
        })?;
        batch.documents = documents;
        Ok(batch)
    }

    /// The number of its documents.
    pub(crate) fn len(&self) -> u64 {
        self.documents
    }

    /// Hands its documents to `take`.
    pub(crate) fn each(&self, meta: &'static DocumentMeta, take: Take<'_>) -> Result<()> {
        each(meta, &self.raw, take)
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
    Err(Error::Decode {
        collection: meta.collection.to_owned(),
        id: None,
        ty: meta.name,
        path: String::new(),
        message,
    })
}
