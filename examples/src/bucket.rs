//! Bucketing: comments in documents of fifty, so that one read is one page.
use mongodb::{
    Database,
    bson::{DateTime, oid::ObjectId},
};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: ObjectId,
    pub title: String,
    #[index(unique)]
    pub url: String,
    pub text: String,
}

/// Generates `CommentBucket { id, blog_entry_id: Ref<Post>, page: i32, count: i32, comments: Vec<Comment> }` and its collection.
#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 50, rename(parent = blog_entry_id))]
pub struct Comment {
    pub name: String,
    pub created_on: DateTime,
    pub comment: String,
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Post, CommentBucket])?;
    odm.sync().await?;
    let posts = odm.collection::<Post>();
    let post = posts
        .insert(NewPost {
            title: "An awesome blog".into(),
            url: "http://awesomeblog.com".into(),
            text: "…".into(),
        })
        .await?;

    let comments = odm.buckets::<Comment>();
    for n in 0..51 {
        comments
            .push(
                &post,
                Comment {
                    name: "Peter Critic".into(),
                    created_on: DateTime::now(),
                    comment: format!("{n}"),
                },
            )
            .await?;
    }

    let pages: Vec<CommentBucket> = comments.pages(&post).await?;
    assert_eq!(
        pages.iter().map(|b| (b.page, b.count)).collect::<Vec<_>>(),
        [(1, 50), (2, 1)]
    );
    let second = comments.page(&post, 2).await?; // one read
    assert_eq!(second[0].comment, "50");
    for page in &pages {
        println!("Page {}: {} comments in one document", page.page, page.count);
    }
    Ok(())
}
