//! Indexes that are missing, that another one does the work of, or that nothing uses; and text compared without a collation.

use super::links::SURE;
use super::remedy::{Remedy, field, holder, model, shell_collection};
use super::words::{bytes, count, counted, documents, list, place};
use super::{Advice, Rule, Severity, estimate, names};
use crate::design::{Collection, CollectionKind, Design, Field, Index};
use crate::kind::Kind;
use bson::Bson;
use std::collections::BTreeMap;

/// Of fewer documents, a scan takes about a millisecond.
const SCANNED: u64 = 1_000;
/// Where other indexes of the collection were used so often, the application has run.
const USED: i64 = 100;
/// What an entry of an index has beside its key.
const ENTRY: f64 = 12.0;

/// The direction of an index in a field, where it is ordinary.
fn direction(value: &Bson) -> Option<bool> {
    match value {
        Bson::Int32(number) => Some(*number > 0),
        Bson::Int64(number) => Some(*number > 0),
        Bson::Double(number) => Some(*number > 0.0),
        _ => None,
    }
}

/// The fields of an ordinary index with their directions; `None` of a text, hashed, geo or wildcard index.
fn keys(index: &Index) -> Option<Vec<(&str, bool)>> {
    let keys = index.keys.iter();
    keys.map(|(name, value)| {
        let direction = direction(value).filter(|_| !name.contains("$**"))?;
        Some((name.as_str(), direction))
    })
    .collect()
}

fn is_set(index: &Index, option: &str) -> bool {
    match index.options.get(option) {
        None | Some(Bson::Null) => false,
        Some(Bson::Boolean(set)) => *set,
        Some(_) => true,
    }
}

/// What a query finds by it depends on more than its fields.
fn is_partial(index: &Index) -> bool {
    index.options.contains_key("partialFilterExpression")
}

/// The bytes of an index: as the server says, else estimated from the lengths of its fields.
fn size(collection: &Collection, index: &Index) -> f64 {
    if let Some(bytes) = index.bytes {
        return bytes as f64;
    }
    let keys = index.keys.keys();
    let key: f64 = keys
        .map(|key| at(collection, key).map_or(8.0, estimate::value))
        .sum();
    collection.documents as f64 * (key + ENTRY)
}

/// The field that an index names, whose path has no brackets.
fn at<'a>(collection: &'a Collection, key: &str) -> Option<&'a Field> {
    let mut found = None;
    collection.root.walk(&mut |field| {
        if found.is_none() && !field.path.is_empty() && field.path.replace("[]", "") == key {
            found = Some(field);
        }
    });
    found
}

/// What an index costs, whether it is used or not.
fn kept(collection: &Collection, index: &Index) -> String {
    format!(
        "Each insert and deletion writes it, and each update of its fields; with {} it takes about {} of disk and cache.",
        documents(collection.documents),
        bytes(size(collection, index)),
    )
}

fn drop(collection: &Collection, index: &Index) -> Remedy {
    let name = super::remedy::quoted(&index.name);
    let of = shell_collection(&collection.name);
    Remedy::new("Leave it out of the model. Hide it for a week, during which one command brings it back; then drop it.").shell(format!(
        "{of}.hideIndex({name})\n// a week later\n{of}.dropIndex({name})"
    ))
}

/// Collections with indexes.
fn indexed(design: &Design) -> impl Iterator<Item = &Collection> {
    design
        .collections
        .iter()
        .filter(|collection| !matches!(collection.kind, CollectionKind::View | CollectionKind::TimeSeries))
}

