//! What may be compared with, or written to, a field: values of its type, and nothing that could be an operator.

use crate::copy::Entry;
use crate::reference::{Wrapped, Wraps};
use crate::{Document, Error, Ref, Result, path::Codec};
use mongodb::bson::{self, Bson, error::Result as BsonResult};
use serde::{Serialize, Serializer};
use std::marker::PhantomData;

/// A value for a field of type `T`: a `T`, a reference to one, a `&str` for a `String`, and each of these for an
/// `Option<T>`; a [`Ref`] for a reference to one of several documents, and for one with copies of the document's fields.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let (name, nickname) = ("Kate".to_owned(), Some("Katie".to_owned()));
/// people.find(|p| p.name.eq(&name) & p.nickname.eq(&nickname)).all().await?;
/// people.find(|p| p.name.eq("Kate") & p.nickname.eq("Katie")).all().await?;
/// people.find(|p| p.nickname.eq(None)).all().await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` is not a value for a field of type `{T}`",
    label = "the field stores a `{T}`"
)]
pub trait Operand<T> {
    /// The value as the field stores it.
    #[doc(hidden)]
    fn to_bson<C: Codec<T>>(self) -> BsonResult<Bson>;
}

fn coded<T, C: Codec<T>>(value: &T) -> BsonResult<Bson> {
    bson::serialize_to_bson(&Coded::<T, C>(value, PhantomData))
}

impl<T> Operand<T> for T {
    fn to_bson<C: Codec<T>>(self) -> BsonResult<Bson> {
        coded::<T, C>(&self)
    }
}

impl<T> Operand<Option<T>> for T {
    fn to_bson<C: Codec<Option<T>>>(self) -> BsonResult<Bson> {
        coded::<Option<T>, C>(&Some(self))
    }
}

impl<T> Operand<T> for &T {
    fn to_bson<C: Codec<T>>(self) -> BsonResult<Bson> {
        coded::<T, C>(self)
    }
}

impl Operand<String> for &str {
    fn to_bson<C: Codec<String>>(self) -> BsonResult<Bson> {
        coded::<String, C>(&self.to_owned())
    }
}

impl Operand<Option<String>> for &str {
    fn to_bson<C: Codec<Option<String>>>(self) -> BsonResult<Bson> {
        coded::<Option<String>, C>(&Some(self.to_owned()))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Document, U: Wrapped + Wraps<T>> Operand<U> for Ref<T> {
    fn to_bson<C: Codec<U>>(self) -> BsonResult<Bson> {
        U::wrap(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Document, U: Wrapped + Wraps<T>> Operand<Option<U>> for Ref<T> {
    fn to_bson<C: Codec<Option<U>>>(self) -> BsonResult<Bson> {
        U::wrap(self)
    }
}

// Not for every such pointer, and not for an `Option<Ref<T>>`: then the type of a plain `None` or `vec![]` could not be told.
#[diagnostic::do_not_recommend]
impl<T: Document, E: Entry + Wraps<T>> Operand<Vec<E>> for Vec<Ref<T>> {
    fn to_bson<C: Codec<Vec<E>>>(self) -> BsonResult<Bson> {
        let items: BsonResult<Vec<Bson>> = self.into_iter().map(E::wrap).collect();
        items.map(Bson::Array)
    }
}

struct Coded<'a, T, C>(&'a T, PhantomData<C>);

impl<T, C: Codec<T>> Serialize for Coded<'_, T, C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        C::serialize(self.0, serializer)
    }
}

/// The BSON of a value, as the field `name` stores it.
pub(crate) fn encode<T, C: Codec<T>>(name: &str, value: impl Operand<T>) -> Result<Bson> {
    value.to_bson::<C>().map_err(|source| Error::Encode {
        field: name.to_owned(),
        source: Box::new(source),
    })
}

/// The BSON of an id.
pub fn id<T: Serialize + 'static>(id: &T) -> Result<Bson> {
    // The serializer writes an ObjectId as hexadecimal text and reads it back.
    if let Some(id) = (id as &dyn std::any::Any).downcast_ref::<bson::oid::ObjectId>() {
        return Ok(Bson::ObjectId(*id));
    }
    bson::serialize_to_bson(id).map_err(|source| Error::Encode {
        field: "_id".to_owned(),
        source: Box::new(source),
    })
}

/// The BSON of an id that is a text.
pub fn text_id(id: &str) -> Result<Bson> {
    Ok(Bson::String(id.to_owned()))
}
