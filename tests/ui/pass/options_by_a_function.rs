//! An option that a function reads is stored plainly, so it can be copied, computed with and projected.

#![allow(dead_code)]

use odm::prelude::*;
use serde::{Deserialize, Deserializer, Serialize};

fn trimmed<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.map(|text| text.trim().to_owned()))
}

fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let number = Option::<i64>::deserialize(from)?;
    Ok(number.map(|number| number.max(0)))
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "authors")]
pub struct Author {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[serde(deserialize_with = "trimmed")]
    #[field(stored = Option<String>, max_len = 40)]
    pub nick: Option<String>,
    #[computed(sum = Post.likes)]
    pub likes: i64,
    #[computed(max = Post.likes)]
    pub most: Option<i64>,
    #[computed(avg = Post.likes)]
    pub liked: Average,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "posts")]
pub struct Post {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref]
    pub author: Ref<Author>,
    #[denormalize(from = author.nick)]
    pub author_nick: Option<String>,
    #[serde(deserialize_with = "positive")]
    #[field(stored = Option<i64>)]
    pub likes: Option<i64>,
}

#[derive(Projection, Deserialize, Debug)]
#[projection(of = Author)]
pub struct Nick {
    pub nick: Option<String>,
}

pub(crate) fn main() {}
