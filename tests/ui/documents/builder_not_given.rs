//! A builder is finished without fields that must be given.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users", builder)]
struct User {
    id: ObjectId,
    email: String,
    name: String,
    age: Option<i32>,
    #[field(default)]
    points: i64,
}

fn wrong() {
    let _ = NewUser::builder().name("Kate").age(34).build();
    let _ = NewUser::builder().points(7).build();
}

fn main() {}
