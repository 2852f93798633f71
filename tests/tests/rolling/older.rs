//! Programs of two versions on one database, which declare the same copies in different ways.

use odm::Error;
use odm::bson::{Document as Raw, doc};
use odm::prelude::*;
use odm_tests::{assert_clean, with_db};

/// The documents of two versions: what differs is the limit, the filter and the source.
macro_rules! version {
    ($version:ident, $limit:literal, $least:literal, $source:ident, $sync:ident) => {
        mod $version {
            use odm::prelude::*;
            use serde::{Deserialize, Serialize};

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "hosts")]
            pub struct Host {
                #[serde(rename = "_id")]
                pub id: i32,
                pub name: String,
                pub address: String,
                #[subset(of = Log, limit = $limit, order(-at), fields(at: i64))]
                pub newest: Vec<NewestEntry>,
                #[computed(count = Log, filter = |l| l.level.gte($least))]
                pub logs: i64,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "logs")]
            pub struct Log {
                #[serde(rename = "_id")]
                pub id: i32,
                #[parent_ref]
                pub host: Ref<Host>,
                #[denormalize(from = host.$source, consistency = $sync)]
                pub of: String,
                pub at: i64,
                pub level: i32,
            }

            pub fn odm(db: &odm::mongodb::Database) -> Odm {
                Odm::new(db.clone(), models![Host, Log]).unwrap()
            }
        }
    };
}

version!(old, 3, 1, name, eventual);
version!(new, 5, 2, address, eventual);
// Of these the copies alone follow in another way.
version!(at_once, 3, 1, name, atomic);

fn log(id: i32) -> old::NewLog {
    old::NewLog {
        id,
        host: Ref::new(1),
        at: id.into(),
        level: id % 4,
    }
}

/// Ten logs by the older version.
async fn old(t: &odm_tests::TestDb) -> Odm {
    let odm = old::odm(&t.db);
    odm.sync().await.unwrap();
    let host = old::NewHost {
        id: 1,
        name: "goofy".into(),
        address: "127.0.0.1".into(),
    };
    odm.collection::<old::Host>().insert(host).await.unwrap();
    odm.collection::<old::Log>()
        .insert_many((0..10).map(log))
        .await
        .unwrap();
    odm
}

const ALL: [&str; 3] = [
    "hosts.logs as it is declared now",
    "hosts.newest as it is declared now",
    "logs.host as it is declared now",
];

fn is_told<T: std::fmt::Debug>(outcome: odm::Result<T>, expected: &[&str]) {
    match outcome {
        Err(Error::UnknownCopies { mut edges }) => {
            edges.sort();
            assert_eq!(edges, expected);
        }
        other => panic!("{other:?}"),
    }
}

async fn declared(t: &odm_tests::TestDb) -> Vec<Raw> {
    use futures::TryStreamExt;
    let edges = t.db.collection::<Raw>("_odm_edges");
    let all = edges.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    all.try_collect().await.unwrap()
}

#[odm_tests::test]
fn an_older_program_is_refused_and_leaves_the_declarations_of_a_newer_one() {
    with_db(async |t| {
        let older = old(&t).await;
        let newer = new::odm(&t.db);
        let plan = newer.plan().await.unwrap();
        assert_eq!(plan.backfills().len(), 3, "{plan}");
        newer.apply(&plan).await.unwrap();
        assert_eq!(newer.backfill().await.unwrap().edges.len(), 3);
        assert_clean(&newer).await;
        let host = newer.collection::<new::Host>().get(1).await.unwrap().unwrap();
        assert_eq!((host.newest.len(), host.logs), (5, 4));
        let stored = declared(&t).await;

        is_told(older.check_models().await, &ALL);
        is_told(older.sync().await, &ALL);
        is_told(old::odm(&t.db).sync().await, &ALL);
        assert_eq!(
            declared(&t).await,
            stored,
            "the newer declarations stay, and stay filled"
        );
        assert!(newer.plan().await.unwrap().is_empty());

        // What follows from its writes is left to the newer one.
        let logs = older.collection::<old::Log>();
        logs.insert(log(10)).await.unwrap();
        logs.update(3).set(|l| l.level, 0).await.unwrap();
        logs.delete(4).await.unwrap();
        let hosts = older.collection::<old::Host>();
        hosts.update(1).set(|h| h.address, "127.0.0.2").await.unwrap();
        newer.recover().await.unwrap();
        assert_clean(&newer).await;

        // It leaves pending work to the newer one.
        t.db.collection::<Raw>("hosts")
            .update_one(
                doc! { "_id": 1 },
                doc! { "$set": { "_odm.pending.operation": 1_i64, "_odm.pending.fields": { "*": 1_i64 } } },
            )
            .await
            .unwrap();
        is_told(older.recover().await, &["of `hosts`"]);
        assert_eq!(newer.recover().await.unwrap().documents, 1);

        // It may say that it is meant; the newer one repairs that, too.
        let meant = older.clone().allow_unknown_copies();
        meant.check_models().await.unwrap();
        meant.collection::<old::Log>().insert(log(11)).await.unwrap();
        assert_eq!(declared(&t).await, stored);
        let audit = newer.audit().await.unwrap();
        assert!(!audit.is_clean(), "it is not counted yet");
        newer.repair(&audit).await.unwrap();
        assert_clean(&newer).await;
    });
}

