//! The batches in which the server sends documents, as raw BSON.

use crate::collection::Core;
use crate::document::DocumentMeta;
use crate::find::Take;
use crate::map::Context;
use crate::{Error, Result};
use futures::stream::{Stream, StreamExt};
use mongodb::bson::{RawBsonRef, RawDocument};
use mongodb::raw_batch_cursor::RawBatch;

/// A batch of documents.
pub(crate) struct Batch {
    raw: RawBatch,
    documents: u64,
}

impl Batch {
    /// # Errors
    /// [`Error::Decode`] where it holds anything but documents.
    pub(crate) fn of(meta: &'static DocumentMeta, raw: RawBatch) -> Result<Batch> {
        let mut batch = Batch { raw, documents: 0 };
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
        let documents = self.raw.doc_slices();
        for document in documents.map_err(|error| Context::of(meta).driver(error))? {
            take(document_of(meta, document)?)?;
        }
        Ok(())
    }
}

/// Hands every document of these batches to `take`, and counts both.
pub(crate) async fn each_of(
    core: &Core,
    mut batches: impl Stream<Item = mongodb::error::Result<RawBatch>> + Unpin,
    take: Take<'_>,
) -> Result<(u64, u64)> {
    let (mut round_trips, mut documents) = (0, 0);
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(|error| core.error(error))?;
        round_trips += 1;
        for document in batch.doc_slices().map_err(|error| core.error(error))? {
            documents += 1;
            take(document_of(core.meta(), document)?)?;
        }
    }
    Ok((round_trips, documents))
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
