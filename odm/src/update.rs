//! Changes of a document, built from typed paths: the operators, what must hold for them, and what breaks a bound.

use crate::filter::{Element, Filter, below};
use crate::operand::{Operand, encode};
use crate::path::{Codec, Nested, Path, Plain, Root, Single, Writable};
use crate::shape::{FieldMeta, Managed, Number};
use crate::value::{Array, List, Numeric};
use crate::{Error, Result, Rule, Violation, check};
use mongodb::bson::{Bson, DateTime, Document, RawDocumentBuf, cstr, doc};
use std::marker::PhantomData;

/// What closures receive paths of: a document, or the items of an array.
pub trait Rooted {
    /// The paths.
    type Paths: Copy;
    /// Their value.
    fn rooted() -> Self::Paths;
}

impl<T: crate::Document> Rooted for T {
    type Paths = T::Paths;
    fn rooted() -> T::Paths {
        T::paths()
    }
}

impl<I: Nested> Rooted for Element<I> {
    type Paths = &'static I::Fields<Element<I>, Root>;
    fn rooted() -> Self::Paths {
        I::fields::<Element<I>, Root>()
    }
}

/// A list of changes to a document of type `R`, or to an item of an array. [`Change`] has the methods.
#[must_use = "changes do nothing until an update takes them"]
pub struct Changes<R> {
    operators: Document,
    array_filters: Vec<Document>,
    guards: Vec<Guard>,
    checks: Vec<Check>,
    error: Option<Box<Error>>,
    of: PhantomData<fn() -> R>,
}

/// Something that must hold of the stored document, so that the change keeps its bounds: part of the update's own filter,
/// hence atomic.
#[derive(Clone, Debug)]
pub(crate) enum Guard {
    /// The array has room for `more` items.
    Room {
        name: String,
        more: u64,
        max: u64,
        /// For a set: values that are no new items if they are there already.
        unless_there: Option<Vec<Bson>>,
    },
    /// The map has room for the entry, or has it already.
    Entry { name: String, key: String, max: u64 },
    /// The number stays within its bounds when `by` is added.
    Sum { name: String, by: Number, bound: Number },
    /// The array is there: an update of its items is an error on a document that lacks it.
    There { name: String },
}

impl Guard {
    /// As a condition of MongoDB's.
    pub(crate) fn condition(&self) -> Document {
        match self {
            Guard::Room {
                name,
                more,
                max,
                unless_there,
            } => {
                // Room for `more` means that position `max - more` is free: an index lookup within the document.
                let room = doc! { format!("{name}.{}", max - more): { "$exists": false } };
                match unless_there {
                    Some(values) => doc! { "$or": [room, { name: { "$all": values.clone() } }] },
                    None => room,
                }
            }
            Guard::Entry { name, key, max } => doc! { "$or": [
                { format!("{name}.{key}"): { "$exists": true } },
                { "$expr": { "$lt": [
                    { "$size": { "$objectToArray": { "$ifNull": [format!("${name}"), {}] } } },
                    { "$literal": *max as i64 },
                ] } },
            ] },
            Guard::Sum { name, by, bound } => {
                let operator = if by.is_positive() { "$gt" } else { "$lt" };
                doc! { name: { "$not": { operator: bound.minus(*by) } } }
            }
            Guard::There { name } => doc! { name: { "$type": "array" } },
        }
    }

    /// The stored name of the field that it looks at.
    pub(crate) fn name(&self) -> &str {
        match self {
            Guard::Room { name, .. }
            | Guard::Entry { name, .. }
            | Guard::Sum { name, .. }
            | Guard::There { name } => name,
        }
    }

