//! The count of link writes ([`LINKS`]): how often the library has linked or unlinked a document with two-way references.

use crate::model::document::DocumentMeta;
use crate::own_fields::{LINKS, name_of};
use crate::store::fields;
use crate::store::fields::put;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};

/// Counts the writes that insert these documents.
pub(crate) fn count_new(documents: &mut [RawDocumentBuf]) -> Result<()> {
    let (own, name) = LINKS.split_once('.').unwrap_or((LINKS, ""));
    for raw in documents {
        let encoding = |source: mongodb::bson::error::Error| Error::Encode {
            field: own.to_owned(),
            source: Box::new(source),
        };
        if raw.get(own).is_ok_and(|own| own.is_none()) {
            let count = RawDocumentBuf::try_from(&doc! { own: { name: 1_i64 } }).map_err(encoding)?;
            for field in count.iter() {
                let (name, value) = field.map_err(encoding)?;
                raw.append(name, value);
            }
            continue;
        }
        let mut document = Document::try_from(&*raw).map_err(encoding)?;
        put_below(
            &mut document,
            LINKS,
            fields::number(raw, LINKS).saturating_add(1).into(),
        );
        *raw = RawDocumentBuf::try_from(&document).map_err(encoding)?;
    }
    Ok(())
}

fn put_below(document: &mut Document, name: &str, value: Bson) {
    let (own, name) = name.split_once('.').unwrap_or((name, ""));
    if let Bson::Document(own) = document.entry(own.to_owned()).or_insert_with(|| doc! {}.into()) {
        own.insert(name, value);
    }
}

/// The part of an update that counts it as a write of links.
pub(crate) fn count(update: &mut Document) {
    put(update, "$inc", LINKS, 1_i64.into());
}

/// The part of an update from the other side of a two-way reference that raises the version of the document. A link is a field of
/// both documents: a replacement by an older version must not write the field back.
///
/// The update's filter matches only documents in which the link changes.
pub(crate) fn raise_version(meta: &DocumentMeta, update: &mut Document) {
    if let Some(version) = meta.version() {
        put(update, "$inc", version, 1_i64.into());
    }
}

/// The part of an upsert that counts it where it inserts.
pub(crate) fn count_inserted(update: &mut Document) {
    put(update, "$setOnInsert", LINKS, 1_i64.into());
}

/// The part of a replacement that counts it: an expression among those of the library's fields in the document.
pub(crate) fn count_replaced(own: &mut Document) {
    let writes = doc! { "$add": [{ "$ifNull": [format!("${LINKS}"), 0_i64] }, 1_i64] };
    own.insert(name_of(LINKS), writes);
}

/// How many writes had linked or unlinked a document when it was read.
pub(crate) fn writes(document: &RawDocumentBuf) -> i64 {
    fields::number(document, LINKS)
}
