//! The collection `readers`.

use super::NewReader;
use odm::prelude::*;

/// A document of `readers`: 60 were counted. Half of them have up to 105 bytes, the largest has
/// 105.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "readers")]
#[document(index(fields(card), unique))]
pub struct Reader2 {
    // Refers to `new_readers._id`: 60 of 60 were found. A reference stands in a field, or in an array
    // of references. 60 of 60 distinct values were found.
    pub id: ObjectId,
    pub card: String,
    pub name: String,
    // Items: always 2.
    // Refers to `new_readers._id`: 120 of 120 were found. 60 of 60 distinct values were found.
    #[reference(many, max = 10, index = false)]
    pub friends: Vec<Ref<NewReader>>,
}
