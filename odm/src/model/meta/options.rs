//! The declarations of a document beside its fields: validation, indexes, collation, expiry.

use mongodb::bson::{Document, RawDocumentBuf, doc};

/// When documents are deleted by [`Odm::delete_expired`](crate::Odm::delete_expired).
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    /// Gives the stored name of the field with a time.
    pub path: fn() -> &'static str,
    /// How many seconds after that time.
    pub after: u64,
}

/// `#[document(validation(level = …, action = …))]`.
///
/// ```
/// # use samples::model::*;
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
    /// The dotted name of the first field as a constant, in the indexes that a document declares.
    pub first: Option<&'static str>,
    /// No two documents with the same values.
    pub unique: bool,
    /// The same over all shards and shard keys, by claims: `unique(global)`. The index itself is a plain one.
    pub global: bool,
    /// Without the documents that lack the fields.
    pub sparse: bool,
    /// Documents are deleted this number of seconds after the time in the field.
    pub expire_after: Option<u64>,
    /// Only the documents that this filter matches.
    pub partial: Option<fn() -> crate::Result<RawDocumentBuf>>,
    /// The variants of enums in which its fields are: only the documents that have them.
    pub variants: &'static [Option<InVariant>],
    /// The language and strength of comparisons between strings.
    pub collation: Option<CollationMeta>,
    /// Of a text index: the language of texts whose document names none; MongoDB's default is `english`.
    pub default_language: Option<&'static str>,
    /// Of a text index: the field in which a document names the language of its texts; MongoDB's default is `language`.
    pub language_override: Option<&'static str>,
    /// Of a wildcard index on the whole document: the fields that it holds, as functions of their dotted names.
    pub include: &'static [fn() -> &'static str],
    /// The same: the fields that it leaves out.
    pub exclude: &'static [fn() -> &'static str],
}

impl IndexMeta {
    /// An index without options on `keys`.
    pub const fn on(keys: &'static [IndexKey]) -> IndexMeta {
        IndexMeta {
            name: None,
            keys,
            first: None,
            unique: false,
            global: false,
            sparse: false,
            expire_after: None,
            partial: None,
            variants: &[],
            collation: None,
            default_language: None,
            language_override: None,
            include: &[],
            exclude: &[],
        }
    }

    /// Whether there are documents that do not stand in it.
    pub(crate) const fn is_partial(&self) -> bool {
        let mut i = 0;
        while i < self.variants.len() {
            if self.variants[i].is_some() {
                return true;
            }
            i += 1;
        }
        self.partial.is_some()
    }

    /// The condition of the documents that stand in it, where it is not all.
    ///
    /// # Errors
    /// Whatever the declared filter fails with.
    pub(crate) fn filter(&self) -> Option<crate::Result<Document>> {
        let mut all: Vec<Document> = Vec::new();
        for variant in self.variants.iter().flatten() {
            let condition = (variant.condition)();
            if !all.contains(&condition) {
                all.push(condition);
            }
        }
        match self.partial.map(declared) {
            Some(Ok(declared)) => all.push(declared),
            Some(Err(error)) => return Some(Err(error)),
            None => {}
        }
        all.into_iter().reduce(together).map(Ok)
    }
}

/// The indexes that another type of a collection declares: the enum of documents, or one of its variants.
#[derive(Clone, Copy, Debug)]
pub struct OtherIndexes {
    /// The stored name of the variant whose documents they hold; `None` of the enum, whose indexes hold all.
    pub variant: Option<&'static str>,
    /// The indexes.
    pub indexes: &'static [IndexMeta],
}

/// An index in which documents of a type stand, be it declared by another type of their collection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredIndex {
    /// The index as it is declared.
    pub(crate) index: &'static IndexMeta,
    /// The tag and the name of the variant of an enum of documents that declares it, where it holds only documents of this variant.
    pub(crate) variant: Option<(&'static str, &'static str)>,
}

impl DeclaredIndex {
    /// The dotted names of its fields.
    pub(crate) fn paths(&self) -> impl ExactSizeIterator<Item = &'static str> + use<> {
        self.index.keys.iter().map(|key| (key.path)())
    }

    /// The condition of the documents that stand in it, where it is not all.
    ///
    /// # Errors
    /// As [`IndexMeta::filter`].
    pub(crate) fn filter(&self) -> Option<crate::Result<Document>> {
        let of_variant = self.variant.map(|(tag, name)| doc! { tag: { "$eq": name } });
        match (self.index.filter(), of_variant) {
            (Some(Ok(filter)), Some(of_variant)) => Some(Ok(together(filter, of_variant))),
            (None, Some(of_variant)) => Some(Ok(of_variant)),
            (filter, _) => filter,
        }
    }
}

/// A variant of an enum that only some documents have.
#[derive(Clone, Copy, Debug)]
pub struct InVariant {
    /// The enum.
    pub of: &'static str,
    /// The variant's stored name.
    pub variant: &'static str,
    /// Gives the condition of these documents.
    pub condition: fn() -> Document,
}

fn declared(filter: fn() -> crate::Result<RawDocumentBuf>) -> crate::Result<Document> {
    Document::try_from(filter()?)
        .map_err(|error| crate::Error::Driver(Box::new(mongodb::error::Error::from(error))))
}

/// Both conditions, side by side where they name different fields.
pub(crate) fn together(mut one: Document, other: Document) -> Document {
    if other.keys().any(|name| one.contains_key(name)) {
        return doc! { "$and": [one, other] };
    }
    one.extend(other);
    one
}

/// A field of an index.
#[derive(Clone, Copy, Debug)]
pub struct IndexKey {
    /// Gives the dotted name; an empty one is the whole document.
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
    /// Every field below this one, whatever its name: `field.$**`.
    Wildcard,
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
