//! References: fields that hold the id of another document, and their declarations.
//!
//! [`Ref<T>`] is stored as the bare id, so documents of other programs can be read unchanged. The declaration of a field
//! (`#[reference]`, `#[parent_ref]`) is in a [`ReferenceMeta`] beside its bounds; joins, checks and the rules of deletion all
//! read it there.

pub use crate::model::document::Ref;
use crate::model::document::{Identified, NamedDocument};
use crate::model::encode::{id, owned, stored_document};
use crate::model::meta::Kind;
use crate::model::meta::{FieldMeta, Shape};
pub use crate::model::meta::{OnDelete, ParentField, ReferenceKind, ReferenceMeta, TargetMeta};
use crate::model::size::Size;
use crate::model::stored::{Bound, Done, Input, Name, Out, Read, Stored};
use crate::model::tree::{Slot, Tree};
use crate::model::value::{IdValue, Value};
use crate::{Document, Error, Result, Target};
use mongodb::bson::{Bson, RawBsonRef, RawDocumentBuf};
use std::borrow::Cow;

impl<T: Identified, K: IdValue> Value for Ref<T, K> {
    const SIZE: Size = K::SIZE;
    const DOCUMENT: bool = false;
    const REFERENCE: bool = true;
    const CUT: bool = K::CUT;
    fn shape() -> Shape {
        K::shape()
    }
}

/// Stored as the key alone.
impl<T: Identified, K: Stored> Stored for Ref<T, K> {
    #[inline]
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        self.key.write(name, bound, out)
    }

    #[inline]
    fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
        K::read(kind, input).map(Ref::new)
    }
}

impl<T: Identified, K: 'static> crate::model::value::Compared for Ref<T, K> {
    type As = crate::model::value::ByValue;
}

#[diagnostic::do_not_recommend]
impl<T: Identified, K: IdValue> IdValue for Ref<T, K> {}

impl<T: Document> Target<T> for Ref<T, T::Id> {
    type By = crate::model::document::ById;
    fn target_id(&self) -> Result<Bson> {
        id(&self.key)
    }
}

impl<T: Document> Target<T> for &Ref<T, T::Id> {
    type By = crate::model::document::ById;
    fn target_id(&self) -> Result<Bson> {
        id(&self.key)
    }
}

/// A single reference as it stands in a field or in an array: a [`Ref`], or one of a union.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reference to a document",
    label = "not a reference",
    note = "a reference is an `odm::Ref<T>` to a document `T`, an `Option` of it, or an array of them",
    note = "an embedded struct is declared with `#[embed]`"
)]
pub trait Pointer: Value + Stored {
    /// The documents that it may point to: one for a [`Ref`], several for a union.
    const TARGETS: &'static [TargetMeta];
    /// Whether it is stored as `{ type, id }`.
    const UNION: bool;
    /// The field that holds the reference, of a struct that copies fields of the document beside it.
    #[doc(hidden)]
    const WITHIN: Option<&'static str> = None;
    /// Whether it points to a variant of an enum of documents.
    #[doc(hidden)]
    const TO_VARIANT: bool = false;
}

impl<T: NamedDocument, K: IdValue + Stored> Pointer for Ref<T, K> {
    const TARGETS: &'static [TargetMeta] = &[TargetMeta {
        tag: "",
        document: || T::META,
    }];
    const UNION: bool = false;
    const TO_VARIANT: bool = matches!(T::KIND, Kind::Variant);
}

/// The two fields of a stored reference of a union: `{ type, id }`.
#[doc(hidden)]
pub fn union_parts(value: RawBsonRef<'_>) -> Option<(&str, RawBsonRef<'_>)> {
    let document = value.as_document()?;
    let tag = document.get_str("type").ok()?;
    Some((tag, document.get("id").ok()??))
}

/// A pointer that can point to a `T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not refer to `{T}`",
    note = "it is declared as a reference to another document: name a field that refers to a `{T}`"
)]
pub trait PointsTo<T: Identified>: Pointer {}
impl<T: NamedDocument, K: IdValue + Stored> PointsTo<T> for Ref<T, K> {}

/// A pointer that is stored as more than the id.
#[doc(hidden)]
pub trait Wrapped: Pointer {}

