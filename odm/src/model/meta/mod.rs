//! The constants that the derives write down of a model, and that refer to each other: documents, the shapes of their values,
//! their fields, references and copies.
//!
//! One description serves every user of it: the `$jsonSchema` validator, the checks before the network, the worst-case
//! size, the plan of the schema and the bounds of an update. Shapes and documents refer to each other through function
//! pointers, so a type may contain itself (with a declared depth) without a cycle among constants.
//!
//! Invariant: data, without the types that it describes.

pub(crate) mod bucket;
pub(crate) mod condition;
pub(crate) mod kind;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod search;
pub(crate) mod shard_key;
pub(crate) mod value_rules;

use crate::error::violation::Number;
use crate::model::meta::bucket::BucketMeta;
use crate::model::meta::kind::{CollectionKind, ViewMeta};
use crate::model::meta::options::{CollationMeta, DeclaredIndex, Expiry, IndexKey, IndexMeta, Validation};
use crate::model::meta::search::SearchIndexMeta;
use crate::model::meta::shard_key::ShardKeyMeta;
use crate::model::meta::value_rules::ValueRules;
use futures::future::BoxFuture;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, error::Result as BsonResult};
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

/// Gives the shape of a type; a pointer rather than a value, so that shapes may be recursive.
pub type ShapeFn = fn() -> Shape;

/// How a value looks in BSON, without the bounds that a field adds to it.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Anything: an opaque field.
    Any,
    /// `null`: the unit type.
    Null,
    /// A boolean.
    Bool,
    /// A 32-bit integer from `min` to `max`.
    Int {
        /// The least value of the Rust type.
        min: i32,
        /// The greatest value of the Rust type.
        max: i32,
    },
    /// A 64-bit integer (an `int` is accepted, since the shell and other drivers write one) from `min` to `max`.
    Long {
        /// The least value of the Rust type.
        min: i64,
        /// The greatest value of the Rust type.
        max: i64,
    },
    /// A double (integers are accepted, since the shell writes them).
    Double,
    /// A 128-bit decimal.
    Decimal,
    /// A string.
    String,
    /// A string of one character.
    Char,
    /// An ObjectId.
    ObjectId,
    /// A date.
    Date,
    /// Binary data of any subtype.
    Binary,
    /// Binary data of the subtype of UUIDs.
    Uuid,
    /// A timestamp.
    Timestamp,
    /// A regular expression.
    Regex,
    /// A value or `null`.
    Optional(ShapeFn),
    /// An array; its bound is the field's.
    Array(ShapeFn),
    /// An array of exactly `len` items.
    Fixed {
        /// The shape of each item.
        items: ShapeFn,
        /// How many there are.
        len: usize,
    },
    /// An array with one shape a position.
    Tuple(&'static [ShapeFn]),
    /// A document with the values of a map; its bound is the field's.
    Map(ShapeFn),
    /// A shape with bounds of its own: a newtype struct with an attribute on its field.
    Bounded(&'static FieldMeta),
    /// A document with declared fields.
    Struct(&'static StructShape),
    /// One of several variants.
    Enum(&'static EnumShape),
}

/// The bounds that a field declares. `None` is "not declared".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The greatest number of items of an array or entries of a map: `#[embed(max = N)]`.
    pub max_items: Option<u64>,
    /// The greatest length: code points of a string (as `maxLength` counts them), bytes of a binary value; of an array,
    /// of each of its items: `#[field(max_len = N)]`.
    pub max_len: Option<u64>,
    /// The least length, counted like `max_len`: `#[field(min_len = N)]`.
    pub min_len: Option<u64>,
    /// The greatest length in code points of a map's key: `#[embed(key_len = N)]`.
    pub key_len: Option<u64>,
    /// The least value: `#[field(min = N)]`.
    pub min: Option<Number>,
    /// The greatest value: `#[field(max = N)]`.
    pub max: Option<Number>,
    /// How many levels of the same type may be nested below this field: `#[embed(depth = N)]`.
    pub depth: Option<u32>,
    /// Not looked into: `#[field(opaque)]`.
    pub opaque: bool,
    /// Whether no item of an array may equal another one: `#[field(unique_items)]`.
    pub unique_items: bool,
    /// The other rules of its values; of an array, of each of its items.
    pub rules: Option<&'static ValueRules>,
}

impl Bounds {
    /// No bound at all.
    pub const NONE: Bounds = Bounds {
        max_items: None,
        max_len: None,
        min_len: None,
        key_len: None,
        min: None,
        max: None,
        depth: None,
        opaque: false,
        unique_items: false,
        rules: None,
    };
}

/// How the library maintains a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Managed {
    /// Nothing: the application writes it.
    No,
    /// The field stored as `_id`.
    Id,
    /// Set at insert: `#[document(timestamps)]`.
    CreatedAt,
    /// Set at every write: `#[document(timestamps)]`.
    UpdatedAt,
    /// Incremented at every write: `#[document(version)]`.
    Version,
    /// Set by a deletion that keeps the document: `#[document(soft_delete)]`.
    DeletedAt,
    /// In new documents the value of the handle's scope: `#[field(scope)]`.
    Scope,
}

/// Which way a field goes at the edge of a web service: in JSON, in patches and in the parameters of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Out and in.
    Open,
    /// Neither: `#[field(private)]`.
    Private,
    /// Out alone: `#[field(read_only)]`.
    ReadOnly,
    /// In alone: `#[field(write_only)]`.
    WriteOnly,
}

