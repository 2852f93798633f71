//! What shows the fields that a struct does not declare.
use mongodb::bson::{Document, oid::ObjectId};
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Alone {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[field(extra)]
    extra: Document,
}

#[derive(Embed, Serialize, Deserialize)]
struct Twice {
    #[field(extra)]
    #[serde(flatten)]
    extra: Document,
    #[field(extra)]
    #[serde(flatten)]
    more: Document,
}

#[derive(Embed, Serialize, Deserialize)]
struct Strict(#[field(extra)] Document);

#[derive(Embed, Serialize, Deserialize)]
struct Typed {
    #[field(extra)]
    #[serde(flatten)]
    extra: BTreeMap<String, String>,
}

fn main() {}
