use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    // Generates ReviewEntry { id: Ref<Review>, date: DateTime, text: String }
    #[subset(
        of = Review, limit = 10, order(-date),
        fields(date: DateTime, text: String)
    )]
    pub reviews: Vec<ReviewEntry>,
    #[computed(count = Review)]
    pub review_count: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref(order(-date), on_delete = cascade)]
    pub product: Ref<Product>,
    pub date: DateTime,
    #[field(min = 1, max = 5)]
    pub stars: i32,
    #[field(max_len = 2_000)]
    pub text: String,
}
