//! Handles that see a part of the documents, or the deleted ones too: `odm.scoped(…)`, `with_deleted()`, `restore`, `purge`.

use crate::api::documents::{Delete, DeleteMany};
use crate::engine::restore::restore;
use crate::model::path::OwnFields;
use crate::model::shape::{self, Shape};
use crate::plan::operators::implied::demanded;
use crate::query::filter::unique::KeyValues;
use crate::query::get::at;
use crate::store::core::Core;
use crate::store::scopes::lacks;
use crate::{Collection, Document, Error, Filter, Odm, Result, Target};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::Bson;
use std::future::IntoFuture;
use std::marker::PhantomData;

/// A document that a deletion keeps, until it is restored or purged. Derived for every document with `#[document(soft_delete)]`.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::write::{SoftDelete, Target};
///
/// async fn undo<T: SoftDelete>(all: &Collection<T>, id: impl Target<T>) -> odm::Result<()> {
///     all.restore(id).await?;
///     Ok(())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a deletion of a `{Self}` removes the document, so that there is nothing to restore or to purge",
    note = "to keep deleted documents, write `#[document(soft_delete)]` on `{Self}`, with a field `pub deleted_at: Option<DateTime>`"
)]
pub trait SoftDelete: Document {}

/// The result of [`Collection::restore`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example<T: odm::write::SoftDelete>(all: Collection<T>, id: T::Id) -> odm::Result<()>
/// # where T::Id: odm::write::Target<T> {
/// let done = all.restore(id).await?;
/// println!("{} with {} others", if done.restored { "restored" } else { "nothing to restore" }, done.cascaded);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// Whether the document was deleted.
    pub restored: bool,
    /// How many documents were restored with it, which its deletion had deleted below it.
    pub cascaded: u64,
}

/// A restoration of one deleted document. `.await` executes it and returns [`Restored`].
///
/// # Errors
/// As [`Collection::restore`] says.
///
/// # Cost
/// As [`Collection::restore`] says.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example<T: odm::write::SoftDelete>(all: Collection<T>, id: T::Id) -> odm::Result<()>
/// # where T::Id: odm::write::Target<T> {
/// all.restore(id).await?;
/// # Ok(()) }
/// ```
#[must_use = "a restoration does nothing until it is awaited"]
#[derive(Debug)]
pub struct Restore<T: Document> {
    core: Core,
    id: Result<Bson>,
    of: PhantomData<fn() -> T>,
}

at!(core of Restore<T>;);

impl<T: Document> IntoFuture for Restore<T> {
    type Output = Result<Restored>;
    type IntoFuture = BoxFuture<'static, Result<Restored>>;

    fn into_future(self) -> Self::IntoFuture {
        let Restore { core, id, .. } = self;
        Box::into_pin(Box::new(async move {
            let trace = core.trace("restore");
            let id = id?;
            let restored = async {
                let (restored, cascaded) = restore(&core, &trace, id).await?;
                trace.done(0, u64::from(restored) + cascaded);
                Ok(Restored { restored, cascaded })
            };
            trace.run(restored.boxed()).await
        }))
    }
}

