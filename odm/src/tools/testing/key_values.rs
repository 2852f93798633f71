//! The values of a shard key that a filter names, as a router of a sharded cluster reads them: a document that matches the filter has no
//! others.
//!
//! A field of the key is known by an equality, by `$in` or, if it is not hashed, by a range; of an `$or` each branch has to name
//! it. Any other condition (`$ne`, `$expr`, a pattern) leaves all values, and so does the comparison of texts by a collation. The
//! first field with more than one value multiplies the ranges. Each field behind it is widened to one range, from its least to its
//! greatest value, and is not known if it is hashed: `{ $or: [{ a: 1, b: 1 }, { a: 2, b: 2 }] }` names two ranges of `b`, and not two
//! values.

use crate::model::compare::{compare, same};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::schema::index::collation;
use crate::store::filter::is_of_operators;
use mongodb::bson::{Bson, Document};
use std::cmp::Ordering;
use std::collections::HashSet;

/// The shard key of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardKey {
    /// Its fields, in the order of the key.
    pub fields: Vec<KeyField>,
    /// The collation of the collection, if it has one.
    pub collation: Option<Document>,
}

/// A field of a shard key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyField {
    /// Its path in a stored document.
    pub path: String,
    /// Whether the documents are distributed by a hash of its value.
    pub is_hashed: bool,
}

impl ShardKey {
    /// The key of a collection without a collation: each field, and whether it is hashed.
    pub fn new<'a>(fields: impl IntoIterator<Item = (&'a str, bool)>) -> ShardKey {
        let field = |(path, is_hashed): (&str, bool)| KeyField {
            path: path.to_owned(),
            is_hashed,
        };
        ShardKey {
            fields: fields.into_iter().map(field).collect(),
            collation: None,
        }
    }

    /// The declared key of a document.
    pub fn of(meta: &DocumentMeta) -> Option<ShardKey> {
        let fields = meta.shard_key?.fields.iter();
        let mut key = ShardKey::new(fields.map(|field| (field.path, field.hashed)));
        key.collation = meta.collation.map(collation);
        Some(key)
    }

    /// Whether a statement compares texts otherwise than byte by byte.
    pub(super) fn is_collated(&self, given: Option<&Document>) -> bool {
        let collation = given.or(self.collation.as_ref());
        collation.is_some_and(|collation| !collation.get_str("locale").is_ok_and(|locale| locale == "simple"))
    }

    /// The values of the key that a filter names.
    pub fn values(&self, filter: &Document, is_collated: bool) -> KeyValues {
        if let Some(values) = self.exact(filter)
            && !(is_collated && values.iter().any(is_collatable))
        {
            return KeyValues::of(values);
        }
        let read = Conditions::of(filter).values(self, is_collated);
        let values = read.unwrap_or_else(|| vec![None; self.fields.len()]);
        KeyValues {
            ranges: ranges(&self.fields, values),
        }
    }

    /// The value of each field of the key, where equalities of the filter name all of them, each once.
    pub(super) fn exact(&self, filter: &Document) -> Option<Vec<Bson>> {
        let paths: Vec<&str> = self.fields.iter().map(|field| field.path.as_str()).collect();
        exact(filter, &paths)
    }

    /// The first field that no equality of the filter names, or that stands in it twice.
    pub(super) fn not_exact(&self, filter: &Document) -> Option<&str> {
        let paths = self.fields.iter().map(|field| field.path.as_str());
        let mut unknown = paths.filter(|path| exact(filter, &[path]).is_none());
        unknown.next()
    }
}

/// Whether a collation decides to what a value is equal.
pub(super) fn is_collatable(value: &Bson) -> bool {
    matches!(
        value,
        Bson::String(_) | Bson::Symbol(_) | Bson::Document(_) | Bson::Array(_)
    )
}

/// Whether a document can have this value in its key, and a filter names it by an equality.
fn is_value(value: &Bson) -> bool {
    !matches!(
        value,
        Bson::Array(_) | Bson::RegularExpression(_) | Bson::Undefined | Bson::MinKey | Bson::MaxKey
    )
}

