//! Defaults: the values that a reader sees in the place of fields that a document lacks.
//!
//! serde reads a missing field as its default (`#[serde(default)]`, on the field or its struct), but the server does not know
//! the default. So a condition that the default meets has to match a document that lacks the field, too, and [`Absent`] says
//! how to express that.
//!
//! A default is a constant. One that differs from call to call (a time, an id) can't be compared, and conditions on such a
//! field match stored values only.

use crate::model::document::DocumentMeta;
use crate::model::path::Codec;
use crate::model::shape::{self, Body, FieldMeta, Shape, StructShape};
use mongodb::bson::{Bson, Document, RawDocument, doc, error::Result as BsonResult};
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// Gives the default of a field, as it would be stored.
pub type DefaultFn = fn() -> BsonResult<Bson>;

/// A default as the field stores it, for generated code.
#[doc(hidden)]
pub fn default_of<T, C: Codec<T>>(value: T) -> BsonResult<Bson> {
    crate::query::operand::coded_bson::<T, C>(&value)
}

/// The defaults that were evaluated, by their functions; `None` for those that are no constants.
static KNOWN: RwLock<Option<HashMap<usize, Option<&'static Bson>>>> = RwLock::new(None);

/// A clock of milliseconds has moved on after this time.
const TICK: Duration = Duration::from_millis(2);

/// The value that is read where the field is missing, if it can be compared and is not `null`, which the server finds itself.
pub(crate) fn of(field: &FieldMeta) -> Option<&'static Bson> {
    let make = field.default?;
    if let Some(known) = known(make) {
        return known;
    }
    evaluate(&[make]);
    known(make).flatten()
}

/// The same, but none for a field that every document has.
pub(crate) fn unless_stored(field: &FieldMeta) -> Option<&'static Bson> {
    of(field).filter(|_| !field.stored && !AS_STORED.get())
}

fn known(make: DefaultFn) -> Option<Option<&'static Bson>> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.as_ref()?.get(&(make as usize)).copied()
}

/// Evaluates each of them twice.
fn evaluate(all: &[DefaultFn]) {
    let once = || all.iter().map(|make| make().ok());
    let first: Vec<Option<Bson>> = once().collect();
    std::thread::sleep(TICK);
    let both = first.into_iter().zip(once());
    let constant = |(a, b): (Option<Bson>, Option<Bson>)| {
        a.filter(|a| *a != Bson::Null && b.is_some_and(|b| same(a, &b)))
    };
    let values: Vec<Option<Bson>> = both.map(constant).collect();
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    for (make, value) in all.iter().zip(values) {
        // Kept for as long as the program runs: there is one for each declared default.
        let value = || value.map(|value| &*Box::leak(Box::new(value)));
        known.entry(*make as usize).or_insert_with(value);
    }
}

/// Evaluates all defaults of these shapes that are not known yet, before the first query needs one.
pub(crate) fn evaluate_all(shapes: impl IntoIterator<Item = Shape>) {
    let mut found = Found::default();
    shapes.into_iter().for_each(|shape| found.shape(shape));
    found.makes.retain(|make| known(*make).is_none());
    if !found.makes.is_empty() {
        evaluate(&found.makes);
    }
}

/// The defaults in shapes, which may contain themselves.
#[derive(Default)]
struct Found {
    seen: HashSet<*const ()>,
    makes: Vec<DefaultFn>,
}

impl Found {
    fn shape(&mut self, shape: Shape) {
        match shape {
            Shape::Optional(inner) | Shape::Array(inner) | Shape::Map(inner) => self.shape(inner()),
            Shape::Fixed { items, .. } => self.shape(items()),
            Shape::Tuple(items) => items.iter().for_each(|item| self.shape(item())),
            Shape::Bounded(field) => self.field(field),
            Shape::Struct(of) => self.structure(of),
            Shape::Enum(of) if self.seen.insert(std::ptr::from_ref(of).cast()) => {
                for variant in of.variants {
                    match variant.body {
                        Body::Unit => {}
                        Body::Newtype(field) => self.field(field),
                        Body::Tuple(fields) => fields.iter().for_each(|field| self.field(field)),
                        Body::Struct(of) => self.structure(of),
                    }
                }
            }
            _ => {}
        }
    }

    fn structure(&mut self, of: &'static StructShape) {
        if self.seen.insert(std::ptr::from_ref(of).cast()) {
            of.fields.iter().for_each(|field| self.field(field));
        }
    }

