use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "movies")]
struct Movie {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
}

#[derive(Projection, Deserialize)]
#[projection(of = Movie)]
#[serde(transparent)]
struct Title {
    title: String,
}

fn main() {}
