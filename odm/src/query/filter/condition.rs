//! Conditions as MongoDB reads them: on one field, and on the items of an array.

use crate::model::path::Way;
use crate::model::variant::{VariantLevel, levels};
use mongodb::bson::{Bson, Document, doc};

/// The field's value under the operator. MongoDB looks into the list of `$in`, `$nin` and `$all`: a regular expression in it
/// is a pattern, and a document that begins with `$elemMatch` a condition. Behind `$eq` each is a value, so a list with one
/// of these is written as conditions on its values.
pub(crate) fn condition(name: &str, operator: &str, value: Bson) -> Document {
    let joined = match operator {
        "$in" => "$or",
        "$nin" => "$nor",
        "$all" => "$and",
        // The server takes no regular expression behind it.
        "$ne" if is_carried_out(&value) => return doc! { "$nor": [{ name: { "$eq": value } }] },
        _ => return doc! { name: { operator: value } },
    };
    match value {
        Bson::Array(values) if values.iter().any(is_carried_out) => {
            let each: Vec<Document> = values
                .into_iter()
                .map(|value| doc! { name: { "$eq": value } })
                .collect();
            doc! { joined: each }
        }
        values => doc! { name: { operator: values } },
    }
}

/// Whether a value means something else than itself in a list.
pub(crate) fn is_carried_out(value: &Bson) -> bool {
    match value {
        Bson::RegularExpression(_) => true,
        Bson::Document(document) => document.keys().next().is_some_and(|key| key.starts_with('$')),
        _ => false,
    }
}

/// The condition that the array or the document at a dotted name, if there is one, has at most this number of parts.
pub(crate) fn at_most(name: &str, keyword: &str, most: u64) -> Document {
    let rule = doc! { keyword: i64::try_from(most).unwrap_or(i64::MAX) };
    let schema = name
        .rsplit('.')
        .fold(rule, |inner, part| doc! { "properties": { part: inner } });
    doc! { "$jsonSchema": schema }
}

/// The operator of which this one says that it is met by no item of an array.
pub(crate) fn denied(operator: &str) -> Option<&'static str> {
    match operator {
        "$ne" => Some("$eq"),
        "$nin" => Some("$in"),
        _ => None,
    }
}

/// Whether the way leads through an array whose items have to have a variant.
pub(crate) fn in_items_of_variants(way: Option<&'static Way>) -> bool {
    levels(way).iter().any(|level| level.array.is_some())
}

/// That the variants on a way are there, and the condition on what is in them: of the items of an array, all of it of one item.
pub(crate) fn with_variants(way: Option<&'static Way>, condition: Document) -> Document {
    let levels = levels(way);
    let arrays: Vec<&str> = levels.iter().filter_map(|level| level.array.as_deref()).collect();
    let named: Vec<&str> = arrays.into_iter().filter(|array| !array.is_empty()).collect();
    let inner = behind(&named.join("."), condition);
    of_levels(levels, inner)
}

fn of_levels(levels: Vec<VariantLevel>, inner: Document) -> Document {
    levels.into_iter().rev().fold(inner, |inner, level| {
        let all = level.expected.iter().rev();
        let condition = all.fold(inner, |inner, expected| both(expected.condition(), inner));
        match level {
            VariantLevel {
                array: Some(array), ..
            } => doc! { array: { "$elemMatch": condition } },
            VariantLevel { array: None, .. } => condition,
        }
    })
}

/// That the last variant on a way is there, and those around it.
pub(crate) fn is_variant_of(way: Option<&'static Way>) -> Document {
    of_levels(levels(way), Document::new())
}

/// A condition with the names behind that of an array, as it stands behind `$elemMatch`.
fn behind(array: &str, condition: Document) -> Document {
    if array.is_empty() {
        return condition;
    }
    let mut inner = Document::new();
    for (name, value) in condition {
        let rest = match name.strip_prefix(array) {
            Some("") => Some(""),
            rest => rest.and_then(|rest| rest.strip_prefix('.')),
        };
        match (rest, value) {
            (Some(""), Bson::Document(mut of_array)) => match of_array.remove("$elemMatch") {
                Some(Bson::Document(item)) => inner = both(inner, item),
                _ => inner.extend([(name, of_array.into())]),
            },
            (Some(rest), value) => inner = both(inner, doc! { rest: value }),
            (None, Bson::Array(parts)) if name.starts_with('$') => {
                let part = |part| match part {
                    Bson::Document(part) => Bson::Document(behind(array, part)),
                    other => other,
                };
                inner.insert(name, parts.into_iter().map(part).collect::<Vec<Bson>>());
            }
            (None, value) => drop(inner.insert(name, value)),
        }
    }
    inner
}

/// Whether a condition is on an item itself, or a part of it is.
pub(crate) fn is_of_items(condition: &Document) -> bool {
    condition.iter().any(|(key, value)| match (key.as_str(), value) {
        ("", _) => true,
        ("$and" | "$or" | "$nor", Bson::Array(list)) => {
            list.iter().filter_map(Bson::as_document).any(is_of_items)
        }
        _ => false,
    })
}

