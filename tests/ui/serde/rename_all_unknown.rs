//! A case that serde does not know, which its derive refuses too.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[serde(rename_all = "camel_case")]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    name: String,
}

#[derive(Embed)]
#[embed(rename_all = "camel_case")]
struct Part {
    name: String,
}

fn main() {}
