//! Errors that have a type, and whether the operation may be repeated.

use super::*;
use odm::Error;
use odm_tests::proxy::Fate;
use odm_tests::with_db;

fn failed(code: i32, name: &str, message: &str) -> Fate {
    Fate::Answered(doc! { "ok": 0.0, "code": code, "codeName": name, "errmsg": message })
}

/// Whatever the server refuses for a reason that the library knows has a type, by each kind of command.
#[odm_tests::test]
fn refusals_of_the_server_are_typed_errors() {
    with_db(async |t| {
        let proxy = proxy().await;
        let (odm, _) = through(&proxy, &t).await;
        let accounts = odm.collection::<Account>();
        accounts.insert(account(1, 1)).await.unwrap();
        for (code, name) in [
            (2, "BadValue"),
            (20, "IllegalOperation"),
            (28, "PathNotViable"),
            (43, "CursorNotFound"),
            (66, "ImmutableField"),
            (67, "CannotCreateIndex"),
            (85, "IndexOptionsConflict"),
            (121, "DocumentValidationFailure"),
            (166, "CommandNotSupportedOnView"),
            (292, "QueryExceededMemoryLimitNoDiskUseAllowed"),
            (16766, "Location16766"),
            (17261, "Location17261"),
            (17262, "Location17262"),
            (51091, "Location51091"),
        ] {
            let refused = |command: &str| proxy.next(command, 1, failed(code, name, "the server's words"));
            refused("find");
            let find = accounts.find_all().all().await.unwrap_err();
            refused("aggregate");
            let aggregate = accounts.aggregate().all::<Doc>().await.unwrap_err();
            refused("insert");
            let insert = accounts.insert(account(2, 1)).await.unwrap_err();
            refused("update");
            let update = accounts.update(1).set(|a| a.cents, 2).await.unwrap_err();
            refused("findAndModify");
            let returning = accounts.update(1).set(|a| a.cents, 2).returning();
            let returning = returning.await.unwrap_err();
            refused("delete");
            let pets = odm.collection::<Pet>();
            let delete = pets.delete_where(|p| p.id.eq(9)).await.unwrap_err();
            let by_one = odm.server().await.unwrap().has_bulk_write();
            refused(if by_one { "bulkWrite" } else { "update" });
            let bulk = odm
                .bulk()
                .add(accounts.update(1).set(|a| a.cents, 2))
                .await
                .unwrap_err();
            assert!(proxy.is_done());
            for error in [find, aggregate, insert, update, returning, delete, bulk] {
                assert!(!matches!(error, Error::Driver(_)), "{code} {name}: {error:?}");
                assert!(error.driver_error().is_some(), "{code} {name}: {error:?}");
                let text = error.to_string();
                assert!(
                    text.starts_with("accounts") || text.starts_with("pets"),
                    "{code} {name}: {text}"
                );
                assert!(!text.contains("RawDocumentBuf"), "{text}");
                assert!(!error.outcome_unknown(), "{code} {name}: {text}");
            }
        }
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn an_unavailable_server_is_transient_for_a_read_and_unknown_for_a_write_that_may_have_begun() {
    with_db(async |t| {
        let proxy = proxy().await;
        let (odm, _) = through(&proxy, &t).await;
        let accounts = odm.collection::<Account>();
        accounts.insert(account(1, 1)).await.unwrap();
        for (code, begins) in [
            (91, true),
            (189, true),
            (11600, true),
            (11602, true),
            (10107, false),
            (13435, false),
        ] {
            // The driver repeats a read once.
            proxy.next("find", 2, failed(code, "Code", "words"));
            let read = accounts.find_all().all().await.unwrap_err();
            assert!(matches!(read, Error::Unavailable { .. }), "{code}: {read}");
            assert!(read.is_transient() && !read.outcome_unknown(), "{code}: {read}");
            proxy.next("update", 1, failed(code, "Code", "words"));
            let write = accounts
                .update_where(|a| a.id.eq(1))
                .set(|a| a.cents, 2)
                .await
                .unwrap_err();
            assert!(matches!(write, Error::Unavailable { .. }), "{code}: {write}");
            assert_eq!(write.outcome_unknown(), begins, "{code}: {write}");
            assert_eq!(write.is_transient(), !begins, "{code}: {write}");
            assert!(proxy.is_done());
        }
        proxy.bury().await;
    });
}

/// The replies of a router whose collection is sharded by a field that the update changes.
#[odm_tests::test]
fn another_value_of_a_shard_key_is_immutable_for_every_kind_of_write() {
    with_db(async |t| {
        let proxy = proxy().await;
        let (odm, _) = through(&proxy, &t).await;
        let accounts = odm.collection::<Account>();
        accounts.insert(account(1, 1)).await.unwrap();
        let by_one = odm.server().await.unwrap().has_bulk_write();
        for (code, message) in KEY_CHANGES {
            let refused = |command: &str| {
                let error = doc! { "index": 0, "code": code, "errmsg": message };
                proxy.next(
                    command,
                    1,
                    Fate::Answered(doc! { "ok": 1.0, "n": 0, "nModified": 0, "writeErrors": [error] }),
                );
            };
            refused("update");
            let update = accounts.update(1).set(|a| a.cents, 2).await.unwrap_err();
            refused("update");
            let many = accounts.update_where(|a| a.id.gt(0)).set(|a| a.cents, 2);
            let many = many.await.unwrap_err();
            refused("update");
            let replace = accounts.replace(account(1, 2)).await.unwrap_err();
            proxy.next("findAndModify", 1, failed(code, "Code", message));
            let returning = accounts.update(1).set(|a| a.cents, 2).returning();
            let returning = returning.await.unwrap_err();
            let mut errors = vec![update, many, replace, returning];
            if !by_one {
                refused("update");
                let bulk = odm.bulk().add(accounts.update(1).set(|a| a.cents, 2)).await;
                let Err(Error::Bulk { errors: of_bulk, .. }) = bulk else {
                    panic!("{bulk:?}")
                };
                errors.extend(of_bulk.into_iter().map(|(_, error)| error));
            }
            assert!(proxy.is_done());
            for error in errors {
                assert!(
                    matches!(&error, Error::Immutable { source: Some(_), .. }),
                    "{code}: {error:?}"
                );
            }
        }
        proxy.bury().await;
    });
}

const KEY_CHANGES: [(i32, &str); 3] = [
    (
        31025,
        "Shard key update is not allowed without specifying the full shard key in the query",
    ),
    (
        20,
        "Must run update to shard key field in a multi-statement transaction or with retryWrites: true.",
    ),
    (
        72,
        "Document shard key value updates that cause the doc to move shards must be sent with write batch of size 1",
    ),
];

/// A router ends a transaction with such a refusal: its commit is 251, with the label of what may be run again.
#[odm_tests::test]
fn a_transaction_in_which_a_shard_key_was_changed_is_not_run_again() {
    odm_tests::with_transactions(async |t| {
        let proxy = proxy().await;
        let (odm, _) = through(&proxy, &t).await;
        let accounts = odm.collection::<Account>();
        accounts.insert(account(1, 1)).await.unwrap();
        let (code, message) = KEY_CHANGES[0];
        for passes_over in [false, true] {
            let error = doc! { "index": 0, "code": code, "errmsg": message };
            let reply = doc! { "ok": 1.0, "n": 0, "nModified": 0, "writeErrors": [error] };
            proxy.next("update", 1, Fate::Answered(reply));
            let runs = std::sync::atomic::AtomicUsize::new(0);
            let done = odm
                .transaction(async |tx| {
                    runs.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    let changed = tx.collection::<Account>().update(1).set(|a| a.cents, 2).await;
                    if passes_over { Ok(()) } else { changed.map(drop) }
                })
                .await;
            let error = done.unwrap_err();
            assert_eq!(runs.into_inner(), 1, "{error:?}");
            assert_eq!(
                matches!(error, Error::Immutable { .. }),
                !passes_over,
                "{error:?}"
            );
            assert!(
                error
                    .to_string()
                    .contains(if passes_over { message } else { "(shard key)" })
            );
            assert!(!error.is_transient() && proxy.is_done());
        }
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn contention_is_told_from_misuse() {
    with_db(async |t| {
        let proxy = proxy().await;
        let (odm, _) = through(&proxy, &t).await;
        let accounts = odm.collection::<Account>();
        accounts.insert(account(1, 1)).await.unwrap();
        // As if somebody had raised the sum before each attempt, and lowered it again before it was looked for.
        let nothing = doc! { "ok": 1.0, "n": 0, "nModified": 0 };
        proxy.next("update", 100, Fate::Answered(nothing));
        let beaten = accounts.update(1).inc(|a| a.cents, 1).await.unwrap_err();
        assert!(matches!(beaten, Error::Contention { .. }), "{beaten}");
        assert!(beaten.is_transient());
        let misuse = accounts.find_all().skip(1).page(2).await.unwrap_err();
        assert!(matches!(misuse, Error::Query { .. }) && !misuse.is_transient());
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn a_change_that_passes_a_bound_names_the_document_and_the_stored_value() {
    with_db(async |t| {
        let (odm, _) = directly(&t).await;
        let accounts = odm.collection::<Account>();
        let mut one = account(7, 999);
        let limit = |kind: &str, cents| Limit {
            kind: kind.to_owned(),
            cents,
        };
        one.limits = vec![limit("day", 10), limit("week", 99)];
        accounts.insert(one).await.unwrap();
        let error = accounts.update(7).inc(|a| a.cents, 2).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "accounts: `cents` of the document with _id 7 must be at most 1000 (999 is stored)"
        );
        let error = accounts
            .update(7)
            .each(|a| a.limits, |limit| limit.inc(|l| l.cents, 2))
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "accounts: `limits.cents` of the document with _id 7 must be at most 100 (99 is stored)"
        );
    });
}
