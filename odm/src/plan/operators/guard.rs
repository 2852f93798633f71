//! Guards: conditions on the stored document under which a change keeps the bounds of its fields.

use crate::model::shape::FieldMeta;
use crate::model::variant::Expected;
use crate::plan::operators::around::Around;
use crate::plan::operators::computed::ComputedGuard;
use crate::plan::operators::names::{joined, joined_names};
use crate::plan::operators::range::Limit;
use crate::query::filter::condition::{at_most, both, condition, in_array};
use crate::query::filter::equal::ComparedField;
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
        /// The array's declaration, by which items are compared.
        field: Option<&'static FieldMeta>,
        /// Whether an item may have a number as the name of a field, which MongoDB's `name.4` means too.
        numbered: bool,
    },
    /// No item of the array equals this one, which comes to it.
    Absent(Box<Added>),
    /// The map has room for those of the entries that it does not have already.
    Entries {
        name: String,
        keys: Vec<String>,
        max: u64,
    },
    /// The number stays within a bound when it is added to, or multiplied.
    Sum { name: String, limit: Limit },
    /// There is a number to change: what is made of a missing one breaks this bound.
    Base { name: String, bound: Rule },
    /// None of the items that are changed passes a bound of its field when it is added to, or multiplied.
    Items {
        /// The array.
        name: String,
        /// Which items are changed; empty for all.
        within: Document,
        /// The field of an item; empty for an item that is a number.
        field: String,
        limit: Limit,
    },
    /// All of the items that are changed have a number to add to.
    ItemBases {
        /// The array.
        name: String,
        /// Which items are changed; empty for all.
        within: Document,
        /// The field of an item.
        field: String,
        bound: Rule,
    },
    /// In none of the items that are changed the field is stored as `null`, or as another type than it has to have.
    ItemValues {
        /// The array.
        name: String,
        /// Which items are changed; empty for all.
        within: Document,
        /// The field of an item.
        field: String,
        /// The type that it has to have, a document or an array; `None` for anything but `null`.
        of_type: Option<&'static str>,
    },
    /// The field is not stored under a name that it had before: a document with both names can't be read.
    PreviousName { name: String, field: String },
    /// The same of the items that are changed.
    ItemPreviousNames {
        /// The array.
        name: String,
        /// Which items are changed; empty for all.
        within: Document,
        /// The previous name of the field of an item.
        previous: String,
        /// Its name.
        field: String,
    },
    /// The same of the items of an array in the items that are changed.
    InItems {
        /// The outer array.
        name: String,
        /// Which of its items are changed; empty for all.
        within: Document,
        /// The condition on its items.
        of: Box<Guard>,
    },
    /// The array is there: an update of its items is an error on a document that lacks it.
    There {
        name: String,
        /// Whether nothing else is changed, so that without it there is nothing to do.
        alone: bool,
    },
    /// The field is not stored as `null`, of which the operators of arrays and of numbers are an error.
    Value {
        name: String,
        /// Whether the update only takes something out of it, so that on `null` there is nothing to do.
        takes: bool,
    },
    /// The struct around what is written is not stored as `null`; or it is there.
    Around(Around),
    /// The enum has the variant in which something is changed.
    Variant {
        /// The field that says which variant there is.
        name: String,
        expected: Box<Expected>,
    },
    /// There are items for an update that does nothing else: one of these conditions holds.
    Met { any: Vec<Document> },
    /// The field takes what is computed for it.
    Computed(Box<ComputedGuard>),
}

