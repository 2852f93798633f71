//! Fields without one value in each document.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

use std::collections::BTreeMap;

#[derive(Embed)]
struct Address {
    country: String,
}

#[derive(Document)]
#[document(
    collection = "orders",
    shard_key(tags, names, region, city, language, left, nick, cache, more, address, home.country)
)]
struct Order {
    id: ObjectId,
    #[embed(max = 10)]
    tags: Vec<String>,
    #[embed(max = 10)]
    names: BTreeMap<String, String>,
    region: Option<String>,
    #[field(default)]
    city: String,
    #[field(default = "en".to_owned())]
    language: String,
    #[field(skip_none)]
    left: Option<i32>,
    #[field(alias = "nickname")]
    nick: String,
    #[field(skip)]
    cache: String,
    #[field(opaque)]
    more: mongodb::bson::Document,
    #[field(flatten)]
    address: Address,
    home: Option<Address>,
}

fn main() {}
