//! Finds faults in the references of some documents.
//!
//! The targets of a whole batch are asked for at once, one query for each collection and field that they are found by. Of
//! a two-way reference the other side is compared on the server: only what refers back to this batch crosses the network.

use crate::Result;
use crate::engine::delete::level::{is_deleted, token_at};
use crate::engine::delete::tree::{is_below, is_followed};
use crate::graph::Graph;
use crate::graph::edge::{Edge, EdgeId, ReferenceTarget, Segment};
use crate::graph::routing::{key_at, same};
use crate::graph::sync::fields_of;
use crate::model::document::DocumentMeta;
use crate::model::key;
use crate::model::key::Key;
use crate::model::meta::names::read_too;
use crate::model::own_fields::{DELETE, DELETION, RESTORING, Token};
use crate::model::reference::OnDelete;
use crate::rules::pending;
use crate::store::batch::{document_id, ids};
use crate::store::cx::Cx;
use crate::store::transaction;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// Maximum number of queries that run at once.
const AT_ONCE: usize = 8;

/// Something that is wrong with a reference in a document.
#[derive(Clone, Debug)]
pub(crate) struct Fault<'g> {
    pub(crate) edge: &'g Edge,
    /// The id of the document that holds it.
    pub(crate) holder: Bson,
    pub(crate) kind: FaultKind,
}

#[derive(Clone, Debug)]
pub(crate) enum FaultKind {
    /// The target at this position among the edge's has no such document; without a position it names none of them.
    Dangling {
        target: Option<ReferenceTarget>,
        key: Bson,
    },
    /// The other side of a two-way reference does not refer back.
    OneSided { other: Bson },
    /// A two-way reference names a document several times in one array.
    Repeated { other: Bson },
    /// An array holds more than it may.
    OverBound { items: u64 },
    /// The document is not deleted, and the one that it refers to with `cascade` or `restrict` is.
    BelowDeleted { other: Bson },
    /// An interrupted deletion or restoration of this document, which the reference leads to, has left the document deleted.
    Interrupted { top: &'static DocumentMeta, id: Bson },
}

impl Fault<'_> {
    /// The key that identifies the fault when it is inspected again.
    fn key(&self) -> (EdgeId, Key, u8, Key) {
        let (kind, other) = match &self.kind {
            FaultKind::Dangling { key, .. } => (0, Key::of_bson(key)),
            FaultKind::OneSided { other } => (1, Key::of_bson(other)),
            FaultKind::Repeated { other } => (2, Key::of_bson(other)),
            FaultKind::OverBound { .. } => (3, Key::Int(0)),
            FaultKind::BelowDeleted { other } => (4, Key::of_bson(other)),
            FaultKind::Interrupted { id, .. } => (5, Key::of_bson(id)),
        };
        (self.edge.id, Key::of_bson(&self.holder), kind, other)
    }
}

/// The findings in a batch.
#[derive(Debug, Default)]
pub(crate) struct Inspected<'g> {
    /// How many references there are, by edge.
    pub(crate) checked: HashMap<EdgeId, u64>,
    /// How many of them name a document that is gone, and are declared to be left then.
    pub(crate) kept: HashMap<EdgeId, u64>,
    pub(crate) faults: Vec<Fault<'g>>,
}

/// The fields to read of documents to inspect these references.
pub(crate) fn fields<'e>(edges: impl IntoIterator<Item = &'e Edge> + Clone) -> Document {
    let mut fields = fields_of(edges.clone());
    if let Some(edge) = edges.clone().into_iter().find(|edge| may_be_below(edge)) {
        add_deletion(edge.holder, &mut fields);
    }
    if edges.into_iter().any(Edge::is_two_way) {
        fields.insert(DELETE, 1);
    }
    fields
}

/// Whether a document with such a reference is deleted with its target, or keeps it from being deleted, where deletions keep documents.
/// The items of a bucket stay until the purge.
fn may_be_below(edge: &Edge) -> bool {
    let keeps = edge
        .targets
        .iter()
        .any(|target| target.meta.soft_delete.is_some());
    let rule = edge.reference.on_delete;
    keeps && (is_followed(edge.holder, rule) || rule == OnDelete::Restrict)
}

