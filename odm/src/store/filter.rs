//! Makes the filters that are sent: joins conditions so that no condition stands twice, and an `_id` is exact where it can be.
//!
//! A router of a sharded cluster takes an update or a deletion of one document by an exact `_id`, and a `findAndModify` by the shard
//! key, only where the filter has the equality once: `{ $and: [{ _id: 1 }, { _id: 1 }] }` names no document to it. An upsert is
//! refused likewise, also by a `mongod`. A filter that is made here:
//!
//! - has each field at its top if it can, with all operators of its conditions: an index with a partial filter is found by them, and
//!   an upsert takes the equalities
//! - keeps in one `$and`, without others in it, what has no place there: a second value of a field (an array may hold both)
//! - says `{ _id: x }` where the conditions leave one id, and `$in` of those that all of them name otherwise
//!
//! It matches what all conditions match, under any collation: texts that are not identical may be equal under one, so no text is
//! left out for being another.

use crate::model::key::Key;
use mongodb::bson::{Bson, Document, doc};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// All of these conditions as one filter.
pub(crate) fn all(conditions: impl IntoIterator<Item = Document>) -> Document {
    let mut filter = Document::new();
    let mut conditions = conditions.into_iter();
    while let Some(condition) = conditions.next() {
        let stands_beside = |(name, value): (&String, &Bson)| {
            stands_as_given(name, value) && (filter.is_empty() || !filter.contains_key(name))
        };
        if !condition.iter().all(stands_beside) {
            return joined([filter, condition].into_iter().chain(conditions));
        }
        if filter.is_empty() {
            filter = condition;
        } else {
            filter.extend(condition);
        }
    }
    filter
}

