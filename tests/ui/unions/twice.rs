//! A document twice.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "photos")]
struct Photo {
    id: ObjectId,
    width: i32,
}

#[derive(Document, Clone)]
#[document(collection = "videos")]
struct Video {
    id: ObjectId,
    seconds: i32,
}

#[derive(Document)]
#[document(collection = "posts")]
struct Post {
    id: ObjectId,
    #[reference(any(Photo, Video, Photo))]
    media: MediaRef,
}

fn main() {}
