//! Documents that name no parent.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "reviews")]
struct Review {
    id: ObjectId,
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
