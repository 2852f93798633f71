//! The metadata that the derives generate for a type: its collection, id, fields, indexes and options.

use crate::model::encode::{self, StoredValue, stored_document};
pub use crate::model::meta::DocumentMeta;
pub use crate::model::meta::kind::{CollectionKind, TimeSeriesMeta, ViewMeta};
pub use crate::model::meta::options::{
    Action, CollationMeta, Expiry, IndexKey, IndexKind, IndexMeta, Level, OtherIndexes, Validation,
};
use crate::model::meta::{FieldMeta, Kind};
use crate::model::path::Fielded;
use crate::model::stored::{Fields, Row, Stored};
use crate::model::value::IdValue;
use mongodb::bson::{Bson, DateTime, RawDocumentBuf, deserialize_from_bson};
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// A struct that is stored as a document of a collection. Derived: `#[derive(Document)]`.
///
/// ```
/// # use samples::model::*;
/// assert_eq!(Person::META.collection, "people");
/// assert_eq!(Person::paths().addresses.city.name(), "addresses.city");
/// assert_eq!(Person::MAX_BSON_SIZE, None); // `name` has no `max_len`
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a document: it has no collection",
    label = "not a document",
    note = "derive `Document` for it; a struct that is embedded in a document derives `Embed` and has no collection of its own"
)]
pub trait Document: Identified<New: Send> + Fielded + Fields + Row + Send + Sync + Unpin {
    /// The struct of typed paths.
    type Paths: Copy + 'static;

    /// The constants of the document.
    const META: &'static DocumentMeta;
    /// The greatest size of a document in bytes of BSON, if every part of it has a bound; `None` otherwise. It counts
    /// the library's own fields: the versions of copies, and 4,096 bytes for `_odm`. Above 16 MiB it
    /// does not compile.
    const MAX_BSON_SIZE: Option<u64> = crate::model::size::whole(Self::FIELDS);

    /// Whether it has a collection for itself.
    #[doc(hidden)]
    const KIND: Kind = Kind::Alone;
    /// The indexes in its collection that other types declare.
    #[doc(hidden)]
    const OTHER_INDEXES: &'static [OtherIndexes] = &[];

    /// The paths that closures receive.
    fn paths() -> Self::Paths;
    /// The id.
    fn id(&self) -> &Self::Id;
    /// A reference to the document, which other documents store.
    ///
    /// ```
    /// # use samples::model::*;
    /// # fn example(account: Account) {
    /// assert_eq!(account.to_ref().key(), &account.id);
    /// # }
    /// ```
    fn to_ref(&self) -> crate::Ref<Self> {
        crate::Ref::new(self.id().clone())
    }
    /// The document to insert, made of the application's values: with the given time in the fields of `timestamps`, version 1
    /// in the field of `version`, and a new ObjectId where the library makes the id. Fields that the library derives from other
    /// documents are not filled in yet.
    fn fresh(new: Self::New, now: DateTime) -> Fresh<Self>;
    /// Sets the fields of `timestamps` that a write of the whole document sets.
    #[doc(hidden)]
    fn touch(&mut self, now: DateTime) {
        let _ = now;
    }
    /// The version, of a document with `#[document(version)]`.
    fn version(&self) -> Option<i64> {
        None
    }
    /// Sets the version.
    #[doc(hidden)]
    fn set_version(&mut self, version: i64) {
        let _ = version;
    }
}

/// A type that has an id: every document, by its field that is stored as `_id`. Derived: `#[derive(Document)]`.
///
/// A generic function names the types as `T::Id` and `T::New`, of a `T: Document`.
///
/// Other types of a field have an id in name alone, so that a `Ref` to one of them is one error of the compiler, which says that
/// the type is not a document.
///
/// ```
/// # use samples::model::*;
/// fn references<T: Document>(ids: Vec<T::Id>) -> Vec<Ref<T>> {
///     ids.into_iter().map(Ref::new).collect()
/// }
/// assert_eq!(references::<Account>(vec![7])[0].key(), &7);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a document: it has no collection",
    label = "not a document",
    note = "derive `Document` for it; a struct that is embedded in a document derives `Embed` and has no collection of its own"
)]
pub trait Identified: 'static {
    /// The type of the field that is stored as `_id`.
    type Id: IdValue + Stored + Clone + std::fmt::Debug + Send + Sync;
    /// The values that the application supplies to insert a document.
    type New;
}

