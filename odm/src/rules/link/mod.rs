//! Applies the effects of a write on the other side of two-way references, in one command for each collection.

pub(crate) mod count;
pub(crate) mod other_side;

use crate::bounds;
use crate::graph::edge::{Edge, EdgeId, TwoWay};
use crate::graph::{Graph, is};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::plan::links::{Answers, LinkAction, LinkedDocument, OtherSideWrite, Questions, missing};
use crate::rules::library::LibraryUpdate;
use crate::rules::rule::Effects;
use crate::store::batch::{by_ids, by_ids_within, id, stored_value};
use crate::store::cx::{Cx, Statement};
use crate::store::filter::within;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocumentBuf, doc};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Maximum number of ids in one statement.
const IDS_IN_ONE_STATEMENT: usize = 10_000;

/// Reads single references.
pub(crate) async fn answer(cx: &Cx<'_>, graph: &Graph, questions: Questions) -> Result<Answers> {
    let mut answers = Answers::new();
    for (side, nodes) in questions {
        let edge = &graph[side];
        for document in by_ids(cx, edge.holder, nodes.iter().map(|node| &node.key), [edge.root()]).await? {
            let now = edge.values(&document).next().map(|value| node(edge, value));
            answers.insert((side, id(&document)), now.transpose()?);
        }
    }
    Ok(answers)
}

fn node(edge: &Edge, value: RawBsonRef<'_>) -> Result<LinkedDocument> {
    Ok(LinkedDocument::new(&stored_value(
        edge.holder,
        &edge.path,
        value,
    )?))
}

/// Writes these effects, all of them or with an error. Within a transaction that is the caller's to abort; without one a part may
/// be written.
///
/// # Errors
/// [`Error::MissingReference`] for documents that don't exist, [`Error::ArrayFull`] where an array has no room.
pub(crate) async fn apply(
    cx: &Cx<'_>,
    graph: &Graph,
    effects: &[OtherSideWrite],
    further: &mut Effects,
) -> Result<()> {
    let mut collections: Vec<(&'static DocumentMeta, Vec<&OtherSideWrite>)> = Vec::new();
    for effect in effects {
        let edge = &graph[effect.two_way.edge];
        match collections.iter_mut().find(|(meta, _)| is(meta, edge.holder)) {
            Some((_, list)) => list.push(effect),
            None => collections.push((edge.holder, vec![effect])),
        }
    }
    for (meta, effects) in collections {
        let existing = cx.odm.scope_of_existing(meta);
        let mut prepared = statements(graph, &effects, meta.version().is_some(), existing.as_ref());
        let link = LibraryUpdate::link(meta);
        for statement in &mut prepared.statements {
            further.complete(graph, link, &mut statement.update);
        }
        for statement in prepared.before.iter_mut().chain(&mut prepared.untouched) {
            further.complete(graph, link.keeping_version(), &mut statement.update);
        }
        // The references to remove are still there.
        prepared.statements.splice(0..0, prepared.untouched.drain(..));
        cx.update(meta, &prepared.before).await?;
        let matched = cx.update(meta, &prepared.statements).await?;
        // A reference to remove may be gone already; an added one must not fail.
        if matched < prepared.documents {
            verify(cx, graph, meta, &effects).await?;
        }
    }
    Ok(())
}

/// Whether the arrays that effects add to are there and have room, asked before a write that no transaction can take back. Not
/// asked of documents that the write itself inserts.
///
/// # Errors
/// [`Error::MissingReference`] for documents that don't exist, [`Error::ArrayFull`] where an array has no room.
pub(crate) async fn have_room(
    cx: &Cx<'_>,
    graph: &Graph,
    effects: &[OtherSideWrite],
    is_inserted: impl Fn(&DocumentMeta, &Key) -> bool,
) -> Result<()> {
    let mut arrays: HashMap<TwoWay, HashMap<&Key, Vec<&OtherSideWrite>>> = HashMap::new();
    for effect in effects.iter().filter(|effect| effect.act == LinkAction::Gain) {
        let holders = arrays.entry(effect.two_way).or_default();
        holders.entry(&effect.holder.key).or_default().push(effect);
    }
    for (two_way, mut holders) in arrays {
        let (edge, back) = graph.sides(two_way);
        holders.retain(|key, _| !is_inserted(edge.holder, key));
        let existing = cx.odm.scope_of_existing(edge.holder);
        let keys = holders.keys().copied();
        let found = by_ids_within(cx, edge.holder, keys, [edge.root()], existing.as_ref()).await?;
        let found: HashMap<Key, RawDocumentBuf> = found.into_iter().map(|one| (id(&one), one)).collect();
        let gone: Vec<Bson> = holders
            .iter()
            .filter(|(key, _)| !found.contains_key(**key))
            .filter_map(|(_, gains)| Some(gains.first()?.holder.id.clone()))
            .collect();
        if !gone.is_empty() {
            return Err(missing(back, gone.into_iter()));
        }
        for (key, gains) in holders {
            let lost = effects.iter().filter(|effect| {
                effect.act == LinkAction::Lose && effect.two_way == two_way && effect.holder.key == *key
            });
            let lost: HashSet<&Key> = lost.map(|effect| &effect.target.key).collect();
            let mut after: HashSet<Key> = found
                .get(key)
                .map(|document| edge.values(document).map(Key::of).collect())
                .unwrap_or_default();
            let before = after.len();
            after.retain(|key| !lost.contains(key));
            after.extend(gains.iter().map(|effect| effect.target.key.clone()));
            if let (Some(max), Some(first)) = (edge.max, gains.first())
                && after.len() as u64 > max
                && after.len() > before
            {
                return Err(full(edge, first, max));
            }
        }
    }
    Ok(())
}

fn full(edge: &Edge, effect: &OtherSideWrite, max: u64) -> Error {
    Error::ArrayFull {
        collection: edge.holder.collection,
        id: Box::new(effect.holder.id.clone()),
        field: edge.path.clone(),
        max,
    }
}

#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// Makes arrays that are `null` arrays, which take items.
    pub(crate) before: Vec<Statement>,
    pub(crate) statements: Vec<Statement>,
    /// Fit the documents that are right already, before the others are. They count the write also there: of two transactions that rely
    /// on the same document one is run again.
    untouched: Vec<Statement>,
    /// How many documents the statements fit at most, added up.
    pub(crate) documents: u64,
}

