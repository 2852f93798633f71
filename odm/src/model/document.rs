//! The metadata that the derives generate for a type: its collection, id, fields, indexes and options.

use crate::model::bucket::BucketMeta;
use crate::model::path::Fielded;
use crate::model::shape::{FieldMeta, Shape};
use crate::model::value::IdValue;
use mongodb::bson::{Bson, DateTime, RawDocumentBuf};
use serde::{Serialize, de::DeserializeOwned};

/// A struct that is stored as a document of a collection. Derived: `#[derive(Document)]`.
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// assert_eq!(Person::META.collection, "people");
/// assert_eq!(Person::paths().addresses.city.name(), "addresses.city");
/// assert_eq!(Person::MAX_BSON_SIZE, None); // `name` has no `max_len`
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a document: it has no collection",
    note = "derive `Document` for it; a struct that is embedded in a document derives `Embed` and has no collection of its own"
)]
pub trait Document: Fielded + Serialize + DeserializeOwned + Send + Sync + Unpin {
    /// The type of the field that is stored as `_id`.
    type Id: IdValue + Serialize + DeserializeOwned + Clone + std::fmt::Debug + Send + Sync;
    /// The values that the application supplies to insert a document.
    type New: Send;
    /// The struct of typed paths.
    type Paths: Copy + 'static;

    /// The constants of the document.
    const META: &'static DocumentMeta;
    /// The greatest size of a document in bytes of BSON, if every part of it has a bound; `None` otherwise. It counts
    /// the library's own fields: the versions of copies, and 4,096 bytes for `_odm`. Above 16 MiB it
    /// does not compile.
    const MAX_BSON_SIZE: Option<u64> = crate::model::size::whole(Self::FIELDS);

    /// The paths that closures receive.
    fn paths() -> Self::Paths;
    /// The id.
    fn id(&self) -> &Self::Id;
    /// A reference to the document, which other documents store.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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

/// A struct or enum that is stored inside a document. Derived: `#[derive(Embed)]`.
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// fn is_embedded<T: odm::Embed>() {}
/// is_embedded::<Address>();
/// ```
pub trait Embed: crate::model::value::Value {}

/// A type that a query may return instead of the whole document. Derived: `#[derive(Projection)]`.
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// assert_eq!(<Named as Projection<Person>>::fields(), ["_id", "name"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a projection of `{T}`",
    note = "derive it: `#[derive(Projection, Deserialize)] #[projection(of = {T})]`"
)]
pub trait Projection<T>: DeserializeOwned + Send {
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
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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

/// A document that is to be inserted: whole, or without the copies that the library reads from other documents.
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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

/// The BSON of a document without what is derived of others, made by generated code.
#[doc(hidden)]
pub fn partial<T: Document>(fields: &impl Serialize) -> Fresh<T> {
    let mut bytes = Vec::with_capacity(512);
    let raw = mongodb::bson::serialize_to_buffer(fields, &mut bytes)
        .and_then(|()| RawDocumentBuf::from_bytes(bytes))
        .map_err(|source| crate::Error::Encode {
            field: T::META.name.to_owned(),
            source: Box::new(source),
        });
    Fresh::Partial(raw)
}

/// What names one document of `T`: its id, or the document as it was read (which brings its version).
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
/// people.update(kate.id).set(|p| p.age, 31).await?;
/// people.update(&kate).set(|p| p.age, 31).await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a `{Self}` does not name a document of `{T}`",
    note = "give its id, or a reference to the document",
    note = "in a function over all documents, the id is given as a reference: `Ref::<T>::new(id)`"
)]
pub trait Target<T: Document> {
    /// The id, as it is stored.
    ///
    /// # Errors
    /// [`Error::Encode`](crate::Error::Encode) where it can't be stored as BSON.
    fn target_id(&self) -> crate::Result<Bson>;
    /// The version that the caller has seen, if `T` has versions and the caller gave a document.
    fn seen_version(&self) -> Option<i64> {
        None
    }
}

