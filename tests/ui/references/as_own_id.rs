//! A document whose id is that of another document of its own.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "nodes")]
struct Node {
    #[parent_ref(one)]
    id: Ref<Node>,
}

fn main() {}
