//! Replies that are lost: the server executes each kind of write of each front end once, or the error says that its outcome is
//! unknown.
//!
//! The reply is withheld by a proxy, after the server has executed the command: the fail points of a server break the
//! connection before.

use super::*;
use futures::future::{BoxFuture, FutureExt};
use odm::Result;
use odm_tests::proxy::Fate;
use odm_tests::with_db;

/// A write, and whether the driver repeats each of its commands.
struct Row {
    name: &'static str,
    /// Whether a reply that is lost once leaves the outcome unknown.
    unknown: bool,
    write: fn(Odm) -> BoxFuture<'static, Result<()>>,
}

macro_rules! rows {
    ($($name:literal $unknown:literal |$odm:ident| $write:expr;)*) => {
        [$(Row {
            name: $name,
            unknown: $unknown,
            write: |$odm| async move { $write.await.map(drop) }.boxed(),
        }),*]
    };
}

fn all() -> Vec<Row> {
    let rows = rows! {
        "insert" false |odm| odm.collection::<Account>().insert(account(9, 1));
        "insert_many" false |odm| odm.collection::<Account>().insert_many([account(8, 1), account(9, 1)]);
        "update" false |odm| odm.collection::<Account>().update(1).inc(|a| a.cents, 1);
        "returning" false |odm| odm.collection::<Account>().update(1).inc(|a| a.cents, 1).returning();
        "replace" false |odm| odm.collection::<Account>().replace(account(1, 77));
        "delete" false |odm| odm.collection::<Pet>().delete(1);
        "upsert that inserts" false
            |odm| odm.collection::<Account>().update(9).set(|a| a.name, "new").set(|a| a.limits, vec![]).inc(|a| a.cents, 1).upsert();
        "upsert that changes" false
            |odm| odm.collection::<Account>().update(1).set(|a| a.name, "new").set(|a| a.limits, vec![]).inc(|a| a.cents, 1).upsert();
        "update_where" true |odm| odm.collection::<Account>().update_where(|a| a.id.lte(2)).inc(|a| a.cents, 1);
        "delete_where" true |odm| odm.collection::<Pet>().delete_where(|p| p.id.lte(2));
        "bulk of single writes" false |odm| {
            odm.bulk().add(odm.collection().insert(account(9, 1))).add(odm.collection::<Account>().update(1).inc(|a| a.cents, 1)).add(odm.collection::<Account>().delete(2))
        };
        "bulk with update_where" true |odm| {
            odm.bulk().add(odm.collection().insert(account(9, 1))).add(odm.collection::<Account>().update_where(|a| a.id.lte(2)).inc(|a| a.cents, 1))
        };
        "push" false |odm| odm.buckets::<Entry>().push(1, Entry { cents: 5 });
        "push_many" false |odm| odm.buckets::<Entry>().push_many(1, (0..7).map(|cents| Entry { cents }));
        "insert with a copy" false |odm| odm.collection::<Pet>().insert(NewPet { id: 9, owner: Ref::new(1) });
        "update of a copied field" false
            |odm| odm.collection::<Owner>().update(1).set(|o| o.name, "Eve").inc(|o| o.visits, 1);
        "update_where of a copied field" false
            |odm| odm.collection::<Owner>().update_where(|o| o.id.eq(1)).set(|o| o.name, "Eve").inc(|o| o.visits, 1);
        "delete with a cascade" false |odm| odm.collection::<Owner>().delete(1);
        "transaction" false |odm| odm.transaction(async |tx| {
            tx.collection::<Account>().update(1).inc(|a| a.cents, 1).await?;
            tx.collection::<Account>().update_where(|a| a.id.lte(2)).inc(|a| a.cents, 1).await?;
            tx.collection::<Account>().insert(account(9, 1)).await?;
            tx.collection::<Account>().delete(3).await
        });
    };
    rows.into_iter().collect()
}

/// The same documents before each write.
async fn stock(t: &TestDb, odm: &Odm) {
    for name in ["accounts", "owners", "pets", "accounts.entries", "entries"] {
        t.db.collection::<Doc>(name).delete_many(doc! {}).await.unwrap();
    }
    for name in t.db.list_collection_names().await.unwrap() {
        if !name.starts_with("_odm") && !name.starts_with("system.") {
            t.db.collection::<Doc>(&name).delete_many(doc! {}).await.unwrap();
        }
    }
    let accounts = (1..4).map(|id| account(id, 10));
    odm.collection::<Account>().insert_many(accounts).await.unwrap();
    let ada = Owner {
        id: 1,
        name: "Ada".into(),
        visits: 0,
    };
    odm.collection::<Owner>().insert(ada).await.unwrap();
    let pet = NewPet {
        id: 1,
        owner: Ref::new(1),
    };
    odm.collection::<Pet>().insert(pet).await.unwrap();
}

/// The stored documents, without the library's own fields; a bucket's id is another one each time.
async fn stored(t: &TestDb) -> Vec<String> {
    use futures::TryStreamExt;
    let mut all = Vec::new();
    for name in t.db.list_collection_names().await.unwrap() {
        if name.starts_with("_odm") || name.starts_with("system.") {
            continue;
        }
        let found = t.db.collection::<Doc>(&name).find(doc! {}).await.unwrap();
        let found: Vec<Doc> = found.try_collect().await.unwrap();
        for mut document in found {
            document.remove("_odm");
            document.remove("_copied");
            if document.get_object_id("_id").is_ok() {
                document.remove("_id");
            }
            all.push(format!("{name} {document}"));
        }
    }
    all.sort();
    all
}

const WRITES: [&str; 6] = [
    "insert",
    "update",
    "delete",
    "findAndModify",
    "bulkWrite",
    "commitTransaction",
];

