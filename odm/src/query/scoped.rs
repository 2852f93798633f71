//! The scope of a handle in the stages of a pipeline: of the documents that it begins with, and of those that it joins.

use crate::model::document::DocumentMeta;
use crate::store::scopes::within;
use crate::{Error, Odm, Result};
use mongodb::bson::{Bson, Document, doc};

/// The stages, for the documents in the scope of the handle.
///
/// # Errors
/// As [`joined`].
pub(crate) fn restricted(
    odm: &Odm,
    meta: &'static DocumentMeta,
    stages: Vec<Document>,
) -> Result<Vec<Document>> {
    let mut stages = joined(odm, stages)?;
    let Some(scope) = odm.scope_of(meta) else {
        return Ok(stages);
    };
    let first = stages.first().and_then(|stage| stage.keys().next()).cloned();
    let place = match first.as_deref() {
        Some("$match") => Some("$match"),
        Some("$geoNear") => Some("$geoNear"),
        _ => None,
    };
    match (place, stages.first_mut()) {
        (Some("$match"), Some(stage)) => restrict(stage, "$match", &scope),
        (Some(_), Some(stage)) => {
            if let Ok(near) = stage.get_document_mut("$geoNear") {
                near.entry("query".to_owned())
                    .or_insert_with(|| Document::new().into());
                restrict(near, "query", &scope);
            }
        }
        // A search has to stand before everything else.
        _ => {
            let at = usize::from(first.is_some_and(|name| name.contains("earch")));
            stages.insert(at, doc! { "$match": scope });
        }
    }
    Ok(stages)
}

/// Adds the scope to a condition that stands under a name.
fn restrict(stage: &mut Document, name: &str, scope: &Document) {
    if let Ok(filter) = stage.get_document_mut(name) {
        *filter = within(std::mem::take(filter), scope);
    }
}

/// The stages, with every stage that reads other collections restricted to the documents in the scope of the handle.
///
/// # Errors
/// [`Error::Query`] for `$out` and `$merge` where the handle has a scope: the results belong to no scope.
pub(crate) fn joined(odm: &Odm, stages: Vec<Document>) -> Result<Vec<Document>> {
    let keeps_deleted = || odm.models().iter().any(|model| model.meta.soft_delete.is_some());
    if !odm.has_scope() && !keeps_deleted() {
        return Ok(stages);
    }
    let mut all = Vec::with_capacity(stages.len());
    for stage in stages {
        let filter = stage
            .iter()
            .next()
            .map(|(name, what)| (name.clone(), what.clone()));
        let Some((name, what)) = filter else {
            all.push(stage);
            continue;
        };
        match (name.as_str(), what) {
            ("$lookup", Bson::Document(lookup)) => lookup_within(odm, lookup, &mut all)?,
            ("$graphLookup", Bson::Document(mut lookup)) => {
                if let Some(scope) = of_collection(odm, lookup.get_str("from")) {
                    let before = "restrictSearchWithMatch";
                    lookup
                        .entry(before.to_owned())
                        .or_insert_with(|| Document::new().into());
                    restrict(&mut lookup, before, &scope);
                }
                all.push(doc! { "$graphLookup": lookup });
            }
            ("$unionWith", what) => all.push(doc! { "$unionWith": union(odm, what)? }),
            ("$facet", Bson::Document(facets)) => {
                let mut restricted = Document::new();
                for (name, stages) in facets {
                    restricted.insert(name, joined_values(odm, stages)?);
                }
                all.push(doc! { "$facet": restricted });
            }
            ("$out" | "$merge", _) if odm.has_scope() => {
                return Err(Error::Query {
                    collection: "(all)",
                    message: format!(
                        "`{name}` stores documents beside the scope of this handle: read the results and write them by the library, \
                         or use a handle without a scope"
                    ),
                });
            }
            _ => all.push(stage),
        }
    }
    Ok(all)
}

fn of_collection<E>(odm: &Odm, name: Result<&str, E>) -> Option<Document> {
    let meta = odm.graph().model(name.ok()?)?;
    odm.scope_of(meta)
}

/// The stages in an array.
fn joined_values(odm: &Odm, stages: Bson) -> Result<Bson> {
    let Bson::Array(stages) = stages else {
        return Ok(stages);
    };
    let stages = stages.into_iter().filter_map(|stage| match stage {
        Bson::Document(stage) => Some(stage),
        _ => None,
    });
    let joined = joined(odm, stages.collect())?;
    Ok(Bson::Array(joined.into_iter().map(Bson::Document).collect()))
}

fn lookup_within(odm: &Odm, mut lookup: Document, all: &mut Vec<Document>) -> Result<()> {
    let scope = of_collection(odm, lookup.get_str("from"));
    let mut rest = None;
    if let Some(pipeline) = lookup.remove("pipeline") {
        let mut pipeline = match joined_values(odm, pipeline)? {
            Bson::Array(pipeline) => pipeline,
            other => vec![other],
        };
        if let Some(scope) = scope {
            pipeline.insert(0, doc! { "$match": scope }.into());
        }
        lookup.insert("pipeline", pipeline);
    } else if let (Some(scope), Ok(field)) = (scope, lookup.get_str("as")) {
        // Servers before 5.0 take no pipeline beside the two fields.
        let mut conditions = Vec::new();
        for (name, value) in &scope {
            let value = match value {
                Bson::Document(equal) => equal.get("$eq").cloned().unwrap_or(Bson::Null),
                value => value.clone(),
            };
            let stored = doc! { "$ifNull": [format!("$$this.{name}"), null] };
            conditions.push(doc! { "$eq": [stored, { "$literal": value }] });
        }
        let filter = doc! { "input": format!("${field}"), "cond": { "$and": conditions } };
        rest = Some(doc! { "$set": { field: { "$filter": filter } } });
    }
    all.push(doc! { "$lookup": lookup });
    all.extend(rest);
    Ok(())
}

fn union(odm: &Odm, what: Bson) -> Result<Bson> {
    let mut union = match what {
        Bson::String(name) => doc! { "coll": name },
        Bson::Document(union) => union,
        other => return Ok(other),
    };
    let mut pipeline = match union.remove("pipeline") {
        Some(pipeline) => match joined_values(odm, pipeline)? {
            Bson::Array(pipeline) => pipeline,
            other => vec![other],
        },
        None => Vec::new(),
    };
    if let Some(scope) = of_collection(odm, union.get_str("coll")) {
        pipeline.insert(0, doc! { "$match": scope }.into());
    }
    union.insert("pipeline", pipeline);
    Ok(union.into())
}
