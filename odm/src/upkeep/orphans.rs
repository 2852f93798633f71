//! Applies the notes of ended processes: pending work of parents that lost children.

use crate::Result;
use crate::model::key::Key;
use crate::rules::children::orphans::PARENTS;
use crate::rules::rule::DeferredWork;
use crate::store::cx::Cx;
use crate::upkeep::stored::StoredDeclarations;
use std::collections::HashSet;

/// Applies the notes of ended processes, and counts the changed documents.
///
/// # Errors
/// The first one, when the others are applied; [`Error::UnknownCopies`](crate::Error::UnknownCopies) where nothing else failed
/// and some work is left to a program with more models.
pub(crate) async fn recover(cx: &Cx<'_>, known: &StoredDeclarations, copies: &mut u64) -> Result<()> {
    let graph = cx.odm.graph();
    let mut unknown = Ok(());
    let mut failed = Ok(());
    for derived in graph.derived() {
        let (mut keys, mut notes) = (HashSet::new(), Vec::new());
        for note in known.notes(&derived.name()) {
            if let (Ok(token), Ok(named)) = (note.get_object_id("_id"), note.get_array(PARENTS)) {
                keys.extend(named.iter().map(Key::of_bson));
                notes.push(token);
            }
        }
        if notes.is_empty() {
            continue;
        }
        let edge = graph.parent_edge(derived);
        let parents = edge.targets.iter().map(|target| target.meta);
        let may = parents
            .chain([derived.child])
            .try_for_each(|meta| cx.odm.knows_copies(meta));
        if may.is_err() {
            // Work that these models don't know would be cleared without being applied.
            unknown = unknown.and(may);
            continue;
        }
        let mut work = DeferredWork {
            notes,
            ..DeferredWork::default()
        };
        work.add_parents(edge.id, keys);
        let derived = work.apply(cx).await?;
        *copies += derived.documents;
        failed = failed.and(derived.all().map(drop));
    }
    failed.and(unknown)
}