/// A type that an attribute names as a document, by what the code of a derive reads of one. Every document is one.
///
/// So are structs that derive `Embed`, and other types of a field, in name alone: their code compiles, but for the assertion
/// that they are documents, so that naming one is one error.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a document: it has no collection",
    label = "not a document",
    note = "derive `Document` for it; a struct that is embedded in a document derives `Embed` and has no collection of its own"
)]
pub trait NamedDocument: Identified {
    /// The struct of typed paths.
    type Paths: Copy + 'static;
    /// The constants of the document.
    const META: &'static DocumentMeta = &DocumentMeta::STAND_IN;
    /// Its fields; those of a type that is not a document are not compared with anything.
    const FIELDS: &'static [FieldMeta] = &[];
    /// Whether it has a collection for itself.
    const KIND: Kind = Kind::Alone;
    /// The indexes in its collection that other types declare.
    const OTHER_INDEXES: &'static [OtherIndexes] = &[];

    /// The paths.
    fn paths() -> Self::Paths;
}

#[diagnostic::do_not_recommend]
impl<T: Document> NamedDocument for T {
    type Paths = <T as Document>::Paths;
    const META: &'static DocumentMeta = <T as Document>::META;
    const FIELDS: &'static [FieldMeta] = <T as Fielded>::FIELDS;
    const KIND: Kind = <T as Document>::KIND;
    const OTHER_INDEXES: &'static [OtherIndexes] = <T as Document>::OTHER_INDEXES;

    fn paths() -> Self::Paths {
        <T as Document>::paths()
    }
}

/// A value for an insertion of a type that is not a document: there is none.
#[doc(hidden)]
#[derive(Debug)]
pub enum NotADocument {}

macro_rules! no_documents {
    ($([$($p:tt)*] $ty:ty,)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($p)*> Identified for $ty {
            type Id = mongodb::bson::oid::ObjectId;
            type New = NotADocument;
        }
        #[diagnostic::do_not_recommend]
        impl<$($p)*> NamedDocument for $ty {
            type Paths = ();
            fn paths() {}
        }
    )*};
}

// Types that stand in a `Ref` by mistake.
no_documents! {
    [] bool, [] i32, [] u32, [] i64, [] u64, [] f64, [] String,
    [] mongodb::bson::oid::ObjectId, [] DateTime, [] mongodb::bson::Uuid, [] Bson, [] mongodb::bson::Document,
    [T: 'static] Option<T>, [T: 'static] Vec<T>,
    [T: Identified, K: 'static] Ref<T, K>,
}

// An application could make a `Box` of its own types a document.
#[diagnostic::do_not_recommend]
impl<T: 'static> Identified for Box<T> {
    type Id = mongodb::bson::oid::ObjectId;
    type New = NotADocument;
}

/// A reference to a document of type `T`: its id, stored as nothing but the id.
///
/// The field that holds it says what kind of relationship it is: `#[reference]`, `#[reference(many, max = N)]` for an array
/// of them, or `#[parent_ref]`. A reference by another unique field than `_id` names the type of that field as `K`, and the
/// field in the attribute: `#[reference(by = account_id)] account: Ref<Account, i32>`.
///
/// ```
/// # use samples::model::*;
/// use odm::Ref;
///
/// let owner: Ref<Account> = Ref::new(7);
/// assert_eq!(owner.key(), &7);
/// assert_eq!(format!("{owner:?}"), "Ref<Account>(7)");
/// ```
pub struct Ref<T: Identified, K = <T as Identified>::Id> {
    pub(super) key: K,
    to: PhantomData<fn() -> T>,
}

impl<T: Identified, K> Ref<T, K> {
    /// A reference to the document with this id, or with this value in the field that the reference is by. Whether there
    /// is one is checked where it is written.
    ///
    /// ```
    /// # use samples::model::*;
    /// let owner = odm::Ref::<Account>::new(7);
    /// ```
    pub const fn new(key: K) -> Ref<T, K> {
        Ref { key, to: PhantomData }
    }

    /// The id, or the value of the field that the reference is by.
    ///
    /// ```
    /// # use samples::model::*;
    /// assert_eq!(odm::Ref::<Account>::new(7).key(), &7);
    /// ```
    pub const fn key(&self) -> &K {
        &self.key
    }

    /// The id itself.
    ///
    /// ```
    /// # use samples::model::*;
    /// assert_eq!(odm::Ref::<Account>::new(7).into_key(), 7);
    /// ```
    pub fn into_key(self) -> K {
        self.key
    }
}

