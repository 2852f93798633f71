//! The other side of two-way references: what a write of one side asks of the documents on the other.

use crate::Result;
use crate::graph::Graph;
use crate::graph::edge::{Edge, TwoWay};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::plan::images::BeforeImages;
use crate::plan::links::{self, LinkDiff, LinkedDocument, OtherSideWrite};
use crate::plan::operation::Write;
use crate::plan::outcome::Outcome;
use crate::plan::targets::roots;
use crate::rules::link;
use crate::store::batch::{by_ids, id, stored_id, stored_value};
use crate::store::cx::Cx;
use mongodb::bson::{Bson, RawDocument};
use std::collections::{HashMap, HashSet};

/// The writes of an operation that touch two-way references.
pub(crate) struct Linking<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) writes: &'a [Write],
    /// The references.
    pub(crate) links: &'a [TwoWay],
}

impl<'a> Linking<'a> {
    fn edges(&self) -> impl Iterator<Item = (TwoWay, &'a Edge)> + Clone {
        self.links.iter().map(|link| (*link, &self.graph[link.edge]))
    }

    fn edges_of(&self, meta: &DocumentMeta) -> impl Iterator<Item = (TwoWay, &'a Edge)> + Clone {
        let collection = meta.collection;
        self.edges()
            .filter(move |(_, edge)| edge.holder.collection == collection)
    }

    /// The effects of the writes on the other side, after they were made.
    ///
    /// # Errors
    /// As [`links::effects`].
    pub(crate) async fn effects(
        &self,
        cx: &Cx<'_>,
        before: &BeforeImages,
        done: &Outcome,
    ) -> Result<Vec<OtherSideWrite>> {
        let foreseen = self
            .after(before, |at| done.is_made(at))?
            .filter(|_| done.counts.missed == 0);
        let after = match foreseen {
            Some(after) => after,
            None => self.read_after(cx, before, done.upserted.as_ref()).await?,
        };
        let diff = self.diff(before, &after)?;
        if diff.is_empty() {
            return Ok(Vec::new());
        }
        effects_of(cx, self.graph, &diff).await
    }

    /// Nothing takes a write back that no transaction holds, so what the other side of its links can be told to refuse is refused
    /// before it.
    pub(crate) async fn foresee(&self, cx: &Cx<'_>, before: &BeforeImages) -> Result<()> {
        let Some(after) = self.after(before, |_| true)? else {
            return Ok(());
        };
        let diff = self.diff(before, &after)?;
        let effects = effects_of(cx, self.graph, &diff).await?;
        let mut inserted: HashSet<(&str, Key)> = HashSet::new();
        for write in self.writes {
            let id = match write.inserted() {
                Some(document) => Some(id(document)),
                None => write.upserted_id().map(Key::of_bson),
            };
            inserted.extend(id.map(|id| (write.meta.collection, id)));
        }
        let is_inserted = |meta: &DocumentMeta, key: &Key| inserted.contains(&(meta.collection, key.clone()));
        link::have_room(cx, self.graph, &effects, is_inserted).await
    }

