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

#[derive(Embed)]
#[embed(untagged, rename_all = "camelCase")]
enum Contact {
    #[embed(name = "mail")]
    Email { email: String },
    Phone(i64),
}

#[derive(Embed)]
#[embed(derive(Debug))]
struct Place {
    #[serde(renam = "c")]
    city: String,
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
    #[field(skip, name = "w")]
    written: i32,
    #[field(flatten, name = "p")]
    place: Place,
    #[embed(max = 3)]
    #[field(json = text)]
    names: Vec<String>,
    #[reference]
    #[field(generate = next)]
    friend: Ref<User>,
    #[reference]
    #[field(default = Ref::new(3))]
    other: Ref<User>,
}

fn main() {}
