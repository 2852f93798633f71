//! The collection `products`.

use super::Review;
use odm::prelude::*;

/// A document of `products`: 20 were counted. Half of them have up to 383 bytes, the largest has
/// 383.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    pub id: ObjectId,
    pub name: String,
    // The number of the `reviews` that refer to it by `product`: 20 are, 0 are not.
    #[computed(count = Review)]
    pub reviews: i32,
    // The sum of the `reviews` that refer to it by `product`: 20 are, 0 are not.
    #[computed(sum = Review.stars)]
    pub stars: i64,
    // Items: always 3.
    // The first 3 of `reviews` by `at`: 20 arrays are, 0 are not.
    #[subset(of = Review, limit = 3, order(-at))]
    pub newest: Vec<ProductNewest>,
    // Items: always 3.
    #[embed(max = 10)]
    pub parts: Vec<ProductPart>,
}

/// `newest[]` of `products`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[denormalize(from = Review)]
pub struct ProductNewest {
    // Refers to `reviews._id`: 60 of 60 were found. 60 of 60 distinct values were found, and so were
    // the fields beside it.
    #[field(name = "_id")]
    pub id: Ref<Review>,
    // A copy: 60 equal `reviews.title`. 60 of 60 are equal; 60 distinct values, the commonest has 2 %.
    pub title: String,
}

/// `parts[].head` of `products`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductHead {
    #[embed(name = "flat")]
    Flat,
}

/// `parts[]` of `products`.
// Told by `type`: "plate" (20), "screw-m4" (20), "screw_m4" (20).
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(tag = "type")]
pub enum ProductPart {
    #[embed(name = "plate")]
    Plate {
        width: i32,
        height: i32,
    },
    #[embed(name = "screw-m4")]
    ScrewM4 {
        length: f64,
    },
    #[embed(name = "screw_m4")]
    ScrewM42 {
        length: f64,
        head: ProductHead,
    },
}