/// As statements, with the removals first: they make room. `only_changed` says that a document which has a reference already is
/// not among those that get it; `existing` is the condition of documents that may get one.
pub(crate) fn statements(
    graph: &Graph,
    effects: &[&OtherSideWrite],
    only_changed: bool,
    existing: Option<&Document>,
) -> Prepared {
    let mut prepared = Prepared::default();
    let among_existing = |filter: Document| match existing {
        Some(existing) => within(filter, existing),
        None => filter,
    };
    let edges: BTreeSet<EdgeId> = effects.iter().map(|effect| effect.two_way.edge).collect();
    let edges: Vec<&Edge> = edges.into_iter().map(|id| &graph[id]).collect();
    for edge in &edges {
        let of = effects
            .iter()
            .filter(|effect| effect.two_way.edge == edge.id)
            .copied();
        let lost = of.clone().filter(|effect| effect.act == LinkAction::Lose);
        if edge.list {
            for (holders, targets) in by_targets(lost) {
                let filter = doc! { &edge.path: { "$in": targets.clone() } };
                let update = doc! { "$pullAll": { &edge.path: targets.clone() } };
                prepared.add(&holders, &filter, &update);
                prepared.touch_unchanged(&holders, doc! { &edge.path: { "$nin": targets } });
            }
        } else {
            for (target, holders) in by_target(lost.map(|effect| (&effect.target, &effect.holder))) {
                let filter = doc! { &edge.path: target.id.clone() };
                prepared.add(&holders, &filter, &edge.cleared());
                prepared.touch_unchanged(&holders, doc! { &edge.path: { "$ne": target.id } });
            }
        }
        let right = of.filter(|effect| effect.act == LinkAction::Stay);
        let right: Vec<Bson> = right.map(|effect| effect.holder.id.clone()).collect();
        if !right.is_empty() {
            prepared.documents += right.len() as u64;
            prepared.touch_unchanged(&right, Document::new());
        }
    }
    for edge in &edges {
        let of = effects
            .iter()
            .filter(|effect| effect.two_way.edge == edge.id)
            .copied();
        let mut become_: Vec<(Option<LinkedDocument>, Vec<&OtherSideWrite>)> = Vec::new();
        for effect in of.clone() {
            let LinkAction::Become { previous } = &effect.act else {
                continue;
            };
            match become_.iter_mut().find(|(before, _)| before == previous) {
                Some((_, list)) => list.push(effect),
                None => become_.push((previous.clone(), vec![effect])),
            }
        }
        for (previous, list) in become_ {
            let previous = previous.map_or(Bson::Null, |previous| previous.id);
            let links = list.into_iter().map(|effect| (&effect.target, &effect.holder));
            for (target, holders) in by_target(links) {
                let filter = among_existing(doc! { &edge.path: previous.clone() });
                prepared.add(&holders, &filter, &doc! { "$set": { &edge.path: target.id } });
            }
        }
        for (holders, targets) in by_targets(of.filter(|effect| effect.act == LinkAction::Gain)) {
            if edge.reference.optional {
                let update = doc! { "$set": { &edge.path: [] } };
                split(&holders, &edge.is_no_list(), &update, &mut prepared.before);
            }
            let update = doc! { "$addToSet": { &edge.path: { "$each": targets.clone() } } };
            let there = doc! { &edge.path: { "$all": targets.clone() } };
            let mut filter = room(edge, targets);
            if only_changed {
                filter.insert("$nor", vec![there.clone()]);
                prepared.touch_unchanged(&holders, there);
            }
            prepared.add(&holders, &among_existing(filter), &update);
        }
    }
    prepared
}

