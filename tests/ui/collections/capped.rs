use odm::prelude::*;

#[derive(Document)]
#[document(collection = "lines", capped(max = 5))]
struct Line {
    id: ObjectId,
}

#[derive(Document)]
#[document(collection = "events", capped(size = 1_000), expire = at, time_series(time = at))]
struct Event {
    id: ObjectId,
    at: DateTime,
}

fn main() {}
