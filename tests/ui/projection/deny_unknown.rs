//! More is read than a projection names, where something is joined to it or a page is read.

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
#[serde(deny_unknown_fields)]
struct Title {
    title: String,
}

fn main() {}
