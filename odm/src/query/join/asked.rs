//! The queries of a join, as the server is asked for their plans.

use crate::model::compare::least;
use crate::model::document::DocumentMeta;
use mongodb::bson;

/// A query of a join, with a value in it that no document has.
#[derive(Debug)]
pub struct Asked {
    /// The collection of the documents.
    pub(crate) of: &'static DocumentMeta,
    /// The field by which the documents are found.
    pub(crate) field: String,
    pub(crate) filter: bson::Document,
    pub(crate) sort: bson::Document,
}

impl Asked {
    /// A value for the filter, as references by this field hold: an index may have those of the field's type alone.
    pub(super) fn no_parent(of: &DocumentMeta, by: &str) -> bson::Bson {
        of.field(by)
            .and_then(|field| least((field.shape)()))
            .unwrap_or_else(|| bson::oid::ObjectId::from_bytes([0; 12]).into())
    }
}
