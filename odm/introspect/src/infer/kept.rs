//! Documents that are kept in memory: a sample of those that were read.

use crate::sketch::hash;
use bson::{RawDocument, RawDocumentBuf};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most documents of a collection.
const DOCUMENTS: usize = 10_000;
/// The most bytes of them.
const BYTES: usize = 16 << 20;

/// The documents of a collection whose `_id` have the least hashes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Kept {
    documents: BTreeMap<(u64, u64), RawDocumentBuf>,
    bytes: usize,
    seen: u64,
}

impl Kept {
    /// Adds a document, if there is room for it or its hash is less than that of another.
    pub(crate) fn add(&mut self, document: &RawDocument) {
        self.seen += 1;
        let id = document.get("_id").ok().flatten();
        let at = (hash(&format!("{id:?}")), self.seen);
        let is_full = self.documents.len() >= DOCUMENTS || self.bytes >= BYTES;
        if is_full
            && self
                .documents
                .last_key_value()
                .is_none_or(|(greatest, _)| at > *greatest)
        {
            return;
        }
        self.bytes += document.as_bytes().len();
        self.documents.insert(at, document.to_owned());
        while self.documents.len() > DOCUMENTS || (self.bytes > BYTES && self.documents.len() > 1) {
            let Some((_, removed)) = self.documents.pop_last() else {
                break;
            };
            self.bytes -= removed.as_bytes().len();
        }
    }

    /// Whether these are all that were read.
    pub(crate) fn is_whole(&self) -> bool {
        self.documents.len() as u64 == self.seen
    }

    /// The documents.
    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = &RawDocument> {
        self.documents.values().map(|document| &**document)
    }
}
