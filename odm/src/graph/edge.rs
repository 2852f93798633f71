//! One reference of a document, with the copies beside it, and one field that is derived from children.

use crate::graph::names::is;
use crate::model::copy::{Consistency, Operation, Subset};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::reference::{OnDelete, ReferenceMeta};
use crate::model::shape::{FieldMeta, Shape};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, doc};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// One part of a reference's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The stored name of the field; of an item of a tuple its position.
    pub(crate) name: String,
    /// Whether an array stands there, whose items the path goes on in.
    pub(crate) array: bool,
}

/// The dotted name of these fields.
pub(crate) fn dotted(segments: &[Segment]) -> String {
    let names: Vec<&str> = segments.iter().map(|segment| segment.name.as_str()).collect();
    names.join(".")
}

/// The identity of a reference among those of the registered documents. It is made by the graph alone, and is the same in the graphs of
/// all databases of one [`Odm::new`](crate::Odm::new).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EdgeId(u32);

impl EdgeId {
    pub(in crate::graph) fn new(position: usize) -> EdgeId {
        EdgeId(u32::try_from(position).unwrap_or(u32::MAX))
    }

    pub(in crate::graph) fn position(self) -> usize {
        self.0 as usize
    }
}

/// The identity of a field that is derived from children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DerivedId(u32);

impl DerivedId {
    pub(in crate::graph) fn new(position: usize) -> DerivedId {
        DerivedId(u32::try_from(position).unwrap_or(u32::MAX))
    }

    pub(in crate::graph) fn position(self) -> usize {
        self.0 as usize
    }
}

/// A type of documents that a reference may refer to. Two are equal where they are the same target of the same reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReferenceTarget {
    pub(crate) edge: EdgeId,
    pub(crate) meta: &'static DocumentMeta,
    /// The name of the type in stored references of a union.
    pub(crate) tag: &'static str,
    /// Its position in the declaration.
    position: u16,
}

impl ReferenceTarget {
    pub(in crate::graph) fn new(
        edge: EdgeId,
        position: usize,
        meta: &'static DocumentMeta,
        tag: &'static str,
    ) -> ReferenceTarget {
        ReferenceTarget {
            edge,
            meta,
            tag,
            position: u16::try_from(position).unwrap_or(u16::MAX),
        }
    }

    fn key(&self) -> (EdgeId, u16) {
        (self.edge, self.position)
    }
}

