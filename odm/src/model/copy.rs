//! Declarations of fields that the library derives from other documents: a copy of a field of the referenced document, a subset
//! of the children, a computed field.
//!
//! The derives generate these constants; the graph finds them by walking the shapes, and one engine keeps all of them in sync
//! (`rules/copy`, `rules/children`).

use crate::Document;
use crate::model::document::{Identified, IndexKey, NamedDocument};
use crate::model::encode::stored;
pub use crate::model::meta::{
    Computed, Consistency, Copied, CopiedField, EntryMeta, FieldCopy, Operation, Subset,
};
use crate::model::path::Fielded;
use crate::model::reference::{
    OneTarget, Pointer, PointsTo, Ref, ReferenceKind, ReferenceMeta, TargetMeta, Wrapped, Wraps,
};
use crate::model::shape::{FieldMeta, Shape};
use crate::model::stored::{Bound, Done, Fault, Fields, Input, Name, Out, Read, Stored, embedded};
use mongodb::bson::Bson;

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
pub trait Entry: Pointer {
    /// The document.
    type Of: NamedDocument;
    /// The stored name of the reference.
    const ID: &'static str;
    /// [`Pointer::TARGETS`]. The derive implements that: an implementation for every `Entry` would keep the compiler from saying
    /// what a `Ref` lacks.
    const TARGETS_OF: &'static [TargetMeta] = <Ref<Self::Of> as Pointer>::TARGETS;
}

#[diagnostic::do_not_recommend]
impl<T: NamedDocument, E: Entry<Of = T>> PointsTo<T> for E {}
#[diagnostic::do_not_recommend]
impl<E: Entry> OneTarget for E {
    type Target = E::Of;
    type Key = <E::Of as Identified>::Id;
}

impl EntryMeta {
    /// For the derive: a `#[reference]` with copies in a struct `E`, or an `Option` of it.
    #[doc(hidden)]
    pub const fn of<E: Fielded, T: NamedDocument>(optional: bool) -> EntryMeta {
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
pub struct Bare<T: NamedDocument> {
    id: &'static str,
    reference: Ref<T>,
}

impl<T: NamedDocument> Bare<T> {
    /// In the field of a document.
    pub fn new(field: &FieldMeta, reference: Ref<T>) -> Bare<T> {
        Bare {
            id: entry(field).unwrap_or("_id"), // that it is one is asserted of the field
            reference,
        }
    }
}

impl<T: NamedDocument> Fields for Bare<T> {
    fn write_fields(&self, out: &mut Out) -> Done {
        self.reference.write(&Name::of(self.id), None, out)
    }
}

/// It is written only: what is read is the struct with the copies.
impl<T: NamedDocument> Stored for Bare<T> {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        embedded(self, name, bound, out)
    }

    fn read(_: u8, _: &mut Input<'_>) -> Read<Self> {
        Err(Fault::other("a reference without its copies is never read"))
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
        stored(&Bare { id, reference })
    }
}
