//! Reads a stored document into its struct, and says exactly what did not fit where it can't.

use crate::document::DocumentMeta;
use crate::keep::{Level, is_own};
use crate::own_fields::COPIED;
use crate::shape::Shape;
use crate::{Error, Result, visit};
use mongodb::bson::{Bson, Document, RawDeserializer, RawDocument, RawDocumentBuf, deserialize_from_slice};
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

/// The document as a `T`, which its type itself or a part of it is. On failure whole numbers that are stored as doubles are made
/// integers where integers are declared (JavaScript stores all numbers so), and it is read once more; if that fails too, it is
/// read with the path of every field in mind.
pub(crate) fn decode<T: DeserializeOwned>(meta: &DocumentMeta, doc: &RawDocument) -> Result<T> {
    let without_own = match (meta.extra)() {
        true => without_own(meta, doc),
        false => None,
    };
    let doc = without_own.as_deref().unwrap_or(doc);
    let error = match deserialize_from_slice(doc.as_bytes()) {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    let Some(doc) = with_integers((meta.shape)(), doc) else {
        return Err(explain::<T>(meta.collection, doc, error));
    };
    deserialize_from_slice(doc.as_bytes()).map_err(|error| explain::<T>(meta.collection, &doc, error))
}

/// The document with integers in the place of doubles that are whole numbers, where its type declares integers. `None` where it
/// has none.
fn with_integers(shape: Shape, doc: &RawDocument) -> Option<RawDocumentBuf> {
    let mut found = false;
    let mut document = Bson::Document(Document::try_from(doc).ok()?);
    visit::values(shape, &mut document, &mut |shape, value| {
        if let (Shape::Int { .. } | Shape::Long { .. }, Bson::Double(n)) = (shape, &*value)
            && let Some(n) = crate::key::integer(*n)
        {
            *value = n.into();
            found = true;
        }
    });
    match document {
        Bson::Document(document) if found => RawDocumentBuf::try_from(&document).ok(),
        _ => None,
    }
}

/// The document as the struct shows it that has a field for what it does not declare: without the library's own fields. `None`
/// where none is there.
fn without_own(meta: &DocumentMeta, doc: &RawDocument) -> Option<RawDocumentBuf> {
    let document = Document::try_from(doc).ok()?;
    let before = document.len();
    let document: Document = document.into_iter().filter(|(name, _)| !is_own(name)).collect();
    let mut removed = document.len() != before;
    let mut document = Bson::Document(document);
    visit::values((meta.shape)(), &mut document, &mut |shape, value| {
        if let (Shape::Struct(of), Bson::Document(document)) = (shape, value)
            && Level::of(of.fields).has_extra
        {
            removed |= document.remove(COPIED).is_some();
        }
    });
    match document {
        Bson::Document(document) if removed => RawDocumentBuf::try_from(&document).ok(),
        _ => None,
    }
}

fn explain<T: DeserializeOwned>(
    collection: &str,
    doc: &RawDocument,
    first: mongodb::bson::error::Error,
) -> Error {
    let traced = RawDeserializer::new(doc.as_bytes())
        .map(|deserializer| serde_path_to_error::deserialize::<_, T>(deserializer));
    let (path, error) = match traced {
        Ok(Err(error)) => (dotted(error.path()), error.into_inner()),
        _ => (String::new(), first),
    };
    let message = message(&error);
    Error::Decode {
        collection: collection.to_owned(),
        id: id(doc).map(Box::new),
        ty: short_name(std::any::type_name::<T>()),
        path: match missing(&message) {
            // serde names the struct's path; the field that is missing stands below it.
            Some(field) if path.is_empty() => field.to_owned(),
            Some(field) => format!("{path}.{field}"),
            None => path,
        },
        message,
    }
}

/// The path as MongoDB writes it. Where serde had to buffer (flattened and untagged parts), it ends early.
fn dotted(path: &serde_path_to_error::Path) -> String {
    let mut out = String::new();
    for segment in path {
        let part = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.clone(),
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => break,
        };
        if !out.is_empty() {
            out.push('.');
        }
        out.push_str(&part);
    }
    out
}

/// What serde said, without what bson puts around it.
fn message(error: &mongodb::bson::error::Error) -> String {
    match &error.message {
        Some(message) => message.clone(),
        None => error.kind.to_string(),
    }
}

fn missing(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.strip_suffix('`')
}

fn id(doc: &RawDocument) -> Option<Bson> {
    Bson::try_from(doc.get("_id").ok()??).ok()
}

