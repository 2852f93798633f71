//! An index on a whole struct, or on a map, holds their bytes.
use odm::prelude::*;
use std::collections::BTreeMap;

#[derive(Document, Clone, Debug)]
#[document(collection = "people", index(fields(work)))]
struct Person {
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

#[derive(Embed, Clone, Debug)]
struct Address {
    city: String,
}

#[derive(Embed, Clone, Debug)]
struct Zip(String);

fn main() {}
