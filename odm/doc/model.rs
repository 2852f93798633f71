pub use odm::bson::doc;
pub use odm::geo::{Area, Point};
pub use odm::prelude::*;
pub use odm::{Collection, Error};
pub use serde::{Deserialize, Serialize};
pub use std::collections::BTreeMap;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people")]
pub struct Person {
    pub id: ObjectId,
    #[index(unique)]
    pub email: String,
    pub name: String,
    #[field(min = 0, max = 150)]
    pub age: i32,
    pub nickname: Option<String>,
    #[embed(max = 10)]
    pub tags: Vec<String>,
    #[embed(max = 5)]
    pub addresses: Vec<Address>,
    #[embed(max = 20, key_len = 10)]
    pub settings: BTreeMap<String, String>,
    #[index(geo)]
    pub place: Option<Point>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Address {
    pub street: String,
    pub city: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "accounts", version)]
pub struct Account {
    pub id: i64,
    pub owner: ObjectId,
    #[field(min = 0)]
    pub cents: i64,
    pub version: i64,
}

/// Two fields of a person.
#[derive(Projection, Clone, Debug, PartialEq)]
#[projection(of = Person)]
pub struct Named {
    pub id: ObjectId,
    pub name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users")]
pub struct User {
    pub id: ObjectId,
    pub name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "profiles")]
pub struct Profile {
    pub id: ObjectId,
    #[parent_ref(one)]
    pub user: Ref<User>,
    pub biography: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: ObjectId,
    pub title: String,
    #[parent_ref]
    pub author: Ref<User>,
    #[reference(many, max = 20)]
    pub tags: Vec<Ref<Tag>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tags")]
pub struct Tag {
    pub id: i32,
    pub name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "comments")]
pub struct Comment {
    pub id: ObjectId,
    #[parent_ref(order(-at))]
    pub post: Ref<Post>,
    #[reference]
    pub author: Ref<User>,
    pub text: String,
    pub stars: i32,
    pub at: DateTime,
}
