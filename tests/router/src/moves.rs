//! Chunks that move to another shard, with their documents, and the documents that one leaves behind.

use crate::admin::{place_of, shard, sharded};
use crate::catalog::{SHARDS, collection_of, database_of};
use crate::ddl::copy_collection;
use crate::late::session;
use crate::order::Ordered;
use crate::reply::{Answer, BAD_VALUE, Failure, LOCK_TIMEOUT, is_ok};
use crate::shared::Shared;
use crate::statement::{Cx, Kind};
use crate::wire::Backing;
use bson::{Bson, Document, doc};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long a move waits for statements and transactions.
const WAITS: Duration = Duration::from_millis(500);

/// How many documents are moved at once.
const AT_ONCE: usize = 1_000;

/// The sessions of moves end with this, so that change streams leave their events out.
const OF_MOVES: &[u8; 8] = b"odm-move";

/// Whether an event of a change stream comes from a move.
pub(crate) fn is_of_move(event: &Document) -> bool {
    let id = event.get_document("lsid").ok().and_then(|lsid| lsid.get("id"));
    matches!(id, Some(Bson::Binary(id)) if id.bytes.ends_with(OF_MOVES))
}

/// Executes `moveChunk` or `moveRange`.
pub(crate) async fn execute(cx: &mut Cx<'_>, namespace: &str, command: &Document) -> Answer {
    let shared = cx.shared.clone();
    let sharded = sharded(&shared, namespace)?;
    let to = command
        .get_str("to")
        .or_else(|_| command.get_str("toShard"))
        .unwrap_or_default();
    let to = shard(to)?;
    let place = if let Ok(find) = command.get_document("find") {
        place_of(&sharded, find, false)?
    } else if let Ok([Bson::Document(min), _]) = command.get_array("bounds").map(Vec::as_slice) {
        place_of(&sharded, min, true)?
    } else if let Ok(min) = command.get_document("min") {
        place_of(&sharded, min, true)?
    } else {
        return BAD_VALUE.refuse("need to specify find or bounds");
    };
    move_place(&shared, cx.backing, namespace, &place, to).await?;
    Ok(doc! { "ok": 1.0 })
}

/// Moves the chunk that holds these values of the key.
pub(crate) async fn move_chunk(
    shared: &Arc<Shared>,
    backing: &mut Backing,
    namespace: &str,
    values: &[Bson],
    to: usize,
) -> Answer<()> {
    let place = sharded(shared, namespace)?.key.place(values);
    move_place(shared, backing, namespace, &place, to).await
}

