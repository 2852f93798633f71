//! How serde writes and reads the types that derive it, for the test that the codec writes and reads the same.

use super::fault::Read;
use super::row::{Fields, write};
use super::{ByType, Out};
use mongodb::bson::{self, RawDocument, RawDocumentBuf, error::Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The functions of serde for one type, and the bytes of a value of it.
pub struct Oracle<T> {
    /// Writes a document.
    pub write: fn(&T) -> Result<RawDocumentBuf>,
    /// Reads a document.
    pub read: fn(&RawDocument) -> Result<T>,
    /// The bytes that the codec writes.
    pub bytes: fn(&T) -> Read<Vec<u8>>,
}

impl<T: Fields + Serialize + DeserializeOwned> ByType<T> {
    /// Those of a type that derives serde; `None` outside of the tests.
    pub const ORACLE: Option<Oracle<T>> = if cfg!(all(feature = "__oracle", debug_assertions)) {
        Some(Oracle {
            write: |value| bson::serialize_to_raw_document_buf(value),
            read: |document| bson::deserialize_from_slice(document.as_bytes()),
            bytes: |value| {
                let mut out = Out::new(Vec::new());
                write(value, &mut out)?;
                Ok(out.into_bytes())
            },
        })
    } else {
        None
    };
}
