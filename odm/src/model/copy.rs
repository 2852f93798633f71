//! Declarations of fields that the library derives from other documents: a copy of a field of the referenced document, a subset
//! of the children, a computed field.
//!
//! The derives generate these constants; the graph finds them by walking the shapes, and one engine keeps all of them in sync
//! (`rules/copy`, `rules/children`).

use crate::Document;
use crate::model::document::{DocumentMeta, IndexKey};
use crate::model::path::Fielded;
use crate::model::reference::{
    Load, LoadById, OneTarget, ParentField, Pointer, PointsTo, Ref, ReferenceKind, ReferenceMeta, TargetMeta,
    Wrapped, Wraps,
};
use crate::model::shape::{FieldMeta, Shape};
use crate::model::value::Value;
use crate::query::join::{Hop, Slot};
use mongodb::bson::{self, Bson, RawBsonRef, RawDocumentBuf};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Consistency mode: when a copy is updated after a change of its source. `sync` in `#[denormalize]`, `#[subset]` and
/// `#[computed]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncMode {
    /// In one transaction with the source, where the deployment has transactions and the write touches few documents;
    /// else as [`Eventual`](SyncMode::Eventual). The default.
    Auto,
    /// In one transaction with the source, always. [`Odm::sync`](crate::Odm::sync) fails on a standalone server, which has no
    /// transactions.
    Atomic,
    /// After the source: copies are up to date when every write has returned, or, if its process has ended, when
    /// [`recover`](crate::Odm::recover) has run.
    Eventual,
    /// Filled in once, when the reference is set, and never updated: a price at the time of purchase.
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

/// How a field is derived.
#[derive(Clone, Copy, Debug)]
pub enum Copied {
    /// A field of the document that another field of the same struct refers to.
    Field(FieldCopy),
    /// The first or last of the children, or a field of one of them.
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared as a copy of fields of a `{T}`",
    label = "not a struct of copies of `{T}`",
    note = "declare it: `#[derive(Embed, …)] #[denormalize(from = {T})]` above `struct {Self} {{ id: Ref<{T}>, … }}`, whose other fields are called as in `{T}`",
    note = "or have it generated: `fields(name: Type, …)` in the attribute of the field"
)]
pub trait CopyOf<T>: 'static {
    /// Its fields, the reference to the document among them if it has one.
    const COPIED: &'static [CopiedField];
}

/// Copies of some of a document's children in an order: an array of them, `#[subset(of = Review, limit = 10,
/// order(-published_date))]`, or a field of the first one, `#[computed(first = Review.text, order(-published_date))]`.
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
    /// The fields of a child that an element holds; a function, since a document may be its own child.
    pub fields: fn() -> &'static [CopiedField],
    /// Whether the field holds the value of the one field of the one child that is kept, and not an array of elements.
    pub single: bool,
    /// Which children count: a condition on the child.
    pub filter: Option<fn() -> crate::Result<RawDocumentBuf>>,
    /// When it follows.
    pub sync: SyncMode,
}

impl Subset {
    /// The child's fields that it depends on: dotted names.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &'static str> {
        let kept = (self.fields)().iter().map(|field| field.source);
        kept.chain(self.order.iter().map(|key| (key.path)()))
    }

    /// The value of the field with these elements, in their order: `None` where it is that of a child which lacks it, or of no
    /// child.
    pub(crate) fn value(&self, elements: Vec<bson::Document>) -> Option<Bson> {
        if !self.single {
            return Some(Bson::Array(elements.into_iter().map(Bson::from).collect()));
        }
        let values = elements.into_iter().next()?.into_iter();
        values.map(|(_, value)| value).find(|value| *value != Bson::Null)
    }
}

/// A number of the children: `#[computed(avg = Review.stars)]`.
#[derive(Clone, Copy, Debug)]
pub struct Computed {
    /// The children.
    pub child: fn() -> &'static DocumentMeta,
    /// The child's field that names the parent.
    pub parent: fn() -> ParentField,
    /// The operation.
    pub operation: Operation,
    /// The child's field that it is computed of; of a count none.
    pub of: Option<fn() -> &'static str>,
    /// Which children count: a condition on the child.
    pub filter: Option<fn() -> crate::Result<RawDocumentBuf>>,
    /// When it follows.
    pub sync: SyncMode,
}

/// An operation that computes a field from children.
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

/// A struct of copies that has a reference to the document that they are of: an extended reference. It stands where a bare
/// reference could, and does in joins and conditions what that would do.
///
/// Of a reference to one of several documents, the compiler tells that it is none of these.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` can refer to documents of several types, and this needs a reference to one",
    note = "a `Ref<T>`, an `Option<Ref<T>>` or an array of them",
    note = "to join further to what a union refers to, `match` on what `load` or `include` gives, and `load` of that"
)]
pub trait Entry: Value + Serialize {
    /// The document.
    type Of: Document;
    /// The stored name of the reference.
    const ID: &'static str;
}

