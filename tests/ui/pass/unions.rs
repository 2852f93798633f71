//! References to one of several documents.

use odm::prelude::*;
use odm::query::LoadRefs;
use odm::references::{ChildOf, OnlyChildOf, Reference};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "photos")]
pub struct Photo {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub width: i32,
}

pub mod videos {
    use super::*;

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "videos")]
    pub struct Clip {
        #[serde(rename = "_id")]
        pub id: i64,
        #[reference(any)]
        pub preview: Option<MediaRef>,
    }
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[reference(any(Photo, videos::Clip))]
    pub media: MediaRef,
    #[reference(many, max = 20, any)]
    pub more: Vec<MediaRef>,
    #[reference(many, max = 20, any(Photo, videos::Clip))]
    pub set: HashSet<MediaRef>,
    #[embed]
    pub cover: Cover,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Cover {
    #[reference(any(Photo, Post), on_delete = nullify)]
    pub of: Option<CoveredRef>,
    #[reference(any(r#Photo, Post))]
    pub r#raw: Option<r#RawRef>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "comments")]
pub struct Comment {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub time: DateTime,
    #[parent_ref(any(Photo, videos::Clip, Comment), order(-time))]
    pub on: SubjectRef,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "licenses")]
pub struct License {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref(one, any)]
    pub of: MediaRef,
}

/// Documents and ids that can do less.
#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "plain")]
pub struct Plain {
    #[serde(rename = "_id")]
    pub id: f64,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "others")]
pub struct Other {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[reference(any(Plain, Photo))]
    pub of: AnyRef,
}

fn is_child<C: ChildOf<P>, P: Document>() {}
fn is_only_child<C: OnlyChildOf<P>, P: Document>() {}
fn is_reference<R: Reference + LoadRefs>() {}
fn can<T: Clone + std::fmt::Debug + PartialEq>() {}

pub(crate) fn main() {
    is_child::<Comment, Photo>();
    is_child::<Comment, videos::Clip>();
    is_child::<Comment, Comment>();
    is_only_child::<License, Photo>();
    is_reference::<Option<MediaRef>>();
    can::<MediaRef>();
    can::<Media>();
    can::<AnyRef>();
    let media: MediaRef = Ref::<videos::Clip>::new(7).into();
    assert_eq!(format!("{media:?}"), "Clip(Ref<Clip>(7))");
    let p = Post::paths();
    let _ = p.media.eq(Ref::<videos::Clip>::new(7)) & p.more.contains(media.clone()) & p.cover.of.eq(Ref::<Photo>::new(ObjectId::new()));
    let _ = Media::Clip(videos::Clip { id: 7, preview: Some(media) });
}
