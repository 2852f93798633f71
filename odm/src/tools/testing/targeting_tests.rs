use super::*;
use crate::model::compare::{compare, same};
use proptest::prelude::*;

/// How a statement is routed: `1 value`, `part` of the key with the first field that is not known, or `all` shards with the
/// reason; and the refusal with its code.
fn shown(statement: &Statement) -> String {
    let mut text = match &statement.routing {
        Routing::Targeted { points } => format!("{points} value"),
        Routing::Partial { unknown } => format!("part {unknown}"),
        Routing::Broadcast { unknown, because } => match because {
            Because::NotNamed => format!("all {unknown}"),
            Because::Collation => format!("all {unknown} collated"),
            Because::Stage => "all stage".to_owned(),
        },
    };
    if let Some(refusal) = &statement.refusal {
        let code = refusal
            .code()
            .map_or_else(|| "no code".to_owned(), |code| code.to_string());
        let refusal = format!("{refusal:?}");
        let refusal = refusal.replace(['(', ')'], " ").replace('"', "");
        text += &format!(", {code} {}", refusal.trim());
    }
    text
}

fn command(json: &str) -> Document {
    serde_json::from_str(json).expect("a command")
}

/// The collections of the replies.
fn keys() -> ShardKeys {
    let by_tenant = || ShardKey::new([("tenant", false), ("_id", false)]);
    let keys = [
        ("r", by_tenant()),
        ("s", by_tenant()),
        ("w", by_tenant()),
        ("h", ShardKey::new([("k", true)])),
        ("i", ShardKey::new([("_id", false)])),
        ("ih", ShardKey::new([("_id", true)])),
        ("u", ShardKey::new([("email", false)])),
        ("valid", ShardKey::new([("a", false)])),
    ];
    keys.map(|(name, key)| (name.to_owned(), key)).into()
}
/// Commands to a `mongos` 4.9 with two shards, each with its name in `mongos-4.9.json` and how its statements are routed here. The codes
/// 61, 72, 263 and 28769 are those that it answered, but for `SeveralShards`: the values of that statement lay on one shard.
const TAKEN_AND_REFUSED: &str = r#"
1 value, no code LacksField tenant | {"insert": "r", "documents": [{"_id": 1000, "x": 1}]} | insert without the shard key
1 value, 61 Array tenant | {"insert": "r", "documents": [{"_id": 1001, "tenant": ["a", "b"]}]} | insert with an array in the shard key
1 value; 1 value | {"insert": "r", "documents": [{"_id": 1002, "tenant": "a"}, {"_id": 1003, "tenant": "z"}]} | insert of many, to both shards
1 value; 1 value; 1 value | {"insert": "r", "documents": [{"_id": 1004, "tenant": "a"}, {"_id": 1002, "tenant": "a"}, {"_id": 1005, "tenant": "z"}]} | insert of many, ordered, with a duplicate
1 value; 1 value; 1 value | {"insert": "r", "ordered": false, "documents": [{"_id": 1002, "tenant": "a"}, {"_id": 1003, "tenant": "z"}, {"_id": 1006, "tenant": "a"}]} | insert of many, unordered, with duplicates on both shards
1 value | {"insert": "r", "documents": [{"_id": 1002, "tenant": "z", "twin": true}]} | insert of an _id that another shard has
all tenant | {"find": "r", "filter": {"_id": 1002}} | find by an _id that two shards have
all tenant | {"update": "r", "updates": [{"q": {"_id": 1002}, "u": {"$set": {"y": 1}}}]} | update by an _id that two shards have
all tenant | {"delete": "r", "deletes": [{"q": {"_id": 1002}, "limit": 1}]} | delete by an _id that two shards have
1 value; 1 value | {"insert": "u", "documents": [{"_id": 1, "email": "a"}, {"_id": 2, "email": "a"}]} | insert of a duplicate of a unique shard key
1 value | {"insert": "valid", "documents": [{"_id": 1, "a": "x"}]} | insert against a validator
all tenant | {"update": "r", "updates": [{"q": {"_id": 1}, "u": {"$set": {"y": 1}}}]} | update by _id
all tenant | {"update": "r", "updates": [{"q": {"_id": 99999}, "u": {"$set": {"y": 1}}}]} | update by _id, none there
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 1}, "u": {"$set": {"y": 1}}}]} | update by the full key
part _id, 72 SeveralShards _id | {"update": "r", "updates": [{"q": {"tenant": "a"}, "u": {"$set": {"y": 1}}}]} | update by a prefix of the key
part _id, 72 SeveralShards _id | {"update": "r", "updates": [{"q": {"tenant": "a", "x": 1}, "u": {"$set": {"y": 1}}}]} | update by a prefix of the key and another field
all tenant, 72 OneShard tenant | {"update": "r", "updates": [{"q": {"x": 1}, "u": {"$set": {"y": 1}}}]} | update by another field
all tenant | {"update": "r", "updates": [{"q": {"_id": {"$in": [1]}}, "u": {"$set": {"y": 2}}}]} | update by { _id: { $in: [one] } }
all tenant, 72 OneShard tenant | {"update": "r", "updates": [{"q": {"$and": [{"_id": {"$eq": 1}}, {"_id": 1}]}, "u": {"$set": {"y": 3}}}]} | update by _id given twice, ranged
all k, 72 OneShard k | {"update": "h", "updates": [{"q": {"$and": [{"_id": {"$eq": 1}}, {"_id": 1}]}, "u": {"$set": {"y": 3}}}]} | update by _id given twice, hashed
all tenant | {"update": "r", "updates": [{"q": {"_id": 1}, "u": {"$set": {"y": 1}}, "collation": {"locale": "en", "strength": 2}}]} | update by _id with a collation
all tenant, 72 OneShard tenant | {"update": "r", "updates": [{"q": {"_id": "a"}, "u": {"$set": {"y": 1}}, "collation": {"locale": "en", "strength": 2}}]} | update by a text _id with a collation
all tenant | {"update": "r", "updates": [{"q": {"x": 1}, "u": {"$set": {"y": 1}}, "multi": true}]} | update many by another field
part _id | {"update": "r", "updates": [{"q": {"tenant": "a"}, "u": {"$set": {"y": 1}}, "multi": true}]} | update many by the tenant
all tenant | {"update": "r", "updates": [{"q": {"_id": 1}, "u": [{"$set": {"y": {"$add": ["$x", 1]}}}]}]} | update by a pipeline and _id
1 value | {"update": "r", "updates": [{"q": {"_id": 1}, "u": {"_id": 1, "tenant": "a", "x": 9}}]} | replace by _id, with the key in the replacement
1 value, no code LacksField tenant | {"update": "r", "updates": [{"q": {"_id": 1}, "u": {"_id": 1, "x": 9}}]} | replace by _id, without the key in the replacement
1 value | {"update": "r", "updates": [{"q": {"_id": 1}, "u": {"_id": 1, "tenant": "z", "x": 9}}]} | replace by _id, with another key in the replacement
1 value | {"update": "h", "updates": [{"q": {"_id": 1}, "u": {"_id": 1, "k": 1, "x": 9}}]} | replace by _id, hashed, with the key in the replacement
all tenant, 61 WholeKey tenant | {"update": "r", "updates": [{"q": {"_id": 5000}, "u": {"$set": {"y": 1}}, "upsert": true}]} | upsert by _id
all tenant, 61 WholeKey tenant | {"update": "r", "updates": [{"q": {"_id": 5000}, "u": {"$set": {"y": 1, "tenant": "a"}}, "upsert": true}]} | upsert by _id, the key in the change
all tenant, 61 WholeKey tenant | {"update": "r", "updates": [{"q": {"_id": 5000}, "u": {"$setOnInsert": {"tenant": "a"}}, "upsert": true}]} | upsert by _id, the key in $setOnInsert
all tenant, 61 WholeKey tenant | {"update": "r", "updates": [{"q": {"_id": 2}, "u": {"$set": {"y": 1}}, "upsert": true}]} | upsert by _id of an existing document
all tenant, 61 WholeKey tenant | {"update": "r", "updates": [{"q": {"_id": 5001}, "u": {"_id": 5001, "tenant": "a"}, "upsert": true}]} | upsert by _id by a replacement with the key
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 5002}, "u": {"$set": {"y": 1}}, "upsert": true}]} | upsert by the full key
part _id, 61 WholeKey _id | {"update": "r", "updates": [{"q": {"tenant": "a", "slug": "s"}, "u": {"$set": {"y": 1}}, "upsert": true}]} | upsert by a prefix of the key
1 value | {"update": "i", "updates": [{"q": {"_id": 5003}, "u": {"$set": {"y": 1}}, "upsert": true}]} | upsert by _id, sharded by _id
1 value | {"update": "ih", "updates": [{"q": {"_id": 5003}, "u": {"$set": {"y": 1}}, "upsert": true}]} | upsert by _id, sharded by _id hashed
1 value | {"update": "h", "updates": [{"q": {"k": 5004, "q": 1}, "u": {"$set": {"y": 1}}, "upsert": true}]} | upsert by the hashed key
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 5005}, "u": {"$set": {"y": 1}}, "upsert": true, "multi": true}]} | upsert many by the full key
all tenant, 61 WholeKey tenant | {"update": "r", "updates": [{"q": {"x": 77}, "u": {"$set": {"y": 1}}, "upsert": true, "multi": true}]} | upsert many by another field
all tenant | {"update": "r", "updates": [{"q": {"_id": 3, "x": {"$gt": 100}}, "u": {"$set": {"y": 1}}}]} | update on both shards, with a guard that none passes
all tenant, 72 OneShard tenant; all tenant | {"update": "r", "updates": [{"q": {"x": 1}, "u": {"$set": {"y": 1}}}, {"q": {"_id": 4}, "u": {"$set": {"y": 1}}}]} | two updates, ordered, the first refused
all tenant, 72 OneShard tenant; all tenant | {"update": "r", "ordered": false, "updates": [{"q": {"x": 1}, "u": {"$set": {"y": 1}}}, {"q": {"_id": 4}, "u": {"$set": {"y": 1}}}]} | two updates, unordered, the first refused
all tenant | {"delete": "r", "deletes": [{"q": {"_id": 10}, "limit": 1}]} | delete by _id
1 value | {"delete": "r", "deletes": [{"q": {"tenant": "a", "_id": 11}, "limit": 1}]} | delete by the full key
part _id, 61 KeyOrId _id | {"delete": "r", "deletes": [{"q": {"tenant": "a", "x": 2}, "limit": 1}]} | delete by a prefix of the key
all tenant, 61 KeyOrId tenant | {"delete": "r", "deletes": [{"q": {"x": 3}, "limit": 1}]} | delete by another field
all tenant | {"delete": "r", "deletes": [{"q": {"_id": {"$in": [12]}}, "limit": 1}]} | delete by { _id: { $in: [one] } }
all tenant, 61 KeyOrId tenant | {"delete": "r", "deletes": [{"q": {"$and": [{"_id": {"$in": [13]}}, {"_id": 13}]}, "limit": 1}]} | delete by _id given twice
1 value, 61 KeyOrId _id | {"delete": "i", "deletes": [{"q": {"$and": [{"_id": {"$in": [13]}}, {"_id": 13}]}, "limit": 1}]} | delete by _id given twice, sharded by _id
1 value | {"delete": "r", "deletes": [{"q": {"tenant": "a", "_id": 14, "$and": [{"tenant": {"$eq": "a"}}]}, "limit": 1}]} | delete by the full key, the prefix given twice
all tenant | {"delete": "r", "deletes": [{"q": {"x": 4}, "limit": 0}]} | delete many by another field
all tenant, 61 WholeKey tenant | {"findAndModify": "r", "query": {"_id": 1}, "update": {"$set": {"y": 1}}} | findAndModify by _id
1 value | {"findAndModify": "r", "query": {"tenant": "a", "_id": 1}, "update": {"$set": {"y": 1}}, "new": true} | findAndModify by the full key
part _id, 61 WholeKey _id | {"findAndModify": "r", "query": {"tenant": "a"}, "update": {"$set": {"y": 1}}} | findAndModify by a prefix of the key
part _id, 61 WholeKey _id | {"findAndModify": "r", "query": {"tenant": "a"}, "sort": {"x": -1}, "update": {"$set": {"y": 1}}} | findAndModify by a prefix of the key, sorted
1 value, 61 WholeKey tenant | {"findAndModify": "r", "query": {"tenant": "a", "_id": 2, "$and": [{"tenant": {"$eq": "a"}}]}, "update": {"$set": {"y": 1}}} | findAndModify by the full key, the prefix given twice
1 value, 61 WholeKey _id | {"findAndModify": "i", "query": {"$and": [{"_id": 1}, {"_id": 1}]}, "update": {"$set": {"y": 1}}} | findAndModify by _id, the key given twice
all tenant, 61 WholeKey tenant | {"findAndModify": "r", "query": {"x": 1}, "update": {"$set": {"y": 1}}} | findAndModify by another field
all tenant, 61 WholeKey tenant | {"findAndModify": "r", "query": {"_id": 3}, "remove": true} | findAndModify remove by _id
1 value | {"findAndModify": "r", "query": {"tenant": "a", "_id": 3}, "remove": true} | findAndModify remove by the full key
all tenant, 61 WholeKey tenant | {"findAndModify": "r", "query": {"_id": 6000}, "update": {"$set": {"y": 1}}, "upsert": true} | findAndModify upsert by _id
1 value | {"findAndModify": "r", "query": {"tenant": "a", "_id": 6001}, "update": {"$set": {"y": 1}}, "upsert": true, "new": true} | findAndModify upsert by the full key
1 value | {"findAndModify": "i", "query": {"_id": 1}, "update": {"$set": {"y": 1}}, "new": true} | findAndModify by _id, sharded by _id
1 value | {"findAndModify": "ih", "query": {"_id": 1}, "update": {"$set": {"y": 1}}, "new": true} | findAndModify by _id, sharded by _id hashed
1 value | {"findAndModify": "h", "query": {"k": 1, "x": 1}, "update": {"$set": {"y": 1}}, "new": true} | findAndModify by the hashed key, another field too
all k, 61 WholeKey k | {"findAndModify": "h", "query": {"_id": 1}, "update": {"$set": {"y": 1}}} | findAndModify by _id, hashed by another field
all tenant collated, 61 Collation tenant | {"findAndModify": "r", "query": {"tenant": "a", "_id": 1}, "update": {"$set": {"y": 1}}, "collation": {"locale": "en", "strength": 2}} | findAndModify by the full key with a collation
all tenant | {"update": "r", "updates": [{"q": {"_id": 1}, "u": {"$set": {"tenant": "z"}}}]} | change the key: by _id
all tenant | {"update": "r", "updates": [{"q": {"_id": 1}, "u": {"$set": {"tenant": "b"}}}]} | change the key: by _id, to the same shard
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 1}, "u": {"$set": {"tenant": "z"}}}]} | change the key: full key, no retryable write
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 1}, "u": {"$set": {"tenant": "b"}}}]} | change the key: full key, to the same shard, no retryable write
all tenant | {"find": "r", "filter": {"_id": 1}} | find it
1 value | {"findAndModify": "r", "query": {"tenant": "z", "_id": 1}, "update": {"$set": {"tenant": "a"}}, "new": true} | change the key back by findAndModify, retryable write
1 value | {"update": "r", "updates": [{"q": {"_id": 1}, "u": {"_id": 1, "tenant": "z"}}]} | change the key: by a replacement and _id, retryable write
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 1}, "u": {"_id": 1, "tenant": "z"}}]} | change the key: by a replacement and the full key, retryable write
1 value; 1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 2}, "u": {"$set": {"tenant": "z"}}}, {"q": {"tenant": "a", "_id": 4}, "u": {"$set": {"tenant": "z"}}}]} | change the key: two updates in one command, retryable write
1 value; 1 value | {"update": "r", "ordered": false, "updates": [{"q": {"tenant": "a", "_id": 2}, "u": {"$set": {"tenant": "z"}}}, {"q": {"tenant": "a", "_id": 4}, "u": {"$set": {"tenant": "z"}}}]} | change the key: two updates, unordered
all tenant | {"update": "r", "updates": [{"q": {"x": 1}, "u": {"$set": {"tenant": "z"}}, "multi": true}]} | change the key: update many
part _id | {"update": "r", "updates": [{"q": {"tenant": "a"}, "u": {"$set": {"tenant": "a"}}, "multi": true}]} | change the key: update many to the value that is there
all tenant | {"update": "r", "updates": [{"q": {"_id": 5}, "u": {"$set": {"tenant": "a", "y": 2}}}]} | set the key to the value that is there, by _id
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 5}, "u": {"$unset": {"tenant": 1}}}]} | unset the key: full key, retryable write
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 6}, "u": {"$set": {"_id": 777}}}]} | change _id: full key, retryable write
all k | {"update": "h", "updates": [{"q": {"_id": 1}, "u": {"$set": {"k": 50}}}]} | change the hashed key by _id
1 value | {"update": "h", "updates": [{"q": {"k": 1}, "u": {"$set": {"k": 50}}}]} | change the hashed key by the key
1 value | {"update": "h", "updates": [{"q": {"k": 2}, "u": {"$set": {"k": 51}}}]} | change the hashed key by the key, retryable write
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 7}, "u": {"$set": {"tenant": "z"}}, "upsert": true}]} | upsert that changes the key, retryable write
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 8}, "u": {"$set": {"tenant": "z"}}}]} | transaction: change the key, full key
all tenant | {"find": "r", "filter": {"_id": 8}} | transaction: find it
all tenant | {"update": "r", "updates": [{"q": {"_id": 9}, "u": {"$set": {"tenant": "z"}}}]} | transaction: change the key, by _id
all tenant | {"update": "r", "updates": [{"q": {"_id": 2}, "u": {"$set": {"y": 1}}}]} | update by _id without an index of the shard key
all tenant | {"update": "r", "updates": [{"q": {"_id": 3}, "u": {"$set": {"x": "text"}}}]} | update against it, on one shard of two
all tenant | {"update": "r", "updates": [{"q": {}, "u": {"$set": {"x": "text"}}, "multi": true}]} | update many against it
all tenant | {"find": "r", "filter": {}, "sort": {"_id": 1}} | find sorted over both shards, in batches
all tenant | {"distinct": "r", "key": "x", "query": {}} | distinct
all tenant | {"count": "r"} | count
part _id | {"count": "r", "query": {"tenant": "a"}} | count with a query
all tenant | {"count": "r", "query": {}, "hint": {"_id": 1}} | count with hint, with orphans
all tenant | {"aggregate": "r", "pipeline": [{"$count": "n"}]} | aggregate $count, with orphans
all tenant | {"aggregate": "r", "pipeline": [{"$group": {"_id": 1, "n": {"$sum": 1}}}]} | aggregate $group, with orphans
all stage | {"aggregate": "r", "pipeline": [{"$collStats": {"count": {}}}, {"$group": {"_id": 1, "n": {"$sum": "$count"}}}]} | aggregate $collStats count, with orphans
all tenant | {"find": "r", "filter": {"orphan": true}} | find, with orphans
all tenant | {"distinct": "r", "key": "orphan"} | distinct, with orphans
all tenant | {"update": "r", "updates": [{"q": {"orphan": true}, "u": {"$set": {"y": 1}}, "multi": true}]} | update many, with orphans
all tenant | {"delete": "r", "deletes": [{"q": {"orphan": true}, "limit": 0}]} | delete many, with orphans
all k, 28769 Joined | {"aggregate": "plain", "pipeline": [{"$match": {"_id": 1}}, {"$lookup": {"from": "h", "localField": "k", "foreignField": "_id", "as": "j"}}]} | $lookup from a sharded collection
1 value | {"aggregate": "h", "pipeline": [{"$match": {"k": 1}}, {"$lookup": {"from": "plain", "localField": "k", "foreignField": "_id", "as": "j"}}]} | $lookup of a sharded collection, from one that is not
1 value; all tenant, 28769 Joined | {"aggregate": "h", "pipeline": [{"$match": {"k": 1}}, {"$lookup": {"from": "r", "localField": "k", "foreignField": "_id", "as": "j"}}]} | $lookup between sharded collections
all k, 28769 Joined | {"aggregate": "plain", "pipeline": [{"$lookup": {"from": "h", "let": {"k": "$k"}, "pipeline": [{"$match": {"$expr": {"$eq": ["$_id", "$$k"]}}}], "as": "j"}}]} | $lookup with a pipeline from a sharded collection
all k, 28769 Joined | {"aggregate": "plain", "pipeline": [{"$facet": {"a": [{"$lookup": {"from": "h", "localField": "k", "foreignField": "_id", "as": "j"}}]}}]} | $facet with $lookup from a sharded collection
all k, 28769 Joined | {"aggregate": "plain", "pipeline": [{"$graphLookup": {"from": "h", "startWith": "$k", "connectFromField": "k", "connectToField": "_id", "as": "j"}}]} | $graphLookup from a sharded collection
1 value | {"aggregate": "h", "pipeline": [{"$match": {"k": 1}}, {"$graphLookup": {"from": "plain", "startWith": "$k", "connectFromField": "k", "connectToField": "_id", "as": "j", "maxDepth": 0}}]} | $graphLookup of a sharded collection
1 value | {"aggregate": "plain", "pipeline": [{"$match": {"_id": 1}}, {"$unionWith": {"coll": "h", "pipeline": [{"$match": {"k": 1}}]}}]} | $unionWith a sharded collection
1 value | {"aggregate": "h", "pipeline": [{"$match": {"k": 1}}, {"$unionWith": {"coll": "plain", "pipeline": [{"$match": {"_id": 1}}]}}]} | $unionWith of a sharded collection
all stage, 28769 Out | {"aggregate": "plain", "pipeline": [{"$out": "h"}]} | $out into a sharded collection
all k | {"aggregate": "h", "pipeline": [{"$match": {"k": {"$lt": 3}}}, {"$out": "outs"}]} | $out of a sharded collection
all tenant; all stage, 28769 Out | {"aggregate": "r", "pipeline": [{"$out": "h"}]} | $out into a sharded collection from a sharded one
1 value | {"aggregate": "plain", "pipeline": [{"$match": {"_id": {"$lt": 2}}}, {"$project": {"k": 1}}, {"$merge": {"into": "h"}}]} | $merge into a sharded collection, on the default
all stage, 61 MergedOn k | {"aggregate": "plain", "pipeline": [{"$match": {"_id": {"$lt": 2}}}, {"$project": {"k": 1}}, {"$merge": {"into": "h", "on": "_id"}}]} | $merge into a sharded collection, on _id
1 value | {"aggregate": "plain", "pipeline": [{"$match": {"_id": {"$lt": 2}}}, {"$project": {"k": 1}}, {"$merge": {"into": "h", "on": ["_id", "k"]}}]} | $merge into a sharded collection, on the key and _id
1 value | {"aggregate": "plain", "pipeline": [{"$match": {"_id": {"$lt": 2}}}, {"$project": {"r": 1}}, {"$merge": {"into": "h"}}]} | $merge into a sharded collection, without its key in the documents
all k | {"aggregate": "h", "pipeline": [{"$match": {"k": {"$lt": 2}}}, {"$merge": {"into": "merged"}}]} | $merge of a sharded collection
all k | {"aggregate": "h", "pipeline": [{"$match": {"k": {"$lt": 2}}}, {"$merge": {"into": "merged", "whenMatched": "fail"}}]} | $merge that fails
all tenant | {"aggregate": "r", "pipeline": [{"$sample": {"size": 1}}, {"$project": {"_id": 0, "tenant": 1}}, {"$group": {"_id": 1, "n": {"$sum": 1}}}]} | $sample
all stage | {"aggregate": "h", "pipeline": [{"$indexStats": {}}, {"$project": {"name": 1, "shard": 1, "_id": 0}}]} | $indexStats
all tenant | {"aggregate": "r", "pipeline": [{"$group": {"_id": "$x", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}]} | $group with allowDiskUse
1 value | {"explain": {"find": "r", "filter": {"tenant": "a", "_id": 1}}} | explain of a find
all tenant | {"explain": {"find": "r", "filter": {"_id": 1}}} | explain of a find on both shards
part _id | {"explain": {"aggregate": "r", "pipeline": [{"$match": {"tenant": "a"}}]}} | explain of an aggregate
all tenant, 72 OneShard tenant | {"explain": {"update": "r", "updates": [{"q": {"x": 1}, "u": {"$set": {"y": 1}}}]}} | explain of an update without the key
all tenant | {"update": "r", "updates": [{"q": {"_id": 1}, "u": {"$set": {"y": 5}}}]} | retryable update by _id, without the key
all tenant | {"delete": "r", "deletes": [{"q": {"_id": 98}, "limit": 1}]} | retryable delete by _id, without the key
part _id | {"update": "r", "updates": [{"q": {"tenant": "a"}, "u": {"$set": {"y": 5}}, "multi": true}]} | retryable update many
1 value; 1 value | {"insert": "r", "documents": [{"_id": 8000, "tenant": "a"}, {"_id": 8001, "tenant": "z"}]} | retryable insert to both shards
all tenant | {"update": "r", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"cnt": 1}}}]} | retryable update by _id, first time
all tenant | {"find": "r", "filter": {"_id": 1}, "projection": {"cnt": 1}} | … what it did
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 20}, "u": {"$set": {"y": 1}}}]} | transaction: first statement
1 value | {"update": "r", "updates": [{"q": {"tenant": "z", "_id": 80}, "u": {"$set": {"y": 1}}}]} | transaction: statement on the other shard
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 20}, "u": {"$set": {"y": 3}}}]} | transaction: conflict
1 value | {"findAndModify": "r", "query": {"tenant": "a", "_id": 20}, "update": {"$set": {"y": 13}}} | transaction: findAndModify conflict
all tenant | {"update": "r", "updates": [{"q": {"_id": 20}, "u": {"$set": {"y": 24}}}]} | update by _id meets a transaction, with maxTimeMS
1 value | {"insert": "r", "documents": [{"_id": 20, "tenant": "a"}]} | transaction: duplicate key
all tenant | {"update": "r", "updates": [{"q": {"_id": 20}, "u": {"$set": {"y": 9}}}]} | transaction: update by _id, without the key
all tenant | {"delete": "r", "deletes": [{"q": {"_id": 20}, "limit": 1}]} | transaction: delete by _id, without the key
all tenant, 72 OneShard tenant | {"update": "r", "updates": [{"q": {"x": 1}, "u": {"$set": {"y": 9}}}]} | transaction: update by another field
all tenant, 61 WholeKey tenant | {"findAndModify": "r", "query": {"_id": 20}, "update": {"$set": {"y": 9}}} | transaction: findAndModify by _id
all tenant, 61 WholeKey tenant | {"update": "r", "updates": [{"q": {"_id": 7777}, "u": {"$set": {"y": 9}}, "upsert": true}]} | transaction: upsert by _id
all tenant | {"count": "r", "query": {}} | transaction: count
all k, 28769 Joined | {"aggregate": "plain", "pipeline": [{"$lookup": {"from": "h", "localField": "k", "foreignField": "_id", "as": "j"}}]} | transaction: $lookup from a sharded collection
all tenant, 263 DistinctInTransaction | {"distinct": "r", "key": "x", "autocommit": false} | transaction: distinct of a sharded collection
all k | {"aggregate": "h", "pipeline": [{"$out": "o2"}]} | transaction: $out
all k | {"aggregate": "h", "pipeline": [{"$merge": "o2"}]} | transaction: $merge
all tenant | {"find": "r", "filter": {}} | transaction: getMore over two shards
all stage | {"aggregate": "r", "pipeline": [{"$changeStream": {"fullDocument": "updateLookup"}}]} | change stream: open
all stage | {"aggregate": "r", "pipeline": [{"$changeStream": {"resumeAfter": {"_data": "<hex>"}}}]} | change stream: resumed
all stage | {"aggregate": "r", "pipeline": [{"$changeStream": {"startAtOperationTime": "<timestamp>"}}]} | change stream: startAtOperationTime long ago
1 value; 1 value | {"insert": "r", "documents": [{"_id": 9501, "tenant": "a"}, {"_id": 9502, "tenant": "z"}]} | write concern that no shard fulfils, two shards
1 value | {"insert": "r", "documents": [{"_id": 9500, "tenant": "a"}]} | write concern that no shard fulfils, one shard
1 value | {"update": "r", "updates": [{"q": {"tenant": "a", "_id": 20}, "u": {"$set": {"y": 106}}}]} | moves: a transaction begins and writes
1 value | {"find": "r", "filter": {"tenant": "a", "_id": 20}} | moves: a statement of the transaction after it
1 value | {"find": "w", "filter": {"tenant": "a", "_id": 20}} | moves: another transaction begins and reads another collection
1 value | {"find": "s", "filter": {"tenant": "a", "_id": 20}} | moves: it reads in the moved chunk
1 value | {"update": "s", "updates": [{"q": {"tenant": "a", "_id": 20}, "u": {"$set": {"y": 1}}}]} | moves: it updates in the moved chunk
1 value | {"update": "w", "updates": [{"q": {"tenant": "a", "_id": 20}, "u": {"$set": {"y": 1}}}]} | moves: it updates what it has read
all tenant | {"update": "w", "updates": [{"q": {"_id": 20}, "u": {"$set": {"y": 2}}}]} | moves: a plain update by _id after the moves
"#;

