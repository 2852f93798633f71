//! Updates that may change a shard key: executed in a transaction, in which the documents are compared before and after. A document
//! whose key belongs to another shard is deleted on its own and inserted on that one.

use super::update::replacement;
use super::{Batch, Refusal, place};
use crate::catalog::{Sharded, collection_of};
use crate::key::{ShardKey, overlap, value_at};
use crate::order::{compare, lists};
use crate::reply::{
    Answer, Failure, ILLEGAL_OPERATION, INVALID_OPTIONS, KEY_CHANGE, NO_SUCH_TRANSACTION,
    SHARD_KEY_NOT_FOUND, WRITE_CONFLICT, count, documents, is_ok, is_set,
};
use crate::shared::Repeated;
use crate::statement::{Cx, Kind, Session};
use crate::transaction::lock;
use bson::{Bson, Document, doc};
use std::time::Duration;

/// How often a write waits for the transaction of another that has written the document.
const ATTEMPTS: u32 = 2_000;

/// Whether a change can leave a document with another key than the filter demands, as far as the change alone tells.
pub(super) fn may_change(key: &ShardKey, exact: Option<&[Bson]>, filter: &Document, change: &Bson) -> bool {
    let is_same = |path: &str, value: &Bson| {
        let at = key.fields.iter().position(|field| field.path == path);
        at.zip(exact)
            .is_some_and(|(at, exact)| compare(&exact[at], value).is_eq())
    };
    let concerns = |path: &str| key.fields.iter().any(|field| overlap(&field.path, path));
    let sets = |fields: &Document| {
        fields
            .iter()
            .any(|(path, value)| concerns(path) && !is_same(path, value))
    };
    if let Some(document) = replacement(change) {
        let mut document = document.clone();
        if let (None, Some(id)) = (document.get("_id"), value_at(filter, "_id")) {
            document.insert("_id", id.clone());
        }
        return match (key.values(&document), exact) {
            (Some(values), Some(exact)) => lists(&values, exact).is_ne(),
            _ => true,
        };
    }
    match change {
        Bson::Document(operators) => {
            operators
                .iter()
                .any(|(operator, fields)| match (operator.as_str(), fields) {
                    ("$set" | "$setOnInsert", Bson::Document(fields)) => sets(fields),
                    ("$rename", Bson::Document(fields)) => fields
                        .iter()
                        .any(|(from, to)| concerns(from) || to.as_str().is_some_and(concerns)),
                    (_, Bson::Document(fields)) => fields.keys().any(|path| concerns(path)),
                    _ => false,
                })
        }
        Bson::Array(stages) => stages.iter().filter_map(Bson::as_document).any(|stage| {
            stage.iter().any(|(name, body)| match (name.as_str(), body) {
                ("$set" | "$addFields", Bson::Document(fields)) => fields.keys().any(|path| concerns(path)),
                ("$unset", Bson::String(path)) => concerns(path),
                ("$unset", Bson::Array(paths)) => paths.iter().filter_map(Bson::as_str).any(concerns),
                _ => true,
            })
        }),
        _ => false,
    }
}

/// What the documents of a write were before it.
struct Before {
    id: Bson,
    values: Option<Vec<Bson>>,
}

/// The rules for a change of the key of one write.
struct Rules {
    /// Whether the filter demands the whole key.
    is_exact: bool,
    is_multi: bool,
    /// In a transaction, or as a write that may be sent again.
    is_allowed: bool,
    is_alone: bool,
}

impl Rules {
    /// Why the key of a document may not become another.
    fn refusal(&self) -> Option<Refusal> {
        if self.is_multi || !self.is_exact {
            let message =
                "Shard key update is not allowed without specifying the full shard key in the query";
            return Some(KEY_CHANGE.of_statement(message));
        }
        let message =
            "Must run update to shard key field in a multi-statement transaction or with retryWrites: true.";
        (!self.is_allowed).then(|| ILLEGAL_OPERATION.of_statement(message))
    }
}

/// The session and the number of a write that may be sent again, with its position.
fn repeated(cx: &Cx<'_>, position: usize) -> Option<Repeated> {
    match &cx.session {
        Session::Retryable(session, number) => {
            Some((session.to_vec().unwrap_or_default(), *number, position))
        }
        _ => None,
    }
}

/// Executes one update of a batch. Gives the reply of a command with this update alone.
pub(super) async fn update(
    cx: &mut Cx<'_>,
    sharded: &Sharded,
    batch: &Batch,
    position: usize,
    shards: &[usize],
) -> Answer {
    let update = batch.statements[position].clone();
    let filter = update.get_document("q").cloned().unwrap_or_default();
    let rules = Rules {
        is_exact: sharded.key.exact(&filter).is_some(),
        is_multi: is_set(&update, "multi"),
        is_allowed: cx.may_change_keys(),
        is_alone: batch.statements.len() == 1,
    };
    let write = Write {
        namespace: &batch.namespace,
        sharded,
        rules,
        filter,
        statement: &update,
        batch: Some(batch),
        shards,
    };
    let repeated = repeated(cx, batch.first + position);
    write.in_transaction(cx, repeated).await
}

