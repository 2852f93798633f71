//! The fixes that the message on structs of copies with one name offers.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "parts")]
struct Part {
    id: ObjectId,
    name: String,
}

#[derive(Document)]
#[document(collection = "products", derive(PartialEq, Eq, Hash, Clone))]
struct Product {
    id: ObjectId,
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

#[derive(Document)]
#[document(collection = "orders")]
struct Renamed {
    id: ObjectId,
    #[reference]
    #[denormalize(from = Part, fields(name: String))]
    part: OrderedPart,
}

#[derive(Document)]
#[document(collection = "offers")]
struct WithTheSameStruct {
    id: ObjectId,
    #[reference]
    #[denormalize(from = Part)]
    part: PartEntry,
}

pub(crate) fn main() {
    let part = PartEntry {
        id: Ref::new(ObjectId::new()),
        name: "bolt".into(),
    };
    let PartEntry { name, .. } = part.clone();
    assert!(format!("{part:?}").starts_with("PartEntry { id: "), "{name}");
}
