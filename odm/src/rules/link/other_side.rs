//! The other side of two-way references: what a write of one side asks of the documents on the other.

use crate::Result;
use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::plan::links::{self, Diff, Effect, Node};
use crate::plan::operation::Write;
use crate::plan::outcome::Outcome;
use crate::rules::exists::{Images, roots};
use crate::rules::link;
use crate::store::batch::{by_ids, id};
use crate::store::scope::Scope;
use mongodb::bson::{Bson, RawDocument};
use std::collections::{HashMap, HashSet};

/// The writes of an operation that touch two-way references.
pub(crate) struct Linking<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) writes: &'a [Write],
    /// The references.
    pub(crate) edges: Vec<&'a Edge>,
}

impl<'a> Linking<'a> {
    fn edges(&self) -> impl Iterator<Item = &'a Edge> + Clone {
        self.edges.iter().copied()
    }

    /// The effects of the writes on the other side, after they were made.
    ///
    /// # Errors
    /// As [`links::effects`].
    pub(crate) async fn effects(
        &self,
        scope: &Scope<'_>,
        before: &Images,
        done: &Outcome,
    ) -> Result<Vec<Effect>> {
        let foreseen = self
            .after(before, |at| done.is_made(at))
            .filter(|_| done.missed == 0);
        let after = match foreseen {
            Some(after) => after,
            None => self.read_after(scope, before, done.upserted.as_ref()).await?,
        };
        let diff = self.diff(before, &after)?;
        if diff.is_empty() {
            return Ok(Vec::new());
        }
        effects_of(scope, self.graph, &diff).await
    }

    /// Nothing takes a write back that no transaction holds, so what the other side of its links can be told to refuse is refused
    /// before it.
    pub(crate) async fn foresee(&self, scope: &Scope<'_>, before: &Images) -> Result<()> {
        let Some(after) = self.after(before, |_| true) else {
            return Ok(());
        };
        let diff = self.diff(before, &after)?;
        let effects = effects_of(scope, self.graph, &diff).await?;
        let mut inserted: HashSet<(&str, Key)> = HashSet::new();
        for write in self.writes {
            let id = match write.inserted() {
                Some(document) => Some(id(document)),
                None => write.upserted_id().map(Key::of_bson),
            };
            inserted.extend(id.map(|id| (write.meta.collection, id)));
        }
        let is_inserted = |meta: &DocumentMeta, key: &Key| inserted.contains(&(meta.collection, key.clone()));
        link::have_room(scope, self.graph, &effects, is_inserted).await
    }

    /// The documents that the writes concern, as they are read after them.
    async fn read_after(&self, scope: &Scope<'_>, before: &Images, upserted: Option<&Bson>) -> Result<After> {
        let mut after = After::default();
        let mut collections: Vec<(&'static DocumentMeta, HashSet<Key>)> = Vec::new();
        let mut concern = |meta: &'static DocumentMeta, key: Key| match collections
            .iter_mut()
            .find(|(other, _)| other.collection == meta.collection)
        {
            Some((_, keys)) => drop(keys.insert(key)),
            None => collections.push((meta, HashSet::from([key]))),
        };
        for (meta, documents) in &before.changed {
            documents.iter().for_each(|document| concern(meta, id(document)));
        }
        for write in self.writes {
            if let Some(document) = write.inserted() {
                if let Some(id) = document.get("_id").ok().flatten() {
                    concern(write.meta, Key::of(id));
                }
                continue;
            }
            let one = write.changed().and_then(|(_, id)| id);
            if let Some(id) = upserted.or(one) {
                concern(write.meta, Key::of_bson(id));
            }
        }
        for (meta, keys) in collections {
            let edges = self
                .edges()
                .filter(|edge| edge.holder.collection == meta.collection);
            let names = roots(edges.clone());
            if names.is_empty() {
                continue;
            }
            for document in by_ids(scope, meta, keys.iter(), names).await? {
                let Some(holder) = node(&document) else { continue };
                for edge in edges.clone() {
                    after.add(edge, &holder, values(edge, &document));
                }
            }
        }
        Ok(after)
    }

    /// The documents after the writes, where that can be told without reading them: of inserts alone, of those that are
    /// made, or of one write.
    fn after(&self, before: &Images, made: impl Fn(usize) -> bool) -> Option<After> {
        let only_inserts = self.writes.iter().all(Write::is_insert);
        if self.writes.len() > 1 && !only_inserts {
            return None;
        }
        let mut after = After::default();
        for write in self.writes {
            let edges = || {
                self.edges()
                    .filter(|edge| edge.holder.collection == write.meta.collection)
            };
            if !made(write.at) {
                // All is as it was.
                for document in before.of(write.meta) {
                    let holder = node(document)?;
                    for edge in edges() {
                        after.add(edge, &holder, values(edge, document));
                    }
                }
                continue;
            }
            if let Some(document) = write.document() {
                let holder = node(document)?;
                for edge in edges() {
                    after.add(edge, &holder, values(edge, document));
                }
            }
            let Some(touches) = write.touches() else { continue };
            for document in before.of(write.meta) {
                let holder = node(document)?;
                for edge in edges() {
                    after.add(
                        edge,
                        &holder,
                        touches.after(edge, &values(edge, document), false)?,
                    );
                }
            }
            if write.is_upsert() && before.of(write.meta).next().is_none() {
                let holder = Node::of(write.upserted_id()?);
                for edge in edges() {
                    after.add(edge, &holder, touches.after(edge, &[], true)?);
                }
            }
        }
        Some(after)
    }

    fn diff(&self, before: &Images, after: &After) -> Result<Diff> {
        let mut diff = Diff::default();
        let mut seen: HashSet<(usize, Key)> = HashSet::new();
        for edge in self.edges() {
            for document in before.of(edge.holder) {
                let Some(holder) = node(document) else { continue };
                let now = after.of(edge, &holder).unwrap_or_default();
                diff.add(edge, &holder, &values(edge, document), now)?;
                seen.insert((edge.at, holder.key));
            }
        }
        for (at, holder, now) in &after.list {
            if let Some(edge) = self.graph.edge(*at)
                && !seen.contains(&(*at, holder.key.clone()))
            {
                diff.add(edge, holder, &[], now)?;
            }
        }
        Ok(diff)
    }
}

