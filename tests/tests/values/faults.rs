//! The paths and the words of errors of stored documents that do not fit their type.

use odm::Error;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm_tests::with_db;
use std::collections::BTreeMap;

#[derive(Document, Debug)]
#[document(collection = "people")]
#[allow(dead_code)]
struct Person {
    id: i32,
    #[field(name = "fullName")]
    name: String,
    #[field(default)]
    #[embed(max = 2000, large = "a thousand of them")]
    addresses: Vec<Address>,
    #[field(default)]
    #[embed(max = 9)]
    scores: BTreeMap<String, i32>,
    contact: Option<Contact>,
    size: Option<Size>,
    either: Option<Either>,
    pair: Option<(i32, String)>,
    #[field(flatten)]
    place: Place,
}

#[derive(Embed, Debug)]
struct Address {
    city: String,
    zip: Option<i32>,
}

#[derive(Embed, Debug)]
enum Contact {
    Mail { address: String },
    Phone(i64),
}

#[derive(Embed, Debug)]
#[embed(tag = "type")]
enum Size {
    Area { x: i32 },
}

#[derive(Embed, Debug)]
#[embed(untagged)]
enum Either {
    Number(i32),
    Area { x: i32 },
}

#[derive(Embed, Debug)]
struct Place {
    floor: i32,
}

/// The path and the message of a document with these fields in the place of those that fit.
fn failure(wrong: Raw) -> (String, String) {
    let mut document = doc! { "_id": 1, "fullName": "Ada", "floor": 1 };
    document.extend(wrong);
    match odm::from_document::<Person>(&document) {
        Err(Error::Decode { path, message, .. }) => (path, message),
        other => panic!("{other:?}"),
    }
}

#[odm_tests::test]
fn an_error_leads_to_the_value() {
    with_db(async |_| {
        let many: Vec<_> = (0..1_000)
            .map(|n| doc! { "city": "Bern", "zip": if n == 777 { Bson::from(1.5) } else { n.into() } })
            .collect();
        for (wrong, path, message) in [
            (doc! { "fullName": 5 }, "fullName", "expected string, found int"),
            (
                doc! { "addresses": [{ "city": "Bern" }, { "zip": 1 }] },
                "addresses.1.city",
                "missing field `city`",
            ),
            (
                doc! { "addresses": [{ "city": "Bern", "zip": "x" }] },
                "addresses.0.zip",
                "expected i32, found string",
            ),
            (
                doc! { "addresses": many },
                "addresses.777.zip",
                "the number is out of the range of `i32`",
            ),
            (
                doc! { "addresses": { "city": "Bern" } },
                "addresses",
                "expected array, found object",
            ),
            (
                doc! { "scores": { "chess": "high" } },
                "scores.chess",
                "expected i32, found string",
            ),
            (
                doc! { "contact": { "Phone": "no" } },
                "contact.Phone",
                "expected i64, found string",
            ),
            (
                doc! { "contact": { "Mail": {} } },
                "contact.Mail.address",
                "missing field `address`",
            ),
            (
                doc! { "contact": "Fax" },
                "contact",
                "unknown variant, expected one of: Mail, Phone",
            ),
            (
                doc! { "size": { "type": "Line" } },
                "size.type",
                "unknown variant, expected one of: Area",
            ),
            (
                doc! { "size": { "type": "Area", "x": "x" } },
                "size.x",
                "expected i32, found string",
            ),
            (
                doc! { "either": { "x": "x" } },
                "either.x",
                "expected i32, found string",
            ),
            (doc! { "pair": [1, 2] }, "pair.1", "expected string, found int"),
            (doc! { "floor": "x" }, "floor", "expected i32, found string"),
        ] {
            let shown = wrong.to_string();
            assert_eq!(failure(wrong), (path.to_owned(), message.to_owned()), "{shown}");
        }
    });
}

#[odm_tests::test]
fn an_error_repeats_no_stored_value() {
    with_db(async |_| {
        let (_, message) = failure(doc! { "addresses": [{ "city": "Bern", "zip": "secret" }] });
        assert!(!message.contains("secret"), "{message}");
        let (_, message) = failure(doc! { "contact": "secret" });
        assert!(!message.contains("secret"), "{message}");
    });
}
