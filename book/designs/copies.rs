//! Three kinds of copies.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "suppliers")]
pub struct Supplier {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[volatile] // changes often: a copy of it does not compile
    pub qty: i32,
    #[reference]
    pub supplier: Ref<Supplier>,
    #[denormalize(from = supplier.name)]
    pub maker: String, // 1: a field beside a reference
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    // 2: an entry for each reference of an array. Generates the struct
    // PartEntry { id: Ref<Part>, name: String, maker: String }
    // 3: `maker` is a copy of a copy
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String, maker: String))]
    pub parts: Vec<PartEntry>,
}
