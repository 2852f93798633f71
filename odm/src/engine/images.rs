//! The documents that a write changes in a transaction, as they were before it.

use crate::Result;
use crate::engine::Outcome;
use crate::engine::apply::is_kept;
use crate::engine::obligations::{What, Write};
use crate::model::document::DocumentMeta;
use crate::model::graph::is;
use crate::model::key::Key;
use crate::plan::changes::touches;
use crate::plan::concern::{Concern, changed_with_copies, of_any, of_delete, of_insert, of_update};
use crate::plan::fields::ChangedFields;
use crate::rules::copy::fill::needed;
use crate::rules::link::{by_ids, id as id_of};
use crate::store::scope::Scope;
use mongodb::bson::{Document, RawDocument, RawDocumentBuf};
use std::collections::{HashMap, HashSet};

/// The derived fields that one write affects.
pub(crate) fn concern(graph: &crate::model::graph::Graph, write: &Write<'_>, transactions: bool) -> Concern {
    let insert = || {
        let concern = of_insert(graph, write.meta, transactions);
        Concern {
            eventual: concern.eventual || graph.may_have_children(write.meta),
            ..concern
        }
    };
    match &write.what {
        What::Insert(_) => insert(),
        What::Update { built, upsert, .. } => {
            let concern = of_update(graph, write.meta, &built.update, transactions);
            match upsert {
                true => concern.or(insert()),
                false => concern,
            }
        }
        What::Replace { .. } => of_any(graph, write.meta, transactions),
        What::Delete { .. } => of_delete(graph, write.meta, transactions),
    }
}

/// Whether an update may take documents away from parents in which something is derived of them.
fn moves(graph: &crate::model::graph::Graph, meta: &DocumentMeta, update: &Document) -> bool {
    let mut edges = graph
        .derived_from(meta)
        .filter_map(|derived| graph.parent_edge(derived));
    edges.any(|edge| touches(edge, update))
}

/// Whether a write may take children away from their parents, also from those in which programs with other models derive something.
pub(crate) fn relinks(graph: &crate::model::graph::Graph, writes: &[Write<'_>]) -> bool {
    writes.iter().any(|write| match &write.what {
        What::Insert(_) => false,
        What::Update { built, .. } => {
            moves(graph, write.meta, &built.update)
                || graph.moves_for_others(
                    write.meta,
                    crate::plan::concern::changed(&built.update)
                        .iter()
                        .map(String::as_str),
                )
        }
        What::Replace { .. } | What::Delete { .. } => {
            graph.derived_from(write.meta).next().is_some() || graph.is_child_of_others(write.meta)
        }
    })
}

/// The documents of one collection that the writes change.
#[derive(Debug)]
struct Own {
    meta: &'static DocumentMeta,
    /// As they were; `None` where that was not read, since nothing depends on it.
    before: HashMap<Key, Option<RawDocumentBuf>>,
}

/// The documents that the writes of an operation change, as they were before.
#[derive(Debug, Default)]
pub(crate) struct Before {
    own: Vec<Own>,
}

/// A document before and after a write.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// `None` where it was not there, or was not read.
    pub(crate) before: Option<RawDocumentBuf>,
    /// `None` where it is gone.
    pub(crate) after: Option<RawDocumentBuf>,
    /// Whether it is new.
    pub(crate) inserted: bool,
    /// The fields that the writes may have changed, used where there is no before-image.
    pub(crate) written: ChangedFields,
}

/// The fields that these writes may change in documents of a collection.
fn written(graph: &crate::model::graph::Graph, meta: &DocumentMeta, writes: &[Write<'_>]) -> ChangedFields {
    let of_one = |write: &Write<'_>| match &write.what {
        What::Update { built, .. } => ChangedFields::Of(changed_with_copies(graph, meta, &built.update)),
        _ => ChangedFields::All,
    };
    let own = writes.iter().filter(|write| is(write.meta, meta)).map(of_one);
    own.reduce(|all, one| all.and(Some(&one)))
        .unwrap_or(ChangedFields::All)
}

