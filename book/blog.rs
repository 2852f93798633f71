//! Users, posts and comments: the models of `coming-from.md` and of the pages below it.
#![allow(missing_docs)] // the models are read, not linked

use mongodb::Database;
use mongodb::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users", timestamps)]
pub struct User {
    pub id: ObjectId,
    #[index(unique)]
    #[field(max_len = 200)]
    pub email: String,
    #[field(min_len = 3, max_len = 40)]
    pub name: String,
    #[field(min = 13, max = 150)]
    pub age: i32,
    pub created_at: DateTime,
    pub updated_at: DateTime,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: ObjectId,
    #[field(min_len = 1, max_len = 120)]
    pub title: String,
    #[reference]
    pub author: Ref<User>,
    #[embed(max = 10)]
    #[field(max_len = 30)]
    pub tags: Vec<String>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "comments")]
pub struct Comment {
    pub id: ObjectId,
    #[parent_ref(order(-at), on_delete = cascade)]
    pub post: Ref<Post>,
    #[reference]
    pub by: Ref<User>,
    #[field(max_len = 1000)]
    pub text: String,
    pub at: DateTime,
}

/// Some users, posts and comments.
///
/// # Errors
/// Those of the server.
pub async fn stocked(db: Database) -> odm::Result<Odm> {
    let odm = Odm::new(db, models![User, Post, Comment])?;
    odm.sync().await?;
    let kate = NewUser {
        email: "kate@blog.org".into(),
        name: "Kate Monster".into(),
        age: 34,
    };
    let kate = odm.collection::<User>().insert(kate).await?;
    let post = NewPost {
        title: "An awesome blog".into(),
        author: kate.to_ref(),
        tags: vec!["rust".into()],
    };
    let post = odm.collection::<Post>().insert(post).await?;
    let comments = (0..5).map(|n| NewComment {
        post: post.to_ref(),
        by: kate.to_ref(),
        text: format!("comment {n}"),
        at: DateTime::from_millis(n),
    });
    odm.collection::<Comment>().insert_many(comments).await?;
    Ok(odm)
}
