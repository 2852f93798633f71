//! A number that never follows.

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
    #[computed(count = Review, consistency = snapshot)]
    reviews: i64,
}

fn main() {}