    fn field(&mut self, field: &FieldMeta) {
        self.makes.extend(field.default);
        self.shape(shape::of_field(field));
    }
}

/// The declared unique indexes over fields that documents may lack: to the server they are `null`, and not their defaults.
pub(crate) fn in_unique_indexes(meta: &DocumentMeta) -> Vec<String> {
    let may_lack = |path: &&str| {
        let fields = fields_at((meta.shape)(), path);
        fields
            .iter()
            .any(|field| field.default.is_some() && !field.stored)
    };
    let unique = meta.indexes.iter().filter(|index| index.unique);
    let paths = unique.filter_map(|index| index.keys.iter().map(|key| (key.path)()).find(may_lack));
    let problems = paths.map(|path| {
        format!(
            "a unique index of `{}` is over `{path}`, which has a default, and a document that lacks it is `null` to the index, not its \
             default: have every document store it, `#[field(stored)]`, or leave out `unique` or the default",
            meta.name
        )
    });
    problems.collect()
}

thread_local! {
    static AS_STORED: Cell<bool> = const { Cell::new(false) };
}

/// Runs what builds a filter of a partial index, which goes by what is stored: the server takes no condition there that a
/// missing field meets.
pub(crate) fn as_stored<T>(build: impl FnOnce() -> T) -> T {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            AS_STORED.set(self.0);
        }
    }
    let _reset = Reset(AS_STORED.replace(true));
    build()
}

/// A field on the way of a path, or the items of an array there.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The part of the path before it.
    pub above: Option<&'static Way>,
    /// The field; `None` for the items of the array before it.
    pub field: Option<&'static FieldMeta>,
}

impl Way {
    /// Whether a field on it has a default.
    fn has_default(&self) -> bool {
        let own = self.field.is_some_and(|field| field.default.is_some());
        own || self.above.is_some_and(Way::has_default)
    }
}

/// A way in which a document lacks a value that a reader sees.
#[derive(Debug, PartialEq)]
struct Absent {
    /// That it does, with names from the document or the item of the innermost array.
    condition: Document,
    /// The field that is missing.
    name: String,
    /// The struct that has to be there for that, where it need not be.
    above: Option<String>,
    /// Whether that is no more than `{ name: null }` of the path itself, which can stand in a list of values.
    is_null: bool,
    /// The value that is read.
    value: &'static Bson,
}

/// How a condition on a path has to change, so that it holds of what a reader sees.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The innermost array on the path, and the name behind it.
    array: Option<(String, String)>,
    /// The documents or items that lack a value which meets the condition, and that it does not find.
    more: Vec<Absent>,
    /// Those that lack a value which does not meet it, and that it finds.
    but: Vec<Absent>,
    /// The comparison of one item, where there is an array, and whether no item may meet it.
    of_item: Option<(&'static str, Bson)>,
    is_none: bool,
}

/// The question that a condition asks of a value.
#[derive(Clone, Copy)]
pub(crate) enum Asked<'a> {
    /// A comparison by an operator of MongoDB's.
    Operator(&'static str, &'a Bson),
    /// To hold this text: at its beginning, or anywhere.
    Text {
        text: &'a str,
        at_start: bool,
        ignores_case: bool,
    },
}

impl Seen {
    /// `None` where the condition says the same of what is stored.
    pub(crate) fn of(way: Option<&'static Way>, asked: Asked<'_>) -> Option<Seen> {
        let way = way?;
        if !way.has_default() || AS_STORED.get() {
            return None;
        }
        let (array, fields) = split(way);
        // No item is this: it is not so that one is.
        let (asked, is_none) = match (&array, asked) {
            (Some(_), Asked::Operator("$ne", value)) => (Asked::Operator("$eq", value), true),
            (Some(_), Asked::Operator("$nin", value)) => (Asked::Operator("$in", value), true),
            (_, asked) => (asked, false),
        };
        // To the server a missing field is `null`.
        let is_found = asked.holds(&Bson::Null);
        let absent = absences(&fields).into_iter();
        let wrong = absent.filter(|absent| asked.holds(absent.value) != is_found);
        let (more, but) = match is_found {
            true => (Vec::new(), wrong.collect::<Vec<_>>()),
            false => (wrong.collect::<Vec<_>>(), Vec::new()),
        };
        let of_item = match (&array, asked) {
            (Some(_), Asked::Operator(operator, value)) => Some((operator, value.clone())),
            _ => None,
        };
        (!more.is_empty() || !but.is_empty()).then_some(Seen {
            array,
            more,
            but,
            of_item,
            is_none,
        })
    }

