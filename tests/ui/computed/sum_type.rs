//! A sum in a smaller number.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "reviews")]
struct Review {
    id: ObjectId,
    #[parent_ref]
    product: Ref<Product>,
    text: String,
    stars: i32,
    /// How often it was read.
    views: i64,
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[computed(sum = Review.views)]
    views: i32,
}

fn main() {}
