//! `stored` of a map of texts, which odm knows.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use std::collections::BTreeMap;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = 3)]
    #[field(stored = BTreeMap<String, i32>)]
    texts: BTreeMap<String, Option<String>>,
}

fn main() {}
