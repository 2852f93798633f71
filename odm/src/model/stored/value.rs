//! The traits of one value.

use super::bound::Bound;
use super::fault::{Done, Fault, Read};
use super::input::Input;
use super::name::Name;
use super::out::Out;
use crate::model::value::StoredLike;

/// A value that is stored in a field. The derives implement it for embedded structs and enums.
///
/// A type that is stored as another one calls the functions of that one, and makes a [`Fault`] of a value that it does not take.
#[diagnostic::on_unimplemented(
    message = "odm does not know how `{Self}` is stored",
    label = "not a type that odm stores",
    note = "a struct or enum of yours derives `Embed`, or `Row` where it is a part of a result",
    note = "a moment, a duration, an id or a decimal of `chrono`, `jiff`, `time`, `uuid` or `rust_decimal`: the feature of this name of odm",
    note = "a type that serde reads is stored by it: `#[field(opaque)]` on the field"
)]
pub trait Stored: Sized + 'static {
    /// Writes the type, the name and the value behind what is there.
    ///
    /// # Errors
    /// Where BSON can't hold the value. A broken bound is no error: it is [noted](Out::broken).
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done;

    /// The value with this type at the beginning of the input, which then begins behind it.
    ///
    /// # Errors
    /// Where the value is none of this type.
    fn read(kind: u8, input: &mut Input<'_>) -> Read<Self>;

    /// The value of a field that is not there: an option is `None`.
    ///
    /// # Errors
    /// Where there is none.
    fn missing() -> Read<Self> {
        Err(Fault::missing())
    }
}

/// The key of a map, which is stored as the name of a field.
pub trait Key: Sized + 'static {
    /// The key as it is stored.
    fn text(&self) -> &str;

    /// The key of which this is stored.
    ///
    /// # Errors
    /// Where there is none.
    fn of(text: String) -> Read<Self>;
}

/// A struct around one value of the type `I` that is stored as that value is, and so is the key of a map where that one is.
/// Derived: `#[serde(transparent)]`.
pub trait KeyLike<I>: Sized + 'static {
    /// The one value.
    fn inner(&self) -> &I;
    /// A struct around it.
    fn around(inner: I) -> Self;
}

impl<T: StoredLike<Key: Key> + KeyLike<T::Key>> Key for T {
    fn text(&self) -> &str {
        self.inner().text()
    }

    fn of(text: String) -> Read<Self> {
        T::Key::of(text).map(T::around)
    }
}
