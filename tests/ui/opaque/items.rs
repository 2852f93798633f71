//! Items without a shape.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = 3)]
    extra: Vec<bson::Bson>,
}

fn main() {}
