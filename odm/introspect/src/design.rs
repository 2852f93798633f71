//! The design of a database, as it was read from its documents: what the other rooms fill in, and what code, advice and reports are
//! made of. As JSON it is the output of `--json`.
//!
//! Paths are written `a.b` for a field of an embedded document, `a[]` for each element of an array, `a{}` for each value of a map
//! and `a{key}` for each of its keys.

use crate::kind::{Kind, TextForm};
use crate::sketch::Spread;
use serde::Serialize;
use std::collections::BTreeMap;

/// A database.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Design {
    /// Its name.
    pub database: String,
    /// Its collections and views, by name.
    pub collections: Vec<Collection>,
    /// The references that the data show, the surest first.
    pub references: Vec<Reference>,
    /// References that few values show: a comment, and no attribute. Their numbers go on from those of `references`.
    pub possible: Vec<Reference>,
    /// References of two collections to each other, which say the same.
    pub two_way: Vec<TwoWay>,
    /// Fields that repeat one of the document that a reference names.
    pub copies: Vec<Copied>,
    /// Fields that are computed from others: of the same document, or of the documents that refer to it.
    pub computed: Vec<Computed>,
    /// Arrays with the newest or greatest documents of another collection.
    pub subsets: Vec<Subset>,
    /// Collections whose documents hold a part of a long list.
    pub buckets: Vec<Bucket>,
    /// Texts with the way from the root of a tree: materialised paths.
    pub trees: Vec<TreePath>,
    /// Limits that were reached, and what could not be read.
    pub notes: Vec<String>,
}

/// The kind of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CollectionKind {
    /// An ordinary one.
    #[default]
    Plain,
    /// One of a fixed size.
    Capped,
    /// A time series.
    TimeSeries,
    /// A view, whose pipeline is in `options`.
    View,
}

/// A collection, with the shape of its documents.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Collection {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: CollectionKind,
    /// The number of its documents, by the server's count.
    pub documents: u64,
    /// The number of documents that were read.
    pub read: u64,
    /// The sizes of its documents in bytes.
    pub sizes: Spread,
    /// The options with which it was made, as the server lists them: validator, capped size, time series, view.
    pub options: bson::Document,
    /// Its indexes, with that of `_id`.
    pub indexes: Vec<Index>,
    /// The shape of its documents: a field without a name, of the kind `object`.
    pub root: Field,
}

/// An index.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its fields in their order, each with `1`, `-1`, `text`, `2dsphere` …
    pub keys: bson::Document,
    /// Whether it is unique.
    pub unique: bool,
    /// The other options, as the server lists them: `partialFilterExpression`, `expireAfterSeconds`, `collation`, `sparse` …
    pub options: bson::Document,
    /// How often it was used since the server started, where the server says so.
    pub used: Option<i64>,
    /// Its size in bytes, where the server says so.
    pub bytes: Option<i64>,
}

/// A field, an element of an array or a value of a map, over all documents that were read.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Field {
    /// Its path within the collection; empty for the document itself.
    pub path: String,
    /// Its name; empty for elements, values of maps and the document itself.
    pub name: String,
    /// How often it was there.
    pub present: u64,
    /// How often it could have been there: the number of its parents. Less `present` is missing.
    pub of: u64,
    /// Its kinds of values, with their numbers.
    pub kinds: BTreeMap<Kind, u64>,
    /// The estimated number of its distinct values, of those that are no document and no array.
    pub distinct: u64,
    /// Whether `distinct` is the exact number.
    pub exact: bool,
    /// Whether no value was read twice.
    pub unique: bool,
    /// The least and the greatest number.
    pub numbers: Option<(f64, f64)>,
    /// The lengths of its text in characters.
    pub text: Option<Spread>,
    /// The form that all of its text has: numbers, dates … as text.
    pub form: Option<TextForm>,
    /// The lengths of its arrays.
    pub lengths: Option<Spread>,
    /// Its values with their numbers, the commonest first, where they are few. Empty with `--no-values`.
    pub values: Vec<(String, u64)>,
    /// Whether its texts are those of an enumeration.
    pub enumeration: bool,
    /// The fields of its embedded documents, where these are read as a struct, in the order in which documents have them.
    pub fields: Vec<Field>,
    /// Whether documents have these fields in several orders, so that none is that of all.
    pub reordered: bool,
    /// Whether integers that 32 bits hold are stored in 64, beside others that are not.
    pub wide: bool,
    /// The number of fields that hardly a document has: they are not among `fields`.
    pub others: u64,
    /// The elements of its arrays.
    pub items: Option<Box<Field>>,
    /// What tells its embedded documents to be a map, and not a struct.
    pub map: Option<Map>,
    /// Kinds of embedded documents, told by a field or by which fields are there.
    pub variants: Vec<Variants>,
    /// Doubts of its reading, each with its evidence, for a comment.
    pub doubts: Vec<String>,
}

