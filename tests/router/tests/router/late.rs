//! A shard that applies commits late, and chunks that move.

use crate::support::{Cluster, connect, found, ids, is_ok, of_transaction, session, start};
use bson::{Bson, Document, Timestamp, doc};
use std::time::{Duration, Instant};

const DELAY: Duration = Duration::from_millis(400);

async fn cluster() -> Cluster {
    let mut cluster = start().await;
    cluster.shard("c", doc! { "tenant": 1, "_id": 1 }).await;
    cluster
        .split_at("c", doc! { "tenant": "m", "_id": Bson::MinKey })
        .await;
    cluster
        .insert(
            "c",
            vec![doc! { "_id": 1, "tenant": "a" }, doc! { "_id": 2, "tenant": "z" }],
        )
        .await;
    cluster
}

fn insert(tenant: &str, id: i32) -> Document {
    doc! { "insert": "c", "documents": [{ "_id": id, "tenant": tenant }] }
}

/// Inserts a document on each shard in one transaction, and gives the time of the commit.
async fn insert_on_both(cluster: &mut Cluster, id: i32) -> Timestamp {
    let t = session();
    cluster.ok(of_transaction(&t, true, insert("a", id))).await;
    cluster.ok(of_transaction(&t, false, insert("z", id + 1))).await;
    let committed = cluster
        .admin(of_transaction(&t, false, doc! { "commitTransaction": 1 }))
        .await;
    assert!(is_ok(&committed), "{committed}");
    committed.get_timestamp("operationTime").unwrap()
}

