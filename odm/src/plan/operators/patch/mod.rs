//! Patches: structs with a value for some fields of a document, which an update sets. `#[document(patch)]` makes them.

use crate::model::path::Codec;
use crate::model::shape::{FieldMeta, Shape};
use crate::model::stored::{
    Bound, DeserializeBy, Done, Fault, Fields, Input, Name, Out, Read, Reader, Row, SerializeBy, Stored,
};
use crate::plan::operators::names::joined_names;
use crate::plan::operators::{Changes, never};
use crate::query::filter::operand::Operand;
use serde::{Deserializer, Serializer};
use std::marker::PhantomData;

pub(crate) mod etag;

/// A field of a patch: absent, so that an update leaves it as it is, or the value that it gets.
///
/// `null` is the value `None` of an `Option`; a field of another type takes no `null`.
///
/// ```
/// use odm::patch::Patch;
///
/// let cleared: Patch<Option<String>> = Patch::Value(None);
/// assert_ne!(cleared, Patch::Absent);
/// assert_eq!(Patch::from(7), Patch::Value(7));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Patch<T> {
    /// The field is not named: it stays as it is.
    #[default]
    Absent,
    /// The field gets this value.
    Value(T),
}

impl<T> Patch<T> {
    /// Whether the field stays as it is.
    ///
    /// ```
    /// use odm::patch::Patch;
    ///
    /// assert!(Patch::<i32>::Absent.is_absent());
    /// ```
    pub const fn is_absent(&self) -> bool {
        matches!(self, Patch::Absent)
    }

    /// The value that the field gets; `None` where it stays as it is.
    ///
    /// ```
    /// use odm::patch::Patch;
    ///
    /// assert_eq!(Patch::Value(7).value(), Some(&7));
    /// ```
    pub const fn value(&self) -> Option<&T> {
        match self {
            Patch::Absent => None,
            Patch::Value(value) => Some(value),
        }
    }
}

impl<T> From<T> for Patch<T> {
    fn from(value: T) -> Patch<T> {
        Patch::Value(value)
    }
}

/// The struct that `#[document(patch)]` or `#[embed(patch)]` makes: `UserPatch` of a `User`. Each field is a [`Patch`].
///
/// It is read from JSON by its shape, with the feature `json`: by [`odm::json`](crate::json), or by serde, as `axum::Json` does. A
/// field that is missing there is absent. A name that is none of its fields, a value of another type, and `null` for a field that
/// is no `Option` are mistakes that name the field.
///
/// ```
/// use odm::patch::{Patch, PatchFields};
/// use odm::prelude::*;
///
/// #[derive(Document)]
/// #[document(collection = "users", patch(derive(Debug)))]
/// struct User {
///     id: i32,
///     name: String,
///     nickname: Option<String>,
/// }
///
/// # #[cfg(feature = "json")] {
/// let patch: UserPatch = odm::json::from_str(r#"{ "nickname": null }"#)?;
/// assert_eq!((patch.name, patch.nickname), (Patch::Absent, Patch::Value(None)));
///
/// let refused = odm::json::from_str::<UserPatch>(r#"{ "name": null }"#).unwrap_err();
/// assert!(refused.to_string().contains("`/name` must be a text"));
/// # }
/// # Ok::<(), odm::Error>(())
/// ```
pub trait PatchFields: Default + Stored {
    /// Its shape: that of its JSON.
    #[doc(hidden)]
    fn shape() -> Shape;

    /// Sets the fields that have a value.
    #[doc(hidden)]
    fn set<R>(self, within: &mut Within<'_, R>);
}

/// A patch of `R`: of a document, or of the items of an array.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no patch of `{R}`",
    label = "not the patch of these documents",
    note = "`#[document(patch)]` on a document `User` makes its patch, `UserPatch`",
    note = "in changes of the items of an array, a patch is that of `#[embed(patch)]` on their type"
)]
pub trait Patches<R>: PatchFields {}

/// An embedded struct that has a patch of its own, by `#[embed(patch)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no patch",
    label = "`#[embed(patch)]` on a field sets the fields of its value one by one",
    note = "write `#[embed(patch)]` above `struct {Self}` too",
    note = "or leave `#[embed(patch)]` off the field: a patch then replaces the whole value"
)]
pub trait Patched {
    /// Its patch.
    type Patch: PatchFields;
}

/// A type whose field says `#[embed(patch)]`, by its patch. A type that derives `Embed` without one has a substitute, so that the
/// missing patch is one error.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no patch",
    label = "`#[embed(patch)]` on a field sets the fields of its value one by one",
    note = "write `#[embed(patch)]` above `struct {Self}` too",
    note = "or leave `#[embed(patch)]` off the field: a patch then replaces the whole value"
)]
pub trait NamedPatched {
    /// The patch, or the substitute.
    type Patch: PatchFields;
}

#[diagnostic::do_not_recommend]
impl<T: Patched> NamedPatched for T {
    type Patch = T::Patch;
}

macro_rules! no_patches {
    ($($ty:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl NamedPatched for $ty {
            type Patch = NoPatch;
        }
    )*};
}
no_patches!(
    bool,
    i32,
    i64,
    f64,
    String,
    mongodb::bson::oid::ObjectId,
    mongodb::bson::DateTime
);

