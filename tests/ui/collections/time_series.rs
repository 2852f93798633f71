use odm::prelude::*;

#[derive(Document)]
#[document(collection = "readings", time_series(time = at, meta = at), version)]
struct Reading {
    id: ObjectId,
    at: Option<DateTime>,
    #[index(unique)]
    number: i64,
    version: i64,
}

#[derive(Document)]
#[document(collection = "values", time_series(time = number))]
struct Measured {
    id: ObjectId,
    number: i64,
}

#[derive(Document)]
#[document(collection = "others", time_series(meta = number, granularity = days))]
struct Other {
    id: ObjectId,
    number: i64,
}

fn main() {}
