//! The typed collection: where queries and writes begin.

#[cfg(doc)]
use crate::Error;
use crate::api::stored_form::DriverDocument;
use crate::model::deferred::DeferredFields;
use crate::model::document::WholeDocument;
use crate::model::encode::stored_document;
#[cfg(feature = "atlas")]
use crate::model::{
    asserts::Vector,
    path::{Path, Step},
};
#[cfg(feature = "atlas")]
use crate::query::aggregate::search::{Operator, QueryVector, SearchStage, VectorStage};
use crate::query::get::{Get, GetMany};
use crate::query::join::{Join, ReadFrom, Source, Via, Work};
use crate::query::text::{Search, text};
use crate::store::action::Action;
use crate::store::core::Core;
use crate::store::options::Options;
use crate::store::session::Session;
use crate::upkeep::watch::{ChangeEvent, Watch};
use crate::{
    Aggregate, Deletable, Delete, DeleteMany, Document, Filter, Find, Insert, InsertMany, Insertable,
    NamesParent, Odm, Order, ParentOf as _, Replace, Replaceable, Target, Update, UpdateMany, WriteTarget,
};
use mongodb::bson::{Bson, doc};
use std::marker::PhantomData;

/// The documents of type `T`. Cheap to clone; `Send` and `Sync`.
///
/// It comes from [`Odm::collection`], or within a transaction from [`Tx::collection`](crate::Tx::collection). `.await` executes an
/// operation; until then nothing is sent. An operation owns what it needs: it can be built in parts, stored, returned by a
/// function, and run in a task of its own ([`Action`]).
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// let people = odm.collection::<Person>();
/// let adults = people.find(|p| p.age.gte(18)).count().await?;
/// println!("{adults} of {}", people.find_all().count().await?);
/// # Ok(()) }
/// ```
pub struct Collection<T> {
    core: Core,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Collection {
            core: self.core.clone(),
            of: PhantomData,
        }
    }
}

impl<T: Document> std::fmt::Debug for Collection<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collection")
            .field("of", &T::META.name)
            .field("name", &T::META.collection)
            .finish()
    }
}

impl<T: Document> ReadFrom for Collection<T> {
    fn source(&self) -> Source {
        self.core().source()
    }
}

impl Odm {
    /// The collection of `T`. Nothing is sent.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let people = odm.collection::<Person>();
    /// # Ok(()) }
    /// ```
    pub fn collection<T: Document>(&self) -> Collection<T> {
        if cfg!(debug_assertions)
            && !self
                .models()
                .iter()
                .any(|model| model.meta.collection == T::META.collection)
        {
            tracing::warn!(
                target: "odm",
                collection = T::META.collection,
                "`{}` is not among the models of this `Odm`, so `sync` makes neither its validator nor its indexes",
                T::META.name
            );
        }
        Collection::new(self, None)
    }
}