/// Embedded documents whose keys are data.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Map {
    /// The number of distinct keys.
    pub keys: u64,
    /// The number of keys that occur once.
    pub once: u64,
    /// The number of keys with a dot, and of those that begin with `$`.
    pub awkward: u64,
    /// The numbers of keys of a map.
    pub per_map: Spread,
    /// The length of the longest key, in characters.
    pub key_length: u64,
    /// Whether a key has a dot or begins with `$`, so that no path leads to its value.
    pub dotted: bool,
    /// The evidence, as a sentence.
    pub evidence: String,
    /// The values.
    pub values: Box<Field>,
    /// Keys for an example. Empty with `--no-values`.
    pub examples: Vec<String>,
}

/// Kinds of an embedded document or of a whole one.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Variants {
    /// The path of the field that tells them, from the document that has the variants: `type`, `category.index`. `None` where which
    /// fields are there tells them.
    pub tag: Option<String>,
    /// The fields of which each variant has one, where there is no tag.
    pub by_presence: Vec<String>,
    /// Each variant: the value of the tag (or the field that is there), its number, its fields that are always there and those that are
    /// sometimes there, beside the fields of all.
    pub kinds: Vec<Variant>,
    /// The share of the doubt about which fields are there that the tag takes away, from 0 to 1.
    pub explained: f64,
}

/// One kind of a document.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Variant {
    /// The value of the tag.
    pub value: String,
    /// The number of documents.
    pub number: u64,
    /// The fields that each of them has, and not every document of all variants.
    pub always: Vec<String>,
    /// The fields that some of them have.
    pub sometimes: Vec<String>,
}

/// Where a reference or a copy leads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The collection.
    pub collection: String,
    /// The path in it, or several of a composite key.
    pub paths: Vec<String>,
}

/// How the value of a reference is compared with its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Compared {
    /// As it is.
    #[default]
    Same,
    /// The text of an ObjectId with an ObjectId.
    Hex,
    /// The `$id` of a `DBRef`.
    DbRef,
}

/// The neighbour that says which collection a value refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The path of the neighbour.
    pub path: String,
    /// Its values, or what they begin with.
    pub values: Vec<String>,
    /// Whether `values` are the beginnings of the neighbour's text.
    pub prefix: bool,
}

/// A reference that the data show.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Reference {
    /// The number by which copies and links name it.
    pub id: usize,
    /// The collection and paths that hold it.
    pub from: Place,
    /// The collection and paths that it refers to.
    pub to: Place,
    /// How values are compared.
    pub compared: Compared,
    /// The neighbour that says so, where values of one path refer to several collections.
    pub told: Option<Told>,
    /// Whether one document holds several: the path leads through an array or a map.
    pub many: bool,
    /// The values that were looked up in the second pass.
    pub values: u64,
    /// Those that were found.
    pub found: u64,
    /// Those that were not found.
    pub dangling: u64,
    /// Null and empty text.
    pub unset: u64,
    /// The estimated number of distinct values.
    pub distinct: u64,
    /// The values of a document that has any.
    pub per_document: Spread,
    /// The holders of a target that has any, over the documents that were read.
    pub per_target: Spread,
    /// Whether the target is unique: by an index, or as far as was read.
    pub unique: bool,
    /// Whether an index of the target serves the lookup.
    pub indexed: bool,
    /// Some values that dangle. Empty with `--no-values`.
    pub examples: Vec<String>,
    /// Why it was taken for a reference, as a sentence.
    pub evidence: String,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
}

/// Two references that say the same, or one that is its own other side.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TwoWay {
    /// A reference.
    pub a: usize,
    /// The other one; the same for a symmetric link.
    pub b: usize,
    /// Pairs that both sides name.
    pub agree: u64,
    /// Pairs that only `a` names.
    pub only_a: u64,
    /// Pairs that only `b` names.
    pub only_b: u64,
    /// Some of the pairs on one side alone, as *from → to*. Empty with `--no-values`.
    pub examples: Vec<String>,
}

