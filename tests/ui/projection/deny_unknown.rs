//! More is read than a projection names, where something is joined to it or a page is read.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "movies")]
struct Movie {
    id: i32,
    title: String,
}

#[derive(Projection)]
#[projection(of = Movie)]
#[serde(deny_unknown_fields)]
struct Title {
    title: String,
}

fn main() {}