    /// Whether the field's stored value holds the change back, and with which error.
    pub(crate) fn refusal(
        &self,
        collection: &'static str,
        id: &Bson,
        stored: Option<&Bson>,
    ) -> Option<Error> {
        match (self, stored) {
            (
                Guard::Room {
                    name,
                    more,
                    max,
                    unless_there,
                },
                Some(Bson::Array(items)),
            ) => {
                let there = unless_there
                    .as_ref()
                    .is_some_and(|values| values.iter().all(|v| items.contains(v)));
                (items.len() as u64 + more > *max && !there).then(|| Error::ArrayFull {
                    collection,
                    id: Box::new(id.clone()),
                    field: name.clone(),
                    max: *max,
                })
            }
            (Guard::Entry { name, key, max }, Some(Bson::Document(entries))) => {
                (entries.len() as u64 >= *max && !entries.contains_key(key)).then(|| Error::ArrayFull {
                    collection,
                    id: Box::new(id.clone()),
                    field: name.clone(),
                    max: *max,
                })
            }
            (Guard::Sum { name, by, bound }, Some(value)) => {
                let sum = match (by.value(), value) {
                    (by, Bson::Int32(n)) => f64::from(*n) + by,
                    (by, Bson::Int64(n)) => *n as f64 + by,
                    (by, Bson::Double(n)) => n + by,
                    _ => return None,
                };
                let (broken, rule) = match by.is_positive() {
                    true => (sum > bound.value(), Rule::Max(*bound)),
                    false => (sum < bound.value(), Rule::Min(*bound)),
                };
                broken.then(|| Error::Invalid {
                    collection: collection.to_owned(),
                    violations: vec![Violation::new(name.clone(), rule, Some(Bson::Double(sum)))],
                    source: None,
                })
            }
            _ => None,
        }
    }
}

/// A value that a change brings, to be checked against the bounds of its field before it is sent.
struct Check {
    path: String,
    field: &'static FieldMeta,
    value: Bson,
    kind: Part,
}

enum Part {
    /// The field's whole value.
    Whole,
    /// An item of its array, or the value of an entry of its map.
    Item,
}

/// The finished update.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) update: Document,
    pub(crate) array_filters: Vec<Document>,
    pub(crate) guards: Vec<Guard>,
}

impl<R> Default for Changes<R> {
    fn default() -> Self {
        Changes {
            operators: Document::new(),
            array_filters: Vec::new(),
            guards: Vec::new(),
            checks: Vec::new(),
            error: None,
            of: PhantomData,
        }
    }
}

impl<R> std::fmt::Debug for Changes<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes")
            .field("operators", &self.operators)
            .field("array_filters", &self.array_filters)
            .finish()
    }
}

impl<R> Changes<R> {
    /// No change yet.
    pub fn new() -> Changes<R> {
        Changes::default()
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.operators.is_empty() && self.error.is_none()
    }

    fn fail(&mut self, error: Error) {
        self.error.get_or_insert_with(|| Box::new(error));
    }

    fn problem(&mut self, message: String) {
        // The collection's name is put in where the update is carried out.
        self.fail(Error::Query {
            collection: "",
            message,
        });
    }

    /// Puts `value` behind `operator` for `name`. A second value is handled by `again`.
    fn put(
        &mut self,
        operator: &'static str,
        name: &str,
        value: Bson,
        again: fn(&mut Bson, Bson) -> Result<(), ()>,
    ) {
        let fields = match self
            .operators
            .entry(operator.to_owned())
            .or_insert_with(|| Bson::Document(Document::new()))
        {
            Bson::Document(fields) => fields,
            _ => return self.problem(format!("`{operator}` of a raw update is not a document")),
        };
        let clash = match fields.get_mut(name) {
            Some(before) => again(before, value).is_err(),
            None => {
                fields.insert(name, value);
                false
            }
        };
        if clash {
            self.problem(format!(
                "one update holds two different changes of `{name}` by `{operator}`: make them one"
            ));
        }
    }

    fn check(&mut self, path: &str, field: Option<&'static FieldMeta>, value: &Bson, kind: Part) {
        if let Some(field) = field {
            self.checks.push(Check {
                path: path.to_owned(),
                field,
                value: value.clone(),
                kind,
            });
        }
    }

