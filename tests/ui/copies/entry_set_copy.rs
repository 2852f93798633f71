//! An update of a copy in an array.

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

async fn write(products: odm::Collection<Product>, id: ObjectId) -> odm::Result<()> {
    products.update(id).each(|p| p.parts, |part| part.set(|p| p.name, "bolt")).await?;
    Ok(())
}

fn main() {
    let _ = write;
}