async fn move_place(
    shared: &Arc<Shared>,
    backing: &mut Backing,
    namespace: &str,
    place: &[Bson],
    to: usize,
) -> Answer<()> {
    if sharded(shared, namespace)?.chunk_of(place).1.shard == to {
        return Ok(());
    }
    let locked = || {
        LOCK_TIMEOUT.refuse(format!(
            "Unable to acquire S lock on '{{Collection, {namespace}}}' within {}ms. opId: 0, op: MoveChunk, connId: 0.",
            WAITS.as_millis()
        ))
    };
    let until = Instant::now() + WAITS;
    let _placement = loop {
        let Ok(placement) = timeout(WAITS, shared.placement.write()).await else {
            return locked();
        };
        if !shared.transactions.is_touched(namespace) {
            break placement;
        }
        drop(placement);
        if Instant::now() > until {
            return locked();
        }
        sleep(Duration::from_millis(10)).await;
    };
    let sharded = sharded(shared, namespace)?;
    let (min, chunk) = sharded.chunk_of(place);
    let (from, min) = (chunk.shard, min.to_vec());
    let end = sharded.end_of_chunk(place).map(<[Bson]>::to_vec);
    let mut cx = Cx::of_router(shared, backing, database_of(namespace), move_session());
    copy_collection(&mut cx, namespace, from, to).await?;
    let holds = |document: &Document| {
        let Some(values) = sharded.key.values(document) else {
            return false;
        };
        let place = Ordered(sharded.key.place(&values));
        place >= Ordered(min.clone()) && end.clone().is_none_or(|end| place < Ordered(end))
    };
    let collection = collection_of(namespace);
    let mut documents = cx
        .read_all(from, doc! { "find": collection, "filter": {} })
        .await?;
    let (orphans_from, orphans_to) = {
        let mut catalog = shared.catalog();
        let orphans = catalog
            .contents(namespace)
            .map(|contents| contents.orphans.clone())
            .unwrap_or_default();
        (orphans[from].clone(), orphans[to].clone())
    };
    documents.retain(|document| {
        holds(document) && document.get("_id").is_none_or(|id| !orphans_from.contains(id))
    });
    let ids: Vec<Bson> = documents
        .iter()
        .filter_map(|document| document.get("_id").cloned())
        .collect();
    let leaves_orphans = shared.control.leaves_orphans.load(Ordering::SeqCst);
    // Documents that an earlier move has left there are in the way.
    cx.begin_move();
    let moved = async {
        if !orphans_to.is_empty() {
            let delete = doc! { "delete": collection, "deletes": [{ "q": { "_id": { "$in": orphans_to } }, "limit": 0 }] };
            cx.send(to, Kind::Other, delete).await?;
        }
        for documents in documents.chunks(AT_ONCE) {
            let insert = doc! { "insert": collection, "documents": documents.to_vec(), "bypassDocumentValidation": true };
            let reply = cx.send(to, Kind::Other, insert).await?;
            if reply.contains_key("writeErrors") {
                return Err(Failure::Refused(LOCK_TIMEOUT.reply(format!("the chunk can't be inserted: {reply}"))));
            }
        }
        for ids in ids.chunks(AT_ONCE).filter(|_| !leaves_orphans) {
            let delete = doc! { "delete": collection, "deletes": [{ "q": { "_id": { "$in": ids.to_vec() } }, "limit": 0 }] };
            cx.send(from, Kind::Other, delete).await?;
        }
        Ok(())
    }
    .await;
    if let Some(failed) = cx.end_move(moved.is_ok()).await?.filter(|reply| !is_ok(reply)) {
        return Err(Failure::Refused(failed));
    }
    moved?;
    let mut catalog = shared.catalog();
    let version = catalog.version + 1;
    catalog.change(namespace, |sharded| sharded.assign(&min, to, version));
    if let Some(contents) = catalog.contents(namespace) {
        contents.orphans[to].clear();
        for document in &documents {
            if let (Some(id), Some(values)) = (document.get("_id"), sharded.key.values(document)) {
                contents.note(to, id, sharded.key.named(&values));
            }
        }
        if leaves_orphans {
            contents.orphans[from].extend(ids);
        }
    }
    Ok(())
}

/// Deletes what moved chunks have left behind.
pub(crate) async fn clean(shared: &Arc<Shared>, backing: &mut Backing) -> Answer<()> {
    let namespaces: Vec<String> = shared
        .catalog()
        .collections()
        .map(|(namespace, _)| namespace.clone())
        .collect();
    for namespace in namespaces {
        for shard in 0..SHARDS.len() {
            let orphans = {
                let mut catalog = shared.catalog();
                catalog
                    .contents(&namespace)
                    .map(|contents| std::mem::take(&mut contents.orphans[shard]))
            };
            let Some(orphans) = orphans.filter(|orphans| !orphans.is_empty()) else {
                continue;
            };
            let mut cx = Cx::of_router(shared, backing, database_of(&namespace), move_session());
            cx.begin_move();
            let delete = doc! { "delete": collection_of(&namespace), "deletes": [{ "q": { "_id": { "$in": orphans } }, "limit": 0 }] };
            cx.send(shard, Kind::Other, delete).await?;
            cx.end_move(true).await?;
        }
    }
    Ok(())
}

/// A session by which the events of a move are told.
fn move_session() -> Document {
    let mut session = session();
    if let Some(Bson::Binary(id)) = session.get_mut("id") {
        let at = id.bytes.len() - OF_MOVES.len();
        id.bytes[at..].copy_from_slice(OF_MOVES);
    }
    session
}