/// The values of these fields, where equalities of the filter name all of them. A router infers none from a filter in which one of
/// them stands twice.
pub(super) fn exact(filter: &Document, paths: &[&str]) -> Option<Vec<Bson>> {
    let mut equal: Vec<(&str, &Bson)> = Vec::new();
    for (path, predicate) in Conditions::of(filter).predicates {
        let Some(value) = predicate.equality() else {
            continue;
        };
        if !paths.iter().any(|of| is_within(of, path) || is_within(path, of)) {
            continue;
        }
        // A value of a part of a key's field says nothing of the whole.
        let is_part = paths.iter().any(|of| *of != path && is_within(path, of));
        let is_twice = equal
            .iter()
            .any(|(other, _)| is_within(other, path) || is_within(path, other));
        if is_part || is_twice {
            return None;
        }
        equal.push((path, value));
    }
    let value = |path: &&str| {
        let (at, value) = equal.iter().find(|(at, _)| is_within(path, at))?;
        let value = match path.strip_prefix(at)?.strip_prefix('.') {
            Some(rest) => value_at(value.as_document()?, rest).ok()??,
            None => value,
        };
        is_value(value).then(|| value.clone())
    };
    paths.iter().map(value).collect()
}

/// Whether a path is another one, or one of a field within it.
fn is_within(path: &str, of: &str) -> bool {
    path.strip_prefix(of)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// An array on the path of a field, or in its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HasArray;

/// The value of a field in a document, if it has one.
pub(super) fn value_at<'d>(document: &'d Document, path: &str) -> Result<Option<&'d Bson>, HasArray> {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    match (document.get(name), rest) {
        (Some(Bson::Array(_)), _) => Err(HasArray),
        (Some(Bson::Document(inner)), Some(rest)) => value_at(inner, rest),
        (value, None) => Ok(value),
        (_, Some(_)) => Ok(None),
    }
}

/// The values of a shard key that a filter names: ranges of its fields. Without a range, no document matches.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValues {
    ranges: Vec<KeyRange>,
}

/// The values of each field of the key. `None` stands for all.
pub type KeyRange = Vec<Option<Interval>>;

/// A range of values of one type, or one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// As in the order of the server: numbers of all types are one.
    kind: u8,
    low: Option<Edge>,
    high: Option<Edge>,
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The value.
    pub value: Bson,
    /// Whether it belongs to the range.
    pub is_in: bool,
}

impl KeyValues {
    /// One value of a key, by those of its fields.
    pub(super) fn of(values: Vec<Bson>) -> KeyValues {
        let fields = values.into_iter().map(Interval::point).map(Some);
        KeyValues {
            ranges: vec![fields.collect()],
        }
    }

    /// Every value of a key.
    pub(super) fn all(key: &ShardKey) -> KeyValues {
        KeyValues {
            ranges: vec![vec![None; key.fields.len()]],
        }
    }

    /// The ranges.
    pub fn ranges(&self) -> &[KeyRange] {
        &self.ranges
    }

    /// Whether the key of a document is among them: the value of each of its fields, null where it has none.
    pub fn contain(&self, key: &[Bson]) -> bool {
        let is_in = |(values, value): (&Option<Interval>, &Bson)| {
            let values = values.as_ref();
            values.is_none_or(|values| values.contains(value))
        };
        let mut ranges = self.ranges.iter();
        ranges.any(|range| range.len() == key.len() && range.iter().zip(key).all(is_in))
    }

    /// The position of the first field of the key that has no single value in a range.
    pub(super) fn unknown(&self) -> Option<usize> {
        let is_open = |values: &Option<Interval>| !values.as_ref().is_some_and(Interval::is_point);
        let ranges = self.ranges.iter();
        ranges.filter_map(|range| range.iter().position(is_open)).min()
    }

    /// The first field with a value that a collation compares.
    pub(super) fn text(&self, key: &ShardKey) -> Option<String> {
        let is_text = |values: &Option<Interval>| {
            let low = values.as_ref().and_then(Interval::low);
            low.is_some_and(|low| is_collatable(&low.value))
        };
        let mut ranges = self.ranges.iter();
        let at = ranges.find_map(|range| range.iter().position(is_text))?;
        Some(key.fields.get(at)?.path.clone())
    }

    /// Whether every value of the first field is among them.
    pub(super) fn is_unbounded(&self) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|range| matches!(range.first(), Some(None)))
    }
}