#[test]
fn a_command_is_routed_and_refused_as_by_a_router() {
    let mut wrong = String::new();
    for line in TAKEN_AND_REFUSED.lines().filter(|line| !line.is_empty()) {
        let mut parts = line.splitn(2, " | ");
        let (expected, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (json, name) = rest.rsplit_once(" | ").expect("a name");
        let found: Vec<String> = statements(&command(json), &keys()).iter().map(shown).collect();
        let found = found.join("; ");
        if found != expected {
            wrong += &format!("{found} | {json} | {name}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The key of a stored document: null where it lacks a field.
fn key_of(key: &ShardKey, document: &Document) -> Vec<Bson> {
    let value = |path: &str| value_at(document, path).expect("no array").cloned();
    let fields = key.fields.iter();
    fields
        .map(|field| value(&field.path).unwrap_or(Bson::Null))
        .collect()
}

/// The values at a path, those of an array at its end included.
fn at<'d>(document: &'d Document, path: &str) -> Vec<&'d Bson> {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    match document.get(name) {
        Some(Bson::Document(inner)) if !rest.is_empty() => at(inner, rest),
        Some(Bson::Array(items)) if rest.is_empty() => {
            let whole = document.get(name);
            items.iter().chain(whole).collect()
        }
        Some(value) if rest.is_empty() => vec![value],
        _ => Vec::new(),
    }
}

/// Whether a server matches a document, comparing texts without their case if a collation does.
fn is_match(filter: &Document, document: &Document, is_collated: bool) -> bool {
    let folded = |value: &Bson| match value {
        Bson::String(text) if is_collated => Bson::String(text.to_lowercase()),
        value => value.clone(),
    };
    let is_equal = |value: &Bson, wanted: &Bson| same(&folded(value), &folded(wanted));
    let equals = |path: &str, wanted: &Bson| {
        let values = at(document, path);
        values.iter().any(|value| is_equal(value, wanted)) || values.is_empty() && *wanted == Bson::Null
    };
    let compares = |path: &str, operator: &str, wanted: &Bson| {
        let values = at(document, path);
        let is_null = *wanted == Bson::Null && operator.ends_with('e') && equals(path, wanted);
        is_null
            || values.iter().any(|value| {
                let order = compare(&folded(value), &folded(wanted));
                order.is_some_and(|order| match operator {
                    "$gt" => order.is_gt(),
                    "$gte" => order.is_ge(),
                    "$lt" => order.is_lt(),
                    _ => order.is_le(),
                })
            })
    };
    let of_list = |list: &Bson| list.as_array().cloned().unwrap_or_default();
    let is_branch = |one: &Bson| {
        one.as_document()
            .is_some_and(|one| is_match(one, document, is_collated))
    };
    let satisfies = |path: &str, operator: &str, value: &Bson| match operator {
        "$eq" => equals(path, value),
        "$ne" => !equals(path, value),
        "$in" => of_list(value).iter().any(|one| equals(path, one)),
        "$nin" => !of_list(value).iter().any(|one| equals(path, one)),
        "$exists" => at(document, path).is_empty() != (*value == Bson::Boolean(true)),
        operator => compares(path, operator, value),
    };
    filter.iter().all(|(name, value)| match (name.as_str(), value) {
        ("$and", list) => of_list(list).iter().all(is_branch),
        ("$or", list) => of_list(list).iter().any(is_branch),
        ("$nor", list) => !of_list(list).iter().any(is_branch),
        (path, Bson::Document(operators)) if is_of_operators(operators) => {
            operators.iter().all(|(operator, value)| match value {
                Bson::Document(negated) if operator == "$not" => !negated
                    .iter()
                    .all(|(operator, value)| satisfies(path, operator, value)),
                value => satisfies(path, operator, value),
            })
        }
        (path, value) => equals(path, value),
    })
}

fn a_value() -> impl Strategy<Value = Bson> {
    prop_oneof![
        4 => (0..4_i32).prop_map(Bson::Int32),
        2 => (0..4_i64).prop_map(Bson::Int64),
        2 => prop::sample::select(vec![0.0, 1.0, 1.5, 3.0, f64::NAN]).prop_map(Bson::Double),
        1 => prop::sample::select(vec!["1", "2.0", "2.5"])
            .prop_map(|text| Bson::Decimal128(text.parse().expect("a decimal"))),
        3 => prop::sample::select(vec!["a", "A", "b"]).prop_map(Bson::from),
        2 => Just(Bson::Null),
        1 => any::<bool>().prop_map(Bson::Boolean),
        1 => (0..3_i64).prop_map(|at| Bson::DateTime(mongodb::bson::DateTime::from_millis(at))),
        1 => (0..3_i32).prop_map(|n| doc! { "b": n }.into()),
    ]
}

prop_compose! {
    fn a_document()(
        tenant in prop::option::of(a_value()),
        id in a_value(),
        a in prop::option::of(a_value()),
        x in prop_oneof![a_value(), prop::collection::vec(a_value(), 0..3).prop_map(Bson::Array)],
    ) -> Document {
        let mut document = doc! { "_id": id, "x": x };
        document.extend(tenant.map(|tenant| ("tenant".to_owned(), tenant)));
        document.extend(a.map(|a| ("a".to_owned(), a)));
        document
    }
}

fn a_path() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["tenant", "tenant", "_id", "_id", "a.b", "a", "x"]).prop_map(str::to_owned)
}