impl Odm {
    /// A handle of the documents in which a field has a value: those of a tenant. The condition holds for every read and write of
    /// documents that have a field that is stored under this name, joined documents included, and new documents get the value. A
    /// text is compared exactly, whatever the collation.
    ///
    /// Reads, updates and deletions find nothing outside of the scope, as if it did not exist; a reference to such a document is
    /// [`Error::MissingReference`]. A new document whose field has another value, and an update of the field, are refused with
    /// [`Error::OutOfScope`]. A field with `#[field(scope)]` is no field of the `New…` struct: its value is that of the scope.
    ///
    /// Every registered document has the field, or says that all scopes share its documents: `#[document(shared(owner))]`. Not
    /// restricted is what follows from a write by rules (an update of copies, a cascade), [`driver`](Collection::driver), and what is
    /// for operators: `sync`, `audit`, `repair`, `recover`, `worker`. Change streams are refused, since they show deletions without the document. Scopes combine: `scoped` of a handle with a
    /// scope restricts it further.
    ///
    /// # Errors
    /// [`Error::Query`] where the value is `null`; where it holds texts, is no text itself, and a document with the field declares a
    /// collation. [`Error::Models`] where another document has a field of this name with a value of another type, and where one has no
    /// such field and is not shared.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, owner: ObjectId) -> odm::Result<()> {
    /// let of_owner = odm.scoped(Account::paths().owner, owner)?;
    /// let accounts = of_owner.collection::<Account>().find_all().all().await?;
    /// # Ok(()) }
    /// ```
    pub fn scoped<T: Document, K, V>(&self, field: K, value: V) -> Result<Odm>
    where
        K: KeyValues<T, V, Parts: OwnFields>,
    {
        let names = field.names();
        let condition = field.equal(value).into_document()?;
        let mut scope = Vec::new();
        for name in names {
            let value = demanded(&condition, name).ok_or_else(|| Error::Query {
                collection: T::META.collection,
                message: format!(
                    "new documents get the value of the scope in `{name}`, and find each other by it: it is a text, a number or another \
                     plain value, and not `null`"
                ),
            })?;
            self.has_field(T::META.shape, name)?;
            scope.push((name.to_owned(), value.clone()));
        }
        let scoped = self.clone().with_scopes(self.scopes().with(scope));
        for model in self.models() {
            scoped.can_restrict(model.meta, false)?;
        }
        Ok(scoped)
    }

    /// A handle whose reads also find deleted documents, of types with `#[document(soft_delete)]`: joined ones too. Updates change
    /// them; a replacement, a deletion, `or_get_by` and an upsert by a condition find only documents that are not deleted, since a
    /// deleted one has left its unique keys to others.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example<T: odm::write::SoftDelete>(odm: Odm) -> odm::Result<()> {
    /// let all = odm.with_deleted().collection::<T>().find_all().count().await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_deleted(&self) -> Odm {
        self.clone().with_scopes(self.scopes().with_deleted())
    }

    /// Refuses a scope by a field that documents lack, or have with values of different types: these would belong to none.
    fn has_field(&self, shape: fn() -> Shape, name: &str) -> Result<()> {
        let kind = |shape: fn() -> Shape| shape::within(shape(), name).map(|field| kind(field.shape));
        let own = kind(shape);
        let mut problems = Vec::new();
        for model in self.models() {
            let other = kind(model.meta.shape);
            let mut variants = model.meta.variants();
            let of_variant = variants.find(|variant| other.is_none() && kind(variant.shape).is_some());
            if let Some(variant) = of_variant {
                problems.push(format!(
                    "the scope is by the field `{name}`, which `{}` has, and not every variant of `{}`: declare it in all of them, and in \
                     `#[document(common(…))]` of the enum",
                    variant.name, model.meta.name
                ));
            } else {
                problems.extend(lacks(model.meta, name));
            }
            if other.is_some() && other != own {
                problems.push(format!(
                    "the scope is by the field `{name}`, and in `{}` the field of this name has values of another type: rename it there",
                    model.meta.name
                ));
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Error::Models { problems })
        }
    }
}

/// The type of the values, of which two fields have to have the same.
fn kind(shape: Shape) -> std::mem::Discriminant<Shape> {
    std::mem::discriminant(&shape::inner(shape))
}

impl<T: Document> Collection<T> {
    /// The same collection with its deleted documents: see [`Odm::with_deleted`].
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example<T: odm::write::SoftDelete>(posts: Collection<T>, id: T::Id) -> odm::Result<()>
    /// # where T::Id: odm::write::Target<T> {
    /// let also_deleted: Option<T> = posts.with_deleted().get(id).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_deleted(&self) -> Collection<T>
    where
        T: SoftDelete,
    {
        let session = self.core().session().cloned();
        Collection::new(&self.odm().with_deleted(), session)
    }

