//! An update of a subset.

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
    #[subset(of = Review, limit = 10, order(-stars), fields(text: String))]
    reviews: Vec<RecentReview>,
}

async fn write(products: odm::Collection<Product>, id: ObjectId) -> odm::Result<()> {
    products.update(id).pop(|p| p.reviews).await?;
    Ok(())
}

fn main() {
    let _ = write;
}
