//! The enum lists its variants, and each says of which enum it is one.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "events")]
#[serde(tag = "type")]
enum Event {
    Login(Login),
    Logout(Logout),
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "logins")]
struct Login {
    #[serde(rename = "_id")]
    id: ObjectId,
}

#[derive(Document, Serialize, Deserialize)]
#[document(variant_of = Event)]
struct Logout {
    #[serde(rename = "_id")]
    id: ObjectId,
}

#[derive(Document, Serialize, Deserialize)]
#[document(variant_of = Event)]
struct Purchase {
    #[serde(rename = "_id")]
    id: ObjectId,
}

fn main() {}