/// One field of a stored struct.
#[derive(Clone, Copy, Debug)]
pub struct FieldMeta {
    /// Its name in Rust.
    pub rust: &'static str,
    /// Its name in BSON.
    pub name: &'static str,
    /// Its name in JSON, where serde's attributes give another one.
    pub json: Option<&'static str>,
    /// Other names that it is read from.
    pub aliases: &'static [&'static str],
    /// Its type, as it was written.
    pub ty: &'static str,
    /// The shape of its type.
    pub shape: ShapeFn,
    /// Its declared bounds.
    pub bounds: Bounds,
    /// Whether a document without it can't be read back.
    pub required: bool,
    /// Whether its own fields stand in the parent (`#[field(flatten)]`).
    pub flatten: bool,
    /// How the library maintains it.
    pub managed: Managed,
    /// The worst-case size of its value in bytes, without type byte and name; `None` where a part of it has no bound.
    pub size: Option<u64>,
    /// Whether no two documents have the same value in it: a field of a document with a unique index of its own, or its
    /// `_id`.
    pub unique: bool,
    /// Its declaration as a reference to other documents.
    pub reference: Option<&'static ReferenceMeta>,
    /// Its declaration of the reference in its struct of copies, if it is a reference with copies beside it.
    pub entry: Option<&'static EntryMeta>,
    /// Its source, if the library derives it: a copy, a subset, a computed field.
    pub copied: Option<&'static Copied>,
    /// Whether it changes so often that a copy of it is refused: `#[volatile]`.
    pub volatile: bool,
    /// Whether nothing is stored for `None`: `#[field(skip_none)]`.
    pub skips_none: bool,
    /// Whether it is a set: an array whose items have no order, and each of which counts once.
    pub set: bool,
    /// The value that is read where it is missing: `#[field(default)]`, of the field or of its struct.
    pub default: Option<DefaultFn>,
    /// Whether some of its values are left out: `#[serde(skip_serializing_if = "…")]`.
    pub left_out: bool,
    /// Whether an upsert stores its default in a new document: `#[field(default = …)]` and `#[field(stored)]`.
    pub inserted: bool,
    /// Whether every document has it, though one without it could be read: `#[field(stored)]`.
    pub stored: bool,
    /// Whether a struct in its value shows the fields that it does not declare: `#[field(extra)]`.
    pub shows_more: bool,
    /// Whether another value may be stored than it holds, such as a date to the millisecond or a normalized string.
    pub cut: bool,
    /// Which way it goes in JSON, as its attributes say.
    pub access: Access,
    /// Whether no error and no log shows its value: `#[field(sensitive)]`.
    pub sensitive: bool,
    /// Whether it is read only where it is asked for: a [`Deferred`](crate::Deferred).
    pub deferred: bool,
    /// Whether its integers are texts in JSON: `#[field(json = text)]`.
    pub json_text: bool,
    /// Whether two values of its struct are equal that differ in it: the time zone beside a date.
    pub beside: bool,
}

