//! `#[embed(patch)]` on a field needs the patch of its type.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "shops", patch)]
struct Shop {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(patch)]
    address: Address,
}

#[derive(Embed, Serialize, Deserialize)]
struct Address {
    city: String,
}

fn main() {}
