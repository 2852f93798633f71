//! Nothing in a document says which variant of an untagged enum it has.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "goods")]
struct Good {
    id: i32,
    size: Size,
}

#[derive(Embed)]
#[embed(untagged)]
enum Size {
    Area { metres: i32 },
    Count(i32),
}

fn main() {
    let p = Good::paths();
    let _ = p.size.area.metres.eq(1);
    let _ = p.size.is_count();
}
