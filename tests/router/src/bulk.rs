//! The `bulkWrite` command: its operations one after the other, each as the insert, update or delete that it is.

use crate::catalog::{collection_of, database_of};
use crate::reply::{Answer, BAD_VALUE, COMMAND_NOT_FOUND, Failure, count, documents, is_ok, is_set};
use crate::request::Request;
use crate::shared::Shared;
use crate::statement::{Cx, Kind};
use crate::write::{self, Batch};
use bson::{Bson, Document, doc};

/// Whether a bulk concerns sharded collections, or the router plays one that has no such command.
pub(crate) fn is_own(shared: &Shared, request: &Request) -> bool {
    if !shared.has_bulk_write() {
        return true;
    }
    if shared.catalog().databases().is_empty() {
        return false;
    }
    let names = documents(&request.command(), "nsInfo");
    names
        .iter()
        .filter_map(|info| info.get_str("ns").ok())
        .any(|namespace| shared.sharded(namespace).is_some())
}

/// What the reply says of all operations.
#[derive(Default)]
struct Summary {
    results: Vec<Document>,
    errors: i32,
    inserted: i32,
    matched: i32,
    modified: i32,
    upserted: i32,
    deleted: i32,
}

/// Executes a bulk.
pub(crate) async fn execute(cx: &mut Cx<'_>, command: Document) -> Answer {
    if !cx.shared.has_bulk_write() {
        return COMMAND_NOT_FOUND.refuse("no such cmd: bulkWrite");
    }
    let namespaces: Vec<String> = documents(&command, "nsInfo")
        .iter()
        .filter_map(|info| info.get_str("ns").ok().map(str::to_owned))
        .collect();
    let is_ordered = command.get_bool("ordered").unwrap_or(true);
    let errors_only = is_set(&command, "errorsOnly");
    let mut summary = Summary::default();
    for (index, operation) in documents(&command, "ops").into_iter().enumerate() {
        let (kind, number) = operation
            .iter()
            .next()
            .map(|(kind, of)| (kind.clone(), of.clone()))
            .unwrap_or_default();
        let namespace =
            crate::reply::integer(&number).and_then(|number| namespaces.get(usize::try_from(number).ok()?));
        let Some(namespace) = namespace else {
            return BAD_VALUE.refuse(format!("BulkWrite ops entry {index} has an invalid nsInfo index"));
        };
        let reply = one(
            cx,
            namespace,
            &command,
            single(namespace, &kind, operation),
            index,
        )
        .await?;
        summary.add(index, &kind, reply);
        if is_ordered && summary.errors > 0 {
            break;
        }
    }
    let results = summary
        .results
        .into_iter()
        .filter(|result| !errors_only || !is_ok(result));
    Ok(doc! {
        "cursor": { "id": 0_i64, "firstBatch": Vec::from_iter(results), "ns": "admin.$cmd.bulkWrite" },
        "nErrors": summary.errors,
        "nInserted": summary.inserted,
        "nMatched": summary.matched,
        "nModified": summary.modified,
        "nUpserted": summary.upserted,
        "nDeleted": summary.deleted,
        "ok": 1.0,
    })
}

/// The command of one operation.
fn single(namespace: &str, kind: &str, mut operation: Document) -> Document {
    let collection = collection_of(namespace);
    operation.remove(kind);
    if kind == "insert" {
        let document = operation.get_document("document").cloned().unwrap_or_default();
        return doc! { "insert": collection, "documents": [document] };
    }
    let mut statement = doc! { "q": operation.remove("filter").unwrap_or(Bson::Null) };
    let is_multi = operation.get_bool("multi").unwrap_or(false);
    if kind == "delete" {
        operation.remove("multi");
        statement.insert("limit", i32::from(!is_multi));
        statement.extend(operation);
        return doc! { "delete": collection, "deletes": [statement] };
    }
    for (from, to) in [("updateMods", "u"), ("constants", "c")] {
        statement.extend(operation.remove(from).map(|value| (to.to_owned(), value)));
    }
    statement.extend(operation);
    doc! { "update": collection, "updates": [statement] }
}

/// Executes an operation. Gives the reply of a command with it alone.
async fn one(
    cx: &mut Cx<'_>,
    namespace: &str,
    bulk: &Document,
    mut command: Document,
    index: usize,
) -> Answer {
    for name in [
        "bypassDocumentValidation",
        "let",
        "comment",
        "writeConcern",
        "maxTimeMS",
    ] {
        command.extend(bulk.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    database_of(namespace).clone_into(&mut cx.database);
    cx.touch(namespace);
    let Some(sharded) = cx.shared.sharded(namespace) else {
        cx.position = index;
        let reply = cx.exchange(0, Kind::Write, command).await?;
        if !is_ok(&reply) && cx.is_in_transaction() {
            return Err(Failure::Refused(reply));
        }
        return Ok(reply);
    };
    let mut batch = Batch::of(namespace, command)?;
    batch.first = index;
    write::run(cx, &sharded, &mut batch).await?;
    Ok(batch.reply())
}

impl Summary {
    fn add(&mut self, index: usize, kind: &str, reply: Document) {
        let failed = match is_ok(&reply) {
            true => documents(&reply, "writeErrors").into_iter().next(),
            false => Some(reply.clone()),
        };
        let mut result = doc! { "ok": if failed.is_some() { 0.0 } else { 1.0 }, "idx": index as i32 };
        let n = count(&reply, "n") as i32;
        if let Some(error) = &failed {
            self.errors += 1;
            for name in ["code", "errmsg", "errInfo", "keyPattern", "keyValue"] {
                result.extend(error.get(name).map(|value| (name.to_owned(), value.clone())));
            }
        }
        result.insert("n", n);
        match kind {
            "insert" => self.inserted += n,
            "delete" => self.deleted += n,
            _ => {
                result.insert("nModified", count(&reply, "nModified") as i32);
                self.modified += count(&reply, "nModified") as i32;
                match documents(&reply, "upserted").into_iter().next() {
                    Some(mut upserted) => {
                        upserted.remove("index");
                        result.insert("upserted", upserted);
                        self.upserted += 1;
                    }
                    None => self.matched += n,
                }
            }
        }
        self.results.push(result);
    }
}
