//! A reference by another field, whose type is that of `_id` too.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "accounts")]
struct Account {
    #[serde(rename = "_id")]
    id: i32,
    #[index(unique)]
    number: i32,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "customers")]
struct Customer {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(by = number)]
    account: Ref<Account, i32>,
}

fn main() {}
