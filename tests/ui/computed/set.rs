//! An update of a computed number.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "reviews")]
struct Review {
    id: ObjectId,
    #[parent_ref]
    product: Ref<Product>,
    text: String,
    stars: i32,
    #[volatile]
    views: i64,
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[computed(count = Review)]
    reviews: i64,
}

async fn write(products: odm::Collection<Product>, id: ObjectId) -> odm::Result<()> {
    products.update(id).inc(|p| p.reviews, 1).await?;
    Ok(())
}

fn main() {
    let _ = write;
}
