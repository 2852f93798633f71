//! The documents.

use mongodb::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;

/// The id is the handle, which the client chooses: a request can be repeated.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "authors", new(derive(Clone)))]
pub struct Author {
    #[field(name = "_id")]
    #[field(min_len = 1, max_len = 40)]
    pub handle: String,
    /// The site that the request names: no handler sets it, and no answer shows it.
    #[field(scope, private, max_len = 40)]
    pub site: String,
    #[field(min_len = 1, max_len = 60)]
    pub name: String,
    #[computed(count = Post)]
    pub posts: i64,
    /// The author's page shows them, so that it is one read.
    #[subset(of = Post, limit = 5, order(-at), fields(title: String, at: DateTime))]
    pub newest: Vec<NewestPost>,
}

// ANCHOR: post
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts", version, soft_delete, patch)]
#[document(new(derive(Clone)))]
#[document(index(fields(site, at, slug)))]
pub struct Post {
    #[field(name = "_id")]
    #[field(min_len = 1, max_len = 80)]
    pub slug: String,
    #[field(scope, private, max_len = 40)]
    pub site: String,
    #[field(min_len = 1, max_len = 120)]
    pub title: String,
    #[field(max_len = 20_000)]
    pub text: String,
    /// The service sets it.
    #[index]
    #[field(read_only)]
    pub at: DateTime,
    /// The name is a copy, so that the feed needs no join.
    #[parent_ref(order(-at), on_delete = restrict)]
    #[denormalize(from = Author, fields(name: String))]
    pub author: Byline,
    #[computed(sum = CommentBucket.count)]
    pub comments: i64,
    pub version: i64,
    #[field(private)]
    pub deleted_at: Option<DateTime>,
}
// ANCHOR_END: post

/// Fifty comments of a post are one document, a `CommentBucket`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 50, time = at)]
#[bucket(scope(#[field(max_len = 40)] site: String))]
pub struct Comment {
    #[field(read_only)]
    pub id: ObjectId,
    #[reference(on_delete = restrict)]
    pub by: Ref<Author>,
    #[denormalize(from = by.name)]
    pub name: String,
    #[field(min_len = 1, max_len = 2000)]
    pub text: String,
    #[field(read_only)]
    pub at: DateTime,
}

/// One list, for the service, its command line and its tests.
pub fn models() -> [odm::Model; 3] {
    models![Author, Post, CommentBucket]
}
