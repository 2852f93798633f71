//! The scope of a handle in the stages of a pipeline: of the documents that it begins with, and of those that it joins.

use crate::model::document::DocumentMeta;
use crate::store::filter::within;
use crate::{Error, Odm, Result};
use mongodb::bson::{Bson, Document, doc};

/// The stages, for the documents in the scope of the handle. `collated` says that the pipeline has a collation of its own, which
/// concerns every comparison in it, whatever collection it reads.
///
/// # Errors
/// As [`joined`].
pub(crate) fn restricted(
    odm: &Odm,
    meta: &'static DocumentMeta,
    stages: Vec<Document>,
    collated: bool,
) -> Result<Vec<Document>> {
    odm.can_restrict(meta, collated)?;
    let stages = joined(odm, stages, collated || meta.collation.is_some())?;
    Ok(
        match odm.scopes().condition(meta, odm.scopes().with_deleted, collated) {
            Some(scope) => begun(stages, scope),
            None => stages,
        },
    )
}

/// The stages, which begin with the documents of a scope.
fn begun(mut stages: Vec<Document>, scope: Document) -> Vec<Document> {
    let first = stages.first().and_then(|stage| stage.keys().next()).cloned();
    match (first.as_deref(), stages.first_mut()) {
        (Some("$match"), Some(stage)) if stage.get_document("$match").is_ok() => {
            restrict(stage, "$match", &scope);
        }
        (Some("$geoNear"), Some(stage)) if stage.get_document("$geoNear").is_ok() => {
            if let Ok(near) = stage.get_document_mut("$geoNear") {
                near.entry("query".to_owned())
                    .or_insert_with(|| Document::new().into());
                restrict(near, "query", &scope);
            }
        }
        // A search has to stand before everything else.
        (Some("$search" | "$searchMeta" | "$vectorSearch"), _) => {
            stages.insert(1, doc! { "$match": scope });
        }
        _ => stages.insert(0, doc! { "$match": scope }),
    }
    stages
}

/// Adds the scope to a condition that stands under a name.
fn restrict(stage: &mut Document, name: &str, scope: &Document) {
    // The server refuses it; one that does not takes it for no condition.
    if stage.get(name) == Some(&Bson::Null) {
        stage.insert(name, Document::new());
    }
    if let Ok(filter) = stage.get_document_mut(name) {
        *filter = within(std::mem::take(filter), scope);
    }
}

/// The stages, with every stage that reads other collections restricted to the documents in the scope of the handle.
///
/// # Errors
/// [`Error::Query`] for `$out` and `$merge` where the handle has a scope: the results belong to no scope. The same for a collection
/// that no registered document is stored in: it is not known whether its documents have the fields of the scope.
pub(crate) fn joined(odm: &Odm, stages: Vec<Document>, collated: bool) -> Result<Vec<Document>> {
    let keeps_deleted = || odm.models().iter().any(|model| model.meta.soft_delete.is_some());
    if !odm.has_scope() && !keeps_deleted() {
        return Ok(stages);
    }
    let scoped = JoinedStage { odm, collated };
    let mut all = Vec::with_capacity(stages.len());
    for stage in stages {
        // The server refuses a stage of another number of names.
        let (Some((name, what)), 1) = (stage.iter().next(), stage.len()) else {
            all.push(stage);
            continue;
        };
        if odm.has_scope() && mentions(&Bson::from(stage.clone()), "$$SEARCH_META") {
            return Err(refused(
                "`$$SEARCH_META` tells of documents that this handle does not read: its scope stands behind the search. Count the results \
                 in stages behind it, or use a handle without a scope"
                    .to_owned(),
            ));
        }
        let (name, what) = (name.clone(), what.clone());
        match (name.as_str(), what) {
            ("$lookup", Bson::Document(lookup)) => scoped.lookup(lookup, &mut all)?,
            ("$graphLookup", Bson::Document(mut lookup)) => {
                if let Some(scope) = scoped.of_collection(lookup.get("from"))? {
                    let before = "restrictSearchWithMatch";
                    lookup
                        .entry(before.to_owned())
                        .or_insert_with(|| Document::new().into());
                    restrict(&mut lookup, before, &scope);
                }
                all.push(doc! { "$graphLookup": lookup });
            }
            ("$unionWith", what) => all.push(doc! { "$unionWith": scoped.union(what)? }),
            ("$facet", Bson::Document(facets)) => {
                let mut restricted = Document::new();
                for (name, stages) in facets {
                    restricted.insert(name, scoped.inner(Some(stages), None)?);
                }
                all.push(doc! { "$facet": restricted });
            }
            ("$out" | "$merge", _) if odm.has_scope() => {
                return Err(refused(format!(
                    "`{name}` stores documents beside the scope of this handle: read the results and write them by the library, \
                     or use a handle without a scope"
                )));
            }
            _ => all.push(stage),
        }
    }
    Ok(all)
}

/// Whether a stage uses this variable anywhere.
fn mentions(value: &Bson, variable: &str) -> bool {
    match value {
        Bson::String(text) => text.starts_with(variable),
        Bson::Document(document) => document.values().any(|value| mentions(value, variable)),
        Bson::Array(items) => items.iter().any(|value| mentions(value, variable)),
        _ => false,
    }
}

fn refused(message: String) -> Error {
    Error::Query {
        collection: "(all)",
        message,
    }
}

