//! A unique index compares as its collection does.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[index(unique, collation(locale = "en", strength = 2))]
    name: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "places", collation(locale = "de"))]
struct Place {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[index(unique, collation(locale = "en", numeric_ordering))]
    name: String,
}

fn main() {}