/// A copy of a field of the document that a reference names.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Copied {
    /// The path of the copy, in the collection that holds the reference.
    pub path: String,
    /// The reference.
    pub by: usize,
    /// The path of the field in the document that is referred to.
    pub from: String,
    /// Copies that equal it.
    pub equal: u64,
    /// Copies that do not.
    pub stale: u64,
    /// Documents that are referred to and lack the field.
    pub lacking: u64,
    /// The number of distinct values among the copies that were compared.
    pub distinct: u64,
    /// The share of the commonest of them: what chance alone would make equal.
    pub commonest: f64,
    /// Some of the stale ones, as *`_id`: copy, source*. Empty with `--no-values`.
    pub examples: Vec<String>,
    /// The evidence, as a sentence.
    pub evidence: String,
    /// Whether the values are too few to tell a copy from chance.
    pub weak: bool,
}

/// A field that is computed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Computed {
    /// Its collection.
    pub collection: String,
    /// Its path.
    pub path: String,
    /// How.
    pub kind: ComputedKind,
    /// The fields that it is computed from, in its own document, or in those that refer to it.
    pub of: Vec<String>,
    /// The reference by which the documents that it is computed from refer to it.
    pub by: Option<usize>,
    /// What stands between the parts of `concat`.
    pub separator: String,
    /// Values that are as computed.
    pub equal: u64,
    /// Values that are not.
    pub different: u64,
    /// Some of those. Empty with `--no-values`.
    pub examples: Vec<String>,
}

/// How a field is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComputedKind {
    /// It is equal to another.
    #[default]
    Same,
    /// The sum of two fields.
    Sum,
    /// The product of two.
    Product,
    /// The length of an array.
    Length,
    /// Two texts with a separator.
    Concat,
    /// One field times 100 and another: hour and minute.
    Base100,
    /// The number of documents that refer to it.
    CountOfReferrers,
    /// The sum of a field of the documents that refer to it.
    SumOfReferrers,
    /// The average of a field of the documents that refer to it.
    AverageOfReferrers,
}

/// An array with the newest documents of another collection.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Subset {
    /// The collection with the array.
    pub collection: String,
    /// The path of the array.
    pub path: String,
    /// The reference by which the other documents refer to this one.
    pub by: usize,
    /// The field of those that the array's order follows.
    pub order: String,
    /// Whether the greatest stands first.
    pub descending: bool,
    /// The greatest length.
    pub limit: u64,
    /// Arrays that are as they should be.
    pub equal: u64,
    /// Arrays that are not.
    pub different: u64,
}

/// A collection of buckets.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Bucket {
    /// The collection.
    pub collection: String,
    /// The array of each bucket.
    pub items: String,
    /// The path of the field that all items of a bucket share.
    pub key: String,
    /// The path that counts the items, where there is one.
    pub count: Option<String>,
    /// The greatest number of items.
    pub limit: u64,
}

/// A materialised path: a text of the keys of all ancestors.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TreePath {
    /// The collection.
    pub collection: String,
    /// The path of the text.
    pub path: String,
    /// The sign between the keys.
    pub separator: String,
    /// The path of the field whose values the keys are.
    pub key: String,
    /// Whether the last key is that of the document itself.
    pub own: bool,
    /// Texts whose keys are all found.
    pub equal: u64,
    /// Texts of which one is not.
    pub different: u64,
}

impl Field {
    /// Whether some parents lack it, or it is null in some.
    pub fn is_optional(&self) -> bool {
        self.present < self.of || self.kinds.contains_key(&Kind::Null)
    }

    /// All fields below, and itself, parents first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Field)) {
        visit(self);
        for field in &self.fields {
            field.walk(visit);
        }
        if let Some(items) = &self.items {
            items.walk(visit);
        }
        if let Some(map) = &self.map {
            map.values.walk(visit);
        }
    }

    /// The field at a path below, as in [`path`](Self::path).
    pub fn at(&self, path: &str) -> Option<&Field> {
        let mut found = None;
        self.walk(&mut |field| {
            if field.path == path {
                found = Some(field);
            }
        });
        found
    }

    /// Its kind, where all values but null have the same.
    pub fn only_kind(&self) -> Option<Kind> {
        let mut kinds = self.kinds.keys().filter(|kind| **kind != Kind::Null);
        let kind = *kinds.next()?;
        kinds.next().is_none().then_some(kind)
    }
}

impl Design {
    /// A collection.
    pub fn collection(&self, name: &str) -> Option<&Collection> {
        self.collections.iter().find(|collection| collection.name == name)
    }

    /// A reference.
    pub fn reference(&self, id: usize) -> Option<&Reference> {
        self.references
            .iter()
            .chain(&self.possible)
            .find(|reference| reference.id == id)
    }
}
