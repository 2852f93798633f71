//! What the database holds: collections, indexes, and the documents that a change would not allow.

use super::index::Index;
use super::integer;
use super::validator::Current;
use crate::Result;
use futures::TryStreamExt;
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};
use std::collections::HashMap;
use std::fmt;

/// How many documents' ids are given as examples.
const SAMPLE: i32 = 5;

/// Existing documents that a change would not allow.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Violations {
    /// How many there are.
    pub count: u64,
    /// The ids of a few of them.
    pub sample: Vec<Bson>,
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::plural(self.count, "existing document"))?;
        for (i, id) in self.sample.iter().enumerate() {
            write!(f, "{}{id}", if i == 0 { ", among them _id " } else { ", " })?;
        }
        Ok(())
    }
}

/// The server's code of a command's failure.
pub(super) fn code(error: &mongodb::error::Error) -> Option<i32> {
    match error.kind.as_ref() {
        mongodb::error::ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}

/// All collections of the database by name, or the one of this name: one round trip.
pub(super) async fn collections(db: &Database, only: Option<&str>) -> Result<HashMap<String, Current>> {
    let mut command = doc! { "listCollections": 1, "cursor": {} };
    if let Some(name) = only {
        command.insert("filter", doc! { "name": name });
    }
    let listed: Vec<Document> = db.run_cursor_command(command).await?.try_collect().await?;
    Ok(listed
        .iter()
        .filter_map(|collection| {
            Some((
                collection.get_str("name").ok()?.to_owned(),
                Current::read(collection),
            ))
        })
        .collect())
}

/// The indexes of a collection; none of a collection that does not exist. One round trip.
pub(crate) async fn indexes(db: &Database, collection: &str) -> Result<Vec<Document>> {
    match db
        .run_cursor_command(doc! { "listIndexes": collection, "cursor": {} })
        .await
    {
        Ok(cursor) => Ok(cursor.try_collect().await?),
        Err(e) if code(&e) == Some(26) => Ok(Vec::new()),
        Err(e) => Err(e.into()),
    }
}

/// The documents that a validator does not allow: one round trip, which reads the collection.
pub(super) async fn unfit(
    db: &Database,
    collection: &str,
    validator: &Document,
) -> Result<Option<Violations>> {
    let pipeline = vec![
        doc! { "$match": { "$nor": [validator.clone()] } },
        doc! { "$facet": {
            "count": [{ "$count": "n" }],
            "sample": [{ "$limit": SAMPLE }, { "$project": { "_id": 1 } }],
        } },
    ];
    counted(
        db,
        doc! { "aggregate": collection, "pipeline": pipeline, "cursor": {}, "allowDiskUse": true },
    )
    .await
}

/// The documents that share the values of a unique index with another document: one round trip, which reads the
/// collection. As for the index, each item of an array counts, a missing field counts as `null`, and what is not in a
/// sparse or partial index does not count. A document that shares several of its items is counted for each of them.
pub(super) async fn duplicates(db: &Database, collection: &str, index: &Index) -> Result<Option<Violations>> {
    let mut command = doc! {
        "aggregate": collection,
        "pipeline": duplicates_pipeline(index),
        "cursor": {},
        "allowDiskUse": true,
    };
    if let Some(collation) = &index.collation {
        command.insert("collation", collation.clone());
    }
    counted(db, command).await
}

fn duplicates_pipeline(index: &Index) -> Vec<Document> {
    let mut stages = Vec::new();
    if let Some(filter) = &index.partial {
        stages.push(doc! { "$match": filter.clone() });
    }
    if index.sparse {
        let any: Vec<Document> = index
            .paths
            .iter()
            .map(|path| doc! { path: { "$exists": true } })
            .collect();
        stages.push(doc! { "$match": { "$or": any } });
    }
    // Through every array on the way to the fields, the outermost first, and each once.
    let mut unwound = Vec::new();
    for path in &index.paths {
        for (dot, _) in path.match_indices('.') {
            let parent = &path[..dot];
            if !unwound.contains(&parent) {
                unwound.push(parent);
                let array = format!("${parent}");
                stages.push(doc! { "$unwind": { "path": array, "preserveNullAndEmptyArrays": true } });
            }
        }
    }
    // An empty array is a value of its own, different from a missing field.
    let mut keys = Document::new();
    let mut values = Vec::new();
    for (i, path) in index.paths.iter().enumerate() {
        let (key, field) = (format!("k{i}"), format!("${path}"));
        let empty = doc! { "$literal": [{ "odm": "an empty array" }] };
        keys.insert(
            &key,
            doc! { "$cond": [{ "$eq": [&field, []] }, empty, { "$ifNull": [&field, null] }] },
        );
        values.push(key);
    }
    stages.push(doc! { "$project": keys });
    for key in &values {
        stages.push(doc! { "$unwind": { "path": format!("${key}"), "preserveNullAndEmptyArrays": true } });
    }
    let key: Document = values
        .iter()
        .map(|key| (key.clone(), Bson::from(format!("${key}"))))
        .collect();
    // Once for each document, then over all of them.
    stages.push(doc! { "$group": { "_id": { "key": key, "id": "$_id" } } });
    stages.push(doc! { "$group": {
        "_id": "$_id.key", "n": { "$sum": 1 }, "first": { "$min": "$_id.id" }, "last": { "$max": "$_id.id" },
    } });
    stages.push(doc! { "$match": { "n": { "$gt": 1 } } });
    stages.push(doc! { "$facet": {
        "count": [{ "$group": { "_id": null, "n": { "$sum": "$n" } } }],
        "sample": [
            { "$limit": SAMPLE }, { "$project": { "_id": ["$first", "$last"] } },
            { "$unwind": "$_id" }, { "$limit": SAMPLE },
        ],
    } });
    stages
}

async fn counted(db: &Database, command: Document) -> Result<Option<Violations>> {
    let reply: Vec<Document> = db.run_cursor_command(command).await?.try_collect().await?;
    let Some(reply) = reply.first() else {
        return Ok(None);
    };
    let rows = |name| {
        reply
            .get_array(name)
            .into_iter()
            .flatten()
            .filter_map(Bson::as_document)
    };
    let count = rows("count")
        .filter_map(|row| row.get("n").and_then(integer))
        .sum::<i64>();
    let mut sample: Vec<Bson> = Vec::new();
    for id in rows("sample").filter_map(|row| row.get("_id")) {
        if !sample.contains(id) {
            sample.push(id.clone());
        }
    }
    Ok((count > 0).then_some(Violations {
        count: count.max(0) as u64,
        sample,
    }))
}
