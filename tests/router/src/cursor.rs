//! Cursors: the router's own, whose documents it holds, and those of a shard, by the ids that the backing server gave them.

use crate::reply::{Answer, CURSOR_NOT_FOUND, count, documents, is_set};
use crate::request::Request;
use crate::statement::{Cx, Kind};
use crate::stream::Stream;
use crate::transaction::lock;
use bson::{Bson, Document, doc};
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

/// How many documents the first batch has, unless the command says so.
const FIRST_BATCH: usize = 101;

/// The most bytes of the documents of a batch.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// A cursor that is not at its end.
#[derive(Debug)]
pub(crate) enum Cursor {
    /// The router holds the documents.
    Held {
        namespace: String,
        rest: VecDeque<Document>,
    },
    /// A shard holds them.
    OfShard { shard: usize },
    /// A change stream over the shards.
    Stream(Stream),
}

/// The cursors of a router.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    open: Mutex<HashMap<i64, Cursor>>,
    last: AtomicI64,
}

impl Cursors {
    /// A reply with the first batch of these documents.
    pub(crate) fn reply(
        &self,
        namespace: &str,
        documents: Vec<Document>,
        batch: Option<usize>,
        is_single: bool,
    ) -> Document {
        let mut rest = VecDeque::from(documents);
        let first = batch_of(&mut rest, batch.unwrap_or(FIRST_BATCH));
        let id = match rest.is_empty() || is_single {
            true => 0,
            false => {
                let id = self.next_id();
                self.put_back(
                    id,
                    Cursor::Held {
                        namespace: namespace.to_owned(),
                        rest,
                    },
                );
                id
            }
        };
        doc! { "cursor": { "firstBatch": first, "id": id, "ns": namespace }, "ok": 1.0 }
    }

    /// An id that no other cursor has: negative, as those of servers are not.
    pub(crate) fn next_id(&self) -> i64 {
        -1 - self.last.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps which shard has a cursor.
    pub(crate) fn keep(&self, reply: &Document, shard: usize) {
        let id = reply
            .get_document("cursor")
            .map_or(0, |cursor| count(cursor, "id"));
        if id != 0 {
            lock(&self.open).insert(id, Cursor::OfShard { shard });
        }
    }

    pub(crate) fn take(&self, id: i64) -> Option<Cursor> {
        lock(&self.open).remove(&id)
    }

    pub(crate) fn has(&self, id: i64) -> bool {
        lock(&self.open).contains_key(&id)
    }

    pub(crate) fn put_back(&self, id: i64, cursor: Cursor) {
        lock(&self.open).insert(id, cursor);
    }
}

fn batch_of(rest: &mut VecDeque<Document>, most: usize) -> Vec<Document> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < most
        && let Some(next) = rest.pop_front()
    {
        bytes += next.to_vec().map_or(0, |encoded| encoded.len());
        if bytes > MOST_BYTES && !batch.is_empty() {
            rest.push_front(next);
            break;
        }
        batch.push(next);
    }
    batch
}

/// The size of a batch that a command asks for.
pub(crate) fn batch_size(options: &Document) -> Option<usize> {
    options
        .get("batchSize")
        .map(|_| usize::try_from(count(options, "batchSize")).unwrap_or(0))
}

/// Continues a cursor that the router has or knows the shard of.
pub(crate) async fn get_more(cx: &mut Cx<'_>, command: Document) -> Answer {
    let id = count(&command, "getMore");
    match cx.shared.cursors.take(id) {
        Some(Cursor::Held { namespace, mut rest }) => {
            let batch = batch_of(
                &mut rest,
                batch_size(&command)
                    .filter(|size| *size > 0)
                    .unwrap_or(usize::MAX),
            );
            let is_at_end = rest.is_empty();
            if !is_at_end {
                cx.shared.cursors.put_back(
                    id,
                    Cursor::Held {
                        namespace: namespace.clone(),
                        rest,
                    },
                );
            }
            let id = if is_at_end { 0 } else { id };
            Ok(doc! { "cursor": { "nextBatch": batch, "id": id, "ns": namespace }, "ok": 1.0 })
        }
        Some(Cursor::OfShard { shard }) => {
            let reply = cx.send(shard, Kind::Other, command).await?;
            cx.shared.cursors.keep(&reply, shard);
            Ok(reply)
        }
        Some(Cursor::Stream(stream)) => crate::stream::get_more(cx, id, stream, command).await,
        None => CURSOR_NOT_FOUND.refuse(format!("cursor id {id} not found")),
    }
}

/// Ends cursors, of the router and of shards.
pub(crate) async fn kill(cx: &mut Cx<'_>, command: Document) -> Answer {
    let collection = command.get_str("killCursors").unwrap_or_default().to_owned();
    let ids = command.get_array("cursors").cloned().unwrap_or_default();
    let (mut killed, mut unknown) = (Vec::new(), Vec::new());
    for id in ids {
        let number = crate::reply::integer(&id).unwrap_or(0);
        let shard = match cx.shared.cursors.take(number) {
            Some(Cursor::Held { .. }) => {
                killed.push(id);
                continue;
            }
            Some(Cursor::Stream(stream)) => {
                stream.kill(cx.backing).await?;
                killed.push(id);
                continue;
            }
            Some(Cursor::OfShard { shard }) => shard,
            None => 0,
        };
        let kill = doc! { "killCursors": &collection, "cursors": [id] };
        let reply = cx.send(shard, Kind::Other, kill).await?;
        killed.extend(reply.get_array("cursorsKilled").cloned().unwrap_or_default());
        unknown.extend(reply.get_array("cursorsNotFound").cloned().unwrap_or_default());
    }
    let none = Vec::<Bson>::new();
    Ok(
        doc! { "cursorsKilled": killed, "cursorsNotFound": unknown, "cursorsAlive": none.clone(), "cursorsUnknown": none, "ok": 1.0 },
    )
}

impl Cursors {
    /// The reply of a read that was executed without batches, with the batch that the command asks for.
    pub(crate) fn of_late(&self, request: &Request, command: &Document, reply: Document) -> Document {
        let options = match request.name.as_str() {
            "find" => command.clone(),
            "aggregate" => command.get_document("cursor").cloned().unwrap_or_default(),
            _ => return reply,
        };
        let Ok(cursor) = reply.get_document("cursor") else {
            return reply;
        };
        let found = documents(cursor, "firstBatch");
        if count(cursor, "id") != 0 || batch_size(&options).is_none_or(|most| found.len() <= most) {
            return reply;
        }
        let namespace = cursor.get_str("ns").unwrap_or_default();
        self.reply(
            namespace,
            found,
            batch_size(&options),
            is_set(&options, "singleBatch"),
        )
    }
}
