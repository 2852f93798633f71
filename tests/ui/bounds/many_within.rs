//! Many documents are as many in an enum without a tag, a tuple, a fixed array or an array of arrays.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Part {
    text: String,
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Text(String),
    Part(Part),
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(untagged)]
enum Named {
    Text(String),
    Part { text: String },
}

#[derive(Embed, Serialize, Deserialize)]
struct Row(#[embed(max = 5)] Vec<Part>);

#[derive(Embed, Serialize, Deserialize)]
struct Two(i32, Part);

#[derive(Embed, Serialize, Deserialize)]
struct Eithers(#[embed(max = 5000)] Vec<Either>);

#[derive(Embed, Serialize, Deserialize)]
struct AllNamed(#[embed(max = 5000)] Vec<Named>);

#[derive(Embed, Serialize, Deserialize)]
struct Tuples(#[embed(max = 5000)] Vec<(i32, Part)>);

#[derive(Embed, Serialize, Deserialize)]
struct Arrays(#[embed(max = 5000)] Vec<[Part; 2]>);

#[derive(Embed, Serialize, Deserialize)]
struct Rows(#[embed(max = 5000)] Vec<Row>);

#[derive(Embed, Serialize, Deserialize)]
struct Twos(#[embed(max = 5000)] Vec<Two>);

/// Without documents there may be many.
#[derive(Embed, Serialize, Deserialize)]
struct Numbers(#[embed(max = 5000)] Vec<(i32, [f64; 3])>);

fn main() {}
