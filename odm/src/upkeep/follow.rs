//! Makes both sides of two-way references equal after out-of-band writes that changed one side, or added duplicates.

use crate::Result;
use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::rules::pending;
use crate::store::cx::{Cx, Statement};
use crate::store::each::{WriteReport, but_for_the_deployment};
use crate::store::{batch, each, filter};
use crate::upkeep::audit::InspectedDocuments;
use crate::upkeep::inspect::{Fault, FaultKind, names_of};
use crate::upkeep::repair::{Belief, LinkEnds, Repaired};
use crate::upkeep::{audit, inspect};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::collections::HashSet;

/// Number of documents that are looked at together.
const BATCH: usize = 200;

/// Makes both sides of all links of these documents equal, after out-of-band writes. A refusal of one document does not stop
/// the others.
///
/// The caller keeps the change until this has returned. Writes of this function are not counted as the library's, so the
/// reconciler follows them as out-of-band changes, too: they may have been late. A document that is named before it is inserted
/// is left alone.
///
/// # Errors
/// An error that would occur with every document.
pub(crate) async fn follow(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    ids: &HashSet<Key>,
) -> Result<WriteReport> {
    let mut done = WriteReport::default();
    let ids: Vec<&Key> = ids.iter().collect();
    let mut parts: Vec<&[&Key]> = ids.chunks(BATCH).collect();
    while let Some(part) = parts.pop() {
        match but_for_the_deployment(follow_together(cx, meta, part).await)? {
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

async fn follow_together<'g>(cx: &Cx<'g>, meta: &'static DocumentMeta, ids: &[&Key]) -> Result<()> {
    let graph: &'g Graph = cx.odm.graph();
    let edges: Vec<&'g Edge> = graph.outgoing(meta).filter(|edge| edge.is_two_way()).collect();
    let ids: Vec<Bson> = ids.iter().map(|key| key.to_bson()).collect();
    let which = doc! { "_id": { "$in": ids } };
    let fields = inspect::fields(edges.iter().copied());
    let mut documents = cx.every(meta, which, fields).await?;
    documents.retain(|document| !pending::is_gone(document));
    let ids = batch::ids(&documents);
    let own: HashSet<Key> = ids.iter().map(Key::of_bson).collect();
    let faults = audit::look(cx, &edges, &documents).await?.faults;
    follow_faults(cx, faults).await?;
    for edge in &edges {
        let Some(back) = graph.inverse(edge) else { continue };
        let mut others = naming(back, &ids);
        while let Some(others) = others.next(cx).await? {
            follow_faults(cx, named_alone(cx, back, others, &own).await?).await?;
        }
    }
    Ok(())
}

/// Repairs links on one side, and duplicates.
async fn follow_faults<'g>(cx: &Cx<'g>, mut faults: Vec<Fault<'g>>) -> Result<()> {
    faults.retain(|fault| {
        matches!(
            fault.kind,
            FaultKind::OneSided { .. } | FaultKind::Repeated { .. }
        )
    });
    log_left(Repaired::default().repair(cx, faults).await?);
    Ok(())
}

/// The documents that name these. No index of the library's leads to them, so the other collection is read, once for every
/// out-of-band change. Of a list only these items are read.
fn naming(back: &Edge, ids: &[Bson]) -> InspectedDocuments {
    let names_them = doc! { &back.path: { "$in": ids } };
    let mut fields = inspect::fields([back]);
    fields.insert(back.path.as_str(), names_of(back, ids));
    InspectedDocuments::fitting(back.holder, names_them, fields)
}

/// Which of these documents are not named by them.
async fn named_alone<'g>(
    cx: &Cx<'g>,
    back: &'g Edge,
    mut naming: Vec<RawDocumentBuf>,
    documents: &HashSet<Key>,
) -> Result<Vec<Fault<'g>>> {
    naming.retain(|other| !pending::is_gone(other));
    let mut found = audit::look(cx, &[back], &naming).await?.faults;
    found.retain(|fault| match &fault.kind {
        FaultKind::OneSided { other } => documents.contains(&Key::of_bson(other)),
        _ => false,
    });
    Ok(found)
}

/// Number of faults left that are logged one by one.
const LOGGED: usize = 20;

/// Logs what has no right answer.
fn log_left(left: Vec<Fault<'_>>) {
    if let Some(more) = left.len().checked_sub(LOGGED).filter(|more| *more > 0) {
        tracing::warn!(target: "odm", more, "more two-way references differ between their sides; `audit` counts them");
    }
    for left in left.into_iter().take(LOGGED) {
        tracing::warn!(
            target: "odm",
            collection = left.edge.holder.collection,
            field = left.edge.path.as_str(),
            id = %left.holder,
            "the sides of a two-way reference differ, and neither is known to be right; `audit` lists it"
        );
    }
}

