//! A default of what the library writes.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "products")]
struct Product {
    id: i32,
    #[computed(count = Review)]
    #[field(default = 3)]
    reviews: i64,
}

#[derive(Document)]
#[document(collection = "reviews")]
struct Review {
    id: i32,
    #[parent_ref]
    product: Ref<Product>,
}

fn main() {}
