use odm::prelude::*;

#[derive(Document)]
#[document(collection = "movies")]
struct Movie {
    id: i32,
    title: String,
}

#[derive(Projection)]
#[projection(of = Movie)]
#[serde(transparent)]
struct Title {
    title: String,
}

fn main() {}
