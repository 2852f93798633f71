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

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users")]
pub struct User {
    pub id: ObjectId,
}

async fn wrong(odm: Odm, post: User) -> odm::Result<()> {
    odm.buckets::<Comment>().count(&post).await?;
    Ok(())
}

fn main() {}
