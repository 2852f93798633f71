//! `any` names an embedded struct.
use odm::prelude::*;

#[derive(Embed, Clone)]
struct Photo {
    width: i32,
}

#[derive(Document, Clone)]
#[document(collection = "videos")]
struct Video {
    id: ObjectId,
}

#[derive(Document)]
#[document(collection = "posts")]
struct Post {
    id: ObjectId,
    #[reference(any(Photo, Video))]
    media: MediaRef,
}

#[derive(Document)]
#[document(collection = "likes")]
struct Like {
    id: ObjectId,
    #[parent_ref(any(Photo, Video))]
    of: LikedRef,
}

async fn uses(posts: Collection<Post>, new: NewPost) -> odm::Result<()> {
    posts.insert(new).await?;
    Ok(())
}

fn main() {}
