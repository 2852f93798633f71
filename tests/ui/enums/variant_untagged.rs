//! Nothing in a document says which variant of an untagged enum it has.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "goods")]
struct Good {
    #[serde(rename = "_id")]
    id: i32,
    size: Size,
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(untagged)]
enum Size {
    Area { metres: i32 },
    Count(i32),
}

fn main() {
    let p = Good::paths();
    let _ = p.size.area.metres.eq(1);
    let _ = p.size.is_count();
}
