//! Writes and reads of one document that a condition finds: the first in an order, or the one that has a unique key.

#[cfg(doc)]
use crate::Error;
use crate::api::by_key::DocumentByKey;
use crate::engine::first::{self, FirstMatch};
use crate::engine::{Reply, Selection};
use crate::model::path::HasKey;
use crate::model::sensitive;
use crate::plan::operators::change::Change;
use crate::plan::operators::{Changes, UntypedChanges};
use crate::plan::upsert::values_of;
use crate::query::filter::IntoSort;
use crate::query::filter::unique::KeyValues;
use crate::store::action::{Action, Sought};
use crate::store::core::Core;
use crate::store::decode;
use crate::store::filter::all;
use crate::store::options::configured;
use crate::{Collection, Deletable, Delete, Document, Filter, Order, Result, Update, Updated};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, Bson, RawDocumentBuf};
use mongodb::options::{Collation, ReturnDocument};
use std::future::IntoFuture;

impl<T: Document> Collection<T> {
    /// Changes one document of those that match: the first in the order of [`sort`](UpdateFirst::sort), or any.
    ///
    /// Of several clients that do this at the same time, each changes a document as the one before has left it: a job that one
    /// has claimed does not match for the next.
    ///
    /// Where the document has to be looked for (see below) and another client changes it first, one of the next documents is taken at
    /// random, so that many clients don't wait for each other.
    ///
    /// A document that a declared bound holds back is not passed over for the next one: its error is returned. One that the range
    /// of an integer type holds back is passed over.
    ///
    /// # Errors
    /// Those of [`update`](Collection::update), but that no document is no error.
    ///
    /// # Cost
    /// One round trip (`findAndModify`, which the driver repeats after a network error and the server executes once). Where a
    /// bound of the document can refuse the change, or rules of references and copies apply to it: one to find the document,
    /// and those of [`update`](Collection::update).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// // The youngest person without a nickname gets one.
    /// let named: Option<Person> = people
    ///     .update_first(|p| p.nickname.eq(None))
    ///     .sort(|p| (p.age.asc(), p.id.asc()))
    ///     .set(|p| p.nickname, "Junior")
    ///     .returning()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn update_first(&self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> UpdateFirst<T> {
        UpdateFirst {
            core: self.core().clone(),
            filter: filter(T::paths()),
            by: Selection::default(),
            changes: Changes::new(),
        }
    }

    /// Deletes one document of those that match: the first in the order of [`sort`](DeleteFirst::sort), or any. Gives it as it
    /// was.
    ///
    /// # Errors
    /// Those of [`delete`](Collection::delete).
    ///
    /// # Cost
    /// One round trip (`findAndModify`). Where others may refer to the document, or copy from it: one to read it, and those of
    /// [`delete`](Collection::delete); the document is given as it was read.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let oldest: Option<Person> = people.delete_first(|p| p.tags.contains("expired")).sort(|p| p.age.desc()).await?;
    /// # Ok(()) }
    /// ```
    pub fn delete_first(&self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> DeleteFirst<T>
    where
        T: Deletable,
    {
        DeleteFirst {
            core: self.core().clone(),
            filter: filter(T::paths()),
            by: Selection::default(),
        }
    }

    /// The document with this unique key: a field with `#[index(unique)]` and its value, or the fields of a unique index on several
    /// and their values, as tuples, in any order. `_id` and a `#[parent_ref(one)]` are keys too.
    ///
    /// Fields that are no key of the type don't compile. A field with `#[field(scope)]` may be left out: it has the value of the
    /// handle's scope. Texts are compared as the index compares them, by its collation. Of a partial index, the document is found
    /// that it holds.
    ///
    /// # Errors
    /// [`Error::Query`] where a value is `null`, where a field is left out and the handle has no scope by it, and where several
    /// partial indexes have these fields. [`Error::Decode`].
    ///
    /// # Cost
    /// One round trip. Of a key with `unique(global)` two: the claim, and the document by its `_id`; before a backfill has claimed the
    /// values of all documents, one more where no claim is found.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let kate: Option<Person> = people.get_by(|p| p.email, "kate@example.com").await?;
    /// let kate: Person = people.get_by(|p| p.email, "kate@example.com").required().await?;
    /// # Ok(()) }
    /// ```
    pub fn get_by<K, V>(&self, key: impl FnOnce(T::Paths) -> K, values: V) -> Action<Option<T>>
    where
        T: HasKey<K::Parts>,
        K: KeyValues<T, V>,
    {
        let key = DocumentByKey::new(key, values);
        let names = key.names.clone();
        let claim = key.claim(self.core());
        let found = key.condition(self.core());
        let (condition, collation) = match found {
            Ok((filter, collation)) => (filter.into_document(), collation),
            Err(error) => (Err(error), None),
        };
        let sought = condition.as_ref().map_or(Sought::Any, |condition| {
            let key = values_of(&names, condition);
            Sought::Key(Box::new(sensitive::shown(T::META, &key)))
        });
        let core = self.core().clone();
        let find = move |condition| {
            let find = crate::Find::<T>::new(core, Filter::of(condition));
            match collation {
                Some(collation) => find.collation(collation),
                None => find,
            }
        };
        let (Some(claim), Ok(condition)) = (claim, &condition) else {
            return find(condition).one().seeking(sought);
        };
        let condition = condition.clone();
        let found = async move {
            let Some(owner) = claim.owner().await? else {
                return Ok(None);
            };
            let is_named = !owner.is_empty();
            let of_owner = all([condition.clone(), owner]);
            match find.clone()(Ok(of_owner)).one().await? {
                None if is_named => find(Ok(condition)).one().await,
                found => Ok(found),
            }
        };
        Action::new(T::META.collection, "find_one", Box::new(found)).seeking(sought)
    }

    /// Changes the document with this unique key, as [`update`](Collection::update) does by its id. The key is that of
    /// [`get_by`](Collection::get_by).
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is none, those of [`get_by`](Collection::get_by) and of [`update`](Collection::update).
    ///
    /// # Cost
    /// One round trip. Where a bound of the document can refuse the change, or rules of references and copies apply to it: one
    /// to find the document, and those of [`update`](Collection::update).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// people.update_by(|p| p.email, "kate@example.com").set(|p| p.name, "Kate Monster").await?;
    /// # Ok(()) }
    /// ```
    pub fn update_by<K, V>(&self, key: impl FnOnce(T::Paths) -> K, values: V) -> Update<T>
    where
        T: HasKey<K::Parts>,
        K: KeyValues<T, V>,
    {
        Update::by_key(self.core().clone(), DocumentByKey::new(key, values))
    }

    /// Deletes the document with this unique key, as [`delete`](Collection::delete) does by its id. The key is that of
    /// [`get_by`](Collection::get_by).
    ///
    /// # Errors
    /// Those of [`get_by`](Collection::get_by) and of [`delete`](Collection::delete).
    ///
    /// # Cost
    /// That of [`delete_where`](Collection::delete_where).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let gone = people.delete_by(|p| p.email, "kate@example.com").await?;
    /// assert_eq!(gone.deleted, 1);
    /// # Ok(()) }
    /// ```
    pub fn delete_by<K, V>(&self, key: impl FnOnce(T::Paths) -> K, values: V) -> Delete<T>
    where
        T: Deletable + HasKey<K::Parts>,
        K: KeyValues<T, V>,
    {
        Delete::by_key(self.core().clone(), DocumentByKey::new(key, values))
    }
}

