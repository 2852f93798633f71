//! The same index twice.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", index(fields(name)))]
struct Thing {
    id: ObjectId,
    #[index]
    name: String,
}

fn main() {}
