//! The conditions that hold for all reads and writes of a handle: its scope, that a document is not deleted, and of which variant it
//! is.

use crate::model::document::DocumentMeta;
use crate::model::shape;
use crate::store::filter::within;
use mongodb::bson::{Bson, Document, doc};
use std::sync::Arc;

/// The scope of a handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scopes {
    /// Top-level fields, each with its value in all documents that have the field.
    fields: Option<Arc<Vec<(String, Bson)>>>,
    pub(crate) with_deleted: bool,
}

impl Scopes {
    pub(crate) fn with(&self, mut more: Vec<(String, Bson)>) -> Scopes {
        more.extend(self.fields().iter().cloned());
        Scopes {
            fields: Some(Arc::new(more)),
            ..self.clone()
        }
    }

    pub(crate) fn with_deleted(&self) -> Scopes {
        Scopes {
            with_deleted: true,
            ..self.clone()
        }
    }

    pub(crate) fn fields(&self) -> &[(String, Bson)] {
        self.fields.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Those of the fields that documents of a type have.
    pub(crate) fn of<'s>(&'s self, meta: &'static DocumentMeta) -> impl Iterator<Item = &'s (String, Bson)> {
        let has = move |name: &str| shape::within((meta.shape)(), name).is_some();
        self.fields().iter().filter(move |(name, _)| has(name))
    }

    /// The condition of documents in the scope, if there is one.
    pub(crate) fn condition(&self, meta: &'static DocumentMeta, with_deleted: bool) -> Option<Document> {
        let variant = meta.variant();
        if self.fields.is_none() && meta.soft_delete.is_none() && variant.is_none() {
            return None;
        }
        let mut condition = Document::new();
        if let Some((tag, name)) = variant {
            condition.insert(tag, doc! { "$eq": name });
        }
        for (name, value) in self.of(meta) {
            if !condition.contains_key(name) {
                condition.insert(name, doc! { "$eq": value });
            } else if demands(&condition, name) != Some(value) {
                // Of one scope within another the documents have both values.
                condition = within(condition, &doc! { name: { "$eq": value } });
            }
        }
        if let Some(name) = meta.soft_delete.filter(|_| !with_deleted) {
            condition.insert(name, Bson::Null);
        }
        (!condition.is_empty()).then_some(condition)
    }
}

fn demands<'c>(condition: &'c Document, name: &str) -> Option<&'c Bson> {
    condition.get_document(name).ok()?.get("$eq")
}

/// A condition on the documents of a type: of those of its variant, where it is one.
pub(crate) fn of_variant(meta: &DocumentMeta, filter: Document) -> Document {
    match meta.variant() {
        Some((tag, name)) => within(filter, &doc! { tag: { "$eq": name } }),
        None => filter,
    }
}
