//! Children that name the document twice.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "reviews")]
struct Review {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref]
    product: Ref<Product>,
    #[parent_ref]
    other: Ref<Product>,
    stars: i32,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[computed(avg = Review.stars)]
    rating: Average,
}

fn main() {}
