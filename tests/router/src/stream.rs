//! Change streams over the shards: one of the backing server over all databases, from which the events of the shards are taken. Their
//! `documentKey` has the fields of the shard key before `_id`.

use crate::catalog::{PRIMARY, SCRATCH, SHARDS, database};
use crate::cursor::Cursor;
use crate::moves::is_of_move;
use crate::reply::{Answer, Failure, NO_BEFORE_IMAGE, count, documents, is_ok, renamed, text};
use crate::request::Request;
use crate::shared::Shared;
use crate::statement::Cx;
use crate::wire::Backing;
use bson::{Bson, Document, doc};
use std::io;

/// A change stream that the router keeps open.
#[derive(Debug)]
pub(crate) struct Stream {
    /// The cursor of the backing server.
    id: i64,
    /// The application's database.
    database: String,
    /// The collection, of a stream of one.
    collection: Option<String>,
}

/// Whether a change stream concerns sharded collections, or what the router itself writes.
pub(crate) fn is_own(shared: &Shared, request: &Request) -> bool {
    let has_before = || {
        let stages = documents(&request.command(), "pipeline");
        let first = stages
            .first()
            .and_then(|first| first.get_document("$changeStream").ok());
        first.is_some_and(|options| options.contains_key("fullDocumentBeforeChange"))
    };
    let concerns = match &request.collection {
        Some(collection) => shared
            .sharded(&format!("{}.{collection}", request.database))
            .is_some(),
        None => shared.catalog().databases().contains(&request.database) || request.database == "admin",
    };
    concerns || (shared.needs_enabling() && has_before())
}

/// Opens a change stream.
pub(crate) async fn open(cx: &mut Cx<'_>, request: &Request, mut command: Document) -> Answer {
    let mut stages = documents(&command, "pipeline");
    let mut options = stages
        .first()
        .and_then(|first| first.get_document("$changeStream").ok())
        .cloned()
        .unwrap_or_default();
    if cx.shared.needs_enabling() && options.contains_key("fullDocumentBeforeChange") {
        return NO_BEFORE_IMAGE
            .refuse("the 'fullDocumentBeforeChange' option is not supported in a sharded cluster");
    }
    let is_of_cluster = request.database == "admin" && request.collection.is_none();
    options.insert("allChangesForCluster", true);
    let mut condition = doc! { "ns.coll": { "$not": { "$regex": format!("^{SCRATCH}") } } };
    if !is_of_cluster {
        let databases = (0..SHARDS.len()).map(|shard| database(&cx.database, shard));
        condition.insert("ns.db", doc! { "$in": Vec::from_iter(databases) });
    }
    if let Some(collection) = &request.collection {
        condition.insert("ns.coll", doc! { "$in": [Bson::from(collection), Bson::Null] });
    }
    let mut pipeline = vec![doc! { "$changeStream": options }, doc! { "$match": condition }];
    pipeline.extend(stages.drain(1..));
    command.insert("aggregate", 1);
    command.insert("pipeline", pipeline);
    let reply = cx.backing.run("admin", command).await?;
    if !is_ok(&reply) {
        return Err(Failure::Refused(reply));
    }
    let stream = Stream {
        id: 0,
        database: cx.database.clone(),
        collection: request.collection.clone(),
    };
    let id = cx.shared.cursors.next_id();
    continued(cx, id, stream, reply, "firstBatch")
}

/// The next events of a change stream.
pub(crate) async fn get_more(cx: &mut Cx<'_>, id: i64, stream: Stream, mut command: Document) -> Answer {
    command.insert("getMore", stream.id);
    command.insert("collection", "$cmd.aggregate");
    let reply = cx.backing.run("admin", command).await?;
    if !is_ok(&reply) {
        return Err(Failure::Refused(reply));
    }
    continued(cx, id, stream, reply, "nextBatch")
}