fn first_of<T>(filter: Filter<T>, by: Selection) -> Result<FirstMatch> {
    Ok(FirstMatch {
        condition: filter.untyped().into_document()?,
        by,
        key: None,
    })
}

fn sort_of<T>(order: Vec<Order<T>>) -> bson::Document {
    let order = order.into_iter().map(Order::untyped);
    order
        .map(|order| (order.name.to_owned(), Bson::Int32(order.direction())))
        .collect()
}

/// An update of the first document that matches: [`Collection::update_first`]. `.await` executes it and counts.
///
/// # Errors
/// Those of [`Update`], but that no document is no error.
///
/// # Cost
/// One round trip. Where a declared bound can refuse the change, or rules of references and copies apply to it: one to find the
/// document, and those of [`Update`]. Both again for each document that another client changes in between.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let done = people.update_first(|p| p.age.lt(0)).set(|p| p.age, 0).await?;
/// assert!(done.matched <= 1);
/// # Ok(()) }
/// ```
#[must_use = "an update does nothing until it is awaited"]
#[derive(Debug)]
pub struct UpdateFirst<T: Document> {
    core: Core,
    filter: Filter<T>,
    by: Selection,
    changes: Changes<T>,
}

configured!(WriteOptions for
    core of [T: Document] UpdateFirst<T>;
    update.core of [T: Document] ReturningFirst<T>;
    core of [T: Document] DeleteFirst<T>;
);

