//! What must hold of the stored document, so that a change keeps the bounds of its fields.

use crate::shape::Number;
use crate::{Error, Rule, Violation};
use mongodb::bson::{Bson, Document, doc};

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

impl Number {
    pub(super) fn is_positive(self) -> bool {
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
