//! Two-way references that others have written past the library, on one side or twice: both sides agree again.

use super::audit::{self, Source};
use super::batch;
use super::derived::{self, Written, but_for_the_deployment};
use super::graph::{Edge, Graph};
use super::inspect::{self, Fault, Kind};
use super::pairs::{BATCH, named_alone, naming, tell};
use super::repair::Repaired;
use super::scope::Scope;
use crate::Result;
use crate::document::DocumentMeta;
use crate::key::Key;
use mongodb::bson::{Bson, doc};
use std::collections::HashSet;

/// Lets both sides agree of all that these documents name, or that names them, after others have written them past the
/// library. What one document is refused for holds up no other.
///
/// It leaves no marks: who calls it knows of the change until this has returned, and what is written here is not counted, so
/// that it is followed as a change of somebody else's, too: it may have been late. What a program names before it inserts it
/// is left alone.
///
/// # Errors
/// What would fail with all documents.
pub(super) async fn follow(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    ids: &HashSet<Key>,
) -> Result<Written> {
    let mut done = Written::default();
    let ids: Vec<&Key> = ids.iter().collect();
    let mut parts: Vec<&[&Key]> = ids.chunks(BATCH).collect();
    while let Some(part) = parts.pop() {
        match but_for_the_deployment(follow_together(scope, meta, part).await)? {
            Ok(()) => {}
            Err(error) if part.len() == 1 => done.refuse(error),
            Err(_) => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
        }
    }
    Ok(done)
}

async fn follow_together<'g>(scope: &Scope<'g>, meta: &'static DocumentMeta, ids: &[&Key]) -> Result<()> {
    let graph: &'g Graph = scope.odm.graph();
    let edges: Vec<&'g Edge> = graph.outgoing(meta).filter(|edge| edge.is_two_way()).collect();
    let ids: Vec<Bson> = ids.iter().map(|key| key.to_bson()).collect();
    let which = doc! { "_id": { "$in": ids } };
    let fields = inspect::fields(edges.iter().copied());
    let mut documents = scope.every(meta, which, fields).await?;
    documents.retain(|document| !derived::is_gone(document));
    let ids = batch::ids(&documents);
    let own: HashSet<Key> = ids.iter().map(Key::of_bson).collect();
    let faults = audit::look(scope, &edges, &documents).await?.faults;
    follow_faults(scope, faults).await?;
    for edge in &edges {
        let Some(back) = graph.inverse(edge) else { continue };
        let mut others = naming(back, &ids);
        while let Some(others) = others.next(scope).await? {
            follow_faults(scope, named_alone(scope, back, others, &own).await?).await?;
        }
    }
    Ok(())
}

/// Mends what was linked on one side, or twice.
async fn follow_faults<'g>(scope: &Scope<'g>, mut faults: Vec<Fault<'g>>) -> Result<()> {
    faults.retain(|fault| matches!(fault.kind, Kind::OneSided { .. } | Kind::Repeated { .. }));
    tell(Repaired::default().mend(scope, faults, &mut None).await?);
    Ok(())
}

/// The same for all documents that there are.
///
/// # Errors
/// As of [`follow`].
pub(super) async fn follow_all<'g>(scope: &Scope<'g>) -> Result<Written> {
    let graph: &'g Graph = scope.odm.graph();
    let mut done = Written::default();
    for meta in graph.models().filter(|meta| graph.is_linked(meta)) {
        if let Err(error) = scope.odm.knows_copies(meta) {
            done.refuse(error);
            continue;
        }
        let edges: Vec<&'g Edge> = graph.outgoing(meta).filter(|edge| edge.is_two_way()).collect();
        let mut source = Source::from(meta, inspect::fields(edges.iter().copied()), None);
        while let Some(mut documents) = source.next(scope).await? {
            documents.retain(|document| !derived::is_gone(document));
            let faults = audit::look(scope, &edges, &documents).await?.faults;
            let ids: HashSet<Key> = faults.iter().map(|fault| Key::of_bson(&fault.holder)).collect();
            if but_for_the_deployment(follow_faults(scope, faults).await)?.is_err() {
                done.add(follow(scope, meta, &ids).await)?;
            }
        }
    }
    Ok(done)
}