/// The same of one condition.
pub(crate) fn in_form(condition: Cow<'_, Document>) -> Cow<'_, Document> {
    if condition.iter().all(|(name, value)| stands_as_given(name, value)) {
        condition
    } else {
        Cow::Owned(all([condition.into_owned()]))
    }
}

/// The same, part by part.
fn joined(conditions: impl IntoIterator<Item = Document>) -> Document {
    let mut parts = FilterParts::default();
    conditions
        .into_iter()
        .for_each(|condition| parts.add_all(condition));
    parts.filter()
}

/// Whether a condition on a field that no other one restricts stands in a filter as it is given.
fn stands_as_given(name: &str, value: &Bson) -> bool {
    match value {
        Bson::Document(operators) if is_of_operators(operators) => {
            !name.starts_with('$') && name != "_id" && operators.len() == 1
        }
        _ => !name.starts_with('$'),
    }
}

/// The condition of the document with this id.
pub(crate) fn by_id(id: &Bson) -> Document {
    if is_plain(id) {
        doc! { "_id": id }
    } else {
        doc! { "_id": { "$eq": id } }
    }
}

/// A filter, and the condition of a scope.
pub(crate) fn within(filter: Document, scope: &Document) -> Document {
    all([filter, scope.clone()])
}

/// The id of the one document that a filter names, if it does.
pub(crate) fn named_id(filter: &Document) -> Option<&Bson> {
    match filter.get("_id")? {
        Bson::Document(operators) if is_of_operators(operators) => operators.get("$eq"),
        Bson::RegularExpression(_) => None,
        id => Some(id),
    }
}

/// The ids that a filter names.
pub(crate) fn named_ids(filter: &Document) -> &[Bson] {
    let list = || {
        filter
            .get_document("_id")
            .and_then(|operators| operators.get_array("$in"))
    };
    match named_id(filter) {
        Some(id) => std::slice::from_ref(id),
        None => list().map_or(&[], Vec::as_slice),
    }
}

/// Whether a document has to match each condition of a list: also of alternatives of which there is one. A list that the server refuses
/// is none.
fn is_of_all(name: &str, list: &[Bson]) -> bool {
    let is_one = name == "$or" && list.len() == 1;
    let is_all = name == "$and" && !list.is_empty();
    (is_one || is_all) && list.iter().all(|one| one.as_document().is_some())
}

/// Whether a document behind a field holds operators. It is a value otherwise, also a reference of the form `{ $ref, $id }`.
pub(crate) fn is_of_operators(condition: &Document) -> bool {
    let first = condition.keys().next();
    first.is_some_and(|name| name.starts_with('$') && !["$ref", "$id", "$db"].contains(&name.as_str()))
}

/// The conditions as they are joined.
#[derive(Default)]
struct FilterParts {
    parts: Vec<FilterPart>,
    /// The positions of a name's parts. All but the first stand in `$and`.
    by_name: HashMap<String, Vec<usize>>,
}

/// What stands behind a name once.
struct FilterPart {
    name: String,
    predicates: Vec<Predicate>,
}

/// A condition on a field that the server evaluates by itself, whatever stands beside it.
enum Predicate {
    /// `$eq`, and whether it was given as the value alone.
    Is(Bson, bool),
    /// `$in` of values.
    OneOf(Vec<Bson>),
    /// Another operator, or several that belong together.
    Operators(Document),
    /// A condition to which nothing is added: its value as it is.
    Whole(Bson),
}

impl Predicate {
    /// As the value alone, where it is a list of one.
    fn of_one(self) -> Predicate {
        match self {
            Predicate::OneOf(mut values) if values.len() == 1 => Predicate::Is(values.remove(0), false),
            predicate => predicate,
        }
    }
}

impl FilterParts {
    fn add_all(&mut self, condition: Document) {
        for (name, value) in condition {
            match value {
                Bson::Array(list) if is_of_all(&name, &list) => {
                    for one in list {
                        if let Bson::Document(one) = one {
                            self.add_all(one);
                        }
                    }
                }
                // Also a list that the server refuses, and has to see.
                value if name.starts_with('$') => self.add(&name, Predicate::Whole(value)),
                value => predicates(value)
                    .into_iter()
                    .for_each(|predicate| self.add(&name, predicate)),
            }
        }
    }

    /// Adds a predicate to the first part of its name in which it can stand.
    fn add(&mut self, name: &str, predicate: Predicate) {
        let mut predicates = vec![if name == "_id" {
            predicate.of_one()
        } else {
            predicate
        }];
        while let Some(predicate) = predicates.pop() {
            let positions = self.by_name.entry(name.to_owned()).or_default();
            let mut left = Some(predicate);
            let mut replaced = false;
            for at in positions.iter() {
                let Some(part) = self.parts.get_mut(*at) else {
                    continue;
                };
                if replaced {
                    // The stronger predicate may imply these, too.
                    predicates.append(&mut part.predicates);
                } else if let Some(predicate) = left.take() {
                    (left, replaced) = part.add(predicate);
                }
            }
            if let Some(predicate) = left {
                positions.push(self.parts.len());
                self.parts.push(FilterPart {
                    name: name.to_owned(),
                    predicates: vec![predicate],
                });
            }
        }
    }

    fn filter(self) -> Document {
        let mut filter = Document::new();
        let mut more = Vec::new();
        for FilterPart { name, predicates } in
            self.parts.into_iter().filter(|part| !part.predicates.is_empty())
        {
            let value = condition(&name, predicates);
            if filter.contains_key(&name) {
                more.push(doc! { name: value });
            } else {
                filter.insert(name, value);
            }
        }
        if more.is_empty() {
            return filter;
        }
        if filter.contains_key("$and") {
            // One that the server refuses.
            more.insert(0, filter);
            return doc! { "$and": more };
        }
        filter.insert("$and", more);
        filter
    }
}

impl FilterPart {
    /// Adds a predicate. Gives it back if it can't stand here, and whether it stands for others now.
    fn add(&mut self, mut predicate: Predicate) -> (Option<Predicate>, bool) {
        let mut implied = Vec::new();
        let mut at = 0;
        while let Some(there) = self.predicates.get(at) {
            if implied.contains(&at) {
                at += 1;
                continue;
            }
            match join(&self.name, there, &predicate) {
                JoinedParts::First => return (None, false),
                JoinedParts::Second => implied.push(at),
                JoinedParts::One(one) => {
                    implied.push(at);
                    predicate = one;
                    // It was compared with none of the others.
                    at = 0;
                    continue;
                }
                JoinedParts::Both => {}
                JoinedParts::Apart => return (Some(predicate), false),
            }
            at += 1;
        }
        implied.sort_unstable();
        let place = implied.first().copied().unwrap_or(self.predicates.len());
        let replaces = !implied.is_empty();
        for at in implied.into_iter().rev() {
            self.predicates.remove(at);
        }
        self.predicates.insert(place, predicate);
        (None, replaces)
    }
}

/// Two predicates of a field as one condition.
enum JoinedParts {
    /// The first one implies the second.
    First,
    /// The second one implies the first.
    Second,
    /// Another one says the same as both.
    One(Predicate),
    /// Both, in one document of operators.
    Both,
    /// Both, but not in one document.
    Apart,
}

fn join(name: &str, first: &Predicate, second: &Predicate) -> JoinedParts {
    match (first, second) {
        (Predicate::Whole(first), Predicate::Whole(second)) if is_identical(first, second) => {
            JoinedParts::First
        }
        (Predicate::Whole(_), _) | (_, Predicate::Whole(_)) => JoinedParts::Apart,
        (Predicate::Operators(first), Predicate::Operators(second)) => {
            let clash = |operator: &String| {
                first.contains_key(operator) || is_of_pattern(operator) && first.keys().any(is_of_pattern)
            };
            if are_identical(first, second) {
                JoinedParts::First
            } else if second.keys().any(clash) {
                JoinedParts::Apart
            } else {
                JoinedParts::Both
            }
        }
        (Predicate::Operators(operators), Predicate::OneOf(_))
        | (Predicate::OneOf(_), Predicate::Operators(operators)) => {
            if operators.contains_key("$in") {
                JoinedParts::Apart
            } else {
                JoinedParts::Both
            }
        }
        (Predicate::Operators(_), Predicate::Is(..)) | (Predicate::Is(..), Predicate::Operators(_)) => {
            JoinedParts::Both
        }
        (Predicate::Is(first, _), Predicate::Is(second, _)) => join_values(
            name,
            std::slice::from_ref(first),
            std::slice::from_ref(second),
            false,
        ),
        (Predicate::Is(first, _), Predicate::OneOf(second)) => {
            join_values(name, std::slice::from_ref(first), second, true)
        }
        (Predicate::OneOf(first), Predicate::Is(second, _)) => {
            join_values(name, first, std::slice::from_ref(second), true)
        }
        (Predicate::OneOf(first), Predicate::OneOf(second)) => join_values(name, first, second, false),
    }
}

/// Two lists of values of which a field has one each. Those of an array may be two; an `_id` is one value.
fn join_values(name: &str, first: &[Bson], second: &[Bson], stand_together: bool) -> JoinedParts {
    let keys = |values: &[Bson]| values.iter().map(Key::of_bson).collect::<HashSet<Key>>();
    let (of_first, of_second) = (keys(first), keys(second));
    if of_first.is_subset(&of_second) {
        return JoinedParts::First;
    }
    if of_second.is_subset(&of_first) {
        return JoinedParts::Second;
    }
    // A text may be equal to another one under the collation.
    let has_text = |values: &[Bson], but: &HashSet<Key>| {
        let mut others = values.iter().filter(|value| !but.contains(&Key::of_bson(value)));
        others.any(holds_text)
    };
    let none = HashSet::new();
    let is_known = |left_out: &[Bson], by: &HashSet<Key>, others: &[Bson]| {
        !has_text(left_out, by) || !has_text(others, &none)
    };
    if name == "_id" && is_known(first, &of_second, second) && is_known(second, &of_first, first) {
        let common = first
            .iter()
            .filter(|value| of_second.contains(&Key::of_bson(value)));
        return JoinedParts::One(Predicate::OneOf(common.cloned().collect()).of_one());
    }
    if stand_together {
        JoinedParts::Both
    } else {
        JoinedParts::Apart
    }
}

/// Whether a value is a text or has one in it.
fn holds_text(value: &Bson) -> bool {
    match value {
        Bson::String(_) | Bson::Symbol(_) => true,
        Bson::Array(items) => items.iter().any(holds_text),
        Bson::Document(fields) => fields.values().any(holds_text),
        _ => false,
    }
}

/// Operators that mean something else beside each other.
fn is_of_pattern(operator: &String) -> bool {
    operator == "$regex" || operator == "$options"
}

/// The predicates of a condition on a field.
fn predicates(condition: Bson) -> Vec<Predicate> {
    let operators = match condition {
        Bson::Document(operators) if is_of_operators(&operators) => operators,
        Bson::RegularExpression(_) => return vec![Predicate::Whole(condition)],
        value => return vec![Predicate::Is(value, true)],
    };
    // What belongs to `$near` differs by its form.
    if operators
        .keys()
        .any(|name| name.starts_with("$near") || name == "$geoNear" || !name.starts_with('$'))
    {
        return vec![Predicate::Whole(operators.into())];
    }
    let mut predicates = Vec::new();
    let mut pattern = Document::new();
    for (name, value) in operators {
        match (name.as_str(), value) {
            ("$eq", value) => predicates.push(Predicate::Is(value, false)),
            ("$in", Bson::Array(values)) if !values.iter().any(is_pattern) => {
                predicates.push(Predicate::OneOf(values))
            }
            (_, value) if is_of_pattern(&name) => drop(pattern.insert(name, value)),
            (_, value) => predicates.push(Predicate::Operators(doc! { name: value })),
        }
    }
    if !pattern.is_empty() {
        predicates.push(Predicate::Operators(pattern));
    }
    predicates
}

/// Whether a value is more than itself in the list of an `$in`: a pattern, or what the server refuses there.
fn is_pattern(value: &Bson) -> bool {
    match value {
        Bson::RegularExpression(_) => true,
        Bson::Document(value) => is_of_operators(value),
        _ => false,
    }
}

/// The condition behind a name.
fn condition(name: &str, mut predicates: Vec<Predicate>) -> Bson {
    if let [_] = predicates.as_slice()
        && let Some(predicate) = predicates.pop()
    {
        match predicate {
            Predicate::Whole(value) => return value,
            Predicate::Is(value, as_value) if as_value || name == "_id" && is_plain(&value) => return value,
            predicate => predicates.push(predicate),
        }
    }
    let mut operators = Document::new();
    for predicate in predicates {
        match predicate {
            Predicate::Is(value, _) => drop(operators.insert("$eq", value)),
            Predicate::OneOf(values) => drop(operators.insert("$in", values)),
            Predicate::Operators(more) => operators.extend(more),
            Predicate::Whole(_) => {}
        }
    }
    operators.into()
}

/// Whether a value means itself where it stands without `$eq`.
fn is_plain(value: &Bson) -> bool {
    !is_pattern(value) && !matches!(value, Bson::Array(_) | Bson::Undefined)
}

/// Whether two values are the same, fields in the same order.
fn is_identical(one: &Bson, other: &Bson) -> bool {
    match (one, other) {
        (Bson::Document(one), Bson::Document(other)) => are_identical(one, other),
        (Bson::Array(one), Bson::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_identical(one, other))
        }
        (one, other) => one == other,
    }
}

