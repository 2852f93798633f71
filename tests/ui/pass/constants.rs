//! The numbers of declarations can be constants, also of another module.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod limits {
    pub const TAGS: usize = 20;
    pub const KEY: u8 = 50;
    pub const DEPTH: i32 = 3;
    pub const PARTS: u32 = 100;
    pub const PAGE: u64 = 10;
    pub const COLDEST: f64 = -273.15;
    pub const STARS: std::ops::RangeInclusive<i32> = 1..=5;
}
use limits::PAGE;

const MANY: usize = 500;

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Reply {
    #[field(max_len = PAGE)]
    text: String,
    #[embed(max = 2 * limits::TAGS, depth = limits::DEPTH)]
    replies: Vec<Reply>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[field(min_len = 1, max_len = limits::PARTS)]
    name: String,
    #[field(min = limits::COLDEST, max = 1_000)]
    celsius: f64,
    #[field(min = *limits::STARS.start(), max = *limits::STARS.end())]
    stars: i32,
    #[parent_ref]
    product: Ref<Product>,
    published: bson::DateTime,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(max = limits::TAGS, key_len = limits::KEY)]
    tags: BTreeMap<String, i32>,
    #[embed(max = MANY, large = "read as a whole with every page")]
    replies: Vec<Reply>,
    #[reference(many, max = limits::PARTS, expected = limits::TAGS)]
    spares: Vec<Ref<Part>>,
    #[subset(of = Part, limit = PAGE, order(-published), fields(name: String))]
    newest: Vec<PartEntry>,
    #[embed]
    list: List<{ 3 + 4 }>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct List<const N: usize> {
    #[embed(max = N)]
    words: Vec<String>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Product, size = limits::PAGE)]
struct Reading {
    value: f64,
}

pub(crate) fn main() {}
