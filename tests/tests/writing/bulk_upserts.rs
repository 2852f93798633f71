//! Upserts in a bulk: in one command, or by themselves where more is to be known.

use futures::future::join_all;
use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, with_db, with_transactions};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "counters")]
struct Counter {
    #[serde(rename = "_id")]
    id: i32,
    #[index(unique)]
    name: String,
    value: f64,
    #[field(max = 3)]
    limited: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "named")]
struct Named {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[index(unique)]
    name: String,
    value: f64,
}

/// Its name is copied.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "labels")]
struct Label {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "bottles")]
struct Bottle {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(on_delete = restrict)]
    label: Ref<Label>,
    #[denormalize(from = label.text)]
    text: String,
}

async fn odm(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Counter, Named, Label, Bottle]).unwrap();
    odm.sync().await.unwrap();
    odm.bulk().delete::<Counter>(0).await.unwrap();
    t.commands.clear();
    odm
}

#[odm_tests::test]
fn upserts_are_sent_together_and_count_what_they_inserted() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let counters = odm.collection::<Counter>();
        let count = |bulk: odm::write::Bulk, id: i32| {
            bulk.upsert::<Counter>(id, |c| {
                c.set(|c| c.value, 1.0)
                    .set_on_insert(|c| c.name, format!("c{id}"))
                    .set_on_insert(|c| c.limited, 0)
            })
        };
        let first = (1..=3).fold(odm.bulk(), count);
        let done = first.await.unwrap();
        assert_eq!((done.upserted, done.matched, done.missed), (3, 0, 0));
        assert_eq!(t.commands.take().len(), 1);
        let done = (2..=5)
            .fold(odm.bulk().unordered(), count)
            .update::<Counter>(9, |c| c.set(|c| c.value, 2.0))
            .await;
        let done = done.unwrap();
        assert_eq!((done.upserted, done.matched, done.missed), (2, 2, 1));

        // The way of servers without `bulkWrite`.
        let done = (5..=6)
            .fold(odm.bulk().without_bulk_write_command(), count)
            .update::<Counter>(9, |c| c.set(|c| c.value, 2.0))
            .update::<Counter>(1, |c| c.set(|c| c.value, 2.0))
            .await
            .unwrap();
        assert_eq!((done.upserted, done.matched, done.missed), (1, 2, 1));
        assert_eq!(counters.find_all().count().await.unwrap(), 6);
    });
}

#[odm_tests::test]
fn an_upsert_by_a_unique_key_is_one_document_for_any_number_of_clients() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let clients = (0..12).map(|client| {
            let bulk = (0..5).fold(odm.bulk(), |bulk, n| {
                bulk.upsert_by::<Named>(
                    |c| c.name.eq(format!("n{n}")),
                    |c| c.set(|c| c.value, f64::from(client)),
                )
            });
            bulk.into_future()
        });
        for done in join_all(clients).await {
            match done {
                Ok(done) => assert_eq!(done.upserted + done.matched, 5),
                Err(Error::Bulk { errors, .. }) => {
                    // MongoDB repeats an upsert that lost such a race; this server does not.
                    assert!(
                        errors
                            .iter()
                            .all(|(_, error)| matches!(error, Error::DuplicateKey { .. })),
                        "{errors:?}"
                    );
                    assert!(odm_tests::is_the_stand_in(&t.db).await, "{errors:?}");
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!(odm.collection::<Named>().find_all().count().await.unwrap(), 5);
        let refused = odm
            .bulk()
            .upsert_by::<Named>(|c| c.value.eq(1.0), |c| c.set(|c| c.value, 2.0))
            .await;
        let Err(Error::Bulk { errors, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(errors[0].1.to_string().contains("`name`"), "{errors:?}");
    });
}

#[odm_tests::test]
fn an_upsert_that_a_bound_holds_back_is_named_by_its_position() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let step = |bulk: odm::write::Bulk| {
            bulk.upsert::<Counter>(1, |c| {
                c.inc(|c| c.limited, 1)
                    .set_on_insert(|c| c.name, "one")
                    .set_on_insert(|c| c.value, 0.0)
            })
        };
        let done = step(step(step(odm.bulk()))).await.unwrap();
        assert_eq!((done.upserted, done.matched), (1, 2));
        let bulk = step(odm.bulk().update::<Counter>(1, |c| c.set(|c| c.value, 5.0)));
        let refused = bulk.update::<Counter>(1, |c| c.set(|c| c.value, 6.0)).await;
        let Err(Error::Bulk { errors, done }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((errors[0].0, done.matched), (1, 1));
        assert!(matches!(errors[0].1, Error::Invalid { .. }), "{errors:?}");
        let stored = odm.collection::<Counter>().get(1).required().await.unwrap();
        assert_eq!((stored.limited, stored.value), (3, 5.0));
    });
}

#[odm_tests::test]
fn rules_apply_to_the_upserts_of_a_bulk() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let upsert = |bulk: odm::write::Bulk, text: &str| {
            let text = text.to_owned();
            bulk.upsert::<Label>(1, |l| l.set(|l| l.text, text))
        };
        let done = upsert(odm.bulk(), "red").await.unwrap();
        assert_eq!((done.upserted, done.matched), (1, 0));
        let bottle = NewBottle {
            id: 1,
            label: Ref::new(1),
        };
        odm.collection::<Bottle>().insert(bottle).await.unwrap();
        let text = async || odm.collection::<Bottle>().get(1).required().await.unwrap().text;
        assert_eq!(text().await, "red");
        upsert(odm.bulk(), "blue").await.unwrap();
        assert_eq!(text().await, "blue");
        odm.transaction(async |tx| upsert(tx.bulk(), "green").await)
            .await
            .unwrap();
        assert_eq!(text().await, "green");
        let done = odm
            .bulk()
            .upsert::<Bottle>(2, |b| b.set(|b| b.label, Ref::new(7)))
            .await;
        let Err(Error::Bulk { errors, .. }) = done else {
            panic!("{done:?}");
        };
        assert!(
            matches!(errors[0].1, Error::MissingReference { .. }),
            "{errors:?}"
        );
        let within = odm.transaction(async |tx| {
            let bulk = upsert(tx.bulk(), "pink");
            bulk.upsert::<Bottle>(2, |b| b.set(|b| b.label, Ref::new(7)))
                .await
        });
        let Err(Error::Bulk { errors, .. }) = within.await else {
            panic!("a bulk within a transaction says which write was refused");
        };
        assert!(
            matches!(errors.as_slice(), [(1, Error::MissingReference { .. })]),
            "{errors:?}"
        );
        assert_eq!(text().await, "green", "nothing of it is committed");
        assert_clean(&odm).await;
    });
}