/// A condition on a field: a value, or operators.
fn a_condition() -> impl Strategy<Value = Bson> {
    let operator = prop_oneof![
        4 => ("\\$eq", a_value()),
        4 => ("\\$in", prop::collection::vec(a_value(), 0..4).prop_map(Bson::Array)),
        4 => ("\\$(gt|gte|lt|lte)", a_value()),
        1 => ("\\$ne", a_value()),
        1 => ("\\$nin", prop::collection::vec(a_value(), 0..3).prop_map(Bson::Array)),
        1 => ("\\$exists", any::<bool>().prop_map(Bson::Boolean)),
        1 => ("\\$not", a_value().prop_map(|value| doc! { "$lt": value }.into())),
    ];
    let operators = prop::collection::vec(operator, 1..3);
    prop_oneof![
        a_value(),
        operators.prop_map(|operators| operators.into_iter().collect::<Document>().into()),
    ]
}

fn a_filter() -> impl Strategy<Value = Document> {
    let fields = prop::collection::vec((a_path(), a_condition()), 0..3);
    let leaf = fields.prop_map(|fields| fields.into_iter().collect::<Document>());
    leaf.prop_recursive(3, 16, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4);
        let combined = ("\\$(and|or|or|nor)", list);
        (inner, prop::collection::vec(combined, 1..3)).prop_map(|(mut filter, combined)| {
            for (name, list) in combined {
                let list = list.into_iter().map(Bson::Document).collect();
                filter.insert(name, Bson::Array(list));
            }
            filter
        })
    })
}

