//! A strength that does not exist.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[index(collation(locale = "en", strength = 9))]
    name: String,
}

fn main() {}
