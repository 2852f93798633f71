//! Indexes of which another one does the work, and those that nothing uses.

use super::estimate;
use super::kinds::{Advice, Rule, Severity};
use super::remedy::{Remedy, quoted, shell_collection};
use super::words::{bytes, counted, documents};
use crate::design::{Collection, CollectionKind, Design, Field, Index};
use bson::Bson;

/// Where other indexes of the collection were used so often, the application has run.
const USED: i64 = 100;

/// The bytes that an entry of an index has beside its key.
const ENTRY: f64 = 12.0;

/// The direction of an index in a field, where it is ordinary.
pub fn direction(value: &Bson) -> Option<bool> {
    match value {
        Bson::Int32(number) => Some(*number > 0),
        Bson::Int64(number) => Some(*number > 0),
        Bson::Double(number) => Some(*number > 0.0),
        _ => None,
    }
}

/// The fields of an ordinary index with their directions; `None` of a text, hashed, geo or wildcard index.
pub fn keys(index: &Index) -> Option<Vec<(&str, bool)>> {
    let keys = index.keys.iter();
    keys.map(|(name, value)| {
        let direction = direction(value).filter(|_| !name.contains("$**"))?;
        Some((name.as_str(), direction))
    })
    .collect()
}

pub fn is_set(index: &Index, option: &str) -> bool {
    match index.options.get(option) {
        None | Some(Bson::Null) => false,
        Some(Bson::Boolean(set)) => *set,
        Some(_) => true,
    }
}

/// Whether queries by an index depend on more than its fields.
pub fn is_partial(index: &Index) -> bool {
    index.options.contains_key("partialFilterExpression")
}

/// The bytes of an index, estimated from the lengths of its fields.
fn size(collection: &Collection, index: &Index) -> f64 {
    let keys = index.keys.keys();
    let key: f64 = keys
        .map(|key| at(collection, key).map_or(8.0, estimate::value))
        .sum();
    collection.documents as f64 * (key + ENTRY)
}

/// The field that an index names, whose path has no brackets.
pub fn at<'a>(collection: &'a Collection, key: &str) -> Option<&'a Field> {
    let mut found = None;
    collection.root.walk(&mut |field| {
        if found.is_none() && !field.path.is_empty() && field.path.replace("[]", "") == key {
            found = Some(field);
        }
    });
    found
}

/// The cost of an index, whether it is used or not.
fn kept(collection: &Collection, index: &Index) -> String {
    format!(
        "Each insert and deletion writes it, and each update of its fields; with {} it takes {} of disk and cache.",
        documents(collection.documents),
        match index.bytes {
            Some(measured) => bytes(measured as f64),
            None => format!("about {}", bytes(size(collection, index))),
        },
    )
}

fn drop(collection: &Collection, index: &Index) -> Remedy {
    let name = quoted(&index.name);
    let of = shell_collection(&collection.name);
    Remedy::new("Leave it out of the model. Hide it for a week, during which one command brings it back; then drop it.").shell(format!(
        "{of}.hideIndex({name})\n// a week later\n{of}.dropIndex({name})"
    ))
}

/// Collections with indexes.
pub fn indexed(design: &Design) -> impl Iterator<Item = &Collection> {
    design
        .collections
        .iter()
        .filter(|collection| !matches!(collection.kind, CollectionKind::View | CollectionKind::TimeSeries))
}

/// Whether every query that one index serves is served by the other as well.
fn serves(other: &Index, index: &Index) -> bool {
    let (Some(long), Some(short)) = (keys(other), keys(index)) else {
        return false;
    };
    if short.is_empty() || long.len() < short.len() || index.name == "_id_" {
        return false;
    }
    // A unique index and one that expires documents do more than find.
    if index.unique
        || is_set(index, "expireAfterSeconds")
        || is_set(other, "hidden")
        || is_set(index, "hidden")
    {
        return false;
    }
    // All directions are the same, or all are reversed: an index is read from both ends.
    let same = short.iter().zip(&long).all(|(a, b)| a == b);
    let reversed = short.iter().zip(&long).all(|(a, b)| a.0 == b.0 && a.1 != b.1);
    if !(same || reversed) {
        return false;
    }
    let equal = |option: &str| index.options.get(option) == other.options.get(option);
    let partial = !is_partial(other) || equal("partialFilterExpression");
    let sparse = !is_set(other, "sparse") || is_set(index, "sparse") && long.len() == short.len();
    partial && sparse && equal("collation")
}

/// Indexes of which another one does the work.
pub fn redundant(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for collection in indexed(design) {
        for (at, index) in collection.indexes.iter().enumerate() {
            let mut others = collection.indexes.iter().enumerate();
            let by = others.find(|(place, other)| {
                // Of two that do the same, the first stays.
                *place != at && serves(other, index) && !(serves(index, other) && *place > at)
            });
            let Some((_, by)) = by else { continue };
            let fields = keys(index).map_or(0, |keys| keys.len());
            let duplicate = keys(by).is_some_and(|keys| keys.len() == fields);
            all.push(
                Advice::new(
                    Rule::RedundantIndex,
                    Severity::Risk,
                    &collection.name,
                    index.keys.keys().next().map_or("", String::as_str),
                )
                .finding(format!(
                    "Of the {} indexes of `{}`, `{}` is {} `{}`.",
                    collection.indexes.len(),
                    collection.name,
                    index.name,
                    if duplicate {
                        "on the same fields as"
                    } else {
                        "the beginning of"
                    },
                    by.name,
                ))
                .cost(kept(collection, index))
                .remedy(drop(collection, index))
                .figure("affected", size(collection, index))
                .figure("bytes", size(collection, index))
                .figure("fields", fields as f64),
            );
        }
    }
    all
}

