//! An option that does not exist.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[field(maxlen = 10)]
    name: String,
}

fn main() {}
