//! Two-way references that others have written past the library, on one side or twice: both sides agree again.

use super::audit;
use super::batch;
use super::derived::{self, Written, but_for_the_deployment};
use super::graph::{Edge, Graph};
use super::inspect::{self, Fault, Kind};
use super::pairs::{self, BATCH, LINKS, named_alone, naming, tell};
use super::repair::{Belief, Named, Repaired};
use super::scope::{Scope, Statement};
use crate::Result;
use crate::document::DocumentMeta;
use crate::key::Key;
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

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
    let mut faults = audit::look(scope, &[edge], &documents).await?.faults;
    faults.retain(|fault| matches!(fault.kind, Kind::OneSided { .. } | Kind::Repeated { .. }));
    if faults.is_empty() {
        return Ok(done);
    }
    let mut parts = vec![faults];
    while let Some(mut part) = parts.pop() {
        let alone = (part.len() == 1).then(|| part.clone());
        match (
            but_for_the_deployment(agree_on(scope, edge, part.clone(), new).await)?,
            alone,
        ) {
            (Ok(changed), _) => done.documents += changed,
            (Err(error), Some(_)) => done.refuse(error),
            (Err(_), None) => {
                let second = part.split_off(part.len() / 2);
                parts.extend([second, part]);
            }
        }
    }
    Ok(done)
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

/// Mends these. Gives in how many documents something was changed.
async fn agree_on<'g>(scope: &Scope<'g>, edge: &'g Edge, faults: Vec<Fault<'g>>, new: bool) -> Result<u64> {
    let graph: &'g Graph = scope.odm.graph();
    let Some(back) = graph.inverse(edge) else {
        return Ok(0);
    };
    // Where no transaction makes both sides one, what is written is marked, so that who comes between sees it.
    let is_marked = pairs::are_marked(scope.odm, edge.holder).await?;
    let mut marks = is_marked.then(Vec::new);
    let mut repaired = Repaired::default();
    let mut left = Vec::new();
    match new {
        false => left.extend(
            repaired
                .mend_as(scope, faults, &mut marks, Belief::SideAnyway)
                .await?,
        ),
        true => {
            let taken = taken(scope, edge, back, &faults, is_marked).await?;
            let (mut links, mut others) = (Vec::new(), Vec::new());
            let mut believed: HashSet<Named> = HashSet::new();
            for fault in faults {
                let Kind::OneSided { other } = &fault.kind else {
                    links.push(fault);
                    continue;
                };
                let (holder, other) = (Key::of_bson(&fault.holder), Key::of_bson(other));
                match taken.get(&other) {
                    Some(Taken::Open) => {}
                    _ if taken.get(&holder) == Some(&Taken::Open) => {}
                    Some(Taken::By) => others.push(fault),
                    None => {
                        believed.insert((edge.at, holder, other));
                        links.push(fault);
                    }
                }
            }
            let links = repaired
                .mend_as(scope, links, &mut marks, Belief::These(&believed))
                .await?;
            left.extend(links);
            let others = repaired
                .mend_as(scope, others, &mut marks, Belief::SideAnyway)
                .await?;
            left.extend(others);
        }
    }
    tell(left);
    if let Some(tokens) = marks.filter(|tokens| !tokens.is_empty()) {
        pairs::unmark_all(scope, [edge.holder, back.holder], &tokens).await?;
    }
    Ok(repaired.mended.iter().map(|mended| mended.count).sum())
}

/// Why a link that is there on one side alone is not simply added to the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// Somebody is at this document, and sees to its links.
    Open,
    /// It can name one document alone, and names another one.
    By,
}

/// Of the documents of these links those to which none is simply added.
async fn taken(
    scope: &Scope<'_>,
    edge: &Edge,
    back: &Edge,
    faults: &[Fault<'_>],
    is_marked: bool,
) -> Result<HashMap<Key, Taken>> {
    let mut taken = HashMap::new();
    if back.list && !is_marked {
        return Ok(taken);
    }
    let others = faults.iter().filter_map(|fault| match &fault.kind {
        Kind::OneSided { other } => Some(Key::of_bson(other)),
        _ => None,
    });
    let holders = faults.iter().map(|fault| Key::of_bson(&fault.holder));
    let single = (!back.list).then_some(back);
    let sides: [(&Edge, Option<&Edge>, HashSet<Key>); 2] = [
        (edge, None, holders.filter(|_| is_marked).collect()),
        (back, single, others.collect()),
    ];
    for (side, single, keys) in sides {
        let mut fields = inspect::fields(single);
        fields.insert(LINKS, 1);
        for keys in crate::key::chunks(&keys) {
            let which = doc! { "_id": { "$in": keys } };
            for document in scope.every(side.holder, which, fields.clone()).await? {
                let id = Key::of_bson(&batch::document_id(&document));
                let is_set = single.is_some_and(|single| single.values(&document).next().is_some());
                if is_marked && batch::value(&document, LINKS).is_some() {
                    taken.insert(id, Taken::Open);
                } else if is_set {
                    taken.insert(id, Taken::By);
                }
            }
        }
    }
    Ok(taken)
}
