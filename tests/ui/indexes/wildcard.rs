use odm::Document;
use std::collections::BTreeMap;

#[derive(Document)]
#[document(collection = "products")]
#[document(index(wildcard, include(name), exclude(notes)))]
#[document(index(fields(name), exclude(notes)))]
#[document(index(fields(wildcard(attributes), text(name))))]
struct Product {
    id: i32,
    #[index(wildcard, unique)]
    #[embed(max = 50, key_len = 40)]
    attributes: BTreeMap<String, String>,
    name: String,
    notes: String,
}

fn main() {}
