//! Attributes of fields and of documents above embedded types and their variants.
use odm::prelude::*;

#[derive(Embed)]
#[field(max_len = 13)]
struct Isbn(String);

#[derive(Embed)]
#[volatile]
#[index(street)]
struct Address {
    street: String,
    #[bucket(of = User)]
    visits: i32,
}

#[derive(Embed)]
#[reference]
enum Payment {
    #[field(max_len = 4)]
    Card { number: String },
    #[reference]
    Invoice(i32),
    #[index]
    Cash { paid: i32 },
    #[volatile]
    Free,
    #[document(name = "none")]
    None,
    #[denormalize(from = User)]
    Split { parts: i32 },
}

#[derive(Embed)]
#[document(rename_all = "camelCase")]
struct Place {
    zip_code: String,
}

fn main() {}
