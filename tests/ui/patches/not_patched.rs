//! `#[embed(patch)]` on a field needs the patch of its type.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "shops", patch)]
struct Shop {
    id: ObjectId,
    #[embed(patch)]
    address: Address,
    #[embed(patch)]
    second: Option<Address>,
    #[embed(patch)]
    name: String,
}

#[derive(Embed)]
struct Address {
    city: String,
}

fn main() {}
