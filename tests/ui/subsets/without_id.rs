//! Elements without an id, of children that change.

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

#[derive(Embed, Clone)]
#[denormalize(from = Review)]
struct RecentReview {
    text: String,
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[subset(of = Review, limit = 10, order(-stars))]
    reviews: Vec<RecentReview>,
}

fn main() {}
