//! A `Ref` where several documents are listed.

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
    #[reference(any(Photo, Video))]
    media: Ref<Photo>,
}

fn main() {}