/// Makes both sides of one two-way reference equal for all documents of a collection: [`follow`] for all of it, a batch at a
/// time. Where the reference is `new`, one of its sides may be older than the other, so a link that either side has is added to
/// the other, unless that can refer to one document only and refers to another one.
///
/// # Errors
/// An error that would occur with every document.
pub(crate) async fn agree<'g>(
    cx: &Cx<'g>,
    edge: &'g Edge,
    mut documents: Vec<RawDocumentBuf>,
    new: bool,
) -> Result<WriteReport> {
    // A document that is older than the reference may be older than other rules of its validator, too.
    let cx = &if new { cx.unvalidated() } else { *cx };
    let mut done = WriteReport::default();
    documents.retain(|document| !pending::is_gone(document));
    if new {
        done.add(begin(cx, edge, &documents).await)?;
    }
    let faults = found(cx, edge, &documents).await?;
    agree_on_each(cx, edge, faults, new, &mut done).await?;
    Ok(done)
}

async fn found<'g>(cx: &Cx<'g>, edge: &'g Edge, documents: &[RawDocumentBuf]) -> Result<Vec<Fault<'g>>> {
    let mut faults = audit::look(cx, &[edge], documents).await?.faults;
    faults.retain(|fault| {
        matches!(
            fault.kind,
            FaultKind::OneSided { .. } | FaultKind::Repeated { .. }
        )
    });
    Ok(faults)
}

/// Repairs these, except those that the server refuses.
async fn agree_on_each<'g>(
    cx: &Cx<'g>,
    edge: &'g Edge,
    faults: Vec<Fault<'g>>,
    new: bool,
    done: &mut WriteReport,
) -> Result<()> {
    let mut parts = vec![faults];
    while let Some(mut part) = parts.pop() {
        if part.is_empty() {
            continue;
        }
        match but_for_the_deployment(agree_on(cx, edge, part.clone(), new).await)? {
            Ok(changed) => done.documents += changed,
            Err(error) if part.len() == 1 => done.refuse(error),
            Err(_) => {
                let second = part.split_off(part.len() / 2);
                parts.extend([second, part]);
            }
        }
    }
    Ok(())
}

/// Documents that are older than an array get it as an empty one, so that documents without links conform to the declaration,
/// too.
async fn begin(cx: &Cx<'_>, edge: &Edge, documents: &[RawDocumentBuf]) -> Result<WriteReport> {
    let lacks = |document: &&RawDocumentBuf| matches!(document.get(&edge.path), Ok(None));
    let ids = batch::ids(documents.iter().filter(lacks));
    if !edge.list || !edge.field.required || ids.is_empty() {
        return Ok(WriteReport::default());
    }
    let empty = Statement {
        filter: doc! { "_id": { "$in": ids }, &edge.path: { "$exists": false } },
        update: doc! { "$set": { &edge.path: [] } },
        array_filters: Vec::new(),
    };
    each::update(cx, edge.holder, std::slice::from_ref(&empty)).await
}

/// Repairs these. Returns in how many documents something was changed.
async fn agree_on<'g>(cx: &Cx<'g>, edge: &'g Edge, faults: Vec<Fault<'g>>, new: bool) -> Result<u64> {
    let graph: &'g Graph = cx.odm.graph();
    let Some(back) = graph.inverse(edge) else {
        return Ok(0);
    };
    let mut repaired = Repaired::default();
    let mut left = Vec::new();
    let (mut links, mut others) = (Vec::new(), faults);
    let mut believed: HashSet<LinkEnds> = HashSet::new();
    if new {
        let taken = taken(cx, back, &others).await?;
        for fault in std::mem::take(&mut others) {
            match &fault.kind {
                FaultKind::OneSided { other } if taken.contains(&Key::of_bson(other)) => others.push(fault),
                FaultKind::OneSided { other } => {
                    believed.insert((edge.id, Key::of_bson(&fault.holder), Key::of_bson(other)));
                    links.push(fault);
                }
                _ => links.push(fault),
            }
        }
    }
    left.extend(repaired.repair_as(cx, links, Belief::These(&believed)).await?);
    left.extend(repaired.repair_as(cx, others, Belief::SideAnyway).await?);
    log_left(left);
    Ok(repaired.repairs.iter().map(|repair| repair.count).sum())
}

fn others(faults: &[Fault<'_>]) -> HashSet<Key> {
    let others = faults.iter().filter_map(|fault| match &fault.kind {
        FaultKind::OneSided { other } => Some(Key::of_bson(other)),
        _ => None,
    });
    others.collect()
}

/// Of the other documents those that can name one document alone, and name another one.
async fn taken(cx: &Cx<'_>, back: &Edge, faults: &[Fault<'_>]) -> Result<HashSet<Key>> {
    let mut taken = HashSet::new();
    if back.list {
        return Ok(taken);
    }
    for keys in crate::model::key::chunks(&others(faults)) {
        let which = filter::all([
            doc! { "_id": { "$in": keys } },
            doc! { &back.path: { "$ne": null } },
        ]);
        let named = cx.every(back.holder, which, doc! { "_id": 1 }).await?;
        taken.extend(batch::ids(&named).iter().map(Key::of_bson));
    }
    Ok(taken)
}
