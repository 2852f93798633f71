//! A value, a reference to one of several documents, and several joins at once, none of which a pipeline looks up.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "photos")]
struct Photo {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "videos")]
struct Video {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "posts")]
struct Post {
    #[serde(rename = "_id")]
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
