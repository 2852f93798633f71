//! Upserts in a bulk: in one command, or by themselves where more is to be known.

use futures::future::join_all;
use odm::__private::SwitchBulk as _;
use odm::prelude::*;
use odm::write::Bulk;
use odm::{Error, Handle};
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

/// A bulk that upserts the label.
fn upsert(handle: &impl Handle, text: &str) -> Bulk {
    let label = handle.collection::<Label>().update(1).set(|l| l.text, text);
    handle.bulk().add(label.upsert())
}

async fn odm(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Counter, Named, Label, Bottle]).unwrap();
    odm.sync().await.unwrap();
    odm.bulk()
        .add(odm.collection::<Counter>().delete(0))
        .await
        .unwrap();
    t.commands.clear();
    odm
}

#[odm_tests::test]
fn upserts_are_sent_together_and_count_what_they_inserted() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let counters = odm.collection::<Counter>();
        let count = |id: i32| {
            let update = counters.update(id).set(|c| c.value, 1.0);
            let update = update.set_on_insert(|c| c.name, format!("c{id}"));
            update.set_on_insert(|c| c.limited, 0).upsert()
        };
        let done = odm.bulk().add_all((1..=3).map(count)).await.unwrap();
        assert_eq!((done.upserted, done.matched, done.missed), (3, 0, 0));
        assert_eq!(t.commands.take().len(), 1);
        let bulk = odm.bulk().unordered().add_all((2..=5).map(count));
        let done = bulk.add(counters.update(9).set(|c| c.value, 2.0)).await.unwrap();
        assert_eq!((done.upserted, done.matched, done.missed), (2, 2, 1));

        // The way of servers without `bulkWrite`.
        let mut bulk = odm.bulk().without_bulk_write_command();
        bulk.extend((5..=6).map(count));
        let done = bulk
            .add(counters.update(9).set(|c| c.value, 2.0))
            .add(counters.update(1).set(|c| c.value, 2.0))
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
        let names = odm.collection::<Named>();
        let clients = (0..12).map(|client| {
            let upsert = |n| {
                let named = names.update_where(|c| c.name.eq(format!("n{n}")));
                named.set(|c| c.value, f64::from(client)).upsert()
            };
            let bulk = odm.bulk().add_all((0..5).map(upsert));
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
        assert_eq!(names.find_all().count().await.unwrap(), 5);
        let refused = odm
            .bulk()
            .add(
                names
                    .update_where(|c| c.value.eq(1.0))
                    .set(|c| c.value, 2.0)
                    .upsert(),
            )
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
        let counters = odm.collection::<Counter>();
        let step = || {
            let update = counters.update(1).inc(|c| c.limited, 1);
            update
                .set_on_insert(|c| c.name, "one")
                .set_on_insert(|c| c.value, 0.0)
                .upsert()
        };
        let done = odm.bulk().add(step()).add(step()).add(step()).await.unwrap();
        assert_eq!((done.upserted, done.matched), (1, 2));
        let refused = odm
            .bulk()
            .add(counters.update(1).set(|c| c.value, 5.0))
            .add(step())
            .add(counters.update(1).set(|c| c.value, 6.0))
            .await;
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
        let done = upsert(&odm, "red").await.unwrap();
        assert_eq!((done.upserted, done.matched), (1, 0));
        let bottle = NewBottle {
            id: 1,
            label: Ref::new(1),
        };
        odm.collection::<Bottle>().insert(bottle).await.unwrap();
        let text = async || odm.collection::<Bottle>().get(1).required().await.unwrap().text;
        assert_eq!(text().await, "red");
        upsert(&odm, "blue").await.unwrap();
        assert_eq!(text().await, "blue");
        odm.transaction(async |tx| upsert(&tx, "green").await)
            .await
            .unwrap();
        assert_eq!(text().await, "green");
        let done = odm
            .bulk()
            .add(
                odm.collection::<Bottle>()
                    .update(2)
                    .set(|b| b.label, Ref::new(7))
                    .upsert(),
            )
            .await;
        let Err(Error::Bulk { errors, .. }) = done else {
            panic!("{done:?}");
        };
        assert!(
            matches!(errors[0].1, Error::MissingReference { .. }),
            "{errors:?}"
        );
        let within = odm.transaction(async |tx| {
            let bulk = upsert(&tx, "pink");
            bulk.add(
                tx.collection::<Bottle>()
                    .update(2)
                    .set(|b| b.label, Ref::new(7))
                    .upsert(),
            )
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
