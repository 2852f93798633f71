//! Documents: all of a collection or a sample of them in one pass, and some by their values.

use super::again::Ids;
use super::path::{behind, in_queries, projection};
use super::source::{Source, failed};
use crate::design::{Collection, CollectionKind};
use anyhow::{Context, Result, bail};
use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use futures::{Stream, StreamExt, TryStreamExt};
use mongodb::error::ErrorKind;
use mongodb::raw_batch_cursor::RawBatch;
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The most documents of a batch: three batches are in memory at a time, each of at most 16 MiB.
const BATCH: u32 = 4_000;
/// The most values of one `$in`.
const VALUES: usize = 1_000;
/// The most bytes of one `$in`.
const BYTES: usize = 8 << 20;
/// How often a pass says how far it is.
const TELL: Duration = Duration::from_millis(100);
/// How often a pass begins again at the same place after the connection was lost.
const AGAIN: u32 = 5;

type Batches = Pin<Box<dyn Stream<Item = mongodb::error::Result<RawBatch>> + Send>>;

impl Source {
    /// Shows each document of a collection: all of them in the order of `_id`, or as many as [`ReadOptions::sample`] says, chosen at
    /// random. Gives their number. A lost connection, and a cursor that the server has closed, are taken up again where they ended, in
    /// the order of `_id`.
    ///
    /// The server sends a batch while the one before is shown. At most three batches are in memory.
    ///
    /// [`ReadOptions::sample`]: super::ReadOptions::sample
    ///
    /// # Errors
    /// Where the collection can't be read.
    pub async fn pass(
        &self,
        collection: &Collection,
        visit: &mut (dyn FnMut(&RawDocument) + Send),
    ) -> Result<u64> {
        self.pass_behind(collection, None, 0, visit).await
    }

    /// Whether a pass reads a sample of this collection, and not all of it.
    pub fn samples(&self, collection: &Collection) -> bool {
        let is_less = |sample| collection.documents > sample || collection.kind == CollectionKind::View;
        self.options().sample.is_some_and(is_less)
    }

    /// Whether documents come in the order of `_id`: others have no index of it.
    pub(super) fn in_order(&self, collection: &Collection) -> bool {
        let has_index = matches!(collection.kind, CollectionKind::Plain | CollectionKind::Capped);
        has_index && !self.samples(collection)
    }

    /// A [pass](Self::pass) that goes on behind the document with this `_id`, after `before` documents. It may be of any type: the order
    /// of `_id` is that of the server, over all types.
    ///
    /// # Errors
    /// Where the collection can't be read.
    pub async fn pass_behind(
        &self,
        collection: &Collection,
        mut last: Option<Bson>,
        before: u64,
        visit: &mut (dyn FnMut(&RawDocument) + Send),
    ) -> Result<u64> {
        let name = collection.name.as_str();
        let of = match self.options().sample {
            Some(sample) if self.samples(collection) => sample,
            _ => collection.documents,
        };
        let mut read = 0;
        let mut again = 0;
        let mut ids = (self.options().again && self.samples(collection)).then(Ids::default);
        let mut told = Instant::now();
        self.tell(name, before, of);
        loop {
            let (begun, behind) = (read, last.clone());
            let outcome = self
                .batches(collection, behind.as_ref(), &mut |batch| {
                    let mut of_batch = None;
                    for document in batch.doc_slices()? {
                        let document = document?.as_document().ok_or_else(|| {
                            mongodb::error::Error::custom("a batch holds what is no document")
                        })?;
                        visit(document);
                        if let Some(ids) = &mut ids {
                            ids.add(document);
                        }
                        read += 1;
                        of_batch = Some(document);
                        if told.elapsed() >= TELL {
                            told = Instant::now();
                            self.tell(name, before + read, of.max(before + read));
                        }
                    }
                    if let Some(id) = of_batch.and_then(|document| document.get("_id").ok().flatten()) {
                        last = Bson::try_from(id).ok();
                    }
                    Ok(())
                })
                .await;
            match outcome {
                Ok(()) => break,
                Err(error) if self.in_order(collection) && is_passing(&error) && again < AGAIN => {
                    again = if read > begun { 0 } else { again + 1 };
                    tokio::time::sleep(Duration::from_secs(1) * again).await;
                }
                Err(error) => {
                    let what = format!(
                        "`{name}` can't be read to its end ({} of some {of} documents were)",
                        before + read
                    );
                    return Err(failed(error, &what, self.name()));
                }
            }
        }
        self.tell(name, before + read, before + read);
        if let Some(ids) = ids {
            self.keep(name, ids);
        }
        Ok(read)
    }

    /// Shows each batch of a pass, while the next one is on its way.
    async fn batches(
        &self,
        collection: &Collection,
        last: Option<&Bson>,
        show: &mut (dyn FnMut(&RawBatch) -> mongodb::error::Result<()> + Send),
    ) -> mongodb::error::Result<()> {
        let documents = self.db.collection::<RawDocumentBuf>(&collection.name);
        let batches: Batches = match self.options().sample {
            Some(sample) if self.samples(collection) => {
                let size = i64::try_from(sample).unwrap_or(i64::MAX);
                let chosen = documents
                    .aggregate([doc! { "$sample": { "size": size } }])
                    .batch_size(BATCH)
                    .allow_disk_use(true);
                Box::pin(chosen.batch().await?)
            }
            _ => {
                let mut find = documents
                    .find(last.map(behind).unwrap_or_default())
                    .batch_size(BATCH);
                if self.in_order(collection) {
                    find = find.sort(doc! { "_id": 1 });
                }
                Box::pin(find.batch().await?)
            }
        };
        shown(batches, show).await
    }