/// What links that were added and removed ask of the other side.
///
/// # Errors
/// As [`links::effects`].
pub(crate) async fn effects_of(scope: &Scope<'_>, graph: &Graph, diff: &Diff) -> Result<Vec<Effect>> {
    let answers = link::answer(scope, graph, links::questions(graph, diff)).await?;
    links::effects(graph, diff, &answers)
}

/// The references after the write, in the order of the writes.
#[derive(Debug, Default)]
pub(crate) struct After {
    list: Vec<(usize, Node, Vec<Bson>)>,
    places: HashMap<(usize, Key), usize>,
}

impl After {
    fn add(&mut self, edge: &Edge, holder: &Node, now: Vec<Bson>) {
        self.places.insert((edge.at, holder.key.clone()), self.list.len());
        self.list.push((edge.at, holder.clone(), now));
    }

    fn of(&self, edge: &Edge, holder: &Node) -> Option<&[Bson]> {
        let at = self.places.get(&(edge.at, holder.key.clone()))?;
        self.list.get(*at).map(|(_, _, now)| now.as_slice())
    }
}

/// A document by its id.
pub(crate) fn node(document: &RawDocument) -> Option<Node> {
    let id = document.get("_id").ok().flatten()?;
    Some(Node::of(&Bson::try_from(id).ok()?))
}

/// The references of an edge in a document.
pub(crate) fn values(edge: &Edge, document: &RawDocument) -> Vec<Bson> {
    edge.values(document)
        .filter_map(|value| Bson::try_from(value).ok())
        .collect()
}
