//! Fields that the library writes, and `read_only` ones, are in no patch.
use odm::patch::Patch;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users", version, patch)]
struct User {
    id: ObjectId,
    name: String,
    #[field(read_only)]
    credit: i32,
    version: i64,
}

#[derive(Document)]
#[document(collection = "events", append_only, patch)]
struct Event {
    id: ObjectId,
    name: String,
}

fn main() {
    let _ = UserPatch {
        name: Patch::Value(None),
        credit: Patch::Value(5),
        version: Patch::Value(2),
    };
}