fn are_identical(one: &Document, other: &Document) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|((name, one), (same, other))| name == same && is_identical(one, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::Regex;
    use proptest::prelude::*;

    #[test]
    fn conditions_stand_side_by_side_and_none_twice() {
        for (conditions, filter) in [
            (vec![], doc! {}),
            (vec![doc! {}, doc! { "a": 1 }], doc! { "a": 1 }),
            (
                vec![doc! { "a": 1 }, doc! {}, doc! { "b": 2, "$or": [{ "c": 1 }, {}] }],
                doc! { "a": 1, "b": 2, "$or": [{ "c": 1 }, {}] },
            ),
            // An array may hold both.
            (
                vec![doc! { "a": 1 }, doc! { "a": 2 }],
                doc! { "a": 1, "$and": [{ "a": 2 }] },
            ),
            (
                vec![
                    doc! { "a": 1 },
                    doc! { "b": 2 },
                    doc! { "b": 3 },
                    doc! { "c": 4 },
                    doc! { "b": 3_i64 },
                ],
                doc! { "a": 1, "b": 2, "c": 4, "$and": [{ "b": 3 }] },
            ),
            (
                vec![
                    doc! { "$and": [{ "a": 1 }, { "$and": [{ "b": 1 }, { "a": { "$eq": 1 } }] }] },
                    doc! { "b": 1.0 },
                ],
                doc! { "a": 1, "b": 1 },
            ),
            // Operators say the same side by side.
            (
                vec![
                    doc! { "a": { "$gt": 0 } },
                    doc! { "a": { "$lt": 9, "$gt": 0 } },
                    doc! { "a": { "$gt": 1 } },
                ],
                doc! { "a": { "$gt": 0, "$lt": 9 }, "$and": [{ "a": { "$gt": 1 } }] },
            ),
            // The stronger one of two lists; of others each array may have one.
            (
                vec![
                    doc! { "a": { "$in": [1, 2, 3] } },
                    doc! { "a": { "$in": [3, 2] } },
                    doc! { "a": { "$in": [2, 9] } },
                ],
                doc! { "a": { "$in": [3, 2] }, "$and": [{ "a": { "$in": [2, 9] } }] },
            ),
            (
                vec![doc! { "a": { "$in": [1, 2] } }, doc! { "a": 2 }],
                doc! { "a": 2 },
            ),
            (
                vec![doc! { "a": null }, doc! { "a": { "$in": [0, null] } }],
                doc! { "a": null },
            ),
            (
                vec![
                    doc! { "$or": [{ "a": 1 }, { "b": 1 }] },
                    doc! { "$or": [{ "a": 1 }, { "b": 1 }] },
                    doc! { "$or": [{ "b": 1 }, { "a": 1 }] },
                    doc! { "$or": [{ "c": 1 }] },
                ],
                doc! { "$or": [{ "a": 1 }, { "b": 1 }], "c": 1, "$and": [{ "$or": [{ "b": 1 }, { "a": 1 }] }] },
            ),
            // The fields of a document have an order.
            (
                vec![
                    doc! { "a": { "b": 1, "c": 2 } },
                    doc! { "a": { "c": 2, "b": 1 } },
                    doc! { "a": { "$eq": { "b": 1, "c": 2 } } },
                ],
                doc! { "a": { "b": 1, "c": 2 }, "$and": [{ "a": { "c": 2, "b": 1 } }] },
            ),
        ] {
            let made = all(conditions.clone());
            assert!(are_identical(&made, &filter), "{conditions:?}: {made}");
            assert!(
                are_identical(&all([made.clone()]), &made),
                "{made} is made of itself"
            );
        }
    }

    #[test]
    fn one_id_is_exact_and_stands_once() {
        let id = || doc! { "_id": 7 };
        for (conditions, filter) in [
            (vec![doc! { "_id": { "$in": [7] } }], id()),
            // Two texts, which may be equal under a collation.
            (
                vec![
                    doc! { "_id": "a" },
                    doc! { "_id": { "$in": ["A", 1] } },
                    doc! { "_id": { "$in": ["A", 2] } },
                ],
                doc! { "_id": { "$eq": "a", "$in": ["A", 1] }, "$and": [{ "_id": "A" }] },
            ),
            (vec![doc! { "_id": { "$eq": 7 } }, doc! { "_id": 7_i64 }], id()),
            (
                vec![doc! { "$and": [{ "_id": { "$in": [7] } }, { "_id": 7 }] }],
                id(),
            ),
            (
                vec![
                    id(),
                    doc! { "$and": [{ "$and": [{ "_id": { "$in": [1, 7] } }] }] },
                ],
                id(),
            ),
            (
                vec![
                    doc! { "_id": { "$in": [1, 7, 8] } },
                    doc! { "_id": { "$in": [7, 8, 9] } },
                ],
                doc! { "_id": { "$in": [7, 8] } },
            ),
            (
                vec![
                    doc! { "_id": { "$in": [1, 7] } },
                    doc! { "_id": { "$in": [7, 9] } },
                ],
                id(),
            ),
            (vec![id(), doc! { "_id": 8 }], doc! { "_id": { "$in": [] } }),
            (
                vec![id(), doc! { "_id": { "$gt": 3 } }],
                doc! { "_id": { "$eq": 7, "$gt": 3 } },
            ),
            (
                vec![doc! { "_id": { "$in": ["a", "b"] } }, doc! { "_id": "a" }],
                doc! { "_id": "a" },
            ),
            // Under a collation they may be one.
            (
                vec![doc! { "_id": "a" }, doc! { "_id": "A" }],
                doc! { "_id": "a", "$and": [{ "_id": "A" }] },
            ),
            (
                vec![doc! { "_id": { "$in": ["a", 1] } }, doc! { "_id": 1 }],
                doc! { "_id": 1 },
            ),
            (
                vec![doc! { "_id": { "a": 1 } }, doc! { "_id": { "$eq": { "a": 1 } } }],
                doc! { "_id": { "a": 1 } },
            ),
            // Not a value without its operator.
            (
                vec![doc! { "_id": { "$eq": [1] } }],
                doc! { "_id": { "$eq": [1] } },
            ),
        ] {
            let made = all(conditions.clone());
            assert!(are_identical(&made, &filter), "{conditions:?}: {made}");
        }
    }

    #[test]
    fn the_condition_of_an_id_is_in_its_form() {
        let pattern = Bson::RegularExpression(Regex {
            pattern: "^a".try_into().unwrap(),
            options: "".try_into().unwrap(),
        });
        let operators = doc! { "$gt": 1 };
        let values = [Bson::Null, 7.into(), "a".into(), doc! { "a": 1 }.into()];
        for id in values
            .into_iter()
            .chain([pattern, operators.into(), vec![1].into()])
        {
            let made = by_id(&id);
            assert!(
                are_identical(&made, &joined([doc! { "_id": { "$eq": id } }])),
                "{made}"
            );
        }
    }

    /// Filters that a `mongos` 4.9 refused in statements of one document, by 61 or 72, and those of the same documents that it took
    /// (`mongos-4.9.json`): *delete by _id given twice*, *update by _id given twice*, *findAndModify by the full key, the prefix given
    /// twice*, *findAndModify by _id, the key given twice*.
    #[test]
    fn a_filter_that_a_router_refuses_becomes_one_that_it_takes() {
        for (refused, taken) in [
            (
                doc! { "$and": [{ "_id": { "$in": [13] } }, { "_id": 13 }] },
                doc! { "_id": 13 },
            ),
            (
                doc! { "$and": [{ "_id": { "$eq": 1 } }, { "_id": 1 }] },
                doc! { "_id": 1 },
            ),
            (
                doc! { "tenant": "a", "_id": 2, "$and": [{ "tenant": { "$eq": "a" } }] },
                doc! { "tenant": "a", "_id": 2 },
            ),
            (doc! { "$and": [{ "_id": 1 }, { "_id": 1 }] }, doc! { "_id": 1 }),
        ] {
            assert!(are_identical(&all([refused.clone()]), &taken), "{refused}");
        }
    }

    #[test]
    fn a_scope_stands_beside_a_condition_and_repeats_none() {
        let scope = doc! { "tenant": { "$eq": 1 }, "deleted_at": null };
        let whole = doc! { "_id": 7, "tenant": { "$eq": 1 }, "deleted_at": null };
        let once = within(doc! { "_id": 7 }, &scope);
        assert!(are_identical(&once, &whole) && are_identical(&within(once, &scope), &whole));
        assert_eq!(
            within(doc! { "tenant": 1 }, &scope),
            doc! { "tenant": 1, "deleted_at": null }
        );
        assert_eq!(
            within(doc! { "tenant": { "$in": [1, 2] }, "$and": [{ "a": 1 }] }, &scope),
            doc! { "tenant": { "$eq": 1 }, "a": 1, "deleted_at": null }
        );
        assert_eq!(
            within(doc! { "$or": [{ "tenant": 2 }, { "a": 1 }] }, &scope),
            doc! { "$or": [{ "tenant": 2 }, { "a": 1 }], "tenant": { "$eq": 1 }, "deleted_at": null }
        );
        assert_eq!(
            within(doc! { "tenant": 2 }, &scope),
            doc! { "tenant": 2, "deleted_at": null, "$and": [{ "tenant": { "$eq": 1 } }] }
        );
    }

    #[test]
    fn a_pattern_beside_the_value_stays() {
        let scope = doc! { "tenant": { "$eq": "acme", "$regex": "^acme\\z" } };
        for given in [
            doc! { "tenant": "acme" },
            doc! { "tenant": { "$eq": "acme" } },
            doc! { "tenant": { "$in": ["acme", "b"] } },
            scope.clone(),
        ] {
            assert!(are_identical(&within(given.clone(), &scope), &scope), "{given}");
            assert!(
                are_identical(&all([scope.clone(), given.clone()]), &scope),
                "{given}"
            );
        }
        // Nothing of the application's changes the pattern.
        for given in [
            doc! { "tenant": { "$options": "i" } },
            doc! { "tenant": { "$regex": "x", "$options": "i" } },
            doc! { "tenant": Regex { pattern: "x".try_into().unwrap(), options: "i".try_into().unwrap() } },
        ] {
            let made = within(given.clone(), &scope);
            let mut parts = vec![made.clone()];
            parts.extend(
                made.get_array("$and")
                    .unwrap()
                    .iter()
                    .filter_map(Bson::as_document)
                    .cloned(),
            );
            let has = |condition: &Bson| {
                let own = parts.iter().filter_map(|part| part.get_document("tenant").ok());
                own.filter(|own| own.get("$regex") == Some(condition))
                    .any(|own| !own.contains_key("$options"))
            };
            assert!(has(&"^acme\\z".into()), "{made}");
        }
    }

    #[test]
    fn what_the_server_refuses_is_left_for_it() {
        for given in [
            doc! { "$and": 7 },
            doc! { "$and": [] },
            doc! { "$and": [7] },
            doc! { "a": { "$gt": 1, "b": 2 } },
        ] {
            assert!(are_identical(&all([given.clone()]), &given), "{given}");
        }
        assert_eq!(
            within(doc! { "tenant": 2, "$and": 7 }, &doc! { "tenant": { "$eq": 1 } }),
            doc! { "$and": [{ "tenant": 2, "$and": 7 }, { "tenant": { "$eq": 1 } }] },
        );
        let near = doc! { "at": { "$near": [1, 2], "$maxDistance": 3 } };
        assert_eq!(
            all([near.clone(), doc! { "at": { "$exists": true } }, near.clone()]),
            doc! { "at": { "$near": [1, 2], "$maxDistance": 3 }, "$and": [{ "at": { "$exists": true } }] }
        );
        let reference = doc! { "of": { "$ref": "people", "$id": 1 } };
        assert!(are_identical(
            &all([reference.clone(), reference.clone()]),
            &reference
        ));
    }

    #[test]
    fn an_id_names_one_document_and_conditions_on_it_any_number() {
        let named = |filter: Document| named_id(&all([filter])).cloned();
        assert_eq!(named(doc! { "_id": 1, "a": { "$gt": 2 } }), Some(1.into()));
        assert_eq!(named(doc! { "_id": { "a": 1 } }), Some(doc! { "a": 1 }.into()));
        assert_eq!(
            named(doc! { "$and": [{ "a": 1 }, { "_id": "x" }] }),
            Some("x".into())
        );
        assert_eq!(named(doc! { "_id": { "$in": [1] } }), Some(1.into()));
        assert_eq!(named(doc! { "_id": { "$eq": 1, "$lt": 5 } }), Some(1.into()));
        for none in [
            doc! { "_id": { "$in": [1, 2] } },
            doc! { "_id": { "$in": [] } },
            doc! { "a": 1 },
            doc! { "$or": [{ "_id": 1 }, { "a": 1 }] },
        ] {
            assert_eq!(named(none), None);
        }
        assert_eq!(named_ids(&doc! { "_id": 1, "a": { "$gt": 2 } }), [Bson::Int32(1)]);
        assert_eq!(
            named_ids(&doc! { "_id": { "$in": [1, 2] } }),
            [1, 2].map(Bson::Int32)
        );
        assert!(
            named_ids(&doc! { "_id": { "$gt": 1 } }).is_empty() && named_ids(&doc! { "a": 1 }).is_empty()
        );
    }

    /// How a server evaluates what is made below; under a collation that takes a text for its capitals, too.
    fn matches(filter: &Document, document: &Document, folds: bool) -> bool {
        let list = |value: &Bson| value.as_array().cloned().unwrap_or_default();
        filter.iter().all(|(name, condition)| {
            let any = |condition: &Bson| {
                list(condition)
                    .iter()
                    .filter_map(Bson::as_document)
                    .any(|one| matches(one, document, folds))
            };
            let every = |condition: &Bson| {
                list(condition)
                    .iter()
                    .filter_map(Bson::as_document)
                    .all(|one| matches(one, document, folds))
            };
            match name.as_str() {
                "$and" => every(condition),
                "$or" => any(condition),
                "$nor" => !any(condition),
                name => {
                    let own = document.get(name).cloned().unwrap_or(Bson::Null);
                    let mut values = match &own {
                        Bson::Array(items) => items.clone(),
                        _ => Vec::new(),
                    };
                    values.push(own);
                    let key = |value: &Bson| match value {
                        Bson::String(text) if folds => Key::of_bson(&text.to_uppercase().into()),
                        value => Key::of_bson(value),
                    };
                    let has = |wanted: &Bson| values.iter().any(|value| key(value) == key(wanted));
                    match condition {
                        Bson::Document(operators) => {
                            operators.iter().all(|(operator, value)| match operator.as_str() {
                                "$eq" => has(value),
                                "$ne" => !has(value),
                                "$in" => list(value).iter().any(has),
                                "$nin" => !list(value).iter().any(has),
                                "$gt" => values
                                    .iter()
                                    .any(|own| own.as_i32() > value.as_i32() && own.as_i32().is_some()),
                                "$lt" => values
                                    .iter()
                                    .any(|own| own.as_i32() < value.as_i32() && own.as_i32().is_some()),
                                other => panic!("{other}"),
                            })
                        }
                        value => has(value),
                    }
                }
            }
        })
    }

    fn value() -> impl Strategy<Value = Bson> {
        prop_oneof![
            4 => (0..4).prop_map(Bson::Int32),
            1 => (0..4_i64).prop_map(Bson::Int64),
            3 => prop::sample::select(vec!["a", "A", "b"]).prop_map(Bson::from),
            1 => Just(Bson::Null),
        ]
    }

    fn of_field() -> impl Strategy<Value = Bson> {
        let list = || prop::collection::vec(value(), 0..4);
        prop_oneof![
            value(),
            value().prop_map(|value| doc! { "$eq": value }.into()),
            value().prop_map(|value| doc! { "$ne": value }.into()),
            list().prop_map(|values| doc! { "$in": values }.into()),
            list().prop_map(|values| doc! { "$nin": values }.into()),
            (0..4, 0..4).prop_map(|(least, most)| doc! { "$gt": least, "$lt": most }.into()),
            (value(), 0..4).prop_map(|(value, least)| doc! { "$gt": least, "$eq": value }.into()),
        ]
    }

    fn filter() -> impl Strategy<Value = Document> {
        let name = || prop::sample::select(vec!["_id", "a", "b"]);
        let leaf = prop::collection::vec((name(), of_field()), 0..3).prop_map(|fields| {
            fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Document>()
        });
        leaf.prop_recursive(3, 12, 3, |inner| {
            let several = prop::collection::vec(inner.clone(), 1..4);
            let operator = prop::sample::select(vec!["$and", "$and", "$or", "$nor"]);
            (inner, operator, several).prop_map(|(mut beside, operator, several)| {
                beside.insert(operator, several);
                beside
            })
        })
    }

    fn document() -> impl Strategy<Value = Document> {
        let of_array = || {
            prop_oneof![
                value(),
                prop::collection::vec(value(), 0..3).prop_map(Bson::Array)
            ]
        };
        (value(), of_array(), of_array()).prop_map(|(id, a, b)| doc! { "_id": id, "a": a, "b": b })
    }

    /// How often an equality stands in what all documents have to match.
    fn equalities(filter: &Document, name: &str) -> usize {
        let own = match filter.get(name) {
            None => 0,
            Some(Bson::Document(operators)) => operators.contains_key("$eq").into(),
            Some(_) => 1,
        };
        let list = filter.get_array("$and").into_iter().flatten();
        own + list
            .filter_map(Bson::as_document)
            .map(|one| equalities(one, name))
            .sum::<usize>()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn a_filter_matches_what_all_of_its_conditions_match(
            conditions in prop::collection::vec(filter(), 0..4),
            documents in prop::collection::vec(document(), 8),
        ) {
            let made = all(conditions.clone());
            let by_parts = joined(conditions.clone());
            prop_assert!(are_identical(&made, &by_parts), "{} and {}", made, by_parts);
            for document in &documents {
                for folds in [false, true] {
                    let expected = conditions.iter().all(|one| matches(one, document, folds));
                    prop_assert_eq!(matches(&made, document, folds), expected, "{} of {}", made, document);
                }
            }
            prop_assert!(are_identical(&all([made.clone()]), &made), "{}", made);
        }

        #[test]
        fn numbers_of_an_id_stand_in_it_once(ids in prop::collection::vec(0..4, 1..4), rest in filter()) {
            let conditions = ids.iter().map(|id| doc! { "$and": [{ "_id": { "$in": [*id, 9] } }, { "_id": *id }] });
            let mut rest = rest;
            ["_id", "$and", "$or"].iter().for_each(|name| drop(rest.remove(name)));
            let made = all(conditions.chain([rest]));
            prop_assert_eq!(equalities(&made, "_id"), usize::from(ids.iter().all(|id| *id == ids[0])));
        }
    }
}