/// Adds the fields that tell of a deletion that keeps its documents.
fn add_deletion(meta: &DocumentMeta, fields: &mut Document) {
    if let Some(name) = meta.soft_delete {
        fields.extend(doc! { name: 1, DELETION: 1, RESTORING: 1 });
    }
}

/// A collection and the field of it that is asked for.
type TargetColumn = (&'static str, &'static str);

struct InspectedTargets<'g> {
    meta: &'static DocumentMeta,
    by: &'static str,
    keys: HashSet<Key>,
    /// The sides that may refer back.
    backs: Vec<&'g Edge>,
}

/// The targets that were found.
struct There {
    keys: HashSet<Key>,
    /// By edge that refers back and document, whom of the batch it refers to.
    back: HashMap<(EdgeId, Key), HashSet<Key>>,
    /// Those of documents that are not deleted.
    living: HashSet<Key>,
    /// Of documents that are not deleted, the id of a deletion or restoration that has not come to its end, and that of the document.
    begun: HashMap<Key, (Token, Bson)>,
    /// The fields that no update changes, of documents that other ones have the same value as.
    same: HashMap<Key, HashMap<&'static str, Key>>,
}

/// Inspects these references in documents of one collection.
pub(crate) async fn inspect<'g>(
    cx: &Cx<'_>,
    graph: &'g Graph,
    edges: &[&'g Edge],
    documents: &[RawDocumentBuf],
) -> Result<Inspected<'g>> {
    let mut asked: HashMap<TargetColumn, InspectedTargets<'g>> = HashMap::new();
    for edge in edges {
        for target in edge.targets.iter().copied() {
            let mut keys = documents
                .iter()
                .flat_map(|document| edge.keys(target, document))
                .peekable();
            if keys.peek().is_none() {
                continue;
            }
            let column = asked
                .entry((target.meta.collection, edge.by()))
                .or_insert_with(|| InspectedTargets {
                    meta: target.meta,
                    by: edge.by(),
                    keys: HashSet::new(),
                    backs: Vec::new(),
                });
            column.keys.extend(keys);
            column.backs.extend(graph.inverse(edge));
        }
    }
    let holders = ids(documents);
    let looks: Vec<_> = asked
        .into_iter()
        .map(|(column, asked)| {
            let holders = &holders;
            async move { Ok::<_, crate::Error>((column, look(cx, &asked, holders).await?)) }.boxed()
        })
        .collect();
    // The operations of a transaction take turns.
    let at_once = if cx.session.is_some() { 1 } else { AT_ONCE };
    let there: HashMap<TargetColumn, There> = stream::iter(looks).buffered(at_once).try_collect().await?;
    let mut inspected = Inspected::default();
    for document in documents {
        // A document that is about to be deleted has no other side any more.
        for edge in edges
            .iter()
            .filter(|edge| !edge.is_two_way() || !pending::is_gone(document))
        {
            one(graph, edge, document, &there, &mut inspected);
        }
    }
    let further = further_up(cx, graph, edges, documents, &there).await?;
    inspected.faults.extend(further);
    Ok(inspected)
}

/// A deleted document below one that is not deleted, and a document further up: the interrupted deletion or restoration may be that of this
/// one.
struct Climb<'g> {
    edge: &'g Edge,
    holder: Bson,
    token: Token,
    at: (&'static DocumentMeta, &'static str, Key),
}

