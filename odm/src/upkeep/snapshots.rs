//! Takes snapshots for documents that are older than their declaration, where the application asks for it.
//!
//! A snapshot is not kept in sync, so no pending work exists for it, and nothing records its time. A missing field is the sign
//! that it was never taken; a document that was written after the declaration has one, `null` where the source lacks the field
//! and the copy is required. So each is written on the condition that the reference is unchanged and the field is still
//! missing: another writer may set the reference meanwhile, and two processes may take the same snapshot.

use crate::Result;
use crate::engine::write::drain::drain;
use crate::graph::Graph;
use crate::graph::edge::{CopyField, Edge};
use crate::graph::sync::snapshots;
use crate::model::key::Key;
use crate::model::own_fields::Token;
use crate::rules::copy::deliver::{StructPath, named, sources, structs};
use crate::store::cx::{Cx, Statement};
use crate::store::each::WriteReport;
use crate::store::{batch, each, filter};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// The references with snapshots beside them.
pub(crate) fn edges(graph: &Graph) -> impl Iterator<Item = &Edge> {
    let all = graph.edges().iter();
    all.filter(|edge| snapshots(edge).next().is_some())
}

/// Their names.
pub(crate) fn names(edge: &Edge) -> impl Iterator<Item = String> {
    snapshots(edge).map(|(_, copy)| format!("{}.{}", edge.holder.collection, edge.copy_path(copy)))
}

/// The condition of the holders that lack one of them.
pub(crate) fn lacking(edge: &Edge) -> Document {
    let StructPath { array, below } = StructPath::new(edge);
    let missing =
        snapshots(edge).map(|(_, copy)| doc! { format!("{below}{}", copy.name): { "$exists": false } });
    let lacks = doc! {
        format!("{below}{}", edge.name()): { "$ne": null },
        "$or": missing.collect::<Vec<_>>(),
    };
    match array {
        None => lacks,
        Some(array) => doc! { array: { "$elemMatch": lacks } },
    }
}

/// The fields to read of them.
pub(crate) fn projection(edge: &Edge) -> Document {
    let mut fields = doc! { "_id": 1, edge.root(): 1 };
    if edge.segments.len() == 1 {
        fields.extend(snapshots(edge).map(|(_, copy)| (copy.name.to_owned(), Bson::Int32(1))));
    }
    fields
}

/// Takes those that these holders lack, as the sources are now.
pub(crate) async fn take(cx: &Cx<'_>, edge: &Edge, documents: &[RawDocumentBuf]) -> Result<WriteReport> {
    let cx = &cx.unvalidated();
    let mut missing: HashMap<Key, HashMap<usize, Vec<Bson>>> = HashMap::new();
    for document in documents {
        for within in structs(edge, document) {
            let Some(key) = named(edge, within) else { continue };
            for (at, copy) in snapshots(edge) {
                if matches!(within.get(copy.name), Ok(None)) {
                    let ids = missing.entry(key.clone()).or_default().entry(at).or_default();
                    let id = batch::document_id(document);
                    if ids.last() != Some(&id) {
                        ids.push(id);
                    }
                }
            }
        }
    }
    if missing.is_empty() {
        return Ok(WriteReport::default());
    }
    let sources = sources(cx, edge, missing.keys()).await?;
    let token = Token::new();
    let mut passed_on = false;
    let mut lacked: HashSet<Key> = HashSet::new();
    let mut statements = Vec::new();
    for (key, of_copies) in missing {
        let Some(source) = sources.get(&key) else { continue };
        for (at, ids) in of_copies {
            let Some((copy, value)) = edge.copies.get(at).zip(source.values.get(at)) else {
                continue;
            };
            let value = match value {
                Some(value) => value.clone(),
                None if copy.required => Bson::Null,
                None => continue,
            };
            lacked.extend(ids.iter().map(Key::of_bson));
            let mut one = statement(edge, &source.key, copy, value, ids);
            let path = edge.copy_path(copy);
            let graph = cx.odm.graph();
            passed_on |= graph.passed_on(edge.holder, &path, token.into(), &mut one.update);
            statements.push(one);
        }
    }
    let mut taken = each::update(cx, edge.holder, &statements).await?;
    if passed_on && taken.is_any() {
        taken.and(drain(*cx, edge.holder, token).await)?;
    }
    // One document may lack several, of which each is a statement of its own.
    taken.documents = taken.documents.min(lacked.len() as u64);
    Ok(taken)
}

/// Sets one snapshot beside the references to this source in these documents, where it is missing.
fn statement(edge: &Edge, key: &Bson, copy: &CopyField, value: Bson, ids: Vec<Bson>) -> Statement {
    let StructPath { array, below } = StructPath::new(edge);
    let (reference, name) = (format!("{below}{}", edge.name()), format!("{below}{}", copy.name));
    let lacks = |prefix: &str| {
        doc! {
            format!("{prefix}{reference}"): { "$eq": key },
            format!("{prefix}{name}"): { "$exists": false },
        }
    };
    let which = doc! { "_id": { "$in": ids } };
    let (condition, name, array_filters) = match array {
        None => (lacks(""), name, Vec::new()),
        Some(array) => (
            doc! { &array: { "$elemMatch": lacks("") } },
            format!("{array}.$[c].{name}"),
            vec![lacks("c.")],
        ),
    };
    Statement {
        filter: filter::all([which, condition]),
        update: doc! { "$set": { name: value } },
        array_filters,
    }
}
