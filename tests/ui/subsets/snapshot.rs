//! A subset that never follows.

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
    #[subset(of = Review, limit = 10, order(-stars), fields(text: String), consistency = snapshot)]
    reviews: Vec<RecentReview>,
}

fn main() {}
