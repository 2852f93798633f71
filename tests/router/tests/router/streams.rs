//! Change streams over both shards.

use crate::support::{Cluster, found, session, start};
use bson::{Bson, Document, doc};
use std::time::{Duration, Instant};

async fn cluster() -> Cluster {
    let mut cluster = start().await;
    cluster.shard("c", doc! { "tenant": 1, "_id": 1 }).await;
    cluster
        .split_at("c", doc! { "tenant": "m", "_id": Bson::MinKey })
        .await;
    cluster
}

async fn open(cluster: &mut Cluster, of: impl Into<Bson>, options: Document) -> i64 {
    let watch = doc! { "aggregate": of.into(), "pipeline": [{ "$changeStream": options }], "cursor": {} };
    let reply = cluster.ok(watch).await;
    reply.get_document("cursor").unwrap().get_i64("id").unwrap()
}

/// The next events: the backing server reads those of every database on its way.
async fn events(cluster: &mut Cluster, id: i64, number: usize) -> Vec<Document> {
    let mut all = Vec::new();
    let until = Instant::now() + Duration::from_secs(90);
    while all.len() < number && Instant::now() < until {
        let reply = cluster
            .ok(doc! { "getMore": id, "collection": "c", "maxTimeMS": 100 })
            .await;
        all.extend(found(&reply));
    }
    all
}

/// The content of an event: its kind, its namespace and the key of its document.
fn told(event: &Document) -> (String, Document, Document) {
    let part = |name: &str| event.get_document(name).cloned().unwrap_or_default();
    (
        event.get_str("operationType").unwrap().to_owned(),
        part("ns"),
        part("documentKey"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_events_of_both_shards_come_in_their_order() {
    let mut cluster = cluster().await;
    let id = open(&mut cluster, "c", doc! { "fullDocument": "updateLookup" }).await;
    cluster.insert("c", vec![doc! { "_id": 1, "tenant": "a" }]).await;
    cluster.insert("c", vec![doc! { "_id": 2, "tenant": "z" }]).await;
    cluster.insert("other", vec![doc! { "_id": 3 }]).await;
    cluster
        .ok(doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "y": 1 } } }] })
        .await;
    let mut change = doc! { "update": "c", "updates": [{ "q": { "tenant": "a", "_id": 1 }, "u": { "$set": { "tenant": "z" } } }] };
    change.extend(doc! { "lsid": session(), "txnNumber": 1_i64 });
    cluster.ok(change).await;
    cluster
        .ok(doc! { "delete": "c", "deletes": [{ "q": { "_id": 2 }, "limit": 1 }] })
        .await;
    let namespace = doc! { "db": &cluster.database.clone(), "coll": "c" };
    let event = |kind: &str, tenant: &str, id: i32| {
        (
            kind.to_owned(),
            namespace.clone(),
            doc! { "tenant": tenant, "_id": id },
        )
    };
    let all = events(&mut cluster, id, 7).await;
    let mut all: Vec<_> = all.iter().map(told).collect();
    // The change of the key, before the document moves.
    all.retain(|(kind, _, key)| !(kind == "update" && key.get_str("tenant").unwrap() == "z"));
    assert_eq!(
        all[..3],
        [
            event("insert", "a", 1),
            event("insert", "z", 2),
            event("update", "a", 1)
        ]
    );
    assert_eq!(
        all[all.len() - 3..],
        [
            event("delete", "a", 1),
            event("insert", "z", 1),
            event("delete", "z", 2)
        ]
    );
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_of_a_chunk_is_no_event() {
    let mut cluster = cluster().await;
    cluster.insert("c", vec![doc! { "_id": 1, "tenant": "a" }]).await;
    let id = open(&mut cluster, "c", doc! {}).await;
    let namespace = cluster.namespace("c");
    cluster.insert("c", vec![doc! { "_id": 0, "tenant": "z" }]).await;
    // An event from before the stream may come too, before this one or with it.
    let mut is_open = false;
    while !is_open {
        let all = events(&mut cluster, id, 1).await;
        assert!(!all.is_empty(), "the insert of `_id` 0 is no event of the stream");
        is_open = all
            .iter()
            .any(|event| told(event).2.get_i32("_id").is_ok_and(|id| id == 0));
    }
    cluster
        .router
        .move_chunk(&namespace, &doc! { "tenant": "a", "_id": 1 })
        .await
        .unwrap();
    cluster
        .ok(doc! { "delete": "c", "deletes": [{ "q": { "_id": 1 }, "limit": 1 }] })
        .await;
    let all = events(&mut cluster, id, 1).await;
    let key = doc! { "tenant": "a", "_id": 1 };
    assert_eq!(
        all.iter()
            .map(told)
            .map(|(kind, _, key)| (kind, key))
            .collect::<Vec<_>>(),
        [("delete".to_owned(), key)]
    );
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_the_database_has_what_is_sharded_and_what_is_not() {
    let mut cluster = cluster().await;
    let id = open(&mut cluster, 1, doc! {}).await;
    cluster.insert("c", vec![doc! { "_id": 1, "tenant": "z" }]).await;
    cluster.insert("plain", vec![doc! { "_id": 2 }]).await;
    // A pipeline over both shards leaves no event behind.
    cluster
        .ok(doc! { "aggregate": "c", "pipeline": [{ "$group": { "_id": 1 } }], "cursor": {} })
        .await;
    cluster.insert("c", vec![doc! { "_id": 3, "tenant": "a" }]).await;
    let all = events(&mut cluster, id, 3).await;
    let of: Vec<_> = all
        .iter()
        .map(|event| told(event).1.get_str("coll").unwrap().to_owned())
        .collect();
    assert_eq!(of, ["c", "plain", "c"]);
    assert!(
        all.iter()
            .all(|event| told(event).1.get_str("db").unwrap() == cluster.database)
    );
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_behind_a_token_and_ends_with_its_collection() {
    let mut cluster = cluster().await;
    let id = open(&mut cluster, "c", doc! {}).await;
    cluster.insert("c", vec![doc! { "_id": 1, "tenant": "a" }]).await;
    let first = events(&mut cluster, id, 1).await;
    cluster.insert("c", vec![doc! { "_id": 2, "tenant": "z" }]).await;
    let token = first[0].get_document("_id").unwrap().clone();
    let watch =
        doc! { "aggregate": "c", "pipeline": [{ "$changeStream": { "resumeAfter": token } }], "cursor": {} };
    let reply = cluster.ok(watch).await;
    let resumed = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
    let mut next = found(&reply);
    if next.is_empty() {
        next = events(&mut cluster, resumed, 1).await;
    }
    assert_eq!(told(&next[0]).2, doc! { "tenant": "z", "_id": 2 });
    cluster.ok(doc! { "drop": "c" }).await;
    let last = events(&mut cluster, resumed, 2).await;
    let kinds: Vec<_> = last.iter().map(|event| told(event).0).collect();
    assert_eq!(kinds, ["drop", "invalidate"]);
    let reply = cluster.run(doc! { "getMore": resumed, "collection": "c" }).await;
    assert_eq!(reply.get_i32("code").unwrap(), 43);
    cluster.end().await;
}
