//! An index on a whole struct, or on a map, holds their bytes.
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "people", index(fields(work)))]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed]
    #[index(unique)]
    home: Address,
    #[embed]
    work: Address,
    #[embed(max = 5)]
    #[index]
    hours: BTreeMap<String, i32>,
    #[embed(max = 5)]
    #[index]
    tags: Vec<String>,
    #[index]
    zip: Zip,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Address {
    city: String,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Zip(String);

fn main() {}
