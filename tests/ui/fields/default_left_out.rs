//! A default beside `skip_none`, by which `None` would be read as the default.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: ObjectId,
    #[field(default = Some(5), skip_none)]
    level: Option<i32>,
    #[field(default = None, skip_none)]
    rank: Option<i32>,
}

fn main() {}
