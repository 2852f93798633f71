use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "users", index(fields(address.city, id)))]
pub struct User {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
    #[embed] // embedded: a part of the user's document
    pub address: Option<Address>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Address {
    #[field(max_len = 100)]
    pub street: String,
    #[field(max_len = 100)]
    pub city: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "memberships")]
pub struct Membership {
    #[serde(rename = "_id")]
    pub number: i32,
    pub since: DateTime,
    #[parent_ref(one, on_delete = cascade)] // linked: a unique index on `user_id`
    #[serde(rename = "user_id")]
    pub user: Ref<User>,
}