impl Interval {
    fn point(value: Bson) -> Interval {
        let edge = Edge { value, is_in: true };
        Interval {
            kind: kind(&edge.value),
            low: Some(edge.clone()),
            high: Some(edge),
        }
    }

    /// The values that `$gt`, `$gte`, `$lt` or `$lte` of a value matches: those of its type.
    fn compared(operator: &str, value: &Bson) -> Option<Interval> {
        let is_ordered = !is_collatable(value) || matches!(value, Bson::String(_));
        if !is_ordered || compare(value, value) != Some(Ordering::Equal) || *value == Bson::Null {
            return None;
        }
        let edge = |is_in| {
            let value = value.clone();
            Some(Edge { value, is_in })
        };
        let (low, high) = match operator {
            "$gt" => (edge(false), None),
            "$gte" => (edge(true), None),
            "$lt" => (None, edge(false)),
            "$lte" => (None, edge(true)),
            _ => return None,
        };
        let kind = kind(value);
        Some(Interval { kind, low, high })
    }

    /// Its least value, if it has one.
    pub fn low(&self) -> Option<&Edge> {
        self.low.as_ref()
    }

    /// Its greatest value, if it has one.
    pub fn high(&self) -> Option<&Edge> {
        self.high.as_ref()
    }

    /// Whether it is one value.
    pub fn is_point(&self) -> bool {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => low.is_in && high.is_in && same(&low.value, &high.value),
            _ => false,
        }
    }

    fn contains(&self, value: &Bson) -> bool {
        let is_behind = |edge: &Edge, wanted: Ordering| match compare(value, &edge.value) {
            Some(Ordering::Equal) => edge.is_in,
            Some(order) => order == wanted,
            None => edge.is_in && same(value, &edge.value),
        };
        self.kind == kind(value)
            && self
                .low
                .as_ref()
                .is_none_or(|low| is_behind(low, Ordering::Greater))
            && self
                .high
                .as_ref()
                .is_none_or(|high| is_behind(high, Ordering::Less))
    }

    /// The values of both, if there may be any.
    fn both(&self, other: &Interval) -> Option<Interval> {
        if self.kind != other.kind {
            return None;
        }
        if self.is_point() || other.is_point() {
            let (point, rest) = if self.is_point() {
                (self, other)
            } else {
                (other, self)
            };
            let value = &point.low.as_ref()?.value;
            return rest.contains(value).then(|| point.clone());
        }
        let both = Interval {
            kind: self.kind,
            low: inner(&self.low, &other.low, Ordering::Greater),
            high: inner(&self.high, &other.high, Ordering::Less),
        };
        let is_empty = match (&both.low, &both.high) {
            (Some(low), Some(high)) => match compare(&low.value, &high.value) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => !(low.is_in && high.is_in),
                _ => false,
            },
            _ => false,
        };
        (!is_empty).then_some(both)
    }

    /// The range from the least to the greatest value of both.
    fn hull(&self, other: &Interval) -> Option<Interval> {
        (self.kind == other.kind).then(|| Interval {
            kind: self.kind,
            low: outer(&self.low, &other.low, Ordering::Less),
            high: outer(&self.high, &other.high, Ordering::Greater),
        })
    }
}

/// The end that leaves fewer values. `order` is that of the end which does to the other one.
fn inner(a: &Option<Edge>, b: &Option<Edge>, order: Ordering) -> Option<Edge> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let is_first = match compare(&a.value, &b.value) {
                Some(Ordering::Equal) => !a.is_in,
                other => other == Some(order),
            };
            Some(if is_first { a.clone() } else { b.clone() })
        }
        (one, None) | (None, one) => one.clone(),
    }
}

/// The end that leaves more values. `order` is that of the end which does to the other one.
fn outer(a: &Option<Edge>, b: &Option<Edge>, order: Ordering) -> Option<Edge> {
    let (a, b) = (a.as_ref()?, b.as_ref()?);
    let is_first = match compare(&a.value, &b.value) {
        Some(Ordering::Equal) => a.is_in,
        // Two values without an order are the ends of no range.
        None => return None,
        Some(other) => other == order,
    };
    Some(if is_first { a.clone() } else { b.clone() })
}

