//! What the documentation of `Document` shows of copies.

#![allow(dead_code)]

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "parts")]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    pub price: f64,
    #[volatile] // a copy of it does not compile
    pub qty: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    /// Makes `PartEntry { id: Ref<Part>, name: String }`.
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String))]
    pub parts: Vec<PartEntry>,
    /// The ten latest reviews.
    #[subset(of = Review, limit = 10, order(-at))]
    pub reviews: Vec<RecentReview>,
    #[computed(count = Review, filter = |r| r.stars.gte(4))]
    pub praised: i64,
    #[computed(avg = Review.stars)]
    pub rating: Average,
}

/// What the library keeps beside the copies stands within the reference here, so the struct may know all of its fields.
#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Fitting {
    #[reference]
    #[denormalize(from = Part, fields(name: String))]
    pub part: FittedPart,
    pub torque: f64,
}

/// What a product page shows of a review.
#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[denormalize(from = Review)]
pub struct RecentReview {
    pub id: Ref<Review>,
    pub text: String,
    pub at: DateTime,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "reviews")]
pub struct Review {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref]
    pub product: Ref<Product>,
    #[denormalize(from = product.name)]
    pub product_name: String,
    pub text: String,
    pub stars: i32,
    pub at: DateTime,
}

fn main() -> odm::Result<()> {
    // The application names the parts; the library reads what is copied of them.
    let bolt = Ref::<Part>::new(ObjectId::new());
    let new = NewProduct {
        name: "smoke shifter".into(),
        parts: vec![bolt],
    };
    let with_bolts = Product::paths().parts.contains(bolt);
    assert_eq!(
        with_bolts.into_document()?,
        odm::bson::doc! { "parts.id": { "$eq": bolt.into_key() } },
    );
    Ok(())
}