impl FieldMeta {
    /// Whether JSON may show its value.
    pub(crate) const fn goes_out(&self) -> bool {
        matches!(self.access, Access::Open | Access::ReadOnly)
    }

    /// Whether JSON may set its value, as far as its attributes say: of the fields that the library writes, see
    /// [`is_by_library`](FieldMeta::is_by_library).
    #[cfg(feature = "json")]
    pub(crate) const fn comes_in(&self) -> bool {
        matches!(self.access, Access::Open | Access::WriteOnly)
    }

    /// Whether the library alone writes it: a time, a version, a copy, a computed field, the value of a scope. Of an `_id` this
    /// holds only where the library makes it, which the field does not tell.
    #[cfg(feature = "json")]
    pub(crate) const fn is_by_library(&self) -> bool {
        self.copied.is_some() || !matches!(self.managed, Managed::No | Managed::Id)
    }

    /// Whether two values of its struct are equal only where it is equal.
    pub(crate) const fn is_compared(&self) -> bool {
        self.copied.is_none() && !self.beside
    }

    /// Whether it shows the fields that the struct does not declare: `#[field(extra)]`.
    pub(crate) const fn is_extra(&self) -> bool {
        self.flatten && self.bounds.opaque
    }

    /// The declaration of the reference that it is, or that it holds with copies beside it.
    pub(crate) const fn declared(&self) -> Option<&'static ReferenceMeta> {
        match (self.reference, self.entry) {
            (None, Some(entry)) => Some(&entry.reference),
            (reference, _) => reference,
        }
    }
}

/// A struct's fields, and whether others are refused.
#[derive(Clone, Copy, Debug)]
pub struct StructShape {
    /// The struct's name in Rust.
    pub name: &'static str,
    /// The type with its path and its parameters; of one variant's fields that of the enum.
    pub ty: Option<fn() -> &'static str>,
    /// Its stored fields in order.
    pub fields: &'static [FieldMeta],
    /// `#[serde(deny_unknown_fields)]`.
    pub deny_unknown: bool,
}

/// How an enum's variant is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tagging {
    /// `{ variant: content }`, or the variant's name where it has none: without a tag.
    External,
    /// `{ tag: variant, ...content }`: `#[embed(tag = "…")]`.
    Internal(&'static str),
    /// `{ tag: variant, content: … }`: `#[embed(tag = "…", content = "…")]`.
    Adjacent(&'static str, &'static str),
    /// The content alone: `#[embed(untagged)]`.
    Untagged,
}

/// An enum's variants and their tags.
#[derive(Clone, Copy, Debug)]
pub struct EnumShape {
    /// The enum's name in Rust.
    pub name: &'static str,
    /// The type with its path and its parameters.
    pub ty: Option<fn() -> &'static str>,
    /// How a variant is marked.
    pub tagging: Tagging,
    /// The variants that can be stored.
    pub variants: &'static [VariantMeta],
}

/// One variant of an enum.
#[derive(Clone, Copy, Debug)]
pub struct VariantMeta {
    /// Its stored name.
    pub name: &'static str,
    /// Its name in JSON, where serde's attributes give another one.
    pub json: Option<&'static str>,
    /// Its content.
    pub body: Body,
}

impl VariantMeta {
    /// Its name in JSON.
    #[cfg(feature = "json")]
    pub(crate) fn json_name(&self) -> &'static str {
        self.json.unwrap_or(self.name)
    }
}