impl<T: Identified, K: Clone> Clone for Ref<T, K> {
    fn clone(&self) -> Self {
        Ref::new(self.key.clone())
    }
}

impl<T: Identified, K: Copy> Copy for Ref<T, K> {}

impl<T: Identified, K: PartialEq> PartialEq for Ref<T, K> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T: Identified, K: Eq> Eq for Ref<T, K> {}

impl<T: Identified, K: PartialOrd> PartialOrd for Ref<T, K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.key.partial_cmp(&other.key)
    }
}

impl<T: Identified, K: Ord> Ord for Ref<T, K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T: Identified, K: Hash> Hash for Ref<T, K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl<T: Identified, K: fmt::Debug> fmt::Debug for Ref<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its name as in Rust, without the modules and the parameters.
        let name = std::any::type_name::<T>();
        let name = name.split('<').next().unwrap_or(name);
        let name = name.rsplit("::").next().unwrap_or(name);
        write!(f, "Ref<{name}>({:?})", self.key)
    }
}

impl<T: Identified, K: fmt::Display> fmt::Display for Ref<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

/// In a text format, as serde writes the key; else as the key is stored.
impl<T: Identified, K: Stored + Serialize> Serialize for Ref<T, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return self.key.serialize(serializer);
        }
        let stored = encode::stored(&self.key).map_err(S::Error::custom)?;
        stored.serialize(serializer)
    }
}

impl<'de, T: Identified, K: Stored + DeserializeOwned> Deserialize<'de> for Ref<T, K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A deserializer of serde's own buffer says that it is of a text format, whatever was read into it.
        let value = Bson::deserialize(deserializer)?;
        let stored = StoredValue::of_bson(value.clone()).map_err(D::Error::custom)?;
        let key = match stored.read(K::read) {
            Ok(key) => key,
            Err(_) => deserialize_from_bson(value).map_err(D::Error::custom)?,
        };
        Ok(Ref::new(key))
    }
}

/// A struct or enum that is stored inside a document. Derived: `#[derive(Embed)]`.
///
/// ```
/// # use samples::model::*;
/// fn is_embedded<T: odm::Embed>() {}
/// is_embedded::<Address>();
/// ```
pub trait Embed: crate::model::value::Value {}

/// A type that a query may return instead of the whole document. Derived: `#[derive(Projection)]`.
///
/// ```
/// # use samples::model::*;
/// assert_eq!(<Named as Projection<Person>>::fields(), ["_id", "name"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a projection of `{T}`",
    note = "derive it: `#[derive(Projection)] #[projection(of = {T})]`"
)]
pub trait Projection<T>: Fields + Row + Send {
    /// The stored names of the fields that it needs.
    fn fields() -> Vec<&'static str>;
}

/// A value that can be inserted into a collection of `T`: its `New…` struct, or a whole `T`. A bucket can't be inserted: its
/// items are [pushed](crate::Buckets::push).
///
/// A generic function that inserts or upserts needs the bound `T: Document + Insertable<T>`; one that replaces needs
/// [`Replaceable`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example() -> odm::Result<()> {
/// /// Takes a `NewPerson` or a whole `Person`.
/// async fn store(people: &Collection<Person>, person: impl odm::write::Insertable<Person>) -> odm::Result<ObjectId> {
///     Ok(people.insert(person).await?.id)
/// }
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` can't be inserted into a collection of `{T}`",
    note = "insert the struct of its own fields, `New{T}`, or a whole `{T}`"
)]
pub trait Insertable<T>: Send {
    /// The document to store.
    fn fresh(self, now: DateTime) -> Fresh<T>;
}

/// A document that another one with its id can be put in the place of. Derived for every document but those with
/// `#[document(append_only)]`, and buckets.
///
/// A function over all documents that replaces says so in its bounds.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example() -> odm::Result<()> {
/// async fn store<T: odm::write::Replaceable>(all: &Collection<T>, document: T) -> odm::Result<T> {
///     all.replace(document).await
/// }
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` can't be replaced: a document with `#[document(append_only)]` is inserted and deleted, and never changed",
    note = "delete it and insert another one: `.delete(id)`, then `.insert(New{Self} {{ … }})`",
    note = "if its documents do change, leave out `append_only` in the `#[document(…)]` of `{Self}`"
)]
pub trait Replaceable: Document {}

