use odm::Document;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "products")]
#[document(index(wildcard, include(name), exclude(notes)))]
#[document(index(fields(name), exclude(notes)))]
#[document(index(fields(wildcard(attributes), text(name))))]
struct Product {
    #[serde(rename = "_id")]
    id: i32,
    #[index(wildcard, unique)]
    #[embed(max = 50, key_len = 40)]
    attributes: BTreeMap<String, String>,
    name: String,
    notes: String,
}

fn main() {}
