use odm::prelude::*;
use serde::{Deserialize, Serialize};
#[derive(Embed, Serialize, Deserialize)]
pub struct Review {
    pub text: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[embed(max = 5000)]
    pub reviews: Vec<Review>, // error: rule three
}

fn main() {}
