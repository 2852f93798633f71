//! The collection `new_readers`.

use super::Reader2;
use odm::prelude::*;

/// A document of `new_readers`: 120 were counted. Half of them have up to 175 bytes, the largest
/// has 193.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "new_readers")]
#[document(index(fields(by_card.card)))]
pub struct NewReader {
    pub id: ObjectId,
    // Refers to `new_readers._id`: 120 of 120 were found. 60 of 60 distinct values were found, and the
    // name says it.
    #[reference]
    pub reader: Ref<NewReader>,
    // Refers to `readers.name`: 108 of 120 were found, 12 refer to nothing. With a unique index on
    // `name` of `readers` it can be declared: `#[reference(by = name)]`. 60 of 61 distinct values were
    // found, and the name says it.
    pub reader_name: String,
    pub by_card: NewReaderByCard,
    // Items: always 2.
    // Refers to `new_readers._id`: 240 of 240 were found. 60 of 60 distinct values were found.
    #[reference(many, max = 10)]
    pub witnesses: Vec<Ref<NewReader>>,
    // Missing in 90 of 120.
    // Refers to `new_readers._id`: 30 of 30 were found. 30 of 30 distinct values were found.
    #[reference(index = false)]
    #[field(skip_none)]
    pub returned_to: Option<Ref<NewReader>>,
}

/// `by_card` of `new_readers`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct NewReaderByCard {
    // Refers to `readers.card`: 120 of 120 were found. 60 of 60 distinct values were found, and the
    // name says it, and so were the fields beside it.
    #[reference(by = card, index = false)]
    pub card: Ref<Reader2, String>,
    // A copy: 120 equal `readers.name`. 120 of 120 are equal; 60 distinct values, the commonest has 2
    // %.
    #[denormalize(from = card.name)]
    pub name: String,
}