impl<T: Document> Collection<T> {
    pub(crate) fn new(odm: &Odm, session: Option<Session>) -> Collection<T> {
        Collection {
            core: Core::new(odm, T::META, session),
            of: PhantomData,
        }
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// The driver's collection, for features that this one lacks: of `bson::Document`, or of [`AsStored`](crate::AsStored) for values
    /// of a model. Writes through it are out of band: this library neither
    /// checks them nor updates copies and links after them, unless a [`reconciler`](crate::Odm::reconciler) runs.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let raw = people.driver::<odm::bson::Document>();
    /// let cities = raw.distinct("addresses.city", doc! {}).await?;
    /// # Ok(()) }
    /// ```
    pub fn driver<D: DriverDocument>(&self) -> mongodb::Collection<D> {
        self.core.raw().clone_with_type()
    }

    /// The handle that the collection came from.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let accounts = people.odm().collection::<Account>();
    /// # Ok(()) }
    /// ```
    pub fn odm(&self) -> &Odm {
        self.core.odm()
    }

    /// The same collection, of which all operations have these options. Those that are not among them stay as they are.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
    /// use odm::mongodb::options::ReadPreference;
    ///
    /// let nearest = people.with_options(
    ///     odm::options::Options::new().read_preference(ReadPreference::Nearest { options: None }),
    /// );
    /// let kate = nearest.get(id).await?;
    /// # Ok(()) }
    /// ```
    pub fn with_options(&self, options: Options) -> Collection<T> {
        let mut core = self.core.clone();
        core.add_options(options);
        Collection {
            core,
            of: PhantomData,
        }
    }

    /// The same collection, whose reads ask for these [deferred](crate::Deferred) fields too: one, or a tuple of them.
    ///
    /// It concerns the documents of this collection, also where a join of the handle reads them.
    ///
    /// ```no_run
    /// # mod app {
    /// # use odm::prelude::*;
    /// # #[derive(Document, Clone, Debug)]
    /// # #[document(collection = "articles")]
    /// # pub struct Article { pub id: ObjectId, pub title: String, pub body: Deferred<String> }
    /// # async fn example(articles: Collection<Article>, id: ObjectId) -> odm::Result<()> {
    /// if let Some(article) = articles.with_deferred(|a| a.body).get(id).await? {
    ///     println!("{}", article.body.get().map_or("", String::as_str));
    /// }
    /// # Ok(()) }
    /// # }
    /// ```
    #[must_use]
    pub fn with_deferred<F: DeferredFields<T>>(&self, fields: impl FnOnce(T::Paths) -> F) -> Collection<T> {
        let mut names = Vec::new();
        fields(T::paths()).names(&mut names);
        self.with_options(Options::new().deferred(T::META.collection, names))
    }

    /// Inserts one document: its `New…` struct, or a whole one.
    ///
    /// Gives the document as it is stored, with its id.
    ///
    /// # Errors
    /// [`Error::Invalid`] and [`Error::TooLarge`] before anything is sent, [`Error::DuplicateKey`] from the server;
    /// [`Error::MissingReference`] where a document that it refers to does not exist.
    ///
    /// # Cost
    /// One round trip; with references more, as [`Insert`] says.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let kate = people
    ///     .insert(NewPerson {
    ///         email: "kate@example.com".into(),
    ///         name: "Kate".into(),
    ///         age: 30,
    ///         nickname: None,
    ///         tags: vec!["rust".into()],
    ///         addresses: vec![],
    ///         settings: BTreeMap::new(),
    ///         place: Some(Point::new(-74.0, 40.7)),
    ///     })
    ///     .await?;
    /// assert_eq!(people.get(kate.id).await?, Some(kate));
    /// # Ok(()) }
    /// ```
    pub fn insert(&self, document: impl Insertable<T>) -> Insert<T> {
        Insert::new(self.core().clone(), document.fresh(crate::now()))
    }

    /// Inserts many documents, in as few commands as the [server's
    /// limits](https://www.mongodb.com/docs/manual/reference/command/hello/) allow (100,000 writes and 48 MB each).
    ///
    /// Returns them as they are stored. The first refused document ends the insert; with [`unordered`](InsertMany::unordered)
    /// the others are inserted nevertheless.
    ///
    /// # Errors
    /// [`Error::InsertMany`] with the position of each refused document, and why: [`Error::Invalid`], [`Error::TooLarge`],
    /// [`Error::DuplicateKey`]. Documents that break a bound are found before anything is sent: an ordered insert then inserts
    /// none, an unordered one all others. ([`InsertMany`] describes the difference for copies.) [`Error::MissingReference`]
    /// where a document that they refer to does not exist.
    ///
    /// # Cost
    /// One round trip for every 100,000 documents or 48 MB; with references more, as [`InsertMany`] says.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, new: Vec<NewPerson>) -> odm::Result<()> {
    /// match people.insert_many(new).unordered().await {
    ///     Ok(stored) => println!("{} stored", stored.len()),
    ///     Err(Error::InsertMany { inserted, errors, .. }) => {
    ///         println!("{inserted} stored");
    ///         for (position, error) in errors {
    ///             println!("number {position}: {error}");
    ///         }
    ///     }
    ///     Err(other) => return Err(other),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn insert_many<D: Insertable<T>>(&self, documents: impl IntoIterator<Item = D>) -> InsertMany<T> {
        let now = crate::now();
        InsertMany::new(
            self.core().clone(),
            documents
                .into_iter()
                .map(|document| document.fresh(now))
                .collect(),
        )
    }

