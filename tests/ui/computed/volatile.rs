//! A number that would be computed anew all the time.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "racks")]
struct Rack {
    id: ObjectId,
    #[computed(max = Host.load)]
    load: Option<f64>,
}

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    #[parent_ref]
    rack: Ref<Rack>,
    #[volatile]
    load: f64,
}

fn main() {}
