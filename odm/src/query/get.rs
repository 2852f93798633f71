//! Reads of documents by their ids, and the values of the shard key that operations by an id are given: `at`.

use crate::model::key::Key;
use crate::query::join::HopById;
use crate::store::action::{Action, Sought};
use crate::store::core::Core;
use crate::store::options::configured;
use crate::{Document, Result, store::decode};
use futures::future::BoxFuture;
use mongodb::bson::{self, Bson, RawDocument};
use std::future::IntoFuture;
use std::marker::PhantomData;

/// Declares builders of operations by an id, which have `at` then.
macro_rules! at {
    ($($($path:ident).+ of $of:ty;)*) => {$(
        impl<T: $crate::Document> $of {
            /// Gives a value of the shard key of the document: of each field of the key by a call of its own.
            ///
            /// It is a condition: a document that has another value is not found. On a sharded cluster the operation goes to the shard
            /// of the document alone once all fields of the key are known; `_id` is, and a document that is given as a whole says all of
            /// them.
            ///
            /// # Errors
            /// The operation is [`Error::Query`](crate::Error::Query) for a field that is not in the declared shard key.
            ///
            /// # Example
            /// ```no_run
            /// # use odm::prelude::*;
            /// #[derive(Document, Clone, Debug)]
            /// #[document(collection = "orders", shard_key(tenant, id))]
            /// struct Order { id: ObjectId, tenant: i64, total: i64 }
            ///
            /// # async fn example(orders: Collection<Order>, id: ObjectId) -> odm::Result<()> {
            /// let order = orders.get(id).at(|o| o.tenant, 7).await?;
            /// orders.update(id).at(|o| o.tenant, 7).set(|o| o.total, 2).await?;
            /// orders.delete(id).at(|o| o.tenant, 7).await?;
            /// # Ok(()) }
            /// ```
            pub fn at<V, P: $crate::model::path::Step, C: $crate::model::path::Codec<V>>(
                mut self,
                field: impl FnOnce(T::Paths) -> $crate::model::path::Path<T, V, P, C>,
                value: impl $crate::query::filter::operand::Operand<V>,
            ) -> Self {
                field(T::paths());
                let value = $crate::query::filter::operand::encode_bson::<V, C>(P::PATH, value);
                let condition = $crate::Filter::<()>::of_field::<P>("$eq", value, false);
                self.$($path).+.add_at(P::PATH, condition.into_document());
                self
            }
        }
    )*};
}
pub(crate) use at;

/// A read of one document by its id. `.await` executes it, and gives `None` where there is no such document.
///
/// # Errors
/// As [`Collection::get`](crate::Collection::get) says.
///
/// # Cost
/// As [`Collection::get`](crate::Collection::get) says.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
/// let kate: Option<Person> = people.get(id).await?;
/// let kate: Person = people.get(id).required().await?;
/// # Ok(()) }
/// ```
#[must_use = "a read does nothing until it is awaited"]
#[derive(Debug)]
pub struct Get<T: Document> {
    core: Core,
    id: Result<Bson>,
    of: PhantomData<fn() -> T>,
}

/// A read of the documents with these ids. `.await` executes it.
///
/// # Errors
/// As [`Collection::get_many`](crate::Collection::get_many) says.
///
/// # Cost
/// As [`Collection::get_many`](crate::Collection::get_many) says.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, ids: Vec<ObjectId>) -> odm::Result<()> {
/// let found: Vec<Person> = people.get_many(ids).await?;
/// # Ok(()) }
/// ```
#[must_use = "a read does nothing until it is awaited"]
#[derive(Debug)]
pub struct GetMany<T: Document> {
    core: Core,
    ids: Result<Vec<Bson>>,
    of: PhantomData<fn() -> T>,
}

configured!(ReadOptions for
    core of [T: Document] Get<T>;
    core of [T: Document] GetMany<T>;
);

at!(core of Get<T>; core of GetMany<T>;);

impl<T: Document> Get<T> {
    pub(crate) fn new(core: Core, id: Result<Bson>) -> Get<T> {
        Get {
            core,
            id,
            of: PhantomData,
        }
    }

    /// Gives the document itself, where it has to be there.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) where there is none, with its id and the given values of the shard key, besides those
    /// of the read.
    ///
    /// # Cost
    /// That of the read.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
    /// let kate: Person = people.get(id).required().await?;
    /// # Ok(()) }
    /// ```
    pub fn required(self) -> Action<T> {
        self.action().required()
    }

    fn action(self) -> Action<Option<T>> {
        let Get { core, id, .. } = self;
        let sought = match (&id, core.at()) {
            (Ok(id), Ok(Some(at))) => Sought::Key(Box::new(key(id, at))),
            (Ok(id), _) => Sought::Id(id.clone()),
            (Err(_), _) => Sought::Any,
        };
        let get = async move {
            let mut found = None;
            let mut take = |raw: &RawDocument| {
                found = Some(decode::decode::<T>(T::META, raw)?);
                Ok(())
            };
            core.get(id?, &mut take).await?;
            Ok(found)
        };
        Action::new(T::META.collection, "get", Box::new(get)).seeking(sought)
    }
}

/// The id with the values of the shard key.
fn key(id: &Bson, at: &bson::Document) -> bson::Document {
    let mut key = bson::doc! { "_id": id };
    let values = at.iter().filter_map(|(name, condition)| {
        let value = condition.as_document()?.get("$eq")?;
        Some((name.clone(), value.clone()))
    });
    key.extend(values);
    key
}

impl<T: Document> GetMany<T> {
    pub(crate) fn new(core: Core, ids: Result<Vec<Bson>>) -> GetMany<T> {
        GetMany {
            core,
            ids,
            of: PhantomData,
        }
    }
}

impl<T: Document> IntoFuture for Get<T> {
    type Output = Result<Option<T>>;
    type IntoFuture = BoxFuture<'static, Result<Option<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        self.action().into_future()
    }
}

impl<T: Document + Clone> IntoFuture for GetMany<T> {
    type Output = Result<Vec<T>>;
    type IntoFuture = BoxFuture<'static, Result<Vec<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        let GetMany { core, ids, .. } = self;
        Box::into_pin(Box::new(async move {
            let mut wanted = HopById::<T>::new("_id").named("get_many");
            let mut places: Vec<u32> = ids?.iter().map(|id| wanted.want_key(Key::of_bson(id))).collect();
            let others = wanted.load_from(core).await?;
            for place in &mut places {
                *place = others.get(place).copied().unwrap_or(*place);
            }
            let found = places.into_iter().filter_map(|at| wanted.get(at, false));
            Ok(found.collect())
        }))
    }
}