fn a_key() -> impl Strategy<Value = ShardKey> {
    prop::sample::select(vec![
        vec![("tenant", false), ("_id", false)],
        vec![("tenant", false), ("_id", true)],
        vec![("tenant", true)],
        vec![("_id", false)],
        vec![("a.b", false), ("tenant", false)],
        vec![("a", true), ("_id", false)],
        vec![("tenant", false), ("a.b", false), ("_id", true)],
    ])
    .prop_map(ShardKey::new)
}

/// Equalities of all fields of a key, in one of the forms in which a filter has them.
fn all_equal(key: &ShardKey, values: &[Bson], forms: &[u8]) -> Document {
    let mut filter = doc! { "x": { "$gte": 0 } };
    let mut nested = Vec::new();
    for ((field, value), form) in key.fields.iter().zip(values).zip(forms.iter().cycle()) {
        let equal = match form {
            0 => value.clone(),
            1 => doc! { "$eq": value.clone() }.into(),
            _ => doc! { "$in": [value.clone(), value.clone()] }.into(),
        };
        match form {
            0 | 2 => drop(filter.insert(field.path.clone(), equal)),
            _ => nested.push(doc! { "$or": [{ &field.path: equal }] }),
        }
    }
    if !nested.is_empty() {
        filter.insert("$and", nested);
    }
    filter
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_document_that_matches_has_one_of_the_values_of_the_filter(
        key in a_key(),
        filter in a_filter(),
        documents in prop::collection::vec(a_document(), 16),
        is_collated in any::<bool>(),
    ) {
        let values = key.values(&filter, is_collated);
        for document in documents {
            if is_match(&filter, &document, is_collated) {
                let of_document = key_of(&key, &document);
                prop_assert!(values.contain(&of_document), "{filter} matches {document}, not in {values:?}");
            }
        }
    }

    #[test]
    fn a_filter_with_one_equality_of_each_field_is_targeted(
        key in a_key(),
        values in prop::collection::vec(a_value(), 3),
        forms in prop::collection::vec(0..4_u8, 3),
        document in a_document(),
    ) {
        let filter = all_equal(&key, &values, &forms);
        let (routing, of_filter) = by_filter(&key, &filter, false);
        prop_assert_eq!(&routing, &Routing::Targeted { points: 1 }, "{}", filter);
        prop_assert!(of_filter.contain(&values[..key.fields.len()]));
        // The server finds no other document by them.
        let is_of_it = key_of(&key, &document).iter().zip(&values).all(|(a, b)| same(a, b));
        prop_assert_eq!(of_filter.contain(&key_of(&key, &document)), is_of_it);
        let keys = ShardKeys::from([("c".to_owned(), key)]);
        let modify = statements(&doc! { "findAndModify": "c", "query": filter.clone(), "remove": true }, &keys);
        prop_assert_eq!(&modify[0].refusal, &None);
        // Each field a second time: a router infers no value from the filter.
        let twice = doc! { "$and": [filter.clone(), filter] };
        let modify = statements(&doc! { "findAndModify": "c", "query": twice, "remove": true }, &keys);
        prop_assert_eq!(modify[0].refusal.as_ref().and_then(Refusal::code), Some(61));
    }

    #[test]
    fn a_filter_without_the_first_field_goes_to_all_shards(
        filter in a_filter(),
        is_collated in any::<bool>(),
    ) {
        let key = ShardKey::new([("other", false), ("_id", false)]);
        let (routing, _) = by_filter(&key, &filter, is_collated);
        let is_broadcast = matches!(&routing, Routing::Broadcast { unknown, .. } if unknown == "other");
        prop_assert!(is_broadcast, "{} goes to {:?}", filter, routing);
    }
}

