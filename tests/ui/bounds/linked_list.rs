use odm::prelude::*;
use std::collections::LinkedList;

#[derive(Document)]
#[document(collection = "queues")]
struct Queue {
    id: i32,
    jobs: LinkedList<String>,
}

fn main() {}
