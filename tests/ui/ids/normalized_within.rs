//! An id is stored as it is given.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[embed(id)]
struct Email(#[field(max_len = 100, normalize(lowercase))] String);

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    id: Email,
}

fn main() {}
