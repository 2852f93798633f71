//! The collection `subclasses`.

use super::ClassEntry;
use odm::prelude::*;

/// A document of `subclasses`: 12 were counted. Half of them have up to 415 bytes, the largest has
/// 459.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "subclasses")]
pub struct Subclass {
    pub id: String,
    pub url: String,
    pub name: String,
    pub class: ClassEntry,
    // Items: at most 6; half have up to 5, 99 of 100 up to 6.
    #[embed(max = 10)]
    pub features: Vec<SubclassFeature>,
}

/// `features[]` of `subclasses`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SubclassFeature {
    pub name: String,
    pub level: i32,
}
