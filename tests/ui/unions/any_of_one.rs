//! `any` on a reference to one document.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "photos")]
struct Photo {
    #[serde(rename = "_id")]
    id: ObjectId,
    width: i32,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "videos")]
struct Video {
    #[serde(rename = "_id")]
    id: ObjectId,
    seconds: i32,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "posts")]
struct Post {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(any)]
    photo: Ref<Photo>,
}

fn main() {}
