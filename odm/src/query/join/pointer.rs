//! References whose documents a join gives.

use super::{Hop, Slot};
use crate::model::copy::Entry;
use crate::model::reference::Pointer;
use crate::model::stored::Stored;
use crate::model::value::IdValue;
use crate::{Document, Ref};
use mongodb::bson::RawBsonRef;
use std::marker::PhantomData;

/// A pointer whose documents a join can give.
#[diagnostic::on_unimplemented(
    message = "the document that `{Self}` refers to can't be joined: it is not `Clone`",
    note = "a document that several others refer to is given to each of them: derive `Clone` for it"
)]
pub trait Load: Pointer {
    /// The result of a join: the document, or for a union an enum of documents.
    type Loaded: Clone + Send + 'static;

    /// Notes that the document of a stored reference is wanted; nothing of a value that is no such reference.
    #[doc(hidden)]
    fn want(value: RawBsonRef<'_>, by: &'static str, hop: &mut Hop) -> Option<Slot>;
    /// The document, if it was found.
    #[doc(hidden)]
    fn get(slot: Slot, hop: &mut Hop) -> Option<Self::Loaded>;
}

impl<T: Document + Clone, K: IdValue + Stored> Load for Ref<T, K> {
    type Loaded = T;

    fn want(value: RawBsonRef<'_>, by: &'static str, hop: &mut Hop) -> Option<Slot> {
        Some(hop.want::<T>(value, by))
    }

    fn get(slot: Slot, hop: &mut Hop) -> Option<T> {
        hop.get(slot)
    }
}

/// The steps of a join for one type of a union: [`OneOf::want`] and [`OneOf::get`], with [`NoneOf`] in scope for a type that can't be
/// joined, of which an error of its own is reported.
#[doc(hidden)]
pub struct OneOf<T>(PhantomData<T>);

impl<T: Document + Clone> OneOf<T> {
    /// [`Load::want`].
    pub fn want(id: RawBsonRef<'_>, hop: &mut Hop) -> Option<Slot> {
        Some(hop.want::<T>(id, "_id"))
    }

    /// [`Load::get`].
    pub fn get(slot: Slot, hop: &mut Hop) -> Option<T> {
        hop.get(slot)
    }
}

/// The same for a type that can't be joined.
#[doc(hidden)]
pub trait NoneOf<T> {
    /// Nothing.
    fn want(_: RawBsonRef<'_>, _: &mut Hop) -> Option<Slot> {
        None
    }

    /// Nothing.
    fn get(_: Slot, _: &mut Hop) -> Option<T> {
        None
    }
}
impl<T> NoneOf<T> for OneOf<T> {}

/// A pointer that holds an id, and no value of another field.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a reference by another field than `_id`, and does not say by which",
    note = "the field of the document does: `collection.load(&document, |d| d.field)`, or `.include(|d| d.field)` in a query"
)]
pub trait LoadById: Load {}
impl<T: Document + Clone> LoadById for Ref<T, T::Id> {}

#[diagnostic::do_not_recommend]
impl<E: Entry<Of: Document + Clone>> Load for E {
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
impl<E: Entry<Of: Document + Clone>> LoadById for E {}