    /// The condition on what a reader sees, made of that on what is stored.
    pub(crate) fn apply(mut self, name: &str, stored: Document) -> Document {
        let Some((array, rest)) = self.array.take() else {
            return self.joined(name, stored);
        };
        // Another item may meet the other part of the condition, so all of it is of one item.
        let inner = match (self.of_item.take(), by_value(&array, &stored)) {
            (Some(_), Some(by_value)) => by_value,
            (Some((operator, value)), None) => crate::query::filter::condition(&rest, operator, value),
            (None, _) => match stored.get(name) {
                Some(condition) => doc! { &rest: condition.clone() },
                None => return stored,
            },
        };
        let is_none = self.is_none;
        let found = doc! { array: { "$elemMatch": self.joined(&rest, inner) } };
        match is_none {
            true => doc! { "$nor": [found] },
            false => found,
        }
    }

    fn joined(self, name: &str, stored: Document) -> Document {
        if let ([absent], []) | ([], [absent]) = (self.more.as_slice(), self.but.as_slice())
            && absent.is_null
            && let Some(short) = with_null(name, &stored)
        {
            return short;
        }
        let conditions =
            |absent: Vec<Absent>| absent.into_iter().map(|absent| Bson::Document(absent.condition));
        match self.but.is_empty() {
            false => {
                let none: Vec<Bson> = conditions(self.but).collect();
                doc! { "$and": [stored, { "$nor": none }] }
            }
            true => {
                let more = conditions(self.more);
                let all: Vec<Bson> = std::iter::once(Bson::Document(stored)).chain(more).collect();
                doc! { "$or": all }
            }
        }
    }
}

/// The condition on one item of an array, where the stored condition compares values with several parts: also within `$nor`.
fn by_value(array: &str, stored: &Document) -> Option<Document> {
    let found = match stored.get_array("$nor").map(Vec::as_slice) {
        Ok([one]) => one.as_document()?,
        _ => stored,
    };
    let item = found.get_document(array).ok()?.get_document("$elemMatch").ok()?;
    (found.len() == 1).then(|| item.clone())
}

/// The same condition with `null` among its values: it keeps an index and a sort.
fn with_null(name: &str, stored: &Document) -> Option<Document> {
    let condition = match stored.len() {
        1 => stored.get_document(name).ok()?,
        _ => return None,
    };
    let (operator, value) = match condition.len() {
        1 => condition.iter().next()?,
        _ => return None,
    };
    // In a list, the server takes a pattern as a pattern.
    let list = |value: &Bson| match value {
        Bson::RegularExpression(_) => None,
        Bson::Document(_) | Bson::Array(_) => None,
        value => Some(vec![value.clone(), Bson::Null]),
    };
    let more = |values: &Bson| match values {
        Bson::Array(values) => Some(values.iter().cloned().chain([Bson::Null]).collect()),
        _ => None,
    };
    let (operator, values) = match operator.as_str() {
        "$eq" => ("$in", list(value)?),
        "$ne" => ("$nin", list(value)?),
        "$in" => ("$in", more(value)?),
        "$nin" => ("$nin", more(value)?),
        _ => return None,
    };
    Some(doc! { name: { operator: values } })
}

/// The innermost array on the way with the name behind it, and the fields behind that.
fn split(way: &'static Way) -> (Option<(String, String)>, Vec<&'static FieldMeta>) {
    let mut steps = Vec::new();
    let mut next = Some(way);
    while let Some(way) = next {
        steps.push(way.field);
        next = way.above;
    }
    steps.reverse();
    let behind = steps.iter().rposition(Option::is_none).map_or(0, |at| at + 1);
    let (above, fields) = steps.split_at(behind);
    let names = |steps: &[Option<&'static FieldMeta>]| {
        let named = steps.iter().flatten().filter(|field| !field.flatten);
        named.map(|field| field.name).collect::<Vec<_>>().join(".")
    };
    let array = (behind > 0).then(|| (names(above), names(fields)));
    // The items of a root are the root itself.
    let array = array.filter(|(name, _)| !name.is_empty());
    (array, fields.iter().copied().flatten().collect())
}