/// A whole document, given away or by a reference: [`replace`](crate::Collection::replace) and [`save`](crate::Collection::save) take
/// one. Of a reference they make a clone.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(accounts: Collection<Account>, account: Account) -> odm::Result<()> {
/// let stored = accounts.replace(&account).await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no whole `{T}`",
    note = "give a `{T}`, or a reference to one that derives `Clone`",
    note = "some of its fields are changed by `update(id)`; a `New{T}` is inserted"
)]
pub trait WholeDocument<T> {
    /// The document itself.
    #[doc(hidden)]
    fn into_document(self) -> T;
}

#[diagnostic::do_not_recommend]
impl<T: Document> WholeDocument<T> for T {
    fn into_document(self) -> T {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: Document + Clone> WholeDocument<T> for &T {
    fn into_document(self) -> T {
        self.clone()
    }
}

/// A document that can be deleted. Derived for every document but those of a time series and of a view.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example() -> odm::Result<()> {
/// async fn clear<T: odm::write::Deletable>(all: &Collection<T>) -> odm::Result<u64> {
///     Ok(all.delete_all().await?.deleted)
/// }
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` can't be deleted",
    note = "a function over all documents that deletes says so in its bounds: `T: odm::write::Deletable`"
)]
pub trait Deletable: Document {}

/// A trait that no view has: its documents are only read.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{T}` is a view, whose documents are only read",
    note = "write the documents that the view shows: those of its `view(of = …)`"
)]
pub trait WritesViews<T: ?Sized> {}

/// A trait that no time series has: its measurements stay as they were inserted.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{T}` is a time series, whose measurements are inserted, and never changed or deleted",
    note = "the server deletes old ones: `time_series(time = …, expire_after = SECONDS)`",
    note = "what MongoDB can change and delete in a time series goes past this library: `.driver::<Bson>().delete_many(…)`"
)]
pub trait ChangesMeasurements<T: ?Sized> {}

/// A document of which the server keeps images: how it was before a change, and after it. Derived for every document with
/// `#[document(pre_and_post_images)]`.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::watch::{ChangeEvent, PreAndPostImages, Watch};
///
/// fn changes<T: PreAndPostImages + 'static>(all: &Collection<T>) -> Watch<ChangeEvent<T>> {
///     all.watch_all().pre_images()
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the server keeps no images of `{Self}` before a change",
    note = "declare them: `#[document(pre_and_post_images)]` on `{Self}`; `sync` then makes a server from MongoDB 6.0 on keep them"
)]
pub trait PreAndPostImages: Document {}

/// A document with a version. Derived for every document with `#[document(version)]`.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::patch::{IfMatch, Versioned};
/// use odm::update::Update;
///
/// fn unchanged<T: Versioned>(all: &Collection<T>, id: Ref<T>, condition: IfMatch) -> Update<T> {
///     all.update(id).if_match(condition)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` has no version that an update could compare",
    note = "declare one: `#[document(version)]` on `{Self}`, with the field `version: i64`"
)]
pub trait Versioned: Document {}

/// A document that is to be inserted: whole, or without the copies that the library reads from other documents.
///
/// ```
/// # use samples::model::*;
/// use odm::write::{Fresh, Insertable};
///
/// # fn example(account: Account) {
/// let whole = account.fresh(DateTime::now());
/// assert!(matches!(whole, Fresh::Whole(_)));
/// # }
/// ```
#[derive(Debug)]
pub enum Fresh<T> {
    /// The document itself.
    Whole(T),
    /// As it is stored, without the fields that are derived from other documents.
    Partial(crate::Result<RawDocumentBuf>),
}

/// A document that holds nothing of others, so that it is whole with what the application supplies.
///
/// ```
/// # use samples::model::*;
/// use odm::write::FromNew;
///
/// # fn example(new: NewAccount) {
/// let account = Account::from_new(new, DateTime::now());
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` holds copies of other documents, which are read where it is inserted",
    note = "insert its `New{Self}`: that gives the whole document"
)]
pub trait FromNew: Document {
    /// A whole document of what the application supplied: with the given time in the fields of `timestamps`, version 1 in
    /// the field of `version`, and a new ObjectId where the library makes the id.
    fn from_new(new: Self::New, now: DateTime) -> Self;
}

/// A field that the builder of a `New…` struct has no value of.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Missing;

/// A field that it has the value of.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Given<T>(pub T);

/// A value that the builder of a `New…` struct takes for a text: one that becomes a text by `Into`.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` is no text for this field of a new document, and does not become one by `Into`",
    label = "the field stores a `{T}`",
    note = "a value that is an `Option` already is set behind `build`: `NewUser {{ nickname, ..NewUser::builder().build() }}`"
)]
pub trait IntoText<T> {
    /// The text.
    fn into_text(self) -> T;
}