/// The content of a variant.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Nothing.
    Unit,
    /// One value.
    Newtype(&'static FieldMeta),
    /// Several values, stored as an array.
    Tuple(&'static [FieldMeta]),
    /// Named fields.
    Struct(&'static StructShape),
}

/// The declaration of a field with `#[reference(…)]` or `#[parent_ref(…)]`.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceMeta {
    /// One, many, or the parent.
    pub kind: ReferenceKind,
    /// The documents that it may refer to.
    pub targets: &'static [TargetMeta],
    /// Whether it is stored as `{ type, id }`.
    pub union: bool,
    /// Whether a document can do without it: an `Option`.
    pub optional: bool,
    /// The stored name of the target's field whose value it holds: `_id`, or that of `by = field`.
    pub by: fn() -> &'static str,
    /// The name in Rust of the field on the other side, which refers back: `inverse = field`.
    pub inverse: Option<&'static str>,
    /// How many references an array will come to hold, where that is said: `expected = N`.
    pub expected: Option<u64>,
    /// Whether each target is referred to by one document at most: `#[parent_ref(one)]`.
    pub one: bool,
    /// The further keys of the index behind the reference: `#[parent_ref(order(-time))]`.
    pub order: &'static [IndexKey],
    /// Whether writes check that the target exists: all but `check = false`.
    pub check: bool,
    /// Whether the index that the relationship needs is declared by it: all but `index = false`.
    pub index: bool,
    /// What happens to this document, or this field, when the target is deleted.
    pub on_delete: OnDelete,
    /// The names in Rust of the fields of this document that have the same value in the target: `same(tenant)`.
    pub same: &'static [&'static str],
}

/// The kind of a relationship, as its attribute says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// `#[reference]`.
    One,
    /// `#[reference(many, max = N)]`.
    Many,
    /// `#[parent_ref]`.
    Parent,
}

/// A document that a reference may refer to.
#[derive(Clone, Copy, Debug)]
pub struct TargetMeta {
    /// Its `type` in a union; empty otherwise.
    pub tag: &'static str,
    /// Its constants; a function, since documents may refer to each other.
    pub document: fn() -> &'static DocumentMeta,
}

/// What happens to a reference when its target is deleted: `on_delete = …`.
///
/// ```
/// use odm::references::OnDelete;
///
/// assert_eq!(OnDelete::Cascade.to_string(), "cascade");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnDelete {
    /// The target is not deleted while something refers to it: the default, but of the two sides of a two-way reference.
    Restrict,
    /// The document that holds the reference is deleted too.
    Cascade,
    /// The reference is removed: for an `Option<Ref<T>>`.
    Nullify,
    /// The reference is pulled out of its array.
    Pull,
    /// The reference stays, and names a document that is not there any more.
    Keep,
}

impl fmt::Display for OnDelete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnDelete::Restrict => "restrict",
            OnDelete::Cascade => "cascade",
            OnDelete::Nullify => "nullify",
            OnDelete::Pull => "pull",
            OnDelete::Keep => "keep",
        })
    }
}

/// The field of a child that names its parent, with what is declared about it.
#[derive(Clone, Copy, Debug)]
pub struct ParentField {
    /// Its stored name.
    pub name: &'static str,
    /// The stored name of the reference in it, where it stands there with copies beside it.
    pub id: Option<&'static str>,
    /// Its declaration.
    pub reference: &'static ReferenceMeta,
}

/// Consistency mode: when a copy is updated after a change of its source. `consistency` in `#[denormalize]`, `#[subset]` and
/// `#[computed]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// In one transaction with the source, where the deployment has transactions and the write touches few documents; else as
    /// [`Eventual`](Consistency::Eventual). So is a copy whose write has met transactions of other processes three times. The default.
    Auto,
    /// In one transaction with the source, always. [`Odm::sync`](crate::Odm::sync) fails on a standalone server, which has no
    /// transactions.
    Atomic,
    /// After the source: copies are up to date when every write has returned, or, if its process has ended, when
    /// [`recover`](crate::Odm::recover) has run.
    Eventual,
    /// Filled in once, when the reference is set, and never updated: a price at the time of purchase.
    Snapshot,
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Consistency::Auto => "auto",
            Consistency::Atomic => "atomic",
            Consistency::Eventual => "eventual",
            Consistency::Snapshot => "snapshot",
        })
    }
}