fn routed(key: &[(&str, bool)], filter: Document) -> String {
    let keys = ShardKeys::from([("c".to_owned(), ShardKey::new(key.iter().copied()))]);
    let found = statements(&doc! { "find": "c", "filter": filter }, &keys);
    found.iter().map(shown).collect()
}

#[test]
fn a_filter_narrows_by_equalities_lists_branches_and_ranges() {
    let by_tenant = [("tenant", false), ("_id", true)];
    for (filter, expected) in [
        (doc! { "tenant": 1 }, "part _id"),
        (doc! { "tenant": 1, "_id": { "$in": [1, 2, 2.0] } }, "2 value"),
        (doc! { "tenant": 1, "_id": { "$gt": 1 } }, "part _id"),
        (doc! { "tenant": { "$gt": 1 }, "_id": 1 }, "part tenant"),
        (doc! { "tenant": { "$in": [1, 2] }, "_id": 1 }, "2 value"),
        (
            doc! { "tenant": { "$in": [1, 2] }, "_id": { "$in": [1, 2] } },
            "part _id",
        ),
        (
            doc! { "tenant": 1, "$or": [{ "_id": 1 }, { "_id": 2 }] },
            "2 value",
        ),
        (
            doc! { "tenant": 1, "$or": [{ "_id": 1 }, { "x": 2 }] },
            "part _id",
        ),
        (
            doc! { "$or": [{ "tenant": 1, "_id": 1 }, { "tenant": 1, "_id": 2 }] },
            "2 value",
        ),
        // A router combines the values of each field: the pairs (1, 2) and (2, 1) are in its ranges, too.
        (
            doc! { "$or": [{ "tenant": 1, "_id": 1 }, { "tenant": 2, "_id": 2 }] },
            "part _id",
        ),
        (doc! { "$or": [{ "tenant": 1 }, { "x": 1 }] }, "all tenant"),
        (doc! { "tenant": { "$eq": 1, "$gte": 0 }, "_id": 1 }, "1 value"),
        (doc! { "$and": [{ "tenant": 1 }, { "tenant": 2 }] }, "0 value"),
        (doc! { "tenant": { "$in": [] } }, "0 value"),
        (doc! { "tenant": { "$ne": 1 }, "_id": 1 }, "all tenant"),
        (doc! { "tenant": [1], "_id": 1 }, "all tenant"),
        (doc! { "$expr": { "$eq": ["$tenant", 1] } }, "all tenant"),
        (doc! { "tenant": 1, "$text": { "$search": "a" } }, "all tenant"),
        (
            doc! { "tenant": 1, "_id": 1, "$text": { "$search": "a" } },
            "1 value",
        ),
        (doc! { "tenant": null, "_id": 1 }, "1 value"),
        (Document::new(), "all tenant"),
    ] {
        assert_eq!(routed(&by_tenant, filter.clone()), expected, "{filter}");
    }
    let hashed = [("tenant", true)];
    assert_eq!(
        routed(&hashed, doc! { "tenant": { "$in": ["a", "b"] } }),
        "2 value"
    );
    assert_eq!(
        routed(&hashed, doc! { "tenant": { "$gt": "a", "$lt": "b" } }),
        "all tenant"
    );
    let embedded = [("address.country", false)];
    assert_eq!(routed(&embedded, doc! { "address.country": "de" }), "1 value");
    assert_eq!(
        routed(&embedded, doc! { "address": { "country": "de", "city": "Bonn" } }),
        "1 value"
    );
    assert_eq!(
        routed(&embedded, doc! { "address": { "city": "Bonn" } }),
        "all address.country"
    );
    assert_eq!(
        routed(&embedded, doc! { "address.country.code": "de" }),
        "all address.country"
    );
}

