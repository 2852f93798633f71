//! The result of an operation, as plain data: front ends map it to their types.

use crate::error::results::{BulkDone, Deleted};
use crate::model::document::DocumentMeta;
use crate::{Error, Result};
use mongodb::bson::{Bson, RawDocumentBuf};

/// Documents that a deletion has deleted, as they were.
pub(crate) type Gone = Vec<(&'static DocumentMeta, RawDocumentBuf)>;

/// The result of one attempt to execute writes.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum Attempt {
    Done(Done),
    /// No document was found: nothing was written but defaults that the change begins with.
    Unmatched,
    /// There are more documents than the limit. Nothing was written.
    TooMany,
    /// The transaction met those of other processes again and again. Nothing was written.
    Contended,
}

/// The result of writes that were executed.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    /// The one document as the write has left it, in its transaction: the fields from which others derive something.
    pub(crate) after: Option<RawDocumentBuf>,
    /// The deleted documents whose models have hooks: with those that cascades have deleted.
    pub(crate) gone: Gone,
}

impl Attempt {
    pub(crate) fn done(outcome: Outcome) -> Attempt {
        Attempt::Done(outcome.into())
    }

    /// The result for the application: a write that found no document is no error.
    ///
    /// # Errors
    /// [`Error::Contention`] for writes that were not executed, where nothing executes them in another way.
    pub(crate) fn into_done(self, collection: &'static str) -> Result<Done> {
        match self {
            Attempt::Done(done) => Ok(done),
            Attempt::Unmatched => Ok(Outcome::missed().into()),
            Attempt::TooMany | Attempt::Contended => Err(Error::Contention {
                collection,
                message: "the documents changed during each attempt to write them, and nothing was written: try again".to_owned(),
                source: None,
            }),
        }
    }
}

impl Done {
    /// Adds what another part of the operation did.
    pub(crate) fn add(&mut self, part: Done) {
        self.outcome.add(part.outcome);
        self.gone.extend(part.gone);
    }
}

impl From<Outcome> for Done {
    fn from(outcome: Outcome) -> Done {
        Done {
            outcome,
            ..Done::default()
        }
    }
}

/// The result of the writes of an operation, as front ends get it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) counts: BulkDone,
    /// How many documents match and are left as they are, because a bound holds the change back.
    pub(crate) refused: u64,
    /// The number of other documents in which copies and derived fields were written.
    pub(crate) copies: u64,
    /// The id of a document that a single upsert inserted.
    pub(crate) upserted: Option<Bson>,
    /// The stored document, where the operation asks for it, or it is not as the application gave it.
    pub(crate) document: Option<RawDocumentBuf>,
    /// The inserted documents as they are stored, where the application needs them.
    pub(crate) stored: Vec<RawDocumentBuf>,
    /// Whether the library may have put something into inserted documents, so that they are not as the application gave them.
    pub(crate) is_filled_in: bool,
    pub(crate) refusals: Refusals,
}

/// The refused writes of an operation.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// By their positions, and why.
    pub(crate) errors: Vec<(usize, Error)>,
    /// Whether the first one ended the operation.
    pub(crate) ordered: bool,
}

impl Refusals {
    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Whether they end the operation.
    pub(crate) fn end_operation(&self) -> bool {
        self.ordered && !self.is_empty()
    }
}

impl Outcome {
    /// A document was found, and is as it was.
    pub(crate) fn unchanged() -> Outcome {
        Outcome::counted(BulkDone {
            matched: 1,
            ..BulkDone::default()
        })
    }

    /// No document was found, which is no error.
    pub(crate) fn missed() -> Outcome {
        Outcome::counted(BulkDone {
            missed: 1,
            ..BulkDone::default()
        })
    }

    pub(crate) fn counted(counts: BulkDone) -> Outcome {
        Outcome {
            counts,
            ..Outcome::default()
        }
    }

    /// One document was found, and changed.
    pub(crate) fn changed() -> Outcome {
        Outcome::counted(BulkDone {
            matched: 1,
            modified: 1,
            ..BulkDone::default()
        })
    }

    pub(crate) fn inserted(number: u64) -> Outcome {
        Outcome::counted(BulkDone {
            inserted: number,
            ..BulkDone::default()
        })
    }