/// How a field is derived.
#[derive(Clone, Copy, Debug)]
pub enum Copied {
    /// A field of the document that another field of the same struct refers to.
    Field(FieldCopy),
    /// The first or last of the children, or a field of one of them.
    Subset(Subset),
    /// A number of the children.
    Computed(Computed),
}

/// A copy of a field of the document that a reference beside it names: `#[denormalize(from = host.ipaddr)]`.
#[derive(Clone, Copy, Debug)]
pub struct FieldCopy {
    /// The stored name of the reference, in the same struct.
    pub through: &'static str,
    /// The dotted name of the field in the source.
    pub source: fn() -> &'static str,
    /// That field.
    pub field: fn() -> Option<&'static FieldMeta>,
    /// When it follows.
    pub consistency: Consistency,
}

/// One field of a struct that copies parts of a document: what a struct with `#[denormalize(from = T)]` says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedField {
    /// The stored name in the struct.
    pub name: &'static str,
    /// The stored name in the document that it copies: `_id` for the reference to it.
    pub source: &'static str,
}

/// Copies of some of a document's children in an order: an array of them, `#[subset(of = Review, limit = 10,
/// order(-published_date))]`, or a field of the first one, `#[computed(first = Review.text, order(-published_date))]`.
#[derive(Clone, Copy, Debug)]
pub struct Subset {
    /// The children.
    pub child: fn() -> &'static DocumentMeta,
    /// The child's field that names the parent.
    pub parent: fn() -> ParentField,
    /// How many are kept.
    pub limit: u32,
    /// The order in which they stand; ties are broken by the id, in the direction of the first key.
    pub order: &'static [IndexKey],
    /// Whether those at the end of the order are kept, and not those at its start.
    pub last: bool,
    /// The fields of a child that an element holds; a function, since a document may be its own child.
    pub fields: fn() -> &'static [CopiedField],
    /// Whether the field holds the value of the one field of the one child that is kept, and not an array of elements.
    pub single: bool,
    /// Which children count: a condition on the child.
    pub filter: Option<fn() -> crate::Result<RawDocumentBuf>>,
    /// When it follows.
    pub consistency: Consistency,
}

impl Subset {
    /// The child's fields that it depends on: dotted names.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &'static str> {
        let kept = (self.fields)().iter().map(|field| field.source);
        kept.chain(self.order.iter().map(|key| (key.path)()))
    }

    /// The value of the field with these elements, in their order: `None` where it is that of a child which lacks it, or of no
    /// child.
    pub(crate) fn value(&self, elements: Vec<Document>) -> Option<Bson> {
        if !self.single {
            return Some(Bson::Array(elements.into_iter().map(Bson::from).collect()));
        }
        let values = elements.into_iter().next()?.into_iter();
        values.map(|(_, value)| value).find(|value| *value != Bson::Null)
    }
}

/// A number of the children: `#[computed(avg = Review.stars)]`.
#[derive(Clone, Copy, Debug)]
pub struct Computed {
    /// The children.
    pub child: fn() -> &'static DocumentMeta,
    /// The child's field that names the parent.
    pub parent: fn() -> ParentField,
    /// The operation.
    pub operation: Operation,
    /// The child's field that it is computed of; of a count none.
    pub of: Option<fn() -> &'static str>,
    /// Which children count: a condition on the child.
    pub filter: Option<fn() -> crate::Result<RawDocumentBuf>>,
    /// When it follows.
    pub consistency: Consistency,
}

