//! A field with two words for its way in JSON, a word on what the library writes, and one on a flattened struct.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users", version)]
struct User {
    id: ObjectId,
    #[field(read_only, write_only)]
    name: String,
    #[field(write_only)]
    version: i64,
    #[field(private)]
    #[field(flatten)]
    address: Address,
    #[field(json = text)]
    city: String,
}

#[derive(Embed)]
struct Address {
    street: String,
}

fn main() {}
