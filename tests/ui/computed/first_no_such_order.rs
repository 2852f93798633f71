//! An order by a field that the child does not have.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "reviews")]
struct Review {
    id: ObjectId,
    #[parent_ref]
    product: Ref<Product>,
    text: String,
    at: DateTime,
    #[volatile]
    views: i64,
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[computed(first = Review.text, order(-date))]
    newest: Option<String>,
}

fn main() {}
