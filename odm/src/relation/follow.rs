//! Two-way references that others have written past the library, on one side or twice: both sides agree again.

use super::audit::{self, Source};
use super::batch;
use super::derived::{self, but_for_the_deployment};
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
/// The first refusal at the end; what would fail with all documents at once.
pub(super) async fn follow(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    ids: &HashSet<Key>,
) -> Result<Result<()>> {
    let mut failed = Ok(());
    let ids: Vec<&Key> = ids.iter().collect();
    for ids in ids.chunks(BATCH) {
        let followed = but_for_the_deployment(follow_together(scope, meta, ids).await)?;
        if followed.is_err() && ids.len() > 1 {
            for id in ids {
                let alone = follow_together(scope, meta, std::slice::from_ref(id)).await;
                failed = failed.and(but_for_the_deployment(alone)?);
            }
        } else {
            failed = failed.and(followed);
        }
    }
    Ok(failed)
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
    let mut faults = audit::look(scope, &edges, &documents).await?.faults;
    for edge in &edges {
        let Some(back) = graph.inverse(edge) else { continue };
        let others = naming(scope, back, &ids).await?;
        faults.extend(named_alone(scope, back, others, &own).await?);
    }
    follow_faults(scope, faults).await
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
pub(super) async fn follow_all<'g>(scope: &Scope<'g>) -> Result<Result<()>> {
    let graph: &'g Graph = scope.odm.graph();
    let mut failed = Ok(());
    for meta in graph.models().filter(|meta| graph.is_linked(meta)) {
        if let Err(error) = scope.odm.knows_copies(meta) {
            failed = failed.and(Err(error));
            continue;
        }
        let edges: Vec<&'g Edge> = graph.outgoing(meta).filter(|edge| edge.is_two_way()).collect();
        let mut source = Source::from(meta, inspect::fields(edges.iter().copied()), None);
        while let Some(mut documents) = source.next(scope).await? {
            documents.retain(|document| !derived::is_gone(document));
            let faults = audit::look(scope, &edges, &documents).await?.faults;
            let ids: HashSet<Key> = faults.iter().map(|fault| Key::of_bson(&fault.holder)).collect();
            let followed = match but_for_the_deployment(follow_faults(scope, faults).await)? {
                Ok(()) => Ok(()),
                Err(_) => follow(scope, meta, &ids).await?,
            };
            failed = failed.and(followed);
        }
    }
    Ok(failed)
}