/// An item that comes to an array, unless one equals it.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) place: ComparedField,
    /// The array.
    pub(crate) name: String,
    pub(crate) item: Bson,
    /// The condition that an item equals it.
    pub(crate) there: Document,
    /// The condition that none does.
    pub(crate) absent: Document,
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
                field,
                numbered,
            } => {
                let room = if *numbered {
                    at_most(name, "maxItems", max.saturating_sub(*more))
                } else {
                    // Room for `more` means that position `max - more` is free: an index lookup within the document.
                    let position = max.saturating_sub(*more).to_string();
                    doc! { [name, ".", &position].concat(): { "$exists": false } }
                };
                match unless_there {
                    Some(values) => doc! { "$or": [room, has_all(*field, name, values.clone())] },
                    None => room,
                }
            }
            Guard::Absent(added) => added.absent.clone(),
            Guard::Computed(computed) => computed.condition(),
            Guard::Entries { name, keys, max } => entries(name, keys, *max),
            Guard::Sum { name, limit } => doc! { name: limit.condition() },
            Guard::Base { name, .. } => doc! { name: { "$exists": true } },
            Guard::PreviousName { name, .. } => doc! { name: { "$exists": false } },
            Guard::Items { name, .. }
            | Guard::ItemBases { name, .. }
            | Guard::ItemValues { name, .. }
            | Guard::ItemPreviousNames { name, .. }
            | Guard::InItems { name, .. } => match self.offenders() {
                Some(item) => doc! { name: { "$not": { "$elemMatch": item } } },
                None => Document::new(),
            },
            Guard::There { name, .. } => doc! { name: { "$type": "array" } },
            // An array with a null in it has that type too.
            Guard::Value { name, .. } => doc! { "$or": [
                { name: { "$not": { "$type": "null" } } },
                { name: { "$type": "array" } },
            ] },
            Guard::Around(Around { name, there: true }) => doc! { name: { "$type": "object" } },
            Guard::Around(Around { name, there: false }) => doc! { name: { "$not": { "$type": "null" } } },
            Guard::Variant { expected, .. } => expected.condition(),
            Guard::Met { any } => match any.as_slice() {
                [one] => one.clone(),
                any => doc! { "$or": any },
            },
        }
    }

    /// The stored name of the field that it looks at.
    pub(crate) fn name(&self) -> &str {
        match self {
            Guard::Absent(added) => &added.name,
            Guard::Computed(computed) => &computed.name,
            Guard::Room { name, .. }
            | Guard::Entries { name, .. }
            | Guard::Sum { name, .. }
            | Guard::Base { name, .. }
            | Guard::Items { name, .. }
            | Guard::ItemBases { name, .. }
            | Guard::ItemValues { name, .. }
            | Guard::ItemPreviousNames { name, .. }
            | Guard::InItems { name, .. }
            | Guard::PreviousName { name, .. }
            | Guard::There { name, .. }
            | Guard::Value { name, .. }
            | Guard::Variant { name, .. }
            | Guard::Around(Around { name, .. }) => name,
            // Only the server can evaluate its conditions.
            Guard::Met { .. } => "_id",
        }
    }

    /// The array that has to be there, so that its items can be changed.
    pub(crate) fn array_that_is_there(&self) -> Option<&str> {
        match self {
            Guard::There { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The dotted name of the field that holds the change back, in items too.
    pub(crate) fn path(&self) -> String {
        match self {
            Guard::Items { name, field, .. }
            | Guard::ItemBases { name, field, .. }
            | Guard::ItemValues { name, field, .. }
            | Guard::ItemPreviousNames { name, field, .. } => joined(name, field),
            Guard::InItems { name, of, .. } => joined(name, &of.path()),
            guard => guard.name().to_owned(),
        }
    }

    /// The conditions of which one has to hold, so that there are items for the update.
    pub(crate) fn met(&self) -> Option<&[Document]> {
        match self {
            Guard::Met { any } => Some(any),
            _ => None,
        }
    }

    /// Whether it keeps the range of an integer type, where nothing tighter is declared.
    pub(crate) fn is_of_type(&self) -> bool {
        match self {
            Guard::Sum { limit, .. } | Guard::Items { limit, .. } => limit.is_of_type(),
            Guard::Computed(computed) => computed.is_of_type,
            Guard::InItems { of, .. } => of.is_of_type(),
            _ => false,
        }
    }

    /// The computed field, whose result only the server can say.
    pub(crate) fn computed(&self) -> Option<&ComputedGuard> {
        match self {
            Guard::Computed(computed) => Some(computed),
            _ => None,
        }
    }

    /// Whether it holds back only what has nothing to do: such a document is as it was to be.
    pub(crate) fn lets_be(&self) -> bool {
        matches!(
            self,
            Guard::There { alone: true, .. }
                | Guard::Value { takes: true, .. }
                | Guard::Absent(_)
                | Guard::Met { .. }
        )
    }

    /// Whether that is so of a document with this value.
    pub(crate) fn has_nothing_to_do(&self, stored: Option<&Bson>) -> bool {
        match self {
            Guard::There { alone, .. } => *alone && !matches!(stored, Some(Bson::Array(_))),
            Guard::Value { takes, .. } => *takes && matches!(stored, Some(Bson::Null)),
            _ => false,
        }
    }

    /// The map of which more entries are set than the condition of an upsert can have.
    pub(crate) fn too_many_entries(&self) -> Option<&str> {
        match self {
            Guard::Entries { name, keys, .. } if keys.len() > MOST_ALTERNATIVES => Some(name),
            _ => None,
        }
    }

    /// The error that an upsert's new document would be refused with.
    ///
    /// The document begins with the values that the condition requires.
    pub(crate) fn refused_insert(
        &self,
        collection: &'static str,
        id: &Bson,
        condition: &Document,
    ) -> Option<Error> {
        match self {
            Guard::Sum { name, .. } | Guard::Base { name, .. } => self.refusal(
                collection,
                id,
                crate::plan::operators::implied::demanded(condition, name),
            ),
            _ => None,
        }
    }

    /// The items that hold the change back, as a condition on them: whether there are any only the server can say.
    pub(crate) fn offenders(&self) -> Option<Document> {
        let (within, field, offence) = match self {
            Guard::Items {
                within, field, limit, ..
            } if field.is_empty() => return Some(plain_offenders(within, limit)),
            Guard::Items {
                within, field, limit, ..
            } => (within, field, limit.beyond_in_item()),
            Guard::ItemBases { within, field, .. } => (within, field, doc! { "$exists": false }),
            Guard::ItemValues {
                within,
                field,
                of_type: Some(of_type),
                ..
            } => (within, field, doc! { "$not": { "$type": of_type } }),
            // An array with a null in it has that type too.
            Guard::ItemValues { within, field, .. } => {
                let null = doc! { "$type": "null", "$not": { "$type": "array" } };
                (within, field, null)
            }
            Guard::ItemPreviousNames { within, previous, .. } => (within, previous, doc! { "$exists": true }),
            Guard::InItems { within, of, .. } => {
                let items = doc! { of.name(): { "$elemMatch": of.offenders()? } };
                return Some(both(within.clone(), items));
            }
            _ => return None,
        };
        Some(both(within.clone(), doc! { field: offence }))
    }

    /// The error for such items.
    pub(crate) fn offence(&self, collection: &'static str, id: &Bson) -> Option<Error> {
        self.offence_below("", collection, id)
    }

    /// The same of the items of an array within those of another one, of this name.
    fn offence_below(&self, above: &str, collection: &'static str, id: &Bson) -> Option<Error> {
        let path = joined_names(above, &self.path());
        match self {
            Guard::Items { limit, .. } => {
                let violation = Violation::new(path, limit.rule().clone(), None);
                Some(invalid(collection, violation.stored_in(id)))
            }
            Guard::ItemBases { bound, .. } => {
                let violation = Violation::new(path, bound.clone(), None);
                Some(invalid(collection, violation.stored_in(id)))
            }
            Guard::ItemValues { .. } => Some(Error::IsNull {
                collection,
                id: Box::new(id.clone()),
                field: path,
            }),
            Guard::ItemPreviousNames { name, previous, .. } => {
                let previous = joined_names(above, &joined(name, previous));
                Some(under_previous_name(collection, id, &previous, &path))
            }
            Guard::InItems { name, of, .. } => of.offence_below(&joined_names(above, name), collection, id),
            _ => None,
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
                    field,
                    ..
                },
                Some(Bson::Array(items)),
            ) => {
                let place = field.and_then(|field| ComparedField::items(field, name));
                let is_there = |value: &Bson| match &place {
                    Some(place) => items.iter().any(|item| place.same(item, value)),
                    None => items.contains(value),
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
            (Guard::Entries { name, keys, max }, Some(Bson::Document(entries))) => {
                let new = keys.iter().filter(|key| !entries.contains_key(key)).count();
                (new > 0 && (entries.len() + new) as u64 > *max).then(|| Error::ArrayFull {
                    collection,
                    id: Box::new(id.clone()),
                    field: name.clone(),
                    max: *max,
                })
            }
            (Guard::There { name, alone: false }, value) if !matches!(value, Some(Bson::Array(_))) => {
                Some(Error::IsNull {
                    collection,
                    id: Box::new(id.clone()),
                    field: name.clone(),
                })
            }
            (Guard::Value { name, takes: false } | Guard::Around(Around { name, .. }), Some(Bson::Null))
            | (Guard::Around(Around { name, there: true }), None) => Some(Error::IsNull {
                collection,
                id: Box::new(id.clone()),
                field: name.clone(),
            }),
            (Guard::Sum { name, limit }, stored) => limit.refuses(stored).then(|| {
                let violation = Violation::new(name.as_str(), limit.rule().clone(), stored.cloned());
                invalid(collection, violation.stored_in(id))
            }),
            (Guard::Variant { expected, .. }, stored) => expected.refusal(collection, id, stored),
            (Guard::PreviousName { name, field }, Some(_)) => {
                Some(under_previous_name(collection, id, name, field))
            }
            (Guard::Base { name, bound }, None) => {
                let violation = Violation::new(name.as_str(), bound.clone(), None);
                Some(invalid(collection, violation.stored_in(id)))
            }
            _ => None,
        }
    }

    /// The same error with the value of the item that holds the change back, where the server has given that item.
    pub(crate) fn with_item(&self, mut error: Error, found: &Document) -> Error {
        let (Guard::Items { name, field, .. }, Error::Invalid { violations, .. }) = (self, &mut error) else {
            return error;
        };
        let item = found
            .get_array(name)
            .ok()
            .and_then(|items| items.first()?.as_document());
        let value = item.and_then(|item| {
            let mut parts = field.split('.');
            let first = item.get(parts.next()?)?;
            parts.try_fold(first, |value, part| value.as_document()?.get(part))
        });
        for violation in violations {
            let of = Violation::new("", violation.rule.clone(), value.cloned());
            violation.value = of.value;
        }
        error
    }
}

fn under_previous_name(collection: &'static str, id: &Bson, previous: &str, field: &str) -> Error {
    Error::Query {
        collection,
        message: format!(
            "the document with _id {id} still stores `{field}` under its previous name `{previous}`, and a document with both \
             names could not be read: `set` the field, which removes the previous name, or `replace` the document"
        ),
    }
}

fn invalid(collection: &'static str, violation: Violation) -> Error {
    Error::Invalid {
        collection: collection.to_owned(),
        violations: vec![violation],
        source: None,
    }
}

/// That the array has all of these items, each of them a value whatever it looks like.
fn has_all(field: Option<&'static FieldMeta>, name: &str, values: Vec<Bson>) -> Document {
    let place = field.and_then(|field| ComparedField::items(field, name));
    // A value that can't be compared was refused when it was added.
    let by_value = place.and_then(|place| place.condition("$all", values.clone().into()).ok());
    by_value.unwrap_or_else(|| condition(name, "$all", Bson::Array(values)))
}

/// Maximum number of entries for which alternatives say which of them exist already; each further entry doubles the
/// alternatives.
pub(crate) const MOST_ALTERNATIVES: usize = 4;

/// That the map has room for those of these entries that it lacks.
fn entries(name: &str, keys: &[String], max: u64) -> Document {
    if keys.len() > MOST_ALTERNATIVES {
        // No text is compared with another one: to the collation of a collection two keys may be the same.
        let is_of = |path: String, name: &str| doc! { "$eq": [{ "$type": path }, name] };
        let map = doc! { "$cond": [is_of(format!("${name}"), "object"), format!("${name}"), {}] };
        let there = doc! { "$size": { "$objectToArray": map } };
        let new: Vec<Document> = keys
            .iter()
            .map(|key| doc! { "$cond": [is_of(format!("${name}.{key}"), "missing"), 1, 0] })
            .collect();
        let new = doc! { "$add": new };
        let known = doc! { "$eq": [&new, 0] };
        let fits = doc! { "$lte": [{ "$add": [there, new] }, i64::try_from(max).unwrap_or(i64::MAX)] };
        return doc! { "$expr": { "$or": [known, fits] } };
    }
    // Not by `$expr`: the server refuses it in the filter of an upsert.
    let mut alternatives = Vec::new();
    for some in (0..1_usize << keys.len()).rev() {
        let is_there = |(at, key): (usize, &String)| (some >> at & 1 == 1).then(|| format!("{name}.{key}"));
        let mut there: Document = keys
            .iter()
            .enumerate()
            .filter_map(is_there)
            .map(|key| (key, doc! { "$exists": true }.into()))
            .collect();
        let new = keys.len() - there.len();
        match max.checked_sub(new as u64) {
            _ if new == 0 => {}
            Some(most) => there.extend(at_most(name, "maxProperties", most)),
            None => continue,
        }
        alternatives.push(there);
    }
    doc! { "$or": alternatives }
}

/// The numbers among the items that pass the limit, of those that are changed. Where that can't be asked of items (the server
/// takes no `|` between conditions on one), of all.
fn plain_offenders(within: &Document, limit: &Limit) -> Document {
    let beyond = || doc! { "": limit.beyond() };
    let both = doc! { "$and": [within.clone(), beyond()] };
    in_array(both).unwrap_or_else(|_| limit.beyond())
}

/// The alternatives of a condition on items themselves: each becomes a guard of its own.
pub(crate) fn alternatives(within: &Document) -> Vec<Document> {
    let mut only = within.iter();
    match (only.next(), only.next()) {
        (Some((name, Bson::Array(any))), None) if name == "$or" => any
            .iter()
            .filter_map(Bson::as_document)
            .flat_map(alternatives)
            .collect(),
        (Some((name, Bson::Array(none))), None) if name == "$nor" => match none.as_slice() {
            [Bson::Document(one)] if one.len() == 1 => match one.get_document("") {
                Ok(condition) => vec![doc! { "": { "$not": condition.clone() } }],
                Err(_) => vec![within.clone()],
            },
            _ => vec![within.clone()],
        },
        _ => vec![within.clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::shape::Number;
    use crate::model::shape::{Bounds, FieldMeta, Shape};
    use crate::plan::operators::range::NumberRange;

    fn sum(by: impl Into<Bson>, bound: Number) -> Guard {
        Guard::Sum {
            name: "n".to_owned(),
            limit: limit(by, bound),
        }
    }

    /// Of a field without an integer type, with this bound on the side to which is added.
    fn limit(by: impl Into<Bson>, bound: Number) -> Limit {
        let by = by.into();
        let is_max = by.as_f64().is_some_and(|by| by > 0.0) || by.as_i64().is_some_and(|by| by > 0);
        let bounds = Bounds {
            min: (!is_max).then_some(bound),
            max: is_max.then_some(bound),
            ..Bounds::NONE
        };
        let field = FieldMeta {
            shape: || Shape::Double,
            bounds,
            ..crate::expansion_fixture::FIELD
        };
        let mut limits = NumberRange::for_field(&field)
            .of_sum("n", &by, None)
            .expect("can be added");
        limits.all.pop().expect("has a limit")
    }

    fn refused(guard: &Guard, stored: impl Into<Bson>) -> bool {
        guard.refusal("c", &Bson::Null, Some(&stored.into())).is_some()
    }

    #[test]
    fn a_sum_of_large_integers_is_exact() {
        let most = 1_i64 << 60;
        let guard = sum(1_i64, Number::Int(most));
        assert_eq!(guard.condition(), doc! { "n": { "$not": { "$gt": most - 1 } } });
        assert!(refused(&guard, most));
        assert!(!refused(&guard, most - 1));
        // No number can lose so much.
        let guard = sum(i64::MIN, Number::Int(0));
        let none = doc! { "n": { "$exists": true, "$not": { "$type": "number" } } };
        assert_eq!(guard.condition(), none);
        assert!(refused(&guard, i64::MAX));
    }

    #[test]
    fn a_sum_of_doubles_may_reach_its_bound() {
        for (stored, by, bound) in [(0.1, 0.9, 1.0), (0.9, -0.9, 0.0), (1.1, 2.2, 3.3000000000000003)] {
            let guard = sum(by, Number::Float(bound));
            assert!(!refused(&guard, stored), "{stored} + {by}");
            let past = if by > 0.0 { stored + 1e-9 } else { stored - 1e-9 };
            assert!(refused(&guard, past), "{past} + {by}");
        }
    }

    #[test]
    fn a_sum_with_a_missing_field_is_the_added_number() {
        let guard = sum(-500_i64, Number::Int(0));
        assert_eq!(
            guard.condition(),
            doc! { "n": { "$exists": true, "$not": { "$lt": 500_i64 } } }
        );
        assert!(guard.refusal("c", &Bson::Null, None).is_some());
        assert!(refused(&guard, 499) && !refused(&guard, 500));
        let guard = sum(5_i64, Number::Int(5));
        assert_eq!(guard.condition(), doc! { "n": { "$not": { "$gt": 0_i64 } } });
        assert!(guard.refusal("c", &Bson::Null, None).is_none());
        let items = |within| Guard::Items {
            name: "items".to_owned(),
            within,
            field: "n".to_owned(),
            limit: limit(-1_i64, Number::Int(0)),
        };
        let least = doc! { "$not": { "$gte": 1_i64 } };
        assert_eq!(items(doc! {}).offenders(), Some(doc! { "n": &least }));
        assert_eq!(
            items(doc! { "a": 1 }).offenders(),
            Some(doc! { "a": 1, "n": least })
        );
    }

    #[test]
    fn items_in_items_are_guarded_within_both_conditions() {
        let guard = |within: Document| Guard::InItems {
            name: "sections".to_owned(),
            within,
            of: Box::new(Guard::Items {
                name: "lines".to_owned(),
                within: doc! { "sku": { "$eq": 1 } },
                field: "qty".to_owned(),
                limit: limit(1_i64, Number::Int(9)),
            }),
        };
        let item = doc! { "$elemMatch": { "sku": { "$eq": 1 }, "qty": { "$gt": 8_i64 } } };
        let title = doc! { "title": { "$eq": "a" } };
        for (within, offenders) in [
            (doc! {}, doc! { "lines": &item }),
            (title.clone(), doc! { "title": { "$eq": "a" }, "lines": &item }),
            (
                doc! { "$or": [&title] },
                doc! { "lines": &item, "$and": [{ "$or": [&title] }] },
            ),
            (
                doc! { "lines": { "$elemMatch": { "sku": 2 } } },
                doc! { "lines": &item, "$and": [{ "lines": { "$elemMatch": { "sku": 2 } } }] },
            ),
        ] {
            assert_eq!(guard(within).offenders(), Some(offenders));
        }
        let error = guard(doc! {}).offence("c", &Bson::Null);
        let Some(Error::Invalid { violations, .. }) = error else {
            panic!("{error:?}")
        };
        assert_eq!(violations[0].path, "sections.lines.qty");
    }

    #[test]
    fn items_that_are_numbers_are_guarded_as_numbers() {
        let offenders = |within: Document| -> Vec<Document> {
            let guard = |within| Guard::Items {
                name: "scores".to_owned(),
                within,
                field: String::new(),
                limit: limit(1_i64, Number::Int(9)),
            };
            let all = alternatives(&within).into_iter().map(guard);
            all.filter_map(|guard| guard.offenders()).collect()
        };
        let beyond = doc! { "$gt": 8_i64 };
        assert_eq!(offenders(doc! {}), std::slice::from_ref(&beyond));
        assert_eq!(
            offenders(doc! { "": { "$lt": 3 } }),
            [doc! { "$lt": 3, "$gt": 8_i64 }]
        );
        assert_eq!(
            offenders(doc! { "": { "$gt": 3 } }),
            [doc! { "$gt": 3, "$not": { "$not": { "$gt": 8_i64 } } }]
        );
        assert_eq!(
            offenders(doc! { "$or": [{ "": { "$eq": 9 } }, { "$nor": [{ "": { "$eq": 1 } }] }] }),
            [
                doc! { "$eq": 9, "$gt": 8_i64 },
                doc! { "$not": { "$eq": 1 }, "$gt": 8_i64 }
            ]
        );
        // A condition that the server does not take of an item is left out, so that all items are guarded.
        assert_eq!(
            offenders(doc! { "$nor": [{ "": { "$eq": 1 } }, { "": { "$eq": 2 } }] }),
            [beyond]
        );
    }

    #[test]
    fn an_item_that_looks_like_an_operator_is_a_value() {
        let room = |values: Vec<Bson>| Guard::Room {
            name: "tags".to_owned(),
            more: 1,
            max: 3,
            unless_there: Some(values),
            field: None,
            numbered: false,
        };
        let free = doc! { "tags.2": { "$exists": false } };
        let plain = room(vec!["a".into(), "b".into()]).condition();
        assert_eq!(plain, doc! { "$or": [&free, { "tags": { "$all": ["a", "b"] } }] });
        let operator = doc! { "$elemMatch": { "x": 1 } };
        assert_eq!(
            room(vec![operator.clone().into()]).condition(),
            doc! { "$or": [&free, { "$and": [{ "tags": { "$eq": &operator } }] }] }
        );
    }

    fn hours(name: &str, keys: &[&str]) -> Guard {
        Guard::Entries {
            name: name.to_owned(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            max: 3,
        }
    }

    #[test]
    fn a_value_that_an_upsert_refuses_is_in_no_guard() {
        let room = doc! { "properties": { "a": { "properties": { "hours": { "maxProperties": 2_i64 } } } } };
        assert_eq!(
            hours("a.hours", &["mon"]).condition(),
            doc! { "$or": [{ "a.hours.mon": { "$exists": true } }, { "$jsonSchema": room }] }
        );
    }

    #[test]
    fn several_entries_are_counted_together() {
        let guard = hours("hours", &["mon", "tue"]);
        let room = |most: i64| doc! { "properties": { "hours": { "maxProperties": most } } };
        let there = || doc! { "$exists": true };
        assert_eq!(
            guard.condition(),
            doc! { "$or": [
                { "hours.mon": there(), "hours.tue": there() },
                { "hours.tue": there(), "$jsonSchema": room(2) },
                { "hours.mon": there(), "$jsonSchema": room(2) },
                { "$jsonSchema": room(1) },
            ] }
        );
        assert!(!refused(&guard, doc! { "wed": 1 }));
        assert!(!refused(&guard, doc! { "wed": 1, "mon": 1 }));
        assert!(refused(&guard, doc! { "wed": 1, "thu": 1 }));
        assert!(refused(&guard, doc! { "wed": 1, "thu": 1, "mon": 1 }));
        // A map that is too full already takes no more, but what it has may change.
        assert!(!refused(&guard, doc! { "wed": 1, "thu": 1, "mon": 1, "tue": 1 }));
    }

    /// To a collation of the collection's `mon` and `MON` may be the same.
    #[test]
    fn many_entries_are_counted_without_comparing_their_keys() {
        let condition = hours("a.hours", &["mon", "MON", "tue", "wed", "thu"]).condition();
        let or = condition
            .get_document("$expr")
            .and_then(|expr| expr.get_array("$or"));
        let or = or.expect("an expression");
        let new = |key: &str| {
            let there = doc! { "$type": format!("$a.hours.{key}") };
            doc! { "$cond": [{ "$eq": [there, "missing"] }, 1, 0] }
        };
        let new = doc! { "$add": [new("mon"), new("MON"), new("tue"), new("wed"), new("thu")] };
        assert_eq!(or[0], Bson::Document(doc! { "$eq": [&new, 0] }));
        let is_map = doc! { "$eq": [{ "$type": "$a.hours" }, "object"] };
        let there = doc! { "$size": { "$objectToArray": { "$cond": [is_map, "$a.hours", {}] } } };
        assert_eq!(
            or[1],
            Bson::Document(doc! { "$lte": [{ "$add": [there, new] }, 3_i64] })
        );
    }

    #[test]
    fn null_holds_back_operators_that_need_a_value() {
        let value = |takes| Guard::Value {
            name: "n".to_owned(),
            takes,
        };
        let there = doc! { "$or": [{ "n": { "$not": { "$type": "null" } } }, { "n": { "$type": "array" } }] };
        assert_eq!(value(false).condition(), there);
        assert!(refused(&value(false), Bson::Null) && !refused(&value(false), 1));
        assert!(!refused(&value(true), Bson::Null));
        assert!(value(true).has_nothing_to_do(Some(&Bson::Null)));
        assert!(!value(true).has_nothing_to_do(None));
    }
}