/// A type's name without modules and parameters.
pub(crate) fn short_name(full: &'static str) -> &'static str {
    let base = full.split('<').next().unwrap_or(full);
    base.rsplit("::")
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Bounds, FieldMeta};
    use mongodb::bson::{doc, oid::ObjectId};
    use serde::Deserialize;
    use std::collections::BTreeMap;

    const PEOPLE: &DocumentMeta = <crate::by_hand::Person as crate::Document>::META;

    #[derive(Deserialize, Debug)]
    #[allow(dead_code)]
    struct Person {
        #[serde(rename = "_id")]
        id: Option<ObjectId>,
        #[serde(rename = "fullName")]
        name: String,
        #[serde(default)]
        addresses: Vec<Address>,
        #[serde(default)]
        scores: BTreeMap<String, i32>,
        #[serde(default)]
        contact: Option<Contact>,
    }

    #[derive(Deserialize, Debug)]
    #[allow(dead_code)]
    struct Address {
        city: String,
        zip: Option<i32>,
    }

    #[derive(Deserialize, Debug)]
    #[allow(dead_code)]
    enum Contact {
        Mail { address: String },
        Phone(i64),
    }

    fn failure(doc: Document) -> (Option<Bson>, &'static str, String, String) {
        let raw = RawDocumentBuf::try_from(&doc).expect("encodes");
        match decode::<Person>(PEOPLE, &raw) {
            Err(Error::Decode {
                collection,
                id,
                ty,
                path,
                message,
            }) => {
                assert_eq!(collection, "people");
                (id.map(|id| *id), ty, path, message)
            }
            other => panic!("not a decode error: {other:?}"),
        }
    }

    #[test]
    fn a_document_that_fits_is_read() {
        let id = ObjectId::new();
        let raw =
            RawDocumentBuf::try_from(&doc! { "_id": id, "fullName": "Ada", "extra": 1 }).expect("encodes");
        let person: Person = decode(PEOPLE, &raw).expect("fits");
        assert_eq!(person.id, Some(id));
        assert_eq!(person.name, "Ada");
    }

    #[test]
    fn whole_doubles_are_read_where_integers_are_declared() {
        #[derive(Deserialize, Debug, PartialEq)]
        struct Counts {
            n: i32,
            more: Vec<u8>,
        }
        const COUNTS: &DocumentMeta = &DocumentMeta {
            shape: || Shape::Struct(&SHAPE),
            ..*PEOPLE
        };
        const SHAPE: crate::shape::StructShape = crate::shape::StructShape {
            name: "Counts",
            fields: &[
                FieldMeta::value::<i32>("n", "n", "i32", Bounds::NONE),
                FieldMeta::items::<Vec<u8>>("more", "more", "Vec<u8>", Bounds::NONE),
            ],
            deny_unknown: false,
        };
        let read = |doc: Document| {
            let raw = RawDocumentBuf::try_from(&doc).expect("encodes");
            decode::<Counts>(COUNTS, &raw)
        };
        let counts = read(doc! { "n": -5.0, "more": [1, 2.0] }).expect("is read");
        let expected = Counts {
            n: -5,
            more: vec![1, 2],
        };
        assert_eq!(counts, expected);
        for (document, at, said) in [
            (doc! { "n": 5.5, "more": [] }, "n", "floating point `5.5`"),
            (doc! { "n": 5e12, "more": [] }, "n", "integer `5000000000000`"),
            (doc! { "n": f64::NAN, "more": [] }, "n", "floating point `NaN`"),
            (doc! { "n": 1e300, "more": [] }, "n", "floating point"),
            (doc! { "n": 1.0, "more": [-1.0] }, "more.0", "integer `-1`"),
        ] {
            match read(document) {
                Err(Error::Decode { path, message, .. }) => {
                    assert_eq!(path, at, "{message}");
                    assert!(message.contains(said), "{message}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_path_leads_to_the_value_that_does_not_fit() {
        let id = ObjectId::new();
        let (found, ty, path, message) = failure(doc! {
            "_id": id, "fullName": "Ada",
            "addresses": [{ "city": "Bern" }, { "city": "Basel", "zip": "x" }],
        });
        assert_eq!(found, Some(Bson::ObjectId(id)));
        assert_eq!(ty, "Person");
        assert_eq!(path, "addresses.1.zip");
        assert_eq!(message, "invalid type: string \"x\", expected i32");
    }

    #[test]
    fn stored_names_stand_in_the_path() {
        let (id, _, path, message) = failure(doc! { "fullName": 5 });
        assert_eq!(id, None);
        assert_eq!(path, "fullName");
        assert!(
            message.starts_with("invalid type: integer `5`, expected a string"),
            "{message}"
        );
    }

    #[test]
    fn a_missing_field_is_named_by_the_path() {
        assert_eq!(failure(doc! { "_id": Bson::Null }).2, "fullName");
        let (_, _, path, message) = failure(doc! { "fullName": "Ada", "addresses": [{ "zip": 1 }] });
        assert_eq!(path, "addresses.0.city");
        assert_eq!(message, "missing field `city`");
    }

    #[test]
    fn maps_and_variants_are_followed() {
        assert_eq!(
            failure(doc! { "fullName": "Ada", "scores": { "chess": "high" } }).2,
            "scores.chess"
        );
        assert_eq!(
            failure(doc! { "fullName": "Ada", "contact": { "Phone": "no" } }).2,
            "contact.Phone"
        );
        assert_eq!(
            failure(doc! { "fullName": "Ada", "contact": { "Mail": { "address": 1 } } }).2,
            "contact.Mail.address"
        );
    }

    #[test]
    fn the_message_is_one_sentence() {
        let raw = RawDocumentBuf::try_from(&doc! { "_id": 7, "fullName": 5 }).expect("encodes");
        let error = decode::<Address>(PEOPLE, &raw).expect_err("does not fit");
        assert_eq!(
            error.to_string(),
            "people: the document with _id 7 does not fit `Address` at `city`: missing field `city`"
        );
        let error = decode::<Person>(PEOPLE, &raw)
            .expect_err("does not fit")
            .to_string();
        assert!(
            !error.contains("BSON error") && !error.contains("Kind:"),
            "{error}"
        );
    }

    #[test]
    fn types_are_named_without_modules() {
        assert_eq!(short_name("odm::decode::Person"), "Person");
        assert_eq!(short_name("a::Page<b::Person>"), "Page");
        assert_eq!(short_name("u8"), "u8");
    }
}
