//! Documents expire by a field that is there, and that is a date.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "tokens", expire = until)]
struct Token {
    id: ObjectId,
}

#[derive(Document)]
#[document(collection = "carts", expire(field = changed, after = 60))]
struct Cart {
    id: ObjectId,
    changed: i64,
}

fn main() {}
