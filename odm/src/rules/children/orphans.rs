//! Pending work that no document can hold: a child was deleted or moved, and its previous parent does not exist.
//!
//! If the parent is inserted at that very moment, it may be derived with the child, and neither of the two transactions
//! modifies what the other one does. So after the commit of the child's transaction the parent's fields are derived again, if
//! it exists by then. Until then the pending work is a document of its own among the declarations, inserted by the child's
//! transaction: other notes at the same time don't conflict with it.

use crate::Result;
use crate::graph::{EdgeId, Graph};
use crate::model::key::Key;
use crate::model::own_fields::{EDGES, Token};
use crate::plan::images::Image;
use crate::store::cx::Cx;
use mongodb::bson::{Bson, Document, doc};
use std::collections::HashSet;

/// In such a document: the name of a derived field of the parents.
pub(crate) const DERIVED: &str = "derived";

/// Beside it: the keys of the parents.
pub(crate) const PARENTS: &str = "parents";

/// Those of these parents, by the references to them, that no child names any more.
pub(crate) fn left_behind(
    graph: &Graph,
    absent: &[(EdgeId, HashSet<Key>)],
    images: &[Image],
) -> Vec<(EdgeId, Vec<Key>)> {
    let unnamed = absent.iter().filter_map(|(id, keys)| {
        let [target] = graph[*id].targets.as_slice() else {
            // A key may be that of several parents.
            return Some((*id, keys.iter().cloned().collect()));
        };
        let after = images.iter().filter_map(|image| image.after());
        let named: HashSet<Key> = after.flat_map(|child| graph[*id].keys(*target, child)).collect();
        let unnamed: Vec<Key> = keys.difference(&named).cloned().collect();
        (!unnamed.is_empty()).then_some((*id, unnamed))
    });
    unnamed.collect()
}

/// Notes that something is to be derived in these parents, in the transaction of the children. Gives the notes.
pub(crate) async fn note(cx: &Cx<'_>, parents: Vec<(EdgeId, Vec<Key>)>) -> Result<Vec<Token>> {
    let named = parents.into_iter().filter_map(|(edge, keys)| {
        let all = cx.odm.graph().derived();
        let derived = all.iter().find(|derived| derived.target.edge == edge)?;
        Some((derived.name(), keys.iter().map(Key::to_bson).collect()))
    });
    insert(cx, named.collect()).await
}

/// The same by the names of the derived fields. Gives the notes.
pub(crate) async fn insert(cx: &Cx<'_>, parents: Vec<(String, Vec<Bson>)>) -> Result<Vec<Token>> {
    let mut notes = Vec::new();
    let mut tokens = Vec::new();
    for (derived, keys) in parents {
        let token = Token::new();
        notes.push(doc! { "_id": token, DERIVED: derived, PARENTS: keys });
        tokens.push(token);
    }
    if !notes.is_empty() {
        let edges = cx.odm.database().collection::<Document>(EDGES);
        cx.trip();
        crate::store::core::act!(cx, write, edges.insert_many(notes))?;
    }
    Ok(tokens)
}

/// Removes the notes of applied work.
pub(crate) async fn clear_notes(cx: &Cx<'_>, notes: Vec<Token>) -> Result<()> {
    if !notes.is_empty() {
        cx.trip();
        let applied = doc! { "_id": { "$in": notes } };
        cx.odm.stored_edges().delete_many(applied).await?;
    }
    Ok(())
}
