//! A value with a part that changes often.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize, Clone)]
struct Readers {
    language: String,
    #[volatile]
    views: i64,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "reviews")]
struct Review {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref]
    product: Ref<Product>,
    readers: Readers,
    at: DateTime,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[computed(first = Review.readers, order(-at))]
    newest: Option<Readers>,
}

fn main() {}
