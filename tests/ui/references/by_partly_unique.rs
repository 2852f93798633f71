//! `by` names a field that is unique among some documents.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "accounts")]
struct Account {
    id: ObjectId,
    #[index(unique)]
    number: i32,
    branch: i32,
    #[index(unique, partial = |a| a.branch.gt(0))]
    partial: i32,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference(by = partial)]
    account: Ref<Account, i32>,
}

fn main() {}
