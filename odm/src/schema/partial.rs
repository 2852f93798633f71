//! The filter of a partial index: whether a server takes it, and whether two filters are the same.
//!
//! A server stores a filter in another form than the one that it was given: `{ on: true, n: { $gt: 1 } }` is listed as
//! `{ $and: [{ on: { $eq: true } }, { n: { $gt: 1 } }] }`, and versions differ in how far they go. So filters are compared in
//! a normal form: alternatives, each of which is a set of comparisons of one field with one value.

use super::values::integer;
use mongodb::bson::{Bson, Document, doc};
use std::collections::BTreeSet;

/// Servers before MongoDB 6.0 (wire version 17) take comparisons that all hold, and nothing else.
pub(super) const ALTERNATIVES: i32 = 17;

/// Maximum depth of a filter, the comparisons included: the server's `internalPartialFilterExpressionMaxDepth`.
const MAX_DEPTH: usize = 4;

/// Maximum number of alternatives of the normal form. A filter of more is compared as it is written.
const MAX_ALTERNATIVES: usize = 1_000;

/// A filter, taken apart.
#[derive(Clone, Debug, PartialEq)]
enum PartialCondition {
    All(Vec<PartialCondition>),
    Any(Vec<PartialCondition>),
    /// One comparison. The field is empty for an operator that stands in the place of a field (`$nor`).
    One {
        field: String,
        operator: String,
        value: Bson,
    },
}

/// A part of a filter that a partial index can't have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PartialRefusal {
    /// The stored field; empty where there is none.
    pub field: String,
    /// The operator, or what is wrong in words.
    pub operator: String,
    /// The fix, in words.
    pub instead: &'static str,
}

impl PartialCondition {
    fn of(filter: &Document) -> PartialCondition {
        let mut parts = Vec::new();
        for (name, value) in filter {
            match (name.as_str(), value) {
                ("$and", Bson::Array(list)) => {
                    parts.push(PartialCondition::All(PartialCondition::each(list)))
                }
                ("$or", Bson::Array(list)) => parts.push(PartialCondition::Any(PartialCondition::each(list))),
                ("$comment", _) => {}
                (name, value) if name.starts_with('$') => parts.push(one("", name, value.clone())),
                (field, Bson::Document(operators)) if is_of_operators(operators) => {
                    let of_field = operators.iter();
                    parts.extend(of_field.map(|(operator, value)| compared(field, operator, value)));
                }
                (field, Bson::RegularExpression(_)) => parts.push(one(field, "$regex", value.clone())),
                (field, value) => parts.push(one(field, "$eq", value.clone())),
            }
        }
        PartialCondition::All(parts).flat()
    }

    fn each(list: &[Bson]) -> Vec<PartialCondition> {
        let each = list.iter().map(|part| match part {
            Bson::Document(part) => PartialCondition::of(part),
            other => one("", "$and", other.clone()),
        });
        each.collect()
    }

    /// Without lists within lists of the same kind, and without lists of one.
    fn flat(self) -> PartialCondition {
        let (parts, is_all) = match self {
            PartialCondition::All(parts) => (parts, true),
            PartialCondition::Any(parts) => (parts, false),
            one => return one,
        };
        let mut flat = Vec::new();
        for part in parts {
            match (part.flat(), is_all) {
                (PartialCondition::All(inner), true) | (PartialCondition::Any(inner), false) => {
                    flat.extend(inner)
                }
                (part, _) => flat.push(part),
            }
        }
        match (flat.len(), is_all) {
            (1, _) => flat.remove(0),
            (_, true) => PartialCondition::All(flat),
            (_, false) => PartialCondition::Any(flat),
        }
    }

    fn depth(&self) -> usize {
        match self {
            PartialCondition::All(parts) | PartialCondition::Any(parts) => {
                1 + parts
                    .iter()
                    .map(PartialCondition::depth)
                    .max()
                    .unwrap_or_default()
            }
            PartialCondition::One { .. } => 1,
        }
    }

    fn document(&self) -> Document {
        let list =
            |parts: &[PartialCondition]| parts.iter().map(PartialCondition::document).collect::<Vec<_>>();
        match self {
            PartialCondition::All(parts) if parts.is_empty() => Document::new(),
            PartialCondition::All(parts) => doc! { "$and": list(parts) },
            PartialCondition::Any(parts) => doc! { "$or": list(parts) },
            PartialCondition::One {
                field,
                operator,
                value,
            } => match field.as_str() {
                "" => doc! { operator: value.clone() },
                field => doc! { field: { operator: value.clone() } },
            },
        }
    }