impl Prepared {
    /// These are not changed where this is so.
    fn touch_unchanged(&mut self, holders: &[Bson], filter: Document) {
        split(holders, &filter, &Document::new(), &mut self.untouched);
    }

    fn add(&mut self, holders: &[Bson], filter: &Document, update: &Document) {
        self.documents += holders.len() as u64;
        split(holders, filter, update, &mut self.statements);
    }
}

fn split(holders: &[Bson], filter: &Document, update: &Document, statements: &mut Vec<Statement>) {
    for holders in holders.chunks(IDS_IN_ONE_STATEMENT) {
        let id = match holders {
            [one] => doc! { "_id": one },
            several => doc! { "_id": { "$in": several } },
        };
        statements.push(Statement {
            filter: id.into_iter().chain(filter.clone()).collect(),
            update: update.clone(),
            array_filters: Vec::new(),
        });
    }
}

/// Those that get or lose the same references together.
fn by_targets<'e>(effects: impl Iterator<Item = &'e OtherSideWrite>) -> Vec<(Vec<Bson>, Vec<Bson>)> {
    let mut holders: Vec<(&LinkedDocument, Vec<&LinkedDocument>)> = Vec::new();
    let mut places: HashMap<&Key, usize> = HashMap::new();
    for effect in effects {
        let at = *places.entry(&effect.holder.key).or_insert_with(|| {
            holders.push((&effect.holder, Vec::new()));
            holders.len() - 1
        });
        if let Some((_, targets)) = holders.get_mut(at) {
            targets.push(&effect.target);
        }
    }
    let mut groups: Vec<(Vec<Bson>, Vec<Bson>)> = Vec::new();
    let mut known: HashMap<Vec<&Key>, usize> = HashMap::new();
    for (holder, targets) in holders {
        let keys = targets.iter().map(|target| &target.key).collect();
        let at = *known.entry(keys).or_insert_with(|| {
            groups.push((
                Vec::new(),
                targets.iter().map(|target| target.id.clone()).collect(),
            ));
            groups.len() - 1
        });
        if let Some((holders, _)) = groups.get_mut(at) {
            holders.push(holder.id.clone());
        }
    }
    groups
}

