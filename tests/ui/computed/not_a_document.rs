//! Values computed from an embedded struct.
use odm::prelude::*;

#[derive(Embed, Clone)]
struct Review {
    text: String,
    stars: i32,
}

#[derive(Document)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[computed(count = Review)]
    reviews: i64,
}

#[derive(Document)]
#[document(collection = "books")]
struct Book {
    id: ObjectId,
    #[computed(count = Review, filter = |r| r.stars.gt(3))]
    good: i64,
}

#[derive(Document)]
#[document(collection = "films")]
struct Film {
    id: ObjectId,
    #[computed(avg = Review.stars)]
    stars: Average,
}

#[derive(Document)]
#[document(collection = "shops")]
struct Shop {
    id: ObjectId,
    #[computed(max = Review.stars, by = shop)]
    stars: Option<i32>,
}

#[derive(Document)]
#[document(collection = "songs")]
struct Song {
    id: ObjectId,
    #[computed(first = Review.text, order(-stars))]
    best: Option<String>,
}

fn main() {}