impl<T: Document> Target<T> for &T {
    fn target_id(&self) -> crate::Result<Bson> {
        crate::model::encode::id(self.id())
    }
    fn seen_version(&self) -> Option<i64> {
        self.version()
    }
}

/// The constants of a document.
#[derive(Clone, Copy, Debug)]
pub struct DocumentMeta {
    /// The struct's name in Rust.
    pub name: &'static str,
    /// The collection's name.
    pub collection: &'static str,
    /// The shape of the whole document.
    pub shape: fn() -> Shape,
    /// The declared indexes.
    pub indexes: &'static [IndexMeta],
    /// How its collection compares strings, where that is declared: `#[document(collation(…))]`. Its finds, updates, deletions,
    /// counts and indexes inherit it.
    pub collation: Option<CollationMeta>,
    /// When the library deletes its documents, where that is declared: `#[document(expire = field)]`.
    pub expiry: Option<Expiry>,
    /// How strictly the server validates.
    pub validation: Validation,
    /// Whether its documents are inserted and deleted, but never changed: `#[document(append_only)]`.
    pub append_only: bool,
    /// Of a document that holds the items of a bucket: what `#[bucket(…)]` declares.
    pub bucket: Option<&'static BucketMeta>,
    /// Whether a struct in it shows the fields that it does not declare: `#[field(extra)]`.
    pub extra: fn() -> bool,
}

/// When documents are deleted by [`Odm::delete_expired`](crate::Odm::delete_expired).
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    /// Gives the stored name of the field with a time.
    pub path: fn() -> &'static str,
    /// How many seconds after that time.
    pub after: u64,
}

impl DocumentMeta {
    /// Its own field with this stored name.
    pub(crate) fn field(&self, name: &str) -> Option<&'static FieldMeta> {
        match (self.shape)() {
            Shape::Struct(shape) => shape.fields.iter().find(|field| field.name == name),
            _ => None,
        }
    }

    /// Whether every update of a document writes its version or its time of the last update.
    pub(crate) fn is_stamped(&self) -> bool {
        use crate::model::shape::Managed;
        match (self.shape)() {
            Shape::Struct(shape) => {
                let mut fields = shape.fields.iter();
                fields.any(|field| matches!(field.managed, Managed::Version | Managed::UpdatedAt))
            }
            _ => false,
        }
    }

    /// The declared fields.
    pub(crate) fn fields(&self) -> &'static [FieldMeta] {
        match (self.shape)() {
            Shape::Struct(shape) => shape.fields,
            _ => &[],
        }
    }

    /// The stored name of the field of `#[document(version)]`.
    pub(crate) fn version(&self) -> Option<&'static str> {
        match (self.shape)() {
            Shape::Struct(shape) => {
                let mut fields = shape.fields.iter();
                let version = fields.find(|field| field.managed == crate::model::shape::Managed::Version);
                version.map(|field| field.name)
            }
            _ => None,
        }
    }
}

/// `#[document(validation(level = …, action = …))]`.
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// assert_eq!(Person::META.validation, odm::schema::Validation::STRICT);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validation {
    /// Which documents the server validates.
    pub level: Level,
    /// The server's reaction to a document that violates it.
    pub action: Action,
}

impl Validation {
    /// All writes are validated, and refused if they violate the validator: MongoDB's default.
    pub const STRICT: Validation = Validation {
        level: Level::Strict,
        action: Action::Error,
    };
}

/// MongoDB's `validationLevel`.
///
/// ```
/// use odm::schema::ValidationLevel;
///
/// assert!(ValidationLevel::Moderate < ValidationLevel::Strict);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing is validated.
    Off,
    /// Inserts, and updates of documents that fitted before.
    Moderate,
    /// All inserts and updates.
    Strict,
}

