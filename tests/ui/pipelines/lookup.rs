//! A value, a reference to one of several documents, and several joins at once, none of which a pipeline looks up.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "photos")]
struct Photo {
    id: i32,
}

#[derive(Document, Clone)]
#[document(collection = "videos")]
struct Video {
    id: i32,
}

#[derive(Document, Clone)]
#[document(collection = "posts")]
struct Post {
    id: i32,
    title: String,
    #[reference(any(Photo, Video))]
    media: MediaRef,
    #[reference]
    photo: Ref<Photo>,
    #[reference]
    video: Ref<Video>,
}

async fn value(posts: Collection<Post>) {
    let _ = posts.aggregate().lookup("joined", |p| p.title);
}

async fn union(posts: Collection<Post>) {
    let _ = posts.aggregate().lookup("joined", |p| p.media);
}

async fn both(posts: Collection<Post>) {
    let _ = posts.aggregate().lookup("joined", |p| (p.photo, p.video));
}

fn main() {}