/// An operation that computes a field from children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// How many there are.
    Count,
    /// The sum of a field.
    Sum,
    /// Its average, stored as sum and count: [`Average`](crate::types::Average).
    Avg,
    /// Its least value.
    Min,
    /// Its greatest value.
    Max,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Count => "count",
            Operation::Sum => "sum",
            Operation::Avg => "avg",
            Operation::Min => "min",
            Operation::Max => "max",
        })
    }
}

/// The declaration of the reference in a field's struct of copies: that of the struct, with the options that only the field can
/// have.
#[derive(Clone, Copy, Debug)]
pub struct EntryMeta {
    /// The stored name of the reference in the struct.
    pub id: &'static str,
    /// Its declaration.
    pub reference: ReferenceMeta,
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
    /// The kind of the collection.
    pub kind: CollectionKind,
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
    /// The stored name of the field with the time of a deletion, where a deletion keeps the document: `#[document(soft_delete)]`.
    pub soft_delete: Option<&'static str>,
    /// The stored names of fields that it does not have, by which a scope does not restrict it: `#[document(shared(tenant))]`.
    pub shared: &'static [&'static str],
    /// Whether the server keeps the documents before and after each change: MongoDB's `changeStreamPreAndPostImages`.
    pub pre_and_post_images: bool,
    /// Of a document that holds the items of a bucket: what `#[bucket(…)]` declares.
    pub bucket: Option<&'static BucketMeta>,
    /// Whether a struct in it shows the fields that it does not declare: `#[field(extra)]`.
    pub extra: fn() -> bool,
    /// The functions that its writes call: `#[document(before_write = f, after_write = g)]`.
    pub hooks: &'static [HookMeta],
    /// Whether its collection holds documents of several types.
    pub several: Several,
    /// The rules for a whole document: `#[document(check = |d| …)]`, `#[document(check_with = f)]`.
    pub checks: &'static [CheckMeta],
    /// The declared search and vector indexes of Atlas.
    pub search_indexes: &'static [SearchIndexMeta],
    /// The fields by whose values a sharded cluster distributes the documents: `#[document(shard_key(…))]`.
    pub shard_key: Option<&'static ShardKeyMeta>,
    /// Whether the library makes the `_id` of a new document: an `ObjectId`, or `#[field(generate = function)]`.
    pub generated_id: bool,
    /// The claims of its keys with `unique(global)`, if it has some.
    pub claims: Option<&'static DocumentMeta>,
    /// Decodes a stored document, for the error alone.
    pub decode: DecodeFn,
}

/// Decodes a document as its type, without keeping it.
pub type DecodeFn = fn(&RawDocument) -> crate::Result<()>;

impl DocumentMeta {
    /// The constants of a document with errors, of which nothing else is said.
    #[doc(hidden)]
    pub const STAND_IN: DocumentMeta = DocumentMeta {
        name: "",
        collection: "",
        shape: || Shape::Any,
        kind: CollectionKind::Plain,
        indexes: &[],
        collation: None,
        expiry: None,
        validation: Validation::STRICT,
        append_only: false,
        soft_delete: None,
        shared: &[],
        pre_and_post_images: false,
        bucket: None,
        extra: || false,
        hooks: &[],
        several: Several::No,
        checks: &[],
        search_indexes: &[],
        shard_key: None,
        generated_id: true,
        claims: None,
        decode: |_| Ok(()),
    };

    /// Whether the document has errors.
    pub(crate) const fn is_stand_in(&self) -> bool {
        self.name.is_empty()
    }
}

/// Whether a document has a collection for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It has.
    Alone,
    /// It is the enum of the documents of a collection.
    Enum,
    /// It is a variant of such an enum.
    Variant,
}

/// Whether a collection holds documents of several types: the variants of an enum.
#[derive(Clone, Copy, Debug)]
pub enum Several {
    /// It holds documents of one type.
    No,
    /// The document is that enum. Its `shape` has the fields that all variants have.
    Enum {
        /// The field with the name of the variant.
        tag: &'static str,
        /// The documents as they are stored, by their variants.
        shape: &'static EnumShape,
        /// The documents of the variants, in the same order.
        documents: &'static [fn() -> &'static DocumentMeta],
    },
    /// The document is one variant: its name stands in the field `tag` of each, which the struct does not have.
    Variant {
        /// The field with the name of the variant.
        tag: &'static str,
        /// The name of the variant, as it is stored.
        name: &'static str,
        /// The enum.
        of: fn() -> &'static DocumentMeta,
    },
}

