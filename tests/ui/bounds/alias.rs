//! The type decides, not how it is written.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

type Tags = Vec<String>;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    tags: Tags,
}

fn main() {}
