//! The order of the fields of an `_id` that is a struct, as a rule of the validator.
//!
//! The server compares an `_id` by its bytes, and nothing can have it do otherwise: with its fields in another order, or with
//! `null` where another program stores nothing, the same value would be a second document that no reference finds. A
//! `$jsonSchema` says nothing of an order, so the rule is an expression beside it.

use crate::model::document::DocumentMeta;
use crate::model::shape::{FieldMeta, MOST_WRAPPERS, Managed, Shape, StructShape, of_field};
use mongodb::bson::{Bson, Document, doc};

/// By which the rule is recognised as one of this library's making.
const MARK: &str = "odm: the fields of _id in their declared order";

/// How many structs in each other are looked into.
const DEEPEST: u32 = 16;

/// The rule behind `$expr`; `None` where the `_id` is no struct.
pub(super) fn of(meta: &DocumentMeta) -> Option<Document> {
    let Shape::Struct(document) = (meta.shape)() else {
        return None;
    };
    let id = document
        .fields
        .iter()
        .find(|field| field.managed == Managed::Id)?;
    let mut rules = vec![doc! { "$literal": MARK }.into()];
    order(of_field(id), "$_id", 0, &mut rules);
    (rules.len() > 1).then(|| doc! { "$and": rules })
}

/// Whether this is such a rule.
pub(super) fn is_ours(rule: &Bson) -> bool {
    let parts = rule.as_document().and_then(|rule| rule.get_array("$and").ok());
    let first = parts.and_then(|parts| parts.first()).and_then(Bson::as_document);
    first.is_some_and(|first| first.get_str("$literal").is_ok_and(|mark| mark == MARK))
}

fn order(shape: Shape, at: &str, depth: u32, rules: &mut Vec<Bson>) {
    let Shape::Struct(of) = unwrapped(shape) else {
        return;
    };
    if depth > DEEPEST {
        return;
    }
    let mut fields = Vec::new();
    collect(of, 0, &mut fields);
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let needed = fields.iter().filter(|field| is_always_stored(field));
    let needed: Vec<&str> = needed.map(|field| field.name).collect();
    let is_document = doc! { "$eq": [{ "$type": at }, "object"] };
    let document = doc! { "$cond": [&is_document, at, {}] };
    let keys = doc! { "$map": { "input": { "$objectToArray": document }, "as": "field", "in": "$$field.k" } };
    let known = doc! { "$filter": {
        "input": { "$literal": names }, "as": "name", "cond": { "$in": ["$$name", "$$keys"] },
    } };
    let in_order = doc! { "$eq": ["$$keys", known] };
    let whole = doc! { "$setIsSubset": [{ "$literal": needed }, "$$keys"] };
    let checked = doc! { "$let": { "vars": { "keys": keys }, "in": { "$and": [in_order, whole] } } };
    // The schema refuses another value than a document, where it has to be one.
    rules.push(doc! { "$or": [{ "$not": [is_document] }, checked] }.into());
    for field in fields {
        let at = format!("{at}.{}", field.name);
        if field.skips_none {
            rules.push(doc! { "$ne": [{ "$type": &at }, "null"] }.into());
        }
        order(of_field(field), &at, depth + 1, rules);
    }
}

/// The fields with those of flattened structs in their places.
fn collect(of: &'static StructShape, depth: u32, fields: &mut Vec<&'static FieldMeta>) {
    for field in of.fields {
        match unwrapped(of_field(field)) {
            Shape::Struct(inner) if field.flatten && depth < DEEPEST => collect(inner, depth + 1, fields),
            _ => fields.push(field),
        }
    }
}

/// Whether it is stored in any case: an `Option` as `null`, unless it is left out.
fn is_always_stored(field: &FieldMeta) -> bool {
    !field.skips_none && (field.required || matches!(of_field(field), Shape::Optional(_)))
}

fn unwrapped(mut shape: Shape) -> Shape {
    for _ in 0..MOST_WRAPPERS {
        shape = match shape {
            Shape::Optional(inner) => inner(),
            Shape::Bounded(field) => of_field(field),
            _ => break,
        };
    }
    shape
}
