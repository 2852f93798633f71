//! What may be compared with, or written to, a field: values of its type, and nothing that could be an operator.

use crate::reference::Union;
use crate::{Document, Error, Ref, Result, path::Codec};
use mongodb::bson::{self, Bson};
use serde::{Serialize, Serializer};
use std::marker::PhantomData;

/// A value for a field of type `T`: a `T`, a reference to one, a `&str` for a `String`, and each of these for an
/// `Option<T>`; a [`Ref`] for a reference to one of several documents.
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
    /// Lends the value.
    fn with<Out>(self, f: impl FnOnce(&T) -> Out) -> Out;
}

impl<T> Operand<T> for T {
    fn with<Out>(self, f: impl FnOnce(&T) -> Out) -> Out {
        f(&self)
    }
}

impl<T> Operand<Option<T>> for T {
    fn with<Out>(self, f: impl FnOnce(&Option<T>) -> Out) -> Out {
        f(&Some(self))
    }
}

impl<T> Operand<T> for &T {
    fn with<Out>(self, f: impl FnOnce(&T) -> Out) -> Out {
        f(self)
    }
}

impl Operand<String> for &str {
    fn with<Out>(self, f: impl FnOnce(&String) -> Out) -> Out {
        f(&self.to_owned())
    }
}

impl Operand<Option<String>> for &str {
    fn with<Out>(self, f: impl FnOnce(&Option<String>) -> Out) -> Out {
        f(&Some(self.to_owned()))
    }
}

impl<T: Document, U: Union + From<Ref<T>>> Operand<U> for Ref<T> {
    fn with<Out>(self, f: impl FnOnce(&U) -> Out) -> Out {
        f(&self.into())
    }
}

impl<T: Document, U: Union + From<Ref<T>>> Operand<Option<U>> for Ref<T> {
    fn with<Out>(self, f: impl FnOnce(&Option<U>) -> Out) -> Out {
        f(&Some(self.into()))
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
    value.with(|value| {
        bson::serialize_to_bson(&Coded::<T, C>(value, PhantomData)).map_err(|source| Error::Encode {
            field: name.to_owned(),
            source: Box::new(source),
        })
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
