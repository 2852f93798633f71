//! References that no index serves.

use super::indexes::{at, direction, is_partial, is_set};
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::{Remedy, field, holder, model};
use super::words::{bytes, counted, documents, list, place};
use crate::design::{Collection, Design, Reference};
use bson::Bson;
use std::collections::BTreeMap;

/// Of fewer documents, a scan takes about a millisecond.
const SCANNED: u64 = 1_000;
/// Of so many, it takes some ten milliseconds: a hundred times what an index takes.
const SLOW: u64 = 10_000;
/// Below, a reference may be none.
const EVIDENT: f64 = 0.5;

/// References that no index serves, on one of both sides.
pub fn missing(design: &Design) -> Vec<Advice> {
    let mut holders: BTreeMap<(&str, Vec<String>), Vec<&str>> = BTreeMap::new();
    let mut targets: BTreeMap<(&str, &[String]), Vec<&Reference>> = BTreeMap::new();
    for reference in design
        .references
        .iter()
        .filter(|reference| reference.confidence >= EVIDENT)
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

fn severity(collection: &Collection) -> Severity {
    if collection.documents >= SLOW {
        Severity::Risk
    } else {
        Severity::Hint
    }
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
            // Those of the document itself; others are in its embedded structs.
            let lines: Vec<String> = paths
                .iter()
                .filter(|path| !path.contains('.'))
                .map(|path| field(path, &[], names::rust_type(at(collection, path))))
                .collect();
            remedy.rust(model(
                &collection.name,
                &[format!("index(fields({}){option})", fields.join(", "))],
                &lines.join("\n"),
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
    Advice::new(Rule::MissingIndex, severity(collection), &collection.name, &path)
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

fn missing_target(collection: &Collection, paths: &[String], references: &[&Reference]) -> Advice {
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
    Advice::new(Rule::MissingIndex, severity(collection), &collection.name, &path)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;
    use bson::doc;

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
}