/// The stored type of a reference to a `T` in place of such a pointer.
#[doc(hidden)]
pub trait Wraps<T: Identified>: Wrapped {
    fn wrap(reference: Ref<T>) -> mongodb::bson::error::Result<Bson>;
}

/// A field that refers to documents: a [`Pointer`], an `Option` of one, or an array of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reference to documents",
    label = "not a reference",
    note = "`#[reference]` and `#[parent_ref]` stand on an `odm::Ref<T>` or an `Option` of it, `#[reference(many, max = N)]` on an array such as `Vec<odm::Ref<T>>`",
    note = "an embedded struct is declared with `#[embed]`"
)]
pub trait Reference: 'static {
    /// The type of a single one of them.
    type Pointer: Pointer;
    /// Whether it is an array.
    const MANY: bool;
    /// Whether a document can do without it.
    const OPTIONAL: bool;
    /// Whether an `Option` stands in it around another one.
    const TWICE_NULL: bool = false;
    /// Whether it is an array whose items have no order, and each of which counts once.
    const SET: bool = false;
    /// The result of a join for it, where each document is an `X`: an `X`, an `Option<X>` or a `Vec<X>`.
    type Joined<X: Send>: Send;
    /// The result of a join for it if missing documents are left out.
    type Present<X: Send>: Send;

    /// Puts documents in the places of the references to them.
    #[doc(hidden)]
    fn joined<X: Send>(
        tree: &Tree,
        get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
    ) -> Result<Option<Self::Joined<X>>>;
    /// The same without those that are missing.
    #[doc(hidden)]
    fn present<X: Send>(
        tree: &Tree,
        get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
    ) -> Result<Self::Present<X>>;
}

/// `Reference` for a type that is one pointer.
#[doc(hidden)]
#[macro_export]
macro_rules! __reference_of_one {
    ([$($p:tt)*] $ty:ty) => {
        impl<$($p)*> $crate::__private::Reference for $ty {
            type Pointer = $ty;
            const MANY: bool = false;
            const OPTIONAL: bool = false;
            type Joined<X: ::core::marker::Send> = X;
            type Present<X: ::core::marker::Send> = ::core::option::Option<X>;

            fn joined<X: ::core::marker::Send>(
                tree: &$crate::__private::Tree,
                get: &mut dyn ::core::ops::FnMut(
                    $crate::__private::Slot,
                ) -> $crate::__private::Result<::core::option::Option<X>>,
            ) -> $crate::__private::Result<::core::option::Option<X>> {
                <Self as $crate::__private::Reference>::present(tree, get)
            }

            fn present<X: ::core::marker::Send>(
                tree: &$crate::__private::Tree,
                get: &mut dyn ::core::ops::FnMut(
                    $crate::__private::Slot,
                ) -> $crate::__private::Result<::core::option::Option<X>>,
            ) -> $crate::__private::Result<::core::option::Option<X>> {
                match tree.slot() {
                    ::core::option::Option::Some(slot) => get(slot),
                    ::core::option::Option::None => ::core::result::Result::Ok(::core::option::Option::None),
                }
            }
        }
    };
}

crate::__reference_of_one!([T: NamedDocument, K: IdValue + Stored] Ref<T, K>);

impl<R: Reference> Reference for Option<R> {
    type Pointer = R::Pointer;
    const MANY: bool = R::MANY;
    const SET: bool = R::SET;
    const OPTIONAL: bool = true;
    const TWICE_NULL: bool = R::OPTIONAL || R::TWICE_NULL;
    type Joined<X: Send> = Option<R::Joined<X>>;
    type Present<X: Send> = R::Present<X>;

    fn joined<X: Send>(
        tree: &Tree,
        get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
    ) -> Result<Option<Self::Joined<X>>> {
        match tree {
            Tree::Nothing { .. } => Ok(Some(None)),
            // A reference whose document is missing is no reference that is not there.
            there => Ok(R::joined(there, get)?.map(Some)),
        }
    }

    fn present<X: Send>(
        tree: &Tree,
        get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
    ) -> Result<Self::Present<X>> {
        R::present(tree, get)
    }
}

impl<R: Reference> Reference for Box<R> {
    type Pointer = R::Pointer;
    const MANY: bool = R::MANY;
    const SET: bool = R::SET;
    const OPTIONAL: bool = R::OPTIONAL;
    const TWICE_NULL: bool = R::TWICE_NULL;
    type Joined<X: Send> = R::Joined<X>;
    type Present<X: Send> = R::Present<X>;

