//! A product with what is counted, summed and averaged of its reviews.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[computed(count = Review)]
    pub reviews: i64,
    #[computed(count = Review, filter = |r| r.stars.gte(4))]
    pub good: i64,
    #[computed(sum = Review.helpful)]
    pub helpful: i64,
    #[computed(avg = Review.stars)]
    pub rating: Average,
    #[computed(min = Review.stars)]
    pub worst: Option<i32>,
    #[computed(max = Review.stars)]
    pub best: Option<i32>,
    #[computed(first = Review.text, order(-date))]
    pub newest: Option<String>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref(order(-date), on_delete = cascade)]
    pub product: Ref<Product>,
    pub date: DateTime,
    pub stars: i32,
    pub helpful: i32, // the number of readers that the review has helped
    pub text: String,
}
