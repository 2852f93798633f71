//! What shows the fields that a struct does not declare.
use mongodb::bson::{Document, oid::ObjectId};
use odm::prelude::*;
use std::collections::BTreeMap;

#[derive(Document)]
#[document(collection = "things")]
struct Alone {
    id: ObjectId,
    #[field(extra)]
    extra: Document,
}

#[derive(Embed)]
struct Twice {
    #[field(extra)]
    #[field(flatten)]
    extra: Document,
    #[field(extra)]
    #[field(flatten)]
    more: Document,
}

#[derive(Embed)]
struct Strict(#[field(extra)] Document);

#[derive(Embed)]
struct Typed {
    #[field(extra)]
    #[field(flatten)]
    extra: BTreeMap<String, String>,
}

fn main() {}