    /// The document with this id.
    ///
    /// # Errors
    /// [`Error::Decode`] if it can't be decoded as the struct.
    ///
    /// # Cost
    /// One round trip.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
    /// match people.get(id).await? {
    ///     Some(person) => println!("{}", person.name),
    ///     None => println!("no such person"),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn get(&self, id: impl Target<T>) -> Get<T> {
        Get::new(self.core().knowing(&id), id.target_id())
    }

    /// The documents with these ids, in the order of the ids; an id that is given twice gives its document twice, an id
    /// without a document gives none.
    ///
    /// # Errors
    /// [`Error::Decode`] for the first that can't be decoded as the struct.
    ///
    /// # Cost
    /// One query, whatever the number of ids (one for each 100,000 of them): one round trip, and one for every further
    /// batch of the server's. Where the collation of the collection takes texts that differ for equal, one more for ids that are texts and
    /// that no document has as they are given.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, accounts: Vec<Account>) -> odm::Result<()> {
    /// let owners = people.get_many(accounts.iter().map(|a| a.owner)).await?;
    /// # Ok(()) }
    /// ```
    pub fn get_many<K: Target<T>>(&self, ids: impl IntoIterator<Item = K>) -> GetMany<T>
    where
        T: Clone,
    {
        let ids = ids.into_iter().map(|id| id.target_id()).collect();
        GetMany::new(self.core().clone(), ids)
    }

    /// The documents that match a condition.
    ///
    /// The closure receives the typed paths: `people.find(|p| p.addresses.city.eq("New York"))`. [`all`](Find::all),
    /// [`one`](Find::one), [`stream`](Find::stream), [`count`](Find::count) and other final methods end the query.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let young = people
    ///     .find(|p| p.addresses.city.eq("New York") & p.age.lt(30))
    ///     .sort(|p| p.name.asc())
    ///     .limit(20)
    ///     .all()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn find(&self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> Find<T> {
        Find::new(self.core().clone(), filter(T::paths()))
    }

    /// All documents.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let everybody = people.find_all().sort(|p| p.name.asc()).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn find_all(&self) -> Find<T> {
        Find::new(self.core().clone(), Filter::always())
    }

    /// The documents whose text index matches these words, as [`text`](crate::query::text) says, which combines them with other
    /// conditions within a filter.
    ///
    /// # Errors
    /// As [`find`](Collection::find), and [`Error::Query`] where the collection has no text index.
    ///
    /// # Cost
    /// That of [`find`](Collection::find).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let found = people.find_text("coffee -decaf").filter(|p| p.age.gte(18)).limit(10).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn find_text(&self, words: impl Into<Search>) -> Find<T> {
        Find::new(self.core().clone(), text(words))
    }

    /// The documents that name this one as their parent by `#[parent_ref]`, in the order that it declares. The parent is given
    /// as the document, or as a reference to it.
    ///
    /// Where children refer to their parent by another field than its id (`by = …`), a reference by id does not have that
    /// value, and the query fails with [`Error::Query`]: give the document.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(comments: Collection<Comment>, post: Post, id: ObjectId) -> odm::Result<()> {
    /// let newest = comments.children_of(&post).limit(10).all().await?;
    /// // With only the id at hand:
    /// let newest = comments.children_of(Ref::<Post>::new(id)).limit(10).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn children_of(&self, parent: impl NamesParent<T>) -> Find<T> {
        self.of_parent(parent)
    }

    fn of_parent<P: NamesParent<T>>(&self, parent: P) -> Find<T> {
        let field = P::Parent::named_by();
        let via = Via::of::<P::Parent>(field.path(), field.reference);
        crate::query::join::warn_of_scan(T::META, self.odm(), &via.key_path());
        let key = parent.key(via.by);
        let filter = key.map(|key| match key {
            // A parent without a key has no children: the server would return all documents without a parent.
            Bson::Null => doc! { "_id": { "$in": [] } },
            key => via.filter(vec![key]),
        });
        let core = self.core().knowing_document(P::Parent::META, || parent.whole());
        let mut find = Find::new(core, Filter::of(filter));
        let order = via.order.into_iter();
        let order = order.map(|(name, direction)| Order::new(name, direction < 0));
        find.query.sort = order.collect();
        find
    }

    /// Joins other documents to a given document, as [`Find::include`] does for a query.
    ///
    /// # Errors
    /// [`Error::MissingReference`], [`Error::Decode`].
    ///
    /// # Cost
    /// One round trip for each hop and each collection that is joined.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>, post: Post) -> odm::Result<()> {
    /// let (author, newest): (User, Vec<Comment>) =
    ///     posts.load(&post, |p| (p.author, p.children::<Comment>().limit(10))).await?;
    /// # Ok(()) }
    /// ```
    pub fn load<J: Join<T>>(&self, document: &T, join: impl FnOnce(T::Paths) -> J) -> Action<J::Out> {
        let (from, join) = (self.source(), join(T::paths()));
        let raw = stored_document(T::META.name, document);
        let load = async move {
            let raw = raw?;
            let mut work = Work::new(&join);
            work.parent(&raw)?;
            work.run(&from).await?;
            work.out()
        };
        Action::new(T::META.collection, "load", Box::new(load))
    }

    /// Whether a document matches.
    ///
    /// # Errors
    /// As [`find`](Collection::find).
    ///
    /// # Cost
    /// One round trip, which reads one `_id` at most.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// if people.exists_where(|p| p.email.eq("kate@example.com")).await? {
    ///     println!("the address is taken");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn exists_where(&self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> Action<bool> {
        self.find(filter).exists()
    }

    /// Changes the document with this id, or this document.
    ///
    /// Given a document of a type with `#[document(version)]`, the update is executed only if the stored version is still the
    /// document's.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none, [`Error::Conflict`] if another writer changed it, [`Error::ArrayFull`] for a push
    /// onto a full array, [`Error::Invalid`] where a value breaks a bound, [`Error::TooLarge`], [`Error::DuplicateKey`],
    /// [`Error::MissingReference`].
    ///
    /// # Cost
    /// One round trip; one more to find out why, where a bound or the version held it back. With references more, as [`Update`]
    /// says.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people
    ///     .update(kate.id)
    ///     .set(|p| p.name, "Kate Monster")
    ///     .inc(|p| p.age, 1)
    ///     .push(|p| p.tags, "admin")
    ///     .await?;
    /// people.update(kate.id).unset(|p| p.nickname).await?;
    /// # Ok(()) }
    /// ```
    pub fn update(&self, target: impl WriteTarget<T>) -> Update<T> {
        let core = self.core().knowing(&target);
        Update::new(core, target.target_id(), target.seen_version())
    }

    /// Changes every document that matches the condition.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a value breaks a bound, [`Error::DuplicateKey`], [`Error::MissingReference`]. A document whose
    /// bounds don't allow the change is no error: it is counted in [`Updated::refused`].
    ///
    /// # Cost
    /// One round trip, and one more before it where a change can be refused by a bound ([`Updated::refused`]). With
    /// references more, as [`UpdateMany`] says.
    ///
    /// [`Updated::refused`]: crate::Updated::refused
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let done = people
    ///     .update_where(|p| p.tags.contains("trial"))
    ///     .push(|p| p.tags, "expired")
    ///     .await?;
    /// println!("{} changed, {} had no room for another tag", done.modified, done.refused);
    /// # Ok(()) }
    /// ```
    pub fn update_where(&self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> UpdateMany<T> {
        UpdateMany::new(self.core().clone(), filter(T::paths()))
    }

    /// Changes every document of the collection, or of the scope of the handle.
    ///
    /// # Errors
    /// As [`update_where`](Collection::update_where).
    ///
    /// # Cost
    /// That of [`update_where`](Collection::update_where).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// people.update_all().pull(|p| p.tags, "new").await?;
    /// # Ok(()) }
    /// ```
    pub fn update_all(&self) -> UpdateMany<T> {
        UpdateMany::new(self.core().clone(), Filter::always())
    }

    /// Replaces the document with the same id, and returns the document as it is stored.
    ///
    /// Fields that the type does not declare are kept, and the stored `created_at`: see [`Replace`]. [`exact`](Replace::exact)
    /// replaces the whole document.
    ///
    /// With `#[document(version)]` only if the stored version is still the document's. Only added references are checked: those
    /// that the stored document has already may dangle. A document with `#[document(append_only)]` is never changed: to replace
    /// one does not compile.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Conflict`], [`Error::Invalid`], [`Error::TooLarge`], [`Error::DuplicateKey`];
    /// [`Error::Immutable`] where it is stored with another shard key, or another value that is the same in other documents;
    /// [`Error::Contention`] where the document was deleted and inserted again during each of five attempts;
    /// [`Error::MissingReference`] and the other errors of references as [`Update`].
    ///
    /// # Cost
    /// One round trip; one more to find out why, where it was refused, and one to read the kept fields of the stored document
    /// (derived fields, copies with `consistency = snapshot`, and a field with `#[field(extra)]`). Two more where the document has
    /// another `created_at` than the stored one. Where none has its id and shard key, one to look for it with another key, on all
    /// shards. With references more, as [`Update`] says of a change of all of them.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, mut account: Account) -> odm::Result<()> {
    /// account.cents += 100;
    /// let account = accounts.replace(account).await?; // its version is one greater now
    /// # Ok(()) }
    /// ```
    pub fn replace(&self, document: impl WholeDocument<T>) -> Replace<T>
    where
        T: Replaceable,
    {
        Replace::new(self.core().clone(), document.into_document())
    }

    /// Deletes the document with this id, or this document; given a document of a type with `#[document(version)]`, only
    /// if the stored version is still the document's. No such document is [`Error::NotFound`], or `None` of
    /// [`optional`](Delete::optional).
    ///
    /// The `on_delete` rules of references to it are applied: see [`Delete`].
    ///
    /// # Errors
    /// [`Error::Conflict`] if another writer changed it; [`Error::StillReferenced`] if references with `on_delete = restrict`
    /// prevent the deletion.
    ///
    /// # Cost
    /// One round trip; one more where a document with a version was not found. Where others may refer to it, as [`Delete`]
    /// says: two, and two for each reference.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
    /// let gone = people.delete(id).await?;
    /// assert_eq!(gone.deleted, 1);
    /// # Ok(()) }
    /// ```
    pub fn delete(&self, target: impl WriteTarget<T>) -> Delete<T>
    where
        T: Deletable,
    {
        let core = self.core().knowing(&target);
        Delete::new(core, target.target_id(), target.seen_version())
    }

    /// Deletes every document that matches the condition.
    ///
    /// The `on_delete` rules of references to them are applied: see [`Delete`].
    ///
    /// # Errors
    /// [`Error::StillReferenced`] if references with `on_delete = restrict` to one of them prevent the deletion: then none is
    /// deleted.
    ///
    /// # Cost
    /// One round trip. Where others may refer to them, as [`Delete`] says: for each 200 (1,000 where nothing can prevent the
    /// deletion) two, and two for each reference.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let done = people.delete_where(|p| p.tags.contains("expired")).await?;
    /// println!("{} deleted", done.deleted);
    /// # Ok(()) }
    /// ```
    pub fn delete_where(&self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> DeleteMany<T>
    where
        T: Deletable,
    {
        DeleteMany::new(self.core().clone(), filter(T::paths()))
    }

    /// Deletes every document of the collection, or of the scope of the handle.
    ///
    /// # Errors
    /// As [`delete_where`](Collection::delete_where).
    ///
    /// # Cost
    /// That of [`delete_where`](Collection::delete_where).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let done = people.delete_all().await?;
    /// println!("{} deleted", done.deleted);
    /// # Ok(()) }
    /// ```
    pub fn delete_all(&self) -> DeleteMany<T>
    where
        T: Deletable,
    {
        DeleteMany::new(self.core().clone(), Filter::always())
    }

    /// The changes of documents that match a condition, as they are made.
    ///
    /// The condition is on the document after the change. A deletion has none, so each is shown; with
    /// [`pre_images`](Watch::pre_images) those of documents that matched. Where the server has no document to compare, as of
    /// an update of a document that was deleted since, the change is shown. [`start`](Watch::start) opens the stream.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    /// use odm::watch::ChangeEvent;
    ///
    /// let mut changes = people.watch(|p| p.age.gte(18)).resume_as("mailer").start().await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     if let ChangeEvent::Inserted { after, .. } = change {
    ///         println!("welcome, {}", after.name);
    ///     }
    ///     changes.store_position().await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn watch(&self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> Watch<ChangeEvent<T>> {
        Watch::new(self.core(), filter(T::paths()))
    }

    /// The changes of all documents, as they are made: [`watch`](Collection::watch).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut changes = people.watch_all().start().await?;
    /// while let Some(change) = changes.try_next().await? {
    ///     println!("{change:?}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn watch_all(&self) -> Watch<ChangeEvent<T>> {
        Watch::new(self.core(), Filter::always())
    }

    /// A pipeline over the collection: typed stages first, then any. [`all`](Aggregate::all), [`one`](Aggregate::one) or
    /// [`stream`](Aggregate::stream) ends it.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// #[derive(Row)]
    /// struct City {
    ///     #[field(name = "_id")]
    ///     name: String,
    ///     people: i32,
    /// }
    /// let cities: Vec<City> = people
    ///     .aggregate()
    ///     .unwind(|p| p.addresses)
    ///     .group(|p| p.addresses.city, |g| g.count("people"))
    ///     .all()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn aggregate(&self) -> Aggregate<T> {
        Aggregate::new(self.core().clone())
    }

    /// A pipeline that begins with a search by a search index of Atlas: `$search`, with the feature `atlas`. The closure makes the
    /// [operator](crate::atlas) from the paths of the document. The best documents come first.
    ///
    /// The condition of a handle (a tenant, documents that are not deleted) stands in a `$match` behind the search.
    ///
    /// No test of this project ran on Atlas: unit tests compare the stage that is sent with MongoDB's documentation.
    ///
    /// # Errors
    /// The pipeline is [`Error::Query`](crate::Error::Query) where the document declares search indexes, and none of this name, or none
    /// that holds the fields as the operator needs them: Atlas would find nothing. It is
    /// [`Error::Unsupported`](crate::Error::Unsupported) on a deployment without search.
    ///
    /// # Cost
    /// That of the pipeline: one round trip, and one for every further batch.
    ///
    /// # Example
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # async fn example(books: Collection<Book>) -> odm::Result<()> {
    /// use odm::atlas::text;
    ///
    /// let found: Vec<Book> =
    ///     books.search("default", |b| text("whale").path(b.title).fuzzy(1)).aggregate().limit(10).all().await?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "atlas")]
    #[cfg_attr(docsrs, doc(cfg(feature = "atlas")))]
    pub fn search<K>(
        &self,
        index: impl Into<String>,
        operator: impl FnOnce(T::Paths) -> Operator<T, K>,
    ) -> SearchStage<T> {
        SearchStage::new(self.core().clone(), index.into(), operator(T::paths()))
    }

    /// A pipeline that begins with a search for the documents whose vectors are nearest to this one: `$vectorSearch`, with the feature
    /// `atlas`. The closure names
    /// the field with the vectors. The nearest documents come first.
    ///
    /// The condition of a handle (a tenant, documents that are not deleted) stands in a `$match` behind the search, so fewer documents than
    /// the limit may come. Where the index declares the field of a tenant in `filter(…)`, the search itself is restricted to it.
    ///
    /// No test of this project ran on Atlas: unit tests compare the stage that is sent with MongoDB's documentation.
    ///
    /// # Errors
    /// The pipeline is [`Error::Query`](crate::Error::Query) for a vector of no numbers, or of another length than the index declares; where
    /// the document declares vector indexes, and none of this name on this field; for a filter that `$vectorSearch` does not take; and for
    /// fewer candidates than the limit. It is [`Error::Unsupported`](crate::Error::Unsupported) on a deployment without search.
    ///
    /// # Cost
    /// That of the pipeline: one round trip, and one for every further batch.
    ///
    /// # Example
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # async fn example(books: Collection<Book>, question: Vec<f32>) -> odm::Result<()> {
    /// let near: Vec<Book> = books
    ///     .vector_search("by_meaning", |b| b.embedding, question)
    ///     .limit(5)
    ///     .filter(|b| b.year.gte(1900))
    ///     .aggregate()
    ///     .all()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "atlas")]
    #[cfg_attr(docsrs, doc(cfg(feature = "atlas")))]
    pub fn vector_search<V: Vector, P: Step, C>(
        &self,
        index: impl Into<String>,
        field: impl FnOnce(T::Paths) -> Path<T, V, P, C>,
        vector: impl Into<QueryVector>,
    ) -> VectorStage<T> {
        field(T::paths());
        VectorStage::new(self.core().clone(), index.into(), P::PATH, vector.into())
    }
}
