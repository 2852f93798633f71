//! The collection `works`.

use super::Writer;
use odm::prelude::*;

/// A document of `works`: 50 were counted. Half of them have up to 85 bytes, the largest has 85.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "works")]
pub struct Work {
    pub id: ObjectId,
    pub title: String,
    // Items: at most 2; half have up to 2, 99 of 100 up to 2.
    // Refers to `writers._id`: 96 of 96 were found. 15 of 15 distinct values were found, and the name
    // says it.
    // The other side of `writers.works[]`: 96 pairs agree.
    #[reference(many, max = 10, inverse = works)]
    pub writers: Vec<Ref<Writer>>,
}
