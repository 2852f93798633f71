//! Ordered by what changes often.

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
    #[volatile]
    views: i64,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[subset(of = Review, limit = 10, order(-views), fields(text: String))]
    reviews: Vec<MostRead>,
}

fn main() {}