#[odm_tests::test]
fn a_write_whose_reply_is_lost_is_done_once_or_its_outcome_is_unknown() {
    with_db(async |t| {
        let direct = Odm::new(t.db.clone(), models()).unwrap();
        odm_tests::require_transactions(&direct).await;
        direct.sync().await.unwrap();
        // Before MongoDB 8.0 a bulk is several commands, which the driver does not repeat; and SecantusDB in Python, which
        // `may_stand_still` knows, refuses the repeat of a `bulkWrite`.
        let has_bulk_write = direct.server().await.unwrap().has_bulk_write();
        let repeats_bulks = has_bulk_write && !odm_tests::may_stand_still(&t.db).await;
        for Row { name, unknown, write } in all() {
            let is_bulk = name.starts_with("bulk");
            stock(&t, &direct).await;
            let before = stored(&t).await;
            let undisturbed = proxy().await;
            let (odm, _) = through(&undisturbed, &t).await;
            odm.server().await.unwrap();
            undisturbed.take_names();
            write(odm).await.unwrap();
            let once = stored(&t).await;
            let mut commands = undisturbed.take_names();
            undisturbed.bury().await;
            assert_ne!(before, once, "{name} writes something");
            commands.retain(|command| WRITES.contains(&command.as_str()));
            commands.sort();
            commands.dedup();
            assert!(!commands.is_empty(), "{name}");
            for command in &commands {
                for lost in [1, 2] {
                    let what = format!("{name}: {lost} replies to `{command}` are lost");
                    stock(&t, &direct).await;
                    let proxy = proxy().await;
                    let (odm, _) = through(&proxy, &t).await;
                    odm.server().await.unwrap();
                    proxy.next(command, lost, Fate::Unanswered);
                    let done = write(odm).await;
                    proxy.bury().await;
                    let after = stored(&t).await;
                    match &done {
                        Ok(()) => assert_eq!(after, once, "{what}"),
                        Err(error) => {
                            let known = error.is_transient() && after == before;
                            assert!(known || error.outcome_unknown(), "{what}: {error:?}");
                            // Several writes may be done in part, and none of them twice.
                            let times =
                                |all: &[String], line: &String| all.iter().filter(|one| *one == line).count();
                            let is_once = |line: &String| {
                                times(&after, line) <= times(&before, line).max(times(&once, line))
                            };
                            assert!(after.iter().all(is_once), "{what}: {after:?}");
                        }
                    }
                    if lost == 1 {
                        let is_unrepeated = if has_bulk_write {
                            command == "bulkWrite" && !repeats_bulks
                        } else {
                            // Rules apply to the deletion of an account, so it is a command of its own, which the driver repeats.
                            is_bulk && command != "delete"
                        };
                        let unknown = unknown || is_unrepeated;
                        assert_eq!(done.is_err(), unknown, "{what}: {done:?}");
                    }
                }
            }
        }
    });
}

/// The writes were made, but a server that steps down may take them back.
#[odm_tests::test]
fn a_write_that_is_not_acknowledged_is_of_unknown_outcome() {
    with_db(async |t| {
        let proxy = proxy().await;
        let (odm, _) = through(&proxy, &t).await;
        odm.server().await.unwrap();
        let accounts = odm.collection::<Account>();
        let concern = doc! { "code": 64, "codeName": "WriteConcernFailed", "errmsg": "waiting for replication timed out" };
        let unsure = |command: &str| {
            let reply = doc! { "ok": 1.0, "n": 1, "nModified": 1, "value": { "_id": 1 }, "writeConcernError": concern.clone() };
            proxy.next(command, 1, Fate::Answered(reply));
        };
        unsure("insert");
        let insert = accounts.insert(account(1, 1)).await.map(drop);
        unsure("insert");
        let insert_many = accounts.insert_many([account(1, 1)]).await.map(drop);
        unsure("update");
        let update = accounts.update(1).inc(|a| a.cents, 1).await.map(drop);
        unsure("update");
        let many = accounts
            .update_where(|a| a.id.eq(1))
            .inc(|a| a.cents, 1)
            .await
            .map(drop);
        unsure("findAndModify");
        let returning = accounts.update(1).inc(|a| a.cents, 1).returning().await.map(drop);
        unsure("delete");
        let delete = odm
            .collection::<Pet>()
            .delete_where(|p| p.id.eq(1))
            .await
            .map(drop);
        assert!(proxy.is_done());
        for (name, done) in [
            ("insert", insert),
            ("insert_many", insert_many),
            ("update", update),
            ("update_where", many),
            ("returning", returning),
            ("delete_where", delete),
        ] {
            let error = done.expect_err(name);
            assert!(
                error.outcome_unknown() && !error.is_transient(),
                "{name}: {error:?}"
            );
            assert!(error.to_string().contains("not acknowledged"), "{name}: {error}");
        }
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn a_commit_that_is_not_confirmed_is_of_unknown_outcome() {
    odm_tests::with_transactions(async |t| {
        let direct = Odm::new(t.db.clone(), models()).unwrap();
        direct
            .collection::<Account>()
            .insert(account(1, 1))
            .await
            .unwrap();
        let proxy = proxy().await;
        let (odm, _) = through(&proxy, &t).await;
        let reply = doc! {
            "ok": 0.0, "code": 50, "codeName": "MaxTimeMSExpired", "errmsg": "operation exceeded time limit",
            "errorLabels": ["UnknownTransactionCommitResult"],
        };
        proxy.next("commitTransaction", 1, Fate::Answered(reply));
        let done = odm
            .transaction(async |tx| tx.collection::<Account>().update(1).inc(|a| a.cents, 1).await)
            .await;
        let error = done.unwrap_err();
        assert!(error.outcome_unknown() && !error.is_transient(), "{error:?}");
        proxy.bury().await;
    });
}