    /// Restores the deleted document with this id, and what its deletion has deleted below it: the documents that refer to it with
    /// `on_delete = cascade`, and so on. If there is no such document, or it is not deleted, [`Restored::restored`] is `false`.
    ///
    /// All of them are restored, or none: up to 1,000 in one transaction where the deployment has transactions. Otherwise the document
    /// comes first, then those below it; a refusal deletes all of them again, and an interrupted restoration goes on when it is
    /// requested again. Where the target of a reference is deleted at the same time, all of them are deleted again.
    ///
    /// A document that another program has marked as deleted, which has no id of a deletion, is restored alone. One that lies below two
    /// documents of one deletion is restored with the last of them.
    ///
    /// # Errors
    /// [`Error::MissingReference`] where one of the documents refers, with `on_delete = cascade` or `restrict`, to one that is deleted
    /// and not restored with it. It lists all of these: restore them first. [`Error::DuplicateKey`] where another document has a
    /// unique key of one of them by now.
    ///
    /// # Cost
    /// One round trip to read the document, one for each collection that it refers to with `cascade` or `restrict` before it and after
    /// it, and an update. Where a deletion may delete others with it: one for each such reference at each level, an update for each
    /// level, and one for the commit; without transactions one for each reference and two more, to end it.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example<T: odm::write::SoftDelete>(posts: Collection<T>, id: T::Id) -> odm::Result<()>
    /// # where T::Id: odm::write::Target<T> {
    /// posts.restore(id).await?;
    /// # Ok(()) }
    /// ```
    pub fn restore(&self, target: impl Target<T>) -> Restore<T>
    where
        T: SoftDelete,
    {
        Restore {
            core: self.core().knowing(&target),
            id: target.target_id(),
            of: PhantomData,
        }
    }

    /// Removes the deleted document with this id for good, by the `on_delete` rules of references to it: `nullify` and `pull` are
    /// applied now, and `cascade` removes the deleted documents that refer to it. A document that is not deleted stays. References by
    /// another field than `_id` stay as they are where another document has its key by now.
    ///
    /// # Errors
    /// [`Error::StillReferenced`] where a reference with `on_delete = restrict` prevents it, of a deleted document too: purge that
    /// first. Likewise where a document that is not deleted refers to it with `cascade`.
    ///
    /// # Cost
    /// That of [`delete`](Collection::delete) of a type whose deletions remove documents, where a reference with `cascade` is looked for
    /// like one with `restrict`, too; and one for each reference by another field.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example<T: odm::write::SoftDelete>(posts: Collection<T>, id: T::Id) -> odm::Result<()>
    /// # where T::Id: odm::write::Target<T> {
    /// posts.purge(id).await?;
    /// # Ok(()) }
    /// ```
    pub fn purge(&self, target: impl Target<T>) -> Delete<T>
    where
        T: SoftDelete,
    {
        Delete::purge(self.core().knowing(&target), target.target_id())
    }

    /// Removes the deleted documents that match the condition: those that were deleted some time ago, say.
    ///
    /// # Errors
    /// As [`purge`](Collection::purge).
    ///
    /// # Cost
    /// That of [`delete_where`](Collection::delete_where) of a type whose deletions remove documents.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example<T: odm::write::SoftDelete>(posts: Collection<T>, old: odm::Filter<T>) -> odm::Result<()> {
    /// posts.purge_where(|_| old).await?;
    /// # Ok(()) }
    /// ```
    pub fn purge_where(&self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> DeleteMany<T>
    where
        T: SoftDelete,
    {
        DeleteMany::purge(self.core().clone(), filter(T::paths()))
    }

    /// Removes all deleted documents.
    ///
    /// # Errors
    /// As [`purge`](Collection::purge).
    ///
    /// # Cost
    /// That of [`purge_where`](Collection::purge_where).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example<T: odm::write::SoftDelete>(posts: Collection<T>) -> odm::Result<()> {
    /// posts.purge_all().await?;
    /// # Ok(()) }
    /// ```
    pub fn purge_all(&self) -> DeleteMany<T>
    where
        T: SoftDelete,
    {
        DeleteMany::purge(self.core().clone(), Filter::always())
    }
}
