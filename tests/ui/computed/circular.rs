//! Fields that are derived from themselves in the end: by a computed field, a subset, and copies beside a reference.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "hens")]
struct Hen {
    id: ObjectId,
    #[computed(max = Egg.weight)]
    weight: Option<i32>,
}

#[derive(Document)]
#[document(collection = "eggs")]
struct Egg {
    id: ObjectId,
    #[parent_ref]
    hen: Ref<Hen>,
    #[denormalize(from = hen.weight)]
    weight: Option<i32>,
}

// The best part of a tool, by a value that the parts have from the tool.
#[derive(Document)]
#[document(collection = "tools")]
struct Tool {
    id: ObjectId,
    #[computed(first = Part.name, order(-tool.best))]
    best: Option<String>,
}

#[derive(Document)]
#[document(collection = "parts")]
struct Part {
    id: ObjectId,
    name: String,
    #[parent_ref]
    #[denormalize(from = Tool, fields(best: Option<String>))]
    tool: ToolEntry,
}

// The newest reviews, by a time that is taken from them.
#[derive(Document)]
#[document(collection = "films")]
struct Film {
    id: ObjectId,
    #[subset(of = Review, limit = 5, order(-at), fields(at: Option<i32>))]
    reviews: Vec<RecentReview>,
    #[computed(last = Review.at, order(at))]
    latest: Option<i32>,
}

#[derive(Document)]
#[document(collection = "reviews")]
struct Review {
    id: ObjectId,
    #[parent_ref]
    film: Ref<Film>,
    #[denormalize(from = film.latest)]
    at: Option<i32>,
}

// Copies in an embedded struct.
#[derive(Document)]
#[document(collection = "customers")]
struct Customer {
    id: ObjectId,
    #[computed(first = Order.number, order(-line.rebate))]
    rebate: Option<i32>,
}

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    id: ObjectId,
    number: i32,
    #[parent_ref]
    customer: Ref<Customer>,
    line: Line,
}

#[derive(Embed)]
struct Line {
    #[reference]
    of: Ref<Customer>,
    #[denormalize(from = of.rebate)]
    rebate: Option<i32>,
}

fn main() {}
