//! The documents of a pass, once more: also those of a sample.

use super::source::Source;
use crate::design::Collection;
use anyhow::Result;
use bson::{Bson, RawDocument, RawDocumentBuf};
use std::collections::HashMap;
use std::sync::MutexGuard;

/// The number of documents of a sample that are read at a time.
const TOGETHER: usize = 500;

/// The `_id`s of documents, one behind the other, each as the bytes of a document.
#[derive(Debug, Default)]
pub(super) struct Ids(Vec<u8>);

impl Ids {
    /// Adds that of a document.
    pub(super) fn add(&mut self, document: &RawDocument) {
        if let Ok(Some(id)) = document.get("_id") {
            let mut of = RawDocumentBuf::new();
            of.append(bson::cstr!("_id"), id);
            self.0.extend_from_slice(of.as_bytes());
        }
    }

    fn all(&self) -> impl Iterator<Item = Bson> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let length = rest.first_chunk().map(|length| i32::from_le_bytes(*length))?;
            let (of, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            rest = behind;
            let of = RawDocument::from_bytes(of).ok()?;
            Bson::try_from(of.get("_id").ok()??).ok()
        })
    }
}

impl Source {
    /// Shows the documents of the last [pass](Source::pass) over a collection once more: all of them in the order of `_id`, or those of
    /// its sample, in no order. Documents that were deleted meanwhile are left out. Gives their number.
    ///
    /// A sample is read by its `_id`s, which [`ReadOptions::again`](super::ReadOptions::again) has kept; without it the sample is another
    /// one.
    ///
    /// # Errors
    /// Where the collection can't be read.
    pub async fn again(
        &self,
        collection: &Collection,
        visit: &mut (dyn FnMut(&RawDocument) + Send),
    ) -> Result<u64> {
        let ids = self.sampled().remove(&collection.name);
        let Some(ids) = ids else {
            return self.pass(collection, visit).await;
        };
        let mut read = 0;
        let all: Vec<Bson> = ids.all().collect();
        for some in all.chunks(TOGETHER) {
            for document in self.find(&collection.name, "_id", some.to_vec(), &[]).await? {
                visit(&document);
                read += 1;
            }
        }
        self.keep(&collection.name, ids);
        Ok(read)
    }

    pub(super) fn keep(&self, collection: &str, ids: Ids) {
        self.sampled().insert(collection.to_owned(), ids);
    }

    fn sampled(&self) -> MutexGuard<'_, HashMap<String, Ids>> {
        self.sampled
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
