//! A nested field that does not exist.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Embed)]
struct Part {
    text: String,
}

#[derive(Document)]
#[document(collection = "things", index(fields(part.txt, -part.text)))]
struct Thing {
    id: ObjectId,
    part: Part,
}

fn main() {}