    fn joined<X: Send>(
        tree: &Tree,
        get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
    ) -> Result<Option<Self::Joined<X>>> {
        R::joined(tree, get)
    }

    fn present<X: Send>(
        tree: &Tree,
        get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
    ) -> Result<Self::Present<X>> {
        R::present(tree, get)
    }
}

macro_rules! arrays_of_references {
    ($($ty:ty, [$($p:tt)*], $set:literal;)*) => {$(
        impl<P: Pointer, $($p)*> Reference for $ty {
            type Pointer = P;
            const MANY: bool = true;
            const SET: bool = $set;
            const OPTIONAL: bool = false;
            type Joined<X: Send> = Vec<X>;
            type Present<X: Send> = Vec<X>;

            fn joined<X: Send>(
                tree: &Tree,
                get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
            ) -> Result<Option<Vec<X>>> {
                let mut all = Vec::new();
                for item in tree.items() {
                    let one = match item.slot() {
                        Some(slot) => get(slot)?,
                        None => None,
                    };
                    let Some(one) = one else { return Ok(None) };
                    all.push(one);
                }
                Ok(Some(all))
            }

            fn present<X: Send>(
                tree: &Tree,
                get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
            ) -> Result<Vec<X>> {
                tree.items()
                    .filter_map(|item| item.slot())
                    .filter_map(|slot| get(slot).transpose())
                    .collect()
            }
        }
    )*};
}

arrays_of_references! {
    Vec<P>, [], false;
    std::collections::VecDeque<P>, [], false;
    Box<[P]>, [], false;
    std::sync::Arc<[P]>, [], false;
    std::collections::HashSet<P, S>, [S: 'static], true;
    std::collections::BTreeSet<P>, [], true;
}

/// A reference that names one document type: everything but a union.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can refer to documents of several types, and this needs a reference to one",
    note = "a `Ref<T>`, an `Option<Ref<T>>` or an array of them"
)]
pub trait ReferenceTo: Reference {
    /// The document.
    type Target: Document;
    /// The type of the stored value.
    type Key: IdValue;
}

impl<R: Reference> ReferenceTo for R
where
    R::Pointer: OneTarget<Target: Document>,
{
    type Target = <R::Pointer as OneTarget>::Target;
    type Key = <R::Pointer as OneTarget>::Key;
}

/// A pointer to one type of documents.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` can refer to documents of several types, and this needs a reference to one",
    note = "a `Ref<T>`, an `Option<Ref<T>>` or an array of them"
)]
pub trait OneTarget: Pointer {
    type Target: NamedDocument;
    type Key: IdValue;
}

impl<T: NamedDocument, K: IdValue + Stored> OneTarget for Ref<T, K> {
    type Target = T;
    type Key = K;
}

impl ReferenceMeta {
    /// The declaration of an attribute that has no option but `inverse`.
    pub const fn of<R: Reference>(kind: ReferenceKind, inverse: Option<&'static str>) -> ReferenceMeta {
        ReferenceMeta {
            kind,
            targets: <R::Pointer as Pointer>::TARGETS,
            union: <R::Pointer as Pointer>::UNION,
            optional: R::OPTIONAL,
            by: || "_id",
            inverse,
            expected: None,
            one: false,
            order: &[],
            check: true,
            index: true,
            on_delete: match inverse {
                Some(_) if R::MANY => OnDelete::Pull,
                Some(_) if R::OPTIONAL => OnDelete::Nullify,
                _ => OnDelete::Restrict,
            },
            same: &[],
        }
    }
}

/// How a field looks that refers to documents; the bound of an array is the field's.
pub(crate) fn shape<R: Reference>() -> Shape {
    if R::OPTIONAL {
        Shape::Optional(present::<R>)
    } else {
        present::<R>()
    }
}

fn present<R: Reference>() -> Shape {
    if R::MANY {
        Shape::Array(<R::Pointer as Value>::shape)
    } else {
        <R::Pointer as Value>::shape()
    }
}

