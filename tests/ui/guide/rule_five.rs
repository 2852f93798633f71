use odm::prelude::*;
use serde::{Deserialize, Serialize};
#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "parts")]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    #[volatile]
    pub qty: i32,
}
#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String, qty: i32))] // error: `qty`
    pub parts: Vec<PartEntry>,
}

fn main() {}
