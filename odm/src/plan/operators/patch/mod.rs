//! Patches: structs with a value for some fields of a document, which an update sets. `#[document(patch)]` makes them.

use crate::model::path::{Codec, Decoder, Plain};
use crate::model::shape::{FieldMeta, Shape};
use crate::plan::operators::names::joined_names;
use crate::plan::operators::{Changes, never};
use crate::query::filter::operand::Operand;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use std::fmt;
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
/// It is read by serde, from JSON or another format: a field that is missing there is absent. A name that is none of its fields,
/// a value of another type, and `null` for a field that is no `Option` are errors that name the field.
///
/// ```
/// use odm::patch::{Patch, PatchFields};
/// use odm::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Document, Serialize, Deserialize)]
/// #[document(collection = "users", patch(derive(Debug)))]
/// struct User {
///     #[serde(rename = "_id")]
///     id: i32,
///     name: String,
///     nickname: Option<String>,
/// }
///
/// let patch: UserPatch = serde_json::from_str(r#"{ "nickname": null }"#)?;
/// assert_eq!((patch.name, patch.nickname), (Patch::Absent, Patch::Value(None)));
///
/// let refused = serde_json::from_str::<UserPatch>(r#"{ "name": null }"#).unwrap_err();
/// assert!(refused.to_string().starts_with("`name`: invalid type: null"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait PatchFields: Default {
    /// Its shape: that of its JSON.
    #[doc(hidden)]
    fn shape() -> Shape;

    /// Adds the stored names of its fields.
    #[doc(hidden)]
    fn names(names: &mut Vec<&'static str>);

    /// Reads the value of the field with this name. `false`: it has no such field.
    #[doc(hidden)]
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error>;

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

/// Reads the value of a field. An error names the field.
pub fn read<'de, T, C: Decoder<T>, A: MapAccess<'de>>(
    field: &mut Patch<T>,
    name: &str,
    map: &mut A,
) -> Result<(), A::Error> {
    struct Value<T, C>(PhantomData<fn() -> (T, C)>);

    impl<'de, T, C: Decoder<T>> DeserializeSeed<'de> for Value<T, C> {
        type Value = T;

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
            C::deserialize(deserializer)
        }
    }

    if !field.is_absent() {
        return Err(A::Error::custom(format!("`{name}` stands there twice")));
    }
    let value = map.next_value_seed(Value::<T, C>(PhantomData));
    *field = Patch::Value(value.map_err(|error| A::Error::custom(format!("`{name}`: {error}")))?);
    Ok(())
}

/// The same of a field that its type reads.
pub fn read_plain<'de, T: serde::de::DeserializeOwned, A: MapAccess<'de>>(
    field: &mut Patch<T>,
    name: &str,
    map: &mut A,
) -> Result<(), A::Error> {
    read::<T, Plain, A>(field, name, map)
}

/// Reads a patch.
pub fn deserialize<'de, P: PatchFields, D: Deserializer<'de>>(deserializer: D) -> Result<P, D::Error> {
    struct Fields<P>(PhantomData<fn() -> P>);

    impl<'de, P: PatchFields> Visitor<'de> for Fields<P> {
        type Value = P;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object with the fields to change")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<P, A::Error> {
            let mut patch = P::default();
            while let Some(name) = map.next_key::<String>()? {
                if !patch.read(&name, &mut map)? {
                    return Err(A::Error::custom(unknown::<P>(&name)));
                }
            }
            Ok(patch)
        }
    }

    deserializer.deserialize_map(Fields(PhantomData))
}

/// The message about a name that is none of the fields. The name is cut, since a client sends it.
fn unknown<P: PatchFields>(name: &str) -> String {
    let mut names = Vec::new();
    P::names(&mut names);
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let name: String = name.chars().take(100).collect();
    format!(
        "`{name}` is no field that this patch changes: it has {}",
        names.join(", ")
    )
}
