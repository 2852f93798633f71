//! `by` in quotes, and with a path.

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
    #[reference(by = "number")]
    account: Ref<Account, i32>,
    #[reference(by = branch.number)]
    other: Ref<Account, i32>,
}

fn main() {}