    /// The documents in which one of these values is at a path, by as many queries as their number and size need. Without an index of the
    /// path each query reads the whole collection: see [`scan`](Self::scan). `project` names the paths that are wanted; without any,
    /// documents are whole.
    ///
    /// # Errors
    /// Where the path leads through a map, and where the collection can't be read.
    pub async fn find(
        &self,
        collection: &str,
        path: &str,
        values: Vec<Bson>,
        project: &[String],
    ) -> Result<Vec<RawDocumentBuf>> {
        let Some(asked) = in_queries(path) else {
            bail!("`{collection}.{path}` leads through a map, in which no query finds values");
        };
        let documents = self.db.collection::<RawDocumentBuf>(collection);
        let mut found = Vec::new();
        for values in split(values) {
            let find = documents
                .find(doc! { &asked: { "$in": values } })
                .projection(projection(project))
                .batch_size(BATCH);
            let cursor = match find.await {
                Ok(cursor) => cursor.try_collect::<Vec<_>>().await,
                Err(error) => Err(error),
            };
            let what = || format!("values of `{path}` can't be looked up in `{collection}`");
            found.extend(cursor.map_err(|error| failed(error, &what(), self.name()))?);
        }
        Ok(found)
    }

    /// Shows each document of a collection with these paths (without any, all of them), in no order. Gives their number.
    ///
    /// # Errors
    /// Where the collection can't be read.
    pub async fn scan(
        &self,
        collection: &str,
        project: &[String],
        visit: &mut (dyn FnMut(&RawDocument) + Send),
    ) -> Result<u64> {
        let documents = self.db.collection::<RawDocumentBuf>(collection);
        let find = documents
            .find(Document::new())
            .projection(projection(project))
            .batch_size(BATCH);
        let mut read = 0;
        let mut show = |batch: &RawBatch| {
            for document in batch.doc_slices()? {
                if let Some(document) = document?.as_document() {
                    visit(document);
                    read += 1;
                }
            }
            Ok(())
        };
        let outcome = match find.batch().await {
            Ok(batches) => shown(Box::pin(batches), &mut show).await,
            Err(error) => Err(error),
        };
        outcome
            .map_err(|error| failed(error, "it can't be read to its end", self.name()))
            .with_context(|| format!("`{collection}`"))?;
        Ok(read)
    }
}

/// Shows each batch, while a task of its own reads the next one.
async fn shown(
    mut batches: Batches,
    show: &mut (dyn FnMut(&RawBatch) -> mongodb::error::Result<()> + Send),
) -> mongodb::error::Result<()> {
    let (sender, mut receiver) = mpsc::channel(1);
    // Ends with the last batch, or as soon as nothing takes one any more.
    let reader = tokio::spawn(async move {
        while let Some(batch) = batches.next().await {
            if sender.send(batch).await.is_err() {
                break;
            }
        }
    });
    while let Some(batch) = receiver.recv().await {
        show(&batch?)?;
    }
    // A reader that has panicked has sent an end, too.
    reader.await.map_err(mongodb::error::Error::custom)
}

/// Whether a pass that ended so can go on: the connection is lost, or the server has closed the cursor or is closing.
fn is_passing(error: &mongodb::error::Error) -> bool {
    match &*error.kind {
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. } | ErrorKind::ServerSelection { .. } => {
            true
        }
        ErrorKind::Command(command) => matches!(
            command.code,
            6 | 7
                | 43
                | 89
                | 91
                | 175
                | 189
                | 237
                | 262
                | 9001
                | 10107
                | 11600
                | 11602
                | 13388
                | 13435
                | 13436
        ),
        _ => false,
    }
}

/// Values in parts of which each fits into one query.
fn split(values: Vec<Bson>) -> Vec<Vec<Bson>> {
    let mut parts = Vec::new();
    let (mut part, mut bytes) = (Vec::new(), 0);
    for value in values {
        let size = size(&value);
        if !part.is_empty() && (part.len() >= VALUES || bytes + size > BYTES) {
            parts.push(std::mem::take(&mut part));
            bytes = 0;
        }
        bytes += size;
        part.push(value);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// The size of a value in a query, with the name of its place.
fn size(value: &Bson) -> usize {
    let own = match value {
        Bson::String(text) => text.len(),
        Bson::Binary(binary) => binary.bytes.len(),
        Bson::Document(_) | Bson::Array(_) => {
            bson::serialize_to_vec(&doc! { "": value }).map_or(BYTES, |bytes| bytes.len())
        }
        _ => 16,
    };
    own + 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_by_number_and_by_size() {
        assert!(split(Vec::new()).is_empty());
        let many: Vec<Bson> = (0..2_500).map(Bson::Int32).collect();
        let sizes: Vec<usize> = split(many).iter().map(Vec::len).collect();
        assert_eq!(sizes, [1_000, 1_000, 500]);
        let long = vec![Bson::String("x".repeat(3 << 20)); 5];
        let sizes: Vec<usize> = split(long).iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 2, 1]);
        let one = vec![Bson::String("x".repeat(9 << 20))];
        assert_eq!(split(one).len(), 1);
    }
}
