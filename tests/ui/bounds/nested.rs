//! The inner array has no bound.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = 3)]
    rows: Vec<Vec<f64>>,
}

fn main() {}
