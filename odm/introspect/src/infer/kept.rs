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
    #[serde(with = "stored")]
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

/// Documents in a state: each as the text of its bytes, so that it is read again as it was.
mod stored {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use bson::RawDocumentBuf;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::collections::BTreeMap;

    type Documents = BTreeMap<(u64, u64), RawDocumentBuf>;

    pub(super) fn serialize<S: Serializer>(documents: &Documents, serializer: S) -> Result<S::Ok, S::Error> {
        let text = |document: &RawDocumentBuf| STANDARD.encode(document.as_bytes());
        serializer.collect_seq(
            documents
                .iter()
                .map(|(at, document)| (at.0, at.1, text(document))),
        )
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Documents, D::Error> {
        let documents = Vec::<(u64, u64, String)>::deserialize(deserializer)?;
        let document = |(hash, seen, text)| {
            let bytes = STANDARD.decode(text).map_err(Error::custom)?;
            let document = RawDocumentBuf::from_bytes(bytes).map_err(Error::custom)?;
            Ok(((hash, seen), document))
        };
        documents.into_iter().map(document).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;

    #[test]
    fn documents_are_read_from_a_state_as_they_were() {
        let mut kept = Kept::default();
        kept.add(&rawdoc! { "_id": 1_i64, "n": f64::NAN, "a": [{ "b": bson::RawBson::MinKey }] });
        kept.add(&rawdoc! { "_id": 2, "text": "\u{0}ü" });
        let text = serde_json::to_string(&kept).unwrap();
        let read: Kept = serde_json::from_str(&text).unwrap();
        assert_eq!(read.documents, kept.documents);
        assert_eq!((read.bytes, read.seen), (kept.bytes, kept.seen));
    }
}
