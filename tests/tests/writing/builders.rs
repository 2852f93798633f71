//! An operation holds its collection: it can be built in parts, returned by a function and run in a task of its own.

use odm::bson::doc;
use odm::prelude::*;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    #[field(max_len = 100)]
    text: String,
    stars: i32,
}

fn note(id: i32) -> Note {
    let text = "a note".to_owned();
    Note { id, text, stars: 0 }
}

/// The operation that a function returns whose collection it has made itself.
fn starred(odm: &Odm, least: i32) -> odm::query::Find<Note> {
    odm.collection::<Note>()
        .find(|n| n.stars.gte(least))
        .sort(|n| n.id.asc())
}

#[odm_tests::test]
fn an_operation_outlives_the_collection_that_it_was_built_from() {
    with_db(async |t| {
        let odm = Odm::new(t.db, models![Note]).unwrap();
        odm.sync().await.unwrap();

        let insert = odm.collection::<Note>().insert(note(1));
        let many = odm.collection::<Note>().insert_many([note(2), note(3)]);
        insert.await.unwrap();
        many.await.unwrap();

        let mut update = odm.collection::<Note>().update(1);
        update = update.inc(|n| n.stars, 1);
        update = update.set(|n| n.text, "changed");
        assert_eq!(update.await.unwrap().modified, 1);
        let returning = odm.collection::<Note>().update(1).inc(|n| n.stars, 1).returning();
        assert_eq!(returning.await.unwrap().stars, 2);
        let every = odm
            .collection::<Note>()
            .update_where(|n| n.id.gt(1))
            .inc(|n| n.stars, 1);
        assert_eq!(every.await.unwrap().modified, 2);
        let replace = odm.collection::<Note>().replace(note(3));
        assert_eq!(replace.await.unwrap(), note(3));

        let ids = |notes: Vec<Note>| notes.iter().map(|n| n.id).collect::<Vec<_>>();
        assert_eq!(ids(starred(&odm, 1).all().await.unwrap()), [1, 2]);
        let page = starred(&odm, 0).page(2);
        assert_eq!(ids(page.await.unwrap().items), [1, 2]);
        let lossy = starred(&odm, 2).lossy();
        assert_eq!(ids(lossy.all().await.unwrap().items), [1]);
        let aggregate = odm.collection::<Note>().aggregate().filter(|n| n.stars.eq(0));
        assert_eq!(ids(aggregate.all().await.unwrap()), [3]);

        let one = odm.collection::<Note>().delete(1);
        let others = odm.collection::<Note>().delete_where(|n| n.id.gt(1));
        assert_eq!(one.await.unwrap().deleted, 1);
        assert_eq!(others.await.unwrap().deleted, 2);
    });
}

#[odm_tests::test]
fn an_operation_runs_in_a_task_of_its_own() {
    with_db(async |t| {
        let odm = Odm::new(t.db, models![Note]).unwrap();
        odm.sync().await.unwrap();
        let notes = odm.collection::<Note>();
        notes.insert(note(1)).await.unwrap();
        let updates: Vec<_> = (0..5)
            .map(|_| tokio::spawn(notes.update(1).inc(|n| n.stars, 1).into_future()))
            .collect();
        drop(notes);
        for update in updates {
            assert_eq!(update.await.unwrap().unwrap().modified, 1);
        }
        let found = tokio::spawn(starred(&odm, 5).one().into_future());
        assert_eq!(found.await.unwrap().unwrap().unwrap().stars, 5);
    });
}

#[odm_tests::test]
fn an_operation_of_a_transaction_is_a_part_of_it_wherever_it_was_built() {
    with_db(async |t| {
        let odm = Odm::new(t.db, models![Note]).unwrap();
        odm.sync().await.unwrap();
        odm_tests::require_transactions(&odm).await;
        let ended = odm
            .transaction(async |tx| {
                let insert = tx.collection::<Note>().insert(note(1));
                insert.await?;
                let find = tx.collection::<Note>().find_all();
                assert_eq!(find.count().await?, 1);
                Err::<(), _>(odm::Error::Query {
                    collection: "notes",
                    message: "it is taken back".into(),
                })
            })
            .await;
        assert!(ended.is_err());
        let raw = odm.collection::<Note>().driver::<odm::bson::Document>();
        assert_eq!(raw.count_documents(doc! {}).await.unwrap(), 0);
    });
}
