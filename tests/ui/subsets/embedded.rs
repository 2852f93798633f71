//! A subset in an embedded struct.

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
    stars: i32,
    #[volatile]
    views: i64,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: ObjectId,
}

#[derive(Embed, Serialize, Deserialize, Clone)]
struct Summary {
    #[subset(of = Review, limit = 10, order(-stars), fields(text: String))]
    reviews: Vec<RecentReview>,
}

fn main() {}