fn after(mut read: Document, time: Timestamp) -> Document {
    read.insert("readConcern", doc! { "afterClusterTime": time });
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_reads_of_a_late_shard_miss_a_commit_and_reads_after_it_wait() {
    let mut cluster = cluster().await;
    cluster.router.delay(1, Some(DELAY));
    let started = Instant::now();
    let time = insert_on_both(&mut cluster, 10).await;
    assert_eq!(
        ids(&cluster.find("c", doc! { "_id": { "$gte": 10 } }).await),
        [10]
    );
    for read in [
        doc! { "count": "c", "query": { "tenant": "z" } },
        doc! { "count": "c", "query": { "tenant": "z", "_id": 11 } },
    ] {
        let is_one = read.get_document("query").unwrap().len() == 2;
        assert_eq!(
            cluster.ok(read).await.get_i32("n").unwrap(),
            if is_one { 0 } else { 1 }
        );
    }
    assert!(started.elapsed() < DELAY, "the test is too slow for its delay");
    let read = doc! { "find": "c", "filter": { "tenant": "z" }, "sort": { "_id": 1 } };
    assert_eq!(ids(&found(&cluster.ok(after(read.clone(), time)).await)), [2, 11]);
    assert!(started.elapsed() >= DELAY);
    assert_eq!(ids(&found(&cluster.ok(read).await)), [2, 11]);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_of_a_late_shard_wait() {
    let mut cluster = cluster().await;
    cluster.router.delay(1, Some(DELAY));
    let started = Instant::now();
    insert_on_both(&mut cluster, 10).await;
    let update = doc! { "update": "c", "updates": [{ "q": { "tenant": "z", "_id": 11 }, "u": { "$set": { "y": 1 } } }] };
    assert_eq!(cluster.ok(update).await.get_i32("n").unwrap(), 1);
    assert!(started.elapsed() >= DELAY);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_has_read_the_state_before_is_refused_its_write() {
    let mut cluster = cluster().await;
    cluster.router.delay(1, Some(DELAY));
    let time = insert_on_both(&mut cluster, 10).await;
    let t = session();
    let start = |session: &Document, mut command: Document| {
        command.extend(doc! { "lsid": session.clone(), "txnNumber": 1_i64, "autocommit": false, "startTransaction": true });
        command
    };
    let read = doc! { "find": "c", "filter": { "tenant": "z", "_id": 11 } };
    assert_eq!(found(&cluster.ok(start(&t, read.clone())).await).len(), 0);
    let write = cluster.run(of_transaction(&t, false, insert("z", 12))).await;
    assert_eq!(write.get_i32("code").unwrap(), 112, "{write}");
    insert_on_both(&mut cluster, 20).await;
    let t = session();
    assert_eq!(found(&cluster.ok(start(&t, after(read, time))).await).len(), 1);
    cluster
        .admin(of_transaction(&t, false, doc! { "abortTransaction": 1 }))
        .await;
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_one_shard_is_never_late() {
    let mut cluster = cluster().await;
    for shard in [0, 1] {
        cluster.router.delay(shard, Some(Duration::from_secs(60)));
    }
    let t = session();
    cluster.ok(of_transaction(&t, true, insert("z", 10))).await;
    let committed = cluster
        .admin(of_transaction(&t, false, doc! { "commitTransaction": 1 }))
        .await;
    assert!(is_ok(&committed), "{committed}");
    cluster.insert("c", vec![doc! { "_id": 11, "tenant": "z" }]).await;
    assert_eq!(cluster.find("c", doc! { "tenant": "z" }).await.len(), 3);
    cluster.end().await;
}

/// What is not sharded is on the first shard.
#[tokio::test(flavor = "multi_thread")]
async fn reads_of_what_is_not_sharded_miss_a_commit_of_a_late_first_shard() {
    let mut cluster = cluster().await;
    cluster
        .insert("plain", (0..150).map(|n| doc! { "_id": n }).collect())
        .await;
    cluster.router.delay(0, Some(DELAY));
    let t = session();
    cluster
        .ok(of_transaction(
            &t,
            true,
            doc! { "insert": "plain", "documents": [{ "_id": 1_000 }] },
        ))
        .await;
    cluster.ok(of_transaction(&t, false, insert("z", 10))).await;
    let committed = cluster
        .admin(of_transaction(&t, false, doc! { "commitTransaction": 1 }))
        .await;
    let time = committed.get_timestamp("operationTime").unwrap();
    let reply = cluster.ok(doc! { "find": "plain", "batchSize": 100 }).await;
    let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
    let more = cluster.ok(doc! { "getMore": id, "collection": "plain" }).await;
    assert_eq!((found(&reply).len(), found(&more).len()), (100, 50));
    let read = doc! { "count": "plain", "query": { "_id": 1_000 } };
    assert_eq!(cluster.ok(read.clone()).await.get_i32("n").unwrap(), 0);
    assert_eq!(cluster.ok(after(read, time)).await.get_i32("n").unwrap(), 1);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_moves_before_the_command_with_this_number() {
    let mut cluster = cluster().await;
    let namespace = cluster.namespace("c");
    cluster
        .router
        .move_chunk_at(2, &namespace, doc! { "tenant": "a", "_id": 1 });
    cluster.ok(doc! { "find": "c" }).await;
    assert_eq!(ids(&cluster.stored(0, "c").await), [1]);
    assert_eq!(cluster.find("c", doc! { "tenant": "a" }).await.len(), 1);
    assert_eq!(cluster.stored(0, "c").await, []);
    assert_eq!(ids(&cluster.stored(1, "c").await), [1, 2]);
    // It waits for the end of a transaction that has touched the collection.
    let t = session();
    cluster
        .router
        .move_chunk_at(2, &namespace, doc! { "tenant": "a", "_id": 1 });
    cluster.ok(of_transaction(&t, true, insert("a", 10))).await;
    cluster.ok(of_transaction(&t, false, insert("z", 11))).await;
    assert_eq!(cluster.router.waiting_moves(), 1);
    cluster
        .admin(of_transaction(&t, false, doc! { "commitTransaction": 1 }))
        .await;
    assert_eq!(ids(&cluster.find("c", doc! {}).await), [1, 2, 10, 11]);
    assert_eq!(cluster.router.waiting_moves(), 0);
    assert_eq!(ids(&cluster.stored(0, "c").await), [1, 10]);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_document_is_lost_while_chunks_move() {
    let mut cluster = cluster().await;
    let namespace = cluster.namespace("c");
    let (mut client, database) = (connect(&cluster.router).await, cluster.database.clone());
    let writer = tokio::spawn(async move {
        for id in 100..200 {
            for tenant in ["a", "z"] {
                let document = doc! { "_id": id * 2 + i32::from(tenant == "z"), "tenant": tenant };
                let reply = client
                    .run(&database, doc! { "insert": "c", "documents": [document] })
                    .await
                    .unwrap();
                assert!(is_ok(&reply) && !reply.contains_key("writeErrors"), "{reply}");
            }
        }
    });
    for turn in 0..10 {
        let of = doc! { "tenant": if turn % 2 == 0 { "a" } else { "z" }, "_id": 1 };
        cluster.router.move_chunk(&namespace, &of).await.unwrap();
    }
    writer.await.unwrap();
    assert_eq!(cluster.find("c", doc! {}).await.len(), 101);
    assert_eq!(cluster.ok(doc! { "count": "c" }).await.get_i32("n").unwrap(), 202);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_chunk_may_leave_documents_behind_which_finds_leave_out() {
    let mut cluster = cluster().await;
    let namespace = cluster.namespace("c");
    cluster.insert("c", vec![doc! { "_id": 3, "tenant": "0" }]).await;
    cluster
        .admin(doc! { "split": &namespace, "middle": { "tenant": "5", "_id": Bson::MinKey } })
        .await;
    cluster.router.leave_orphans(true);
    cluster
        .router
        .move_chunk(&namespace, &doc! { "tenant": "a", "_id": 1 })
        .await
        .unwrap();
    assert_eq!(ids(&cluster.stored(0, "c").await), [1, 3]);
    assert_eq!(ids(&cluster.find("c", doc! {}).await), [1, 2, 3]);
    let n = |reply: Document| reply.get_i32("n").unwrap();
    assert_eq!(n(cluster.ok(doc! { "count": "c" }).await), 4);
    let counted = doc! { "count": "c", "query": { "_id": { "$gt": 0 } } };
    assert_eq!(n(cluster.ok(counted).await), 3);
    let read = doc! { "aggregate": "c", "pipeline": [{ "$count": "n" }], "cursor": {} };
    assert_eq!(found(&cluster.ok(read).await), [doc! { "n": 3 }]);
    cluster.router.clean_orphans().await.unwrap();
    assert_eq!(n(cluster.ok(doc! { "count": "c" }).await), 3);
    cluster.end().await;
}
