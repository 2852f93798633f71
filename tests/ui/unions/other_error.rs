//! One error is one error: what the type makes is there in any case.

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
