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
        /// The reference by which two items are the same, where copies of its document stand beside it.
        id: Option<&'static str>,
        /// Whether an item may have a number as the name of a field, which MongoDB's `name.4` means too.
        numbered: bool,
    },
    /// The map has room for the entry, or has it already.
    Entry { name: String, key: String, max: u64 },
    /// The number stays within its bounds when `by` is added.
    Sum { name: String, by: Number, bound: Number },
    /// None of the items that are changed passes a bound of its field when `by` is added to it.
    Items {
        /// The array.
        name: String,
        /// Which items are changed; empty for all.
        within: Document,
        /// The field of an item.
        field: String,
        by: Number,
        bound: Number,
    },
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
                id,
                numbered,
            } => {
                let room = match numbered {
                    // Room for `more` means that position `max - more` is free: an index lookup within the document.
                    false => doc! { format!("{name}.{}", max.saturating_sub(*more)): { "$exists": false } },
                    true => at_most(name, "maxItems", max.saturating_sub(*more)),
                };
                match (unless_there, id) {
                    (Some(values), None) => doc! { "$or": [room, { name: { "$all": values.clone() } }] },
                    (Some(values), Some(id)) => {
                        let ids: Vec<Bson> = values
                            .iter()
                            .filter_map(|value| identity(value, Some(id)))
                            .collect();
                        doc! { "$or": [room, { format!("{name}.{id}"): { "$all": ids } }] }
                    }
                    (None, _) => room,
                }
            }
            // Not by `$expr`: the server refuses it in the filter of an upsert.
            Guard::Entry { name, key, max } => {
                let there = doc! { format!("{name}.{key}"): { "$exists": true } };
                match max.checked_sub(1) {
                    Some(most) => doc! { "$or": [there, at_most(name, "maxProperties", most)] },
                    None => there,
                }
            }
            Guard::Sum { name, by, bound } => doc! { name: { "$not": beyond(*by, *bound) } },
            Guard::Items { name, .. } => match self.offenders() {
                Some(item) => doc! { name: { "$not": { "$elemMatch": item } } },
                None => Document::new(),
            },
            Guard::There { name } => doc! { name: { "$type": "array" } },
        }
    }

    /// The stored name of the field that it looks at.
    pub(crate) fn name(&self) -> &str {
        match self {
            Guard::Room { name, .. }
            | Guard::Entry { name, .. }
            | Guard::Sum { name, .. }
            | Guard::Items { name, .. }
            | Guard::There { name } => name,
        }
    }

    /// The items that hold the change back, as a condition on them: whether there are any only the server can say.
    pub(crate) fn offenders(&self) -> Option<Document> {
        let Guard::Items {
            within,
            field,
            by,
            bound,
            ..
        } = self
        else {
            return None;
        };
        let beyond = beyond(*by, *bound);
        let mut both = within.clone();
        // Side by side where that is possible; `$and` says the same.
        let side_by_side = !within.keys().any(|key| key.starts_with('$'))
            && match both.get_mut(field) {
                None => {
                    both.insert(field, beyond.clone());
                    true
                }
                Some(Bson::Document(there))
                    if !beyond.keys().any(|operator| there.contains_key(operator)) =>
                {
                    there.extend(beyond.clone());
                    true
                }
                Some(_) => false,
            };
        Some(if side_by_side {
            both
        } else {
            doc! { "$and": [within.clone(), { field: beyond }] }
        })
    }

    /// What such items are refused with.
    pub(crate) fn offence(&self, collection: &'static str) -> Option<Error> {
        let Guard::Items {
            name,
            field,
            by,
            bound,
            ..
        } = self
        else {
            return None;
        };
        let rule = if by.is_positive() {
            Rule::Max(*bound)
        } else {
            Rule::Min(*bound)
        };
        Some(Error::Invalid {
            collection: collection.to_owned(),
            violations: vec![Violation::new(format!("{name}.{field}"), rule, None)],
            source: None,
        })
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
                    id: same,
                    ..
                },
                Some(Bson::Array(items)),
            ) => {
                let is_there = |value: &Bson| {
                    let value = identity(value, *same);
                    items.iter().any(|item| identity(item, *same) == value)
                };
                let there = unless_there
                    .as_ref()
                    .is_some_and(|values| values.iter().all(is_there));
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
                let stored = match value {
                    Bson::Int32(n) => Number::Int((*n).into()),
                    Bson::Int64(n) => Number::Int(*n),
                    Bson::Double(n) => Number::Float(*n),
                    Bson::Decimal128(n) => Number::Float(n.to_string().parse().unwrap_or(f64::NAN)),
                    _ => return None,
                };
                // By the comparison that the guard makes, so that what it refuses has its reason here.
                let last = bound.minus(*by);
                let (broken, rule) = match by.is_positive() {
                    true => (last.is_none_or(|last| above(stored, last)), Rule::Max(*bound)),
                    false => (last.is_none_or(|last| above(last, stored)), Rule::Min(*bound)),
                };
                broken.then(|| Error::Invalid {
                    collection: collection.to_owned(),
                    violations: vec![Violation::new(name.clone(), rule, None)],
                    source: None,
                })
            }
            _ => None,
        }
    }
}

