//! Deletions to which rules of other documents apply.

mod detach;
mod erase;
pub(crate) mod level;
mod restore;
pub(crate) mod soft;
pub(crate) mod tree;
pub(crate) mod walk;

use crate::error::results::{BulkDone, Deleted};
use crate::model::document::DocumentMeta;
use crate::plan::operation::refers_to_its_kind;
use crate::plan::operation::{Batching, Write, WriteKind};
use crate::plan::operators::implied;
use crate::plan::outcome::{Done, Outcome};
use crate::store::cx::Cx;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, doc};

/// Maximum number of deletions in one condition: it is sent with each batch that is read by it.
const MAX_DELETES: usize = 10_000;

/// Deletes documents of one collection by the rules of the references to them: all together if nothing refers to one of them
/// with `restrict`; else the deletions of a bulk are split in halves until each is made or refused alone.
pub(super) async fn by_rules(
    cx: Cx<'_>,
    batching: Batching,
    meta: &'static DocumentMeta,
    deletes: &[Write],
) -> Result<Done> {
    let Cx { odm, session, .. } = cx;
    if meta.soft_delete.is_some() && !deletes.iter().any(removes) {
        return soft::by_rules(cx, batching, meta, deletes).await;
    }
    let mut all = Done::from(batching.refused(Vec::new()));
    // One that refers to another one does not hold it back if both are deleted together.
    let most = if refers_to_its_kind(odm.graph(), meta) {
        usize::MAX
    } else {
        MAX_DELETES
    };
    let mut parts = vec![deletes];
    while let Some(part) = parts.pop() {
        let filter = match condition(part, most) {
            Ok(filter) => filter,
            Err((first, second)) => {
                parts.extend([second, first]);
                continue;
            }
        };
        let mut done = Deleted::default();
        let made = walk::walk(cx, meta, filter, &mut done, &mut all.gone).await;
        all.outcome.add(Outcome::counted(BulkDone {
            deleted: done.deleted,
            cascaded: done.cascaded,
            nullified: done.nullified,
            pulled: done.pulled,
            ..BulkDone::default()
        }));
        match (made, part) {
            (Ok(()), _) => {}
            (Err(error), _) if !batching.is_bulk() => {
                // Documents that were deleted before the error stay deleted.
                return Err(if all.outcome.counts.deleted > 0 && session.is_none() {
                    error.after_a_part(meta.collection)
                } else {
                    error
                });
            }
            // In a transaction nothing of it can be saved.
            (Err(error @ Error::StillReferenced { .. }), [first, ..])
                if part.len() == 1 || session.is_some() =>
            {
                all.outcome.refusals.errors.push((first.at, error));
                if batching.is_ordered() || session.is_some() {
                    break;
                }
            }
            (Err(Error::StillReferenced { .. }), _) => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
            (Err(error), [first, ..]) if session.is_none() && all.outcome.has_begun() => {
                all.outcome.refusals.errors.push((first.at, error));
                break;
            }
            (Err(error), _) => return Err(error),
        }
    }
    Ok(all)
}

/// Whether a deletion removes documents, also those of a type whose deletions keep them.
fn removes(write: &Write) -> bool {
    matches!(&write.what, WriteKind::Delete(delete) if delete.removes)
}

/// The condition of all documents that these deletions name; or two parts of them, where their conditions don't combine.
fn condition(deletes: &[Write], most: usize) -> Result<Document, (&[Write], &[Write])> {
    let filters = || {
        deletes.iter().filter_map(|write| match &write.what {
            WriteKind::Delete(delete) => Some(&delete.filter),
            _ => None,
        })
    };
    if deletes.len() > most {
        return Err(deletes.split_at(most));
    }
    if let [_] = deletes {
        return Ok(filters().next().cloned().unwrap_or_default());
    }
    if let Some(alone) = filters().position(|filter| !implied::combines(filter)) {
        return Err(deletes.split_at(alone.max(1)));
    }
    // An id alone is looked for with all others.
    let is_id = |filter: &&Document| filter.len() == 1 && !filter.get("_id").is_none_or(is_operator);
    let ids: Vec<&Bson> = filters()
        .filter(is_id)
        .filter_map(|filter| filter.get("_id"))
        .collect();
    let mut any: Vec<Document> = filters().filter(|filter| !is_id(filter)).cloned().collect();
    if !ids.is_empty() {
        any.push(doc! { "_id": { "$in": ids } });
    }
    Ok(match any.len() {
        1 => any.pop().unwrap_or_default(),
        _ => doc! { "$or": any },
    })
}

fn is_operator(value: &Bson) -> bool {
    matches!(value, Bson::Document(document) if document.keys().any(|name| name.starts_with('$')))
}

#[cfg(test)]
mod tests {
    use super::super::{DeleteWrite, DocumentById};
    use super::*;
    use crate::Document as _;
    use crate::expansion_fixture::Person;

    fn deletes(filters: Vec<Document>) -> Vec<Write> {
        let write = |(at, filter)| Write {
            at,
            meta: Person::META,
            what: WriteKind::Delete(Box::new(DeleteWrite::many(filter))),
        };
        filters.into_iter().enumerate().map(write).collect()
    }

    #[test]
    fn ids_are_looked_for_together_beside_the_other_conditions() {
        let all = deletes(vec![doc! { "_id": 1 }, doc! { "a": 2 }, doc! { "_id": 3 }]);
        let expected = doc! { "$or": [{ "a": 2 }, { "_id": { "$in": [1, 3] } }] };
        assert_eq!(condition(&all, usize::MAX).ok(), Some(expected));
        let ids = deletes(vec![doc! { "_id": 1 }, doc! { "_id": 3 }]);
        let expected = doc! { "_id": { "$in": [1, 3] } };
        assert_eq!(condition(&ids, usize::MAX).ok(), Some(expected));
    }

    #[test]
    fn a_condition_on_an_id_is_no_id() {
        let all = deletes(vec![doc! { "_id": { "$gt": 1 } }, doc! { "_id": 3 }]);
        let expected = doc! { "$or": [{ "_id": { "$gt": 1 } }, { "_id": { "$in": [3] } }] };
        assert_eq!(condition(&all, usize::MAX).ok(), Some(expected));
    }

    #[test]
    fn too_many_deletes_and_those_that_stand_alone_are_split() {
        let all = deletes((0..5).map(|id| doc! { "_id": id }).collect());
        let split = condition(&all, 2).map_err(|(first, second)| (first.len(), second.len()));
        assert_eq!(split.err(), Some((2, 3)));
        let text = doc! { "$text": { "$search": "a" } };
        let all = deletes(vec![doc! { "_id": 1 }, doc! { "_id": 2 }, text]);
        let split = condition(&all, 9).map_err(|(first, second)| (first.len(), second.len()));
        assert_eq!(split.err(), Some((2, 1)));
    }

    #[test]
    fn one_document_is_named_by_its_id() {
        let one = DocumentById::new(7.into(), None);
        let delete = DeleteWrite::one(Person::META, one);
        assert_eq!((delete.filter, delete.one.is_some()), (doc! { "_id": 7 }, true));
    }
}
