//! What a field declares that the library derives from other documents: a copy of a field of the document that it refers
//! to, the newest of its children, a number of them.
//!
//! The derives write these constants down; the graph finds them by walking the shapes, and one engine keeps all of them
//! true (`relation/derived`).

use crate::document::{DocumentMeta, IndexKey};
use crate::reference::ParentField;
use mongodb::bson::RawDocumentBuf;

/// When a copy follows its source: `sync` in `#[denormalize]`, `#[subset]` and `#[computed]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncMode {
    /// In one transaction with the source, where the deployment has transactions and the write touches few documents;
    /// else as [`Eventual`](SyncMode::Eventual). The default.
    Auto,
    /// In one transaction with the source, always: a deployment without transactions is refused.
    Atomic,
    /// After the source: when every writer has returned, or has died and [`recover`](crate::Odm::recover) has run.
    Eventual,
    /// Taken once, when the reference is set, and never touched again: a price at the time of purchase.
    Snapshot,
}

impl std::fmt::Display for SyncMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SyncMode::Auto => "auto",
            SyncMode::Atomic => "atomic",
            SyncMode::Eventual => "eventual",
            SyncMode::Snapshot => "snapshot",
        })
    }
}

/// What is derived in a field.
#[derive(Clone, Copy, Debug)]
pub enum Copied {
    /// A field of the document that another field of the same struct refers to.
    Field(FieldCopy),
    /// The first or last of the children.
    Subset(Subset),
    /// A number of the children.
    Computed(Computed),
}

/// A copy of a field of the document that a reference beside it names: `#[denormalize(from = host.ipaddr)]`.
#[derive(Clone, Copy, Debug)]
pub struct FieldCopy {
    /// The stored name of the reference, in the same struct.
    pub through: &'static str,
    /// The dotted name of the field in the source.
    pub source: fn() -> &'static str,
    /// When it follows.
    pub sync: SyncMode,
}

/// One field of a struct that copies parts of a document: what a struct with `#[denormalize(from = T)]` says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedField {
    /// The stored name in the struct.
    pub name: &'static str,
    /// The stored name in the document that it copies: `_id` for the reference to it.
    pub source: &'static str,
}

/// A struct of copies of a document's fields, declared by `#[denormalize(from = T)]` above it.
pub trait CopyOf<T>: 'static {
    /// Its fields, the reference to the document among them if it has one.
    const COPIED: &'static [CopiedField];
}

/// An array of copies of some of a document's children: `#[subset(of = Review, limit = 10, order(-published_date))]`.
#[derive(Clone, Copy, Debug)]
pub struct Subset {
    /// The children.
    pub child: fn() -> &'static DocumentMeta,
    /// The child's field that names the parent.
    pub parent: fn() -> ParentField,
    /// How many are kept.
    pub limit: u32,
    /// The order in which they stand; ties are broken by the id, in the direction of the first key.
    pub order: &'static [IndexKey],
    /// Whether those at the end of the order are kept, and not those at its start.
    pub last: bool,
    /// What an element holds of a child.
    pub fields: &'static [CopiedField],
    /// Which children count: a condition on the child.
    pub filter: Option<fn() -> crate::Result<RawDocumentBuf>>,
    /// When it follows.
    pub sync: SyncMode,
}

/// A number of the children: `#[computed(avg = Review.stars)]`.
#[derive(Clone, Copy, Debug)]
pub struct Computed {
    /// The children.
    pub child: fn() -> &'static DocumentMeta,
    /// The child's field that names the parent.
    pub parent: fn() -> ParentField,
    /// What is computed.
    pub operation: Operation,
    /// The child's field that it is computed of; of a count none.
    pub of: Option<fn() -> &'static str>,
    /// Which children count: a condition on the child.
    pub filter: Option<fn() -> crate::Result<RawDocumentBuf>>,
    /// When it follows.
    pub sync: SyncMode,
}

/// What is computed of children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// How many there are.
    Count,
    /// The sum of a field.
    Sum,
    /// Its average, stored as sum and count: [`Average`](crate::Average).
    Avg,
    /// Its least value.
    Min,
    /// Its greatest value.
    Max,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Operation::Count => "count",
            Operation::Sum => "sum",
            Operation::Avg => "avg",
            Operation::Min => "min",
            Operation::Max => "max",
        })
    }
}
