//! `findAndModify`: by the whole shard key alone.

use super::{check_collation, check_moves, place, rekey};
use crate::catalog::Sharded;
use crate::read::has_collation;
use crate::reply::{Answer, Failure, SHARD_KEY_NOT_FOUND, is_set};
use crate::statement::{Cx, Kind};
use bson::{Bson, Document};

pub(super) async fn execute(
    cx: &mut Cx<'_>,
    namespace: &str,
    sharded: &Sharded,
    command: Document,
) -> Answer {
    let filter = command.get_document("query").cloned().unwrap_or_default();
    let has_collation = has_collation(&command, sharded.default_collation.as_ref());
    let Some(values) = sharded.key.exact(&filter) else {
        return SHARD_KEY_NOT_FOUND.refuse("Query for sharded findAndModify must contain the shard key");
    };
    if let Err(mut error) = check_collation(namespace, sharded, &values, has_collation) {
        error.insert("ok", 0.0);
        return Err(Failure::Refused(error));
    }
    check_moves(cx, sharded, &filter, has_collation)?;
    let shard = match is_set(&command, "upsert") {
        true => place(cx, namespace, &values, None),
        false => sharded.owner(&values),
    };
    cx.count(namespace, 1, "findAndModify", &filter);
    let change = command.get("update").cloned().unwrap_or(Bson::Null);
    if !is_set(&command, "remove") && rekey::may_change(&sharded.key, Some(&values), &filter, &change) {
        return rekey::modify(cx, namespace, sharded, command, shard).await;
    }
    cx.position = 0;
    let reply = cx.send(shard, Kind::Write, command).await?;
    if let Some(id) = reply
        .get_document("lastErrorObject")
        .ok()
        .and_then(|of| of.get("upserted"))
    {
        place(cx, namespace, &values, Some(id));
    }
    Ok(reply)
}
