//! A unique index compares as its collection does.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: ObjectId,
    #[index(unique, collation(locale = "en", strength = 2))]
    name: String,
}

#[derive(Document)]
#[document(collection = "places", collation(locale = "de"))]
struct Place {
    id: ObjectId,
    #[index(unique, collation(locale = "en", numeric_ordering))]
    name: String,
}

fn main() {}
