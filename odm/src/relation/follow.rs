//! Two-way references that others have written past the library, on one side or twice: both sides agree again.

use super::audit;
use super::batch;
use super::derived::{self, Written, but_for_the_deployment};
use super::graph::{Edge, Graph};
use super::inspect::{self, Fault, Kind};
use super::pairs::{self, BATCH, named_alone, naming, tell};
use super::repair::{Belief, Named, Repaired};
use super::scope::{Scope, Statement};
use crate::Result;
use crate::document::DocumentMeta;
use crate::key::Key;
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::collections::HashSet;
use std::time::Duration;

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

/// Lets both sides agree of what documents of one collection name by one two-way reference: [`follow`] for all of it, a batch at
/// a time. Where the reference is `new`, one of its sides may be older than the other, so a link is to be whichever side has
/// it, unless the other side can name one document alone and names another one.
///
/// # Errors
/// What would fail with all documents.
pub(super) async fn agree<'g>(
    scope: &Scope<'g>,
    edge: &'g Edge,
    mut documents: Vec<RawDocumentBuf>,
    new: bool,
) -> Result<Written> {
    // What is older than the reference may be older than other rules of its validator, too.
    let scope = &match new {
        true => scope.unvalidated(),
        false => *scope,
    };
    let mut done = Written::default();
    documents.retain(|document| !derived::is_gone(document));
    if new {
        done.add(begin(scope, edge, &documents).await)?;
    }
    let mut faults = found(scope, edge, &documents).await?;
    for attempt in 0..=WAITS {
        // Whoever is dead by now has left a link on one side that may be or not.
        let waits = new && attempt < WAITS;
        let open = agree_on_each(scope, edge, faults, Agreeing { new, waits }, &mut done).await?;
        if open.is_empty() {
            break;
        }
        tokio::time::sleep(WAIT).await;
        let which = doc! { "_id": { "$in": open } };
        let mut documents = scope.every(edge.holder, which, inspect::fields([edge])).await?;
        documents.retain(|document| !derived::is_gone(document));
        faults = found(scope, edge, &documents).await?;
    }
    Ok(done)
}

/// So often, and so long each time, a backfill waits for who is at a document.
const WAITS: usize = 20;
const WAIT: Duration = Duration::from_millis(50);

/// How both sides come to agree.
#[derive(Clone, Copy)]
struct Agreeing {
    /// One side may never have been written.
    new: bool,
    /// What somebody is at is left for now.
    waits: bool,
}

async fn found<'g>(
    scope: &Scope<'g>,
    edge: &'g Edge,
    documents: &[RawDocumentBuf],
) -> Result<Vec<Fault<'g>>> {
    let mut faults = audit::look(scope, &[edge], documents).await?.faults;
    faults.retain(|fault| matches!(fault.kind, Kind::OneSided { .. } | Kind::Repeated { .. }));
    Ok(faults)
}

/// Mends these, but those that the server refuses. Gives the documents with links that somebody is at.
async fn agree_on_each<'g>(
    scope: &Scope<'g>,
    edge: &'g Edge,
    faults: Vec<Fault<'g>>,
    how: Agreeing,
    done: &mut Written,
) -> Result<Vec<Bson>> {
    let mut open = Vec::new();
    let mut parts = vec![faults];
    while let Some(mut part) = parts.pop() {
        if part.is_empty() {
            continue;
        }
        match but_for_the_deployment(agree_on(scope, edge, part.clone(), how).await)? {
            Ok((changed, left)) => {
                done.documents += changed;
                open.extend(left);
            }
            Err(error) if part.len() == 1 => done.refuse(error),
            Err(_) => {
                let second = part.split_off(part.len() / 2);
                parts.extend([second, part]);
            }
        }
    }
    Ok(open)
}

/// An array that documents lack which are older than it is empty, so that those whom nobody names are as they are declared, too.
async fn begin(scope: &Scope<'_>, edge: &Edge, documents: &[RawDocumentBuf]) -> Result<Written> {
    let lacks = |document: &&RawDocumentBuf| matches!(document.get(&edge.path), Ok(None));
    let ids = batch::ids(documents.iter().filter(lacks));
    if !edge.list || !edge.field.required || ids.is_empty() {
        return Ok(Written::default());
    }
    let empty = Statement {
        filter: doc! { "_id": { "$in": ids }, &edge.path: { "$exists": false } },
        update: doc! { "$set": { &edge.path: [] } },
        array_filters: Vec::new(),
    };
    derived::update_each(scope, edge.holder, std::slice::from_ref(&empty)).await
}