/// A rule for a whole document.
#[derive(Clone, Copy, Debug)]
pub struct CheckMeta {
    /// The comparison or the path of the function, as it was written.
    pub text: &'static str,
    /// The comparison or the function.
    pub rule: CheckRule,
}

/// The place of a comparison's expression, once it was made.
pub type KnownExpression = OnceLock<Option<Bson>>;

/// The two kinds of such rules.
#[derive(Clone, Copy, Debug)]
pub enum CheckRule {
    /// A condition that compares fields, which the server evaluates too.
    Compare {
        /// The condition.
        condition: fn() -> crate::Result<RawDocumentBuf>,
        /// Its expression, once it was made. A type with parameters has none to keep: its types share what is static.
        known: Option<fn() -> &'static KnownExpression>,
    },
    /// Decodes the document and calls a function of the application; its message where the document is not valid.
    Function(for<'d> fn(&'d RawDocument) -> Option<String>),
}

impl CheckMeta {
    /// The comparison as an expression of the server's; `None` for a function, and for a condition that is no comparison of fields.
    pub(crate) fn expression(&self) -> Option<Cow<'static, Bson>> {
        let CheckRule::Compare { condition, known } = self.rule else {
            return None;
        };
        let make = || {
            let condition = Document::try_from(condition().ok()?).ok()?;
            crate::model::meta::condition::expression(&condition)
        };
        match known {
            Some(known) => known().get_or_init(make).as_ref().map(Cow::Borrowed),
            None => make().map(Cow::Owned),
        }
    }

    /// The message where a comparison does not hold.
    pub(crate) fn message(&self) -> String {
        format!("must satisfy `{}`", self.text)
    }
}

/// A function that the writes of a document call.
#[derive(Clone, Copy, Debug)]
pub struct HookMeta {
    /// Its path, as it was written.
    pub name: &'static str,
    /// When it is called.
    pub at: HookTime,
    /// Decodes the document and calls the function.
    pub call: HookFn,
}

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookTime {
    /// In the transaction, to refuse the write: `before_write = f`.
    BeforeWrite,
    /// In the transaction, when nothing has refused the write: `after_write(in_transaction) = f`.
    InTransaction,
    /// After the commit: `after_write = f`.
    AfterCommit,
}

/// A document that a write has changed, for a hook that is to be called with it.
#[derive(Clone, Copy)]
pub struct HookCall<'c> {
    /// As it was; `None` where it was not there.
    pub before: Option<&'c RawDocument>,
    /// As it is; `None` where it is gone.
    pub after: Option<&'c RawDocument>,
    /// The transaction, or the handle of the database: a type of the rooms above, which decode the document.
    pub handle: &'c (dyn Any + Send + Sync),
}

/// The result of a hook: its error is of the application.
pub type HookResult = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Calls a hook. An error of its own: the document can't be decoded.
pub type HookFn = for<'c> fn(HookCall<'c>) -> crate::Result<BoxFuture<'c, HookResult>>;

impl DocumentMeta {
    /// The shape of whole documents: that of an enum has its variants.
    pub(crate) fn whole(&self) -> Shape {
        match self.several {
            Several::Enum { shape, .. } => Shape::Enum(shape),
            _ => (self.shape)(),
        }
    }