/// The assertion that the type of a field with `#[embed(patch)]` has a patch.
#[doc(hidden)]
pub const fn patched<T: Patched>() {}

/// The patch of a type that has none.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NoPatch;

impl PatchFields for NoPatch {
    fn shape() -> Shape {
        Shape::Any
    }

    fn set<R>(self, _: &mut Within<'_, R>) {}
}

impl Stored for NoPatch {
    fn write(&self, _: &Name<'_>, _: Bound<'_>, _: &mut Out) -> Done {
        Err(Fault::other("there is no patch"))
    }

    fn read(_: u8, _: &mut Input<'_>) -> Read<Self> {
        Err(Fault::other("there is no patch"))
    }
}

impl Fields for NoPatch {
    fn write_fields(&self, _: &mut Out) -> Done {
        Err(Fault::other("there is no patch"))
    }
}

impl Row for NoPatch {
    fn read_row(_: &mut Reader<'_>) -> Read<Self> {
        Err(Fault::other("there is no patch"))
    }
}

/// The place in a document that a patch changes.
#[doc(hidden)]
pub struct Within<'a, R> {
    changes: &'a mut Changes<R>,
    /// The dotted name of the struct.
    name: String,
}

impl<R> Within<'_, R> {
    /// Sets a field.
    pub fn set<V, C: Codec<V>, O: Operand<V>>(&mut self, field: &'static FieldMeta, value: Patch<O>) {
        if let Patch::Value(value) = value {
            let name = joined_names(&self.name, field.name);
            self.changes
                .untyped
                .whole::<V, C>("$set", &name, Some(field), value, never);
        }
    }

    /// Sets a field whose value is given in another form than it is stored, such as a reference with copies.
    pub fn set_or_clear<V, C: Codec<Option<V>>, O: Operand<Option<V>>>(
        &mut self,
        field: &'static FieldMeta,
        value: Patch<Option<O>>,
    ) {
        match value {
            Patch::Absent => {}
            Patch::Value(None) => self.set::<Option<V>, C, _>(field, Patch::Value(None::<V>)),
            Patch::Value(Some(value)) => self.set::<Option<V>, C, _>(field, Patch::Value(value)),
        }
    }

    /// Sets fields of a struct.
    pub fn merge<P: PatchFields>(&mut self, field: &'static FieldMeta, patch: Patch<P>) {
        if let Patch::Value(patch) = patch {
            patch.set(&mut Within {
                name: joined_names(&self.name, field.name),
                changes: self.changes,
            });
        }
    }

    /// Sets fields of a struct that may be missing, or removes it.
    pub fn merge_or_clear<V, C: Codec<Option<V>>, P: PatchFields>(
        &mut self,
        field: &'static FieldMeta,
        patch: Patch<Option<P>>,
    ) {
        match patch {
            Patch::Absent => {}
            Patch::Value(None) => self.set::<Option<V>, C, _>(field, Patch::Value(None::<V>)),
            Patch::Value(Some(patch)) => self.merge(field, Patch::Value(patch)),
        }
    }
}

impl<R> Changes<R> {
    /// Sets the fields of a patch.
    pub(super) fn patch(&mut self, patch: impl Patches<R>) {
        patch.set(&mut Within {
            changes: self,
            name: String::new(),
        });
    }
}

/// Writes and reads a field of a patch by serde, its value as `C` says.
#[doc(hidden)]
pub struct OfPatch<C>(PhantomData<C>);

impl<T, C: SerializeBy<T>> SerializeBy<Patch<T>> for OfPatch<C> {
    fn serialize<S: Serializer>(value: &Patch<T>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Patch::Absent => serializer.serialize_unit(),
            Patch::Value(value) => C::serialize(value, serializer),
        }
    }
}

impl<T, C: DeserializeBy<T>> DeserializeBy<Patch<T>> for OfPatch<C> {
    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Patch<T>, D::Error> {
        C::deserialize(deserializer).map(Patch::Value)
    }
}

/// A field that is absent is not written, and one that is not there is absent.
impl<T: Stored> Stored for Patch<T> {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        match self {
            Patch::Absent => Ok(()),
            Patch::Value(value) => value.write(name, bound, out),
        }
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
        T::read(kind, input).map(Patch::Value)
    }

    fn missing() -> Read<Self> {
        Ok(Patch::Absent)
    }
}

/// `Deserialize` of a patch, for `axum::Json` and the like: by its shape.
#[cfg(feature = "json")]
#[doc(hidden)]
#[macro_export]
macro_rules! __deserialize_patch {
    ($patch:ty) => {
        impl<'de> $crate::__private::serde::Deserialize<'de> for $patch {
            fn deserialize<D: $crate::__private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                let read = <$crate::json::Json<$patch> as $crate::__private::serde::Deserialize>::deserialize(
                    deserializer,
                );
                read.map(|$crate::json::Json(patch)| patch)
            }
        }
    };
}

/// Nothing without the feature `json`, which knows shapes of JSON.
#[cfg(not(feature = "json"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __deserialize_patch {
    ($patch:ty) => {};
}
