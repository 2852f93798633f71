//! The state of the database: collections, indexes, and the documents that violate a change.

use super::index::Index;
use super::validator::Current;
use super::values::{integer, plural};
use crate::Result;
use crate::store::retry::read;
use futures::TryStreamExt;
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::SelectionCriteria;
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
    /// Of a unique index: what to do where the value that they share is `null`, as which a missing field counts.
    pub reason: Option<String>,
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plural(self.count, "existing document"))?;
        for (i, id) in self.sample.iter().enumerate() {
            write!(f, "{}{id}", if i == 0 { ", among them _id " } else { ", " })?;
        }
        match &self.reason {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
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
    Ok(rows_of(db, &command)
        .await?
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
    match rows_of(db, &doc! { "listIndexes": collection, "cursor": {} }).await {
        Ok(indexes) => Ok(indexes),
        Err(e) if code(&e) == Some(26) => Ok(Vec::new()),
        Err(e) => Err(e.into()),
    }
}

/// The documents that these rules don't allow: one round trip, which reads the collection.
pub(super) async fn unfit(db: &Database, collection: &str, rules: &Document) -> Result<Option<Violations>> {
    let pipeline = vec![
        doc! { "$match": { "$nor": [rules.clone()] } },
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
    let reply = one_row(db, command).await?;
    let violations = reply.as_ref().and_then(violations);
    Ok(violations.map(|found| Violations {
        reason: reply.as_ref().and_then(|reply| shared_null(reply, index)),
        ..found
    }))
}

/// Advice about documents that share `null` in a unique index.
fn shared_null(reply: &Document, index: &Index) -> Option<String> {
    let row = rows(reply, "null").next()?;
    let number = |name| row.get(name).and_then(integer).unwrap_or_default().max(0) as u64;
    let (all, lacking) = (number("n"), number("lacking"));
    if all == 0 {
        return None;
    }
    let name = index.paths.first().map_or("field", String::as_str);
    let fields: Vec<String> = index.paths.iter().map(|path| format!("`{path}`")).collect();
    let fields = fields.join(", ");
    let lack = |n: u64| match n {
        1 => "1 lacks".to_owned(),
        n => format!("{n} lack"),
    };
    let store = |n: u64| match n {
        1 => "1 stores `null`".to_owned(),
        n => format!("{n} store `null`"),
    };
    let above_null = format!("`partial = |p| p.{name}.gt(…)`, with the least value of its type");
    Some(match (lacking, all - lacking.min(all)) {
        (0, nulls) => format!(
            "they share `null` in {fields} ({}), which a unique index allows once. Store nothing for `None` \
             (`#[field(skip_none)]`) and declare the index `sparse`, or leave `null` out of it: \
             {above_null}",
            store(nulls)
        ),
        (lacking, 0) => format!(
            "they share `null` in {fields} ({} the field, which counts as `null`), which a unique index allows once. Leave such documents \
             out of it: declare it `sparse`, or `partial = |p| p.{name}.exists(true)`",
            lack(lacking)
        ),
        (lacking, nulls) => format!(
            "they share `null` in {fields} ({} the field, which counts as `null`, and {}), which a unique index allows once. Leave both out \
             of it: {above_null}; `sparse` leaves out those that lack the field",
            lack(lacking),
            store(nulls)
        ),
    })
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
    let lacks: Vec<Document> = index
        .paths
        .iter()
        .map(|path| doc! { "$eq": [{ "$type": format!("${path}") }, "missing"] })
        .collect();
    keys.insert("lacks", doc! { "$or": lacks });
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
    stages.push(doc! { "$group": { "_id": { "key": key, "id": "$_id" }, "lacks": { "$max": "$lacks" } } });
    stages.push(doc! { "$group": {
        "_id": "$_id.key", "n": { "$sum": 1 }, "first": { "$min": "$_id.id" }, "last": { "$max": "$_id.id" },
        "lacking": { "$sum": { "$cond": ["$lacks", 1, 0] } },
    } });
    stages.push(doc! { "$match": { "n": { "$gt": 1 } } });
    let nulls: Vec<Document> = values
        .iter()
        .map(|key| doc! { format!("_id.{key}"): null })
        .collect();
    stages.push(doc! { "$facet": {
        "count": [{ "$group": { "_id": null, "n": { "$sum": "$n" } } }],
        "null": [
            { "$match": { "$or": nulls } },
            { "$group": { "_id": null, "n": { "$sum": "$n" }, "lacking": { "$sum": "$lacking" } } },
        ],
        "sample": [
            { "$limit": SAMPLE }, { "$project": { "_id": ["$first", "$last"] } },
            { "$unwind": "$_id" }, { "$limit": SAMPLE },
        ],
    } });
    stages
}

async fn counted(db: &Database, command: Document) -> Result<Option<Violations>> {
    Ok(one_row(db, command).await?.as_ref().and_then(violations))
}

async fn one_row(db: &Database, command: Document) -> Result<Option<Document>> {
    Ok(rows_of(db, &command).await?.into_iter().next())
}

/// All documents of the reply to a command that reads.
pub(super) async fn rows_of(db: &Database, command: &Document) -> mongodb::error::Result<Vec<Document>> {
    read(|| async { db.run_cursor_command(command.clone()).await?.try_collect().await }).await
}

/// The same of one of the members.
pub(super) async fn rows_from(
    db: &Database,
    command: &Document,
    member: &SelectionCriteria,
) -> mongodb::error::Result<Vec<Document>> {
    let send = || async {
        let sent = db.run_cursor_command(command.clone());
        sent.selection_criteria(member.clone()).await?.try_collect().await
    };
    read(send).await
}

/// The documents in one of the results of a `$facet`.
fn rows<'r>(reply: &'r Document, name: &str) -> impl Iterator<Item = &'r Document> {
    let rows = reply.get_array(name).into_iter().flatten();
    rows.filter_map(Bson::as_document)
}

fn violations(reply: &Document) -> Option<Violations> {
    let count = rows(reply, "count")
        .filter_map(|row| row.get("n").and_then(integer))
        .sum::<i64>();
    let mut sample: Vec<Bson> = Vec::new();
    for id in rows(reply, "sample").filter_map(|row| row.get("_id")) {
        if !sample.contains(id) {
            sample.push(id.clone());
        }
    }
    (count > 0).then_some(Violations {
        count: count.max(0) as u64,
        sample,
        reason: None,
    })
}
