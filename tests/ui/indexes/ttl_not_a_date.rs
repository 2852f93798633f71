//! Documents expire by a date.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[index(expire_after = 60)]
    at: String,
}

fn main() {}
