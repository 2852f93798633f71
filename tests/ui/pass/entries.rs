//! The fixes that the message on structs of copies with one name offers.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "products", derive(PartialEq, Eq, Hash, Clone))]
struct Product {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "orders")]
struct Renamed {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference]
    #[denormalize(from = Part, fields(name: String))]
    part: OrderedPart,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "offers")]
struct WithTheSameStruct {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference]
    #[denormalize(from = Part)]
    part: PartEntry,
}

/// Without `Clone`, `Debug` and `PartialEq`, which a struct of copies then has none of either.
#[derive(Embed)]
struct Size {
    width: i32,
}

#[derive(Document)]
#[document(collection = "boards")]
struct Board {
    id: ObjectId,
    size: Size,
    spare: Size,
    name: String,
}

#[derive(Document)]
#[document(collection = "shelves")]
struct Shelf {
    id: ObjectId,
    #[reference]
    #[denormalize(from = Board, fields(size: Size, spare: Size))]
    board: BoardEntry,
}

pub(crate) fn main() {
    let _ = odm::models![Board, Shelf];
    let part = PartEntry {
        id: Ref::new(ObjectId::new()),
        name: "bolt".into(),
    };
    let PartEntry { name, .. } = part.clone();
    assert!(format!("{part:?}").starts_with("PartEntry { id: "), "{name}");
}
