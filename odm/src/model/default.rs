//! Defaults: the values that a reader sees in the place of fields that a document lacks.
//!
//! A missing field is read as its default (`#[field(default)]`, or one of its struct), but the server does not know
//! the default. So a condition that the default meets has to match a document that lacks the field, too: [`Absent`] says
//! which documents these are, and `query::seen` puts them into the condition.
//!
//! A default is a constant. One that differs from call to call (a time, an id) can't be compared, and conditions on such a
//! field match stored values only.

use crate::model::compare::same;
use crate::model::document::DocumentMeta;
use crate::model::encode::coded_bson;
pub use crate::model::meta::DefaultFn;
use crate::model::path::{Codec, Way};
use crate::model::shape::{self, Body, FieldMeta, Shape, StructShape};
use crate::model::variant;
use mongodb::bson::{Bson, Document, RawDocument, doc, error::Result as BsonResult};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// A default as the field stores it, for generated code.
#[doc(hidden)]
pub fn default_of<T, C: Codec<T>>(value: T) -> BsonResult<Bson> {
    coded_bson::<T, C>(&value)
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
    let mut found = FoundDefault::default();
    shapes.into_iter().for_each(|shape| found.shape(shape));
    found.makes.retain(|make| known(*make).is_none());
    if !found.makes.is_empty() {
        evaluate(&found.makes);
    }
}

/// The defaults in shapes, which may contain themselves.
#[derive(Default)]
struct FoundDefault {
    seen: HashSet<*const ()>,
    makes: Vec<DefaultFn>,
}

impl FoundDefault {
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
    // Values that claims keep unique have no default at all: `graph/claims.rs`.
    let unique = meta.indexes.iter().filter(|index| index.unique && !index.global);
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

/// Whether [`as_stored`] runs.
pub(crate) fn goes_by_stored_values() -> bool {
    AS_STORED.get()
}

/// A way in which a document lacks a value that a reader sees.
#[derive(Debug, PartialEq)]
pub(crate) struct Absent {
    /// That it does, with names from the document or the item of the innermost array.
    pub(crate) condition: Document,
    /// The field that is missing.
    pub(crate) name: String,
    /// The struct that has to be there for that, where it need not be.
    pub(crate) above: Option<String>,
    /// Whether that is no more than `{ name: null }` of the path itself, which can stand in a list of values.
    pub(crate) is_null: bool,
    /// The value that is read.
    pub(crate) value: &'static Bson,
}

/// The innermost array on the way with the name behind it, and the fields behind that.
pub(crate) fn split(way: &'static Way) -> (Option<(String, String)>, Vec<&'static FieldMeta>) {
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
pub(crate) fn absences(fields: &[&'static FieldMeta]) -> Vec<Absent> {
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
        Shape::Struct(of) => of.fields.iter().find_map(|field| {
            if field.flatten {
                named_below(shape::of_field(field), name, depth + 1)
            } else {
                (field.name == name).then_some(field)
            }
        }),
        _ => None,
    }
}

/// The fields that a dotted name leads through, as far as they are declared and no array stands between them.
pub(crate) fn fields_at(shape: Shape, name: &str) -> Vec<&'static FieldMeta> {
    let mut shape = shape;
    let fields = name.split('.').map_while(|part| {
        let field = named(shape, part)?;
        shape = shape::of_field(field);
        Some(field)
    });
    let fields: Vec<_> = fields.collect();
    if fields.len() == name.split('.').count() {
        fields
    } else {
        Vec::new()
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

/// The same of the value at the end of a path: `null` in a variant that a document does not have.
pub(crate) fn expression_of(way: Option<&'static Way>, name: &str) -> Bson {
    within_variant(way, read_of(way, name), Bson::Null)
}

/// As it is stored; nothing in a variant that a document does not have.
pub(crate) fn stored_of(way: Option<&'static Way>, name: &str) -> Bson {
    within_variant(way, Bson::String(format!("${name}")), "$$REMOVE".into())
}

fn read_of(way: Option<&'static Way>, name: &str) -> Bson {
    match way.filter(|way| way.has_default()).map(split) {
        Some((None, fields)) => within_expression(&fields, name),
        _ => Bson::String(format!("${name}")),
    }
}

fn within_variant(way: Option<&'static Way>, value: Bson, otherwise: Bson) -> Bson {
    match variant::expression(way) {
        Some(is) => doc! { "$cond": [is, value, otherwise] }.into(),
        None => value,
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
