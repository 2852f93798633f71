use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    #[field(stored = i32, min_len = 5, max_len = 2)]
    id: String,
}

fn main() {}
