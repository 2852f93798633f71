//! The item's type decides whether it is a document.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Embed)]
struct Part {
    text: String,
}

type Parts = Option<Vec<Part>>;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = 201)]
    parts: Parts,
}

fn main() {}
