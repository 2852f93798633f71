//! The collection `writers`.

use super::Work;
use odm::prelude::*;

/// A document of `writers`: 15 were counted. Half of them have up to 159 bytes, the largest has
/// 173.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "writers")]
pub struct Writer {
    pub id: ObjectId,
    pub name: String,
    // Items: at most 8; half have up to 7, 99 of 100 up to 8.
    // Refers to `works._id`: 96 of 96 were found. 50 of 50 distinct values were found, and the name
    // says it.
    // The other side of `works.writers[]`: 96 pairs agree.
    #[reference(many, max = 20, inverse = writers)]
    pub works: Vec<Ref<Work>>,
}