/// The faults of deleted documents whose deletion or restoration has begun further up than at their target: levels between them are
/// restored, or not deleted yet.
async fn further_up<'g>(
    cx: &Cx<'_>,
    graph: &'g Graph,
    edges: &[&'g Edge],
    documents: &[RawDocumentBuf],
    there: &HashMap<TargetColumn, There>,
) -> Result<Vec<Fault<'g>>> {
    let has_above = |meta| {
        graph
            .outgoing(meta)
            .any(|edge| targets_above(edge).next().is_some())
    };
    let mut climbs: Vec<Climb<'g>> = Vec::new();
    for edge in edges {
        for target in targets_above(edge).filter(|target| has_above(target.meta)) {
            let Some(targets) = there.get(&(target.meta.collection, edge.by())) else {
                continue;
            };
            for document in documents.iter().filter(|one| is_deleted(edge.holder, one)) {
                let Some(token) = token_at(document, &[DELETION]) else {
                    continue;
                };
                let is_of_it = |key: &Key| targets.begun.get(key).is_some_and(|(begun, _)| *begun == token);
                let mut keys = edge.keys(target, document);
                keys.retain(|key| targets.living.contains(key) && !is_of_it(key));
                climbs.extend(keys.into_iter().map(|key| Climb {
                    edge,
                    holder: document_id(document),
                    token,
                    at: (target.meta, edge.by(), key),
                }));
            }
        }
    }
    let mut faults = Vec::new();
    let mut known: HashSet<(EdgeId, Key, TargetColumn, Key)> = HashSet::new();
    while !climbs.is_empty() {
        let mut asked: HashMap<TargetColumn, (&'static DocumentMeta, HashSet<Key>)> = HashMap::new();
        for Climb {
            at: (meta, by, key), ..
        } in &climbs
        {
            let column = asked
                .entry((meta.collection, by))
                .or_insert((meta, HashSet::new()));
            column.1.insert(key.clone());
        }
        let mut found: HashMap<(TargetColumn, Key), RawDocumentBuf> = HashMap::new();
        for (column, (meta, keys)) in asked {
            let mut fields = fields_of(graph.outgoing(meta));
            fields.extend(doc! { "_id": 1, column.1: 1 });
            add_deletion(meta, &mut fields);
            for keys in key::chunks(&keys) {
                let filter = doc! { column.1: { "$in": keys } };
                for document in cx.every(meta, filter, fields.clone()).await? {
                    let key = crate::store::batch::value(&document, column.1);
                    if let Some(key) = key.filter(|_| !is_deleted(meta, &document)) {
                        found.insert((column, Key::of_bson(&key)), document);
                    }
                }
            }
        }
        let mut next = Vec::new();
        for climb in climbs {
            let (meta, by, key) = climb.at;
            let Some(document) = found.get(&((meta.collection, by), key)) else {
                continue;
            };
            if token_at(document, &[DELETION]) == Some(climb.token)
                || token_at(document, &[RESTORING]) == Some(climb.token)
            {
                faults.push(Fault {
                    edge: climb.edge,
                    holder: climb.holder,
                    kind: FaultKind::Interrupted {
                        top: meta,
                        id: document_id(document),
                    },
                });
                continue;
            }
            for above in graph.outgoing(meta) {
                for target in targets_above(above) {
                    for key in above.keys(target, document) {
                        let column = (target.meta.collection, above.by());
                        let holder = Key::of_bson(&climb.holder);
                        if known.insert((climb.edge.id, holder, column, key.clone())) {
                            next.push(Climb {
                                holder: climb.holder.clone(),
                                at: (target.meta, above.by(), key),
                                ..climb
                            });
                        }
                    }
                }
            }
        }
        climbs = next;
    }
    Ok(faults)
}

/// The targets with which holders of a reference are restored.
fn targets_above(edge: &Edge) -> impl Iterator<Item = ReferenceTarget> + use<'_> {
    let targets = edge.targets.iter().copied();
    targets.filter(|target| target.meta.soft_delete.is_some() && is_below(edge, target.meta))
}

impl There {
    /// Whether a document has the fields of `same(…)` as the one with this key does.
    fn is_same(&self, edge: &Edge, document: &RawDocumentBuf, key: &Key) -> bool {
        same(edge).all(|name| {
            let other = self.same.get(key).and_then(|fields| fields.get(name));
            other == key_at(document, name).as_ref()
        })
    }

