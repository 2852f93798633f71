//! A flattened struct has no value of its own, so a patch sets its fields one by one; and so does `#[embed(patch)]`.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "shops", patch)]
struct Shop {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[serde(flatten)]
    address: Address,
    #[embed(max = 5, patch)]
    branches: Vec<Address>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "stalls")]
struct Stall {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(patch)]
    address: Address,
}

#[derive(Embed, Serialize, Deserialize)]
struct Address {
    city: String,
}

#[derive(Embed, Serialize, Deserialize)]
#[embed(patch)]
enum Status {
    Open,
    Closed,
}

fn main() {}
