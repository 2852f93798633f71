//! The values that may be compared with, or written to, a field: values of its type, and nothing that could be an operator.

use crate::model::copy::Entry;
use crate::model::encode::{StoredValue, coded};
use crate::model::reference::{Wrapped, Wraps};
use crate::model::value::Numeric;
use crate::{Error, Ref, Result, model::path::Codec};
use mongodb::bson::{self, Bson, error::Result as BsonResult};

/// A value for a field of type `T`: a `T`, a reference to one, a `&str` for a `String`, and each of these for an
/// `Option<T>`; a [`Ref`] for a reference to one of several documents, and for one with copies of the document's fields.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let (name, nickname) = ("Kate".to_owned(), Some("Katie".to_owned()));
/// people.find(|p| p.name.eq(&name) & p.nickname.eq(&nickname)).all().await?;
/// people.find(|p| p.name.eq("Kate") & p.nickname.eq("Katie")).all().await?;
/// people.find(|p| p.nickname.eq(None)).all().await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` is not a value for a field of type `{T}`",
    label = "the field stores a `{T}`",
    note = "a reference is given as one, not as an id or a document: `document.to_ref()`, or `Ref::new(id)`",
    note = "of an array, `eq` and `set` take all of it; one item is found by `contains(item)`, and added by `push`"
)]
pub trait Operand<T> {
    /// The value as the field stores it.
    #[doc(hidden)]
    fn to_stored<C: Codec<T>>(self) -> BsonResult<StoredValue>;
}

/// A number for a field of type `T` that is a number: what `inc`, `dec` and `mul` take.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(accounts: Collection<Account>, account: Account) -> odm::Result<()> {
/// accounts.update(account.id).inc(|a| a.cents, 500).await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a field of type `{T}` can't be added to or multiplied with a `{Self}`",
    label = "the field stores a `{T}`",
    note = "`inc`, `dec` and `mul` change a number by a number of its own type; any field is changed as a whole by `set`"
)]
pub trait Amount<T>: Operand<T> {}
#[diagnostic::do_not_recommend]
impl<T: Numeric, V: Operand<T>> Amount<T> for V {}

impl<T> Operand<T> for T {
    fn to_stored<C: Codec<T>>(self) -> BsonResult<StoredValue> {
        coded::<T, C>(&self)
    }
}

impl<T> Operand<Option<T>> for T {
    fn to_stored<C: Codec<Option<T>>>(self) -> BsonResult<StoredValue> {
        coded::<Option<T>, C>(&Some(self))
    }
}

impl<T> Operand<T> for &T {
    fn to_stored<C: Codec<T>>(self) -> BsonResult<StoredValue> {
        coded::<T, C>(self)
    }
}

impl Operand<String> for &str {
    fn to_stored<C: Codec<String>>(self) -> BsonResult<StoredValue> {
        coded::<String, C>(&self.to_owned())
    }
}

impl Operand<Option<String>> for &str {
    fn to_stored<C: Codec<Option<String>>>(self) -> BsonResult<StoredValue> {
        coded::<Option<String>, C>(&Some(self.to_owned()))
    }
}

#[diagnostic::do_not_recommend]
impl<T: crate::Document, U: Wrapped + Wraps<T>> Operand<U> for Ref<T> {
    fn to_stored<C: Codec<U>>(self) -> BsonResult<StoredValue> {
        StoredValue::of_bson(U::wrap(self)?)
    }
}

#[diagnostic::do_not_recommend]
impl<T: crate::Document, U: Wrapped + Wraps<T>> Operand<Option<U>> for Ref<T> {
    fn to_stored<C: Codec<Option<U>>>(self) -> BsonResult<StoredValue> {
        StoredValue::of_bson(U::wrap(self)?)
    }
}

// Not for every such pointer, and not for an `Option<Ref<T>>`: then the type of a plain `None` or `vec![]` could not be told.
#[diagnostic::do_not_recommend]
impl<T: crate::Document, E: Entry + Wraps<T>> Operand<Vec<E>> for Vec<Ref<T>> {
    fn to_stored<C: Codec<Vec<E>>>(self) -> BsonResult<StoredValue> {
        let items: BsonResult<Vec<Bson>> = self.into_iter().map(E::wrap).collect();
        StoredValue::of_bson(Bson::Array(items?))
    }
}

/// A value, as the field `name` stores it.
pub(crate) fn encode<T, C: Codec<T>>(name: &str, value: impl Operand<T>) -> Result<StoredValue> {
    value.to_stored::<C>().map_err(|source| refused(name, source))
}

/// The BSON of a value, as the field `name` stores it.
pub(crate) fn encode_bson<T, C: Codec<T>>(name: &str, value: impl Operand<T>) -> Result<Bson> {
    let stored = value.to_stored::<C>().and_then(|stored| stored.bson());
    stored.map_err(|source| refused(name, source))
}

fn refused(name: &str, source: bson::error::Error) -> Error {
    Error::Encode {
        field: name.to_owned(),
        source: Box::new(source),
    }
}
