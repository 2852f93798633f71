//! Plans, and how they are applied, on a sharded cluster, whose replies a proxy gives.

use odm::Error;
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm_tests::fixtures::routed::routed;
use odm_tests::proxy::Fate;
use odm_tests::with_db;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "orders", index(fields(tenant, slug), unique))]
struct Order {
    id: i32,
    tenant: String,
    slug: String,
    total: i64,
}

/// The reply of the config collection that has this shard key.
fn sharded(db: &str, key: Doc) -> Fate {
    let row = doc! { "_id": format!("{db}.orders"), "key": key };
    Fate::Answered(
        doc! { "ok": 1.0, "cursor": { "id": 0_i64, "ns": "config.collections", "firstBatch": [row] } },
    )
}

/// The reply to a user who may not read it.
fn unauthorized() -> Fate {
    Fate::Answered(doc! {
        "ok": 0.0, "code": 13, "codeName": "Unauthorized",
        "errmsg": "not authorized on config to execute command { find: \"collections\" }",
    })
}

#[odm_tests::test]
fn a_plan_calls_the_index_of_the_shard_key_by_that_name() {
    with_db(async |t| {
        let (odm, proxy, sent) = routed(&t, models![Order]).await;
        odm.sync().await.unwrap();
        for key in [doc! { "tenant": 1, "_id": 1 }, doc! { "total": 1 }] {
            let index = mongodb::IndexModel::builder().keys(key).build();
            let orders = odm.database().collection::<Doc>("orders");
            orders.create_index(index).await.unwrap();
        }
        let name = t.db.name();
        let notes = async || odm.plan().await.unwrap().notes().join("\n");
        let total = "`orders`: the index `total_1` on total, which is not declared";
        sent.take();
        proxy.next("find", 1, sharded(name, doc! { "tenant": 1, "_id": 1 }));
        let known = notes().await;
        assert!(
            known.contains("the index `tenant_1__id_1` on tenant, _id, which is that of the shard key"),
            "{known}"
        );
        assert!(known.lines().any(|line| line == total), "{known}");
        // Once for the database.
        let config = sent.named("find");
        let config: Vec<&Doc> = config
            .iter()
            .filter(|find| find.get_str("find").is_ok_and(|name| name == "collections"))
            .collect();
        assert_eq!(config.len(), 1);
        let of_database = config[0].get_document("filter").unwrap().get_document("_id");
        assert_eq!(
            of_database.unwrap(),
            &doc! { "$gte": format!("{name}."), "$lt": format!("{name}/") }
        );

        proxy.next("find", 1, unauthorized());
        let unknown = notes().await;
        let may_be = "which is not declared (it may be that of the shard key, and this user may not read `config.collections`)";
        assert_eq!(unknown.matches(may_be).count(), 2, "{unknown}");

        // Another error is one of the plan.
        let broken = doc! { "ok": 0.0, "code": 8000, "codeName": "AtlasError", "errmsg": "no" };
        proxy.next("find", 1, Fate::Answered(broken));
        odm.plan().await.expect_err("the shard keys can't be read");
    });
}

#[odm_tests::test]
fn the_index_of_the_shard_key_is_not_to_be_dropped_for_a_declared_one() {
    with_db(async |t| {
        let (odm, proxy, _) = routed(&t, models![Order]).await;
        let index = mongodb::IndexModel::builder()
            .keys(doc! { "tenant": 1, "slug": 1 })
            .build();
        let orders = odm.database().collection::<Doc>("orders");
        orders.create_index(index).await.unwrap();
        let name = t.db.name();
        for (key, advice, replaces) in [
            (
                sharded(name, doc! { "tenant": 1, "slug": 1 }),
                "it is the index of the shard key, which the collection needs: declare it as it is",
                false,
            ),
            (
                unauthorized(),
                "declare it as it is: it may be the index of the shard key, and this user may not read `config.collections`",
                false,
            ),
            (
                sharded(name, doc! { "total": 1 }),
                "`sync --replace` (`Plan::replace`) replaces it: it is made unique in place, if no documents share a value",
                true,
            ),
        ] {
            proxy.next("find", 1, key);
            let plan = odm.plan().await.unwrap();
            assert!(plan.to_string().contains(advice), "{plan}");
            assert_eq!(plan.to_string().contains("replace"), replaces, "{plan}");
            let replaced = plan.replace();
            let mut changes = replaced.changes().iter();
            let of_it = changes.any(|change| matches!(change, odm::schema::Change::ReplaceIndex { .. }));
            assert_eq!(of_it, replaces, "{replaced}");
        }
    });
}

#[odm_tests::test]
fn no_shard_key_is_asked_for_on_a_replica_set() {
    with_db(async |t| {
        let sent = odm_tests::fixtures::routed::Sent::default();
        let odm = sent.by(odm_tests::options(false).await, &t, models![Order]);
        odm_tests::require_no_cluster(&odm).await;
        odm.sync().await.unwrap();
        odm.plan().await.unwrap();
        let of_config = |command: &Doc| command.get_str("$db").is_ok_and(|db| db == "config");
        assert!(!sent.take().iter().any(of_config));
    });
}

#[odm_tests::test]
fn a_unique_index_that_lacks_the_shard_key_is_refused_with_the_key_and_the_others_are_made() {
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "orders", index(fields(total)), index(fields(slug), unique))]
    struct Slugs {
        id: i32,
        slug: String,
        total: i64,
    }
    with_db(async |t| {
        let (odm, proxy, sent) = routed(&t, models![Slugs]).await;
        let said = "Index build failed: 4f0e: Collection shop.orders ( 4f0e ) :: caused by :: cannot create unique index over { slug: 1 } \
                    with shard key pattern { tenant: 1, _id: 1 }";
        let of_shard = doc! { "ok": 0.0, "errmsg": said, "code": 67, "codeName": "CannotCreateIndex" };
        let refused = doc! {
            "raw": { "sh1/S1": of_shard.clone(), "sh0/S0": of_shard },
            "code": 67, "codeName": "CannotCreateIndex", "ok": 0.0, "errmsg": said,
        };
        let made =
            doc! { "numIndexesBefore": 2, "numIndexesAfter": 3, "commitQuorum": "votingMembers", "ok": 1.0 };
        let made = doc! { "raw": { "sh0/S0": made.clone(), "sh1/S1": made }, "ok": 1.0 };
        // Both together, the one on `total`, and the unique one.
        proxy.next("createIndexes", 1, Fate::Answered(refused.clone()));
        proxy.next("createIndexes", 1, Fate::Answered(made));
        proxy.next("createIndexes", 1, Fate::Answered(refused));
        match odm.sync().await {
            Err(Error::Index {
                collection, message, ..
            }) => {
                assert_eq!(collection, "orders");
                assert!(
                    message.starts_with(
                        "a unique index of a sharded collection begins with the whole shard key, here { tenant: 1, _id: 1 }: put its \
                         fields in front of those of the index"
                    ),
                    "{message}"
                );
            }
            other => panic!("{other:?}"),
        }
        assert!(proxy.is_done());
        assert_eq!(sent.named("createIndexes").len(), 3);
    });
}