/// The position of a type in the order of the server.
fn kind(value: &Bson) -> u8 {
    match value {
        Bson::MinKey => 0,
        Bson::Undefined => 1,
        Bson::Null => 2,
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => 3,
        Bson::String(_) | Bson::Symbol(_) => 4,
        Bson::Document(_) => 5,
        Bson::Array(_) => 6,
        Bson::Binary(_) => 7,
        Bson::ObjectId(_) => 8,
        Bson::Boolean(_) => 9,
        Bson::DateTime(_) => 10,
        Bson::Timestamp(_) => 11,
        Bson::RegularExpression(_) => 12,
        Bson::DbPointer(_) => 13,
        Bson::JavaScriptCode(_) => 14,
        Bson::JavaScriptCodeWithScope(_) => 15,
        Bson::MaxKey => 16,
    }
}

/// A field's values: all of them (`None`), or those of these intervals.
type FieldValues = Option<Vec<Interval>>;

/// The ranges of a key by the values of its fields.
fn ranges(fields: &[KeyField], values: Vec<FieldValues>) -> Vec<KeyRange> {
    if values.iter().flatten().any(Vec::is_empty) {
        return Vec::new();
    }
    let mut ranges = vec![KeyRange::new()];
    let mut is_one = true;
    for (field, values) in fields.iter().zip(values) {
        let alternatives = match values {
            Some(intervals) if is_one => {
                is_one = intervals.len() == 1 && intervals.iter().all(Interval::is_point);
                intervals.into_iter().map(Some).collect()
            }
            values => {
                is_one = false;
                vec![values.and_then(|intervals| widened(field, &intervals))]
            }
        };
        let with_each = |range: KeyRange| {
            let with = |values: &Option<Interval>| {
                let mut range = range.clone();
                range.push(values.clone());
                range
            };
            alternatives.iter().map(with).collect::<Vec<_>>()
        };
        ranges = ranges.into_iter().flat_map(with_each).collect();
    }
    ranges
}

/// One range with all of these.
fn widened(field: &KeyField, intervals: &[Interval]) -> Option<Interval> {
    match intervals {
        [one] => Some(one.clone()),
        // The hashes of values are in another order than these.
        _ if field.is_hashed => None,
        [first, rest @ ..] => rest
            .iter()
            .try_fold(first.clone(), |hull, interval| hull.hull(interval)),
        [] => None,
    }
}

/// The conditions that a document has to match, as far as a router reads them.
#[derive(Default)]
struct Conditions<'f> {
    predicates: Vec<(&'f str, Predicate<'f>)>,
    /// Of each `$or`, its branches.
    alternatives: Vec<Vec<Conditions<'f>>>,
    /// Whether a search of texts or of places is among them, by which a router plans no ranges.
    searches: bool,
}

