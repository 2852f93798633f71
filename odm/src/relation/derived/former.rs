//! Where a child was before it is moved to another parent.
//!
//! A transaction reads it. Without one the move is a single write, and by the time that the former parent is to be derived
//! anew the child does not name it any more; so it is written down in the child, in two steps. First the child is marked with
//! the parent that it has then, which the server takes from the document itself. Then it is moved, and the same write adds
//! the new parent to the marks. When the debt is struck out only the mark of the present parent stays. So from the first mark
//! on the present parent is always among them, and whoever else moves the child, or pays for it, between the two steps leaves
//! the parent marked that the second one takes it away from. A child that comes, or comes back, between the two steps has no
//! mark, and the move passes it over: it was not there yet.
//!
//! A replacement computes its marks itself, the former parents from the document that it replaces, so it is one step.

use super::super::changes::touches;
use super::super::graph::{Edge, Graph, is};
use super::super::scope::Scope;
use super::super::write::{What, Write};
use super::debt::owing_all;
use super::images::relinks;
use super::{FORMER, Token, at};
use crate::Result;
use crate::document::DocumentMeta;
use mongodb::bson::{Bson, Document, RawDocument, doc};

/// The references by which a child names parents in which something is derived of it.
fn parent_edges<'g>(graph: &'g Graph, meta: &DocumentMeta) -> Vec<&'g Edge> {
    let mut edges: Vec<&Edge> = Vec::new();
    for edge in graph
        .derived_from(meta)
        .filter_map(|derived| graph.parent_edge(derived))
    {
        if !edges.iter().any(|known| known.at == edge.at) {
            edges.push(edge);
        }
    }
    edges
}

/// The path of the key itself: in a union it stands beside a type.
pub(super) fn key_path(edge: &Edge) -> String {
    match edge.reference.union {
        true => format!("{}.id", edge.path),
        false => edge.path.clone(),
    }
}

fn mark(edge: &Edge, key: Bson) -> Bson {
    doc! { "by": edge.path.as_str(), "key": key }.into()
}

/// So many documents are named by their ids in one command.
const IDS_AT_ONCE: usize = 1_000;