/// A document that names its parent by `#[parent_ref]`: what [`Collection::children_of`](crate::Collection::children_of) and `children` go by.
///
/// The derive implements it for every `#[parent_ref]`, unless two of them name the same type of parent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `#[parent_ref]` to `{P}`, or has several",
    note = "declare it: `#[parent_ref] pub parent: Ref<{P}>`",
    note = "where several fields refer to it, name one: `.children_by(|c: ChildFields| c.field)`, or `.find(|c| c.field.eq(parent.to_ref()))`"
)]
pub trait ChildOf<P: Identified>: Document {
    /// The field that names the parent.
    fn parent() -> ParentField;
}

/// A document that `C` names as its parent: [`ChildOf`] from the other side.
///
/// The derive implements that; this one follows from it.
pub trait ParentOf<C>: Document {
    /// The child's field that names it.
    fn named_by() -> ParentField;
}

// Asked from this side, the compiler knows both types before it says that they don't fit.
impl<P: Document, C: ChildOf<P>> ParentOf<C> for P {
    fn named_by() -> ParentField {
        C::parent()
    }
}

/// What names the parent of documents of type `C` to [`Collection::children_of`](crate::Collection::children_of): the parent itself, or a
/// reference to it by its id.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(comments: Collection<Comment>, one: Comment) -> odm::Result<()> {
/// let beside = comments.children_of(&one.post).all().await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` does not name the parent of a `{C}`",
    note = "give the parent, `&parent`, or a reference to it, `Ref::<Parent>::new(id)`"
)]
pub trait NamesParent<C> {
    /// The parent's type.
    type Parent: ParentOf<C>;
    /// The value by which children name it in this field.
    #[doc(hidden)]
    fn key(&self, by: &str) -> Result<Bson>;
    /// The parent as it is stored, if the caller gave it.
    #[doc(hidden)]
    fn whole(&self) -> Result<Option<RawDocumentBuf>> {
        Ok(None)
    }
}

impl<P: ParentOf<C>, C> NamesParent<C> for &P {
    type Parent = P;

    fn whole(&self) -> Result<Option<RawDocumentBuf>> {
        stored_document(P::META.name, *self).map(Some)
    }

    fn key(&self, by: &str) -> Result<Bson> {
        match by {
            "_id" => id(self.id()),
            by => {
                let document = stored_document(P::META.name, *self)?;
                let value = document
                    .get(by)
                    .and_then(|value| value.map_or(Ok(Bson::Null), owned));
                value.map_err(|source| Error::Encode {
                    field: by.to_owned(),
                    source: Box::new(source),
                })
            }
        }
    }
}

impl<P: ParentOf<C>, C: Document> NamesParent<C> for Ref<P, P::Id> {
    type Parent = P;

    fn key(&self, by: &str) -> Result<Bson> {
        match by {
            "_id" => id(&self.key),
            by => Err(Error::Query {
                collection: C::META.collection,
                message: format!(
                    "the documents name their parent by its `{by}`, which a reference by its id does not tell: give the parent \
                     itself, or look for them by `find`"
                ),
            }),
        }
    }
}

impl<P: ParentOf<C>, C: Document> NamesParent<C> for &Ref<P, P::Id> {
    type Parent = P;

    fn key(&self, by: &str) -> Result<Bson> {
        NamesParent::<C>::key(*self, by)
    }
}

impl ParentField {
    /// For the derive: the field of a `#[parent_ref]`.
    #[doc(hidden)]
    pub const fn of(field: &'static FieldMeta) -> ParentField {
        let id = match (field.reference, field.entry) {
            (None, Some(entry)) => Some(entry.id),
            _ => None,
        };
        match field.declared() {
            Some(reference) => ParentField {
                name: field.name,
                id,
                reference,
            },
            None => panic!("a `#[parent_ref]` is declared as a reference"),
        }
    }

    /// Where the reference is stored: the dotted name.
    pub(crate) fn path(&self) -> Cow<'static, str> {
        match self.id {
            Some(id) => format!("{}.{id}", self.name).into(),
            None => self.name.into(),
        }
    }
}

/// A document of which each parent has one at most: `#[parent_ref(one)]`.
#[diagnostic::on_unimplemented(
    message = "a `{P}` may have many documents of type `{Self}`",
    note = "all of them: `.children::<{Self}>()`",
    note = "if there is one at most, declare it: `#[parent_ref(one)]`"
)]
pub trait OnlyChildOf<P: Identified>: ChildOf<P> {}