    /// The alternatives, each a set of comparisons; `None` where they are too many.
    fn alternatives(&self) -> Option<BTreeSet<BTreeSet<String>>> {
        let alternatives = match self {
            PartialCondition::One {
                field,
                operator,
                value,
            } => {
                let values = each_value(operator, value);
                let each = values
                    .into_iter()
                    .map(|(operator, value)| BTreeSet::from([format!("{field:?} {operator} {value}")]));
                each.collect::<BTreeSet<_>>()
            }
            PartialCondition::Any(parts) => {
                let mut any = BTreeSet::new();
                for part in parts {
                    any.extend(part.alternatives()?);
                    if any.len() > MAX_ALTERNATIVES {
                        return None;
                    }
                }
                any
            }
            PartialCondition::All(parts) => {
                let mut all = BTreeSet::from([BTreeSet::new()]);
                for part in parts {
                    let more = part.alternatives()?;
                    if all.len().saturating_mul(more.len()) > MAX_ALTERNATIVES {
                        return None;
                    }
                    let both = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.union(b).cloned().collect();
                    all = all
                        .iter()
                        .flat_map(|a| more.iter().map(move |b| both(a, b)))
                        .collect();
                }
                all
            }
        };
        Some(alternatives)
    }

    fn refusal(&self) -> Option<PartialRefusal> {
        let (field, operator, value) = match self {
            PartialCondition::All(parts) | PartialCondition::Any(parts) => {
                return parts.iter().find_map(PartialCondition::refusal);
            }
            PartialCondition::One {
                field,
                operator,
                value,
            } => (field, operator.as_str(), value),
        };
        let is_number_of = |n: i64| integer(value) == Some(n);
        let instead = match operator {
            "$eq" | "$gt" | "$gte" | "$lt" | "$lte" | "$type" | "$geoWithin" | "$geoIntersects"
                if !field.is_empty() =>
            {
                return None;
            }
            "$exists" if *value == Bson::Boolean(true) || is_number_of(1) => return None,
            "$in" => match value {
                Bson::Array(values) if values.iter().any(is_pattern) => PREFIX,
                Bson::Array(values) if !values.is_empty() => return None,
                _ => "name one value at least",
            },
            "$all" => "name one value at least",
            "$exists" => {
                "a condition that holds for documents without the field: `eq(None)` of an `Option`, or `eq(…)` of another field that \
                 every document has"
            }
            "$regex" | "$options" => PREFIX,
            "$size" => "a field of its own with the number of items, and compare that",
            "$elemMatch" => {
                "comparisons through the array, such as `p.items.name.eq(…)`, or a field of its own"
            }
            "$ne" | "$nin" | "$not" | "$nor" => {
                "which values the documents of the index have: `eq(…)`, `in_([…])`, `gt(…)`, `lt(…)`"
            }
            _ => "a comparison of a field",
        };
        // Of `!` the field is that of what it negates.
        let negated = value
            .as_array()
            .and_then(|list| list.first()?.as_document()?.keys().next());
        let field = match negated.filter(|name| field.is_empty() && !name.starts_with('$')) {
            Some(name) => name.clone(),
            None => field.clone(),
        };
        Some(PartialRefusal {
            field,
            operator: called(operator),
            instead,
        })
    }

    /// The first part that servers before MongoDB 6.0 don't take.
    fn newer(&self) -> Option<&'static str> {
        match self {
            PartialCondition::All(parts) => parts.iter().find_map(|part| match part {
                PartialCondition::All(_) => Some("`&` within `|`"),
                part => part.newer(),
            }),
            PartialCondition::Any(_) => Some("`|`"),
            PartialCondition::One { operator, .. } => match operator.as_str() {
                "$in" => Some("`in_` of several values"),
                "$geoWithin" | "$geoIntersects" => Some("`within`"),
                _ => None,
            },
        }
    }
}

/// An operator as the typed paths call it.
fn called(operator: &str) -> String {
    let name = match operator {
        "$ne" => "ne",
        "$nin" => "not_in",
        "$not" | "$nor" => "!",
        "$exists" => "exists(false)",
        "$regex" | "$options" => "regex",
        "$size" => "size",
        "$elemMatch" => "elem",
        "$near" | "$nearSphere" => "near",
        "$in" => "in_",
        "$all" => "all",
        other => other,
    };
    format!("`{name}`")
}