impl PartialEq for ReferenceTarget {
    fn eq(&self, other: &ReferenceTarget) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ReferenceTarget {}

impl PartialOrd for ReferenceTarget {
    fn partial_cmp(&self, other: &ReferenceTarget) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ReferenceTarget {
    fn cmp(&self, other: &ReferenceTarget) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for ReferenceTarget {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The two references that hold the links between documents: the one that a write changes, and the one on the other side. Of a field that
/// is its own other side both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TwoWay {
    pub(crate) edge: EdgeId,
    pub(crate) other: EdgeId,
}

impl TwoWay {
    /// The same links as documents on the other side hold them.
    pub(crate) fn reversed(self) -> TwoWay {
        TwoWay {
            edge: self.other,
            other: self.edge,
        }
    }
}

/// A reference: the field of one document that names documents of another type, or of its own.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) id: EdgeId,
    /// The document that holds it.
    pub(crate) holder: &'static DocumentMeta,
    /// Where it is stored: the dotted path, with no sign of the arrays on its way.
    pub(crate) path: String,
    /// The same in parts.
    pub(crate) segments: Vec<Segment>,
    /// The field.
    pub(crate) field: &'static FieldMeta,
    /// Whether it is an array of references.
    pub(crate) list: bool,
    /// How many there may be in the array.
    pub(crate) max: Option<u64>,
    /// The same of the array whose items it stands in.
    pub(crate) max_items: Option<u64>,
    /// Its declaration.
    pub(crate) reference: &'static ReferenceMeta,
    /// The documents that it may refer to, in the order of the declaration.
    pub(crate) targets: Vec<ReferenceTarget>,
    /// The edge that refers back, of a two-way reference; of a field that is its own other side, itself.
    pub(crate) inverse: Option<EdgeId>,
    /// Whether this side of a two-way reference is believed where the two differ.
    pub(crate) owner: bool,
    /// The fields beside it that copy fields of its target.
    pub(crate) copies: Vec<CopyField>,
}

/// A field that copies one of the document that the reference beside it names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyField {
    /// Its stored name, in the struct that the reference stands in.
    pub(crate) name: &'static str,
    /// The dotted name of the field in the source.
    pub(crate) source: &'static str,
    /// When it follows.
    pub(crate) consistency: Consistency,
    /// Whether the field can't be missing.
    pub(crate) required: bool,
}

/// A field that is derived from the children of its document.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    pub(crate) id: DerivedId,
    /// The document that holds it.
    pub(crate) parent: &'static DocumentMeta,
    /// The field.
    pub(crate) field: &'static FieldMeta,
    /// The children.
    pub(crate) child: &'static DocumentMeta,
    /// The parent, as the target of the reference by which a child names it.
    pub(crate) target: ReferenceTarget,
    /// How it is derived.
    pub(crate) what: Derivation,
    /// Which of the children that are not deleted count.
    pub(crate) filter: Option<Document>,
    /// When it follows.
    pub(crate) consistency: Consistency,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Derivation {
    Subset(&'static Subset),
    Computed {
        operation: Operation,
        /// The dotted name of the field that it is computed of; of a count empty.
        of: &'static str,
    },
}

/// The dotted name that these parts make.
pub(crate) fn path(segments: &[Segment]) -> String {
    let names: Vec<&str> = segments.iter().map(|segment| segment.name.as_str()).collect();
    names.join(".")
}

impl Derived {
    /// The value in a document without children; `None` where the field is left out.
    pub(crate) fn nothing(&self) -> Option<Bson> {
        match self.what {
            Derivation::Subset(subset) => self.or_missing(subset.value(Vec::new())),
            Derivation::Computed { operation, .. } => match operation {
                Operation::Count | Operation::Sum => Some(self.whole(0)),
                Operation::Avg => Some(doc! { "sum": 0.0, "count": 0_i64 }.into()),
                Operation::Min | Operation::Max => self.or_missing(None),
            },
        }
    }

    /// A field without a value is left out, or `null` where it can't be missing.
    pub(crate) fn or_missing(&self, value: Option<Bson>) -> Option<Bson> {
        value.or_else(|| self.field.required.then_some(Bson::Null))
    }

    /// A whole number as the field stores numbers.
    pub(crate) fn whole(&self, n: i64) -> Bson {
        match (self.field.shape)() {
            Shape::Int { .. } => i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32),
            Shape::Double => Bson::Double(n as f64),
            Shape::Decimal => n.to_string().parse().map_or(Bson::Int64(n), Bson::Decimal128),
            _ => Bson::Int64(n),
        }
    }

    /// The condition of the children that count.
    pub(crate) fn counted(&self) -> Option<Document> {
        let filter = self.filter.clone();
        match self.child.soft_delete {
            // A deleted child counts no more.
            Some(name) => Some(match filter {
                Some(filter) => doc! { "$and": [filter, { name: null }] },
                None => doc! { name: null },
            }),
            None => filter,
        }
    }

    /// The order and the limit by which children are kept, where it holds some of them.
    pub(crate) fn subset(&self) -> Option<&'static Subset> {
        match self.what {
            Derivation::Subset(subset) => Some(subset),
            Derivation::Computed { .. } => None,
        }
    }

    /// Where it is kept for documents, in words: `products.reviews`.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.parent.collection, self.field.name)
    }
}

impl Edge {
    /// The copies beside the reference and their version, which are given back with it: those that stand in no array.
    pub(crate) fn fields_beside(&self) -> impl Iterator<Item = String> {
        let copies = (self.array().is_none() && !self.copies.is_empty()).then_some(&self.copies);
        let version = copies.map(|_| self.version_path());
        let names = copies.into_iter().flatten().map(|copy| self.copy_path(copy));
        names.chain(version)
    }

    /// The path of a copy beside it.
    pub(crate) fn copy_path(&self, copy: &CopyField) -> String {
        self.beside(copy.name)
    }

    /// The path of a field beside it.
    pub(crate) fn beside(&self, name: &str) -> String {
        match self.path.rsplit_once('.') {
            Some((prefix, _)) => format!("{prefix}.{name}"),
            None => name.to_owned(),
        }
    }

    /// Its own stored name.
    pub(crate) fn name(&self) -> &str {
        self.segments.last().map_or("", |last| last.name.as_str())
    }

