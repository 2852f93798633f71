//! Declared indexes in MongoDB's terms, and whether an existing index is the declared one.

use super::values::{integer, same, same_document, whole};
use super::{language, partial};
use crate::Result;
use crate::graph::edge::Edge;
use crate::graph::indexes::{begins_with, is_indexed, looked_up};
use crate::model::claims::GlobalKey;
use crate::model::compare::least;
use crate::model::copy::Subset;
use crate::model::document::{CollationMeta, DocumentMeta, Expiry, IndexKind, IndexMeta};
use crate::model::shape::{FieldMeta, MOST_WRAPPERS, Shape};
use crate::store::filter::within;
use mongodb::bson::Bson;
use mongodb::bson::Document;
use mongodb::bson::doc;
use std::collections::BTreeMap;

/// A declared index.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Index {
    pub name: String,
    /// Whether the name was given, rather than made by the rule.
    pub named: bool,
    pub unique: bool,
    /// Whether claims keep its values unique over all shards: a unique index that is there does as well.
    pub global: bool,
    pub sparse: bool,
    pub expire_after: Option<i64>,
    pub partial: Option<Document>,
    pub collation: Option<Document>,
    /// Of a text index, where they are declared: see [`IndexMeta`].
    pub default_language: Option<&'static str>,
    pub language_override: Option<&'static str>,
    /// Of a wildcard index: the fields that it holds alone (1) or leaves out (0).
    pub projection: Document,
    /// The dotted names in order.
    pub paths: Vec<String>,
    /// Whether a reference asks for it, rather than the document itself.
    pub implied: bool,
    /// Whether a cluster distributes documents by it.
    pub of_shard_key: bool,
    /// Number of leading fields that are looked up by their values; the others are for the order.
    looked_up: usize,
    /// As it is created: `{ a: 1, b: "text" }`.
    key: Document,
    /// As it is listed: a text index has other keys then.
    listed: Document,
    /// The weight of each text field.
    weights: Document,
}

/// From MongoDB 5.0 on (its wire version, and that of the development builds before it), the filter and whether an index is
/// unique or sparse tell two indexes on the same fields apart.
const SIGNATURE: i32 = 12;

/// Maximum number of indexes of a collection.
pub(super) const MAX_INDEXES: usize = 64;

/// The field from which a text index takes a document's language where nothing is declared.
pub(super) const OVERRIDE: &str = "language";

/// The end of a key that stands for every field below one, or in the document.
const WILDCARD: &str = "$**";

/// From MongoDB 7.0 on (wire version 21), a wildcard stands beside other fields in an index.
pub(super) const COMPOUND_WILDCARD: i32 = 21;

/// From MongoDB 6.0 on (wire version 17), the filter of a partial index has alternatives.
pub(super) const PARTIAL_ALTERNATIVES: i32 = 17;

/// Dotted names, and whether a wildcard index holds these alone, or leaves them out.
type IndexProjection = BTreeMap<String, bool>;

/// How an existing index compares.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fit {
    /// It is the declared one.
    Same,
    /// It is, but deletes documents after another time.
    OtherTtl { from: i64, to: i64 },
    /// It deletes nothing so far.
    NoTtl { to: i64 },
    /// It differs: in these words.
    Differs(Vec<String>),
}

/// The declared indexes over two arrays: the server takes no document that has both (code 171), be they empty. Where one of
/// them may be missing, or not all documents stand in the index, nothing is said.
pub(crate) fn parallel(meta: &DocumentMeta) -> Vec<String> {
    let mut problems = Vec::new();
    for index in meta.indexes.iter().filter(|index| !index.is_partial()) {
        // The keys of a text index are words, and those of a place are whole.
        let keys = index.keys.iter().filter(|key| {
            matches!(
                key.kind,
                IndexKind::Ascending | IndexKind::Descending | IndexKind::Hashed
            )
        });
        let paths: Vec<&str> = keys.map(|key| (key.path)()).collect();
        let arrays: Vec<(&str, &str)> = paths
            .iter()
            .filter_map(|path| Some((array((meta.shape)(), path)?, *path)))
            .collect();
        let apart = arrays.iter().find_map(|(array, path)| {
            let (_, first) = arrays.iter().find(|(other, _)| other != array)?;
            Some((path, first))
        });
        if let Some((one, other)) = apart {
            problems.push(format!(
                "an index of `{}` is over two arrays, by `{one}` and `{other}`, and MongoDB refuses every document that has both: \
                 declare an index on one of them, or one on each",
                meta.name
            ));
        }
    }
    problems
}

