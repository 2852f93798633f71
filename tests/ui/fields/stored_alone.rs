//! `stored` is for fields with a form of their own.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[field(stored = String)]
    name: String,
}

fn main() {}
