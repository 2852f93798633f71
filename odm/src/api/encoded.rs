//! Whole documents on their way to the database: as they are stored, within their bounds.

use crate::bounds;
use crate::error::{Rule, Violation};
use crate::model::deferred::holds_deferred;
use crate::model::document::{DocumentMeta, Fresh};
use crate::model::encode::{raw_document, write_behind};
use crate::model::field::holds_cut;
use crate::model::meta::{Body, FieldMeta, Several};
use crate::plan::keep::refuse_own;
use crate::store::decode::{decode, not_encoded};
use crate::store::twice;
use crate::{Document, Error, Result};
use mongodb::bson::{RawDocument, RawDocumentBuf};

/// The document as it is stored, within its bounds.
pub(crate) fn encode<T: Document>(document: &T) -> Result<RawDocumentBuf> {
    // A buffer that grows from nothing is moved seven times on its way to 1 kB.
    let mut bytes = Vec::with_capacity(512);
    encode_behind(document, &mut bytes)?;
    raw_document(T::META.name, bytes)
}

/// Writes the document as it is stored behind what is there, if it is within its bounds.
pub(crate) fn encode_behind<T: Document>(document: &T, bytes: &mut Vec<u8>) -> Result<()> {
    let start = bytes.len();
    let written = write_behind(T::META.name, document, bytes);
    let ours = bytes.get(start..).unwrap_or_default();
    twice::written(document, ours, &written);
    let raw = within_bounds(T::META, ours, written?)?;
    if const { is_cut::<T>() } {
        // What could not be read again is not sent.
        decode::<T>(T::META, raw)?;
    }
    Ok(())
}

/// The same of a new document, which has all of its fields.
pub(crate) fn encode_new_behind<T: Document>(document: &T, bytes: &mut Vec<u8>) -> Result<()> {
    let start = bytes.len();
    encode_behind(document, bytes)?;
    if !const { holds_deferred(T::FIELDS) } {
        return Ok(());
    }
    let ours = bytes.get(start..).unwrap_or_default();
    let raw = RawDocument::from_bytes(ours).map_err(|source| not_encoded(T::META, source))?;
    let is_missing = |field: &&FieldMeta| field.deferred && !matches!(raw.get(field.name), Ok(Some(_)));
    let missing: Vec<Violation> = T::FIELDS
        .iter()
        .filter(is_missing)
        .map(|field| Violation::new(field.name, Rule::Required, None))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::Invalid {
        collection: T::META.collection.to_owned(),
        violations: missing,
        source: None,
    })
}

/// The document of these bytes, if it is within its bounds.
fn within_bounds<'b>(
    meta: &'static DocumentMeta,
    bytes: &'b [u8],
    may_be_broken: bool,
) -> Result<&'b RawDocument> {
    let raw = RawDocument::from_bytes(bytes).map_err(|source| not_encoded(meta, source))?;
    if (meta.extra)() {
        refuse_own(meta, raw)?;
    }
    bounds::written(meta, raw, may_be_broken)?;
    Ok(raw)
}

/// The document, where it is whole before others are asked, and how it is stored. The bounds of one without what is derived from
/// others are checked when that is filled in.
pub(crate) fn encoded<T: Document>(document: Fresh<T>) -> Result<(Option<T>, RawDocumentBuf)> {
    match document {
        Fresh::Whole(document) => {
            let mut bytes = Vec::with_capacity(512);
            encode_new_behind(&document, &mut bytes)?;
            let raw = raw_document(T::META.name, bytes)?;
            // Of what is stored in part, the stored part is read back.
            let document = Some(document).filter(|_| !const { is_cut::<T>() });
            Ok((document, raw))
        }
        Fresh::Partial(raw) => Ok((None, raw?)),
    }
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
