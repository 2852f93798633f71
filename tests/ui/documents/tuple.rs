//! Fields have names.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing(ObjectId, String);

fn main() {}
