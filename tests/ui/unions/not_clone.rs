//! A document that can't be given to several others.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

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
    #[reference(any(Photo, Person))]
    media: MediaRef,
}

fn main() {}
