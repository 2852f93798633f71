//! Documents expire by a date, also behind a path.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Embed)]
struct Part {
    text: String,
}

#[derive(Document)]
#[document(collection = "things", index(fields(part.text), expire_after = 60))]
struct Thing {
    id: ObjectId,
    part: Part,
}

fn main() {}