/// The reply of the backing server as one of the router, which keeps the stream under its id.
fn continued(cx: &mut Cx<'_>, id: i64, mut stream: Stream, mut reply: Document, batch: &str) -> Answer {
    let cursor = reply.get_document("cursor").cloned().unwrap_or_default();
    let mut events = Vec::new();
    let mut is_invalid = false;
    for event in documents(&cursor, batch) {
        let Some(event) = stream.event(cx.shared, event) else {
            continue;
        };
        let ends = match &stream.collection {
            Some(_) => matches!(
                event.get_str("operationType"),
                Ok("drop" | "rename" | "dropDatabase")
            ),
            None => text(&event, "operationType") == "dropDatabase" && stream.database != "admin",
        };
        let invalid = ends.then(|| invalidation(&event));
        events.push(event);
        if let Some(invalid) = invalid {
            events.push(invalid);
            is_invalid = true;
            break;
        }
    }
    stream.id = count(&cursor, "id");
    let namespace = format!(
        "{}.{}",
        stream.database,
        stream.collection.as_deref().unwrap_or("$cmd.aggregate")
    );
    let is_open = stream.id != 0 && !is_invalid;
    if is_open {
        cx.shared.cursors.put_back(id, Cursor::Stream(stream));
    }
    let mut answered = doc! { batch: events };
    if let Some(token) = cursor.get("postBatchResumeToken") {
        answered.insert("postBatchResumeToken", token.clone());
    }
    answered.insert("id", if is_open { id } else { 0 });
    answered.insert("ns", namespace);
    reply.insert("cursor", answered);
    Ok(reply)
}

fn invalidation(event: &Document) -> Document {
    let mut invalid =
        doc! { "_id": event.get("_id").cloned().unwrap_or(Bson::Null), "operationType": "invalidate" };
    for name in ["clusterTime", "wallTime"] {
        invalid.extend(event.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    invalid
}

impl Stream {
    /// An event as `mongos` gives it; `None` for one of a shard alone.
    fn event(&self, shared: &Shared, event: Document) -> Option<Document> {
        if is_of_move(&event) {
            return None;
        }
        let Ok(named) = event.get_document("ns").cloned() else {
            return Some(event);
        };
        let stored = named.get_str("db").unwrap_or_default().to_owned();
        let application = match shared.catalog().databases_of_shards().remove(&stored) {
            Some(application) => Some(application),
            None if stored.starts_with("odm_router_") => return None,
            None => None,
        };
        let shard = if application.is_some() { 1 } else { PRIMARY };
        let kind = event.get_str("operationType").unwrap_or_default().to_owned();
        let is_of_documents = matches!(kind.as_str(), "insert" | "update" | "replace" | "delete");
        if shard != PRIMARY && !is_of_documents {
            return None;
        }
        // A database that is dropped has no collection.
        if named.get("coll").is_none() && kind != "dropDatabase" {
            return None;
        }
        let namespace = format!(
            "{}.{}",
            application.as_deref().unwrap_or(&stored),
            named.get_str("coll").unwrap_or_default()
        );
        let mut event = event;
        if is_of_documents {
            with_key(shared, &namespace, shard, &mut event);
        }
        if let Some(application) = application
            && let Ok(named) = event.get_document_mut("ns")
        {
            *named = renamed(std::mem::take(named), &stored, &application);
        }
        Some(event)
    }

    /// Ends the stream on the backing server.
    pub(crate) async fn kill(&self, backing: &mut Backing) -> io::Result<()> {
        let kill = doc! { "killCursors": "$cmd.aggregate", "cursors": [self.id] };
        backing.run("admin", kill).await?;
        Ok(())
    }
}

/// Puts the fields of the shard key before `_id` in the key of an event.
fn with_key(shared: &Shared, namespace: &str, shard: usize, event: &mut Document) {
    let Ok(document_key) = event.get_document("documentKey").cloned() else {
        return;
    };
    let mut catalog = shared.catalog();
    let (Some(sharded), Some(id)) = (catalog.get(namespace), document_key.get("_id").cloned()) else {
        return;
    };
    let of_document = event
        .get_document("fullDocument")
        .ok()
        .and_then(|document| Some(sharded.key.named(&sharded.key.values(document)?)));
    let Some(contents) = catalog.contents(namespace) else {
        return;
    };
    let is_insert = text(event, "operationType") == "insert";
    let known = contents.key_of(shard, &id).cloned();
    let key = if is_insert {
        of_document.or(known)
    } else {
        known.or(of_document)
    };
    let Some(mut key) = key else { return };
    if !key.contains_key("_id") {
        key.insert("_id", id);
    }
    event.insert("documentKey", key);
}
