//! Options of another kind of type or field.
use odm::prelude::*;

#[derive(Embed)]
#[embed(rename_all_fields = "camelCase", untagged)]
struct Address {
    street: String,
}

#[derive(Embed)]
#[embed(rename_all = "camelCase")]
struct Isbn(String);

#[derive(Embed)]
#[embed(transparent)]
enum Status {
    #[embed(rename_all = "camelCase")]
    New,
    #[embed(rename_all = "camelCase")]
    Old(i32),
}

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: i32,
    #[embed(depth = 3)]
    age: i32,
    #[field(skip)]
    #[volatile]
    seen: i32,
    #[field(skip, stored)]
    read: i32,
    #[reference]
    #[field(generate = next)]
    friend: Ref<User>,
    #[reference]
    #[field(default = Ref::new(3))]
    other: Ref<User>,
}

fn main() {}