/// A condition on a field.
enum Predicate<'f> {
    Is(&'f Bson),
    OneOf(&'f [Bson]),
    Compared(&'f str, &'f Bson),
}

impl<'f> Conditions<'f> {
    fn of(filter: &'f Document) -> Conditions<'f> {
        let mut all = Conditions::default();
        all.add(filter);
        all
    }

    fn add(&mut self, filter: &'f Document) {
        for (name, value) in filter {
            match (name.as_str(), value) {
                ("$and", Bson::Array(list)) => {
                    list.iter()
                        .filter_map(Bson::as_document)
                        .for_each(|one| self.add(one));
                }
                ("$or", Bson::Array(list)) => match list.as_slice() {
                    [Bson::Document(one)] => self.add(one),
                    list => {
                        let branches = list.iter().filter_map(Bson::as_document);
                        self.alternatives.push(branches.map(Conditions::of).collect());
                    }
                },
                ("$text", _) => self.searches = true,
                (name, _) if name.starts_with('$') => {}
                (path, Bson::Document(operators)) if is_of_operators(operators) => {
                    self.add_operators(path, operators);
                }
                (_, Bson::RegularExpression(_)) => {}
                (path, value) => self.predicates.push((path, Predicate::Is(value))),
            }
        }
    }

    fn add_operators(&mut self, path: &'f str, operators: &'f Document) {
        for (operator, value) in operators {
            let predicate = match (operator.as_str(), value) {
                ("$eq", value) => Predicate::Is(value),
                ("$in", Bson::Array(list)) => Predicate::OneOf(list),
                ("$gt" | "$gte" | "$lt" | "$lte", value) => Predicate::Compared(operator, value),
                ("$near" | "$nearSphere", _) => {
                    self.searches = true;
                    continue;
                }
                _ => continue,
            };
            self.predicates.push((path, predicate));
        }
    }

    fn has_search(&self) -> bool {
        let mut branches = self.alternatives.iter().flatten();
        self.searches || branches.any(Conditions::has_search)
    }

    /// The values of each field of the key. `None` where the first field is not known: without it, the others tell nothing.
    fn values(&self, key: &ShardKey, is_collated: bool) -> Option<Vec<FieldValues>> {
        if self.has_search() {
            return None;
        }
        self.values_beside(key, is_collated, &vec![None; key.fields.len()])
    }

    /// The same of a branch, beside what the conditions outside of its `$or` say.
    fn values_beside(
        &self,
        key: &ShardKey,
        is_collated: bool,
        outside: &[FieldValues],
    ) -> Option<Vec<FieldValues>> {
        let own: Vec<FieldValues> = key
            .fields
            .iter()
            .map(|field| self.of_field(field, is_collated))
            .collect();
        let has_own = own.iter().any(Option::is_some);
        let direct: Vec<FieldValues> = own
            .into_iter()
            .zip(outside)
            .map(|(own, outside)| own.or_else(|| outside.clone()))
            .collect();
        let of_branches = |branches: &Vec<Conditions<'_>>| {
            let all: Option<Vec<_>> = branches
                .iter()
                .map(|branch| branch.values_beside(key, is_collated, &direct))
                .collect();
            all?.into_iter().reduce(|all, branch| {
                let unions = all.into_iter().zip(branch);
                unions.map(|(a, b)| union(a, b)).collect()
            })
        };
        let alternatives = self.alternatives.iter().find_map(of_branches);
        // A branch counts if it names a field of the key itself.
        alternatives.or_else(|| (has_own && direct.first()?.is_some()).then_some(direct))
    }

    /// The values of a field that its own conditions leave.
    fn of_field(&self, field: &KeyField, is_collated: bool) -> FieldValues {
        let own = self.predicates.iter().filter(|(path, _)| *path == field.path);
        let values = own.filter_map(|(_, predicate)| predicate.values(field, is_collated));
        values.reduce(|a, b| {
            let pairs = a
                .iter()
                .flat_map(|one| b.iter().filter_map(|other| one.both(other)));
            pairs.collect()
        })
    }
}

impl<'f> Predicate<'f> {
    /// The one value that it allows.
    fn equality(&self) -> Option<&'f Bson> {
        match *self {
            Predicate::Is(value) => Some(value),
            Predicate::OneOf([value, rest @ ..]) => {
                let is_one =
                    !matches!(value, Bson::RegularExpression(_)) && rest.iter().all(|one| same(one, value));
                is_one.then_some(value)
            }
            _ => None,
        }
    }

    /// The values that it allows, where a router can tell.
    fn values(&self, field: &KeyField, is_collated: bool) -> FieldValues {
        let is_known = |value: &Bson| is_value(value) && !(is_collated && is_collatable(value));
        match *self {
            Predicate::Is(value) => is_known(value).then(|| vec![Interval::point(value.clone())]),
            Predicate::OneOf(list) => list.iter().all(is_known).then(|| {
                let mut seen = HashSet::new();
                let once = list.iter().filter(|value| seen.insert(Key::of_bson(value)));
                once.map(|value| Interval::point(value.clone())).collect()
            }),
            Predicate::Compared(operator, value) if is_known(value) && !field.is_hashed => {
                Interval::compared(operator, value).map(|interval| vec![interval])
            }
            Predicate::Compared(..) => None,
        }
    }
}

fn union(a: FieldValues, b: FieldValues) -> FieldValues {
    let (mut a, b) = (a?, b?);
    let is_new = |interval: &Interval| {
        let value = interval.low.as_ref().map(|low| &low.value);
        !(interval.is_point() && value.is_some_and(|value| a.iter().any(|one| one.contains(value))))
    };
    let new: Vec<Interval> = b.into_iter().filter(is_new).collect();
    a.extend(new);
    Some(a)
}
