//! Attributes of fields and of embedded types above a document.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users")]
#[index(email, unique)]
#[field(max_len = 100)]
#[reference(many)]
#[computed(count = User)]
#[volatile]
struct User {
    id: i32,
    email: String,
}

#[derive(Document)]
#[document(collection = "cities")]
#[embed(id)]
#[index]
struct City {
    id: i32,
    #[document(soft_delete)]
    deleted_at: Option<DateTime>,
}

fn main() {}