/// Mends these. Gives in how many documents something was changed, and the documents with links that somebody is at.
async fn agree_on<'g>(
    scope: &Scope<'g>,
    edge: &'g Edge,
    faults: Vec<Fault<'g>>,
    how: Agreeing,
) -> Result<(u64, Vec<Bson>)> {
    let graph: &'g Graph = scope.odm.graph();
    let Some(back) = graph.inverse(edge) else {
        return Ok((0, Vec::new()));
    };
    // Where no transaction makes both sides one, what is written is marked, so that who comes between sees it.
    let mut marks = pairs::are_marked(scope.odm, edge.holder).await?.then(Vec::new);
    let mut repaired = Repaired::default();
    let mut left = Vec::new();
    let mut open = Vec::new();
    if how.new {
        let waits = how.waits && marks.is_some();
        let busy = match waits {
            true => busy(scope, edge, back, &faults).await?,
            false => [HashSet::new(), HashSet::new()],
        };
        let taken = taken(scope, back, &faults).await?;
        let (mut links, mut others) = (Vec::new(), Vec::new());
        let mut believed: HashSet<Named> = HashSet::new();
        for fault in faults {
            let Kind::OneSided { other } = &fault.kind else {
                links.push(fault);
                continue;
            };
            let (holder, other) = (Key::of_bson(&fault.holder), Key::of_bson(other));
            if busy[0].contains(&holder) || busy[1].contains(&other) {
                open.push(fault.holder);
            } else if taken.contains(&other) {
                others.push(fault);
            } else {
                believed.insert((edge.at, holder, other));
                links.push(fault);
            }
        }
        let belief = Belief::These(&believed);
        left.extend(repaired.mend_as(scope, links, &mut marks, belief).await?);
        let belief = Belief::SideAnyway;
        left.extend(repaired.mend_as(scope, others, &mut marks, belief).await?);
    } else {
        let belief = Belief::SideAnyway;
        left.extend(repaired.mend_as(scope, faults, &mut marks, belief).await?);
    }
    tell(left);
    if let Some(tokens) = marks.filter(|tokens| !tokens.is_empty()) {
        pairs::unmark_all(scope, [edge.holder, back.holder], &tokens).await?;
    }
    Ok((repaired.mended.iter().map(|mended| mended.count).sum(), open))
}

fn others(faults: &[Fault<'_>]) -> HashSet<Key> {
    let others = faults.iter().filter_map(|fault| match &fault.kind {
        Kind::OneSided { other } => Some(Key::of_bson(other)),
        _ => None,
    });
    others.collect()
}

/// On each side of these links the documents that somebody has marked, who sees to their links.
async fn busy(
    scope: &Scope<'_>,
    edge: &Edge,
    back: &Edge,
    faults: &[Fault<'_>],
) -> Result<[HashSet<Key>; 2]> {
    let holders: HashSet<Key> = faults.iter().map(|fault| Key::of_bson(&fault.holder)).collect();
    let mut busy = [HashSet::new(), HashSet::new()];
    for ((side, keys), busy) in [(edge, holders), (back, others(faults))]
        .into_iter()
        .zip(&mut busy)
    {
        for keys in crate::key::chunks(&keys) {
            let marked = batch::all([doc! { "_id": { "$in": keys } }, pairs::are_open()]);
            let marked = scope.every(side.holder, marked, doc! { "_id": 1 }).await?;
            busy.extend(batch::ids(&marked).iter().map(Key::of_bson));
        }
    }
    Ok(busy)
}

/// Of the other documents those that can name one document alone, and name another one.
async fn taken(scope: &Scope<'_>, back: &Edge, faults: &[Fault<'_>]) -> Result<HashSet<Key>> {
    let mut taken = HashSet::new();
    if back.list {
        return Ok(taken);
    }
    for keys in crate::key::chunks(&others(faults)) {
        let which = batch::all([
            doc! { "_id": { "$in": keys } },
            doc! { &back.path: { "$ne": null } },
        ]);
        let named = scope.every(back.holder, which, doc! { "_id": 1 }).await?;
        taken.extend(batch::ids(&named).iter().map(Key::of_bson));
    }
    Ok(taken)
}
