//! A builder takes what is in an `Option`.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "members", builder)]
struct Member {
    id: ObjectId,
    name: String,
    nickname: Option<String>,
}

fn member(nickname: Option<String>) -> NewMember {
    NewMember::builder().name("Kate").nickname(nickname).build()
}

fn main() {}
