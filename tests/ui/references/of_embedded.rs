//! A reference to a struct that is no document.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Address {
    street: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference]
    home: Ref<Address>,
}

fn main() {}