    /// The fault of a document and its target where one of them is deleted and kept.
    fn deletion(
        &self,
        edge: &Edge,
        document: &RawDocumentBuf,
        (target, key): (ReferenceTarget, &Key),
        stored: &Bson,
    ) -> Option<FaultKind> {
        if !may_be_below(edge) {
            return None;
        }
        if !is_deleted(edge.holder, document) {
            let other = stored.clone();
            return (!self.living.contains(key)).then_some(FaultKind::BelowDeleted { other });
        }
        let top = target.meta;
        let (begun, id) = self.begun.get(key)?;
        let is_of_it = token_at(document, &[DELETION]) == Some(*begun);
        (is_of_it && is_below(edge, top)).then(|| FaultKind::Interrupted { top, id: id.clone() })
    }
}

async fn look(cx: &Cx<'_>, asked: &InspectedTargets<'_>, holders: &[Bson]) -> Result<There> {
    let mut fields = doc! { "_id": 1, asked.by: 1 };
    for back in &asked.backs {
        fields.insert(back.path.as_str(), names_of(back, holders));
        fields.insert(DELETE, 1);
    }
    add_deletion(asked.meta, &mut fields);
    let mut there = There {
        keys: HashSet::new(),
        back: HashMap::new(),
        living: HashSet::new(),
        begun: HashMap::new(),
        same: HashMap::new(),
    };
    let routing = cx.odm.graph().routing(asked.meta);
    if let Some(routing) = routing {
        // Where the other side is compared, the projection computes, and no shard key is added to it.
        routing.fixed().for_each(|name| read_too(&mut fields, name));
    }
    for keys in key::chunks(&asked.keys) {
        let filter = doc! { asked.by: { "$in": keys } };
        for found in cx.every(asked.meta, filter, fields.clone()).await? {
            if pending::is_gone(&found) {
                continue;
            }
            if let Some(key) = crate::store::batch::value(&found, asked.by).map(|key| Key::of_bson(&key)) {
                there.keys.insert(key.clone());
                if let Some(routing) = routing {
                    let fields = routing
                        .fixed()
                        .filter_map(|name| Some((name, key_at(&found, name)?)));
                    there.same.insert(key.clone(), fields.collect());
                }
                if !is_deleted(asked.meta, &found) {
                    there.living.insert(key.clone());
                    let begun = token_at(&found, &[DELETION, RESTORING]);
                    there
                        .begun
                        .extend(begun.map(|token| (key, (token, document_id(&found)))));
                }
            }
            let id = Key::of_bson(&document_id(&found));
            for back in &asked.backs {
                let refers: HashSet<Key> = back.all_keys(&found).into_iter().collect();
                there.back.insert((back.id, id.clone()), refers);
            }
        }
    }
    Ok(there)
}

/// A projection of the references of an edge that refer to these documents.
pub(crate) fn names_of(edge: &Edge, ids: &[Bson]) -> Bson {
    let field = format!("${}", edge.path);
    if !edge.list {
        Bson::Int32(1)
    } else {
        doc! { "$cond": [
            { "$isArray": &field },
            { "$setIntersection": [&field, { "$literal": ids }] },
            null,
        ] }
        .into()
    }
}

/// One reference, or array of them, in one document.
fn one<'g>(
    graph: &'g Graph,
    edge: &'g Edge,
    document: &RawDocumentBuf,
    there: &HashMap<TargetColumn, There>,
    inspected: &mut Inspected<'g>,
) {
    let holder = document_id(document);
    let own = Key::of_bson(&holder);
    let mut fault = |kind: FaultKind| {
        inspected.faults.push(Fault {
            edge,
            holder: holder.clone(),
            kind,
        });
    };
    let mut seen: HashSet<Key> = HashSet::new();
    let mut repeated: HashSet<Key> = HashSet::new();
    let (mut checked, mut kept) = (0, 0);
    for value in edge.values(document) {
        checked += 1;
        let Ok(stored) = Bson::try_from(value) else {
            continue;
        };
        let Some((target, key)) = edge.points(value) else {
            fault(FaultKind::Dangling {
                target: None,
                key: stored,
            });
            continue;
        };
        let key = Key::of(key);
        let is_new = seen.insert(key.clone());
        if edge.is_two_way() && !is_new {
            if repeated.insert(key) {
                fault(FaultKind::Repeated { other: stored });
            }
            continue;
        }
        let column = there.get(&(target.meta.collection, edge.by()));
        let is_target = |column: &There| column.keys.contains(&key) && column.is_same(edge, document, &key);
        if !column.is_some_and(is_target) {
            match edge.reference.on_delete {
                crate::OnDelete::Keep => kept += 1,
                _ => fault(FaultKind::Dangling {
                    target: Some(target),
                    key: key.to_bson(),
                }),
            }
            continue;
        }
        if let Some(kind) = column.and_then(|column| column.deletion(edge, document, (target, &key), &stored))
        {
            fault(kind);
        }
        let back = graph.inverse(edge).map(|back| (back.id, key));
        if back.is_some_and(|back| {
            let sides = column.and_then(|column| column.back.get(&back));
            !sides.is_some_and(|sides| sides.contains(&own))
        }) {
            fault(FaultKind::OneSided { other: stored });
        }
    }
    if let Some(max) = edge.bound() {
        let items = longest(edge, document);
        if items > max {
            fault(FaultKind::OverBound { items });
        }
    }
    *inspected.checked.entry(edge.id).or_default() += checked;
    *inspected.kept.entry(edge.id).or_default() += kept;
}

