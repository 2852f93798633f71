//! Joins beyond the targets of a reference to one of several documents.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "photos")]
struct Photo {
    id: i32,
    #[reference]
    by: Ref<User>,
}

#[derive(Document, Clone)]
#[document(collection = "videos")]
struct Video {
    id: i32,
}

#[derive(Document, Clone)]
#[document(collection = "users")]
struct User {
    id: i32,
}

#[derive(Document, Clone)]
#[document(collection = "posts")]
struct Post {
    id: i32,
    #[reference(any(Photo, Video))]
    media: MediaRef,
}

async fn included(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<Post>().find_all().include(|p| p.media.include(|m| m.by));
    Ok(())
}

async fn loaded(odm: Odm, post: Post) -> odm::Result<()> {
    let _ = post.media.load(&odm).include(|m| m.by).await?;
    Ok(())
}

async fn as_one(odm: Odm, post: Post) -> odm::Result<()> {
    let _: Photo = post.media.load(&odm).await?;
    Ok(())
}

async fn children(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<User>().find_all().include(|u| u.children_by(|p: PostFields| p.media));
    Ok(())
}

fn main() {}