const PREFIX: &str = "a range: texts that begin with `AB` are those of `gte(\"AB\")` and `lt(\"AC\")`";

fn one(field: &str, operator: &str, value: Bson) -> PartialCondition {
    PartialCondition::One {
        field: field.to_owned(),
        operator: operator.to_owned(),
        value,
    }
}

/// One operator of a field. What means the same is written in one way.
fn compared(field: &str, operator: &str, value: &Bson) -> PartialCondition {
    match (operator, value) {
        ("$all", Bson::Array(values)) if !values.is_empty() => {
            let each = values.iter().map(|value| match value {
                Bson::RegularExpression(_) => one(field, "$regex", value.clone()),
                Bson::Document(item) if item.contains_key("$elemMatch") => {
                    one(field, "$elemMatch", value.clone())
                }
                value => one(field, "$eq", value.clone()),
            });
            PartialCondition::All(each.collect())
        }
        ("$in", Bson::Array(values)) => match values.as_slice() {
            [value] if !is_pattern(value) => one(field, "$eq", value.clone()),
            _ => one(field, "$in", Bson::Array(values.clone())),
        },
        _ => one(field, operator, value.clone()),
    }
}

fn is_of_operators(document: &Document) -> bool {
    document.keys().next().is_some_and(|key| key.starts_with('$'))
}

fn is_pattern(value: &Bson) -> bool {
    matches!(value, Bson::RegularExpression(_))
}

/// The values of one comparison that are alternatives, in an unambiguous writing.
fn each_value(operator: &str, value: &Bson) -> Vec<(&'static str, String)> {
    let list = |value: &Bson| match value {
        Bson::Array(values) => values.clone(),
        value => vec![value.clone()],
    };
    let operator = match operator {
        "$in" => {
            let equal = |value| ("$eq", written(&value));
            return list(value).into_iter().map(equal).collect();
        }
        "$type" => {
            let types = list(value).into_iter().flat_map(|one| codes(&one));
            return types.map(|code| ("$type", code)).collect();
        }
        "$exists" => return vec![("$exists", (integer(value) != Some(0)).to_string())],
        "$eq" => "$eq",
        "$gt" => "$gt",
        "$gte" => "$gte",
        "$lt" => "$lt",
        "$lte" => "$lte",
        other => return vec![("", format!("{other} {}", written(value)))],
    };
    vec![(operator, written(value))]
}

/// The codes of a BSON type by its code or name. `number` is any of four.
fn codes(of: &Bson) -> Vec<String> {
    const NAMES: &[(&str, i64)] = &[
        ("double", 1),
        ("string", 2),
        ("object", 3),
        ("array", 4),
        ("binData", 5),
        ("undefined", 6),
        ("objectId", 7),
        ("bool", 8),
        ("date", 9),
        ("null", 10),
        ("regex", 11),
        ("dbPointer", 12),
        ("javascript", 13),
        ("symbol", 14),
        ("javascriptWithScope", 15),
        ("int", 16),
        ("timestamp", 17),
        ("long", 18),
        ("decimal", 19),
        ("minKey", -1),
        ("maxKey", 127),
    ];
    match of {
        Bson::String(name) if name == "number" => [1, 16, 18, 19].map(|code| code.to_string()).to_vec(),
        Bson::String(name) => match NAMES.iter().find(|(known, _)| known == name) {
            Some((_, code)) => vec![code.to_string()],
            None => vec![written(of)],
        },
        // The shell's own writing of `minKey`.
        code => match integer(code) {
            Some(255) => vec!["-1".to_owned()],
            Some(code) => vec![code.to_string()],
            None => vec![written(code)],
        },
    }
}

