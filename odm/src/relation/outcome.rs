//! The result of the writes of an operation, as plain data: front ends map it to their types.

use crate::Error;
use mongodb::bson::{Bson, RawDocumentBuf};

/// The result of the writes of an operation.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) inserted: u64,
    pub(crate) matched: u64,
    pub(crate) modified: u64,
    pub(crate) deleted: u64,
    /// How many documents match and are left as they are, because a bound holds the change back.
    pub(crate) refused: u64,
    /// How many writes of one document found none, which is no error.
    pub(crate) missed: u64,
    /// The id of a document that an upsert inserted.
    pub(crate) upserted: Option<Bson>,
    /// The number of other documents in which copies and derived fields were written.
    pub(crate) copies: u64,
    /// The stored document, where the operation asks for it and the server gave it.
    pub(crate) document: Option<RawDocumentBuf>,
    /// The writes that the server refused, and why.
    pub(crate) errors: Vec<(usize, Error)>,
    /// By what `errors` names the writes, in their order, where that is not their position among the writes.
    pub(crate) places: Option<Vec<usize>>,
    /// Whether the first refused write ended the operation.
    pub(crate) ordered: bool,
    pub(crate) round_trips: u64,
    /// Nothing was written: the operation is for more documents than one transaction takes, and can be executed in parts.
    pub(crate) too_many: bool,
}

impl Outcome {
    /// A document was found, and is as it was.
    pub(crate) fn unchanged() -> Outcome {
        Outcome {
            matched: 1,
            ..Outcome::default()
        }
    }

    pub(crate) fn too_many() -> Outcome {
        Outcome {
            too_many: true,
            ..Outcome::default()
        }
    }

    /// Whether the write at this position was made, so far as the server refused it.
    pub(crate) fn is_made(&self, position: usize) -> bool {
        let places = self.places.as_ref();
        let place = places
            .and_then(|places| places.get(position))
            .copied()
            .unwrap_or(position);
        match self.ordered {
            true => self.errors.iter().all(|(at, _)| place < *at),
            false => self.errors.iter().all(|(at, _)| place != *at),
        }
    }
}
