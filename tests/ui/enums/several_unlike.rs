//! A field of all variants is declared alike in each of them.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "events", common(at: DateTime, text: String))]
#[serde(tag = "type")]
enum Event {
    Login(Login),
    Error(Failure),
    Deploy(Deploy),
}

#[derive(Document, Serialize, Deserialize)]
#[document(variant_of = Event)]
struct Login {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: DateTime,
    #[serde(rename = "message")]
    text: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(variant_of = Event)]
struct Failure {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: i64,
    text: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(variant_of = Event, version)]
struct Deploy {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: DateTime,
    text: String,
    version: i64,
}

fn main() {}