/// A value, so that two that the server takes for equal are written alike: numbers by their value.
fn written(value: &Bson) -> String {
    match value {
        Bson::Document(document) => {
            let fields = document
                .iter()
                .map(|(name, value)| format!("{name:?}: {}", written(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Bson::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        Bson::Decimal128(decimal) => match decimal.to_string().parse::<f64>() {
            Ok(number) if number.fract() == 0.0 && number.abs() < 9e15 => format!("{}", number as i64),
            _ => format!("{decimal}"),
        },
        Bson::Double(number) if integer(value).is_none() => format!("{number:?}"),
        value => match integer(value) {
            Some(number) => number.to_string(),
            None => format!("{value:?}"),
        },
    }
}

/// Whether two filters hold for the same documents, as far as servers rewrite them.
pub(super) fn same(a: &Document, b: &Document) -> bool {
    let (a, b) = (PartialCondition::of(a), PartialCondition::of(b));
    match (a.alternatives(), b.alternatives()) {
        (Some(a), Some(b)) => without_implied(a) == without_implied(b),
        _ => as_written(&a) == as_written(&b),
    }
}

/// Without the alternatives that demand more than another one.
fn without_implied(all: BTreeSet<BTreeSet<String>>) -> BTreeSet<BTreeSet<String>> {
    let is_implied = |one: &BTreeSet<String>| {
        let mut others = all.iter();
        others.any(|other| other.len() < one.len() && other.is_subset(one))
    };
    all.iter().filter(|one| !is_implied(one)).cloned().collect()
}

/// A filter without regard to the order of its parts.
fn as_written(condition: &PartialCondition) -> String {
    let parts = |parts: &[PartialCondition]| {
        let parts: BTreeSet<String> = parts.iter().map(as_written).collect();
        parts.into_iter().collect::<Vec<_>>().join("; ")
    };
    match condition {
        PartialCondition::All(all) => format!("all({})", parts(all)),
        PartialCondition::Any(any) => format!("any({})", parts(any)),
        PartialCondition::One {
            field,
            operator,
            value,
        } => {
            let values = each_value(operator, value).into_iter();
            let values: BTreeSet<String> = values
                .map(|(operator, value)| format!("{operator} {value}"))
                .collect();
            format!("{field:?} {}", values.into_iter().collect::<Vec<_>>().join(", "))
        }
    }
}

/// A filter as it is sent: its conditions side by side in one `$and`, since servers before MongoDB 6.0 take no `$and` within
/// another.
pub(super) fn sent(filter: &Document) -> Document {
    PartialCondition::of(filter).document()
}

/// The first part of a filter that no server takes for a partial index.
pub(super) fn refusal(filter: &Document) -> Option<PartialRefusal> {
    let condition = PartialCondition::of(filter);
    let too_deep = || {
        (condition.depth() > MAX_DEPTH).then(|| PartialRefusal {
            field: String::new(),
            operator: format!("`&` and `|` within each other, {} levels deep", condition.depth()),
            instead: "at most three levels: alternatives (`|`) of conditions that all hold (`&`)",
        })
    };
    condition.refusal().or_else(too_deep)
}

/// The first part of a filter that servers take for a partial index from MongoDB 6.0 on.
pub(super) fn newer(filter: &Document) -> Option<&'static str> {
    PartialCondition::of(filter).newer()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{Decimal128, Regex, bson};

    /// A declared filter, and the forms in which `listIndexes` may show it. The second form of the first list is the reply of a `mongod` between
    /// 4.4 and 5.0 (server-facts). The others are what its parser and its rewriting, `MatchExpressionParser::parseAndNormalize`
    /// (called for a filter by `IndexDescriptor::compareIndexOptions` of MongoDB from 4.7 on), make of the same condition: `$and` and
    /// `$eq` spelled out, `$all` as a list of `$eq`, `$in` of one as `$eq`, lists in another order, `$type` as a list of codes, an `$or` of
    /// one field as `$in`.
    #[test]
    fn a_filter_is_recognised_in_every_form_that_servers_store() {
        let forms: Vec<Vec<Document>> = vec![
            vec![
                doc! { "on": true, "n": { "$gt": 1 } },
                doc! { "$and": [{ "on": { "$eq": true } }, { "n": { "$gt": 1 } }] },
                doc! { "$and": [{ "n": { "$gt": 1.0 } }, { "on": { "$eq": true } }] },
                doc! { "$and": [{ "n": { "$gt": 1_i64 } }, { "$and": [{ "on": true }] }] },
            ],
            vec![
                doc! { "n": { "$gt": 1, "$lt": 5 } },
                doc! { "$and": [{ "n": { "$gt": 1 } }, { "n": { "$lt": 5 } }] },
                doc! { "$and": [{ "n": { "$lt": 5 } }, { "n": { "$gt": 1 } }] },
            ],
            // In `jstests/core/index/index_signature.js` of MongoDB, which takes them for one.
            vec![
                doc! { "a": { "$gt": 0, "$lt": 10 }, "b": "blah" },
                doc! { "$and": [{ "b": "blah" }, { "a": { "$lt": 10 } }, { "a": { "$gt": 0 } }] },
            ],
            vec![
                doc! { "state": { "$in": ["open"] } },
                doc! { "state": { "$eq": "open" } },
                doc! { "state": "open" },
            ],
            vec![
                doc! { "state": { "$in": ["open", "done", "open"] } },
                doc! { "state": { "$in": ["done", "open"] } },
                doc! { "$or": [{ "state": { "$eq": "open" } }, { "state": { "$eq": "done" } }] },
            ],
            vec![
                doc! { "tags": { "$all": ["a", "b"] } },
                doc! { "$and": [{ "tags": { "$eq": "a" } }, { "tags": { "$eq": "b" } }] },
            ],
            vec![
                doc! { "code": { "$type": "string" } },
                doc! { "code": { "$type": [2] } },
                doc! { "code": { "$type": 2.0 } },
            ],
            vec![
                doc! { "code": { "$type": ["number", "string"] } },
                doc! { "code": { "$type": [2, "number"] } },
                doc! { "code": { "$type": [1, 2, 16, 18, 19] } },
            ],
            vec![doc! { "a": { "$exists": true } }, doc! { "a": { "$exists": 1 } }],
            vec![
                doc! { "$or": [{ "a": 1, "b": 2 }, { "c": { "$gt": 3 } }] },
                doc! { "$or": [{ "c": { "$gt": 3 } }, { "$and": [{ "b": { "$eq": 2 } }, { "a": { "$eq": 1 } }] }] },
            ],
            // A server may multiply a condition out, or take out what is said twice.
            vec![
                doc! { "a": 1, "$or": [{ "b": 1 }, { "c": 1 }] },
                doc! { "$or": [{ "a": 1, "b": 1 }, { "a": 1, "c": 1 }] },
                doc! { "a": { "$eq": 1 }, "$or": [{ "b": 1 }, { "c": 1 }, { "c": 1, "b": 2 }] },
            ],
            vec![doc! {}, doc! { "$and": [] }],
            vec![
                doc! { "home": { "city": "Bonn" } },
                doc! { "home": { "$eq": { "city": "Bonn" } } },
            ],
            vec![doc! { "x": f64::NAN }, doc! { "x": { "$eq": f64::NAN } }],
        ];
        for (at, one) in forms.iter().enumerate() {
            for a in one {
                for b in one {
                    assert!(same(a, b), "{a} and {b}");
                }
                for other in forms.iter().enumerate().filter(|(other, _)| *other != at) {
                    assert!(!same(a, &other.1[0]), "{a} and {}", other.1[0]);
                }
                let sent = sent(a);
                assert!(same(a, &sent), "{a} is sent as {sent}");
            }
        }
    }

    #[test]
    fn filters_that_differ_in_a_value_are_not_the_same() {
        for (a, b) in [
            (doc! { "n": { "$gt": 1 } }, doc! { "n": { "$gt": 2 } }),
            (doc! { "n": { "$gt": 1 } }, doc! { "n": { "$gte": 1 } }),
            (doc! { "n": 1 }, doc! { "n": "1" }),
            (doc! { "n": 1 }, doc! { "n": true }),
            (doc! { "n": 1.5 }, doc! { "n": 1 }),
            (
                doc! { "n": bson!({ "a": 1, "b": 2 }) },
                doc! { "n": bson!({ "b": 2, "a": 1 }) },
            ),
            (doc! { "a b": 1 }, doc! { "a": 1 }),
            (doc! { "a": 1, "b": 1 }, doc! { "$or": [{ "a": 1 }, { "b": 1 }] }),
        ] {
            assert!(!same(&a, &b), "{a} and {b}");
        }
        let decimal: Decimal128 = "1".parse().unwrap();
        assert!(same(&doc! { "n": 1 }, &doc! { "n": decimal }));
        // More alternatives than are compared one by one: in any order.
        let many = |from: i32, to: i32| -> Vec<i32> { (from..to).collect() };
        let both = |a: Vec<i32>, b: Vec<i32>| doc! { "a": { "$in": a }, "b": { "$in": b } };
        let mut turned = many(0, 100);
        turned.reverse();
        assert!(same(
            &both(many(0, 100), many(0, 50)),
            &both(turned.clone(), many(0, 50))
        ));
        assert!(!same(
            &both(many(0, 100), many(0, 50)),
            &both(turned, many(0, 51))
        ));
    }

    #[test]
    fn conditions_are_sent_side_by_side() {
        for (filter, expected) in [
            (doc! { "a": 1 }, doc! { "a": { "$eq": 1 } }),
            (
                doc! { "a": { "$all": ["x", "y"] }, "b": { "$in": [1] } },
                doc! { "$and": [{ "a": { "$eq": "x" } }, { "a": { "$eq": "y" } }, { "b": { "$eq": 1 } }] },
            ),
            (
                doc! { "$and": [{ "a": 1, "b": 2 }, { "$and": [{ "c": { "$in": [3, 4] } }] }] },
                doc! { "$and": [{ "a": { "$eq": 1 } }, { "b": { "$eq": 2 } }, { "c": { "$in": [3, 4] } }] },
            ),
            (doc! {}, doc! {}),
        ] {
            assert_eq!(sent(&filter), expected, "{filter}");
        }
    }

    /// `_checkValidFilterExpressions` in MongoDB's `index_catalog_impl.cpp`, and server-facts: 67 CannotCreateIndex.
    #[test]
    fn a_filter_that_no_server_accepts_is_refused() {
        let pattern = Bson::RegularExpression(Regex {
            pattern: "^a".try_into().unwrap(),
            options: "".try_into().unwrap(),
        });
        for (filter, field, operator) in [
            (doc! { "a": { "$ne": 1 } }, "a", "`ne`"),
            (doc! { "a": { "$nin": [1] } }, "a", "`not_in`"),
            (doc! { "$nor": [{ "a": 1 }] }, "a", "`!`"),
            (doc! { "a": { "$not": { "$gt": 1 } } }, "a", "`!`"),
            (doc! { "b": 1, "a": { "$exists": false } }, "a", "`exists(false)`"),
            (doc! { "a": { "$regex": "x" } }, "a", "`regex`"),
            (doc! { "a": pattern.clone() }, "a", "`regex`"),
            (doc! { "a": { "$in": [pattern, "b"] } }, "a", "`in_`"),
            (doc! { "a": { "$in": [] } }, "a", "`in_`"),
            (doc! { "a": { "$all": [] } }, "a", "`all`"),
            (doc! { "a": { "$size": 1 } }, "a", "`size`"),
            (
                doc! { "$or": [{ "b": 1 }, { "a": { "$elemMatch": { "b": 1 } } }] },
                "a",
                "`elem`",
            ),
            (doc! { "a": { "$near": {} } }, "a", "`near`"),
            (doc! { "a": { "$mod": [2, 0] } }, "a", "`$mod`"),
            (doc! { "$expr": true }, "", "`$expr`"),
            (doc! { "$text": { "$search": "x" } }, "", "`$text`"),
        ] {
            let refusal = refusal(&filter).unwrap_or_else(|| panic!("{filter}"));
            assert_eq!(
                (refusal.field.as_str(), refusal.operator.as_str()),
                (field, operator),
                "{filter}"
            );
        }
        // In `jstests/core/index/index_partial_create_drop.js`: a depth of four is taken, of five it is not; what says nothing is
        // not sent.
        let deep = doc! { "$or": [{ "a": 1, "$or": [{ "b": 1 }, { "c": 1, "$or": [{ "d": 1 }, { "e": 1 }] }] }, { "f": 1 }] };
        assert!(refusal(&deep).unwrap().operator.contains("levels deep"));
        for taken in [
            doc! {},
            doc! { "a": 1, "b": { "$gt": 1, "$lte": 5 }, "c": { "$exists": true }, "d": { "$type": "string" } },
            doc! { "a": Bson::Null },
            doc! { "$or": [{ "a": 1, "b": 1 }, { "a": { "$in": [2, 3] } }] },
        ] {
            assert_eq!(refusal(&taken), None, "{taken}");
        }
    }

    #[test]
    fn operators_that_need_a_newer_server_are_known() {
        for (filter, newer_part) in [
            (
                doc! { "a": 1, "b": { "$gt": 1 }, "$and": [{ "c": { "$in": [1] } }] },
                None,
            ),
            (doc! { "a": { "$all": [1, 2] } }, None),
            (doc! { "a": { "$in": [1, 2] } }, Some("`in_` of several values")),
            (doc! { "x": 1, "$or": [{ "a": 1 }, { "b": 1 }] }, Some("`|`")),
            (doc! { "$or": [{ "a": 1 }] }, None),
            (doc! { "a": { "$geoWithin": {} } }, Some("`within`")),
        ] {
            assert_eq!(newer(&filter), newer_part, "{filter}");
        }
    }
}
