//! Rule three: many documents are not embedded.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Embed)]
struct Part {
    text: String,
}

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = 5000)]
    parts: Vec<Part>,
}

fn main() {}
