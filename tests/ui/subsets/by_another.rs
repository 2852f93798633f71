//! A reference that is not to this document.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "shops")]
struct Shop {
    id: ObjectId,
}

#[derive(Document, Clone)]
#[document(collection = "reviews")]
struct Review {
    id: ObjectId,
    #[parent_ref]
    shop: Ref<Shop>,
    text: String,
    stars: i32,
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[subset(of = Review, limit = 10, order(-stars), fields(text: String), by = shop)]
    reviews: Vec<RecentReview>,
}

fn main() {}