#[odm_tests::test]
fn the_way_back_to_an_older_version_is_said() {
    with_db(async |t| {
        let older = old(&t).await;
        let newer = new::odm(&t.db);
        newer.sync().await.unwrap();
        is_told(older.sync().await, &ALL);
        assert_eq!(older.forget_copies().await.unwrap(), 3);
        older.sync().await.unwrap();
        assert_eq!(older.plan().await.unwrap().backfills().len(), 3);
        older.backfill().await.unwrap();
        assert_clean(&older).await;
        older.collection::<old::Log>().insert(log(10)).await.unwrap();
        assert_clean(&older).await;

        // And the way to the newer one again: it is not declared there in an older way.
        newer.sync().await.unwrap();
        newer.backfill().await.unwrap();
        assert_clean(&newer).await;
        is_told(older.check_models().await, &ALL);
    });
}

#[odm_tests::test]
fn the_newer_declaration_stays_when_several_processes_start_at_once() {
    with_db(async |t| {
        for _ in 0..5 {
            let _older = old(&t).await;
            let starts = (0..6).map(|n| {
                let db = t.db.clone();
                async move {
                    match n % 2 {
                        0 => new::odm(&db).sync().await.map(drop),
                        _ => old::odm(&db).sync().await.map(drop),
                    }
                }
            });
            for (n, outcome) in futures::future::join_all(starts).await.into_iter().enumerate() {
                // An older one may have looked before a newer one had declared anything, or part of it.
                match (n % 2, outcome) {
                    (0, outcome) => outcome.unwrap(),
                    (_, Ok(()) | Err(Error::UnknownCopies { .. })) => {}
                    (_, Err(error)) => panic!("{error}"),
                }
            }
            new::odm(&t.db).check_models().await.unwrap();
            is_told(old::odm(&t.db).check_models().await, &ALL);
            for edge in declared(&t).await {
                let earlier = edge.get_array("earlier").map(Vec::len);
                assert_eq!(earlier.unwrap_or(0), 1, "{edge}");
            }
            t.db.drop().await.unwrap();
        }
    });
}

#[odm_tests::test]
fn the_consistency_mode_is_a_part_of_the_declaration() {
    with_db(async |t| {
        let older = old(&t).await;
        odm_tests::require_transactions(&older).await;
        let newer = at_once::odm(&t.db);
        assert_eq!(newer.sync().await.unwrap().backfills(), ["logs.host"]);
        is_told(older.check_models().await, &["logs.host as it is declared now"]);
        // A write of a log takes copies in, and one of a host has to deliver them.
        is_told(older.collection::<old::Log>().delete(1).await, &["of `logs`"]);
        newer.backfill().await.unwrap();
        assert_clean(&newer).await;
    });
}

mod with_price {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
        pub price: i32,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "orders")]
    pub struct Order {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference]
        pub article: Ref<Article>,
        #[denormalize(from = article.name)]
        pub name: String,
        #[denormalize(from = article.price, consistency = snapshot)]
        pub cost: Option<i32>,
    }

    pub mod before {
        use super::Article;
        use odm::prelude::*;
        use serde::{Deserialize, Serialize};

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "orders")]
        pub struct Order {
            #[serde(rename = "_id")]
            pub id: i32,
            #[reference]
            pub article: Ref<Article>,
            #[denormalize(from = article.name)]
            pub name: String,
        }
    }
}

#[odm_tests::test]
fn a_program_without_a_snapshot_leaves_the_declaration_with_it() {
    use with_price::{Article, Order, before};
    with_db(async |t| {
        let older = Odm::new(t.db.clone(), models![Article, before::Order]).unwrap();
        older.sync().await.unwrap();
        let newer = Odm::new(t.db.clone(), models![Article, Order]).unwrap();
        newer.sync().await.unwrap();
        let stored = declared(&t).await;
        // A snapshot is never updated, so the older one leaves nothing stale.
        older.sync().await.unwrap();
        assert_eq!(declared(&t).await, stored);
        let articles = older.collection::<Article>();
        articles
            .insert(Article {
                id: 1,
                name: "bolt".into(),
                price: 3,
            })
            .await
            .unwrap();
        articles.update(1).set(|a| a.name, "screw").await.unwrap();
        assert_clean(&newer).await;
    });
}
