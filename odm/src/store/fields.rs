//! Fields of raw documents by their dotted names, and fields of updates.

use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, doc};

/// Adds a field to an operator of an update.
pub(crate) fn put(update: &mut Document, operator: &str, name: &str, value: Bson) {
    let entry = update
        .entry(operator.to_owned())
        .or_insert_with(|| Document::new().into());
    if let Bson::Document(fields) = entry {
        fields.insert(name, value);
    }
}

/// The value at a dotted name.
pub(crate) fn at<'d>(document: &'d RawDocument, name: &str) -> Option<RawBsonRef<'d>> {
    let mut parts = name.split('.');
    let mut value = document.get(parts.next()?).ok()??;
    for part in parts {
        value = value.as_document()?.get(part).ok()??;
    }
    Some(value)
}

/// The same as a whole number; 0 where there is none.
pub(crate) fn number(document: &RawDocument, name: &str) -> i64 {
    at(document, name).map_or(0, whole_number)
}

/// A value as a whole number; 0 where it is none.
pub(crate) fn whole_number(value: RawBsonRef<'_>) -> i64 {
    match value {
        RawBsonRef::Int64(n) => n,
        RawBsonRef::Int32(n) => n.into(),
        RawBsonRef::Double(n) => n as i64,
        _ => 0,
    }
}

/// The condition that a whole number is this one, where a missing one is 0.
pub(crate) fn is_number(n: i64) -> Bson {
    match n {
        0 => doc! { "$in": [0_i64, Bson::Null] }.into(),
        n => n.into(),
    }
}