/// The holders of each target.
fn by_target<'e>(
    links: impl Iterator<Item = (&'e LinkedDocument, &'e LinkedDocument)>,
) -> Vec<(LinkedDocument, Vec<Bson>)> {
    let mut groups: Vec<(LinkedDocument, Vec<Bson>)> = Vec::new();
    let mut places: HashMap<&Key, usize> = HashMap::new();
    for (target, holder) in links {
        let at = *places.entry(&target.key).or_insert_with(|| {
            groups.push((target.clone(), Vec::new()));
            groups.len() - 1
        });
        if let Some((_, holders)) = groups.get_mut(at) {
            holders.push(holder.id.clone());
        }
    }
    groups
}

/// That the array has room for those of these references that it has not yet.
fn room(edge: &Edge, targets: Vec<Bson>) -> Document {
    let Some(max) = edge.max else {
        return Document::new();
    };
    let path = &edge.path;
    let field = format!("${path}");
    let array = doc! { "$cond": [{ "$isArray": &field }, &field, []] };
    let new = doc! { "$setDifference": [{ "$literal": targets.clone() }, array.clone()] };
    let after = doc! { "$add": [{ "$size": array }, { "$size": new }] };
    let exactly = doc! { "$expr": { "$lte": [after, i64::try_from(max).unwrap_or(i64::MAX)] } };
    // One that others have made too long has no room, and is to be counted all the same where it has them already.
    let there = doc! { path: { "$all": &targets } };
    // Room for all of them means that a position is free: an index lookup within the document, which is mostly enough.
    match max.checked_sub(targets.len() as u64) {
        Some(free) if !bounds::has_numbered_items(edge.field) => {
            doc! { "$or": [{ format!("{path}.{free}"): { "$exists": false } }, exactly, there] }
        }
        _ => doc! { "$or": [exactly, there] },
    }
}

/// Returns why an effect was not applied, if one was not.
async fn verify(
    cx: &Cx<'_>,
    graph: &Graph,
    meta: &'static DocumentMeta,
    effects: &[&OtherSideWrite],
) -> Result<()> {
    let adds = |effect: &&&OtherSideWrite| matches!(effect.act, LinkAction::Gain | LinkAction::Become { .. });
    let wanted = || effects.iter().filter(adds);
    let mut ids = HashSet::new();
    let keys: Vec<&Key> = wanted()
        .map(|effect| &effect.holder.key)
        .filter(|key| ids.insert(*key))
        .collect();
    let names: HashSet<&str> = wanted().map(|effect| graph[effect.two_way.edge].root()).collect();
    let found: HashMap<Key, RawDocumentBuf> = by_ids(cx, meta, keys.iter().copied(), names)
        .await?
        .into_iter()
        .map(|document| (id(&document), document))
        .collect();
    let existing: Option<HashSet<Key>> = match cx.odm.scope_of_existing(meta) {
        None => None,
        Some(existing) => {
            let among = by_ids_within(cx, meta, keys.into_iter(), [], Some(&existing)).await?;
            Some(among.iter().map(id).collect())
        }
    };
    let exists = |key: &Key| existing.as_ref().is_none_or(|existing| existing.contains(key));
    let mut gone: Option<(&Edge, Vec<Bson>)> = None;
    let mut refused = None;
    for effect in wanted() {
        let (edge, back) = graph.sides(effect.two_way);
        let document = found.get(&effect.holder.key);
        let mut values = document.into_iter().flat_map(|document| edge.values(document));
        if values.any(|value| Key::of(value) == effect.target.key) {
            continue;
        }
        if document.is_none() || !exists(&effect.holder.key) {
            let (named, ids) = gone.get_or_insert_with(|| (back, Vec::new()));
            if named.id == back.id && !ids.contains(&effect.holder.id) {
                ids.push(effect.holder.id.clone());
            }
            continue;
        }
        if refused.is_some() {
            continue;
        }
        refused = Some(match (edge.list, edge.max) {
            (true, Some(max)) => full(edge, effect, max),
            _ => Error::Contention {
                collection: edge.holder.collection,
                source: None,
                message: format!(
                    "`{}` of the document with _id {} was changed by another writer at the same time: try again",
                    edge.path, effect.holder.id
                ),
            },
        });
    }
    match (gone, refused) {
        (Some((edge, ids)), _) => Err(missing(edge, ids.into_iter())),
        (None, Some(error)) => Err(error),
        (None, None) => Ok(()),
    }
}
