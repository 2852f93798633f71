//! The fixes that the messages on documents, ids, indexes, serde attributes and projections offer.
use mongodb::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Document, Serialize, Deserialize)]
#[document(
    collection = "things",
    timestamps(created = since, updated = changed),
    version(revision),
    validation(level = moderate, action = warn),
    index(fields(text(name), text(note, weight = 5))),
    index(fields(name, -part.text), sparse),
    index(fields(geo(place))),
    index(fields(hashed(name))),
    index(fields(part.at), expire_after = 2592000),
    new(derive(Clone, Debug, Serialize, Deserialize))
)]
#[serde(rename_all = "camelCase")]
struct Thing {
    #[serde(rename = "_id")]
    id: Isbn,
    #[index(name = "by_name", collation(locale = "en", strength = 2, numeric_ordering))]
    #[index(desc)]
    #[serde(alias = "title")]
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
    #[embed(max = 3)]
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    words: Vec<String>,
    part: Part,
    #[embed(max = 2)]
    place: Vec<f64>,
    #[index(expire_after = 3600)]
    since: DateTime,
    changed: DateTime,
    revision: i64,
    #[serde(skip)]
    cached: Option<String>,
    #[serde(with = "form")]
    #[field(stored = String)]
    formed: String,
    #[serde(flatten)]
    flat: Flat,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "shared")]
struct Shared {
    id: ObjectId,
    name: String,
    #[embed(max = 3)]
    tags: Vec<Option<Arc<String>>>,
    #[field(skip)]
    cached: Option<i32>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[embed(id)]
struct Isbn(#[field(max_len = 13)] String);

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Part {
    text: String,
    at: Option<DateTime>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Flat {
    inside: i32,
}

mod form {
    pub fn serialize<S: serde::Serializer>(value: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(value)
    }
    pub fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        serde::Deserialize::deserialize(deserializer)
    }
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "movies", timestamps, version)]
struct Movie {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[serde(rename = "t")]
    title: String,
    thing: Isbn,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

#[derive(Projection, Deserialize)]
#[projection(of = Movie)]
struct Title {
    #[serde(rename = "t")]
    title: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "pages")]
struct Page<T> {
    #[serde(rename = "_id")]
    id: i32,
    #[index]
    item: T,
    #[embed(max = 3)]
    items: Vec<T>,
}

fn collection<T: odm::Document>() {}

pub(crate) fn main() {
    collection::<Page<Option<String>>>();
}
