//! Several writes as one.

use super::models::*;
use futures::TryStreamExt;
use odm::Error;
use odm::prelude::*;
use odm_tests::{lacks_transactions, require_transactions, with_db};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[odm_tests::test]
fn a_transaction_is_all_or_nothing() {
    with_db(async |t| {
        let odm = odm(&t).await;
        if lacks_transactions(&odm).await {
            let refused = odm.transaction(async |_| Ok(())).await;
            assert!(matches!(refused, Err(Error::Unsupported { .. })));
            return;
        }
        let (shops, notes) = (odm.collection::<Shop>(), odm.collection::<Note>());
        let ada = odm
            .transaction(async |tx| {
                let ada = tx.collection::<Shop>().insert(shop("Ada", 1)).await?;
                tx.collection::<Note>().insert_many([note(1), note(2)]).await?;
                // It sees its own writes, also through a stream, a page, a count and a pipeline.
                assert!(tx.collection::<Shop>().get(ada.id).await?.is_some());
                let notes = tx.collection::<Note>();
                let streamed: Vec<Note> = notes.find_all().stream().await?.try_collect().await?;
                assert_eq!(streamed.len(), 2);
                assert_eq!(notes.find_all().page(1).await?.items.len(), 1);
                assert_eq!(notes.find_all().count().await?, 2);
                assert_eq!(notes.aggregate().all::<odm::bson::Document>().await?.len(), 2);
                notes.update(1).set(|n| n.text, "changed").await?;
                tx.bulk().add(notes.delete(2)).await?;
                Ok(ada)
            })
            .await
            .unwrap();
        assert_eq!(shops.get(ada.id).await.unwrap().unwrap(), ada);
        assert_eq!(notes.find_all().count().await.unwrap(), 1);

        let error = odm
            .transaction(async |tx| {
                tx.collection::<Shop>().delete(ada.id).await?;
                tx.collection::<Note>().insert(note(1)).await?; // a twin
                Ok(())
            })
            .await
            .unwrap_err();
        assert!(matches!(error, Error::DuplicateKey { .. }), "{error}");
        assert!(shops.get(ada.id).await.unwrap().is_some(), "rolled back");

        let error = odm
            .transaction(async |tx| {
                tx.collection::<Shop>().delete(ada.id).await?;
                Err::<(), _>(Error::application("the shop is needed"))
            })
            .await
            .unwrap_err();
        assert!(matches!(&error, Error::Application(_)), "{error}");
        assert_eq!(error.to_string(), "the shop is needed");
        assert!(shops.get(ada.id).await.unwrap().is_some(), "rolled back");
    });
}

/// Errors that the closure may ignore, as the guide says, and those that it may not.
#[odm_tests::test]
fn an_error_that_is_passed_over_ends_it_where_the_server_refused() {
    with_db(async |t| {
        let odm = odm(&t).await;
        require_transactions(&odm).await;
        let notes = odm.collection::<Note>();
        let read = notes.insert(note(1)).await.unwrap();
        notes.update(1).push_all(|n| n.lines, ["a", "b"]).await.unwrap();
        odm.transaction(async |tx| {
            let notes = tx.collection::<Note>();
            let long = NewNote {
                lines: vec![String::new(); 3],
                ..note(2)
            };
            let invalid = notes.insert(long).await;
            assert!(matches!(invalid, Err(Error::Invalid { .. })), "{invalid:?}");
            let full = notes.update(1).push(|n| n.lines, "c").await;
            assert!(matches!(full, Err(Error::ArrayFull { .. })), "{full:?}");
            let none = notes.update(9).set(|n| n.text, "x").await;
            assert!(matches!(none, Err(Error::NotFound { .. })), "{none:?}");
            let late = notes.update(&read).set(|n| n.text, "x").await;
            assert!(matches!(late, Err(Error::Conflict { .. })), "{late:?}");
            notes.update(1).set(|n| n.text, "committed").await?;
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(notes.get(1).await.unwrap().unwrap().text, "committed");

        let refused = odm
            .transaction(async |tx| {
                let twin = tx.collection::<Note>().insert(note(1)).await;
                assert!(matches!(twin, Err(Error::DuplicateKey { .. })), "{twin:?}");
                Ok(())
            })
            .await;
        assert!(matches!(&refused, Err(Error::Application(_))), "{refused:?}");
        let words = refused.unwrap_err().to_string();
        assert!(
            words.contains("the transaction was rolled back") && words.contains("E11000"),
            "{words}"
        );
    });
}

#[odm_tests::test]
fn transactions_that_meet_are_run_again() {
    with_db(async |t| {
        let odm = odm(&t).await;
        require_transactions(&odm).await;
        let notes = odm.collection::<Note>();
        notes.insert(note(1)).await.unwrap();
        let runs = Arc::new(AtomicU32::new(0));
        let tasks = (0..4).map(|_| {
            let (odm, runs) = (odm.clone(), runs.clone());
            // The future is Send: it can be spawned.
            tokio::spawn(async move {
                odm.transaction(|tx| {
                    let runs = runs.clone();
                    async move {
                        runs.fetch_add(1, Ordering::Relaxed);
                        let notes = tx.collection::<Note>();
                        let note = notes.get(1).required().await?;
                        let n: i64 = note.text.parse().unwrap_or(0);
                        notes.update(&note).set(|x| x.text, (n + 1).to_string()).await?;
                        Ok(())
                    }
                })
                .await
            })
        });
        for task in futures::future::join_all(tasks).await {
            task.unwrap().unwrap();
        }
        let note = notes.get(1).await.unwrap().unwrap();
        assert_eq!((note.text.as_str(), note.version), ("4", 5), "no update was lost");
        assert!(runs.load(Ordering::Relaxed) >= 4);
    });
}
