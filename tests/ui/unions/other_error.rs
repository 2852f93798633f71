//! One error is one error: what the type makes is there in any case.

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
    #[reference(any(Photo, Video), on_delete = pull)]
    media: MediaRef,
    #[parent_ref]
    photo: Ref<Photo>,
}

fn is_child<C: odm::references::ChildOf<P>, P: Document>() {}
fn check() {
    is_child::<Post, Photo>();
    let _: Option<MediaRef> = None;
}

fn main() {}
