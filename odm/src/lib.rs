//! Schema design for MongoDB documents, checked by the compiler and kept true by the runtime.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod aggregate;
#[doc(hidden)]
pub mod asserts;
mod bulk;
mod check;
mod collection;
mod decode;
mod document;
mod error;
mod explain;
mod filter;
mod find;
pub mod geo;
mod map;
mod modify;
mod odm;
mod operand;
mod page;
mod path;
pub mod schema;
mod server;
mod session;
mod shape;
#[doc(hidden)]
pub mod size;
mod trace;
mod update;
mod value;
mod write;

pub use crate::odm::{Model, Odm};
pub use aggregate::{Aggregate, Group, GroupKey};
pub use bulk::{Bulk, BulkDone};
pub use collection::Collection;
pub use document::{
    Action as ValidationAction, Document, Embed, Insertable, Level as ValidationLevel, Projection, Target,
    Validation,
};
pub use error::{Error, Result, Rule, Violation};
pub use explain::Explain;
pub use filter::{Element, Filter, IntoSort, Order, Pattern, text};
pub use find::{Find, Lossy, LossyFind};
pub use modify::{Returning, Update, UpdateMany, Updated};
pub use mongodb;
pub use mongodb::bson;
pub use odm_derive::{Document, Embed, Projection};
pub use operand::Operand;
pub use page::{Page, PageToken, Paged};
pub use path::{Path, Root};
pub use schema::{Applied, Plan, Violations};
pub use server::{Server, Topology};
pub use session::Tx;
pub use shape::Number;
pub use update::{Change, Changes, Rooted};
pub use value::{Array, Value};
pub use write::{Delete, Deleted, Insert, InsertMany};

/// The time that a write bears, in the milliseconds that BSON keeps.
pub(crate) fn now() -> bson::DateTime {
    bson::DateTime::now()
}

/// What a program imports: `use odm::prelude::*;`.
pub mod prelude {
    pub use crate::bson::{DateTime, oid::ObjectId};
    pub use crate::{Change, Document, Embed, Filter, Odm, Pattern, Projection, models};
}

/// For generated code only: changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::asserts as check;
    pub use crate::document::{
        Action, CollationMeta, DocumentMeta, IndexKey, IndexKind, IndexMeta, Level, Validation,
    };
    pub use crate::error::{Error, Result};
    pub use crate::filter::partial_filter;
    pub use crate::operand::id;
    pub use crate::path::{
        At, Codec, Each, Fielded, Nested, Path, Plain, ReadOnly, Root, Single, Step, Varied, Writable,
    };
    pub use crate::shape::{
        Body, Bounds, EnumShape, FieldMeta, Managed, Number, Shape, ShapeFn, StructShape, Tagging,
        VariantMeta,
    };
    pub use crate::size::{self, Message, Size};
    pub use crate::value::{
        Array, Declared, EmbedInsteadOfDocument, IdValue, List, MapKey, Numeric, Text, Value,
    };
    pub use mongodb::bson::{Bson, DateTime, RawDocumentBuf, oid::ObjectId};
    pub use serde;
}

#[cfg(test)]
mod by_hand;
