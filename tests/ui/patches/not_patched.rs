//! `#[embed(patch)]` on a field needs the patch of its type.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "shops", patch)]
struct Shop {
    id: ObjectId,
    #[embed(patch)]
    address: Address,
}

#[derive(Embed)]
struct Address {
    city: String,
}

fn main() {}
