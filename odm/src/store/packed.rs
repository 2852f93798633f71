//! Documents as they are stored, one behind the other in one buffer: a buffer for each took longer than to encode it, where another
//! thread freed it than had made it.

use crate::{Error, Result};
use mongodb::bson::{self, RawDocument};
use serde::{Serialize, Serializer};
use std::ops::Range;
use std::sync::Arc;

/// Documents of one operation, in buffers that several threads have filled.
#[derive(Default)]
pub(crate) struct Packed {
    parts: Vec<Part>,
}

impl From<Vec<Part>> for Packed {
    fn from(parts: Vec<Part>) -> Packed {
        Packed { parts }
    }
}

impl Packed {
    /// The positions of the documents among all that the application gave.
    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts
            .iter()
            .flat_map(|part| part.places.iter().map(|(at, _)| *at))
    }

    /// The documents. A buffer is freed with the last of its documents.
    pub(crate) fn into_documents(self) -> impl Iterator<Item = PackedDocument> + Send {
        self.parts.into_iter().flat_map(Part::into_documents)
    }
}

/// A buffer of documents.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) bytes: Vec<u8>,
    /// Where those stand that can be sent, with their positions among all that the application gave.
    pub(crate) places: Vec<(usize, Range<usize>)>,
    /// The others.
    pub(crate) refused: Vec<(usize, Error)>,
}

impl Part {
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

    fn into_documents(self) -> impl Iterator<Item = PackedDocument> {
        let bytes = Arc::new(self.bytes);
        self.places.into_iter().map(move |(_, place)| PackedDocument {
            bytes: bytes.clone(),
            place,
        })
    }
}

/// One of the documents in a buffer.
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