    /// The struct as which a document is stored: of an enum that of the variant which the document names.
    pub(crate) fn struct_of(&self, document: &RawDocument) -> Option<&'static StructShape> {
        let Several::Enum { tag, shape, .. } = self.several else {
            return match (self.shape)() {
                Shape::Struct(of) => Some(of),
                _ => None,
            };
        };
        let name = document.get_str(tag).ok()?;
        let variant = shape.variants.iter().find(|variant| variant.name == name)?;
        match variant.body {
            Body::Struct(of) => Some(of),
            _ => None,
        }
    }

    /// Why its documents are never changed, if they are not: the end of a sentence about one of them.
    pub(crate) fn never_changes(&self) -> Option<&'static str> {
        match self.kind {
            CollectionKind::View(_) => {
                Some("is shown by a view, and only read: write the documents that the view shows")
            }
            CollectionKind::TimeSeries(_) => Some(
                "is a measurement of a time series: it is inserted, and never changed or deleted by the library",
            ),
            _ if self.append_only => {
                Some("is inserted and deleted, and never changed: `#[document(append_only)]`")
            }
            _ => None,
        }
    }

    /// The field with the name of the variant, where the collection holds documents of several types.
    pub(crate) fn tag(&self) -> Option<&'static str> {
        match self.several {
            Several::No => None,
            Several::Enum { tag, .. } | Several::Variant { tag, .. } => Some(tag),
        }
    }

    /// Of a variant that field with the variant's name.
    pub(crate) fn variant(&self) -> Option<(&'static str, &'static str)> {
        match self.several {
            Several::Variant { tag, name, .. } => Some((tag, name)),
            _ => None,
        }
    }

    /// The fields of its shard key, but `_id`.
    pub(crate) fn key_beside_id(&self) -> impl Iterator<Item = &'static str> + use<> {
        let fields = self.shard_key.map_or(&[][..], |key| key.fields);
        fields
            .iter()
            .map(|field| field.path)
            .filter(|path| *path != "_id")
    }

    /// Whether the library may change stored documents, be it to store a default.
    pub(crate) fn takes_changes(&self) -> bool {
        matches!(self.kind, CollectionKind::Plain | CollectionKind::Capped { .. })
    }

    /// The view that shows its documents.
    pub(crate) fn view(&self) -> Option<&ViewMeta> {
        match &self.kind {
            CollectionKind::View(view) => Some(view),
            _ => None,
        }
    }

    /// The documents of the variants of an enum.
    pub(crate) fn variants(&self) -> impl Iterator<Item = &'static DocumentMeta> + use<> {
        let documents = match self.several {
            Several::Enum { documents, .. } => documents,
            _ => &[],
        };
        documents.iter().map(|document| document())
    }

    /// The declared indexes in which documents of this type stand: its own, those of the enum of which it is a variant, and those of its
    /// variants.
    pub(crate) fn indexes_of_collection(&self) -> impl Iterator<Item = DeclaredIndex> + use<> {
        let of_enum = match self.several {
            Several::Variant { of, .. } => of().indexes,
            Several::Enum { .. } | Several::No => &[],
        };
        let of_all = self.indexes.iter().chain(of_enum);
        let of_all = of_all.map(|index| DeclaredIndex { index, variant: None });
        let of_variants = self.variants().flat_map(|variant| {
            let indexes = variant.indexes.iter();
            indexes.map(move |index| DeclaredIndex {
                index,
                variant: variant.variant(),
            })
        });
        of_all.chain(of_variants)
    }

    /// Whether its writes call functions of the application.
    pub(crate) fn has_hooks(&self) -> bool {
        !self.hooks.is_empty()
    }

    /// Its own field with this stored name.
    pub(crate) fn field(&self, name: &str) -> Option<&'static FieldMeta> {
        match (self.shape)() {
            Shape::Struct(shape) => shape.fields.iter().find(|field| field.name == name),
            _ => None,
        }
    }

    /// Whether every update of a document writes its version or its time of the last update.
    pub(crate) fn is_stamped(&self) -> bool {
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
                let version = fields.find(|field| field.managed == Managed::Version);
                version.map(|field| field.name)
            }
            _ => None,
        }
    }
}

/// Gives the default of a field, as it would be stored.
pub type DefaultFn = fn() -> BsonResult<Bson>;
