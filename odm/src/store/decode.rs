//! Decodes a stored document as its struct; an error names exactly the field that can't be decoded.

mod path;

use crate::model::document::DocumentMeta;
use crate::model::level::StructLevel;
use crate::model::own_fields::{COPIED, is_own};
use crate::model::path::Decoder;
use crate::model::shape::Shape;
use crate::store::twice;
use crate::{Error, Result, model::visit};
use mongodb::bson::error::Error as BsonError;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, deserialize_from_slice, doc};
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// The document as a `T`, which its type itself or a part of it is. On failure whole numbers that are stored as doubles are made
/// integers where integers are declared (JavaScript stores all numbers so), and it is read once more; if that fails too, the
/// path of the value that does not fit is found by reading parts of the document.
pub(crate) fn decode<T: DeserializeOwned>(meta: &DocumentMeta, doc: &RawDocument) -> Result<T> {
    twice::read::<T>(meta, doc);
    by_serde(meta, doc)
}

/// The same, as serde reads it.
pub(crate) fn by_serde<T: DeserializeOwned>(meta: &DocumentMeta, doc: &RawDocument) -> Result<T> {
    let without_own = if (meta.extra)() {
        without_own(meta, doc)
    } else {
        None
    };
    let doc = without_own.as_deref().unwrap_or(doc);
    let error = match read::<T>(doc) {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    let (doc, error) = match with_integers(meta.whole(), doc) {
        None => (doc.to_owned(), error),
        Some(doc) => match read::<T>(&doc) {
            Ok(read) => return Ok(read),
            Err(error) => (doc, error),
        },
    };
    Err(explain(
        meta.collection,
        &doc,
        std::any::type_name::<T>(),
        &error,
        &|doc| read::<T>(doc).err(),
    ))
}

/// A value of the field at this path, by the deserializer that reads whole documents.
pub(crate) fn value<V, C: Decoder<V>>(meta: &DocumentMeta, path: &str, value: Bson) -> Result<V> {
    #[derive(serde::Deserialize)]
    #[serde(bound = "C: Decoder<V>")]
    struct Alone<V, C> {
        #[serde(deserialize_with = "C::deserialize")]
        v: V,
        #[serde(skip)]
        by: PhantomData<C>,
    }
    let read = RawDocumentBuf::try_from(&doc! { "v": value }).and_then(|doc| read::<Alone<V, C>>(&doc));
    read.map(|alone| alone.v).map_err(|error| Error::Decode {
        collection: meta.collection.to_owned(),
        id: None,
        ty: short_name(std::any::type_name::<V>()),
        path: path.to_owned(),
        message: message(&error),
    })
}

/// A value that stands alone, by the deserializer that reads whole documents. `Err` has the path of what can't be decoded, and the
/// reason.
pub(crate) fn single_value<T: DeserializeOwned>(
    value: Bson,
) -> std::result::Result<T, (Vec<String>, String)> {
    #[derive(serde::Deserialize)]
    struct Alone<T> {
        v: T,
    }
    let doc = RawDocumentBuf::try_from(&doc! { "v": value });
    let doc = doc.map_err(|error| (Vec::new(), message(&error)))?;
    let error = match read::<Alone<T>>(&doc) {
        Ok(Alone { v }) => return Ok(v),
        Err(error) => message(&error),
    };
    let fails = |doc: &RawDocument| {
        read::<Alone<T>>(doc)
            .err()
            .is_some_and(|other| message(&other) == error)
    };
    let mut path = path::find(&doc, &fails);
    path.extend(missing(&error).map(str::to_owned));
    path.drain(..path.len().min(1));
    Err((path, error))
}

fn read<T: DeserializeOwned>(doc: &RawDocument) -> mongodb::bson::error::Result<T> {
    deserialize_from_slice(doc.as_bytes())
}

/// The document with integers in the place of doubles that are whole numbers, where its type declares integers. `None` where it
/// has none.
fn with_integers(shape: Shape, doc: &RawDocument) -> Option<RawDocumentBuf> {
    let mut found = false;
    let mut document = Bson::Document(Document::try_from(doc).ok()?);
    visit::values(shape, &mut document, &mut |shape, value| {
        if let (Shape::Int { .. } | Shape::Long { .. }, Bson::Double(n)) = (shape, &*value)
            && let Some(n) = crate::model::key::integer(*n)
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
    visit::values(meta.whole(), &mut document, &mut |shape, value| {
        if let (Shape::Struct(of), Bson::Document(document)) = (shape, value)
            && StructLevel::of(of.fields).has_extra
        {
            removed |= document.remove(COPIED).is_some();
        }
    });
    match document {
        Bson::Document(document) if removed => RawDocumentBuf::try_from(&document).ok(),
        _ => None,
    }
}

/// The error of a document that can't be read. `fails` reads a document as the same type.
fn explain(
    collection: &str,
    doc: &RawDocument,
    ty: &'static str,
    error: &BsonError,
    fails: &dyn Fn(&RawDocument) -> Option<BsonError>,
) -> Error {
    let message = message(error);
    let mut path = path::find(doc, &|doc| {
        fails(doc).is_some_and(|other| self::message(&other) == message)
    });
    if let Some(field) = missing(&message) {
        path.push(field.to_owned());
    }
    Error::Decode {
        collection: collection.to_owned(),
        id: id(doc).map(Box::new),
        ty: short_name(ty),
        path: path.join("."),
        message,
    }
}

/// The message of serde, without the text that bson puts around it.
fn message(error: &BsonError) -> String {
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

/// The error for a document that serde or BSON refuses.
pub(crate) fn not_encoded(meta: &DocumentMeta, source: mongodb::bson::error::Error) -> Error {
    Error::Encode {
        field: meta.name.to_owned(),
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::shape::{Bounds, FieldMeta};
    use mongodb::bson::{doc, oid::ObjectId};
    use serde::Deserialize;
    use std::collections::BTreeMap;

    const PEOPLE: &DocumentMeta = <crate::expansion_fixture::Person as crate::Document>::META;

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
        const SHAPE: crate::model::shape::StructShape = crate::model::shape::StructShape {
            ty: None,
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

    /// The path and the message of the error of reading a document as a `T`.
    fn failing<T: DeserializeOwned + std::fmt::Debug>(doc: Document) -> (String, String) {
        let raw = RawDocumentBuf::try_from(&doc).expect("encodes");
        match decode::<T>(PEOPLE, &raw) {
            Err(Error::Decode { path, message, .. }) => (path, message),
            other => panic!("not a decode error: {other:?}"),
        }
    }

    #[test]
    fn the_path_is_found_by_reading_and_not_by_names() {
        // Another `city` fits, fields that are not declared are in between, and the same message can come from several values.
        let person = doc! {
            "city": "Bern", "fullName": "Ada", "more": { "city": 1 },
            "addresses": [{ "city": "Bern", "zip": 1 }, { "zip": 1, "else": { "city": 1 } }, { "city": "Basel" }, { "zip": 2 }],
            "scores": {}, "zip": "x",
        };
        let (_, _, path, message) = failure(person);
        assert_eq!(
            (path.as_str(), message.as_str()),
            ("addresses.1.city", "missing field `city`")
        );
        let (_, _, path, _) = failure(doc! { "scores": { "chess": 1 }, "addresses": [{ "city": "Bern" }] });
        assert_eq!(
            path, "fullName",
            "what is missing is missing at the end, and not in the field that was read last"
        );
        let (_, _, path, _) = failure(doc! { "fullName": "Ada", "addresses": { "city": "Bern" } });
        assert_eq!(path, "addresses", "a document in the place of an array");
        let (_, _, path, message) = failure(doc! { "fullName": "Ada", "contact": "Fax" });
        assert_eq!(path, "contact");
        assert!(message.starts_with("unknown variant `Fax`"), "{message}");
        let (_, _, path, _) = failure(doc! { "fullName": "Ada", "contact": { "Mail": {} } });
        assert_eq!(path, "contact.Mail.address");
        let many: Vec<_> = (0..1_000)
            .map(|n| doc! { "city": "Bern", "zip": if n == 777 { Bson::from(1.5) } else { n.into() } })
            .collect();
        assert_eq!(
            failure(doc! { "fullName": "Ada", "addresses": many, "contact": 5 }).2,
            "addresses.777.zip"
        );
    }

    #[test]
    fn tuples_maps_and_unknown_fields_are_followed() {
        #[derive(Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)]
        struct Strict {
            pair: (i32, String),
            nested: Option<Vec<Option<(u8, u8)>>>,
            days: BTreeMap<Day, Vec<i64>>,
        }
        #[derive(Deserialize, Debug, PartialEq, Eq, PartialOrd, Ord)]
        enum Day {
            Mon,
            Tue,
        }
        let strict = |name: &str, value: Bson| {
            let mut document = doc! { "pair": [1, "x"], "nested": [[1, 2]], "days": { "Mon": [1] } };
            document.insert(name, value);
            failing::<Strict>(document)
        };
        for (name, value, at, said) in [
            (
                "pair",
                Bson::from(vec![Bson::from(1), Bson::from(2)]),
                "pair.1",
                "expected a string",
            ),
            ("pair", vec![1].into(), "pair", "invalid length 1"),
            (
                "nested",
                vec![vec![1, 2], vec![1, 300]].into(),
                "nested.1.1",
                "integer `300`, expected u8",
            ),
            (
                "nested",
                vec![Bson::Null, vec![1].into()].into(),
                "nested.1",
                "invalid length 1",
            ),
            (
                "days",
                doc! { "Mon": [1], "Tue": ["x"] }.into(),
                "days.Tue.0",
                "expected i64",
            ),
            (
                "days",
                doc! { "Mon": [1], "Sun": [1] }.into(),
                "days.Sun",
                "unknown variant `Sun`",
            ),
            ("other", 1.into(), "other", "unknown field `other`"),
        ] {
            let (path, message) = strict(name, value);
            assert_eq!(path, at, "{message}");
            assert!(message.contains(said), "{message}");
        }
    }

    #[test]
    fn the_path_through_a_buffer_is_followed_as_far_as_possible() {
        #[derive(Deserialize, Debug)]
        #[allow(dead_code)]
        struct Flat {
            name: String,
            #[serde(flatten)]
            rest: Rest,
            zone: String,
        }
        #[derive(Deserialize, Debug)]
        #[allow(dead_code)]
        struct Rest {
            n: i32,
            place: Place,
        }
        #[derive(Deserialize, Debug)]
        #[allow(dead_code)]
        struct Place {
            x: i32,
        }
        let flat = |n: Bson, place: Document| {
            failing::<Flat>(doc! { "name": "a", "n": n, "place": place, "zone": "z" }).0
        };
        assert_eq!(flat("x".into(), doc! { "x": 1 }), "n");
        assert_eq!(flat(1.into(), doc! { "x": "x" }), "place.x");
        assert_eq!(flat(1.into(), doc! {}), "place.x");
        #[derive(Deserialize, Debug)]
        #[serde(tag = "type")]
        #[allow(dead_code)]
        enum Tagged {
            Point { x: i32, y: i32 },
        }
        #[derive(Deserialize, Debug)]
        #[serde(untagged)]
        #[allow(dead_code)]
        enum Untagged {
            Number(i32),
            Point { x: i32 },
        }
        #[derive(Deserialize, Debug)]
        #[allow(dead_code)]
        struct Both {
            tagged: Tagged,
            untagged: Untagged,
        }
        let both = |tagged: Document, untagged: Bson| {
            failing::<Both>(doc! { "tagged": tagged, "untagged": untagged })
        };
        let point = || doc! { "type": "Point", "x": 1, "y": 2 };
        assert_eq!(
            both(doc! { "type": "Point", "x": 1, "y": "y" }, 1.into()).0,
            "tagged.y"
        );
        assert_eq!(both(doc! { "type": "Line" }, 1.into()).0, "tagged.type");
        assert_eq!(both(doc! { "type": "Point", "y": 2 }, 1.into()).0, "tagged.x");
        let (path, message) = both(point(), doc! { "x": "x" }.into());
        assert_eq!(path, "untagged", "{message}");
        assert!(message.contains("untagged enum"), "{message}");
    }

    #[test]
    fn a_refusal_by_the_type_itself_ends_the_path_at_its_value() {
        #[derive(Deserialize, Debug)]
        #[serde(try_from = "Span")]
        #[allow(dead_code)]
        struct Forward(Span);
        #[derive(Deserialize, Debug)]
        #[allow(dead_code)]
        struct Span {
            from: i32,
            to: i32,
        }
        impl TryFrom<Span> for Forward {
            type Error = &'static str;
            fn try_from(span: Span) -> std::result::Result<Self, Self::Error> {
                if span.from > span.to {
                    Err("it ends before it begins")
                } else {
                    Ok(Forward(span))
                }
            }
        }
        #[derive(Deserialize, Debug)]
        #[allow(dead_code)]
        struct Plan {
            spans: Vec<Forward>,
        }
        let plan = |second: Document| failing::<Plan>(doc! { "spans": [{ "from": 1, "to": 2 }, second] });
        assert_eq!(
            plan(doc! { "from": 2, "to": 1, "n": 1 }),
            ("spans.1".to_owned(), "it ends before it begins".to_owned())
        );
        assert_eq!(plan(doc! { "from": 2, "to": "x" }).0, "spans.1.to");
    }

    #[test]
    fn the_message_is_one_sentence() {
        let raw = RawDocumentBuf::try_from(&doc! { "_id": 7, "fullName": 5 }).expect("encodes");
        let error = decode::<Address>(PEOPLE, &raw).expect_err("does not fit");
        assert_eq!(
            error.to_string(),
            "people: the document with _id 7 can't be decoded as `Address`: `city`: missing field `city`"
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