#[diagnostic::do_not_recommend]
impl<T, V: Into<T>> IntoText<T> for V {
    fn into_text(self) -> T {
        self.into()
    }
}

/// The BSON of a document without what is derived of others, made by generated code.
#[doc(hidden)]
pub fn partial<T: Document>(fields: &impl Fields) -> Fresh<T> {
    Fresh::Partial(stored_document(T::META.name, fields))
}

/// The name of one document of `T`: its id, a reference to it, or the document itself.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
/// people.get(kate.id).await?;
/// people.get(&kate).await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` does not name a document of `{T}`",
    note = "give its id, or a reference to the document",
    note = "in a function over all documents, the id is given as a reference: `Ref::<T>::new(id)`"
)]
pub trait Target<T: Identified> {
    /// [`ById`], or [`AsRead`] of the document itself.
    type By;
    /// The id, as it is stored.
    ///
    /// # Errors
    /// [`Error::Encode`](crate::Error::Encode) where it can't be stored as BSON.
    fn target_id(&self) -> crate::Result<Bson>;
    /// The document as it is stored, if the caller gave one.
    ///
    /// # Errors
    /// [`Error::Encode`](crate::Error::Encode) where it can't be stored as BSON.
    #[doc(hidden)]
    fn whole(&self) -> crate::Result<Option<RawDocumentBuf>> {
        Ok(None)
    }
    /// The version that the caller has seen, if `T` has versions and the caller gave a document.
    fn seen_version(&self) -> Option<i64> {
        None
    }
}

/// An id names the document.
#[derive(Clone, Copy, Debug)]
pub struct ById;

/// The document as it was read names itself.
#[derive(Clone, Copy, Debug)]
pub struct AsRead;

impl<T: Document> Target<T> for &T {
    type By = AsRead;
    fn target_id(&self) -> crate::Result<Bson> {
        crate::model::encode::id(self.id())
    }
    fn whole(&self) -> crate::Result<Option<RawDocumentBuf>> {
        stored_document(T::META.name, *self).map(Some)
    }
    fn seen_version(&self) -> Option<i64> {
        self.version()
    }
}

/// The name of the document that a write changes or deletes: an id, whatever its version; or, of a type with a
/// [version](Versioned), the document as it was read, and the write is made only if the stored version is still the document's.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(accounts: Collection<Account>, account: Account) -> odm::Result<()> {
/// accounts.update(account.id).inc(|a| a.cents, 500).await?;
/// accounts.update(&account).set(|a| a.cents, 500).await?; // `Error::Conflict` where another client has changed it
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` does not name the document of `{T}` that a write is for",
    label = "give its id: `document.id`",
    note = "the document itself names it where its type has a version, which the write compares: `#[document(version)]`",
    note = "in a function over all documents, the id is given as a reference: `Ref::<T>::new(id)`"
)]
pub trait WriteTarget<T: Document>: Target<T> {}

#[diagnostic::do_not_recommend]
impl<T: Document, K: Target<T>> WriteTarget<T> for K where K::By: MayWrite<T> {}

/// Ways of naming a document by which a write of `T` may find it.
#[doc(hidden)]
pub trait MayWrite<T> {}

impl<T> MayWrite<T> for ById {}

impl<T: Versioned> MayWrite<T> for AsRead {}

/// A document type, as `models![]` hands it to [`Odm::new`](crate::Odm::new).
///
/// ```
/// # use samples::model::*;
/// let models = [odm::Model::of::<Person>(), odm::Model::of::<Account>()];
/// assert_eq!(models.len(), models![Person, Account].len());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Model {
    pub(crate) meta: &'static DocumentMeta,
}

impl Model {
    /// The model of a document type.
    ///
    /// ```
    /// # use samples::model::*;
    /// let model = odm::Model::of::<Person>();
    /// ```
    pub const fn of<T: Document>() -> Model {
        Model { meta: T::META }
    }
}

/// The list of document types that a database holds: `models![Person, Movie]`.
///
/// ```
/// # use samples::model::*;
/// let models = models![Person, Account];
/// assert_eq!(models.len(), 2);
/// ```
#[macro_export]
macro_rules! models {
    ($($document:ty),* $(,)?) => {
        [$($crate::Model::of::<$document>()),*]
    };
}
