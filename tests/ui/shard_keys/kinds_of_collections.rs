//! Collections that are not sharded.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "lines", capped(size = 1_000_000), shard_key(hashed(id)))]
struct Line {
    id: ObjectId,
}

#[derive(Document)]
#[document(collection = "readings", time_series(time = at, meta = sensor), shard_key(sensor))]
struct Reading {
    id: ObjectId,
    at: DateTime,
    sensor: String,
}

#[derive(Document)]
#[document(collection = "long_lines", view(of = Line, pipeline = long), shard_key(hashed(id)))]
struct LongLine {
    id: ObjectId,
}

fn long(lines: Aggregate<Line>) -> Aggregate<Line> {
    lines
}

fn main() {}
