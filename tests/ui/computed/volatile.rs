//! A number that would be computed anew all the time.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "racks")]
struct Rack {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[computed(max = Host.load)]
    load: Option<f64>,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref]
    rack: Ref<Rack>,
    #[volatile]
    load: f64,
}

fn main() {}