/// Marks the documents that the writes may move with the parents that they have.
pub(in super::super) async fn mark_former(
    scope: &Scope<'_>,
    writes: &[Write<'_>],
    token: Token,
) -> Result<()> {
    let graph = scope.odm.graph();
    // Those that name one document by its id are marked together.
    let mut named: Vec<(&'static DocumentMeta, Vec<&Bson>)> = Vec::new();
    for write in writes {
        let marks_itself = matches!(write.what, What::Delete { .. } | What::Replace { .. });
        if marks_itself || !relinks(graph, std::slice::from_ref(write)) {
            continue;
        }
        let Some((filter, one)) = write.what.changes() else {
            continue;
        };
        if let Some(id) = one {
            match named.iter_mut().find(|(meta, _)| is(meta, write.meta)) {
                Some((_, ids)) => ids.push(id),
                None => named.push((write.meta, vec![id])),
            }
            continue;
        }
        // By its id also one that fits again by the time of the write.
        let which = match ids_of(filter) {
            Some(id) => doc! { "_id": id.clone() },
            None => filter.clone(),
        };
        mark_former_of(scope, write.meta, which, token).await?;
    }
    for (meta, ids) in named {
        for ids in ids.chunks(IDS_AT_ONCE) {
            let which = match ids {
                [one] => doc! { "_id": *one },
                several => doc! { "_id": { "$in": several } },
            };
            mark_former_of(scope, meta, which, token).await?;
        }
    }
    Ok(())
}

/// What a condition says of the id, beside whatever else.
fn ids_of(filter: &Document) -> Option<&Bson> {
    let all = || {
        filter
            .get_array("$and")
            .ok()?
            .iter()
            .filter_map(Bson::as_document)
            .find_map(ids_of)
    };
    filter.get("_id").or_else(all)
}

/// Marks the documents that fit with the parents that they have.
pub(in super::super) async fn mark_former_of(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    token: Token,
) -> Result<()> {
    let mut set = owing_all(token);
    set.insert(FORMER, among(as_stored(scope.odm.graph(), meta), None));
    let pipeline = vec![doc! { "$set": set }];
    scope.unvalidated().compute(meta, filter, pipeline).await?;
    Ok(())
}

/// The marks of the parents that a document has, as an expression.
fn as_stored(graph: &Graph, meta: &DocumentMeta) -> Vec<Bson> {
    let edges = parent_edges(graph, meta).into_iter();
    let marks = edges.map(|edge| {
        doc! { "by": { "$literal": edge.path.as_str() }, "key": format!("${}", key_path(edge)) }.into()
    });
    marks.collect()
}

/// The marks of a document with these, and with those that it gets.
fn among(marks: Vec<Bson>, new: Option<Vec<Bson>>) -> Document {
    let mut all = vec![
        doc! { "$ifNull": [format!("${FORMER}"), []] }.into(),
        Bson::from(marks),
    ];
    all.extend(new.map(|new| doc! { "$literal": new }.into()));
    doc! { "$setUnion": all }
}

/// Whether an update may take documents away from parents in which something is derived of them.
pub(super) fn moves(graph: &Graph, meta: &DocumentMeta, update: &Document) -> bool {
    let edges = parent_edges(graph, meta);
    edges.into_iter().any(|edge| touches(edge, update))
}

/// The condition that a document is marked with the parents that it has, where it has some.
pub(super) fn is_marked(graph: &Graph, meta: &DocumentMeta) -> Document {
    let unmarked = parent_edges(graph, meta)
        .into_iter()
        .map(|edge| doc! { FORMER: { "$exists": false }, key_path(edge): { "$ne": null } });
    // An upsert takes nothing from it that it inserts.
    doc! { "$nor": unmarked.collect::<Vec<_>>() }
}

/// The part of an update that marks the parents it moves a document to.
pub(in super::super) fn mark_new(graph: &Graph, meta: &DocumentMeta, update: &mut Document) {
    let mut marks: Vec<Bson> = Vec::new();
    for edge in parent_edges(graph, meta) {
        let path = key_path(edge);
        for operator in ["$set", "$setOnInsert"] {
            for (name, value) in update.get_document(operator).into_iter().flatten() {
                let key = match path.strip_prefix(name.as_str()) {
                    Some("") => Some(value),
                    Some(rest) => rest.strip_prefix('.').and_then(|rest| below(value, rest)),
                    None => None,
                };
                let key = key.filter(|key| **key != Bson::Null);
                marks.extend(key.map(|key| mark(edge, key.clone())));
            }
        }
    }
    if !marks.is_empty() {
        super::put(update, "$addToSet", FORMER, doc! { "$each": marks }.into());
    }
}

fn below<'v>(value: &'v Bson, path: &str) -> Option<&'v Bson> {
    let mut value = value;
    for part in path.split('.') {
        value = value.as_document()?.get(part)?;
    }
    Some(value)
}

/// All marks of what is replaced by this document, the former parents and the new ones: an expression, `None` where nothing is
/// derived of it.
pub(super) fn marks_with_new(graph: &Graph, meta: &DocumentMeta, document: &RawDocument) -> Option<Document> {
    let former = as_stored(graph, meta);
    (!former.is_empty()).then(|| among(former, Some(present(graph, meta, document))))
}

/// The marks of the parents that a document has.
pub(super) fn present(graph: &Graph, meta: &DocumentMeta, document: &RawDocument) -> Vec<Bson> {
    let marks = parent_edges(graph, meta).into_iter().filter_map(|edge| {
        let key = at(document, &key_path(edge))?;
        Some(mark(edge, Bson::try_from(key).ok()?))
    });
    marks.collect()
}