/// References that no index serves, on one of both sides.
pub fn missing(design: &Design) -> Vec<Advice> {
    let mut holders: BTreeMap<(&str, Vec<String>), Vec<&str>> = BTreeMap::new();
    let mut targets: BTreeMap<(&str, &[String]), Vec<&crate::design::Reference>> = BTreeMap::new();
    for reference in design
        .references
        .iter()
        .filter(|reference| reference.confidence >= SURE)
    {
        let paths: Option<Vec<String>> = reference
            .from
            .paths
            .iter()
            .map(|path| names::written(path))
            .collect();
        if let Some(paths) = paths {
            let holder = holders.entry((&reference.from.collection, paths)).or_default();
            holder.push(&reference.to.collection);
        }
        if !reference.indexed {
            let key = (reference.to.collection.as_str(), reference.to.paths.as_slice());
            targets.entry(key).or_default().push(reference);
        }
    }
    let mut all = Vec::new();
    for ((name, paths), to) in holders {
        let Some(collection) = design.collection(name) else {
            continue;
        };
        if collection.documents < SCANNED || paths == ["_id"] || is_served(collection, &paths) {
            continue;
        }
        all.push(missing_holder(collection, &paths, &to));
    }
    for ((name, paths), references) in targets {
        let Some(collection) = design.collection(name) else {
            continue;
        };
        let written: Option<Vec<String>> = paths.iter().map(|path| names::written(path)).collect();
        let Some(written) = written else { continue };
        if collection.documents < SCANNED || is_served(collection, &written) {
            continue;
        }
        all.push(missing_target(collection, &written, &references));
    }
    all
}

/// Whether an index finds documents by these fields: it begins with one of them, and holds all documents that have it.
fn is_served(collection: &Collection, paths: &[String]) -> bool {
    collection.indexes.iter().any(|index| {
        let hashed = |value: &Bson| value.as_str() == Some("hashed");
        let first = index.keys.iter().next();
        !is_partial(index)
            && !is_set(index, "hidden")
            && first.is_some_and(|(key, value)| {
                paths.iter().any(|path| path == key) && (direction(value).is_some() || hashed(value))
            })
    })
}

fn declare_index(collection: &Collection, paths: &[String], unique: bool) -> Remedy {
    let option = if unique { ", unique" } else { "" };
    let remedy = Remedy::new("Declare the index, which `sync` builds beside programs that run.");
    let remedy = match paths {
        [path] if !path.contains('.') => {
            let attribute = if unique { "#[index(unique)]" } else { "#[index]" };
            let rust = names::rust_type(at(collection, path));
            remedy.rust(model(
                &collection.name,
                &[],
                &field(path, &[attribute.to_owned()], rust),
            ))
        }
        _ => {
            let fields: Vec<String> = paths
                .iter()
                .map(|path| {
                    path.split('.')
                        .map(names::field_name)
                        .collect::<Vec<_>>()
                        .join(".")
                })
                .collect();
            remedy.rust(model(
                &collection.name,
                &[format!("index(fields({}){option})", fields.join(", "))],
                "",
            ))
        }
    };
    remedy.terminal("cargo run -- sync")
}

fn missing_holder(collection: &Collection, paths: &[String], to: &[&str]) -> Advice {
    let path = paths.join(", ");
    let mut targets: Vec<String> = to.iter().map(|name| (*name).to_owned()).collect();
    targets.sort();
    targets.dedup();
    let read = collection.documents as f64 * collection.sizes.mean;
    let remedy = match paths {
        [path] if !path.contains('.') && targets.len() == 1 => {
            let rust = format!("Ref<{}>", names::type_name(&targets[0]));
            Remedy::new(
                "Declare the reference, which has the index; `sync` builds it beside programs that run.",
            )
            .rust(holder(
                &collection.name,
                path,
                &field(path, &["#[reference]".to_owned()], &rust),
            ))
            .terminal("cargo run -- sync")
        }
        _ => declare_index(collection, paths, false),
    };
    Advice::new(Rule::MissingIndex, Severity::Risk, &collection.name, &path)
        .finding(format!(
            "No index begins with `{}`, which refers to {}, in a collection of {}.",
            place(&collection.name, &path),
            list(&targets),
            documents(collection.documents),
        ))
        .cost(format!(
            "A query for the documents that refer to one, and each deletion of that one, reads all {}, about {}.",
            documents(collection.documents),
            bytes(read),
        ))
        .remedy(remedy)
        .figure("affected", collection.documents as f64)
        .figure("documents", collection.documents as f64)
        .figure("bytes", read)
}

