//! The text of the newest child as a number.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "reviews")]
struct Review {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref]
    product: Ref<Product>,
    text: String,
    at: DateTime,
    #[volatile]
    views: i64,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[computed(first = Review.text, order(-at))]
    newest: Option<i64>,
}

fn main() {}