#[test]
fn the_collation_of_the_collection_counts_unless_a_statement_has_its_own() {
    let mut key = ShardKey::new([("tenant", false), ("_id", false)]);
    key.collation = Some(doc! { "locale": "en", "strength": 2, "numericOrdering": false });
    let keys = ShardKeys::from([("c".to_owned(), key)]);
    let found = |command: Document| -> String { statements(&command, &keys).iter().map(shown).collect() };
    let text = || doc! { "tenant": "a", "_id": 1 };
    assert_eq!(
        found(doc! { "find": "c", "filter": text() }),
        "all tenant collated"
    );
    let simple = doc! { "locale": "simple" };
    assert_eq!(
        found(doc! { "find": "c", "filter": text(), "collation": simple.clone() }),
        "1 value"
    );
    assert_eq!(
        found(doc! { "find": "c", "filter": { "tenant": 7, "_id": 1 } }),
        "1 value"
    );
    assert_eq!(
        found(doc! { "findAndModify": "c", "query": text() }),
        "all tenant collated, 61 Collation tenant"
    );
    // An exact `_id` has the collation of the collection, however it is written.
    let delete = |collation: Option<Document>| {
        let mut one = doc! { "q": { "_id": "a" }, "limit": 1 };
        one.extend(collation.map(|collation| ("collation".to_owned(), collation.into())));
        found(doc! { "delete": "c", "deletes": [one] })
    };
    assert_eq!(delete(None), "all tenant");
    assert_eq!(
        delete(Some(doc! { "locale": "en", "strength": 2_i64 })),
        "all tenant"
    );
    assert_eq!(delete(Some(simple)), "all tenant, 61 KeyOrId tenant");
}

