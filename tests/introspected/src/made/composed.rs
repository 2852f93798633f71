//! The collection `composed`.

use odm::prelude::*;

/// A document of `composed`: 5 were counted. Half of them have up to 52 bytes, the largest has 52.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "composed")]
pub struct Composed {
    pub id: ComposedId,
    pub value: i32,
}

/// `_id.tenant` of `composed`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComposedTenant {
    #[embed(name = "t")]
    T,
}

/// `_id` of `composed`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(id)]
pub struct ComposedId {
    pub tenant: ComposedTenant,
    pub number: i32,
}