/// The stages that read other collections, in the scope of a handle.
struct JoinedStage<'o> {
    odm: &'o Odm,
    /// Whether a collation is in force in the pipeline.
    collated: bool,
}

impl JoinedStage<'_> {
    /// The scope in a collection that a stage names; none where the stage names none.
    fn of_collection(&self, name: Option<&Bson>) -> Result<Option<Document>> {
        let Some(name) = name else { return Ok(None) };
        let meta = name.as_str().and_then(|name| self.odm.graph().model(name));
        let Some(meta) = meta else {
            if !self.odm.has_scope() {
                return Ok(None);
            }
            return Err(refused(format!(
                "a stage reads the collection {name}, in which no registered document is stored, so this handle can't restrict it to its \
                 scope: add its document to `models![…]`, or use a handle without a scope"
            )));
        };
        self.odm.can_restrict(meta, self.collated)?;
        let scopes = self.odm.scopes();
        Ok(scopes.condition(meta, scopes.with_deleted, self.collated))
    }

    /// The stages of a pipeline within a stage, for the documents of a scope. Gives a value that is no pipeline as it is: the server
    /// refuses it.
    fn inner(&self, pipeline: Option<Bson>, scope: Option<Document>) -> Result<Bson> {
        let stages = match pipeline {
            None | Some(Bson::Null) => Vec::new(),
            Some(Bson::Array(stages)) if stages.iter().all(|stage| stage.as_document().is_some()) => stages,
            Some(other) => return Ok(other),
        };
        let stages = stages.into_iter().filter_map(|stage| match stage {
            Bson::Document(stage) => Some(stage),
            _ => None,
        });
        let stages = joined(self.odm, stages.collect(), self.collated)?;
        let stages = match scope {
            Some(scope) => begun(stages, scope),
            None => stages,
        };
        Ok(Bson::Array(stages.into_iter().map(Bson::Document).collect()))
    }

    fn lookup(&self, mut lookup: Document, all: &mut Vec<Document>) -> Result<()> {
        let scope = self.of_collection(lookup.get("from"))?;
        let mut rest = None;
        if let Some(pipeline) = lookup.remove("pipeline") {
            lookup.insert("pipeline", self.inner(Some(pipeline), scope)?);
        } else if let (Some(scope), Ok(field)) = (scope, lookup.get_str("as")) {
            // Servers before 5.0 take no pipeline beside the two fields.
            let conditions: Vec<Bson> = scope.iter().map(|(name, value)| among(name, value)).collect();
            let filter = doc! { "input": format!("${field}"), "cond": { "$and": conditions } };
            rest = Some(doc! { "$set": { field: { "$filter": filter } } });
        }
        all.push(doc! { "$lookup": lookup });
        all.extend(rest);
        Ok(())
    }

    fn union(&self, what: Bson) -> Result<Bson> {
        let mut union = match what {
            Bson::String(name) => doc! { "coll": name },
            Bson::Document(union) => union,
            other => return Ok(other),
        };
        let scope = self.of_collection(union.get("coll"))?;
        let pipeline = union.remove("pipeline");
        union.insert("pipeline", self.inner(pipeline, scope)?);
        Ok(union.into())
    }
}

/// The condition of a scope on a field, as an expression about `$$this`.
fn among(name: &str, value: &Bson) -> Bson {
    let stored = doc! { "$ifNull": [format!("$$this.{name}"), null] };
    let equals = |value: &Bson| doc! { "$eq": [&stored, { "$literal": value }] };
    match value {
        // One scope within another that contradicts it.
        Bson::Array(_) => false.into(),
        Bson::Document(value) => {
            let equal = equals(value.get("$eq").unwrap_or(&Bson::Null));
            match value.get("$regex") {
                // A value that is no text ends the whole query.
                Some(pattern) => doc! { "$cond": [
                    { "$eq": [{ "$type": &stored }, "string"] },
                    { "$and": [equal, { "$regexMatch": { "input": &stored, "regex": { "$literal": pattern } } }] },
                    false,
                ] }
                .into(),
                None => equal.into(),
            }
        }
        value => equals(value).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_stands_where_a_pipeline_can_begin() {
        let scope = || doc! { "tenant": { "$eq": 1 } };
        let begun = |stages: Vec<Document>| begun(stages, scope());
        let own = doc! { "$match": scope() };
        assert_eq!(begun(Vec::new()), std::slice::from_ref(&own));
        let text = doc! { "$text": { "$search": "a" } };
        let mut with_scope = text.clone();
        with_scope.extend(scope());
        assert_eq!(
            begun(vec![doc! { "$match": text }]),
            [doc! { "$match": with_scope }],
            "a search for texts is the first stage"
        );
        assert_eq!(
            begun(vec![doc! { "$geoNear": { "near": [1, 2] } }]),
            [doc! { "$geoNear": { "near": [1, 2], "query": scope() } }]
        );
        let search = doc! { "$search": { "text": 1 } };
        assert_eq!(begun(vec![search.clone()]), [search, own.clone()]);
        // No stage of these is taken by a server, and none of them passes without the scope.
        for stage in [
            doc! { "$match": 1 },
            doc! { "$geoNear": 1 },
            doc! { "$changeStream": {} },
        ] {
            assert_eq!(begun(vec![stage.clone()]), [own.clone(), stage]);
        }
    }
}
