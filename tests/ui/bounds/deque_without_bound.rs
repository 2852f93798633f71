//! An array is one, whatever it is written as.

use odm::prelude::*;
use std::collections::{BTreeMap, VecDeque};

#[derive(Document, Clone)]
#[document(collection = "queues")]
struct Queue {
    id: ObjectId,
    waiting: VecDeque<String>,
    by_name: BTreeMap<String, i32>,
}

fn main() {}