/// Each way in which a value at the end of these fields is missing and still read.
fn absences(fields: &[&'static FieldMeta]) -> Vec<Absent> {
    let named: Vec<&'static FieldMeta> = fields.iter().copied().filter(|field| !field.flatten).collect();
    let mut found = Vec::new();
    let mut above = String::new();
    // Whether all that stands above is there in every document.
    let mut is_there = true;
    for (at, field) in named.iter().enumerate() {
        let rest = named.get(at + 1..).unwrap_or_default();
        let name = match above.as_str() {
            "" => field.name.to_owned(),
            above => format!("{above}.{}", field.name),
        };
        let is_option = shape::may_be_null(shape::of_field(field));
        let default = unless_stored(field);
        if let Some(value) = default.and_then(|default| below(default, rest)) {
            let is_null = is_there && rest.is_empty() && !is_option && !is_list(field);
            let condition = match (is_null, is_there) {
                (true, _) => doc! { &name: null },
                (false, true) => doc! { &name: { "$exists": false } },
                (false, false) => doc! { &above: { "$type": "object" }, &name: { "$exists": false } },
            };
            found.push(Absent {
                condition,
                above: (!is_there).then(|| above.clone()),
                name: name.clone(),
                is_null,
                value,
            });
        }
        is_there &= !is_option && (field.required || field.stored);
        above = name;
    }
    found
}

/// The value at the end of these fields within a value, where a missing one is its default again.
fn below(value: &'static Bson, fields: &[&'static FieldMeta]) -> Option<&'static Bson> {
    fields.iter().try_fold(value, |value, field| {
        let stored = value.as_document()?.get(field.name);
        match stored {
            Some(stored) => Some(stored),
            None => of(field),
        }
    })
}

/// The field with this name in a struct, however it is wrapped.
pub(crate) fn named(shape: Shape, name: &str) -> Option<&'static FieldMeta> {
    named_below(shape, name, 0)
}

fn named_below(shape: Shape, name: &str, depth: u32) -> Option<&'static FieldMeta> {
    if depth > shape::MOST_WRAPPERS {
        return None;
    }
    match shape {
        Shape::Optional(inner) => named_below(inner(), name, depth + 1),
        Shape::Bounded(inner) => named_below(shape::of_field(inner), name, depth + 1),
        Shape::Struct(of) => of.fields.iter().find_map(|field| match field.flatten {
            true => named_below(shape::of_field(field), name, depth + 1),
            false => (field.name == name).then_some(field),
        }),
        _ => None,
    }
}

/// The fields that a dotted name leads through, as far as they are declared and no array stands between them.
fn fields_at(shape: Shape, name: &str) -> Vec<&'static FieldMeta> {
    let mut shape = shape;
    let fields = name.split('.').map_while(|part| {
        let field = named(shape, part)?;
        shape = shape::of_field(field);
        Some(field)
    });
    let fields: Vec<_> = fields.collect();
    match fields.len() == name.split('.').count() {
        true => fields,
        false => Vec::new(),
    }
}