/// The first array on the way to a field, or the field if it is one, if each document has it: within it may be nothing.
fn array(shape: Shape, path: &str) -> Option<&str> {
    let (mut shape, mut end) = (shape, 0);
    for part in path.split('.') {
        shape = field(shape, part, MOST_WRAPPERS)?;
        end += part.len() + usize::from(end > 0);
        for _ in 0..MOST_WRAPPERS {
            match shape {
                Shape::Bounded(meta) if !meta.bounds.opaque => shape = (meta.shape)(),
                Shape::Array(_) | Shape::Fixed { .. } | Shape::Tuple(_) => return path.get(..end),
                _ => break,
            }
        }
    }
    None
}

fn field(shape: Shape, name: &str, left: u32) -> Option<Shape> {
    let of = |field: &FieldMeta| {
        if field.bounds.opaque || !field.required {
            Shape::Any
        } else {
            (field.shape)()
        }
    };
    let Shape::Struct(shape) = shape else { return None };
    let mut own = shape.fields.iter().filter(|field| !field.flatten);
    own.find(|field| field.name == name).map(of).or_else(|| {
        let mut flat = shape.fields.iter().filter(|field| field.flatten);
        flat.find_map(|inner| field(of(inner), name, left.checked_sub(1)?))
    })
}

fn has_alternatives(filter: &Document) -> bool {
    filter.iter().any(|(name, value)| match value {
        _ if name == "$or" => true,
        Bson::Document(inner) => has_alternatives(inner),
        Bson::Array(items) => items.iter().filter_map(Bson::as_document).any(has_alternatives),
        _ => false,
    })
}

