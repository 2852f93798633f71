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
    stars: i32,
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[computed(avg = Review.stars)]
    rating: Average,
}

fn main() {}