/// The value that a reader sees at a dotted name of a document: what is stored there, or the default of what is missing on the way.
pub(crate) fn read(shape: Shape, document: &RawDocument, name: &str) -> Option<Bson> {
    let mut fields: &[&'static FieldMeta] = &fields_at(shape, name);
    let mut within = Some(document);
    let mut parts = name.split('.').peekable();
    while let Some(part) = parts.next() {
        let field = fields.split_first();
        match within?.get(part).ok()? {
            Some(value) if parts.peek().is_none() => return Bson::try_from(value).ok(),
            Some(value) => within = value.as_document(),
            None => {
                let (field, rest) = field?;
                return below(of(field)?, rest).cloned();
            }
        }
        fields = field.map(|(_, rest)| rest).unwrap_or_default();
    }
    None
}

/// The same in an expression of the server's.
pub(crate) fn expression(shape: Shape, name: &str) -> Bson {
    within_expression(&fields_at(shape, name), name)
}

/// The same of the value at the end of a path.
pub(crate) fn expression_of(way: Option<&'static Way>, name: &str) -> Bson {
    match way.filter(|way| way.has_default()).map(split) {
        Some((None, fields)) => within_expression(&fields, name),
        _ => Bson::String(format!("${name}")),
    }
}

fn within_expression(fields: &[&'static FieldMeta], name: &str) -> Bson {
    let absent = absences(fields).into_iter().rev();
    absent.fold(Bson::String(format!("${name}")), |stored, absent| {
        let is = |name: &str, ty: &str| doc! { "$eq": [{ "$type": format!("${name}") }, ty] };
        let missing = is(&absent.name, "missing");
        let missing = match &absent.above {
            Some(above) => doc! { "$and": [is(above, "object"), missing] },
            None => missing,
        };
        doc! { "$cond": [missing, { "$literal": absent.value.clone() }, stored] }.into()
    })
}

/// The defaults that are read at a dotted name, as a part of the declaration of what is derived of it.
pub(crate) fn declared(shape: Shape, name: &str) -> Option<Bson> {
    let absent = absences(&fields_at(shape, name));
    let values: Vec<Bson> = absent.into_iter().map(|absent| absent.value.clone()).collect();
    (!values.is_empty()).then(|| values.into())
}

/// Whether the field holds an array, of whose items `null` may be one.
fn is_list(field: &FieldMeta) -> bool {
    shape::items(shape::of_field(field)).is_some()
}

impl Asked<'_> {
    /// Whether it holds of this value, as the server has it.
    fn holds(&self, value: &Bson) -> bool {
        let any = |holds: &dyn Fn(&Bson) -> bool| match value {
            Bson::Array(items) => holds(value) || items.iter().any(holds),
            value => holds(value),
        };
        let is_one = |values: &Bson, all: bool| match values {
            Bson::Array(values) if all => {
                !values.is_empty() && values.iter().all(|one| any(&|value| same(value, one)))
            }
            Bson::Array(values) => values.iter().any(|one| any(&|value| same(value, one))),
            _ => false,
        };
        match self {
            Asked::Text {
                text,
                at_start,
                ignores_case,
            } => any(&|value| {
                let Bson::String(value) = value else { return false };
                let (value, text) = match ignores_case {
                    true => (value.to_lowercase(), text.to_lowercase()),
                    false => (value.clone(), (*text).to_owned()),
                };
                match at_start {
                    true => value.starts_with(&text),
                    false => value.contains(&text),
                }
            }),
            Asked::Operator(operator, asked) => match *operator {
                "$eq" => any(&|value| same(value, asked)),
                "$ne" => !any(&|value| same(value, asked)),
                "$in" => is_one(asked, false),
                "$nin" => !is_one(asked, false),
                "$all" => is_one(asked, true),
                "$gt" => any(&|value| compare(value, asked) == Some(Ordering::Greater)),
                "$lt" => any(&|value| compare(value, asked) == Some(Ordering::Less)),
                "$gte" => any(&|value| compare(value, asked).is_some_and(Ordering::is_ge)),
                "$lte" => any(&|value| compare(value, asked).is_some_and(Ordering::is_le)),
                "$size" => match (value, asked.as_i64()) {
                    (Bson::Array(items), Some(size)) => i64::try_from(items.len()) == Ok(size),
                    _ => false,
                },
                _ => false,
            },
        }
    }
}

/// Whether two values are the same to the server; of documents whatever the order of their fields.
pub(crate) fn same(a: &Bson, b: &Bson) -> bool {
    match (a, b) {
        (Bson::Document(a), Bson::Document(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (Bson::Array(a), Bson::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Bson::Double(a), Bson::Double(b)) if a.is_nan() => b.is_nan(),
        (a, b) => a == b || compare(a, b) == Some(Ordering::Equal),
    }
}

/// The order of two values of one kind; `None` where the server compares them by their kinds, or not at all.
pub(crate) fn compare(a: &Bson, b: &Bson) -> Option<Ordering> {
    match (a, b) {
        (Bson::Null, Bson::Null) => Some(Ordering::Equal),
        (Bson::String(a), Bson::String(b)) => Some(a.cmp(b)),
        (Bson::Boolean(a), Bson::Boolean(b)) => Some(a.cmp(b)),
        (Bson::DateTime(a), Bson::DateTime(b)) => Some(a.cmp(b)),
        (Bson::ObjectId(a), Bson::ObjectId(b)) => Some(a.cmp(b)),
        (Bson::Timestamp(a), Bson::Timestamp(b)) => Some((a.time, a.increment).cmp(&(b.time, b.increment))),
        (Bson::Binary(a), Bson::Binary(b)) => {
            let key = |value: &mongodb::bson::Binary| (value.bytes.len(), u8::from(value.subtype));
            Some(key(a).cmp(&key(b)).then_with(|| a.bytes.cmp(&b.bytes)))
        }
        (a, b) => crate::plan::operators::range::order_of(a, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::FIELD;
    use crate::model::shape::Bounds;
    use std::sync::atomic::{AtomicI32, Ordering as Atomic};

    const fn with(name: &'static str, shape: shape::ShapeFn, default: Option<DefaultFn>) -> FieldMeta {
        FieldMeta {
            name,
            shape,
            required: default.is_none(),
            default,
            bounds: Bounds::NONE,
            ..FIELD
        }
    }

    const ACTIVE: &FieldMeta = &with("active", || Shape::Bool, Some(|| Ok(Bson::Boolean(false))));
    const POINTS: &FieldMeta = &with(
        "points",
        || Shape::Int { min: 0, max: 9 },
        Some(|| Ok(Bson::Int32(7))),
    );
    const NICK: &FieldMeta = &with(
        "nick",
        || Shape::Optional(|| Shape::String),
        Some(|| Ok(Bson::String("Kat".into()))),
    );
    const TAGS: &FieldMeta = &with(
        "tags",
        || Shape::Array(|| Shape::String),
        Some(|| Ok(Bson::Array(Vec::new()))),
    );
    const HOME: &FieldMeta = &with(
        "home",
        || Shape::Struct(&PLACE),
        Some(|| Ok(Bson::Document(doc! { "city": "Bonn" }))),
    );
    const MAYBE: &FieldMeta = &with("maybe", || Shape::Optional(|| Shape::Struct(&PLACE)), None);
    const ITEMS: &FieldMeta = &with("items", || Shape::Array(|| Shape::Struct(&PLACE)), None);
    static PLACE: StructShape = StructShape {
        name: "Place",
        fields: &[],
        deny_unknown: false,
    };

    fn way(fields: &[Option<&'static FieldMeta>]) -> Option<&'static Way> {
        fields.iter().fold(None, |above, field| {
            Some(&*Box::leak(Box::new(Way { above, field: *field })))
        })
    }

    fn seen(
        fields: &[Option<&'static FieldMeta>],
        operator: &'static str,
        value: impl Into<Bson>,
    ) -> Document {
        let names: Vec<&str> = fields.iter().flatten().map(|field| field.name).collect();
        let (name, value) = (names.join("."), value.into());
        let stored = crate::query::filter::condition(&name, operator, value.clone());
        match Seen::of(way(fields), Asked::Operator(operator, &value)) {
            Some(seen) => seen.apply(&name, stored),
            None => stored,
        }
    }

    #[test]
    fn a_condition_that_the_default_matches_finds_documents_without_the_field() {
        let active = [Some(ACTIVE)];
        assert_eq!(
            seen(&active, "$eq", false),
            doc! { "active": { "$in": [false, null] } }
        );
        assert_eq!(seen(&active, "$eq", true), doc! { "active": { "$eq": true } });
        assert_eq!(
            seen(&active, "$ne", false),
            doc! { "active": { "$nin": [false, null] } }
        );
        assert_eq!(seen(&active, "$ne", true), doc! { "active": { "$ne": true } });
        let both = || Bson::from(vec![Bson::from(true), Bson::from(false)]);
        assert_eq!(
            seen(&active, "$in", both()),
            doc! { "active": { "$in": [true, false, null] } }
        );
        assert_eq!(
            seen(&active, "$nin", both()),
            doc! { "active": { "$nin": [true, false, null] } }
        );
        let points = [Some(POINTS)];
        assert_eq!(
            seen(&points, "$gte", 7),
            doc! { "$or": [{ "points": { "$gte": 7 } }, { "points": null }] }
        );
        assert_eq!(seen(&points, "$gt", 7), doc! { "points": { "$gt": 7 } });
    }

    #[test]
    fn an_option_with_a_default_tells_null_from_missing() {
        let nick = [Some(NICK)];
        let missing = || doc! { "nick": { "$exists": false } };
        assert_eq!(
            seen(&nick, "$eq", "Kat"),
            doc! { "$or": [{ "nick": { "$eq": "Kat" } }, missing()] }
        );
        assert_eq!(
            seen(&nick, "$ne", "Kat"),
            doc! { "$and": [{ "nick": { "$ne": "Kat" } }, { "$nor": [missing()] }] }
        );
        assert_eq!(
            seen(&nick, "$eq", Bson::Null),
            doc! { "$and": [{ "nick": { "$eq": null } }, { "$nor": [missing()] }] }
        );
        assert_eq!(
            seen(&nick, "$ne", Bson::Null),
            doc! { "$or": [{ "nick": { "$ne": null } }, missing()] }
        );
    }

    #[test]
    fn a_missing_array_is_empty() {
        let tags = [Some(TAGS)];
        let missing = doc! { "tags": { "$exists": false } };
        let size = Bson::Int64(0);
        let of = Seen::of(way(&tags), Asked::Operator("$size", &size)).expect("differs");
        assert_eq!(
            of.apply("tags", doc! { "tags": { "$size": 0 } }),
            doc! { "$or": [{ "tags": { "$size": 0 } }, missing.clone()] }
        );
        let none = Bson::Array(Vec::new());
        assert_eq!(
            seen(&tags, "$eq", none.clone()),
            doc! { "$or": [{ "tags": { "$eq": none } }, missing] }
        );
        assert_eq!(seen(&tags, "$eq", "a"), doc! { "tags": { "$eq": "a" } });
    }

    #[test]
    fn a_field_in_a_missing_struct_is_read_of_its_default() {
        assert_eq!(
            seen(&[Some(HOME), Some(POINTS)], "$eq", 7),
            doc! { "$or": [
                { "home.points": { "$eq": 7 } },
                { "home": { "$exists": false } },
                { "home": { "$type": "object" }, "home.points": { "$exists": false } },
            ] }
        );
        const CITY: &FieldMeta = &with("city", || Shape::String, None);
        assert_eq!(
            seen(&[Some(HOME), Some(CITY)], "$eq", "Bonn"),
            doc! { "$or": [{ "home.city": { "$eq": "Bonn" } }, { "home": { "$exists": false } }] }
        );
        // Nothing is read in a struct that is `None`.
        assert_eq!(
            seen(&[Some(MAYBE), Some(POINTS)], "$ne", 7),
            doc! { "$and": [
                { "maybe.points": { "$ne": 7 } },
                { "$nor": [{ "maybe": { "$type": "object" }, "maybe.points": { "$exists": false } }] },
            ] }
        );
    }

    #[test]
    fn of_items_all_is_asked_of_one() {
        let points = [Some(ITEMS), None, Some(POINTS)];
        let one = |condition: Document| doc! { "items": { "$elemMatch": condition } };
        let or_missing = || one(doc! { "points": { "$in": [7, null] } });
        assert_eq!(seen(&points, "$eq", 7), or_missing());
        assert_eq!(seen(&points, "$ne", 7), doc! { "$nor": [or_missing()] });
        assert_eq!(
            seen(&points, "$lt", 8),
            one(doc! { "$or": [{ "points": { "$lt": 8 } }, { "points": null }] })
        );
        assert_eq!(seen(&points, "$eq", 8), doc! { "items.points": { "$eq": 8 } });
    }

    #[test]
    fn a_partial_filter_goes_by_stored_values() {
        let stored = as_stored(|| seen(&[Some(ACTIVE)], "$eq", false));
        assert_eq!(stored, doc! { "active": { "$eq": false } });
        assert_eq!(
            seen(&[Some(ACTIVE)], "$eq", false),
            doc! { "active": { "$in": [false, null] } }
        );
    }

    #[test]
    fn a_value_that_differs_between_calls_is_no_default() {
        static NEXT: AtomicI32 = AtomicI32::new(0);
        const COUNTED: &FieldMeta = &with(
            "n",
            || Shape::Int { min: 0, max: 9 },
            Some(|| Ok(Bson::Int32(NEXT.fetch_add(1, Atomic::Relaxed)))),
        );
        const NOW: &FieldMeta = &with(
            "at",
            || Shape::Date,
            Some(|| Ok(mongodb::bson::DateTime::now().into())),
        );
        assert_eq!((of(COUNTED), of(NOW)), (None, None));
        // Not asked again.
        let asked = NEXT.load(Atomic::Relaxed);
        assert_eq!((of(COUNTED), NEXT.load(Atomic::Relaxed)), (None, asked));
    }
}
