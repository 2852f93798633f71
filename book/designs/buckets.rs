//! The comments of a post, fifty in a document.

use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: i32,
    pub title: String,
}

/// Generates the document `CommentBucket`, which holds up to 50 comments of a post.
#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 50, time = at, sum(stars))]
pub struct Comment {
    pub id: ObjectId, // tells one comment from another
    pub name: String,
    pub stars: i32,
    pub text: String,
    pub at: DateTime,
}

/// Some data: a post with 51 comments.
pub async fn stocked(db: odm::mongodb::Database) -> odm::Result<Odm> {
    let odm = Odm::new(db, models![Post, CommentBucket])?;
    odm.sync().await?;
    let post = odm
        .collection::<Post>()
        .insert(NewPost {
            id: 1,
            title: "An awesome blog".into(),
        })
        .await?;
    let comment = |n: i32| Comment {
        id: ObjectId::new(),
        name: "Peter Critic".into(),
        stars: n % 5,
        text: format!("comment {n}"),
        at: DateTime::from_millis(i64::from(n) * 60_000),
    };
    odm.buckets::<Comment>()
        .push_many(&post, (0..51).map(comment))
        .await?;
    Ok(odm)
}
