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
    twice: Option<Maybe>,
    within: Option<Newtype>,
    #[embed(max = 3)]
    items: Vec<Option<Option<i32>>>,
    once: Option<Vec3>,
}

#[derive(Embed, Serialize, Deserialize)]
struct Vec3(i32, Option<i32>, i32);

fn main() {}