impl Level {
    /// As MongoDB writes it.
    ///
    /// ```
    /// assert_eq!(odm::schema::ValidationLevel::Moderate.as_str(), "moderate");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Moderate => "moderate",
            Level::Strict => "strict",
        }
    }
}

/// MongoDB's `validationAction`.
///
/// ```
/// use odm::schema::ValidationAction;
///
/// assert!(ValidationAction::Warn < ValidationAction::Error);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// The write succeeds, and the server logs it.
    Warn,
    /// The write fails.
    Error,
}

impl Action {
    /// As MongoDB writes it.
    ///
    /// ```
    /// assert_eq!(odm::schema::ValidationAction::Warn.as_str(), "warn");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Warn => "warn",
            Action::Error => "error",
        }
    }
}

/// A declared index.
#[derive(Clone, Copy, Debug)]
pub struct IndexMeta {
    /// Its name, if one was given; else MongoDB's default (`field_1_other_-1`).
    pub name: Option<&'static str>,
    /// The fields in order.
    pub keys: &'static [IndexKey],
    /// No two documents with the same values.
    pub unique: bool,
    /// Without the documents that lack the fields.
    pub sparse: bool,
    /// Documents are deleted this number of seconds after the time in the field.
    pub expire_after: Option<u64>,
    /// Only the documents that this filter matches.
    pub partial: Option<fn() -> crate::Result<RawDocumentBuf>>,
    /// The language and strength of comparisons between strings.
    pub collation: Option<CollationMeta>,
    /// Of a text index: the language of texts whose document names none; MongoDB's default is `english`.
    pub default_language: Option<&'static str>,
    /// Of a text index: the field in which a document names the language of its texts; MongoDB's default is `language`.
    pub language_override: Option<&'static str>,
}

impl IndexMeta {
    /// An index without options on `keys`.
    pub const fn on(keys: &'static [IndexKey]) -> IndexMeta {
        IndexMeta {
            name: None,
            keys,
            unique: false,
            sparse: false,
            expire_after: None,
            partial: None,
            collation: None,
            default_language: None,
            language_override: None,
        }
    }
}

/// A field of an index.
#[derive(Clone, Copy, Debug)]
pub struct IndexKey {
    /// Gives the dotted name.
    pub path: fn() -> &'static str,
    /// In which way it is indexed.
    pub kind: IndexKind,
}

/// In which way a field is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// Ascending: `1`.
    Ascending,
    /// Descending: `-1`.
    Descending,
    /// The words of a text, with their weight.
    Text {
        /// How much a match in this field counts; MongoDB's default is 1.
        weight: u32,
    },
    /// Places on a sphere: `2dsphere`.
    Geo,
    /// By hash, for sharding.
    Hashed,
}

/// A declared collation: `collation(locale = "en", strength = 2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollationMeta {
    /// An ICU locale, such as `en`.
    pub locale: &'static str,
    /// 1 compares base letters only, 2 accents too, 3 (the default) case too.
    pub strength: u8,
    /// Digits compare as numbers: `"10"` after `"9"`.
    pub numeric_ordering: bool,
}

impl CollationMeta {
    /// Whether strings that people tell apart may be equal: `a` and `A`, `1` and `01`.
    pub(crate) fn takes_texts_for_equal(&self) -> bool {
        self.locale != "simple" && (self.strength < 3 || self.numeric_ordering)
    }
}

/// A document type, as `models![]` hands it to [`Odm::new`](crate::Odm::new).
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let model = odm::Model::of::<Person>();
    /// ```
    pub const fn of<T: Document>() -> Model {
        Model { meta: T::META }
    }
}

/// The list of document types that a database holds: `models![Person, Movie]`.
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// let models = models![Person, Account];
/// assert_eq!(models.len(), 2);
/// ```
#[macro_export]
macro_rules! models {
    ($($document:ty),* $(,)?) => {
        [$($crate::Model::of::<$document>()),*]
    };
}