/// Whether a write gives a reference another value, whatever it was.
fn replaces(write: &Write<'_>, path: &str) -> bool {
    match &write.what {
        What::Update { built, .. } => {
            let holds = |name: &String| {
                let rest = path.strip_prefix(name.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            ["$set", "$unset"].iter().any(|operator| {
                let fields = built.update.get_document(operator);
                fields.is_ok_and(|fields| fields.keys().any(holds))
            })
        }
        _ => true,
    }
}

impl Before {
    /// Reads what the writes will change, so far as something depends on how it was. `None` where one condition finds more
    /// documents than `most`.
    pub(crate) async fn read(
        scope: &Scope<'_>,
        writes: &[Write<'_>],
        most: Option<usize>,
    ) -> Result<Option<Before>> {
        let graph = scope.odm.graph();
        let mut before = Before::default();
        let mut more = false;
        for write in writes {
            let concerned = concern(graph, write, true).is_any() && !matches!(write.what, What::Insert(_));
            if concerned
                && !before
                    .own
                    .iter()
                    .any(|own| own.meta.collection == write.meta.collection)
            {
                before.own.push(Own {
                    meta: write.meta,
                    before: HashMap::new(),
                });
            }
        }
        for own in &mut before.own {
            let meta = own.meta;
            let of = || {
                writes
                    .iter()
                    .filter(|write| write.meta.collection == meta.collection)
            };
            let children = graph.derived_from(meta).next().is_some() || graph.is_child_of_others(meta);
            // References that the write does not add get no new copies, and their targets may be missing by now.
            let others = graph
                .copying(meta)
                .filter(|edge| is_kept(edge))
                .any(|edge| edge.array().is_some() || of().any(|write| !replaces(write, &edge.path)));
            let fields = needed(graph, meta);
            let mut ids: Vec<Key> = Vec::new();
            for (filter, id) in of().filter_map(|write| write.what.changes()) {
                match id {
                    Some(id) => ids.push(Key::of_bson(id)),
                    None => {
                        let (filter, fields) = (filter.clone(), fields.clone());
                        let found = match most {
                            None => scope.every(meta, filter, fields).await?,
                            Some(most) => {
                                let some = scope.some(meta, filter, fields, most + 1).await?;
                                more |= some.more;
                                some.documents
                            }
                        };
                        let found = found.into_iter();
                        own.before
                            .extend(found.map(|document| (id_of(&document), Some(document))));
                    }
                }
            }
            match children || others {
                true => {
                    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
                    for document in by_ids(scope, meta, ids.iter(), names).await? {
                        own.before.insert(id_of(&document), Some(document));
                    }
                }
                false => {
                    for key in ids {
                        own.before.entry(key).or_insert(None);
                    }
                }
            }
        }
        Ok((!more).then_some(before))
    }

    /// Whether a document will be read after the writes: one of those of a collection, or that were inserted into it.
    pub(crate) fn has(
        &self,
        meta: &DocumentMeta,
        key: &Key,
        inserted: &HashSet<(&'static str, Key)>,
    ) -> bool {
        let own = self.own.iter().find(|own| own.meta.collection == meta.collection);
        own.is_some_and(|own| {
            own.before.contains_key(key) || inserted.contains(&(meta.collection, key.clone()))
        })
    }

    /// The same documents after the writes, with those that were inserted.
    pub(crate) async fn after(
        self,
        scope: &Scope<'_>,
        writes: &[Write<'_>],
        done: &Outcome,
    ) -> Result<Vec<(&'static DocumentMeta, Vec<Image>)>> {
        let graph = scope.odm.graph();
        let mut all: Vec<(&'static DocumentMeta, Vec<Image>)> = Vec::new();
        let mut inserted: Vec<(&'static DocumentMeta, &RawDocument)> = Vec::new();
        for write in writes {
            if let What::Insert(document) = write.what
                && done.is_made(write.at)
                && concern(graph, write, true).is_any()
            {
                inserted.push((write.meta, document));
            }
        }
        for own in self.own {
            let meta = own.meta;
            let mut before = own.before;
            // Another of the writes may have changed what was inserted.
            let mut new: HashSet<Key> = HashSet::new();
            inserted.retain(|(of, document)| {
                let is_own = of.collection == meta.collection;
                if is_own {
                    new.insert(id_of(*document));
                }
                !is_own
            });
            for id in &new {
                before.entry(id.clone()).or_insert(None);
            }
            let upserted = done.upserted.as_ref().map(Key::of_bson);
            if let Some(id) = &upserted {
                before.entry(id.clone()).or_insert(None);
            }
            let fields = needed(graph, meta);
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            let read = |document: RawDocumentBuf| (id_of(&document), document);
            let known = done.after.iter().cloned().map(read);
            let mut after: HashMap<Key, RawDocumentBuf> = known.collect();
            if !before.keys().all(|key| after.contains_key(key)) {
                let found = by_ids(scope, meta, before.keys(), names).await?;
                after = found.into_iter().map(read).collect();
            }
            let written = written(graph, meta, writes);
            let images = before
                .into_iter()
                .map(|(key, before)| Image {
                    written: written.clone(),
                    inserted: before.is_none() && (upserted.as_ref() == Some(&key) || new.contains(&key)),
                    before,
                    after: after.remove(&key),
                })
                .filter(|image| image.before.is_some() || image.after.is_some() || !image.inserted)
                .collect();
            all.push((meta, images));
        }
        for (meta, document) in inserted {
            let image = Image {
                before: None,
                after: Some(RawDocument::to_owned(document)),
                inserted: true,
                written: ChangedFields::All,
            };
            match all
                .iter_mut()
                .find(|(known, _)| known.collection == meta.collection)
            {
                Some((_, images)) => images.push(image),
                None => all.push((meta, vec![image])),
            }
        }
        Ok(all)
    }
}