/// Executes a `findAndModify` on a shard.
pub(super) async fn modify(
    cx: &mut Cx<'_>,
    namespace: &str,
    sharded: &Sharded,
    command: Document,
    shard: usize,
) -> Answer {
    let rules = Rules {
        is_exact: true,
        is_multi: false,
        is_allowed: cx.may_change_keys(),
        is_alone: true,
    };
    let write = Write {
        namespace,
        sharded,
        rules,
        filter: command.get_document("query").cloned().unwrap_or_default(),
        statement: &command,
        batch: None,
        shards: &[shard],
    };
    let repeated = repeated(cx, 0);
    let reply = write.in_transaction(cx, repeated).await?;
    match documents(&reply, "writeErrors").into_iter().next() {
        Some(mut error) => {
            error.insert("ok", 0.0);
            Err(Failure::Refused(error))
        }
        None => Ok(reply),
    }
}

/// One write that may change keys.
struct Write<'w> {
    namespace: &'w str,
    sharded: &'w Sharded,
    rules: Rules,
    filter: Document,
    statement: &'w Document,
    /// The batch of an update; none of a `findAndModify`.
    batch: Option<&'w Batch>,
    shards: &'w [usize],
}

impl Write<'_> {
    /// Runs the write in the transaction of the application, or in one of the router's own, which waits for those of others.
    async fn in_transaction(&self, cx: &mut Cx<'_>, repeated: Option<Repeated>) -> Answer {
        if cx.is_in_transaction() {
            return self.execute(cx).await;
        }
        if let Some(reply) = repeated
            .as_ref()
            .and_then(|write| lock(&cx.shared.key_changes).get(write).cloned())
        {
            return Ok(reply);
        }
        let mut attempt = 0;
        let reply = loop {
            attempt += 1;
            let before = cx.begin_own();
            let outcome = self.execute(cx).await;
            let is_written = outcome
                .as_ref()
                .is_ok_and(|reply| is_ok(reply) && !reply.contains_key("writeErrors"));
            let failed = cx.end_own(before, is_written).await?;
            let reply = match (outcome, failed) {
                (Err(Failure::Io(error)), _) => return Err(error.into()),
                (_, Some(reply)) | (Ok(reply) | Err(Failure::Refused(reply)), None) => reply,
            };
            let has_met = |error: &Document| WRITE_CONFLICT.is(error) || NO_SUCH_TRANSACTION.is(error);
            let must_wait = has_met(&reply) || documents(&reply, "writeErrors").iter().any(has_met);
            if attempt == ATTEMPTS || !must_wait {
                break reply;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        if let Some(write) = repeated.filter(|_| is_ok(&reply)) {
            lock(&cx.shared.key_changes).insert(write, reply.clone());
        }
        if is_ok(&reply) {
            Ok(reply)
        } else {
            Err(Failure::Refused(reply))
        }
    }

    async fn execute(&self, cx: &mut Cx<'_>) -> Answer {
        let mut all = doc! { "n": 0, "nModified": 0, "ok": 1.0 };
        for shard in self.shards {
            let Some(batch) = self.batch else {
                return self.modify(cx, *shard).await;
            };
            let reply = self.update(cx, batch, *shard).await?;
            if !is_ok(&reply) || reply.contains_key("writeErrors") || reply.contains_key("upserted") {
                return Ok(reply);
            }
            for name in ["n", "nModified"] {
                all.insert(name, count(&all, name) + count(&reply, name));
            }
        }
        Ok(all)
    }

    /// The documents that the write would change.
    async fn before(&self, cx: &mut Cx<'_>, shard: usize) -> Answer<Vec<Before>> {
        let mut find = doc! { "find": collection_of(self.namespace), "filter": &self.filter };
        for name in ["collation", "sort", "hint", "let"] {
            find.extend(
                self.statement
                    .get(name)
                    .map(|value| (name.to_owned(), value.clone())),
            );
        }
        if !self.rules.is_multi {
            find.insert("limit", 1);
        }
        let found = cx.read_all(shard, find).await?;
        let before = |document: Document| Before {
            id: document.get("_id").cloned().unwrap_or(Bson::Null),
            values: self.sharded.key.values(&document),
        };
        Ok(found.into_iter().map(before).collect())
    }

    /// The filter that names the document which was found.
    fn of_one(&self, before: &Before) -> Document {
        doc! { "$and": [{ "_id": before.id.clone() }, self.filter.clone()] }
    }

    async fn update(&self, cx: &mut Cx<'_>, batch: &Batch, shard: usize) -> Answer {
        let before = self.before(cx, shard).await?;
        let is_upsert = is_set(self.statement, "upsert");
        if before.is_empty() && !is_upsert {
            return Ok(doc! { "n": 0, "nModified": 0, "ok": 1.0 });
        }
        let mut statement = self.statement.clone();
        if let ([one], false) = (&before[..], self.rules.is_multi) {
            statement.insert("q", self.of_one(one));
            statement.remove("sort");
        }
        let reply = cx
            .send(shard, Kind::Write, batch.command(vec![statement]))
            .await?;
        if reply.contains_key("writeErrors") {
            return Ok(reply);
        }
        if let Some(inserted) = documents(&reply, "upserted").into_iter().next() {
            let id = inserted.get("_id").cloned().unwrap_or(Bson::Null);
            return Ok(self
                .follow(cx, shard, vec![Before { id, values: None }], true)
                .await?
                .unwrap_or(reply));
        }
        Ok(self.follow(cx, shard, before, false).await?.unwrap_or(reply))
    }

    async fn modify(&self, cx: &mut Cx<'_>, shard: usize) -> Answer {
        let before = self.before(cx, shard).await?;
        let mut command = self.statement.clone();
        if let [one] = &before[..] {
            command.insert("query", self.of_one(one));
            command.remove("sort");
        }
        let reply = cx.send(shard, Kind::Write, command).await?;
        let inserted = reply
            .get_document("lastErrorObject")
            .ok()
            .and_then(|of| of.get("upserted"))
            .cloned();
        if let Some(id) = inserted {
            return Ok(self
                .follow(cx, shard, vec![Before { id, values: None }], true)
                .await?
                .unwrap_or(reply));
        }
        Ok(self.follow(cx, shard, before, false).await?.unwrap_or(reply))
    }

    /// Compares the keys after the write with those before it, and moves a document whose key belongs to another shard. Gives the
    /// reply of a write that may not have changed them.
    async fn follow(
        &self,
        cx: &mut Cx<'_>,
        shard: usize,
        before: Vec<Before>,
        is_insert: bool,
    ) -> Answer<Option<Document>> {
        let refused = |error: Refusal| {
            let mut with_index = doc! { "index": 0 };
            with_index.extend(error);
            Ok(Some(
                doc! { "n": 0, "nModified": 0, "writeErrors": [with_index], "ok": 1.0 },
            ))
        };
        let ids: Vec<_> = before.iter().map(|before| before.id.clone()).collect();
        let find = doc! { "find": collection_of(self.namespace), "filter": { "_id": { "$in": ids } } };
        for document in cx.read_all(shard, find).await? {
            let id = document.get("_id").cloned().unwrap_or(Bson::Null);
            let Some(values) = self.sharded.key.values(&document) else {
                let message = "Shard key cannot contain array values or array descendants.";
                return refused(SHARD_KEY_NOT_FOUND.of_statement(message));
            };
            let was = before.iter().find(|before| compare(&before.id, &id).is_eq());
            let is_same = was
                .and_then(|was| was.values.as_ref())
                .is_some_and(|was| lists(was, &values).is_eq());
            if is_same {
                continue;
            }
            if let Some(error) = self.rules.refusal().filter(|_| !is_insert) {
                return refused(error);
            }
            let to = place(cx, self.namespace, &values, Some(&id));
            if to == shard {
                continue;
            }
            if !self.rules.is_alone {
                return refused(INVALID_OPTIONS.of_statement(
                    "Document shard key value updates that cause the doc to move shards must be sent with write batch of size 1",
                ));
            }
            let collection = collection_of(self.namespace);
            let delete = doc! { "delete": collection, "deletes": [{ "q": { "_id": id }, "limit": 1 }] };
            cx.send(shard, Kind::Write, delete).await?;
            let insert = doc! { "insert": collection, "documents": [document] };
            let reply = cx.send(to, Kind::Write, insert).await?;
            if let Some(error) = documents(&reply, "writeErrors").into_iter().next() {
                return refused(error);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::bson;

    #[test]
    fn a_change_of_the_key_is_told_by_what_it_sets() {
        let Ok(key) = ShardKey::parse(&doc! { "tenant": 1, "_id": 1 }) else {
            panic!("a key")
        };
        let filter = doc! { "tenant": "a", "_id": 1 };
        let exact = key.exact(&filter);
        let may = |change: Bson| may_change(&key, exact.as_deref(), &filter, &change);
        for change in [
            bson!({ "$set": { "x": 1 } }),
            bson!({ "$set": { "tenant": "a", "x": 1 } }),
            bson!({ "tenant": "a", "x": 1 }),
            bson!([{ "$set": { "x": 1 } }, { "$unset": "y" }]),
        ] {
            assert!(!may(change.clone()), "{change}");
        }
        for change in [
            bson!({ "$set": { "tenant": "b" } }),
            bson!({ "$unset": { "tenant": 1 } }),
            bson!({ "$rename": { "x": "tenant" } }),
            bson!({ "tenant": "b", "x": 1 }),
            bson!({ "x": 1 }),
            bson!([{ "$replaceWith": "$x" }]),
            bson!([{ "$unset": ["x", "tenant"] }]),
        ] {
            assert!(may(change.clone()), "{change}");
        }
        assert!(may_change(
            &key,
            None,
            &doc! { "_id": 1 },
            &bson!({ "$set": { "tenant": "a" } })
        ));
        assert!(!may_change(
            &key,
            None,
            &doc! { "_id": 1 },
            &bson!({ "$inc": { "x": 1 } })
        ));
    }
}
