//! A type that nothing is known of.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Foreign;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    extra: Foreign,
}

fn main() {}
