//! Names of documents and of the fields that conditions read.

use crate::model::document::DocumentMeta;
use mongodb::bson::{Bson, Document};

/// Whether both are stored in one collection: as one document, or as variants of one enum of documents.
pub(crate) fn is(a: &DocumentMeta, b: &DocumentMeta) -> bool {
    std::ptr::eq(a, b) || a.collection == b.collection
}

/// Whether both are the constants of one document: there may be several copies of them in memory.
pub(crate) fn is_itself(a: &DocumentMeta, b: &DocumentMeta) -> bool {
    is(a, b) && a.name == b.name
}

/// The fields that a condition looks at.
pub(crate) fn fields_of(filter: &Document, names: &mut Vec<String>) {
    for (name, value) in filter {
        if !name.starts_with('$') {
            names.push(name.clone());
            continue;
        }
        match value {
            Bson::Document(inner) => fields_of(inner, names),
            Bson::Array(items) => items
                .iter()
                .filter_map(Bson::as_document)
                .for_each(|inner| fields_of(inner, names)),
            _ => {}
        }
    }
}
