use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: ObjectId,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post)]
pub struct Comment {
    pub name: String,
    pub stars: i32,
    pub at: DateTime,
}

async fn wrong(odm: Odm, post: Post) -> odm::Result<()> {
    odm.buckets::<Comment>().range(&post, ..).await?;
    Ok(())
}

fn main() {}
