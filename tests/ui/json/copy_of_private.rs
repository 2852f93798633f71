//! What JSON hides in one document, no copy and no computed field shows.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: i32,
    name: String,
    #[field(private)]
    email: String,
    #[field(write_only)]
    phone: String,
    // Hides what it holds.
    #[computed(max = Bid.limit)]
    #[field(private)]
    highest: Option<i64>,
    // Tells no limit.
    #[computed(sum = Bid.limit)]
    together: i64,
    #[computed(min = Bid.limit)]
    lowest: Option<i64>,
    #[computed(first = Bid.limit, order(id))]
    first: Option<i64>,
    #[subset(of = Bid, limit = 3, order(id), fields(limit: i64))]
    bids: Vec<BidEntry>,
}

#[derive(Document)]
#[document(collection = "bids")]
struct Bid {
    id: i32,
    #[parent_ref]
    user: Ref<User>,
    #[field(private)]
    limit: i64,
    #[denormalize(from = user.name)]
    name: String,
    #[denormalize(from = user.email)]
    email: String,
    #[denormalize(from = user.email)]
    #[field(private)]
    also_email: String,
    #[denormalize(from = user.phone)]
    phone: String,
}

#[derive(Embed)]
#[denormalize(from = User)]
struct Author {
    id: Ref<User>,
    name: String,
    email: String,
    #[field(private)]
    phone: String,
}

fn main() {}