    /// The documents that the writes concern, as they are read after them.
    async fn read_after(
        &self,
        cx: &Cx<'_>,
        before: &BeforeImages,
        upserted: Option<&Bson>,
    ) -> Result<LinksAfter> {
        let mut after = LinksAfter::default();
        let mut collections: Vec<(&'static DocumentMeta, HashSet<Key>)> = Vec::new();
        let mut concern = |meta: &'static DocumentMeta, key: Key| match collections
            .iter_mut()
            .find(|(other, _)| other.collection == meta.collection)
        {
            Some((_, keys)) => drop(keys.insert(key)),
            None => collections.push((meta, HashSet::from([key]))),
        };
        for of in before.with_references() {
            of.read().for_each(|document| concern(of.meta, id(&**document)));
        }
        for write in self.writes {
            if let Some(document) = write.inserted() {
                if let Some(id) = document.get("_id").ok().flatten() {
                    concern(write.meta, Key::of(id));
                }
                continue;
            }
            let one = write.changed_id();
            if let Some(id) = upserted.or(one) {
                concern(write.meta, Key::of_bson(id));
            }
        }
        for (meta, keys) in collections {
            let edges = || self.edges_of(meta);
            let names = roots(edges().map(|(_, edge)| edge));
            if names.is_empty() {
                continue;
            }
            for document in by_ids(cx, meta, keys.iter(), names).await? {
                let holder = node(meta, &document)?;
                for (two_way, edge) in edges() {
                    after.add(two_way, &holder, values(edge, &document)?);
                }
            }
        }
        Ok(after)
    }

    /// The documents after the writes, where that can be told without reading them: of inserts alone, of those that are
    /// made, or of one write.
    fn after(&self, before: &BeforeImages, made: impl Fn(usize) -> bool) -> Result<Option<LinksAfter>> {
        let only_inserts = self.writes.iter().all(Write::is_insert);
        if self.writes.len() > 1 && !only_inserts {
            return Ok(None);
        }
        let mut after = LinksAfter::default();
        for write in self.writes {
            let meta = write.meta;
            let edges = || self.edges_of(meta);
            if !made(write.at) {
                // All is as it was.
                for document in before.of_collection(meta) {
                    let holder = node(meta, document)?;
                    for (two_way, edge) in edges() {
                        after.add(two_way, &holder, values(edge, document)?);
                    }
                }
                continue;
            }
            if let Some(document) = write.document() {
                let holder = node(meta, document)?;
                for (two_way, edge) in edges() {
                    after.add(two_way, &holder, values(edge, document)?);
                }
            }
            let Some(touches) = write.touches() else { continue };
            for document in before.of_collection(meta) {
                let holder = node(meta, document)?;
                for (two_way, edge) in edges() {
                    let Some(now) = touches.after(edge, &values(edge, document)?, false) else {
                        return Ok(None);
                    };
                    after.add(two_way, &holder, now);
                }
            }
            if write.is_upsert() && before.of_collection(meta).next().is_none() {
                let Some(id) = write.upserted_id() else {
                    return Ok(None);
                };
                for (two_way, edge) in edges() {
                    let Some(now) = touches.after(edge, &[], true) else {
                        return Ok(None);
                    };
                    after.add(two_way, &LinkedDocument::new(id), now);
                }
            }
        }
        Ok(Some(after))
    }

    fn diff(&self, before: &BeforeImages, after: &LinksAfter) -> Result<LinkDiff> {
        let mut diff = LinkDiff::default();
        let mut seen: HashSet<(TwoWay, Key)> = HashSet::new();
        for (two_way, edge) in self.edges() {
            for document in before.of_collection(edge.holder) {
                let holder = node(edge.holder, document)?;
                let now = after.references(two_way, &holder).unwrap_or_default();
                diff.add((two_way, edge), &holder, &values(edge, document)?, now)?;
                seen.insert((two_way, holder.key));
            }
        }
        for (two_way, holder, now) in &after.list {
            if !seen.contains(&(*two_way, holder.key.clone())) {
                diff.add((*two_way, &self.graph[two_way.edge]), holder, &[], now)?;
            }
        }
        Ok(diff)
    }
}

/// What links that were added and removed ask of the other side.
///
/// # Errors
/// As [`links::effects`].
pub(crate) async fn effects_of(cx: &Cx<'_>, graph: &Graph, diff: &LinkDiff) -> Result<Vec<OtherSideWrite>> {
    let answers = link::answer(cx, graph, links::questions(graph, diff)).await?;
    links::effects(graph, diff, &answers)
}

/// The references after the write, in the order of the writes.
#[derive(Debug, Default)]
pub(crate) struct LinksAfter {
    list: Vec<(TwoWay, LinkedDocument, Vec<Bson>)>,
    places: HashMap<(TwoWay, Key), usize>,
}

impl LinksAfter {
    fn add(&mut self, two_way: TwoWay, holder: &LinkedDocument, now: Vec<Bson>) {
        self.places.insert((two_way, holder.key.clone()), self.list.len());
        self.list.push((two_way, holder.clone(), now));
    }

    fn references(&self, two_way: TwoWay, holder: &LinkedDocument) -> Option<&[Bson]> {
        let at = self.places.get(&(two_way, holder.key.clone()))?;
        self.list.get(*at).map(|(_, _, now)| now.as_slice())
    }
}

/// A document by its id.
///
/// # Errors
/// [`Error::Decode`](crate::Error::Decode) where it has none that can be read: no link of it would be known.
pub(crate) fn node(meta: &DocumentMeta, document: &RawDocument) -> Result<LinkedDocument> {
    Ok(LinkedDocument::new(&stored_id(meta, document)?))
}

/// The references of an edge in a document.
///
/// # Errors
/// [`Error::Decode`](crate::Error::Decode) for one that can't be read.
pub(crate) fn values(edge: &Edge, document: &RawDocument) -> Result<Vec<Bson>> {
    let values = edge.values(document);
    values
        .map(|value| stored_value(edge.holder, &edge.path, value))
        .collect()
}
