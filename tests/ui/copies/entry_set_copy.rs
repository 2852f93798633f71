//! An update of a copy in an array.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
    #[volatile]
    qty: i32,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(many, max = 20)]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

async fn write(products: odm::Collection<Product>, id: ObjectId) -> odm::Result<()> {
    products.update(id).each(|p| p.parts, |part| part.set(|p| p.name, "bolt")).await?;
    Ok(())
}

fn main() {
    let _ = write;
}
