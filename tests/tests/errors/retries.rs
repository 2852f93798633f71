//! Transactions whose commands fail for a moment, or whose answers get lost on the way: what the closure does happens once.

use super::models::*;
use odm::__private::SwitchBulk as _;
use odm::bson::{Document as Doc, doc};
use odm::mongodb::{Client, Database};
use odm::prelude::*;
use odm::{Error, Tx};
use odm_tests::fixtures::edges::options;
use odm_tests::proxy::{Fate, Proxy, server};
use odm_tests::{TestDb, require_transactions, with_db};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

/// The test's database by way of the proxy. What fails breaks connections, and the driver asks for the server again twice a
/// second at most.
async fn through(proxy: &Proxy, t: &TestDb) -> Odm {
    let mut options = options(proxy).await;
    options.server_selection_timeout = Some(std::time::Duration::from_secs(20));
    let db: Database = Client::with_options(options).unwrap().database(t.db.name());
    let odm = Odm::new(db, models![Shop, Note]).unwrap();
    odm.server().await.unwrap();
    odm
}

/// The kinds of commands that a transaction sends, each of which changes something or depends on it.
async fn work(tx: &Tx, runs: &AtomicU32) -> odm::Result<f64> {
    runs.fetch_add(1, Ordering::SeqCst);
    let (shops, notes) = (tx.collection::<Shop>(), tx.collection::<Note>());
    let before = notes.find_all().count().await? as i64;
    notes.insert(note(before)).await?;
    notes.insert_many([note(before + 1), note(before + 2)]).await?;
    let ada = shops
        .find(|s| s.name.eq("Ada"))
        .one()
        .await?
        .expect("she is there");
    shops.update(ada.id).inc(|s| s.revenue, 1.0).await?;
    tx.bulk()
        .add(shops.update(ada.id).inc(|s| s.revenue, 1.0))
        .add(notes.delete(before + 2))
        .await?;
    let now = shops.update(ada.id).inc(|s| s.revenue, 1.0).returning().await?;
    notes.delete(before + 1).await?;
    Ok(now.revenue)
}

/// Carries the work out once, and compares what it has done to that.
async fn once(t: &TestDb, odm: &Odm) -> u32 {
    let direct = Odm::new(t.db.clone(), models![Shop, Note]).unwrap();
    let state = async || {
        let shops = direct.collection::<Shop>();
        let ada = shops.find(|s| s.name.eq("Ada")).one().await.unwrap().unwrap();
        let notes = direct.collection::<Note>().find_all().count().await.unwrap();
        (ada.revenue, notes)
    };
    let (revenue, notes) = state().await;
    let runs = AtomicU32::new(0);
    let told = odm.transaction(async |tx| work(&tx, &runs).await).await.unwrap();
    assert_eq!(told, revenue + 3.0);
    assert_eq!(state().await, (revenue + 3.0, notes + 1));
    runs.into_inner()
}

/// A proxy, and a handle that goes by way of it. Skips the test on a deployment without transactions.
async fn start(t: &TestDb) -> (Proxy, Odm) {
    let direct = odm(t).await;
    require_transactions(&direct).await;
    direct.collection::<Shop>().insert(shop("Ada", 1)).await.unwrap();
    let proxy = Proxy::start(&server().await, 0).await;
    let odm = through(&proxy, t).await;
    proxy.arm();
    (proxy, odm)
}

/// Once the driver itself sends a commit again; what is lost more often, the library does.
#[odm_tests::test]
fn a_commit_whose_answer_is_lost_is_sent_again_and_nothing_happens_twice() {
    with_db(async |t| {
        let (proxy, odm) = start(&t).await;
        for fate in [Fate::Unanswered, Fate::Lost] {
            for lost in [1, 2, 3] {
                proxy.take_names();
                proxy.next("commitTransaction", lost, fate.clone());
                let runs = once(&t, &odm).await;
                assert_eq!(runs, 1, "{fate:?} {lost} times: the closure is not run again");
                assert!(proxy.is_done());
                let commits = proxy.take_names();
                let commits = commits.iter().filter(|name| *name == "commitTransaction");
                assert_eq!(commits.count(), lost + 1, "{fate:?} {lost} times");
            }
        }
        proxy.bury().await;
    });
}

