//! The fixes that the messages on arrays, opaque values and recursion offer.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

type Tags = Vec<String>;

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(max = 20)]
    tags: Vec<String>,
    #[embed(max = 20)]
    aliased: Tags,
    #[embed(max = 20)]
    optional: Option<Vec<String>>,
    #[embed(max = 20)]
    boxed: Box<BTreeSet<String>>,
    #[embed(max = 20, key_len = 50)]
    counts: Option<HashMap<String, i64>>,
    #[embed(max = 500, large = "read as a whole with every page")]
    many: Vec<Part>,
    #[embed(max = 200)]
    few: Vec<Part>,
    #[embed(max = 5000)]
    scalars: Vec<ObjectId>,
    #[embed]
    one: Option<Part>,
    #[field(max_len = 1024)]
    data: bson::Binary,
    #[embed(max = 20)]
    bytes: Vec<u8>,
    #[embed(max = 20)]
    rows: Vec<Row>,
    #[field(opaque)]
    any: bson::Bson,
    #[field(opaque)]
    document: Option<bson::Document>,
    #[field(opaque)]
    json: serde_json::Value,
    #[field(opaque)]
    unbounded: Vec<String>,
    #[embed(max = 3)]
    #[field(max_len = 10)]
    short: Vec<String>,
    node: Node,
    a: Option<A>,
}

#[derive(Embed, Serialize, Deserialize)]
struct Part {
    text: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Row(#[embed(max = 5)] Vec<f64>);

#[derive(Embed, Serialize, Deserialize)]
struct Node {
    #[embed(max = 20, depth = 5)]
    children: Vec<Node>,
    #[embed(depth = 5)]
    next: Option<Box<Self>>,
}

#[derive(Embed, Serialize, Deserialize)]
struct A {
    b: Option<Box<B>>,
}

#[derive(Embed, Serialize, Deserialize)]
struct B {
    #[embed(depth = 5)]
    a: Option<Box<A>>,
}

pub(crate) fn main() {}