    /// The array whose items hold it, if it stands in one: how many of the segments lead there.
    pub(crate) fn array(&self) -> Option<usize> {
        self.segments
            .iter()
            .position(|segment| segment.array)
            .map(|at| at + 1)
    }

    /// Whether it is the document's id, or in it.
    pub(crate) fn is_in_id(&self) -> bool {
        self.segments.first().is_some_and(|segment| segment.name == "_id")
    }

    /// Whether it stands in an item of an array with copies of its target: an extended reference.
    pub(crate) fn is_entry(&self) -> bool {
        !self.copies.is_empty() && !self.list && self.array() == Some(self.segments.len().saturating_sub(1))
    }

    /// The bound of the array that it is in, or that of the items in which it stands with copies.
    pub(crate) fn bound(&self) -> Option<u64> {
        if self.list {
            self.max
        } else {
            self.max_items.filter(|_| self.is_entry())
        }
    }

    /// The copies that may be found where the reference is empty, and are nothing then: where it may be empty at all.
    pub(crate) fn bare_copies(&self) -> impl Iterator<Item = &CopyField> {
        let followed = |copy: &&CopyField| copy.consistency != Consistency::Snapshot && !self.field.required;
        self.copies.iter().filter(followed)
    }

    /// The stored name of the target's field whose value is the reference.
    pub(crate) fn by(&self) -> &'static str {
        (self.reference.by)()
    }

    /// Whether a document may name one that does not exist: it may be inserted later.
    pub(crate) fn may_name_missing(&self) -> bool {
        !self.reference.check || self.reference.on_delete == OnDelete::Keep
    }

    /// Whether both sides hold it.
    pub(crate) fn is_two_way(&self) -> bool {
        self.inverse.is_some()
    }

    /// It and the other side of a two-way reference.
    pub(crate) fn two_way(&self) -> Option<TwoWay> {
        let other = self.inverse?;
        Some(TwoWay { edge: self.id, other })
    }

    /// The stored name of the document's own field that it stands in.
    pub(crate) fn root(&self) -> &str {
        self.segments.first().map_or("", |first| first.name.as_str())
    }

    /// All references of this edge in a document, `null` and missing ones left out. Of a union they are documents:
    /// [`points`](Edge::points) says what they mean.
    pub(crate) fn values<'d>(&self, document: &'d RawDocument) -> impl Iterator<Item = RawBsonRef<'d>> {
        let mut values = Vec::new();
        if let Some((first, rest)) = self.segments.split_first()
            && let Some(value) = document.get(&first.name).ok().flatten()
        {
            collect(value, first.array, rest, &mut values);
        }
        values.into_iter()
    }

    /// The references in the value of a field that stands `depth` segments into the path. `item` says that the value is an
    /// item of the array there.
    pub(crate) fn values_below<'d>(
        &self,
        depth: usize,
        item: bool,
        value: RawBsonRef<'d>,
    ) -> impl Iterator<Item = RawBsonRef<'d>> {
        let mut values = Vec::new();
        if let Some(last) = depth.checked_sub(1).and_then(|at| self.segments.get(at)) {
            let rest = self.segments.get(depth..).unwrap_or_default();
            collect(value, last.array && !item, rest, &mut values);
        }
        values.into_iter()
    }

    /// The references of this edge in a document, each with the struct that it stands in: that of the copies beside it.
    pub(crate) fn values_beside<'d>(
        &self,
        document: &'d RawDocument,
    ) -> Vec<(&'d RawDocument, RawBsonRef<'d>)> {
        let Some((last, outer)) = self.segments.split_last() else {
            return Vec::new();
        };
        let mut structs = vec![document];
        for segment in outer {
            let below = structs.iter().filter_map(|one| one.get(&segment.name).ok()?);
            structs = below.flat_map(documents_in).collect();
        }
        let values = structs.into_iter().flat_map(|one| {
            let mut values = Vec::new();
            if let Some(value) = one.get(&last.name).ok().flatten() {
                collect(value, last.array, &[], &mut values);
            }
            values.into_iter().map(move |value| (one, value))
        });
        values.collect()
    }

    /// The target that a stored reference names, and the key in it. `None` where a union has a tag of no target.
    pub(crate) fn points<'d>(&self, value: RawBsonRef<'d>) -> Option<(ReferenceTarget, RawBsonRef<'d>)> {
        if !self.reference.union {
            return self.targets.first().map(|target| (*target, value));
        }
        let RawBsonRef::Document(document) = value else {
            return None;
        };
        let tag = document.get_str("type").ok()?;
        let target = self.targets.iter().find(|target| target.tag == tag)?;
        Some((*target, document.get("id").ok().flatten()?))
    }

    /// The keys of all references to this target.
    pub(crate) fn keys(&self, target: ReferenceTarget, document: &RawDocument) -> Vec<Key> {
        self.values(document)
            .filter_map(|value| self.points(value))
            .filter(|(named, _)| *named == target)
            .map(|(_, key)| Key::of(key))
            .collect()
    }

    /// The keys of all references, whatever their target.
    pub(crate) fn all_keys(&self, document: &RawDocument) -> Vec<Key> {
        let named = self.values(document).filter_map(|value| self.points(value));
        named.map(|(_, key)| Key::of(key)).collect()
    }

    /// The only type of documents that it refers to; of a union the first.
    pub(crate) fn first_target(&self) -> Option<&'static DocumentMeta> {
        self.targets.first().map(|target| target.meta)
    }

    /// The condition of the documents that refer to one of these keys of this target.
    pub(crate) fn holders_of(&self, target: ReferenceTarget, keys: Vec<Bson>) -> Document {
        if !self.reference.union {
            return doc! { &self.path: { "$in": keys } };
        }
        let tag = target.tag;
        // Type and id have to be those of one item.
        match self.in_items() {
            None => doc! {
                format!("{}.type", self.path): tag,
                format!("{}.id", self.path): { "$in": keys },
            },
            Some((array, inner)) => {
                let item = doc! { format!("{inner}type"): tag, format!("{inner}id"): { "$in": keys } };
                doc! { array: { "$elemMatch": item } }
            }
        }
    }

    /// The array in whose items it stands, and the beginning of its name in them.
    pub(crate) fn in_items(&self) -> Option<(String, String)> {
        let at = self.segments.iter().rposition(|segment| segment.array)?;
        let (array, rest) = self.segments.split_at(at + 1);
        let inner = match rest {
            [] => String::new(),
            rest => format!("{}.", path(rest)),
        };
        Some((path(array), inner))
    }

    /// The target that documents of this type are.
    pub(crate) fn target(&self, meta: &DocumentMeta) -> Option<ReferenceTarget> {
        self.targets.iter().find(|target| is(target.meta, meta)).copied()
    }

    /// Whether this side of a link is believed where the two differ: the document `holder` says whether it is linked to
    /// `target`. Of a field that is its own other side, the document with the lesser id is.
    pub(crate) fn is_authority(&self, holder: &Key, target: &Key) -> bool {
        if self.inverse == Some(self.id) {
            holder <= target
        } else {
            self.owner
        }
    }

    /// The update that makes a single reference empty: a field that can't be missing is `null` then.
    pub(crate) fn cleared(&self) -> Document {
        if self.field.required {
            doc! { "$set": { &self.path: null } }
        } else {
            doc! { "$unset": { &self.path: "" } }
        }
    }
}

/// The document that a value is, or the documents of an array.
fn documents_in(value: RawBsonRef<'_>) -> Vec<&RawDocument> {
    match value {
        RawBsonRef::Document(document) => vec![document],
        RawBsonRef::Array(items) => {
            let items = items.into_iter().map_while(|item| item.ok());
            items.filter_map(|item| item.as_document()).collect()
        }
        _ => Vec::new(),
    }
}

fn collect<'d>(value: RawBsonRef<'d>, array: bool, rest: &[Segment], values: &mut Vec<RawBsonRef<'d>>) {
    if array {
        if let RawBsonRef::Array(items) = value {
            for item in items.into_iter().map_while(|item| item.ok()) {
                collect(item, false, rest, values);
            }
        }
        return;
    }
    let Some((next, rest)) = rest.split_first() else {
        if value != RawBsonRef::Null {
            values.push(value);
        }
        return;
    };
    let below = match value {
        RawBsonRef::Document(document) => document.get(&next.name).ok().flatten(),
        // A tuple.
        RawBsonRef::Array(items) => next
            .name
            .parse()
            .ok()
            .and_then(|at: usize| items.get(at).ok().flatten()),
        _ => None,
    };
    if let Some(below) = below {
        collect(below, next.array, rest, values);
    }
}