    fn value(&mut self, value: Result<Bson>) -> Option<Bson> {
        match value {
            Ok(value) => Some(value),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    fn whole<V, C: Codec<V>>(
        &mut self,
        operator: &'static str,
        name: &str,
        field: Option<&'static FieldMeta>,
        value: impl Operand<V>,
        again: fn(&mut Bson, Bson) -> Result<(), ()>,
    ) {
        if let Some(value) = self.value(encode::<V, C>(name, value)) {
            self.check(name, field, &value, Part::Whole);
            self.put(operator, name, value, again);
        }
    }

    fn add(&mut self, name: &str, field: Option<&'static FieldMeta>, by: &Bson) {
        let by = match by {
            Bson::Int32(n) => Number::Int((*n).into()),
            Bson::Int64(n) => Number::Int(*n),
            Bson::Double(n) => Number::Float(*n),
            _ => return,
        };
        let Some(bounds) = field.map(|field| field.bounds) else {
            return;
        };
        let bound = if by.is_positive() { bounds.max } else { bounds.min };
        if let Some(bound) = bound
            && by.value() != 0.0
        {
            self.guards.push(Guard::Sum {
                name: name.to_owned(),
                by,
                bound,
            });
        }
    }

    fn items<I: serde::Serialize, V: Operand<I>>(
        &mut self,
        name: &str,
        field: Option<&'static FieldMeta>,
        items: impl IntoIterator<Item = V>,
    ) -> Vec<Bson> {
        let mut values = Vec::new();
        for item in items {
            if let Some(value) = self.value(encode::<I, Plain>(name, item)) {
                self.check(name, field, &value, Part::Item);
                values.push(value);
            }
        }
        values
    }

    /// Keeps the array within its bound when `values` come to it.
    fn room(&mut self, name: &str, field: Option<&'static FieldMeta>, values: &[Bson], set: bool) {
        let Some(max) = field.and_then(|field| field.bounds.max_items) else {
            return;
        };
        let before = self.guards.iter_mut().find_map(|guard| match guard {
            Guard::Room {
                name: of,
                more,
                unless_there,
                ..
            } if of == name => Some((more, unless_there)),
            _ => None,
        });
        let more = match before {
            Some((more, unless_there)) => {
                *more += values.len() as u64;
                if let Some(there) = unless_there {
                    there.extend_from_slice(values);
                }
                *more
            }
            None => {
                let more = values.len() as u64;
                let unless_there = set.then(|| values.to_vec());
                self.guards.push(Guard::Room {
                    name: name.to_owned(),
                    more,
                    max,
                    unless_there,
                });
                more
            }
        };
        if more > max {
            self.guards
                .retain(|guard| !matches!(guard, Guard::Room { name: of, .. } if of == name));
            self.fail(Error::Invalid {
                collection: String::new(),
                violations: vec![Violation::new(name, Rule::MaxItems(max), None)],
                source: None,
            });
        }
    }

    fn each(&mut self, operator: &'static str, name: &str, values: Vec<Bson>) {
        self.put(
            operator,
            name,
            doc! { "$each": values }.into(),
            |before, value| match (before, value) {
                (Bson::Document(before), Bson::Document(mut value)) => {
                    match (before.get_array_mut("$each"), value.remove("$each")) {
                        (Ok(list), Some(Bson::Array(more))) => {
                            list.extend(more);
                            Ok(())
                        }
                        _ => Err(()),
                    }
                }
                _ => Err(()),
            },
        );
    }

    /// Takes the changes of items, whose names are relative, as changes below `prefix` (`items.$[e0]`).
    fn below<I>(&mut self, prefix: &str, changes: Changes<I>) {
        if let Some(error) = changes.error {
            self.fail(*error);
        }
        for (operator, fields) in changes.operators {
            let Bson::Document(fields) = fields else { continue };
            let operator = OPERATORS.iter().find(|known| **known == operator).copied();
            let Some(operator) = operator else {
                self.problem("a raw change can't be made to the items of an array".to_owned());
                continue;
            };
            for (name, value) in fields {
                self.put(operator, &format!("{prefix}.{name}"), value, |_, _| Err(()));
            }
        }
        if !changes.guards.is_empty() {
            self.problem(
                "an array inside the items of an array can't be pushed onto with its bound kept: read the item and set it whole"
                    .to_owned(),
            );
        }
        self.checks.extend(changes.checks.into_iter().map(|check| Check {
            path: format!("{}.{}", prefix.replace(".$[", ".["), check.path),
            ..check
        }));
    }
}

const OPERATORS: [&str; 13] = [
    "$set",
    "$unset",
    "$inc",
    "$mul",
    "$min",
    "$max",
    "$push",
    "$pull",
    "$pullAll",
    "$addToSet",
    "$pop",
    "$setOnInsert",
    "$currentDate",
];

impl<T: crate::Document> Changes<T> {
    /// The update as MongoDB takes it, with the library's own changes; or what breaks a bound.
    pub(crate) fn build(mut self, upsert: bool, now: DateTime) -> Result<Built> {
        let collection = T::META.collection;
        match self.error.take().map(|error| *error) {
            Some(Error::Query { message, .. }) => return Err(Error::Query { collection, message }),
            Some(Error::Invalid {
                violations, source, ..
            }) => {
                return Err(Error::Invalid {
                    collection: collection.to_owned(),
                    violations,
                    source,
                });
            }
            Some(error) => return Err(error),
            None => {}
        }
        let mut violations = Vec::new();
        for Check {
            path,
            field,
            value,
            kind,
        } in &self.checks
        {
            let mut raw = RawDocumentBuf::new();
            let encoded =
                mongodb::bson::RawBson::try_from(value.clone()).map_err(|source| Error::Encode {
                    field: path.clone(),
                    source: Box::new(source),
                })?;
            raw.append(cstr!("v"), encoded);
            let Some(value) = raw.get("v").ok().flatten() else {
                continue;
            };
            match kind {
                Part::Whole => check::value(collection, path, field, value, &mut violations),
                Part::Item => check::item(collection, path, field, value, &mut violations),
            }
        }
        if !violations.is_empty() {
            return Err(Error::Invalid {
                collection: collection.to_owned(),
                violations,
                source: None,
            });
        }
        for field in T::FIELDS {
            match field.managed {
                Managed::UpdatedAt => self.put("$set", field.name, now.into(), replace),
                Managed::CreatedAt if upsert => self.put("$setOnInsert", field.name, now.into(), replace),
                Managed::Version => self.put("$inc", field.name, Bson::Int64(1), replace),
                _ => {}
            }
        }
        Ok(Built {
            update: self.operators,
            array_filters: self.array_filters,
            guards: self.guards,
        })
    }
}

fn replace(before: &mut Bson, value: Bson) -> Result<(), ()> {
    *before = value;
    Ok(())
}

fn never(_: &mut Bson, _: Bson) -> Result<(), ()> {
    Err(())
}

/// The methods of everything that collects changes: [`Changes`], and the updates of a collection.
///
/// Each takes a closure that names a field, and a value of its type. A field of the library's own (an id, a version, a
/// time stamp) and a path through the items of an array do not compile here.
pub trait Change<R: Rooted>: Sized {
    /// Where the changes are collected.
    fn changes(&mut self) -> &mut Changes<R>;

    /// Sets the field to this value: `$set`.
    fn set<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        value: impl Operand<V>,
    ) -> Self {
        field(R::rooted());
        self.changes()
            .whole::<V, C>("$set", P::PATH, P::FIELD, value, replace);
        self
    }

    /// Sets the field where the update inserts a document: `$setOnInsert`, with [`upsert`](crate::Update::upsert).
    fn set_on_insert<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        value: impl Operand<V>,
    ) -> Self {
        field(R::rooted());
        self.changes()
            .whole::<V, C>("$setOnInsert", P::PATH, P::FIELD, value, replace);
        self
    }