/// Indexes that no query used, where the application has run.
pub fn unused(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for collection in indexed(design) {
        let others: i64 = collection.indexes.iter().filter_map(|index| index.used).sum();
        // Right after a start nothing was used.
        if others < USED {
            continue;
        }
        for index in &collection.indexes {
            let does_more = index.unique || index.name == "_id_" || is_set(index, "expireAfterSeconds");
            if index.used != Some(0) || does_more || is_set(index, "hidden") {
                continue;
            }
            all.push(
                Advice::new(
                    Rule::UnusedIndex,
                    Severity::Risk,
                    &collection.name,
                    index.keys.keys().next().map_or("", String::as_str),
                )
                .finding(format!(
                    "`{}` of `{}` was used 0 times since the server started, while the indexes of the collection were used {}.",
                    index.name,
                    collection.name,
                    counted(others.unsigned_abs(), "time", "times"),
                ))
                .cost(kept(collection, index))
                .remedy(drop(collection, index))
                .figure("affected", size(collection, index))
                .figure("bytes", size(collection, index))
                .figure("used", 0.0)
                .figure("othersUsed", others as f64),
            );
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;
    use bson::doc;

    fn of(indexes: Vec<Index>) -> Design {
        let mut orders = collection(
            "orders",
            5_000,
            vec![text("state", 5_000, 8), text("name", 5_000, 12)],
        );
        orders.indexes.extend(indexes);
        database(vec![orders])
    }

    #[test]
    fn a_prefix_is_redundant() {
        let design = of(vec![
            index(doc! { "state": 1 }),
            index(doc! { "state": 1, "name": -1 }),
        ]);
        let all = redundant(&design);
        assert_eq!((all.len(), all[0].path.as_str()), (1, "state"));
        assert_eq!(
            all[0].finding,
            "Of the 3 indexes of `orders`, `state_1` is the beginning of `state_1_name_-1`."
        );
        // Read backwards, it is the same.
        let design = of(vec![
            index(doc! { "state": -1 }),
            index(doc! { "state": 1, "name": -1 }),
        ]);
        assert_eq!(redundant(&design).len(), 1);
    }

    #[test]
    fn an_index_that_does_more_is_not_redundant() {
        let long = || index(doc! { "state": 1, "name": 1 });
        let short = || index(doc! { "state": 1 });
        let with = |mut index: Index, option: bson::Document| {
            index.options = option;
            index
        };
        let mut unique = short();
        unique.unique = true;
        let filter = doc! { "partialFilterExpression": { "state": "open" } };
        let collation = doc! { "collation": { "locale": "en", "strength": 2 } };
        let cases = [
            vec![unique, long()],
            vec![with(short(), doc! { "expireAfterSeconds": 60 }), long()],
            vec![short(), with(long(), filter.clone())],
            vec![with(short(), collation), long()],
            vec![short(), with(long(), doc! { "sparse": true })],
            vec![short(), with(long(), doc! { "hidden": true })],
            vec![short(), index(doc! { "name": 1, "state": 1 })],
            vec![index(doc! { "state": "text" }), index(doc! { "state": "hashed" })],
            vec![
                index(doc! { "state": 1, "name": 1 }),
                index(doc! { "state": 1, "name": -1 }),
            ],
        ];
        for indexes in cases {
            assert!(redundant(&of(indexes.clone())).is_empty(), "{indexes:?}");
        }
        // A filter of both, and one of the shorter alone, changes nothing.
        for other in [with(long(), filter.clone()), long()] {
            let design = of(vec![with(short(), filter.clone()), other]);
            assert_eq!(redundant(&design).len(), 1);
        }
    }

    #[test]
    fn of_two_equal_indexes_one_stays() {
        let mut second = index(doc! { "state": 1 });
        second.name = "state_again".to_owned();
        let design = of(vec![index(doc! { "state": 1 }), second.clone()]);
        let all = redundant(&design);
        assert_eq!(all.len(), 1);
        assert!(
            all[0]
                .finding
                .contains("`state_again` is on the same fields as `state_1`"),
            "{all:?}"
        );
        // The unique one stays, wherever it stands.
        second.unique = true;
        let design = of(vec![index(doc! { "state": 1 }), second]);
        assert!(
            redundant(&design)[0]
                .finding
                .contains("`state_1` is on the same fields")
        );
    }

    #[test]
    fn an_index_is_unused_where_others_are_used() {
        let mut state = index(doc! { "state": 1 });
        state.used = Some(0);
        let mut name = index(doc! { "name": 1 });
        name.used = Some(12_000);
        let all = unused(&of(vec![state.clone(), name.clone()]));
        assert_eq!((all.len(), all[0].path.as_str()), (1, "state"));
        // A server that has just started, one that does not say, and an index that keeps values unique.
        name.used = Some(3);
        assert!(unused(&of(vec![state.clone(), name.clone()])).is_empty());
        name.used = Some(12_000);
        state.unique = true;
        assert!(unused(&of(vec![state.clone(), name.clone()])).is_empty());
        state.unique = false;
        state.used = None;
        assert!(unused(&of(vec![state, name])).is_empty());
    }
}
