//! A builder is finished without fields that must be given.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "users", builder)]
struct User {
    #[serde(rename = "_id")]
    id: ObjectId,
    email: String,
    name: String,
    age: Option<i32>,
    #[serde(default)]
    points: i64,
}

fn wrong() {
    let _ = NewUser::builder().name("Kate").age(34).build();
    let _ = NewUser::builder().points(7).build();
}

fn main() {}
