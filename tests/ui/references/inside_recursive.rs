//! A reference below a type that contains itself.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    email: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Signature {
    #[reference]
    author: Ref<Person>,
}

#[derive(Embed, Serialize, Deserialize)]
struct Comment {
    #[embed]
    by: Signature,
    #[embed(max = 5, depth = 3)]
    answers: Vec<Comment>,
}

fn main() {}