impl Index {
    /// # Errors
    /// Whatever the filter of a partial index fails with.
    pub fn of(meta: &IndexMeta) -> Result<Index> {
        let partial = meta.filter().transpose()?;
        let keys = meta.keys.iter().map(|part| ((part.path)().to_owned(), part.kind));
        let index = Index::on(keys);
        let included = meta.include.iter().map(|name| (name().to_owned(), Bson::from(1)));
        let excluded = meta.exclude.iter().map(|name| (name().to_owned(), Bson::from(0)));
        Ok(Index {
            name: meta.name.map_or(index.name, str::to_owned),
            named: meta.name.is_some(),
            // Claims keep it unique over all shards, where the server has no such index.
            unique: meta.unique && !meta.global,
            global: meta.global,
            sparse: meta.sparse,
            expire_after: meta
                .expire_after
                .map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX)),
            partial,
            collation: meta.collation.map(collation),
            default_language: meta.default_language,
            language_override: meta.language_override,
            projection: included.chain(excluded).collect(),
            ..index
        })
    }

    /// The same for the documents of a variant alone.
    pub fn of_variant(self, meta: &DocumentMeta) -> Index {
        let Some((tag, name)) = meta.variant() else {
            return self;
        };
        Index {
            name: if self.named {
                self.name
            } else {
                format!("{}_{name}", self.name)
            },
            named: true,
            partial: Some(within(self.partial.unwrap_or_default(), &doc! { tag: name })),
            ..self
        }
    }

    /// The unique index that would hold the values of a key that is unique over all shards.
    ///
    /// # Errors
    /// Those of [`Index::of`].
    pub fn of_values(key: &GlobalKey) -> Result<Index> {
        let mut index = Index::of(key.index)?;
        index.unique = true;
        let has_values = key.paths.iter().map(|path| doc! { *path: { "$ne": null } });
        let is_there = key.holder.soft_delete.map(|name| doc! { name: null });
        index.partial = has_values.chain(is_there).reduce(|all, one| within(all, &one));
        Ok(index)
    }

    /// Leaves deleted documents out of a unique index: they leave their keys to others. No index is both sparse and partial, so the
    /// documents that a sparse one holds are a condition of the partial one.
    pub fn leave_out_deleted(&mut self, deleted_at: &str) {
        let mut partial = self.partial.take().unwrap_or_default();
        if std::mem::take(&mut self.sparse) {
            partial = within(partial, &self.held());
        }
        self.partial = Some(within(partial, &doc! { deleted_at: null }));
    }

    /// The condition of the documents that a sparse index holds.
    fn held(&self) -> Document {
        let mut exist: Vec<Document> = self
            .paths
            .iter()
            .map(|path| doc! { path: { "$exists": true } })
            .collect();
        match exist.len() {
            1 => exist.remove(0),
            _ => doc! { "$or": exist },
        }
    }

    /// Puts the fields of a shard key in front of a unique index, and gives an index that finds documents by its own fields as before.
    pub fn put_in_front(&mut self, key: &[&str]) -> Index {
        let own = Index {
            implied: self.implied,
            looked_up: self.looked_up,
            collation: self.collation.clone(),
            ..Index::on(self.kinds().into_iter())
        };
        // Each document stands in a sparse index that begins with a field which all have.
        if std::mem::take(&mut self.sparse) {
            self.partial = Some(within(self.partial.take().unwrap_or_default(), &self.held()));
        }
        let key = key.iter().map(|path| ((*path).to_owned(), IndexKind::Ascending));
        let rest = self.kinds().into_iter();
        let rest = rest.filter(|(path, _)| !key.clone().any(|(of_key, _)| of_key == *path));
        let whole = Index::on(key.clone().chain(rest));
        if !self.named {
            self.name = whole.name;
        }
        (self.key, self.listed, self.paths) = (whole.key, whole.listed, whole.paths);
        own
    }

    /// Puts `_id` behind its fields, so that it is another index than one on these fields.
    pub fn go_on_to_id(&mut self) {
        let id = ("_id".to_owned(), IndexKind::Ascending);
        let whole = Index::on(self.kinds().into_iter().chain([id]));
        if !self.named {
            self.name = whole.name;
        }
        (self.key, self.listed, self.paths) = (whole.key, whole.listed, whole.paths);
    }

    /// The fields of an index that can be unique.
    fn kinds(&self) -> Vec<(String, IndexKind)> {
        let kind = |kind: &Bson| match (integer(kind), kind.as_str()) {
            (Some(-1), _) => IndexKind::Descending,
            (_, Some("2dsphere")) => IndexKind::Geo,
            _ => IndexKind::Ascending,
        };
        let fields = self.key.iter();
        fields.map(|(path, value)| (path.clone(), kind(value))).collect()
    }

    /// Whether a cluster can distribute documents by it: it begins with the key, holds all documents, and compares texts byte by byte.
    /// `inherited` is the collation of its collection.
    pub fn begins_with_shard_key(&self, key: &Document, inherited: bool) -> bool {
        let is_simple = match &self.collation {
            Some(own) => own.get_str("locale").is_ok_and(|locale| locale == "simple"),
            None => !inherited,
        };
        let mut both = self.key.iter().zip(key);
        let begins = self.key.len() >= key.len() && both.all(|((a, x), (b, y))| a == b && same(x, y));
        begins && is_simple && self.partial.is_none() && !self.sparse
    }

    /// The index by which the holders of a reference are found, in the order that it declares.
    pub fn implied(edge: &Edge) -> Option<Index> {
        let reference = edge.reference;
        if !is_indexed(edge) {
            return None;
        }
        if reference.order.is_empty()
            && !reference.one
            && let Some(index) = Index::of_copies(edge)
        {
            return Some(index);
        }
        let order = reference
            .order
            .iter()
            .map(|part| ((part.path)().to_owned(), part.kind));
        let mut index = Index::of_holders(edge, order);
        index.unique = reference.one;
        if reference.one && reference.optional {
            // Those that refer to nothing are many. A lookup by equality can use an index only on what it could find itself.
            let path = index.paths.last()?.clone();
            index.partial = Some(match least((edge.field.shape)()).filter(|_| !reference.union) {
                Some(least) => doc! { path: { "$gte": least } },
                None => doc! { path: { "$exists": true } },
            });
        }
        Some(index)
    }

    /// The index in which the children of a parent stand in the order of a subset, so that its elements are the first few.
    /// `None` where no index is wanted, and where a parent has one child.
    pub fn of_subset(edge: &Edge, subset: &Subset) -> Option<Index> {
        if !edge.reference.index || edge.reference.one || edge.path == "_id" {
            return None;
        }
        let order = crate::rules::children::parents::order(subset).map(|(path, direction)| {
            let kind = match direction {
                1 => IndexKind::Ascending,
                _ => IndexKind::Descending,
            };
            (path.to_owned(), kind)
        });
        Some(Index::of_holders(edge, order))
    }

    /// This index, or one that serves as well and stands beside these. Two that differ in their options alone can't have one
    /// name, nor, before MongoDB 5.0, the same key; but an index is read from either end.
    pub fn beside(self, others: &[Index]) -> Option<Index> {
        let is_free = |index: &Index| !others.iter().any(|other| other.is_on_the_fields_of(index));
        [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            .into_iter()
            .map(|(looked_up, order)| self.turned(looked_up, order))
            .find(is_free)
    }

    /// The same with the directions of what is looked up, and of the order, multiplied.
    fn turned(&self, looked_up: i64, order: i64) -> Index {
        let keys = self.key.iter().enumerate().map(|(at, (path, kind))| {
            let turn = if at < self.looked_up { looked_up } else { order };
            let kind = match integer(kind).map(|direction| direction * turn) {
                Some(-1) => IndexKind::Descending,
                _ => IndexKind::Ascending,
            };
            (path.clone(), kind)
        });
        Index {
            implied: self.implied,
            looked_up: self.looked_up,
            ..Index::on(keys)
        }
    }

    /// An index by which the holders of a reference are found, in an order.
    fn of_holders(edge: &Edge, order: impl Iterator<Item = (String, IndexKind)>) -> Index {
        let own = looked_up(edge);
        let looked_up = own.len();
        let own = own.into_iter().map(|path| (path, IndexKind::Ascending));
        Index {
            implied: true,
            looked_up,
            ..Index::on(own.chain(order))
        }
    }

    /// The index on which copies are delivered to the holders of a reference, in batches in the order of their ids.
    pub fn of_copies(edge: &Edge) -> Option<Index> {
        edge.consistency()?;
        let keys = [edge.path.as_str(), "_id"];
        let mut index = Index::on(
            keys.into_iter()
                .map(|name| (name.to_owned(), IndexKind::Ascending)),
        );
        index.implied = true;
        Some(index)
    }

    /// The index on a field of the library's own that few documents have: with pending work for copies, or for the other side of a
    /// two-way reference; of one deletion.
    pub fn of_pending_work(field: &str) -> Index {
        let mut index = Index::on([(field.to_owned(), IndexKind::Ascending)].into_iter());
        index.implied = true;
        index.sparse = true;
        index
    }

    /// The index on the field by which documents expire.
    pub fn of_expiry(expiry: &Expiry) -> Index {
        let field = ((expiry.path)().to_owned(), IndexKind::Ascending);
        Index::on([field].into_iter())
    }

    /// Whether it finds what another one would find, in the same order or in the opposite one.
    pub fn serves(&self, other: &Index) -> bool {
        let whole = self.partial.is_none() && !self.sparse && self.collation.is_none();
        let begins =
            self.key.len() >= other.key.len() && self.key.keys().zip(other.key.keys()).all(|(a, b)| a == b);
        // A single value is found in either direction, and by its hash.
        let is_looked_up =
            |kind: &Bson| integer(kind).is_some() || other.key.len() == 1 && kind.as_str() == Some("hashed");
        let both = || self.key.values().zip(other.key.values());
        let looked_up = both().take(other.looked_up).all(|(own, _)| is_looked_up(own));
        let in_order = |turn: i64| {
            both().skip(other.looked_up).all(|(own, kind)| {
                let direction = integer(kind).map(|direction| direction * turn);
                direction.is_some() && integer(own) == direction
            })
        };
        whole && begins && looked_up && (in_order(1) || in_order(-1))
    }

    /// Whether both are on the same fields in the same order, or have one name.
    pub fn is_on_the_fields_of(&self, other: &Index) -> bool {
        self.name == other.name
            || same_document(&self.key, &other.key) && self.key.keys().eq(other.key.keys())
    }

    /// An ascending or other index without options.
    fn on(keys: impl Iterator<Item = (String, IndexKind)>) -> Index {
        let (mut key, mut listed, mut weights) = (Document::new(), Document::new(), Document::new());
        let mut paths = Vec::new();
        for (path, kind) in keys {
            let path = match kind {
                IndexKind::Wildcard if path.is_empty() => WILDCARD.to_owned(),
                IndexKind::Wildcard => format!("{path}.{WILDCARD}"),
                _ => path,
            };
            let value: Bson = match kind {
                IndexKind::Ascending | IndexKind::Wildcard => 1.into(),
                IndexKind::Descending => (-1).into(),
                IndexKind::Text { .. } => "text".into(),
                IndexKind::Geo => "2dsphere".into(),
                IndexKind::Hashed => "hashed".into(),
            };
            match kind {
                IndexKind::Text { weight } => {
                    weights.insert(&path, whole(weight.into()));
                    listed.insert("_fts", "text");
                    listed.insert("_ftsx", 1);
                }
                _ => {
                    listed.insert(&path, value.clone());
                }
            }
            key.insert(&path, value);
            paths.push(path);
        }
        Index {
            name: default_name(&key),
            named: false,
            unique: false,
            global: false,
            sparse: false,
            expire_after: None,
            partial: None,
            collation: None,
            default_language: None,
            language_override: None,
            projection: Document::new(),
            paths,
            implied: false,
            of_shard_key: false,
            looked_up: 1,
            key,
            listed,
            weights,
        }
    }

    /// As the command `createIndexes` takes it.
    pub fn spec(&self) -> Document {
        let mut spec = doc! { "key": self.key.clone(), "name": &self.name };
        if self.unique {
            spec.insert("unique", true);
        }
        if self.sparse {
            spec.insert("sparse", true);
        }
        if let Some(seconds) = self.expire_after {
            spec.insert("expireAfterSeconds", whole(seconds));
        }
        if let Some(filter) = &self.partial {
            spec.insert("partialFilterExpression", partial::sent(filter));
        }
        if let Some(collation) = &self.collation {
            spec.insert("collation", collation.clone());
        } else if self.is_text() {
            // It takes no other, also not from its collection.
            spec.insert("collation", doc! { "locale": "simple" });
        }
        if self.weights.values().any(|weight| integer(weight) != Some(1)) {
            spec.insert("weights", self.weights.clone());
        }
        if let Some(language) = self.default_language {
            spec.insert("default_language", language);
        }
        if let Some(field) = self.language_override {
            spec.insert("language_override", field);
        }
        if !self.projection.is_empty() {
            spec.insert("wildcardProjection", self.projection.clone());
        }
        spec
    }

    /// Whether it is on every field below one, beside other fields.
    pub fn is_compound_wildcard(&self) -> bool {
        self.key.len() > 1 && self.key.keys().any(|path| path.ends_with(WILDCARD))
    }

    /// Whether its filter has alternatives: also that of a sparse index of several fields that leaves deleted documents out.
    pub fn has_alternatives(&self) -> bool {
        self.partial.as_ref().is_some_and(has_alternatives)
    }

    pub fn is_text(&self) -> bool {
        !self.weights.is_empty()
    }

    /// Whether an index as `listIndexes` shows it is on the same fields in the same order.
    pub fn has_key_of(&self, existing: &Document) -> bool {
        let Ok(key) = existing.get_document("key") else {
            return false;
        };
        let weights = existing.get_document("weights").cloned().unwrap_or_default();
        key.len() == self.listed.len()
            && key
                .iter()
                .zip(&self.listed)
                .all(|((a, x), (b, y))| a == b && same(x, y))
            && weights.keys().count() == self.weights.len()
            && self.weights.keys().all(|path| weights.contains_key(path))
    }

    /// Compares with an index as `listIndexes` shows it. `inherited` is the collection's own collation.
    pub fn compare(&self, existing: &Document, inherited: Option<&Document>) -> Fit {
        let mut differ = Vec::new();
        let mut differs = |what: &str, there: String, declared: String| {
            differ.push(format!("{what} {there}, declared {declared}"));
        };
        let flag = |name| {
            existing
                .get(name)
                .is_some_and(|v| *v == Bson::Boolean(true) || integer(v) == Some(1))
        };
        if !self.has_key_of(existing) {
            differs("it is on", key_in_words(existing), fields_in_words(&self.key));
        } else if !self.weights.is_empty() {
            let weights = existing.get_document("weights").cloned().unwrap_or_default();
            if !same_document(&weights, &self.weights) {
                differs("its weights are", weights.to_string(), self.weights.to_string());
            }
            let (there, declared) = (
                text(existing, "default_language", "english"),
                self.default_language,
            );
            let declared = declared.unwrap_or("english");
            if language::name(there) != language::name(declared) {
                differs("its default language is", there.to_owned(), declared.to_owned());
            }
            let (there, declared) = (
                text(existing, "language_override", OVERRIDE),
                self.language_override,
            );
            let declared = declared.unwrap_or(OVERRIDE);
            if there != declared {
                differs(
                    "it takes the language from",
                    there.to_owned(),
                    declared.to_owned(),
                );
            }
        }
        let (there, declared) = (projection(existing), flat(&self.projection));
        if there != declared {
            differs("it holds", held(&there), held(&declared));
        }
        // The index on `_id` is unique without saying so.
        let of_id = existing
            .get_document("key")
            .is_ok_and(|key| key.len() == 1 && key.contains_key("_id"));
        for (name, there, declared) in [
            (
                "unique",
                flag("unique"),
                self.unique || self.global && flag("unique"),
            ),
            ("sparse", flag("sparse"), self.sparse),
        ] {
            if there != declared && !of_id {
                let word = |is| {
                    if is {
                        name.to_owned()
                    } else {
                        format!("not {name}")
                    }
                };
                differs("it is", word(there), word(declared));
            }
        }
        let filter = existing.get_document("partialFilterExpression").ok();
        if !both(filter, self.partial.as_ref(), partial::same) {
            differs("its filter is", shown(filter), shown(self.partial.as_ref()));
        }
        if !of_id && !self.collates_as(existing, inherited) {
            let there = existing.get_document("collation").ok();
            let declared = self.collation.as_ref().or(inherited);
            differs("its collation is", shown(there), shown(declared));
        }
        let ttl = existing.get("expireAfterSeconds").and_then(integer);
        if let (Some(seconds), None) = (ttl, self.expire_after) {
            differs(
                "it deletes documents after",
                format!("{seconds} s"),
                "never".to_owned(),
            );
        }
        if !differ.is_empty() {
            return Fit::Differs(differ);
        }
        match (ttl, self.expire_after) {
            (Some(from), Some(to)) if from != to => Fit::OtherTtl { from, to },
            (None, Some(to)) => Fit::NoTtl { to },
            _ => Fit::Same,
        }
    }

    /// Whether the server takes only one of this index and another one, as `listIndexes` shows it: they are on the same fields,
    /// with what tells two such indexes apart alike. Before MongoDB 5.0 that is the collation; since then also the filter, and
    /// whether they are unique or sparse (`IndexDescriptor::compareIndexOptions` in MongoDB's sources).
    pub fn excludes(&self, other: &Document, inherited: Option<&Document>, max_wire_version: i32) -> bool {
        let flag = |name| match other.get(name) {
            Some(Bson::Boolean(is)) => *is,
            value => value.and_then(integer).is_some_and(|n| n != 0),
        };
        let filter = other.get_document("partialFilterExpression").ok();
        let alike = || {
            projection(other) == flat(&self.projection)
                && flag("unique") == self.unique
                && flag("sparse") == self.sparse
                && both(filter, self.partial.as_ref(), partial::same)
        };
        self.has_key_of(other)
            && self.collates_as(other, inherited)
            && (max_wire_version < SIGNATURE || alike())
    }

    /// Whether an index as `listIndexes` shows it is this one, but for whether it is unique.
    pub fn differs_in_unique_alone(&self, existing: &Document, inherited: Option<&Document>) -> bool {
        let unique = match existing.get("unique") {
            Some(Bson::Boolean(is)) => *is,
            value => value.and_then(integer).is_some_and(|n| n != 0),
        };
        let other = Index {
            unique,
            ..self.clone()
        };
        unique != self.unique && other.compare(existing, inherited) == Fit::Same
    }

    fn collates_as(&self, existing: &Document, inherited: Option<&Document>) -> bool {
        // An index on no strings has none either way; the server keeps `simple` by leaving it out.
        let simple = |c: &&Document| c.get_str("locale").is_ok_and(|locale| locale == "simple");
        let there = existing.get_document("collation").ok();
        let inherited = inherited.filter(|_| !self.is_text());
        let declared = self.collation.as_ref().or(inherited).filter(|c| !simple(c));
        both(there.filter(|c| !simple(c)), declared, collates_like)
    }

    /// `` `ssn_1` on ssn, unique ``
    pub fn in_words(&self) -> String {
        let mut words = format!("`{}` on {}", self.name, fields_in_words(&self.key));
        if self.unique {
            words.push_str(", unique");
        }
        if self.global {
            words.push_str(", unique by claims");
        }
        if self.sparse {
            words.push_str(", sparse");
        }
        if let Some(seconds) = self.expire_after {
            words.push_str(&format!(", which deletes documents after {seconds} s"));
        }
        if let Some(filter) = &self.partial {
            words.push_str(&format!(", only where {filter}"));
        }
        if !self.projection.is_empty() {
            words.push_str(&format!(", which holds {}", held(&flat(&self.projection))));
        }
        if let Some(collation) = &self.collation {
            words.push_str(&format!(", collation {collation}"));
        }
        if self.of_shard_key {
            words.push_str(", of the shard key");
        } else if self.implied {
            let what = if begins_with(
                self.key.keys().map(String::as_str),
                crate::model::own_fields::OPERATION,
            ) {
                "pending work"
            } else {
                "the reference"
            };
            words.push_str(&format!(", for {what}"));
        }
        words
    }
}

