//! An array is one, whatever it is written as.

use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "queues")]
struct Queue {
    #[serde(rename = "_id")]
    id: ObjectId,
    waiting: VecDeque<String>,
    by_name: BTreeMap<String, i32>,
}

fn main() {}
