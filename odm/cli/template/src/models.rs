//! The documents of the shop.

use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    pub id: ObjectId,
    #[field(max_len = 80)]
    pub name: String,
    #[volatile] // changes often: a copy of it does not compile
    pub qty: i32,
}

/// A product page reads this document alone.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    pub id: ObjectId,
    #[index(unique)]
    #[field(max_len = 80)]
    pub name: String,
    #[embed(max = 5)] // without a bound it does not compile
    pub pictures: Vec<Picture>,
    #[reference(many, max = 200)]
    #[denormalize(from = Part, fields(name: String))] // PartEntry { id, name }
    pub parts: Vec<PartEntry>,
    #[subset(of = Review, limit = 10, order(-at), fields(at: DateTime, stars: i32))]
    pub newest: Vec<NewestEntry>,
    #[computed(avg = Review.stars)]
    pub rating: Average,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Picture {
    #[field(max_len = 200)]
    pub url: String,
    pub width: i32,
}

/// A product has any number of them. The ten newest are in the product, too.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    pub id: ObjectId,
    #[parent_ref(order(-at), on_delete = cascade)] // index { product: 1, at: -1 }
    pub product: Ref<Product>,
    pub at: DateTime,
    #[field(min = 1, max = 5)]
    pub stars: i32,
    #[field(max_len = 2_000)]
    pub text: String,
}