    pub(crate) fn deleted(number: u64) -> Outcome {
        Outcome::counted(BulkDone {
            deleted: number,
            ..BulkDone::default()
        })
    }

    /// Whether the write at this position was sent and not refused; of an ordered operation none after the first refused one was.
    pub(crate) fn is_made(&self, position: usize) -> bool {
        let Refusals { errors, ordered } = &self.refusals;
        if *ordered {
            errors.iter().all(|(at, _)| position < *at)
        } else {
            errors.iter().all(|(at, _)| position != *at)
        }
    }

    /// Whether a part of the operation was executed.
    pub(crate) fn has_begun(&self) -> bool {
        let counts = &self.counts;
        counts.inserted
            + counts.matched
            + counts.deleted
            + counts.cascaded
            + counts.nullified
            + counts.pulled
            + counts.missed
            + counts.upserted
            > 0
            || self.upserted.is_some()
    }

    /// The number of documents that were written.
    pub(crate) fn documents(&self) -> u64 {
        let counts = &self.counts;
        counts.inserted + counts.modified + counts.deleted + counts.cascaded + counts.upserted
    }

    /// Adds what another part of the operation did.
    pub(crate) fn add(&mut self, part: Outcome) {
        let (counts, of_part) = (&mut self.counts, part.counts);
        counts.inserted += of_part.inserted;
        counts.matched += of_part.matched;
        counts.modified += of_part.modified;
        counts.deleted += of_part.deleted;
        counts.cascaded += of_part.cascaded;
        counts.nullified += of_part.nullified;
        counts.pulled += of_part.pulled;
        counts.missed += of_part.missed;
        counts.upserted += of_part.upserted + u64::from(part.upserted.is_some());
        self.refused += part.refused;
        self.copies += part.copies;
        self.refusals.errors.extend(part.refusals.errors);
        self.stored.extend(part.stored);
        self.is_filled_in |= part.is_filled_in;
    }

    /// Adds what another part of the operation did before it was refused.
    pub(crate) fn add_refused(&mut self, done: BulkDone, errors: Vec<(usize, Error)>) {
        self.add(Outcome::counted(done));
        self.refusals.errors.extend(errors);
    }
}

impl From<Outcome> for BulkDone {
    fn from(outcome: Outcome) -> BulkDone {
        outcome.counts
    }
}

impl From<Outcome> for Deleted {
    fn from(outcome: Outcome) -> Deleted {
        Deleted {
            deleted: outcome.counts.deleted,
            cascaded: outcome.counts.cascaded,
            nullified: outcome.counts.nullified,
            pulled: outcome.counts.pulled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(ordered: bool, positions: &[usize]) -> Outcome {
        let error = || Error::application("refused");
        Outcome {
            refusals: Refusals {
                errors: positions.iter().map(|at| (*at, error())).collect(),
                ordered,
            },
            ..Outcome::default()
        }
    }

    #[test]
    fn an_ordered_operation_makes_the_writes_before_the_first_refused_one() {
        let outcome = refused(true, &[2]);
        let made: Vec<bool> = (0..4).map(|at| outcome.is_made(at)).collect();
        assert_eq!(made, [true, true, false, false]);
    }

    #[test]
    fn an_unordered_operation_makes_all_writes_but_the_refused_ones() {
        let outcome = refused(false, &[0, 2]);
        let made: Vec<bool> = (0..4).map(|at| outcome.is_made(at)).collect();
        assert_eq!(made, [false, true, false, true]);
    }

    #[test]
    fn the_parts_of_an_operation_add_up() {
        let part = |inserted, at| Outcome {
            counts: BulkDone {
                inserted,
                ..BulkDone::default()
            },
            stored: vec![RawDocumentBuf::new()],
            ..refused(false, &[at])
        };
        let mut all = part(2, 5);
        all.add(part(3, 1));
        let positions: Vec<usize> = all.refusals.errors.iter().map(|(at, _)| *at).collect();
        assert_eq!(
            (all.counts.inserted, positions, all.stored.len()),
            (5, vec![5, 1], 2)
        );
        assert!(all.has_begun() && !refused(false, &[1]).has_begun());
    }
}
