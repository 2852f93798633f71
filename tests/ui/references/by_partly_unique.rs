//! `by` names a field that is unique among some documents.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "accounts")]
struct Account {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[index(unique)]
    number: i32,
    branch: i32,
    #[index(unique, partial = |a| a.branch.gt(0))]
    partial: i32,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(by = partial)]
    account: Ref<Account, i32>,
}

fn main() {}
