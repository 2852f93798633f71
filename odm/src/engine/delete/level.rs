//! The documents of a [`DeletionTree`](super::tree::DeletionTree), level by level.
//!
//! A small tree keeps the documents as they were read. Of a tree with more than [`READ`] documents, the ids stay in memory, with the time
//! and the id of each one's deletion: anything else is read again in parts, where it is needed. The ids are needed: they are what
//! stops at a document that was read before, what tells that a target comes back with the documents that refer to it, and what is deleted
//! again if the restoration is refused, since a restored document has lost the id of its deletion.

use crate::Result;
use crate::engine::delete::walk::BATCH;
use crate::graph::Graph;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::names::read_too;
use crate::model::own_fields::{DELETION, RESTORING, Token};
use crate::plan::targets::{self, Column};
use crate::rules::on_delete::{OnDeleteRule, Rules};
use crate::store::batch::document_id as id;
use crate::store::cx::Cx;
use crate::store::fields::at;
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Maximum number of documents that a tree keeps as they were read.
pub(super) const READ: usize = BATCH;

pub(crate) type TreeMeta = &'static DocumentMeta;

/// A document by its collection and id.
pub(super) type DocumentKey = (&'static str, Key);

pub(super) fn document_key(meta: TreeMeta, document: &RawDocumentBuf) -> DocumentKey {
    (meta.collection, Key::of_bson(&id(document)))
}

/// The id of a deletion in one of these fields.
pub(crate) fn token_at(document: &RawDocument, fields: &[&str]) -> Option<Token> {
    fields.iter().find_map(|field| match at(document, field) {
        Some(RawBsonRef::ObjectId(token)) => Some(token),
        _ => None,
    })
}

/// The time of its deletion, where a document is deleted and kept.
fn deleted_at(meta: TreeMeta, document: &RawDocument) -> Option<Bson> {
    let time = document.get(meta.soft_delete?).ok().flatten()?;
    Bson::try_from(time).ok().filter(|time| *time != Bson::Null)
}

/// Whether a document is deleted and kept.
pub(crate) fn is_deleted(meta: TreeMeta, document: &RawDocument) -> bool {
    deleted_at(meta, document).is_some()
}

/// The fields that are read of documents: all of those whose hooks get them.
pub(crate) fn fields(graph: &Graph, meta: TreeMeta) -> Document {
    if meta.has_hooks() {
        return Document::new();
    }
    let mut fields = own_fields(graph, meta);
    fields.extend(doc! { DELETION: 1, RESTORING: 1 });
    fields.extend(meta.soft_delete.map(|name| (name.to_owned(), Bson::Int32(1))));
    fields
}

/// Those of them by which documents refer to each other.
fn own_fields(graph: &Graph, meta: TreeMeta) -> Document {
    let mut fields = Rules::for_model(graph, meta).fields;
    for root in targets::roots(targets::dependent(graph, meta)) {
        read_too(&mut fields, root);
    }
    fields
}

/// The mark of a deletion in a document, as it was read.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// The time of its deletion, where it was deleted.
    pub(super) deleted_at: Option<Bson>,
    /// The id of its deletion.
    pub(super) deletion: Option<Token>,
    /// The id of the deletion, or of the restoration that was interrupted.
    pub(super) begun: Option<Token>,
}

/// The different marks of the documents of a tree: a deletion gives all documents of a part the same.
#[derive(Debug, Default)]
pub(super) struct Marks {
    all: Vec<Mark>,
    places: HashMap<Key, u32>,
}

impl Marks {
    /// The place of the mark of a document.
    pub(super) fn place(&mut self, meta: TreeMeta, document: &RawDocument) -> u32 {
        let mark = Mark {
            deleted_at: deleted_at(meta, document),
            deletion: token_at(document, &[DELETION]),
            begun: token_at(document, &[DELETION, RESTORING]),
        };
        let (at, by, begun) = (&mark.deleted_at, mark.deletion, mark.begun);
        let key = Key::of_bson(&doc! { "at": at, "by": by, "begun": begun }.into());
        *self.places.entry(key).or_insert_with(|| {
            self.all.push(mark);
            (self.all.len() - 1) as u32
        })
    }

    pub(super) fn of(&self, document: &TreeDocument) -> Option<&Mark> {
        self.all.get(document.mark as usize)
    }

    /// Whether it was deleted when it was read.
    pub(super) fn is_deleted(&self, document: &TreeDocument) -> bool {
        self.of(document).is_some_and(|mark| mark.deleted_at.is_some())
    }
}

/// The ids of documents, by their collections.
#[derive(Debug, Default)]
pub(super) struct KnownDocuments {
    ids: HashMap<&'static str, HashSet<Key>>,
}

impl KnownDocuments {
    /// Whether it was not known.
    pub(super) fn insert(&mut self, (collection, id): DocumentKey) -> bool {
        self.ids.entry(collection).or_default().insert(id)
    }

    pub(super) fn contains(&self, collection: &str, id: &Key) -> bool {
        self.ids.get(collection).is_some_and(|ids| ids.contains(id))
    }

