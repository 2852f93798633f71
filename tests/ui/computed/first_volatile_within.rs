//! A value with a part that changes often.

use odm::prelude::*;

#[derive(Embed, Clone)]
struct Readers {
    language: String,
    #[volatile]
    views: i64,
}

#[derive(Document, Clone)]
#[document(collection = "reviews")]
struct Review {
    id: ObjectId,
    #[parent_ref]
    product: Ref<Product>,
    readers: Readers,
    at: DateTime,
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[computed(first = Review.readers, order(-at))]
    newest: Option<Readers>,
}

fn main() {}
