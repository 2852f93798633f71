//! A subset of an embedded struct.
use odm::prelude::*;

#[derive(Embed, Clone)]
struct Review {
    text: String,
    stars: i32,
}

#[derive(Document)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[subset(of = Review, limit = 10, order(-stars), fields(text: String))]
    reviews: Vec<RecentReview>,
}

fn main() {}
