//! A reference to another document, pushed.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "parts")]
struct Part {
    id: ObjectId,
    name: String,
    #[volatile]
    qty: i32,
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[reference(many, max = 20)]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

async fn write(products: odm::Collection<Product>, id: ObjectId, other: Ref<Product>) -> odm::Result<()> {
    products.update(id).push(|p| p.parts, other).await?;
    Ok(())
}

fn main() {
    let _ = write;
}
