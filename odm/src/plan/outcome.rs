//! The result of an operation, as plain data: front ends map it to their types.

use crate::Error;
use crate::error::results::{BulkDone, Deleted};
use crate::model::meta::DocumentMeta;
use mongodb::bson::{Bson, RawDocumentBuf};

/// The result of the writes of an operation.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) inserted: u64,
    pub(crate) matched: u64,
    pub(crate) modified: u64,
    pub(crate) deleted: u64,
    /// How many documents were deleted with them, by `on_delete = cascade`.
    pub(crate) cascaded: u64,
    /// How many references were emptied in other documents.
    pub(crate) nullified: u64,
    /// How many times references were pulled from an array of another document.
    pub(crate) pulled: u64,
    /// How many documents match and are left as they are, because a bound holds the change back.
    pub(crate) refused: u64,
    /// How many writes of one document found none, which is no error.
    pub(crate) missed: u64,
    /// The id of a document that an upsert inserted.
    pub(crate) upserted: Option<Bson>,
    /// How many documents upserts of a bulk inserted.
    pub(crate) upserts: u64,
    /// The number of other documents in which copies and derived fields were written.
    pub(crate) copies: u64,
    /// The stored document, where the operation asks for it, or it is not as the application gave it.
    pub(crate) document: Option<RawDocumentBuf>,
    /// The one document as the write has left it, in its transaction: the fields from which others derive something.
    pub(crate) after: Option<RawDocumentBuf>,
    /// The inserted documents as they are stored, where the application needs them.
    pub(crate) stored: Vec<RawDocumentBuf>,
    /// The deleted documents whose models have hooks, as they were: with those that cascades have deleted.
    pub(crate) gone: Vec<(&'static DocumentMeta, RawDocumentBuf)>,
    /// Whether the library has put something into inserted documents, so that they are not as the application gave them.
    pub(crate) changed: bool,
    /// The refused writes by their positions, and why.
    pub(crate) errors: Vec<(usize, Error)>,
    /// Whether the first refused write ended the operation.
    pub(crate) ordered: bool,
    /// The one write found no document to change: nothing was written but defaults that the change begins with.
    pub(crate) unmatched: bool,
    /// Nothing was written: the operation is for more documents than one transaction takes, and can be executed in parts.
    pub(crate) too_many: bool,
    /// Nothing was written: the one write met transactions of other processes again and again, and need not be a transaction.
    pub(crate) contended: bool,
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

    pub(crate) fn contended() -> Outcome {
        Outcome {
            contended: true,
            ..Outcome::default()
        }
    }

    pub(crate) fn unmatched() -> Outcome {
        Outcome {
            unmatched: true,
            ..Outcome::default()
        }
    }

    /// Whether nothing was written, so that nothing follows from it.
    pub(crate) fn is_nothing(&self) -> bool {
        self.unmatched || self.too_many || self.contended
    }

    /// Whether the write at this position was sent and not refused; of an ordered operation none after the first refused one was.
    pub(crate) fn is_made(&self, position: usize) -> bool {
        if self.ordered {
            self.errors.iter().all(|(at, _)| position < *at)
        } else {
            self.errors.iter().all(|(at, _)| position != *at)
        }
    }

    /// Whether a part of the operation was executed.
    pub(crate) fn has_begun(&self) -> bool {
        self.inserted
            + self.matched
            + self.deleted
            + self.cascaded
            + self.nullified
            + self.pulled
            + self.missed
            + self.upserts
            > 0
            || self.upserted.is_some()
    }

    /// The number of documents that were written.
    pub(crate) fn documents(&self) -> u64 {
        self.inserted + self.modified + self.deleted + self.cascaded + self.upserts
    }

    /// Adds what another part of the operation did.
    pub(crate) fn add(&mut self, part: Outcome) {
        self.inserted += part.inserted;
        self.matched += part.matched;
        self.modified += part.modified;
        self.deleted += part.deleted;
        self.cascaded += part.cascaded;
        self.nullified += part.nullified;
        self.pulled += part.pulled;
        self.refused += part.refused;
        self.missed += part.missed;
        self.upserts += part.upserts + u64::from(part.upserted.is_some());
        self.copies += part.copies;
        self.errors.extend(part.errors);
        self.stored.extend(part.stored);
        self.gone.extend(part.gone);
        self.changed |= part.changed;
    }
}

impl From<BulkDone> for Outcome {
    fn from(done: BulkDone) -> Outcome {
        Outcome {
            inserted: done.inserted,
            matched: done.matched,
            modified: done.modified,
            deleted: done.deleted,
            cascaded: done.cascaded,
            nullified: done.nullified,
            pulled: done.pulled,
            missed: done.missed,
            upserts: done.upserted,
            ..Outcome::default()
        }
    }
}

impl From<Outcome> for BulkDone {
    fn from(outcome: Outcome) -> BulkDone {
        BulkDone {
            inserted: outcome.inserted,
            matched: outcome.matched,
            modified: outcome.modified,
            deleted: outcome.deleted,
            cascaded: outcome.cascaded,
            nullified: outcome.nullified,
            pulled: outcome.pulled,
            missed: outcome.missed,
            upserted: outcome.upserts,
        }
    }
}

impl From<Outcome> for Deleted {
    fn from(outcome: Outcome) -> Deleted {
        Deleted {
            deleted: outcome.deleted,
            cascaded: outcome.cascaded,
            nullified: outcome.nullified,
            pulled: outcome.pulled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(ordered: bool, positions: &[usize]) -> Outcome {
        let error = || Error::application("refused");
        Outcome {
            errors: positions.iter().map(|at| (*at, error())).collect(),
            ordered,
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
            inserted,
            stored: vec![RawDocumentBuf::new()],
            ..refused(false, &[at])
        };
        let mut all = part(2, 5);
        all.add(part(3, 1));
        let positions: Vec<usize> = all.errors.iter().map(|(at, _)| *at).collect();
        assert_eq!((all.inserted, positions, all.stored.len()), (5, vec![5, 1], 2));
        assert!(all.has_begun() && !refused(false, &[1]).has_begun());
    }
}