    pub(super) fn len(&self) -> usize {
        self.ids.values().map(HashSet::len).sum()
    }
}

/// A document of a tree, as it is kept whatever their number.
#[derive(Clone, Debug)]
pub(super) struct TreeDocument {
    pub(super) id: Key,
    mark: u32,
}

/// Documents of one type.
#[derive(Clone, Debug)]
pub(crate) struct TreeLevel {
    pub(super) meta: TreeMeta,
    pub(super) documents: Vec<TreeDocument>,
    /// The documents as they were read, in the same order; `None` where the tree is too large.
    pub(super) read: Option<Vec<RawDocumentBuf>>,
}

/// The places of so many documents, in parts that one command names.
pub(super) fn parts(documents: usize) -> impl Iterator<Item = Range<usize>> {
    (0..documents)
        .step_by(BATCH)
        .map(move |from| from..documents.min(from + BATCH))
}

impl TreeLevel {
    pub(super) fn new(meta: TreeMeta) -> TreeLevel {
        TreeLevel {
            meta,
            documents: Vec::new(),
            read: Some(Vec::new()),
        }
    }

    pub(super) fn add(&mut self, marks: &mut Marks, document: &RawDocumentBuf) {
        self.documents.push(TreeDocument {
            id: Key::of_bson(&id(document)),
            mark: marks.place(self.meta, document),
        });
        if let Some(read) = &mut self.read {
            read.push(document.clone());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The documents with the same mark together.
    pub(super) fn by_mark(&self) -> impl Iterator<Item = Vec<&TreeDocument>> {
        let mut by_mark: HashMap<u32, Vec<&TreeDocument>> = HashMap::new();
        for one in &self.documents {
            by_mark.entry(one.mark).or_default().push(one);
        }
        by_mark.into_values()
    }

    /// The ids of these documents, in parts that one command names.
    pub(super) fn ids<'l>(
        &'l self,
        which: impl Fn(&TreeDocument) -> bool + 'l,
    ) -> impl Iterator<Item = Vec<Bson>> + 'l {
        let mut ids = self.documents.iter().filter(move |one| which(one));
        std::iter::from_fn(move || {
            let part: Vec<Bson> = ids.by_ref().take(BATCH).map(|one| one.id.to_bson()).collect();
            (!part.is_empty()).then_some(part)
        })
    }

    /// Those of a part that `which` names: as they were read, or else as they are stored by now.
    pub(super) async fn some(
        &self,
        cx: &Cx<'_>,
        part: Range<usize>,
        which: impl Fn(&TreeDocument) -> bool,
    ) -> Result<Vec<RawDocumentBuf>> {
        let documents = self.documents.get(part.clone()).unwrap_or_default();
        if let Some(read) = &self.read {
            let both = documents.iter().zip(read.get(part).unwrap_or_default());
            return Ok(both
                .filter(|(one, _)| which(one))
                .map(|(_, document)| document.clone())
                .collect());
        }
        let ids: Vec<Bson> = documents
            .iter()
            .filter(|one| which(one))
            .map(|one| one.id.to_bson())
            .collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let fields = own_fields(cx.odm.graph(), self.meta);
        cx.every(self.meta, doc! { "_id": { "$in": ids } }, fields).await
    }

    /// The condition of the documents that refer to a part of them.
    pub(super) async fn holders(
        &self,
        cx: &Cx<'_>,
        rule: &OnDeleteRule<'_>,
        part: Range<usize>,
    ) -> Result<Option<Document>> {
        if self.read.is_none() && rule.is_by_id() {
            let part = self.documents.get(part).unwrap_or_default();
            return Ok(rule.holders_of_ids(part.iter().map(|one| one.id.to_bson())));
        }
        Ok(rule.holders(&self.some(cx, part, |_| true).await?))
    }

    /// Adds the values that their documents have in a field.
    pub(super) async fn add_keys(&self, cx: &Cx<'_>, column: Column, keys: &mut HashSet<Key>) -> Result<()> {
        for part in parts(self.documents.len()) {
            let documents = self.some(cx, part, |_| true).await?;
            let values = documents
                .iter()
                .filter_map(|document| crate::store::batch::value(document, column.1));
            keys.extend(values.map(|value| Key::of_bson(&value)));
        }
        Ok(())
    }

    /// Takes the documents with these ids out.
    pub(super) fn take(&mut self, ids: &HashSet<Key>) -> TreeLevel {
        let goes = |one: &TreeDocument| ids.contains(&one.id);
        let mut out = TreeLevel::new(self.meta);
        let read = self.read.take().map(|read| {
            let both = self.documents.iter().zip(read);
            let (gone, left): (Vec<_>, Vec<_>) = both.partition(|(one, _)| goes(one));
            let documents = |of: Vec<(&TreeDocument, RawDocumentBuf)>| {
                of.into_iter().map(|(_, document)| document).collect::<Vec<_>>()
            };
            (documents(gone), documents(left))
        });
        (out.read, self.read) = read.unzip();
        (out.documents, self.documents) = std::mem::take(&mut self.documents).into_iter().partition(goes);
        out
    }
}
