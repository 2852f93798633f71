//! Documents as they are stored, one behind the other in one buffer: a buffer for each took longer than to encode it, where another
//! thread freed it than had made it.

use crate::{Error, Result};
use mongodb::bson::{self, RawDocument, RawDocumentBuf};
use serde::{Serialize, Serializer};
use std::ops::Range;
use std::sync::Arc;

/// Documents of one operation, in buffers that several threads have filled.
#[derive(Default)]
pub(crate) struct Packed {
    parts: Vec<DocumentBuffer>,
}

impl Clone for Packed {
    fn clone(&self) -> Packed {
        self.split(usize::MAX).pop().unwrap_or_default()
    }
}

impl From<Vec<DocumentBuffer>> for Packed {
    fn from(parts: Vec<DocumentBuffer>) -> Packed {
        Packed { parts }
    }
}

impl Packed {
    /// The documents in parts of at most this number, in their order.
    pub(crate) fn split(&self, most: usize) -> Vec<Packed> {
        let places = self.parts.iter().flat_map(|part| {
            let of_part = part.places.iter();
            of_part.map(|(at, place)| (*at, part.bytes.get(place.clone()).unwrap_or_default()))
        });
        let places: Vec<(usize, &[u8])> = places.collect();
        let packed = places.chunks(most.max(1)).map(|places| {
            let mut part = DocumentBuffer::default();
            for (at, bytes) in places {
                let start = part.bytes.len();
                part.bytes.extend_from_slice(bytes);
                part.places.push((*at, start..part.bytes.len()));
            }
            Packed { parts: vec![part] }
        });
        packed.collect()
    }

    /// Each document.
    pub(crate) fn documents(&self) -> impl Iterator<Item = bson::error::Result<&RawDocument>> {
        self.parts.iter().flat_map(|part| {
            let places = part.places.iter();
            places
                .map(|(_, place)| RawDocument::from_bytes(part.bytes.get(place.clone()).unwrap_or_default()))
        })
    }

    /// The positions of the documents among all that the application gave.
    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts
            .iter()
            .flat_map(|part| part.places.iter().map(|(at, _)| *at))
    }

    /// The documents. A buffer is freed with the last of its documents.
    pub(crate) fn into_documents(self) -> impl Iterator<Item = PackedDocument> + Send {
        self.parts.into_iter().flat_map(DocumentBuffer::into_documents)
    }
}

/// A buffer of documents.
#[derive(Default)]
pub(crate) struct DocumentBuffer {
    pub(crate) bytes: Vec<u8>,
    /// Where those stand that can be sent, with their positions among all that the application gave.
    pub(crate) places: Vec<(usize, Range<usize>)>,
    /// The others.
    pub(crate) refused: Vec<(usize, Error)>,
}

impl DocumentBuffer {
    /// Adds the document that `encode` writes behind the others.
    pub(crate) fn add(&mut self, at: usize, encode: impl FnOnce(&mut Vec<u8>) -> Result<()>) {
        let start = self.bytes.len();
        match encode(&mut self.bytes) {
            Ok(()) => self.places.push((at, start..self.bytes.len())),
            Err(error) => {
                self.bytes.truncate(start);
                self.refused.push((at, error));
            }
        }
    }

    /// The same with each document as `rewrite` leaves it; those that it refuses are among the refused ones.
    pub(crate) fn rewritten(
        self,
        mut rewrite: impl FnMut(&mut RawDocumentBuf) -> Result<()>,
    ) -> DocumentBuffer {
        let mut part = DocumentBuffer {
            refused: self.refused,
            ..DocumentBuffer::default()
        };
        for (at, place) in self.places {
            let document = self.bytes.get(place).unwrap_or_default();
            part.add(at, |bytes| {
                let mut document =
                    RawDocumentBuf::from_bytes(document.to_vec()).map_err(|source| Error::Encode {
                        field: "_id".to_owned(),
                        source: Box::new(source),
                    })?;
                rewrite(&mut document)?;
                bytes.extend_from_slice(document.as_bytes());
                Ok(())
            });
        }
        part
    }

    fn into_documents(self) -> impl Iterator<Item = PackedDocument> {
        let bytes = Arc::new(self.bytes);
        self.places.into_iter().map(move |(_, place)| PackedDocument {
            bytes: bytes.clone(),
            place,
        })
    }
}

/// One of the documents in a buffer.
#[derive(Clone)]
pub(crate) struct PackedDocument {
    bytes: Arc<Vec<u8>>,
    place: Range<usize>,
}

impl PackedDocument {
    pub(crate) fn document(&self) -> bson::error::Result<&RawDocument> {
        RawDocument::from_bytes(self.bytes.get(self.place.clone()).unwrap_or_default())
    }
}

impl Serialize for PackedDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let document = self.document().map_err(serde::ser::Error::custom)?;
        document.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{RawDocumentBuf, doc};

    #[test]
    fn documents_are_split_in_their_order_with_their_positions() {
        let documents: Vec<RawDocumentBuf> = (0..5)
            .map(|n| RawDocumentBuf::try_from(&doc! { "n": n }).expect("encodes"))
            .collect();
        let mut parts = vec![DocumentBuffer::default(), DocumentBuffer::default()];
        for (at, document) in documents.iter().enumerate() {
            let bytes = document.as_bytes();
            parts[usize::from(at > 2)].add(at * 10, |buffer| {
                buffer.extend_from_slice(bytes);
                Ok(())
            });
        }
        let all = Packed::from(parts);
        for most in [1, 2, 5, usize::MAX] {
            let split = all.split(most);
            assert!(split.iter().all(|part| part.positions().count() <= most));
            let places: Vec<usize> = split.iter().flat_map(Packed::positions).collect();
            assert_eq!(places, [0, 10, 20, 30, 40]);
            let read = split.iter().flat_map(Packed::documents);
            let read: Vec<RawDocumentBuf> = read.map(|document| document.expect("one").to_owned()).collect();
            assert_eq!(read, documents);
        }
        assert_eq!(all.clone().into_documents().count(), 5);
        assert!(
            Packed::default().split(2).is_empty() && Packed::default().clone().documents().next().is_none()
        );
    }
}