impl<T: Document> Change<T> for UpdateFirst<T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.changes
    }
}

impl<T: Document> Update<T> {
    /// Changes the document only where it also matches this condition. A document that does not match is no error, and neither is one that
    /// is not there: [`Updated::matched`] is 0, and [`returning`](crate::update::UpdateFirst::returning) gives `None`, as of
    /// [`update_first`](crate::Collection::update_first), which this is by the id or the key. It stands before or behind the changes.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>) -> odm::Result<()> {
    /// let paid = accounts.update(&7).filter(|a| a.cents.gte(500)).inc(|a| a.cents, -500).await?;
    /// if paid.matched == 0 {
    ///     println!("too little in the account");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn filter(self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> UpdateFirst<T> {
        let (core, document, collation, changes) = self.into_parts();
        UpdateFirst {
            core,
            filter: document & filter(T::paths()),
            by: Selection {
                collation,
                ..Selection::default()
            },
            changes,
        }
    }
}

impl<T: Document> UpdateFirst<T> {
    /// The order in which the first document is changed. Where documents are equal in it, the server takes one of them: end with
    /// a unique field for a certain one.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// people.update_first(|p| p.age.gte(18)).sort(|p| (p.age.asc(), p.id.asc())).push(|p| p.tags, "next").await?;
    /// # Ok(()) }
    /// ```
    pub fn sort<S: IntoSort<T>>(mut self, order: impl FnOnce(T::Paths) -> S) -> Self {
        self.by.sort = sort_of(order(T::paths()).into_sort());
        self
    }

    /// Compares strings by the rules of a language, instead of by the [collation](crate::Document#document) of the collection.
    ///
    /// Where rules of references and copies or a declared bound apply to the write, it is refused with [`Error::Query`]: the document
    /// is compared with the condition again when it is written by its id.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::mongodb::options::Collation;
    ///
    /// let en = Collation::builder().locale("en").build();
    /// let done = people.update_first(|p| p.name.eq("Kate")).collation(en).set(|p| p.age, 31).await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Self {
        self.by.collation = Some(collation);
        self
    }

    /// Makes the server use the index of this name for the condition. The server refuses a name that it does not know.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// people.update_first(|p| p.email.starts_with("kate@")).hint("email_1").set(|p| p.age, 31).await?;
    /// # Ok(()) }
    /// ```
    pub fn hint(mut self, index: impl Into<String>) -> Self {
        self.by.hint = Some(index.into());
        self
    }

    /// Gives the document as it is after the change, `None` where none matches.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let changed = people.update_first(|p| p.age.lt(0)).set(|p| p.age, 0).returning().await?;
    /// # Ok(()) }
    /// ```
    pub fn returning(self) -> ReturningFirst<T> {
        ReturningFirst {
            update: self,
            which: ReturnDocument::After,
        }
    }

    /// Gives the document as it was before the change, `None` where none matches.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let before = people.update_first(|p| p.age.lt(0)).set(|p| p.age, 0).returning_before().await?;
    /// # Ok(()) }
    /// ```
    pub fn returning_before(self) -> ReturningFirst<T> {
        ReturningFirst {
            update: self,
            which: ReturnDocument::Before,
        }
    }

    fn send(self, reply: Reply) -> BoxFuture<'static, Result<Option<UpdatedFirst>>> {
        let first = first_of(self.filter, self.by);
        update_first(self.core, first, self.changes.untyped, reply)
    }
}

/// What became of the first document that matched, and the document where it is wanted.
type UpdatedFirst = (Updated, Option<RawDocumentBuf>);