    /// Removes the field, which reads as `None` from then on: `$unset`.
    fn unset<V, P: Single, C: Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, Option<V>, P, C>,
    ) -> Self {
        field(R::rooted());
        self.changes()
            .put("$unset", P::PATH, Bson::String(String::new()), replace);
        self
    }

    /// Adds to the number: `$inc`. The bounds of the field are kept by the update's own filter.
    fn inc<V: Numeric, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        by: impl Operand<V>,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        if let Some(by) = changes.value(encode::<V, C>(P::PATH, by)) {
            changes.add(P::PATH, P::FIELD, &by);
            changes.put("$inc", P::PATH, by, never);
        }
        self
    }

    /// Multiplies the number: `$mul`. Whether the product keeps the bounds of the field, the server's validator decides.
    fn mul<V: Numeric, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        by: impl Operand<V>,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        if let Some(by) = changes.value(encode::<V, C>(P::PATH, by)) {
            changes.put("$mul", P::PATH, by, never);
        }
        self
    }

    /// Sets the field if the value is less than what it has: `$min`.
    fn min<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        value: impl Operand<V>,
    ) -> Self {
        field(R::rooted());
        self.changes()
            .whole::<V, C>("$min", P::PATH, P::FIELD, value, never);
        self
    }

    /// Sets the field if the value is greater than what it has: `$max`.
    fn max<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        value: impl Operand<V>,
    ) -> Self {
        field(R::rooted());
        self.changes()
            .whole::<V, C>("$max", P::PATH, P::FIELD, value, never);
        self
    }

    /// Appends an item: `$push`. On an array that is full the update is refused by its own filter, whatever others push
    /// meanwhile ([`Error::ArrayFull`](crate::Error::ArrayFull)).
    fn push<A: List<Item: serde::Serialize>, P: Single, C: Writable>(
        self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        item: impl Operand<A::Item>,
    ) -> Self {
        self.push_all(field, [item])
    }

    /// Appends several items, all or none: `$push` with `$each`.
    fn push_all<A: List<Item: serde::Serialize>, P: Single, C: Writable, V: Operand<A::Item>>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        items: impl IntoIterator<Item = V>,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        let values = changes.items::<A::Item, V>(P::PATH, P::FIELD, items);
        changes.room(P::PATH, P::FIELD, &values, false);
        changes.each("$push", P::PATH, values);
        self
    }

    /// Appends an item unless the array has it already: `$addToSet`.
    fn add_to_set<A: List<Item: serde::Serialize>, P: Single, C: Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        item: impl Operand<A::Item>,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        let values = changes.items::<A::Item, _>(P::PATH, P::FIELD, [item]);
        changes.room(P::PATH, P::FIELD, &values, true);
        changes.each("$addToSet", P::PATH, values);
        self
    }

    /// Removes every item that equals this one: `$pullAll`.
    fn pull<A: List<Item: serde::Serialize>, P: Single, C: Writable>(
        self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        item: impl Operand<A::Item>,
    ) -> Self {
        self.pull_all(field, [item])
    }

    /// Removes every item that equals one of these: `$pullAll`.
    fn pull_all<A: List<Item: serde::Serialize>, P: Single, C: Writable, V: Operand<A::Item>>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        items: impl IntoIterator<Item = V>,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        let mut values = Vec::new();
        for item in items {
            if let Some(value) = changes.value(encode::<A::Item, Plain>(P::PATH, item)) {
                values.push(value);
            }
        }
        changes.put("$pullAll", P::PATH, values.into(), |before, value| {
            match (before, value) {
                (Bson::Array(before), Bson::Array(more)) => {
                    before.extend(more);
                    Ok(())
                }
                _ => Err(()),
            }
        });
        self
    }

    /// Removes every item that fits the condition: `$pull`.
    fn pull_where<A: List<Item: Nested>, P: Single, C: Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        condition: impl FnOnce(<Element<A::Item> as Rooted>::Paths) -> Filter<Element<A::Item>>,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        let condition = condition(<Element<A::Item> as Rooted>::rooted())
            .into_document()
            .map(Bson::Document);
        if let Some(condition) = changes.value(condition) {
            changes.put("$pull", P::PATH, condition, |before, value| {
                *before = doc! { "$or": [before.clone(), value] }.into();
                Ok(())
            });
        }
        self
    }

    /// Removes the first item: `$pop`.
    fn pop_first<A: List, P: Single, C: Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
    ) -> Self {
        field(R::rooted());
        self.changes().put("$pop", P::PATH, Bson::Int32(-1), never);
        self
    }

    /// Removes the last item: `$pop`.
    fn pop<A: List, P: Single, C: Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
    ) -> Self {
        field(R::rooted());
        self.changes().put("$pop", P::PATH, Bson::Int32(1), never);
        self
    }

    /// Changes the items of the array that fit the condition: `arrayFilters`. A document without the array is left as it
    /// is.
    fn elem<A: List<Item: Nested>, P: Single, C: Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        condition: impl FnOnce(<Element<A::Item> as Rooted>::Paths) -> Filter<Element<A::Item>>,
        change: impl FnOnce(Changes<Element<A::Item>>) -> Changes<Element<A::Item>>,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        let inner = change(Changes::new());
        if !inner.array_filters.is_empty() {
            changes.problem(
                "the items of an array inside an array can't be told apart by a condition on both".to_owned(),
            );
            return self;
        }
        let name = format!("e{}", changes.array_filters.len());
        let condition = condition(<Element<A::Item> as Rooted>::rooted()).into_document();
        match condition.map(|condition| below(&name, condition)) {
            Ok(Ok(filter)) => changes.array_filters.push(filter),
            Ok(Err(message)) => changes.problem(message),
            Err(error) => changes.fail(error),
        }
        changes.below(&format!("{}.$[{name}]", P::PATH), inner);
        changes.guards.push(Guard::There {
            name: P::PATH.to_owned(),
        });
        self
    }

    /// Changes all items of the array: `$[]`. A document without the array is left as it is.
    fn each<A: List<Item: Nested>, P: Single, C: Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        change: impl FnOnce(Changes<Element<A::Item>>) -> Changes<Element<A::Item>>,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        let inner = change(Changes::new());
        if !inner.array_filters.is_empty() {
            changes.problem(
                "the items of an array inside an array can't be told apart by a condition".to_owned(),
            );
            return self;
        }
        changes.below(&format!("{}.$[]", P::PATH), inner);
        changes.guards.push(Guard::There {
            name: P::PATH.to_owned(),
        });
        self
    }

    /// Puts `new` in the place of every item that equals `old`, by `arrayFilters`.
    fn replace_item<A: List<Item: serde::Serialize>, P: Single, C: Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        old: impl Operand<A::Item>,
        new: impl Operand<A::Item>,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        let name = format!("e{}", changes.array_filters.len());
        let old = changes.value(encode::<A::Item, Plain>(P::PATH, old));
        let new = changes.value(encode::<A::Item, Plain>(P::PATH, new));
        if let (Some(old), Some(new)) = (old, new) {
            changes.check(P::PATH, P::FIELD, &new, Part::Item);
            changes.array_filters.push(doc! { &name: { "$eq": old } });
            changes.put("$set", &format!("{}.$[{name}]", P::PATH), new, never);
            changes.guards.push(Guard::There {
                name: P::PATH.to_owned(),
            });
        }
        self
    }

    /// Sets the entry of a map. A new entry of a full map is refused by the update's own filter.
    fn set_key<A: Array<Item: serde::Serialize>, P: Single, C: Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        key: &str,
        value: impl Operand<A::Item>,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        if !changes.key::<A>(P::PATH, P::FIELD, key) {
            return self;
        }
        if let Some(value) = changes.value(encode::<A::Item, Plain>(P::PATH, value)) {
            changes.check(P::PATH, P::FIELD, &value, Part::Item);
            if let Some(max) = P::FIELD.and_then(|field| field.bounds.max_items) {
                changes.guards.push(Guard::Entry {
                    name: P::PATH.to_owned(),
                    key: key.to_owned(),
                    max,
                });
            }
            changes.put("$set", &format!("{}.{key}", P::PATH), value, replace);
        }
        self
    }

    /// Removes the entry of a map.
    fn unset_key<A: Array, P: Single, C: Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        key: &str,
    ) -> Self {
        field(R::rooted());
        let changes = self.changes();
        if changes.key::<A>(P::PATH, P::FIELD, key) {
            changes.put(
                "$unset",
                &format!("{}.{key}", P::PATH),
                Bson::String(String::new()),
                replace,
            );
        }
        self
    }

    /// Adds changes in MongoDB's own words (`{ "$rename": … }`), for what the typed ones lack. No bound is checked before
    /// the network, and a user's input belongs into it as a value only.
    fn raw(mut self, update: Document) -> Self {
        let changes = self.changes();
        for (operator, fields) in update {
            if !operator.starts_with('$') {
                changes.problem(format!(
                    "a raw update consists of operators, and `{operator}` is none"
                ));
                continue;
            }
            match (changes.operators.get_mut(&operator), fields) {
                (Some(Bson::Document(before)), Bson::Document(fields)) => before.extend(fields),
                (_, fields) => {
                    changes.operators.insert(operator, fields);
                }
            }
        }
        self
    }
}

impl<R> Changes<R> {
    fn key<A: Array>(&mut self, name: &str, field: Option<&'static FieldMeta>, key: &str) -> bool {
        if !A::MAP {
            self.problem(format!("`{name}` is not a map: its items have no keys"));
            return false;
        }
        let mut violations = Vec::new();
        if let Some(field) = field {
            violations
                .extend(check::key(field, key).map(|rule| Violation::new(name, rule, Some(key.into()))));
        }
        let fits = violations.is_empty();
        if !fits {
            self.fail(Error::Invalid {
                collection: String::new(),
                violations,
                source: None,
            });
        }
        fits
    }
}

impl<R: Rooted> Change<R> for Changes<R> {
    fn changes(&mut self) -> &mut Changes<R> {
        self
    }
}

impl Number {
    fn is_positive(self) -> bool {
        self.value() > 0.0
    }

    pub(crate) fn value(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(n) => n,
        }
    }

    fn minus(self, other: Number) -> Bson {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Bson::Int64(a.saturating_sub(b)),
            (a, b) => Bson::Double(a.value() - b.value()),
        }
    }
}