fn missing_target(
    collection: &Collection,
    paths: &[String],
    references: &[&crate::design::Reference],
) -> Advice {
    let path = paths.join(", ");
    let unique = references.iter().all(|reference| reference.unique);
    let values: u64 = references.iter().map(|reference| reference.values).sum();
    let read = collection.documents as f64 * collection.sizes.mean;
    let mut from: Vec<String> = references
        .iter()
        .map(|reference| place(&reference.from.collection, &reference.from.paths.join(", ")))
        .collect();
    from.sort();
    from.dedup();
    Advice::new(Rule::MissingIndex, Severity::Risk, &collection.name, &path)
        .finding(format!(
            "No index serves `{}`, which {} {} {}.",
            place(&collection.name, &path),
            list(&from),
            if from.len() == 1 { "names" } else { "name" },
            counted(values, "time", "times"),
        ))
        .cost(format!(
            "Each look at a target, in a join and in the check of a write, reads {}, about {}.",
            documents(collection.documents),
            bytes(read),
        ))
        .remedy(declare_index(collection, paths, unique))
        .figure("affected", values as f64)
        .figure("documents", collection.documents as f64)
        .figure("values", values as f64)
        .figure("bytes", read)
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

/// The ends and beginnings of names of fields with text in lower case.
const LOWER: [&str; 6] = ["lower", "lowercase", "lc", "ci", "normalized", "folded"];

/// Text that is stored a second time for comparisons, or indexed with values that differ in case alone.
pub fn case_without_collation(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for collection in indexed(design) {
        if collection.options.contains_key("collation") {
            continue;
        }
        collection.root.walk(&mut |parent| {
            for folded in &parent.fields {
                if let Some(original) = original(parent, folded) {
                    all.extend(second_time(collection, original, folded));
                }
            }
        });
        for index in &collection.indexes {
            let Some((key, _)) = index.keys.iter().next() else {
                continue;
            };
            if keys(index).is_some() && !index.options.contains_key("collation") {
                all.extend(at(collection, key).and_then(|field| differ_in_case(collection, index, field)));
            }
        }
    }
    all
}

/// The field of which another one is the text in lower case, by its name and lengths.
fn original<'a>(parent: &'a Field, folded: &Field) -> Option<&'a Field> {
    let words = names::parts(&folded.name);
    let rest = match words.as_slice() {
        [rest @ .., last] if !rest.is_empty() && LOWER.contains(&last.as_str()) => rest,
        [first, rest @ ..] if !rest.is_empty() && LOWER.contains(&first.as_str()) => rest,
        _ => return None,
    };
    parent.fields.iter().find(|field| {
        names::parts(&field.name) == rest
            && field.only_kind() == Some(Kind::String)
            && folded.only_kind() == Some(Kind::String)
            && field.text == folded.text
            && field.text.is_some()
    })
}

fn collated(collection: &Collection, path: &str, unique: bool) -> Remedy {
    let unique = if unique { "unique, " } else { "" };
    Remedy::new(
        "Give the index a collation that ignores case, and the queries the same one; `collation` of `#[document]` does it for all.",
    )
    .rust(holder(
        &collection.name,
        path,
        &field(
            path,
            &[format!("#[index({unique}collation(locale = \"en\", strength = 2))]")],
            "String",
        ),
    ))
}

fn second_time(collection: &Collection, original: &Field, folded: &Field) -> Option<Advice> {
    let index = |path: &str| {
        collection
            .indexes
            .iter()
            .find(|index| index.keys.keys().next().is_some_and(|key| key == path))
    };
    let written = names::written(&folded.path)?;
    let taken = collection.documents as f64 * estimate::share(folded);
    let mut advice = Advice::new(
        Rule::CaseWithoutCollation,
        Severity::Hint,
        &collection.name,
        &folded.path,
    )
    .finding(format!(
        "`{}` has the lengths of `{}` in all {}: it is the same text in one case.",
        place(&collection.name, &folded.path),
        original.path,
        documents(folded.present),
    ))
    .cost(format!(
        "{} of copies, which each change of `{}` has to write.",
        bytes(taken),
        original.path
    ))
    .remedy(
        collated(
            collection,
            &original.path,
            index(&written).is_some_and(|index| index.unique),
        )
        .step(&[format!(
            "step.collection({:?}).remove({written:?}).await",
            collection.name
        )]),
    )
    .figure("affected", folded.present as f64)
    .figure("bytes", taken);
    advice.also.push(place(&collection.name, &original.path));
    Some(advice)
}

