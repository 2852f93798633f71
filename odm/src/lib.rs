//! Schema design for MongoDB documents, checked by the compiler and kept true by the runtime.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod check;
mod decode;
mod document;
mod error;
mod map;
mod odm;
mod path;
mod server;
mod shape;
#[doc(hidden)]
pub mod size;
mod value;

pub use crate::odm::{Model, Odm};
pub use document::{Action, Document, Embed, Insertable, Level, Projection, Target, Validation};
pub use error::{Error, Result, Rule, Violation};
pub use mongodb;
pub use mongodb::bson;
pub use odm_derive::{Document, Embed, Projection};
pub use path::{Path, Root};
pub use server::{Server, Topology};
pub use shape::Number;
pub use value::{Array, Value};

/// What a program imports: `use odm::prelude::*;`.
pub mod prelude {
    pub use crate::{Document, Embed, Odm, Projection, models};
}

/// For generated code only: changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::document::{
        Action, CollationMeta, DocumentMeta, IndexKey, IndexKind, IndexMeta, Level, Validation,
    };
    pub use crate::error::{Error, Result};
    pub use crate::path::{At, Codec, Each, Fielded, Nested, Path, Plain, Root, Step};
    pub use crate::shape::{
        Body, Bounds, EnumShape, FieldMeta, Managed, Number, Shape, ShapeFn, StructShape, Tagging,
        VariantMeta,
    };
    pub use crate::size::{self, Message, Size};
    pub use crate::value::{
        Array, Declared, EmbedInsteadOfDocument, IdValue, List, MapKey, Numeric, Text, Value,
    };
    pub use mongodb::bson::{DateTime, RawDocumentBuf, oid::ObjectId};
    pub use serde;
}

/// What a bulk did.
#[derive(Clone, Debug, Default)]
pub struct BulkDone {}

#[cfg(test)]
mod by_hand;
