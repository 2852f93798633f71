use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::LinkedList;

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "queues")]
struct Queue {
    #[serde(rename = "_id")]
    id: i32,
    jobs: LinkedList<String>,
}

fn main() {}