fn differ_in_case(collection: &Collection, index: &Index, field: &Field) -> Option<Advice> {
    let mut lower: BTreeMap<String, Vec<&(String, u64)>> = BTreeMap::new();
    for value in &field.values {
        lower.entry(value.0.to_lowercase()).or_default().push(value);
    }
    let differ: Vec<_> = lower.values().filter(|values| values.len() > 1).collect();
    let places: u64 = differ
        .iter()
        .flat_map(|values| values.iter().map(|value| value.1))
        .sum();
    if differ.is_empty() {
        return None;
    }
    let examples: Vec<String> = differ
        .iter()
        .map(|values| {
            let values: Vec<String> = values.iter().map(|value| format!("{:?}", value.0)).collect();
            values.join(", ")
        })
        .collect();
    let severity = if index.unique {
        Severity::Fault
    } else {
        Severity::Risk
    };
    Some(
        Advice::new(
            Rule::CaseWithoutCollation,
            severity,
            &collection.name,
            &field.path,
        )
        .finding(format!(
            "The index `{}` of `{}` tells {} apart that differ in case alone, in {}.",
            index.name,
            collection.name,
            counted(differ.len() as u64, "value", "values"),
            counted(places, "place", "places"),
        ))
        .cost(format!(
            "A query for one way to write it misses the others, up to {}; one that ignores case by `$regex` reads all {} keys.",
            counted(places, "place", "places"),
            count(collection.documents),
        ))
        .remedy(collated(collection, &field.path, index.unique))
        .figure("affected", places as f64)
        .figure("values", differ.len() as f64)
        .examples(&examples),
    )
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

    #[test]
    fn a_reference_without_an_index_is_found_in_large_collections() {
        let mut design = orders();
        design.collections[0].indexes.truncate(1);
        assert!(missing(&design).is_empty());
        design.collections[0].documents = 50_000;
        let all = missing(&design);
        assert_eq!((all.len(), all[0].place().as_str()), (1, "orders.customer"));
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("#[reference]\n    pub customer: Ref<Customer>,")
        );
        design.collections[0]
            .indexes
            .push(index(doc! { "customer": 1, "placed": -1 }));
        assert!(missing(&design).is_empty());
        // An index on some documents does not serve.
        design.collections[0].indexes[1].options = doc! { "partialFilterExpression": { "open": true } };
        assert_eq!(missing(&design).len(), 1);
    }

    #[test]
    fn a_natural_key_without_an_index_is_found() {
        let mut design = orders();
        design.references[0].to.paths = vec!["name".to_owned()];
        design.references[0].indexed = false;
        design.references[0].unique = true;
        design.collections[1].documents = 2_000;
        let all = missing(&design);
        assert_eq!(all[0].place(), "customers.name");
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("#[index(unique)]\n    pub name: String,")
        );
    }

    #[test]
    fn text_in_lower_case_beside_itself_wants_a_collation() {
        let mut design = of(vec![]);
        assert!(case_without_collation(&design).is_empty());
        design.collections[0]
            .root
            .fields
            .push(text("name_lower", 5_000, 12));
        let all = case_without_collation(&design);
        assert_eq!((all.len(), all[0].path.as_str()), (1, "name_lower"));
        design.collections[0].options = doc! { "collation": { "locale": "en", "strength": 2 } };
        assert!(case_without_collation(&design).is_empty());
    }

    #[test]
    fn values_of_an_index_that_differ_in_case_want_a_collation() {
        let mut design = of(vec![index(doc! { "state": 1 })]);
        let values = [("Open", 10), ("open", 4_000), ("done", 990)];
        design.collections[0].root.fields[1].values =
            values.map(|(value, number)| (value.to_owned(), number)).to_vec();
        let all = case_without_collation(&design);
        assert_eq!((all.len(), all[0].path.as_str()), (1, "state"));
        design.collections[0].indexes[1].options = doc! { "collation": { "locale": "en", "strength": 2 } };
        assert!(case_without_collation(&design).is_empty());
    }
}
