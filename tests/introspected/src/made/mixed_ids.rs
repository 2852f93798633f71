//! The collection `mixed ids`.

use odm::prelude::*;

/// A document of `mixed ids`: 3 were counted. Half of them have up to 25 bytes, the largest has 29.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "mixed ids")]
pub struct MixedId {
    // Its types differ: 1 int, 1 string, 1 objectId. `retype` in a migration makes them one.
    pub id: MixedIdIdValue,
    pub a: i32,
}

/// `_id` of `mixed ids`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(untagged, id)]
pub enum MixedIdIdValue {
    Integer(i32),
    Text(String),
    Id(ObjectId),
}
