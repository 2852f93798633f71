//! The fields that the library stores in users' documents: `_copied` and `_odm`. They are declared here and nowhere else.
//!
//! Decoding ignores them, validators allow them, and a replacement keeps them. `docs/internals/stored.md` lists them.
use mongodb::bson::oid::ObjectId;

/// Beside references with copies, in the struct that holds them: by the name of each reference, the version of the source that
/// its copies were taken from.
pub(crate) const COPIED: &str = "_copied";

/// The document that holds everything else that the library stores in a document.
pub(crate) const OWN: &str = "_odm";

/// The version of a source of copies: every change of a copied field raises it.
pub(crate) const VERSION: &str = "_odm.version";

/// Raised by every change of a parent's derived fields, which are only written where the revision is still the one that was read.
pub(crate) const REVISION: &str = "_odm.revision";

/// How many holders a source of copies may still get before it may have more than [`FEW_HOLDERS`]. Every write that stores references to
/// it subtracts their number, and so locks it. Below zero where it may have more, and where the library has not inserted it; missing
/// there until a write subtracts.
pub(crate) const HOLDERS_LEFT: &str = "_odm.holders_left";

/// The value of [`HOLDERS_LEFT`] in a new document.
pub(crate) const FEW_HOLDERS: i64 = 1_000;

/// How many library writes have linked or unlinked a document with two-way references. It tells the reconciler that one
/// transaction wrote both sides, and since a transaction counts in every document that it relies on, of two transactions that
/// rely on the same document one is run again.
pub(crate) const LINKS: &str = "_odm.links";

/// How often an unclaimed value of the document was claimed, which locks it: a write that changes the value meets that.
pub(crate) const CLAIMS: &str = "_odm.claims";

/// The id of the deletion that deleted the document, where deletions keep documents. Those that it deleted with another one have the
/// same. The collection has a sparse index of it.
pub(crate) const DELETION: &str = "_odm.deletion";

/// The id of a deletion that is being restored, until all of its documents are.
pub(crate) const RESTORING: &str = "_odm.restoring";

/// Pending work: what a write left to be done after it. Missing where there is none.
pub(crate) const PENDING: &str = "_odm.pending";

/// The id of the operation that left the pending work, or of the last one that did. The collection has a sparse index of it.
pub(crate) const OPERATION: &str = "_odm.pending.operation";

/// The fields whose changes are to be passed on, each with the id of the write that changed it. It is cleared only where that
/// is still the id that was read. Derived fields have no cycle, so passing on by names comes to an end even where documents
/// refer to each other in a cycle.
pub(crate) const FIELDS: &str = "_odm.pending.fields";

/// The document is deleted as soon as its pending work is done.
pub(crate) const DELETE: &str = "_odm.pending.delete";

/// How far a delivery to many documents has come.
pub(crate) const PROGRESS: &str = "_odm.pending.progress";

/// Which worker does the pending work, and until when the others leave it alone.
pub(crate) const LEASE: &str = "_odm.pending.lease";

/// Whether a field of a document, or of what a query joins to it, is the library's own.
pub(crate) fn is_own(name: &str) -> bool {
    name == OWN || name == COPIED || name.starts_with("__odm_")
}

/// Whether a path leads to a field of the library's own, or into one.
pub(crate) fn is_own_path(path: &str) -> bool {
    let mut parts = path.split('.');
    parts.next().is_some_and(is_own) || parts.any(|part| part == COPIED)
}

/// The last part of a path.
pub(crate) fn name_of(path: &'static str) -> &'static str {
    path.rsplit_once('.').map_or(path, |(_, name)| name)
}

/// The entry for pending work that concerns all fields of a document.
pub(crate) const ALL: &str = "*";

/// The entry for the fields that a document derives from its children: some children may be older than the document.
pub(crate) const CHILDREN: &str = "<";

/// The token of pending work: all work of one operation has the same.
pub(crate) type Token = ObjectId;

/// The collection that the edges are stored in.
pub(crate) const EDGES: &str = "_odm_edges";

/// The collection in which superseded indexes stand until they are dropped.
pub(crate) const INDEXES: &str = "_odm_indexes";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_paths_begin_with_an_own_field_or_lead_to_versions_of_copies() {
        for path in [
            "_odm",
            VERSION,
            LEASE,
            COPIED,
            "_copied.author",
            "parts.3._copied.part",
        ] {
            assert!(is_own_path(path), "{path}");
        }
        for path in ["name", "_odmx", "a._odm", "copied", "parts.3.copied"] {
            assert!(!is_own_path(path), "{path}");
        }
    }

    #[test]
    fn every_field_stands_below_one_of_eight() {
        for path in [
            VERSION,
            REVISION,
            HOLDERS_LEFT,
            LINKS,
            CLAIMS,
            DELETION,
            RESTORING,
            PENDING,
        ] {
            assert_eq!(path, format!("{OWN}.{}", name_of(path)));
        }
        for path in [OPERATION, FIELDS, DELETE, PROGRESS, LEASE] {
            assert_eq!(path, format!("{PENDING}.{}", name_of(path)));
        }
    }
}