fn update_first(
    core: Core,
    first: Result<FirstMatch>,
    changes: UntypedChanges,
    reply: Reply,
) -> BoxFuture<'static, Result<Option<UpdatedFirst>>> {
    async move {
        let first = first?;
        let trace = core.trace("update_first");
        trace.values(core.meta(), "filter", &first.condition);
        let built = changes.build_for(core.meta(), false, crate::now())?;
        let update = first::update(&core, &trace, first, built, reply);
        let mut made = trace.run(update).await?;
        if first::is_missed(&made) {
            return Ok(None);
        }
        let document = made.document.take();
        // Where the server gives the document, it does not say whether it was changed.
        let mut updated = Updated::from(made);
        if document.is_some() {
            (updated.matched, updated.modified) = (1, 1);
        }
        Ok(Some((updated, document)))
    }
    .boxed()
}

impl<T: Document> IntoFuture for UpdateFirst<T> {
    type Output = Result<Updated>;
    type IntoFuture = BoxFuture<'static, Result<Updated>>;

    fn into_future(self) -> Self::IntoFuture {
        let sent = self.send(Reply::Counts);
        Box::into_pin(Box::new(async move {
            Ok(sent.await?.map(|(updated, _)| updated).unwrap_or_default())
        }))
    }
}

/// An update of the first document that matches, which gives that document: [`UpdateFirst::returning`].
///
/// # Cost
/// As [`UpdateFirst`].
#[must_use = "an update does nothing until it is awaited"]
#[derive(Debug)]
pub struct ReturningFirst<T: Document> {
    update: UpdateFirst<T>,
    which: ReturnDocument,
}

impl<T: Document> Change<T> for ReturningFirst<T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.update.changes
    }
}

impl<T: Document> IntoFuture for ReturningFirst<T> {
    type Output = Result<Option<T>>;
    type IntoFuture = BoxFuture<'static, Result<Option<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        let sent = self.update.send(Reply::Document(self.which));
        Box::into_pin(Box::new(async move {
            let found = sent.await?.and_then(|(_, document)| document);
            found.map(|found| decode::decode(T::META, &found)).transpose()
        }))
    }
}

/// A deletion of the first document that matches: [`Collection::delete_first`]. `.await` executes it and gives the document.
///
/// # Cost
/// One round trip. Where others may refer to the document, or something is derived from it: one to read it, and those of
/// [`Delete`](crate::write::Delete).
#[must_use = "a delete does nothing until it is awaited"]
#[derive(Debug)]
pub struct DeleteFirst<T: Document> {
    core: Core,
    filter: Filter<T>,
    by: Selection,
}

impl<T: Document> DeleteFirst<T> {
    /// The order in which the first document is deleted.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// people.delete_first(|p| p.age.gte(100)).sort(|p| (p.age.desc(), p.id.asc())).await?;
    /// # Ok(()) }
    /// ```
    pub fn sort<S: IntoSort<T>>(mut self, order: impl FnOnce(T::Paths) -> S) -> Self {
        self.by.sort = sort_of(order(T::paths()).into_sort());
        self
    }

    /// Compares strings by the rules of a language, instead of by the [collation](crate::Document#document) of the collection.
    ///
    /// Where rules of references and copies or a declared bound apply to the write, it is refused with [`Error::Query`]: the document
    /// is compared with the condition again when it is written by its id.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::mongodb::options::Collation;
    ///
    /// let en = Collation::builder().locale("en").build();
    /// let deleted = people.delete_first(|p| p.name.eq("Kate")).collation(en).await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Self {
        self.by.collation = Some(collation);
        self
    }

    /// Makes the server use the index of this name for the condition. The server refuses a name that it does not know.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// people.delete_first(|p| p.email.starts_with("kate@")).hint("email_1").await?;
    /// # Ok(()) }
    /// ```
    pub fn hint(mut self, index: impl Into<String>) -> Self {
        self.by.hint = Some(index.into());
        self
    }
}

fn delete_first(core: Core, first: Result<FirstMatch>) -> BoxFuture<'static, Result<Option<RawDocumentBuf>>> {
    async move {
        let first = first?;
        let trace = core.trace("delete_first");
        trace.values(core.meta(), "filter", &first.condition);
        trace.run(first::delete(&core, &trace, first)).await
    }
    .boxed()
}

impl<T: Document> IntoFuture for DeleteFirst<T> {
    type Output = Result<Option<T>>;
    type IntoFuture = BoxFuture<'static, Result<Option<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        let first = first_of(self.filter, self.by);
        let deleted = delete_first(self.core, first);
        Box::into_pin(Box::new(async move {
            let found = deleted.await?;
            found.map(|found| decode::decode(T::META, &found)).transpose()
        }))
    }
}
