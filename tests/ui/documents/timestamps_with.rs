//! A function on a field of the library.
use odm::prelude::*;

mod as_text {}

#[derive(Document)]
#[document(collection = "things", timestamps)]
struct Thing {
    id: ObjectId,
    #[field(with = "as_text")]
    created_at: chrono::DateTime<chrono::Utc>,
}

fn main() {}