/// What tells an item from others: the reference in it, where there is one with copies beside it.
fn identity(item: &Bson, id: Option<&str>) -> Option<Bson> {
    match id {
        Some(id) => item.as_document()?.get(id).cloned(),
        None => Some(item.clone()),
    }
}

/// The numbers to which `by` can't be added without passing the bound.
fn beyond(by: Number, bound: Number) -> Document {
    match bound.minus(by) {
        Some(last) if by.is_positive() => doc! { "$gt": last.bson() },
        Some(last) => doc! { "$lt": last.bson() },
        // No number that the field can hold keeps the bound.
        None => doc! { "$type": "number" },
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

    fn bson(self) -> Bson {
        match self {
            Number::Int(n) => Bson::Int64(n),
            Number::Float(n) => Bson::Double(n),
        }
    }

    /// The last number to which `by` can be added without passing this bound; `None` where no number is.
    fn minus(self, by: Number) -> Option<Number> {
        match (self, by) {
            (Number::Int(bound), Number::Int(by)) => bound.checked_sub(by).map(Number::Int),
            (bound, by) => {
                let (bound, up) = (bound.value(), by.is_positive());
                let by = by.value();
                let kept = |n: f64| if up { n + by <= bound } else { n + by >= bound };
                let beside = |n: f64, forth: bool| if up == forth { n.next_up() } else { n.next_down() };
                // The difference is rounded, and so is the sum: the last number lies beside it.
                let mut last = bound - by;
                for _ in 0..4 {
                    if kept(beside(last, true)) {
                        last = beside(last, true);
                    } else if !kept(last) {
                        last = beside(last, false);
                    }
                }
                Some(Number::Float(last))
            }
        }
    }
}

/// Whether `a` is greater than `b`; never of NaN.
fn above(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a > b,
        (a, b) => a.value() > b.value(),
    }
}

/// That the array or the document at a dotted name, if there is one, has at most so many parts.
fn at_most(name: &str, keyword: &str, most: u64) -> Document {
    let rule = doc! { keyword: i64::try_from(most).unwrap_or(i64::MAX) };
    let schema = name
        .rsplit('.')
        .fold(rule, |inner, part| doc! { "properties": { part: inner } });
    doc! { "$jsonSchema": schema }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(by: Number, bound: Number) -> Guard {
        Guard::Sum {
            name: "n".to_owned(),
            by,
            bound,
        }
    }

    fn refused(guard: &Guard, stored: impl Into<Bson>) -> bool {
        guard.refusal("c", &Bson::Null, Some(&stored.into())).is_some()
    }

    #[test]
    fn a_sum_of_large_integers_is_exact() {
        let most = 1_i64 << 60;
        let guard = sum(Number::Int(1), Number::Int(most));
        assert_eq!(guard.condition(), doc! { "n": { "$not": { "$gt": most - 1 } } });
        assert!(refused(&guard, most));
        assert!(!refused(&guard, most - 1));
        // No number can lose so much.
        let guard = sum(Number::Int(i64::MIN), Number::Int(0));
        assert_eq!(guard.condition(), doc! { "n": { "$not": { "$type": "number" } } });
        assert!(refused(&guard, i64::MAX));
    }

    #[test]
    fn a_sum_of_doubles_may_reach_its_bound() {
        for (stored, by, bound) in [(0.1, 0.9, 1.0), (0.9, -0.9, 0.0), (1.1, 2.2, 3.3000000000000003)] {
            let guard = sum(Number::Float(by), Number::Float(bound));
            assert!(!refused(&guard, stored), "{stored} + {by}");
            let past = if by > 0.0 { stored + 1e-9 } else { stored - 1e-9 };
            assert!(refused(&guard, past), "{past} + {by}");
        }
    }

    #[test]
    fn what_an_upsert_refuses_is_in_no_guard() {
        let entry = Guard::Entry {
            name: "a.hours".to_owned(),
            key: "mon".to_owned(),
            max: 3,
        };
        let room = doc! { "properties": { "a": { "properties": { "hours": { "maxProperties": 2_i64 } } } } };
        assert_eq!(
            entry.condition(),
            doc! { "$or": [{ "a.hours.mon": { "$exists": true } }, { "$jsonSchema": room }] }
        );
    }
}