/// Another transaction was in the way: the server's answer to any command of a transaction.
fn conflict() -> Doc {
    doc! {
        "ok": 0.0, "code": 112, "codeName": "WriteConflict", "errmsg": "WriteConflict error: please retry your operation",
        "errorLabels": ["TransientTransactionError"],
    }
}

#[odm_tests::test]
fn a_transient_error_of_any_command_runs_the_closure_again() {
    with_db(async |t| {
        let (proxy, odm) = start(&t).await;
        assert_eq!(once(&t, &odm).await, 1);
        let commands: BTreeSet<String> = proxy.take_names().into_iter().collect();
        for name in [
            "aggregate",
            "insert",
            "find",
            "findAndModify",
            "delete",
            "commitTransaction",
        ] {
            assert!(commands.contains(name), "{name} of {commands:?}");
        }
        for name in &commands {
            proxy.next(name, 2, Fate::Answered(conflict()));
            assert_eq!(once(&t, &odm).await, 3, "{name} conflicts twice");
            assert!(proxy.is_done(), "{name}");
        }
        // A broken connection is such an error too, whether the server had the command or not: the one that begins the
        // transaction, one in between, and the last.
        for name in ["aggregate", "insert", "delete"] {
            for fate in [Fate::Lost, Fate::Unanswered] {
                proxy.next(name, 1, fate.clone());
                assert_eq!(once(&t, &odm).await, 2, "{name}: {fate:?}");
            }
        }
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn an_error_that_is_not_transient_ends_the_transaction_at_once() {
    with_db(async |t| {
        let (proxy, odm) = start(&t).await;
        let refused = doc! { "ok": 0.0, "code": 13, "codeName": "Unauthorized", "errmsg": "not authorized" };
        // The commit first: what the server has open then is ended by the session's next transaction.
        for name in ["commitTransaction", "insert", "findAndModify"] {
            proxy.next(name, 1, Fate::Answered(refused.clone()));
            let runs = AtomicU32::new(0);
            let error = odm
                .transaction(async |tx| work(&tx, &runs).await)
                .await
                .unwrap_err();
            assert!(matches!(error, Error::Driver(_)), "{name}: {error}");
            assert_eq!(runs.into_inner(), 1, "{name}");
        }
        let direct = Odm::new(t.db.clone(), models![Shop, Note]).unwrap();
        assert_eq!(direct.collection::<Note>().find_all().count().await.unwrap(), 0);
        let ada = direct
            .collection::<Shop>()
            .find_all()
            .one()
            .await
            .unwrap()
            .unwrap();
        assert_eq!(ada.revenue, 10.5);
        proxy.bury().await;
    });
}

/// A server of MongoDB 8.0 whose `featureCompatibilityVersion` has not been raised has `bulkWrite` by its version, and refuses
/// it.
#[odm_tests::test]
fn a_bulk_goes_by_kinds_where_bulk_write_is_not_enabled() {
    with_db(async |t| {
        let (proxy, odm) = start(&t).await;
        if !odm.server().await.unwrap().has_bulk_write() {
            proxy.bury().await;
            odm_tests::skip("needs the command `bulkWrite`: MongoDB 8.0");
        }
        let refused = doc! {
            "ok": 0.0, "code": 115, "codeName": "CommandNotSupported",
            "errmsg": "BulkWrite may not be run without featureFlagBulkWriteCommand enabled",
        };
        let direct = Odm::new(t.db.clone(), models![Shop, Note]).unwrap();
        let ada = direct
            .collection::<Shop>()
            .find_all()
            .one()
            .await
            .unwrap()
            .unwrap();
        let write = |odm: &Odm, id: i64| {
            odm.bulk()
                .add(odm.collection::<Shop>().update(ada.id).inc(|s| s.revenue, 1.0))
                .add(odm.collection().insert(note(id)))
        };
        odm.check_models().await.unwrap();
        proxy.take_names();
        proxy.next("bulkWrite", 1, Fate::Answered(refused.clone()));
        for id in [100, 101] {
            write(&odm, id).await.unwrap();
        }
        assert!(proxy.is_done());
        let names = proxy.take_names();
        assert_eq!(
            names,
            ["bulkWrite", "update", "insert", "update", "insert"],
            "it is asked once"
        );
        // A transaction is run again, since that has ended it.
        let odm = through(&proxy, &t).await;
        proxy.next("bulkWrite", 1, Fate::Answered(refused));
        assert_eq!(once(&t, &odm).await, 2);
        assert!(proxy.is_done());
        assert_eq!(once(&t, &odm).await, 1);
        assert_eq!(direct.collection::<Note>().find_all().count().await.unwrap(), 4);
        proxy.bury().await;
    });
}

/// Of a bulk in several commands, one of which fails, only an ordered one knows which of its writes were made.
#[odm_tests::test]
fn a_bulk_in_several_commands_says_that_a_part_was_made() {
    with_db(async |t| {
        let (proxy, odm) = start(&t).await;
        let notes = odm.collection::<Note>();
        let shop = odm.collection::<Shop>().find_all().one().await.unwrap().unwrap();
        odm.check_models().await.unwrap();
        let failed = doc! {
            "ok": 0.0, "code": 91, "codeName": "ShutdownInProgress", "errmsg": "The server is in quiesce mode and will shut down",
        };
        for (id, is_ordered) in [(100, true), (200, false)] {
            notes.insert(note(id + 1)).await.unwrap();
            let bulk = odm.bulk().without_bulk_write_command();
            let bulk = if is_ordered { bulk } else { bulk.unordered() };
            proxy.next("update", 1, Fate::Answered(failed.clone()));
            let error = bulk
                .add(odm.collection().insert(note(id + 2)))
                .add(odm.collection::<Shop>().update(shop.id).inc(|s| s.revenue, 1.0))
                .add(notes.delete(id + 1))
                .await
                .unwrap_err();
            assert!(proxy.is_done());
            match error {
                Error::Bulk { errors, done } if is_ordered => {
                    assert_eq!(errors.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1]);
                    assert_eq!((done.inserted, done.deleted), (1, 0));
                }
                error if !is_ordered => assert!(error.outcome_unknown() && !error.is_transient()),
                other => panic!("{is_ordered}: {other:?}"),
            }
            assert!(
                notes.get(id + 1).await.unwrap().is_some(),
                "the deletion was not sent"
            );
            assert!(notes.get(id + 2).await.unwrap().is_some());
        }
        proxy.bury().await;
    });
}

/// The driver sends a command that an application runs by itself once.
#[odm_tests::test]
fn a_lost_reply_to_a_read_of_the_schema_ends_no_sync() {
    with_db(async |t| {
        let proxy = Proxy::start(&server().await, 0).await;
        let odm = through(&proxy, &t).await;
        proxy.arm();
        for fate in [Fate::Lost, Fate::Unanswered] {
            for command in ["listCollections", "listIndexes"] {
                let name = format!("{command}, {fate:?}");
                proxy.next(command, 1, fate.clone());
                odm.sync().await.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(proxy.is_done(), "{name}");
                proxy.next(command, 1, fate.clone());
                let plan = odm.plan().await.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(plan.is_empty() && proxy.is_done(), "{name}: {plan}");
            }
        }
        // A second loss is an error that says so.
        proxy.next("listCollections", 2, Fate::Lost);
        let lost = odm.plan().await.unwrap_err();
        assert!(
            matches!(lost, Error::Unavailable { .. }) && lost.is_transient(),
            "{lost:?}"
        );
        assert!(odm.plan().await.unwrap().is_empty());
    });
}

/// The index has documents that it would not allow: which they are is asked of the server, and the reply is lost.
#[odm_tests::test]
fn a_lost_reply_to_a_count_of_violations_ends_no_plan() {
    with_db(async |t| {
        let shops = t.db.collection::<Doc>("shops");
        shops.insert_one(doc! { "_id": 1 }).await.unwrap();
        let proxy = Proxy::start(&server().await, 0).await;
        let odm = through(&proxy, &t).await;
        let found = odm.plan().await.unwrap().to_string();
        proxy.arm();
        proxy.next("aggregate", 1, Fate::Unanswered);
        let again = odm.plan().await.unwrap().to_string();
        assert!(proxy.is_done());
        assert_eq!(again, found);
        assert!(found.contains("1 existing document"), "{found}");
    });
}
