//! The sizes in bytes of the values that an update adds to a document: reported where the document would become larger than
//! MongoDB stores, since the server reports only that it would.

use crate::model::size::MAX_DOCUMENT_SIZE;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};

/// How many fields are named.
const MOST: usize = 5;

/// The operators that bring values of their own.
const BRINGING: [&str; 6] = ["$set", "$setOnInsert", "$push", "$addToSet", "$min", "$max"];

/// The largest values that an update adds, by their names, the largest first. A field counts with its type and name, as in a
/// document.
pub(crate) fn brought(update: &Document) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = values(update)
        .map(|(_, name, value)| (name.clone(), 2 + name.len() as u64 + items(value)))
        .collect();
    all.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    all.truncate(MOST);
    all
}

/// Adds the sizes of this update's values to the error of a document that would become too large.
pub(crate) fn add_sizes(mut error: Error, update: &Document) -> Error {
    if let Error::TooLarge {
        brought: sizes,
        source: Some(_),
        ..
    } = &mut error
    {
        *sizes = brought(update);
    }
    error
}

/// Refuses an update that brings more by itself than a document may hold: it can't be sent either, since a command is a
/// document too. Returns the size of what it brings.
pub(crate) fn may_be_sent(collection: &str, update: &Document) -> Result<u64> {
    let all: u64 = values(update).map(|(_, _, value)| items(value)).sum();
    if all <= MAX_DOCUMENT_SIZE {
        return Ok(all);
    }
    Err(Error::TooLarge {
        collection: collection.to_owned(),
        what: "the update",
        size: None,
        largest: Vec::new(),
        brought: brought(update),
        source: None,
    })
}

/// About how large this document becomes by this update: what is changed by an array filter counts once, and what is pulled
/// out of an array is not known.
pub(crate) fn grown(stored: &RawDocument, update: &Document) -> u64 {
    let mut all = stored.as_bytes().len() as u64;
    for (operator, name, value) in values(update) {
        let before = size_at(stored, name);
        all = match operator {
            "$setOnInsert" => all,
            "$push" | "$addToSet" if before.is_some() => all + items(value),
            "$push" | "$addToSet" => all + 7 + name.len() as u64 + items(value),
            _ => match before {
                Some(before) => (all + items(value)).saturating_sub(before),
                None => all + 2 + name.len() as u64 + items(value),
            },
        };
    }
    let unset = update.get_document("$unset").into_iter().flat_map(Document::keys);
    let gone = unset.filter_map(|name| Some(size_at(stored, name)? + 2 + name.len() as u64));
    all.saturating_sub(gone.sum())
}

fn values(update: &Document) -> impl Iterator<Item = (&str, &String, &Bson)> {
    update
        .iter()
        .filter(|(operator, _)| BRINGING.contains(&operator.as_str()))
        .filter_map(|(operator, fields)| Some((operator.as_str(), fields.as_document()?)))
        .flat_map(|(operator, fields)| fields.iter().map(move |(name, value)| (operator, name, value)))
}

/// The size of a value, or of all items behind `$each`.
fn items(value: &Bson) -> u64 {
    match value.as_document().and_then(|value| value.get("$each")) {
        Some(Bson::Array(items)) => array(items),
        _ => size(value),
    }
}

fn document(document: &Document) -> u64 {
    let fields = document.iter();
    5 + fields
        .map(|(name, value)| 2 + name.len() as u64 + size(value))
        .sum::<u64>()
}

fn array(items: &[Bson]) -> u64 {
    let digits = |at: usize| 1 + at.checked_ilog10().unwrap_or(0);
    let items = items.iter().enumerate();
    5 + items
        .map(|(at, item)| 2 + u64::from(digits(at)) + size(item))
        .sum::<u64>()
}

/// The size of a value in BSON, without its type and name.
fn size(value: &Bson) -> u64 {
    match value {
        Bson::String(text) | Bson::Symbol(text) | Bson::JavaScriptCode(text) => 5 + text.len() as u64,
        Bson::Document(fields) => document(fields),
        Bson::Array(items) => array(items),
        Bson::Binary(binary) => 5 + binary.bytes.len() as u64,
        Bson::Double(_) | Bson::Int64(_) | Bson::DateTime(_) | Bson::Timestamp(_) => 8,
        Bson::Int32(_) => 4,
        Bson::Boolean(_) => 1,
        Bson::ObjectId(_) => 12,
        Bson::Decimal128(_) => 16,
        Bson::Null | Bson::Undefined | Bson::MinKey | Bson::MaxKey => 0,
        // Rare and small.
        other => {
            RawDocumentBuf::try_from(&doc! { "": other }).map_or(0, |raw| raw.as_bytes().len() as u64 - 7)
        }
    }
}

