//! `inc` changes numbers alone.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "lamps")]
struct Lamp {
    id: ObjectId,
    on: bool,
    watts: i32,
}

fn wrong(lamps: Collection<Lamp>, id: ObjectId) {
    let _ = lamps.update(id).inc(|l| l.on, 1);
    let _ = lamps.update(id).mul(|l| l.watts, "2");
    let _ = lamps.update(id).dec(|l| l.watts, 2);
}

fn main() {}