/// The fields of a wildcard index, as `listIndexes` shows them.
fn projection(existing: &Document) -> IndexProjection {
    let declared = existing.get_document("wildcardProjection");
    declared.map(flat).unwrap_or_default()
}

/// With dotted names, also where the fields were given in documents; without `_id`, which is left out unless it is named.
fn flat(projection: &Document) -> IndexProjection {
    let mut all = IndexProjection::new();
    for (name, value) in projection {
        match value {
            Bson::Document(inner) => all.extend(
                flat(inner)
                    .into_iter()
                    .map(|(below, holds)| (format!("{name}.{below}"), holds)),
            ),
            Bson::Boolean(holds) => drop(all.insert(name.clone(), *holds)),
            value => drop(all.insert(name.clone(), integer(value) != Some(0))),
        }
    }
    if all.get("_id") == Some(&false) {
        all.remove("_id");
    }
    all
}

/// `all fields but notes, tags`
fn held(projection: &IndexProjection) -> String {
    let names = |holds: bool| {
        let names = projection.iter().filter(|(_, is)| **is == holds);
        names
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (names(true).as_str(), names(false).as_str()) {
        ("", "") => "all fields".to_owned(),
        ("", excluded) => format!("all fields but {excluded}"),
        (included, _) => included.to_owned(),
    }
}

fn text<'d>(existing: &'d Document, option: &str, otherwise: &'d str) -> &'d str {
    existing.get_str(option).unwrap_or(otherwise)
}

pub(crate) fn collation(meta: CollationMeta) -> Document {
    let mut collation = doc! { "locale": meta.locale };
    if meta.locale != "simple" {
        collation.insert("strength", i32::from(meta.strength));
        collation.insert("numericOrdering", meta.numeric_ordering);
    }
    collation
}

/// Compares what is declared: the server fills in the rest.
pub(super) fn collates_like(there: &Document, declared: &Document) -> bool {
    declared
        .iter()
        .all(|(option, value)| match (option.as_str(), there.get(option)) {
            // The version of the ICU library is the server's affair.
            ("version", _) => true,
            ("strength", None) => integer(value) == Some(3),
            ("numericOrdering", None) => *value == Bson::Boolean(false),
            (_, Some(there)) => same(there, value),
            (_, None) => false,
        })
}

fn both<T: ?Sized>(a: Option<&T>, b: Option<&T>, same: impl Fn(&T, &T) -> bool) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (None, None) => true,
        _ => false,
    }
}

