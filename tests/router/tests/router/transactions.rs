//! Transactions over both shards: atomic, and ended by every error.

use crate::support::{Cluster, connect, found, ids, is_ok, of_transaction, session, start};
use bson::{Bson, Document, doc};
use odm_router::RoutingError;

async fn cluster() -> Cluster {
    let mut cluster = start().await;
    cluster.shard("c", doc! { "tenant": 1, "_id": 1 }).await;
    cluster
        .split_at("c", doc! { "tenant": "m", "_id": Bson::MinKey })
        .await;
    let document = |n: i32| doc! { "_id": n, "tenant": if n < 5 { "a" } else { "z" } };
    cluster.insert("c", (0..10).map(document).collect()).await;
    cluster.insert("plain", vec![doc! { "_id": 1, "n": 0 }]).await;
    cluster
}

fn update(tenant: &str, id: i32) -> Document {
    doc! { "update": "c", "updates": [{ "q": { "tenant": tenant, "_id": id }, "u": { "$inc": { "n": 1 } } }] }
}

fn commit(session: &Document) -> Document {
    of_transaction(session, false, doc! { "commitTransaction": 1 })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_over_both_shards_is_seen_as_a_whole() {
    let mut cluster = cluster().await;
    let t = session();
    cluster.ok(of_transaction(&t, true, update("a", 1))).await;
    cluster.ok(of_transaction(&t, false, update("z", 9))).await;
    let plain = doc! { "update": "plain", "updates": [{ "q": { "_id": 1 }, "u": { "$inc": { "n": 1 } } }] };
    let reply = cluster.ok(of_transaction(&t, false, plain)).await;
    assert_eq!(
        reply.get_document("recoveryToken").unwrap(),
        &doc! { "recoveryShardId": "sh0" }
    );
    assert_eq!(cluster.find("c", doc! { "n": 1 }).await.len(), 0);
    let read = doc! { "aggregate": "c", "pipeline": [{ "$match": { "n": 1 } }, { "$group": { "_id": 1, "all": { "$push": "$_id" } } }], "cursor": {} };
    let inside = found(&cluster.ok(of_transaction(&t, false, read)).await);
    assert_eq!(inside[0].get_array("all").unwrap().len(), 2);
    let committed = cluster.admin(commit(&t)).await;
    assert!(is_ok(&committed), "{committed}");
    assert_eq!(ids(&cluster.find("c", doc! { "n": 1 }).await), [1, 9]);
    assert_eq!(cluster.find("plain", doc! { "n": 1 }).await.len(), 1);
    let again = cluster.admin(commit(&t)).await;
    assert!(is_ok(&again), "{again}");
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_whose_first_statement_reads_the_catalog_begins_with_the_second() {
    let mut cluster = cluster().await;
    let t = session();
    let first = of_transaction(&t, true, doc! { "find": "collections" });
    let first = cluster.client.run("config", first).await.unwrap();
    assert!(is_ok(&first), "{first}");
    cluster.ok(of_transaction(&t, false, update("z", 9))).await;
    let ended = cluster
        .admin(of_transaction(&t, false, doc! { "abortTransaction": 1 }))
        .await;
    assert!(is_ok(&ended), "{ended}");
    assert_eq!(cluster.find("c", doc! { "n": 1 }).await.len(), 0);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_error_of_a_statement_ends_the_transaction() {
    let mut cluster = cluster().await;
    for refused in [
        doc! { "update": "c", "updates": [{ "q": { "x": 1 }, "u": { "$set": { "y": 1 } } }] },
        doc! { "findAndModify": "c", "query": { "_id": 1 }, "update": { "$set": { "y": 1 } } },
        doc! { "insert": "c", "documents": [{ "_id": 2, "tenant": "a" }] },
        doc! { "insert": "plain", "documents": [{ "_id": 1 }] },
        doc! { "distinct": "c", "key": "x" },
        doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "tenant": "z" } } }] },
    ] {
        let t = session();
        cluster.ok(of_transaction(&t, true, update("a", 1))).await;
        let reply = cluster.run(of_transaction(&t, false, refused.clone())).await;
        assert!(
            !is_ok(&reply) || reply.contains_key("writeErrors"),
            "{refused}: {reply}"
        );
        let next = cluster
            .run(of_transaction(&t, false, doc! { "find": "plain" }))
            .await;
        assert_eq!(next.get_i32("code").unwrap(), 251, "{refused}");
        assert_eq!(
            next.get_array("errorLabels").unwrap(),
            &[Bson::from("TransientTransactionError")]
        );
        let ended = cluster.admin(commit(&t)).await;
        assert_eq!(ended.get_i32("code").unwrap(), 251, "{refused}");
        assert_eq!(
            cluster.find("c", doc! { "n": { "$exists": true } }).await.len(),
            0,
            "{refused}"
        );
    }
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_whose_key_changes_moves_with_the_transaction() {
    let mut cluster = cluster().await;
    for (commits, expected) in [(false, 0), (true, 1)] {
        let t = session();
        let change = doc! { "update": "c", "updates": [{ "q": { "tenant": "a", "_id": 1 }, "u": { "$set": { "tenant": "z" } } }] };
        cluster.ok(of_transaction(&t, true, change)).await;
        let inside = cluster
            .ok(of_transaction(
                &t,
                false,
                doc! { "find": "c", "filter": { "tenant": "z", "_id": 1 } },
            ))
            .await;
        assert_eq!(found(&inside).len(), 1);
        let end = if commits {
            "commitTransaction"
        } else {
            "abortTransaction"
        };
        let ended = cluster.admin(of_transaction(&t, false, doc! { end: 1 })).await;
        assert!(is_ok(&ended), "{ended}");
        let there = cluster
            .stored(1, "c")
            .await
            .iter()
            .filter(|document| document.get_i32("_id").unwrap() == 1)
            .count();
        assert_eq!(there, expected);
    }
    assert_eq!(cluster.find("c", doc! {}).await.len(), 10);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_routing_ends_the_statement_with_this_number() {
    let mut cluster = cluster().await;
    for (error, code) in [
        (RoutingError::StaleConfig, 13388),
        (RoutingError::MigrationConflict, 272),
    ] {
        let t = session();
        cluster.router.fail_at(2, error);
        cluster.ok(of_transaction(&t, true, update("a", 1))).await;
        let failed = cluster.run(of_transaction(&t, false, update("a", 2))).await;
        assert_eq!(failed.get_i32("code").unwrap(), code);
        assert_eq!(
            failed.get_array("errorLabels").unwrap(),
            &[Bson::from("TransientTransactionError")]
        );
        let ended = cluster.admin(commit(&t)).await;
        assert_eq!(ended.get_i32("code").unwrap(), 251);
        let t = session();
        cluster.router.fail_at(1, error);
        let failed = cluster.run(of_transaction(&t, true, update("a", 1))).await;
        assert_eq!(failed.get_i32("code").unwrap(), code);
        // It is no error of a statement outside of transactions, which is sent again.
        cluster.router.fail_at(1, error);
        cluster.ok(doc! { "find": "c" }).await;
    }
    assert_eq!(
        cluster.find("c", doc! { "n": { "$exists": true } }).await.len(),
        0
    );
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_of_many_clients_count_up_without_a_gap() {
    let mut cluster = cluster().await;
    let mut clients = Vec::new();
    for _ in 0..4 {
        let (mut client, database) = (connect(&cluster.router).await, cluster.database.clone());
        clients.push(tokio::spawn(async move {
            let mut done = 0;
            while done < 10 {
                let t = session();
                let mut is_written = true;
                for (starts, statement) in [(true, update("a", 1)), (false, update("z", 9))] {
                    let reply = client
                        .run(&database, of_transaction(&t, starts, statement))
                        .await
                        .unwrap();
                    is_written = is_written && is_ok(&reply) && !reply.contains_key("writeErrors");
                }
                let end = if is_written {
                    "commitTransaction"
                } else {
                    "abortTransaction"
                };
                let ended = client
                    .run("admin", of_transaction(&t, false, doc! { end: 1 }))
                    .await
                    .unwrap();
                done += usize::from(is_written && is_ok(&ended));
            }
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    let counted = cluster.find("c", doc! { "n": { "$exists": true } }).await;
    let counts: Vec<_> = counted
        .iter()
        .map(|document| document.get_i32("n").unwrap())
        .collect();
    assert_eq!(counts, [40, 40]);
    cluster.end().await;
}
