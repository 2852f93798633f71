//! Two values that would be stored alike.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

type Maybe = Option<i32>;

#[derive(Embed, Serialize, Deserialize)]
struct Newtype(Option<String>);

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    once: Option<Triple>,
    twice: Option<Maybe>,
}

#[derive(Embed, Serialize, Deserialize)]
struct Triple(i32, Option<i32>, i32);

#[derive(Embed, Serialize, Deserialize)]
struct Within {
    within: Option<Newtype>,
}

#[derive(Embed, Serialize, Deserialize)]
struct Items {
    #[embed(max = 3)]
    items: Vec<Option<Option<i32>>>,
}

fn main() {}