/// The size of the value at a dotted name, if there is one.
fn size_at(document: &RawDocument, name: &str) -> Option<u64> {
    let (name, rest) = match name.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (name, None),
    };
    let mut elements = document.iter_elements().map_while(|element| element.ok());
    let found = elements.find(|element| element.key().as_str() == name)?;
    match (rest, found.value().ok()?) {
        (None, _) => Some(found.size() as u64),
        (Some(rest), RawBsonRef::Document(inner)) => size_at(inner, rest),
        (Some(rest), RawBsonRef::Array(inner)) => {
            size_at(RawDocument::from_bytes(inner.as_bytes()).ok()?, rest)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::operators::growth::*;
    use mongodb::bson::oid::ObjectId;
    use mongodb::bson::spec::BinarySubtype;
    use mongodb::bson::{Binary, DateTime, Regex};

    fn raw(document: Document) -> RawDocumentBuf {
        RawDocumentBuf::try_from(&document).expect("encodes")
    }

    #[test]
    fn a_value_is_as_large_as_bson_makes_it() {
        let bytes = Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![1; 9],
        };
        let pattern = Regex {
            pattern: "a.c".try_into().expect("a pattern"),
            options: "i".try_into().expect("an option"),
        };
        let everything = doc! {
            "text": "é", "n": 1, "long": 1_i64, "double": 1.5, "yes": true, "no": null, "id": ObjectId::new(),
            "at": DateTime::now(), "bytes": bytes, "list": vec![Bson::Int32(7); 111], "inner": { "a": { "b": [] } },
            "pattern": pattern,
        };
        assert_eq!(document(&everything), raw(everything).as_bytes().len() as u64);
    }

    #[test]
    fn a_document_grows_by_the_values_of_its_update() {
        let before =
            doc! { "_id": 1, "text": "abc", "list": ["x"], "in": { "a": 1, "b": [{ "c": 1 }] }, "old": 5 };
        for (update, after) in [
            (
                doc! { "$set": { "text": "abcdef", "in.a": "long", "new": 1.5 } },
                doc! { "_id": 1, "text": "abcdef", "list": ["x"], "in": { "a": "long", "b": [{ "c": 1 }] }, "old": 5, "new": 1.5 },
            ),
            (
                doc! { "$push": { "more": "y" }, "$unset": { "old": "" }, "$set": { "in.b.0.c": "z" } },
                doc! { "_id": 1, "text": "abc", "list": ["x"], "in": { "a": 1, "b": [{ "c": "z" }] }, "more": ["y"] },
            ),
            (
                doc! { "$inc": { "old": 1 }, "$setOnInsert": { "new": "x" } },
                before.clone(),
            ),
        ] {
            let expected = raw(after).as_bytes().len() as u64;
            let found = grown(&raw(before.clone()), &update);
            // The name and type of an item are not known before.
            assert!(found.abs_diff(expected) <= 5, "{update}: {found}, {expected}");
        }
    }

    #[test]
    fn values_of_an_update_are_named_the_largest_first() {
        let update = doc! {
            "$set": { "a": "x", "b.c": "xxxx" },
            "$push": { "list": { "$each": ["x".repeat(20), "y".repeat(20)] } },
            "$inc": { "n": 1 },
        };
        assert_eq!(
            brought(&update),
            [("list".into(), 67), ("b.c".into(), 14), ("a".into(), 9)]
        );
        assert!(may_be_sent("c", &update).is_ok());
        let update = doc! { "$set": { "a": "x".repeat(9 << 20) }, "$push": { "b": "y".repeat(8 << 20) } };
        let Err(error @ Error::TooLarge { .. }) = may_be_sent("c", &update) else {
            panic!("it may be sent");
        };
        assert_eq!(
            error.to_string(),
            "c: the update is larger than 16 MiB (16,777,216 bytes), MongoDB's limit; the update adds `a` 9437192 \
             bytes, `b` 8388616 bytes"
        );
    }
}
