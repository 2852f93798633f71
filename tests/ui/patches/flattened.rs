//! A flattened struct has no value of its own, so a patch sets its fields one by one; and so does `#[embed(patch)]`.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "shops", patch)]
struct Shop {
    id: ObjectId,
    #[field(flatten)]
    address: Address,
    #[embed(max = 5, patch)]
    branches: Vec<Address>,
}

#[derive(Document)]
#[document(collection = "stalls")]
struct Stall {
    id: ObjectId,
    #[embed(patch)]
    address: Address,
}

#[derive(Embed)]
struct Address {
    city: String,
}

#[derive(Embed)]
#[embed(patch)]
enum Status {
    Open,
    Closed,
}

fn main() {}