#[test]
fn operations_of_a_bulk_write_are_routed_as_their_commands() {
    let keys = ShardKeys::from([("c".to_owned(), ShardKey::new([("tenant", false)]))]);
    let command = doc! {
        "bulkWrite": 1,
        "nsInfo": [{ "ns": "db.other" }, { "ns": "db.c" }],
        "ops": [
            { "insert": 0, "document": { "_id": 1 } },
            { "insert": 1, "document": { "_id": 1, "tenant": 1 } },
            { "insert": 1, "document": { "_id": 2 } },
            { "update": 1, "filter": { "tenant": 1 }, "updateMods": { "$set": { "x": 1 } }, "multi": false },
            { "update": 1, "filter": { "x": 1 }, "updateMods": { "$set": { "x": 1 } }, "multi": true },
            { "update": 1, "filter": { "x": 1 }, "updateMods": { "$set": { "x": 1 } }, "upsert": true },
            { "delete": 1, "filter": { "_id": 1 }, "multi": false },
            { "delete": 1, "filter": { "x": 1 }, "multi": false },
        ],
    };
    let found: Vec<(usize, String)> = statements(&command, &keys)
        .iter()
        .map(|statement| (statement.position, shown(statement)))
        .collect();
    let expected = [
        (1, "1 value"),
        (2, "1 value, no code LacksField tenant"),
        (3, "1 value"),
        (4, "all tenant"),
        (5, "all tenant, 61 WholeKey tenant"),
        (6, "all tenant"),
        (7, "all tenant, 61 KeyOrId tenant"),
    ];
    let expected = expected.map(|(position, text)| (position, text.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn a_join_of_a_sharded_collection_is_targeted_by_its_key() {
    let keys = ShardKeys::from([
        ("by_id".to_owned(), ShardKey::new([("_id", true)])),
        (
            "by_tenant".to_owned(),
            ShardKey::new([("tenant", false), ("_id", false)]),
        ),
    ]);
    let found = |stage: Document| -> Vec<String> {
        let command = doc! { "aggregate": "c", "pipeline": [stage] };
        statements(&command, &keys).iter().map(shown).collect()
    };
    let lookup = |from: &str, pipeline: Vec<Document>| {
        doc! { "$lookup": { "from": from, "localField": "a", "foreignField": "_id", "pipeline": pipeline, "as": "j" } }
    };
    assert_eq!(found(lookup("by_id", vec![])), ["1 value, 28769 Joined"]);
    assert_eq!(found(lookup("by_tenant", vec![])), ["all tenant, 28769 Joined"]);
    let of_tenant = vec![doc! { "$match": { "tenant": 1 } }];
    assert_eq!(found(lookup("by_tenant", of_tenant)), ["1 value, 28769 Joined"]);
    let nested = doc! { "$facet": { "a": [{ "$unionWith": { "coll": "by_tenant", "pipeline": [lookup("by_id", vec![])] } }] } };
    assert_eq!(found(nested), ["all tenant", "1 value, 28769 Joined"]);
    assert_eq!(
        found(doc! { "$geoNear": { "near": [1, 2] } }),
        Vec::<String>::new()
    );
    let near = doc! { "aggregate": "by_tenant", "pipeline": [{ "$geoNear": { "near": [1, 2], "query": { "tenant": 1 } } }] };
    assert_eq!(
        statements(&near, &keys).iter().map(shown).collect::<String>(),
        "part _id"
    );
    let sorted = doc! { "aggregate": "by_tenant", "pipeline": [
        { "$match": { "tenant": 1 } }, { "$sort": { "_id": 1 } }, { "$match": { "_id": 2 } }, { "$limit": 1 },
        { "$match": { "tenant": 3 } },
    ] };
    assert_eq!(
        statements(&sorted, &keys).iter().map(shown).collect::<String>(),
        "1 value"
    );
}

#[test]
fn commands_without_a_key_have_no_statement() {
    for command in [
        doc! {},
        doc! { "getMore": 1_i64, "collection": "r" },
        doc! { "createIndexes": "r", "indexes": [] },
        doc! { "find": "plain", "filter": {} },
        doc! { "find": 7 },
        doc! { "update": "r", "updates": 7 },
        doc! { "bulkWrite": 1, "ops": [{ "insert": 9, "document": {} }], "nsInfo": [] },
        doc! { "aggregate": 1, "pipeline": [{ "$changeStream": {} }] },
        doc! { "explain": { "explain": {} } },
    ] {
        assert_eq!(statements(&command, &keys()), [], "{command}");
    }
}
