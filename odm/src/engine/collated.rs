//! The values of unique keys that a collation compares. Of a duplicate, the server shows the collation's sort key, which is no value of a
//! document: the value of the refused write takes its place.

use crate::graph::{Graph, indexes};
use crate::model::encode::owned;
use crate::model::meta::DocumentMeta;
use crate::plan::operation::{Write, WriteKind, Writes};
use crate::plan::operators::implied;
use crate::plan::outcome::{Outcome, Refusals};
use crate::plan::upsert::value_at;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, RawDocument};

/// The values of writes in the fields of such keys, by the positions of the writes.
pub(super) struct CollatedKeys(Vec<(usize, Document)>);

impl CollatedKeys {
    pub(super) fn for_writes(graph: &Graph, writes: &Writes) -> CollatedKeys {
        let mut all = Vec::new();
        let mut add = |at, paths: &[String], value: &dyn Fn(&str) -> Option<Bson>| {
            let values = paths.iter().filter_map(|path| Some((path.clone(), value(path)?)));
            let values: Document = values.collect();
            if !values.is_empty() {
                all.push((at, values));
            }
        };
        let each = match writes {
            Writes::Packed { meta, documents, .. } => {
                let paths = collated(graph, meta);
                if !paths.is_empty() {
                    for (at, document) in documents.positions().zip(documents.documents()) {
                        add(at, &paths, &|path| read(document.as_ref().ok()?, path));
                    }
                }
                &[]
            }
            Writes::One(write) => std::slice::from_ref(write),
            Writes::Each(writes) => writes,
        };
        for write in each {
            let paths = collated(graph, write.meta);
            if !paths.is_empty() {
                add(write.at, &paths, &|path| value(write, path, &paths));
            }
        }
        CollatedKeys(all)
    }

    /// Puts the values into the errors of refused writes.
    pub(super) fn fill(&self, made: &mut Result<Outcome>) {
        if self.0.is_empty() {
            return;
        }
        let fill = |at: Option<usize>, error: &mut Error| {
            let own = match (at, self.0.as_slice()) {
                (None, [(_, own)]) => Some(own),
                (None, _) => None,
                (Some(at), all) => all.iter().find(|(other, _)| *other == at).map(|(_, own)| own),
            };
            if let (Some(own), Error::DuplicateKey { fields, value, .. }) = (own, error) {
                let known = fields.iter().filter_map(|name| {
                    let value = value.get(name).or_else(|| own.get(name))?;
                    Some((name.clone(), value.clone()))
                });
                **value = known.collect();
            }
        };
        match made {
            Ok(Outcome {
                refusals: Refusals { errors, .. },
                ..
            })
            | Err(Error::Bulk { errors, .. }) => {
                errors.iter_mut().for_each(|(at, error)| fill(Some(*at), error));
            }
            Err(error) => fill(None, error),
        }
    }
}

/// The fields of the unique keys that a collation compares.
fn collated(graph: &Graph, meta: &'static DocumentMeta) -> Vec<String> {
    let of_all = meta.collation.is_some();
    let unique = meta
        .indexes_of_collection()
        .filter(|declared| declared.index.unique);
    let mut paths: Vec<String> = unique
        .filter(|declared| of_all || declared.index.collation.is_some())
        .flat_map(|declared| declared.paths().map(str::to_owned))
        .collect();
    if of_all {
        paths.push("_id".to_owned());
        paths.extend(graph.outgoing(meta).filter_map(indexes::referred_once).flatten());
    }
    paths
}

fn read(document: &RawDocument, path: &str) -> Option<Bson> {
    owned(value_at(document, path)?).ok()
}

/// The value that a write gives a field, where it says so itself.
fn value(write: &Write, path: &str, paths: &[String]) -> Option<Bson> {
    let set = |update: &Document, condition: &Document| {
        let of = |operator: &str| update.get_document(operator).ok()?.get(path).cloned();
        let sets = |update: &Document| {
            update
                .get_document("$set")
                .is_ok_and(|set| paths.iter().any(|path| set.contains_key(path)))
        };
        // A value for a new document says nothing of one that is there, whose fields `$set` changes.
        let of_new = || of("$setOnInsert").or_else(|| implied::demanded(condition, path).cloned());
        let may_be_new = path == "_id" || !sets(update);
        of("$set").or_else(|| may_be_new.then(of_new).flatten())
    };
    match &write.what {
        WriteKind::Insert(document) => read(document, path),
        WriteKind::Replace(replace) => read(replace.stored(), path),
        WriteKind::Update(update) => set(&update.built.update, &update.condition(write.meta)),
        WriteKind::UpdateMany(update) => set(&update.built.update, &update.filter),
        WriteKind::Delete(_) => None,
    }
}