/// How many items the longest of the arrays holds that a path leads to: of references, or of what they stand in.
fn longest(edge: &Edge, document: &RawDocumentBuf) -> u64 {
    fn below(value: RawBsonRef<'_>, array: bool, rest: &[Segment]) -> u64 {
        if array {
            let RawBsonRef::Array(items) = value else { return 0 };
            let items = items.into_iter().map_while(|item| item.ok());
            return if !rest.iter().any(|segment| segment.array) {
                items.count() as u64
            } else {
                items.map(|item| below(item, false, rest)).max().unwrap_or(0)
            };
        }
        let Some((next, rest)) = rest.split_first() else {
            return 0;
        };
        let inner = match value {
            RawBsonRef::Document(document) => document.get(&next.name).ok().flatten(),
            // A tuple.
            RawBsonRef::Array(items) => {
                let at = next.name.parse::<usize>().ok();
                at.and_then(|at| items.get(at).ok().flatten())
            }
            _ => None,
        };
        inner.map_or(0, |inner| below(inner, next.array, rest))
    }
    below(RawBsonRef::Document(document), false, &edge.segments)
}

/// Those of the faults that are still there when the documents are read again: of a write that is on its way the first
/// look may have seen one half.
pub(crate) async fn confirm<'g>(
    cx: &Cx<'_>,
    graph: &'g Graph,
    faults: Vec<Fault<'g>>,
) -> Result<Vec<Fault<'g>>> {
    let Some(meta) = faults.first().map(|fault| fault.edge.holder) else {
        return Ok(faults);
    };
    let mut edges: Vec<&Edge> = Vec::new();
    for fault in &faults {
        if !edges.iter().any(|edge| edge.id == fault.edge.id) {
            edges.push(fault.edge);
        }
    }
    let holders = faults.iter().map(|fault| fault.holder.clone()).collect();
    let again = look_at(cx, graph, meta, &edges, holders).await?;
    let there: HashSet<_> = again.faults.iter().map(Fault::key).collect();
    Ok(faults
        .into_iter()
        .filter(|fault| there.contains(&fault.key()))
        .collect())
}

/// Inspects the documents with these ids. Where the deployment has transactions, both sides of a link are read in one
/// snapshot.
pub(crate) async fn look_at<'g>(
    cx: &Cx<'_>,
    graph: &'g Graph,
    meta: &'static DocumentMeta,
    edges: &[&'g Edge],
    ids: Vec<Bson>,
) -> Result<Inspected<'g>> {
    let which = doc! { "_id": { "$in": ids } };
    let read = async |cx: Cx<'_>| {
        let fields = fields(edges.iter().copied());
        let documents = cx.every(meta, which.clone(), fields).await?;
        inspect(&cx, graph, edges, &documents).await
    };
    if !cx.odm.has_transactions().await? {
        read(*cx).await
    } else {
        transaction::transaction(cx.odm, Some(cx.trace), async |session| {
            read(cx.within(&session)).await
        })
        .await
    }
}
