//! Many documents are as many in an enum without a tag, a tuple, a fixed array or an array of arrays.
use odm::prelude::*;

#[derive(Embed)]
struct Part {
    text: String,
}

#[derive(Embed)]
#[embed(untagged)]
enum Either {
    Text(String),
    Part(Part),
}

#[derive(Embed)]
#[embed(untagged)]
enum Named {
    Text(String),
    Part { text: String },
}

#[derive(Embed)]
struct Row(#[embed(max = 5)] Vec<Part>);

#[derive(Embed)]
struct Two(i32, Part);

#[derive(Embed)]
struct Eithers(#[embed(max = 5000)] Vec<Either>);

#[derive(Embed)]
struct AllNamed(#[embed(max = 5000)] Vec<Named>);

#[derive(Embed)]
struct Tuples(#[embed(max = 5000)] Vec<(i32, Part)>);

#[derive(Embed)]
struct Arrays(#[embed(max = 5000)] Vec<[Part; 2]>);

#[derive(Embed)]
struct Rows(#[embed(max = 5000)] Vec<Row>);

#[derive(Embed)]
struct Twos(#[embed(max = 5000)] Vec<Two>);

/// Without documents there may be many.
#[derive(Embed)]
struct Numbers(#[embed(max = 5000)] Vec<(i32, [f64; 3])>);

fn main() {}