fn shown(document: Option<&Document>) -> String {
    document.map_or_else(|| "none".to_owned(), Document::to_string)
}

/// The name that MongoDB's shell and drivers make: `a_1_b_-1`.
fn default_name(key: &Document) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|(path, kind)| match kind {
            Bson::String(kind) => format!("{path}_{kind}"),
            kind => format!("{path}_{kind}"),
        })
        .collect();
    parts.join("_")
}

fn fields_in_words(key: &Document) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|(path, kind)| match (integer(kind), kind) {
            (Some(1), _) => path.clone(),
            (Some(-1), _) => format!("{path} (descending)"),
            (_, Bson::String(kind)) => format!("{path} ({kind})"),
            (_, kind) => format!("{path} ({kind})"),
        })
        .collect();
    parts.join(", ")
}

/// The fields of an index as `listIndexes` shows it.
pub(super) fn key_in_words(existing: &Document) -> String {
    let mut key = Document::new();
    for (path, kind) in existing.get_document("key").into_iter().flatten() {
        match path.as_str() {
            "_fts" => {
                let texts = existing
                    .get_document("weights")
                    .into_iter()
                    .flat_map(Document::keys);
                key.extend(texts.map(|text| (text.clone(), Bson::from("text"))));
            }
            "_ftsx" => {}
            _ => {
                key.insert(path, kind.clone());
            }
        }
    }
    fields_in_words(&key)
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
