//! Copies of documents of several shards in a collection of the first one: the server executes there what a router can't merge. They
//! are made within a transaction: one of the router's own, which is aborted afterwards, or that of the application, which deletes the
//! copy.

use crate::catalog::SCRATCH;
use crate::reply::{Answer, documents};
use crate::statement::{Cx, Kind, Session};
use bson::oid::ObjectId;
use bson::{Document, doc};

/// How many bytes of documents are inserted at once.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// A name that no other collection has.
pub(super) fn name() -> String {
    format!("{SCRATCH}.{}", ObjectId::new().to_hex())
}

/// Copies what these pipelines give on their shards to a new collection of the first shard. With `wraps`, each document is a field
/// `d` of another one, so that an `_id` may stand on several shards.
pub(super) async fn copy(
    cx: &mut Cx<'_>,
    namespace: &str,
    sources: Vec<(usize, Vec<Document>)>,
    wraps: bool,
) -> Answer<String> {
    copy_under(cx, namespace, sources, wraps, None).await
}

/// The same under a collation.
pub(super) async fn copy_under(
    cx: &mut Cx<'_>,
    namespace: &str,
    sources: Vec<(usize, Vec<Document>)>,
    wraps: bool,
    collation: Option<&Document>,
) -> Answer<String> {
    let collection = crate::catalog::collection_of(namespace);
    let mut all = Vec::new();
    for (shard, pipeline) in sources {
        let mut read = doc! { "aggregate": collection, "pipeline": pipeline, "cursor": {} };
        read.extend(collation.map(|collation| ("collation".to_owned(), collation.into())));
        all.extend(cx.read_all(shard, read).await?);
    }
    of_documents(cx, all, wraps).await
}

/// Makes a collection of documents.
pub(super) async fn of_documents(cx: &mut Cx<'_>, mut all: Vec<Document>, wraps: bool) -> Answer<String> {
    let name = name();
    if wraps {
        let wrapped = |(n, document): (usize, Document)| doc! { "_id": n as i64, "d": document };
        all = all.into_iter().enumerate().map(wrapped).collect();
    }
    fill(cx, 0, &name, all).await?;
    let made = (cx.database.clone(), name.clone());
    match cx.transaction() {
        Some(transaction) => transaction.scratch.push(made),
        None => cx.scratch.push(made),
    }
    Ok(name)
}

/// Inserts documents into a collection of a shard.
pub(super) async fn fill(cx: &mut Cx<'_>, shard: usize, name: &str, all: Vec<Document>) -> Answer<()> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let mut rest = all.into_iter().peekable();
    while let Some(next) = rest.next() {
        bytes += next.to_vec().map_or(0, |encoded| encoded.len());
        batch.push(next);
        if bytes > MOST_BYTES || batch.len() == 10_000 || rest.peek().is_none() {
            let insert = doc! { "insert": name, "documents": std::mem::take(&mut batch), "bypassDocumentValidation": true };
            let reply = cx.send(shard, Kind::Other, insert).await?;
            if let Some(error) = documents(&reply, "writeErrors").into_iter().next() {
                let message = error.get_str("errmsg").unwrap_or_default();
                return crate::reply::NOT_IMPLEMENTED.refuse(format!(
                    "the router does not merge documents whose `_id` stands on several shards: {message}"
                ));
            }
            bytes = 0;
        }
    }
    Ok(())
}

/// Deletes a copy that was made in a transaction of the application, which goes on.
pub(super) async fn clear(cx: &mut Cx<'_>, name: &str) -> Answer<()> {
    if matches!(cx.session, Session::Transaction(_)) {
        let delete = doc! { "delete": name, "deletes": [{ "q": {}, "limit": 0 }] };
        cx.send(0, Kind::Other, delete).await?;
    }
    Ok(())
}
