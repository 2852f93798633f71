//! What the stages of a pipeline name and need.

use bson::{Bson, Document, doc};
use std::collections::BTreeMap;

/// Stages that make of each document what they make of it alone.
const PER_DOCUMENT: [&str; 9] = [
    "$match",
    "$project",
    "$addFields",
    "$set",
    "$unset",
    "$replaceRoot",
    "$replaceWith",
    "$unwind",
    "$redact",
];

/// Stages that read what an index of one shard has.
const OF_INDEXES: [&str; 5] = [
    "$geoNear",
    "$search",
    "$searchMeta",
    "$vectorSearch",
    "$listSearchIndexes",
];

/// The name of a stage.
pub(super) fn name(stage: &Document) -> &str {
    stage.keys().next().map_or("", String::as_str)
}

/// Whether all stages treat each document alone.
pub(super) fn is_per_document(pipeline: &[Document]) -> bool {
    pipeline.iter().all(|stage| PER_DOCUMENT.contains(&name(stage)))
}

/// The first stage, if it reads what an index of one shard has.
pub(super) fn of_indexes(pipeline: &[Document]) -> Option<&str> {
    let first = name(pipeline.first()?);
    OF_INDEXES.contains(&first).then_some(first)
}

/// The conditions of the stages with which a pipeline begins, and how many these are.
pub(super) fn leading_match(pipeline: &[Document]) -> (Document, usize) {
    let conditions = pipeline
        .iter()
        .map_while(|stage| stage.get_document("$match").ok());
    let conditions: Vec<_> = conditions.cloned().collect();
    let number = conditions.len();
    let filter = match <[Document; 1]>::try_from(conditions) {
        Ok([one]) => one,
        Err(none) if none.is_empty() => Document::new(),
        Err(all) => doc! { "$and": all },
    };
    (filter, number)
}

/// A collection that a stage joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Joined {
    pub stage: &'static str,
    pub collection: String,
}

/// The collections that a pipeline joins, in all depths.
pub(super) fn joined(pipeline: &[Document]) -> Vec<Joined> {
    let mut found = Vec::new();
    pipeline.iter().for_each(|stage| walk(stage, &mut found));
    found
}

fn walk(stage: &Document, found: &mut Vec<Joined>) {
    let Some((name, body)) = stage.iter().next() else {
        return;
    };
    let mut add = |stage, collection: Option<&str>| {
        found.extend(collection.map(|collection| Joined {
            stage,
            collection: collection.to_owned(),
        }));
    };
    match (name.as_str(), body) {
        ("$lookup", Bson::Document(body)) => add("$lookup", body.get_str("from").ok()),
        ("$graphLookup", Bson::Document(body)) => add("$graphLookup", body.get_str("from").ok()),
        ("$unionWith", Bson::String(collection)) => add("$unionWith", Some(collection)),
        ("$unionWith", Bson::Document(body)) => add("$unionWith", body.get_str("coll").ok()),
        _ => {}
    }
    for inner in within(name, body) {
        inner
            .iter()
            .filter_map(Bson::as_document)
            .for_each(|stage| walk(stage, found));
    }
}

/// The pipelines in a stage.
fn within<'s>(name: &str, body: &'s Bson) -> Vec<&'s Vec<Bson>> {
    match (name, body) {
        ("$facet", Bson::Document(facets)) => facets.values().filter_map(Bson::as_array).collect(),
        ("$lookup" | "$unionWith", Bson::Document(body)) => {
            body.get_array("pipeline").ok().into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The pipeline with other names for the collections that it joins.
pub(super) fn renamed(pipeline: &[Document], names: &BTreeMap<String, String>) -> Vec<Document> {
    pipeline.iter().map(|stage| renamed_stage(stage, names)).collect()
}

fn renamed_stage(stage: &Document, names: &BTreeMap<String, String>) -> Document {
    let stages = |list: &[Bson]| {
        let renamed = list
            .iter()
            .filter_map(Bson::as_document)
            .map(|stage| renamed_stage(stage, names));
        Bson::Array(renamed.map(Bson::Document).collect())
    };
    let other = |name: &str| Bson::from(names.get(name).map_or(name, String::as_str));
    let body = |name: &str, body: &Bson| match (name, body) {
        ("$unionWith", Bson::String(collection)) => other(collection),
        ("$lookup" | "$graphLookup" | "$unionWith", Bson::Document(body)) => {
            let field = |(field, value): (&String, &Bson)| {
                let value = match (field.as_str(), value) {
                    ("from" | "coll", Bson::String(collection)) => other(collection),
                    ("pipeline", Bson::Array(list)) if name != "$graphLookup" => stages(list),
                    (_, value) => value.clone(),
                };
                (field.clone(), value)
            };
            Bson::Document(body.iter().map(field).collect())
        }
        ("$facet", Bson::Document(facets)) => {
            let facet = |(name, list): (&String, &Bson)| match list {
                Bson::Array(list) => (name.clone(), stages(list)),
                other => (name.clone(), other.clone()),
            };
            Bson::Document(facets.iter().map(facet).collect())
        }
        (_, body) => body.clone(),
    };
    stage
        .iter()
        .map(|(name, value)| (name.clone(), body(name, value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_collections_are_found_and_renamed_in_every_depth() {
        let pipeline = [
            doc! { "$match": { "from": "a" } },
            doc! { "$facet": { "x": [{ "$lookup": { "from": "a", "pipeline": [{ "$unionWith": "b" }], "as": "a" } }] } },
            doc! { "$graphLookup": { "from": "c", "as": "c" } },
            doc! { "$unionWith": { "coll": "d", "pipeline": [] } },
        ];
        let found: Vec<_> = joined(&pipeline)
            .into_iter()
            .map(|joined| joined.collection)
            .collect();
        assert_eq!(found, ["a", "b", "c", "d"]);
        let names = ["a", "b", "c", "d"].map(|name| (name.to_owned(), format!("{name}2")));
        let renamed = renamed(&pipeline, &names.into_iter().collect());
        let found: Vec<_> = joined(&renamed)
            .into_iter()
            .map(|joined| joined.collection)
            .collect();
        assert_eq!(found, ["a2", "b2", "c2", "d2"]);
        assert_eq!(renamed[0], pipeline[0]);
    }

    #[test]
    fn the_conditions_at_the_beginning_are_one_filter() {
        let (a, b) = (doc! { "a": 1 }, doc! { "b": 1 });
        let stages = [
            doc! { "$match": &a },
            doc! { "$match": &b },
            doc! { "$limit": 1 },
            doc! { "$match": {} },
        ];
        assert_eq!(leading_match(&stages), (doc! { "$and": [&a, &b] }, 2));
        assert_eq!(leading_match(&stages[1..]), (b, 1));
        assert_eq!(leading_match(&stages[2..]), (doc! {}, 0));
    }
}
