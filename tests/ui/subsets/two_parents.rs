//! Children that name the document twice.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "reviews")]
struct Review {
    id: ObjectId,
    #[parent_ref]
    product: Ref<Product>,
    #[parent_ref]
    other: Ref<Product>,
    text: String,
    stars: i32,
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[subset(of = Review, limit = 10, order(-stars), fields(text: String))]
    reviews: Vec<RecentReview>,
}

fn main() {}