/// Both conditions: side by side where that is possible, which `$and` says too.
pub(crate) fn both(mut one: Document, other: Document) -> Document {
    if one.is_empty() {
        return other;
    }
    if other.is_empty() {
        return one;
    }
    let is_operator = |name: &String| name.starts_with('$');
    let stand_together = |(name, condition): (&String, &Bson)| match (one.get(name), condition) {
        (None, _) => true,
        (Some(Bson::Document(there)), Bson::Document(new)) => {
            new.keys().all(|key| is_operator(key) && !there.contains_key(key))
        }
        _ => false,
    };
    if !one.keys().any(is_operator) && other.iter().all(stand_together) {
        for (name, condition) in other {
            match (one.get_mut(&name), condition) {
                (Some(Bson::Document(there)), Bson::Document(new)) => there.extend(new),
                (_, condition) => drop(one.insert(name, condition)),
            }
        }
        return one;
    }
    if other.contains_key("$and") {
        return doc! { "$and": [one, other] };
    }
    // A name first: not every server takes a condition on an item that begins with `$and`.
    let mut both = other;
    both.insert("$and", vec![one]);
    both
}

/// See [`of_item`](crate::query::filter::of_item). The error goes on from "the condition".
pub(crate) fn in_array(condition: Document) -> Result<Document, String> {
    if condition.is_empty() {
        // Every item, whatever it is.
        return Ok(doc! { "$exists": true });
    }
    if !is_of_items(&condition) {
        return Ok(condition);
    }
    let mut operators = Document::new();
    operators_of(condition, &mut operators)?;
    Ok(operators)
}

fn operators_of(condition: Document, operators: &mut Document) -> Result<(), String> {
    for (key, value) in condition {
        match (key.as_str(), value) {
            ("", Bson::Document(one)) if !one.keys().any(|operator| operators.contains_key(operator)) => {
                operators.extend(one);
            }
            // The same operator for a second time.
            ("", one @ Bson::Document(_)) if !operators.contains_key("$not") => {
                operators.insert("$not", doc! { "$not": one });
            }
            ("$and", Bson::Array(list)) => {
                for one in list {
                    match one {
                        Bson::Document(one) => operators_of(one, operators)?,
                        other => return Err(format!("holds {other} where a condition is expected")),
                    }
                }
            }
            ("", _) => return Err("has one operator more than twice: join what it says".to_owned()),
            ("$or" | "$nor", _) => {
                return Err(
                    "joins conditions on one plain value by `|` or `!`, which the server does not take there (nor a list of \
                     regular expressions as values): join conditions on the array instead, or make two changes"
                        .to_owned(),
                );
            }
            (other, _) => {
                return Err(format!(
                    "is on the items themselves and on `{other}` of them: choose one"
                ));
            }
        }
    }
    Ok(())
}

/// The names in a filter's document put below `prefix`: conditions on items become those of `arrayFilters`.
pub(crate) fn below(prefix: &str, filter: Document) -> Result<Document, String> {
    if filter.is_empty() {
        // "Every item": the server takes no condition that does not name the item.
        return Ok(doc! { prefix: { "$exists": true } });
    }
    let mut out = Document::new();
    for (key, value) in filter {
        match (key.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(list)) => {
                let mut inner = Vec::with_capacity(list.len());
                for item in list {
                    match item {
                        Bson::Document(item) => inner.push(Bson::Document(below(prefix, item)?)),
                        other => return Err(format!("`{key}` takes documents, not {other}")),
                    }
                }
                out.insert(key, inner);
            }
            (operator, _) if operator.starts_with('$') => {
                return Err(format!(
                    "`{operator}` can't stand in a condition on the items of an array"
                ));
            }
            ("", value) => {
                out.insert(prefix, value);
            }
            (_, value) => {
                out.insert(format!("{prefix}.{key}"), value);
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::path::Step as _;
    use crate::model::variant::fixture::{OfStep, Step, Tracking};

    #[test]
    fn all_that_is_asked_of_an_item_with_a_variant_is_asked_of_one() {
        let item = |rest: Document| {
            let mut item = doc! { "kind": { "$eq": "Shipped" } };
            item.extend(rest);
            doc! { "steps": { "$elemMatch": item } }
        };
        let x = || doc! { "tracking": { "$eq": "x" } };
        let name = || doc! { "steps.tracking": { "$eq": "x" } };
        for (stored, inner) in [
            (name(), x()),
            (
                doc! { "$or": [name(), { "steps.tracking": null }] },
                doc! { "$or": [x(), { "tracking": null }] },
            ),
            (doc! { "$nor": [name()] }, doc! { "$nor": [x()] }),
            (doc! { "steps": { "$elemMatch": x() } }, x()),
        ] {
            assert_eq!(with_variants(OfStep::WAY, stored), item(inner));
        }
        assert_eq!(is_variant_of(Step::WAY), item(doc! {}));
        assert!(in_items_of_variants(OfStep::WAY) && !in_items_of_variants(Tracking::WAY));
    }

    #[test]
    fn a_variant_stands_beside_the_condition() {
        let kind = || doc! { "status.kind": { "$eq": "Shipped" } };
        let of = |condition: Document| with_variants(Tracking::WAY, condition);
        let mut both = kind();
        both.insert("status.tracking", doc! { "$ne": "x" });
        assert_eq!(of(doc! { "status.tracking": { "$ne": "x" } }), both);
        let mut none = kind();
        none.insert("$nor", vec![doc! { "status.tracking": 1 }]);
        assert_eq!(of(doc! { "$nor": [{ "status.tracking": 1 }] }), none);
        assert_eq!(of(doc! {}), kind());
    }
}
