//! Whole documents on their way to the database: as serde stores them, within their bounds.

use crate::bounds;
use crate::model::document::{DocumentMeta, Fresh};
use crate::model::field::holds_cut;
use crate::model::meta::{Body, Several};
use crate::model::normalize;
use crate::plan::keep::refuse_own;
use crate::store::decode::{decode, not_encoded};
use crate::store::twice;
use crate::{Document, Result};
use mongodb::bson::{self, RawDocument, RawDocumentBuf};

/// The document as serde stores it, within its bounds.
pub(crate) fn encode<T: Document>(document: &T) -> Result<RawDocumentBuf> {
    // A buffer that grows from nothing is moved seven times on its way to 1 kB.
    let mut bytes = Vec::with_capacity(512);
    encode_behind(document, &mut bytes)?;
    RawDocumentBuf::from_bytes(bytes).map_err(|source| not_encoded(T::META, source))
}

/// Writes the document as serde stores it behind what is there, if it is within its bounds.
pub(crate) fn encode_behind<T: Document>(document: &T, bytes: &mut Vec<u8>) -> Result<()> {
    let start = bytes.len();
    let mut written = bson::serialize_to_buffer(document, &mut *bytes);
    if const { is_cut::<T>() } && written.is_ok() {
        written = normalize(T::META, start, bytes);
    }
    let theirs = written.as_ref().map(|()| bytes.get(start..).unwrap_or_default());
    twice::written(document, theirs);
    let raw = checked(T::META, written, bytes.get(start..).unwrap_or_default())?;
    if const { is_cut::<T>() } {
        // What could not be read again is not sent.
        decode::<T>(T::META, raw)?;
    }
    Ok(())
}

/// Puts the document that begins here in the form in which its strings are stored.
fn normalize(meta: &'static DocumentMeta, start: usize, bytes: &mut Vec<u8>) -> bson::error::Result<()> {
    let document = RawDocument::from_bytes(bytes.get(start..).unwrap_or_default())?;
    if let Some(normalized) = normalize::document(meta.whole(), document)? {
        bytes.truncate(start);
        bytes.extend_from_slice(normalized.as_bytes());
    }
    Ok(())
}

/// Checks a document that was written to a buffer.
fn checked<'b>(
    meta: &'static DocumentMeta,
    written: bson::error::Result<()>,
    bytes: &'b [u8],
) -> Result<&'b RawDocument> {
    let raw = written.and_then(|()| RawDocument::from_bytes(bytes));
    let raw = raw.map_err(|source| not_encoded(meta, source))?;
    if (meta.extra)() {
        refuse_own(meta, raw)?;
    }
    bounds::document(meta, raw)?;
    Ok(raw)
}

/// The document, where it is whole before others are asked, and how it is stored.
pub(crate) fn encoded<T: Document>(document: Fresh<T>) -> Result<(Option<T>, RawDocumentBuf)> {
    match document {
        Fresh::Whole(document) => {
            let raw = encode(&document)?;
            // Of what is stored in part, the stored part is read back.
            let document = Some(document).filter(|_| !const { is_cut::<T>() });
            Ok((document, raw))
        }
        Fresh::Partial(raw) => Ok((None, partial::<T>(raw)?)),
    }
}

/// A document without what is derived from others: its bounds are checked when that is filled in.
pub(crate) fn partial<T: Document>(raw: Result<RawDocumentBuf>) -> Result<RawDocumentBuf> {
    let raw = raw?;
    if !const { is_cut::<T>() } {
        return Ok(raw);
    }
    let normalized = normalize::document(T::META.whole(), &raw);
    let normalized = normalized.map_err(|source| not_encoded(T::META, source))?;
    Ok(normalized.unwrap_or(raw))
}

/// Whether another value may be stored than a document of this type holds, such as a date to the millisecond, or one that can't be read
/// again, as functions of the application may write it; of an enum of documents than one of its variants holds.
pub(crate) const fn is_cut<T: Document>() -> bool {
    if holds_cut(T::FIELDS) {
        return true;
    }
    let Several::Enum { shape, .. } = &T::META.several else {
        return false;
    };
    let mut i = 0;
    while i < shape.variants.len() {
        if let Body::Struct(of) = &shape.variants[i].body
            && holds_cut(of.fields)
        {
            return true;
        }
        i += 1;
    }
    false
}
