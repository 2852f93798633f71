//! Writes of sharded collections: which shard gets each statement, in which order they are sent, and the reply for all of them.

mod batch;
mod delete;
mod insert;
mod modify;
mod rekey;
mod update;

pub(crate) use batch::Batch;
pub(crate) use update::check as check_update;

use crate::catalog::Sharded;
use crate::key::is_collatable;
use crate::reply::{Answer, Failure, SHARD_KEY_NOT_FOUND, WRITE_CONFLICT};
use crate::request::Request;
use crate::statement::{Cx, Kind};
use bson::{Bson, Document};

/// Executes a write.
pub(crate) async fn execute(cx: &mut Cx<'_>, request: &Request, command: Document) -> Answer {
    let namespace = request.namespace().unwrap_or_default();
    let Some(sharded) = cx.shared.sharded(&namespace) else {
        return cx.send(0, Kind::Write, command).await;
    };
    if matches!(request.name.as_str(), "findAndModify" | "findandmodify") {
        return modify::execute(cx, &namespace, &sharded, command).await;
    }
    let mut batch = Batch::of(&namespace, command)?;
    run(cx, &sharded, &mut batch).await?;
    Ok(batch.reply())
}

/// Executes the statements of a batch.
pub(crate) async fn run(cx: &mut Cx<'_>, sharded: &Sharded, batch: &mut Batch) -> Answer<()> {
    match batch.kind() {
        "insert" => insert::execute(cx, sharded, batch).await,
        "update" => update::execute(cx, sharded, batch).await,
        _ => delete::execute(cx, sharded, batch).await,
    }
}

/// The shard for a document that is about to be written, whose key is kept for change streams.
pub(crate) fn place(cx: &Cx<'_>, namespace: &str, values: &[Bson], id: Option<&Bson>) -> usize {
    let mut catalog = cx.shared.catalog();
    let shard = catalog.place(namespace, values);
    let key = catalog.get(namespace).map(|sharded| sharded.key.named(values));
    if let (Some(id), Some(key), Some(contents)) = (id, key, catalog.contents(namespace)) {
        contents.note(shard, id, key);
    }
    shard
}

/// The error of a statement.
type Refusal = Document;

/// Refuses a key whose shard a collation leaves open.
fn check_collation(
    namespace: &str,
    sharded: &Sharded,
    values: &[Bson],
    has_collation: bool,
) -> Result<(), Refusal> {
    let fields = sharded.key.fields.iter().zip(values);
    match fields
        .into_iter()
        .find(|(_, value)| has_collation && is_collatable(value))
    {
        Some((field, _)) => Err(SHARD_KEY_NOT_FOUND.of_statement(format!(
            "Cannot target single shard due to collation of key {} for namespace {namespace}",
            field.path
        ))),
        None => Ok(()),
    }
}

/// Ends a transaction that writes in a chunk which has moved since it began.
fn check_moves(cx: &Cx<'_>, sharded: &Sharded, filter: &Document, has_collation: bool) -> Answer<()> {
    match cx.since() {
        Some(since) if sharded.has_moved(filter, has_collation, since) => Err(Failure::Refused(WRITE_CONFLICT.transient(
            "Encountered error from a shard during a transaction :: caused by :: WriteConflict error: this operation conflicted with \
             another operation. Please retry your operation or multi-document transaction.",
        ))),
        _ => Ok(()),
    }
}
