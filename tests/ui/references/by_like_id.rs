//! A reference by another field, whose type is that of `_id` too.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "accounts")]
struct Account {
    id: i32,
    #[index(unique)]
    number: i32,
}

#[derive(Document, Clone)]
#[document(collection = "customers")]
struct Customer {
    id: ObjectId,
    #[reference(by = number)]
    account: Ref<Account, i32>,
}

fn main() {}
