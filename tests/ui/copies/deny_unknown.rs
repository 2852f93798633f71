use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "parts")]
struct Part {
    id: i32,
    #[field(max_len = 50)]
    name: String,
}

#[derive(Embed, Clone)]
#[denormalize(from = Part)]
#[serde(deny_unknown_fields)]
struct Fitted {
    part: Ref<Part>,
    #[field(max_len = 50)]
    name: String,
}

fn main() {}
