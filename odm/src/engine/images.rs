//! The documents that a write changes in a transaction, as they were before it.

use crate::Result;
use crate::engine::Outcome;
use crate::engine::apply::is_kept;
use crate::model::document::DocumentMeta;
use crate::model::graph::is;
use crate::model::key::Key;
use crate::plan::fields::ChangedFields;
use crate::plan::operation::Write;
use crate::rules::copy::fill::needed;
use crate::rules::image::Image;
use crate::store::batch::{by_ids, id as id_of};
use crate::store::scope::Scope;
use mongodb::bson::{RawDocument, RawDocumentBuf};
use std::collections::{HashMap, HashSet};

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

/// The fields that these writes may change in documents of a collection.
fn written(meta: &DocumentMeta, writes: &[Write]) -> ChangedFields {
    let own = writes.iter().filter(|write| is(write.meta, meta));
    own.map(Write::changed_fields)
        .reduce(|all, one| all.and(Some(&one)))
        .unwrap_or(ChangedFields::All)
}

impl Before {
    /// Reads what the writes will change, so far as something depends on how it was. `None` where one condition finds more
    /// documents than `most`.
    pub(crate) async fn read(
        scope: &Scope<'_>,
        writes: &[Write],
        most: Option<usize>,
    ) -> Result<Option<Before>> {
        let graph = scope.odm.graph();
        let mut before = Before::default();
        let mut more = false;
        for write in writes {
            let concerned = !write.is_insert() && write.affected(graph).is_any();
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
                .any(|edge| edge.array().is_some() || of().any(|write| !write.replaces_reference(edge)));
            let fields = needed(graph, meta);
            let mut ids: Vec<Key> = Vec::new();
            for (filter, id) in of().filter_map(|write| write.changed()) {
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
        writes: &[Write],
        done: &Outcome,
    ) -> Result<Vec<(&'static DocumentMeta, Vec<Image>)>> {
        let graph = scope.odm.graph();
        let mut all: Vec<(&'static DocumentMeta, Vec<Image>)> = Vec::new();
        let mut inserted: Vec<(&'static DocumentMeta, &RawDocument)> = Vec::new();
        for write in writes {
            if let Some(document) = write.inserted()
                && done.is_made(write.at)
                && write.affected(graph).is_any()
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
            let written = written(meta, writes);
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
