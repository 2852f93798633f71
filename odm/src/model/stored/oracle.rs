//! How serde writes and reads the types that derive it, for the test that the codec writes and reads the same.

use super::fault::Read;
use mongodb::bson::{RawDocument, RawDocumentBuf, error::Result};

/// The functions of serde for one type, and the bytes of a value of it.
pub struct Oracle<T> {
    /// Writes a document.
    pub write: fn(&T) -> Result<RawDocumentBuf>,
    /// Reads a document.
    pub read: fn(&RawDocument) -> Result<T>,
    /// The bytes that the codec writes.
    pub bytes: fn(&T) -> Read<Vec<u8>>,
}