#[diagnostic::do_not_recommend]
impl<E: Entry> Pointer for E {
    const TARGETS: &'static [TargetMeta] = <Ref<E::Of> as Pointer>::TARGETS;
    const UNION: bool = false;
    const WITHIN: Option<&'static str> = Some(E::ID);
}

#[diagnostic::do_not_recommend]
impl<E: Entry<Of: Clone>> Load for E {
    type Loaded = E::Of;

    fn want(value: RawBsonRef<'_>, by: &'static str, hop: &mut Hop) -> Option<Slot> {
        let id = value.as_document()?.get(E::ID).ok()??;
        Some(hop.want::<E::Of>(id, by))
    }

    fn get(slot: Slot, hop: &mut Hop) -> Option<E::Of> {
        hop.get(slot)
    }
}

#[diagnostic::do_not_recommend]
impl<E: Entry<Of: Clone>> LoadById for E {}
#[diagnostic::do_not_recommend]
impl<T: Document, E: Entry<Of = T>> PointsTo<T> for E {}
#[diagnostic::do_not_recommend]
impl<E: Entry> OneTarget for E {
    type Target = E::Of;
    type Key = <E::Of as Document>::Id;
}

/// The declaration of the reference in a field's struct of copies: that of the struct, with the options that only the field can
/// have.
#[derive(Clone, Copy, Debug)]
pub struct EntryMeta {
    /// The stored name of the reference in the struct.
    pub id: &'static str,
    /// Its declaration.
    pub reference: ReferenceMeta,
}

impl EntryMeta {
    /// For the derive: a `#[reference]` with copies in a struct `E`, or an `Option` of it.
    #[doc(hidden)]
    pub const fn of<E: Fielded, T: Document>(optional: bool) -> EntryMeta {
        let (mut id, mut reference) = ("", ReferenceMeta::of::<Ref<T>>(ReferenceKind::One, None));
        let mut i = 0;
        while i < E::FIELDS.len() {
            // There is one, unless the struct has errors of its own.
            if let Some(declared) = E::FIELDS[i].reference {
                (id, reference) = (E::FIELDS[i].name, *declared);
            }
            i += 1;
        }
        EntryMeta {
            id,
            reference: ReferenceMeta {
                optional,
                ..reference
            },
        }
    }

    /// For the derive: the same of a `#[parent_ref]`.
    #[doc(hidden)]
    pub const fn parent(self, one: bool, order: &'static [IndexKey]) -> EntryMeta {
        EntryMeta {
            reference: ReferenceMeta {
                kind: ReferenceKind::Parent,
                one,
                order,
                ..self.reference
            },
            ..self
        }
    }
}

/// A reference to a `T` in the place of a struct of copies, as it is written by who does not know them: `{ id: … }`.
#[doc(hidden)]
pub struct Bare<T: Document> {
    id: &'static str,
    reference: Ref<T>,
}

impl<T: Document> Bare<T> {
    /// In the field of a document.
    pub fn new(field: &FieldMeta, reference: Ref<T>) -> Bare<T> {
        Bare {
            id: entry(field).unwrap_or("_id"), // that it is one is asserted of the field
            reference,
        }
    }
}

impl<T: Document> Serialize for Bare<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.id, &self.reference)?;
        map.end()
    }
}

/// The stored name of the reference in a field's embedded struct, or in those of its array, if everything else in it is
/// copied through that reference. Two of them are the same if they refer to the same document, whatever stands beside it.
pub(crate) fn entry(field: &FieldMeta) -> Option<&'static str> {
    let mut shape = (field.shape)();
    // An option, an array, an option in it: more can't stand around an entry.
    for _ in 0..4 {
        match shape {
            Shape::Optional(inner) | Shape::Array(inner) => shape = inner(),
            Shape::Struct(parts) => {
                let mut id = None;
                for part in parts.fields {
                    match (part.reference, part.copied) {
                        (Some(_), None) if id.is_none() => id = Some(part.name),
                        (None, Some(Copied::Field(_))) => {}
                        _ => return None,
                    }
                }
                return id.filter(|_| parts.fields.len() > 1);
            }
            _ => return None,
        }
    }
    None
}

#[diagnostic::do_not_recommend]
impl<E: Entry> Wrapped for E {}
#[diagnostic::do_not_recommend]
impl<T: Document, E: Entry<Of = T>> Wraps<T> for E {
    fn wrap(reference: Ref<T>) -> mongodb::bson::error::Result<Bson> {
        let id = E::ID;
        crate::query::operand::stored(&Bare { id, reference })
    }
}
