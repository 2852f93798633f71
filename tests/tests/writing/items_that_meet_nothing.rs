//! An update with nothing to change says so, and raises neither the version nor `updated_at`.

use odm::__private::SwitchBulk as _;
use odm::bson::{DateTime, doc};
use odm::prelude::*;
use odm::update::Changes;
use odm::{Error, Odm};
use odm_tests::{TestDb, changed, with_db};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "people", version, timestamps)]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    nickname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[embed(max = 5)]
    tags: Vec<String>,
    #[embed(max = 5)]
    scores: Vec<i32>,
    #[embed(max = 5)]
    maybe: Option<Vec<String>>,
    #[embed(max = 5)]
    addresses: Vec<Address>,
    #[embed(max = 5)]
    settings: std::collections::BTreeMap<String, i32>,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Address {
    city: String,
    street: String,
}

fn person(id: i32) -> NewPerson {
    NewPerson {
        id,
        name: "Kate".into(),
        nickname: None,
        note: None,
        tags: vec!["a".into(), "b".into()],
        scores: vec![10, 50],
        maybe: None,
        addresses: vec![Address {
            city: "Bonn".into(),
            street: "Am Hof".into(),
        }],
        settings: Default::default(),
    }
}

fn empty(id: i32) -> NewPerson {
    NewPerson {
        tags: vec![],
        scores: vec![],
        addresses: vec![],
        ..person(id)
    }
}

/// Document 1 has items, and document 2 none.
async fn some(t: &TestDb) -> (Odm, odm::Collection<Person>) {
    let odm = Odm::new(t.db.clone(), models![Person]).unwrap();
    odm.sync().await.unwrap();
    let people = odm.collection::<Person>();
    people.insert_many([person(1), empty(2)]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(3)).await;
    (odm, people)
}

type Alter = fn(Changes<Person>) -> Changes<Person>;

/// Updates that have items to change in the first document, or meet nothing there; in the second one they meet nothing.
fn updates() -> Vec<(&'static str, bool, Alter)> {
    vec![
        ("pull", true, |p| p.pull(|p| p.tags, "a")),
        ("pull nothing", false, |p| p.pull(|p| p.tags, "x")),
        ("pull all", true, |p| p.pull_all(|p| p.tags, ["x", "b"])),
        ("pull all of nothing", false, |p| {
            p.pull_all(|p| p.tags, ["x", "y"])
        }),
        ("pull where", true, |p| p.pull_where(|p| p.scores, |s| s.gt(20))),
        ("pull where none is", false, |p| {
            p.pull_where(|p| p.scores, |s| s.gt(99))
        }),
        ("pull a struct", true, |p| {
            p.pull_where(|p| p.addresses, |a| a.city.eq("Bonn"))
        }),
        ("pull no struct", false, |p| {
            p.pull_where(|p| p.addresses, |a| a.city.eq("Rome"))
        }),
        ("pull of null", false, |p| p.pull(|p| p.maybe, "x")),
        ("pop", true, |p| p.pop(|p| p.tags)),
        ("pop of null", false, |p| p.pop_first(|p| p.maybe)),
        ("elem", true, |p| {
            p.elem(
                |p| p.addresses,
                |a| a.city.eq("Bonn"),
                |a| a.set(|a| a.street, "x"),
            )
        }),
        ("elem of none", false, |p| {
            p.elem(
                |p| p.addresses,
                |a| a.city.eq("Rome"),
                |a| a.set(|a| a.street, "x"),
            )
        }),
        ("elem of plain items", true, |p| {
            p.elem(|p| p.scores, |s| s.lt(20) | s.gt(90), |s| s.inc(|s| s, 1))
        }),
        ("elem of no plain item", false, |p| {
            p.elem(|p| p.scores, |s| s.lt(5) | s.gt(90), |s| s.inc(|s| s, 1))
        }),
        ("each", true, |p| p.each(|p| p.scores, |s| s.inc(|s| s, 1))),
        ("each of null", false, |p| {
            p.each(|p| p.maybe, |m| m.set(|m| m, "x"))
        }),
        ("replace", true, |p| p.replace_item(|p| p.tags, "a", "c")),
        ("replace nothing", false, |p| p.replace_item(|p| p.tags, "x", "c")),
        ("one of two", true, |p| {
            p.pull(|p| p.tags, "x").pull_where(|p| p.scores, |s| s.lt(20))
        }),
        ("none of two", false, |p| {
            p.pull(|p| p.tags, "x").pull_where(|p| p.scores, |s| s.lt(5))
        }),
    ]
}

#[odm_tests::test]
fn items_that_are_not_there_change_nothing() {
    with_db(async |t| {
        for (words, changes, update) in updates() {
            let (odm, people) = some(&t).await;
            let before = people.find_all().sort(|p| p.id.asc()).all().await.unwrap();
            let one = |id: i32| people.update(id);
            for id in [1, 2] {
                let update_one = changed(one(id), update);
                t.commands.clear();
                let done = update_one.await.unwrap();
                let changed = changes && id == 1;
                assert_eq!(
                    (done.matched, done.modified),
                    (1, changed.into()),
                    "{words}, {id}"
                );
                // The second one asks why.
                assert_eq!(
                    t.commands.take().len(),
                    if changed { 1 } else { 2 },
                    "{words}, {id}"
                );
                let (old, stored) = (&before[id as usize - 1], people.get(id).await.unwrap().unwrap());
                assert_eq!(stored.version, old.version + i64::from(changed), "{words}, {id}");
                assert_eq!(stored.updated_at > old.updated_at, changed, "{words}, {id}");
                assert_eq!(stored == *old, !changed, "{words}, {id}");
            }
            // With nothing to change the document is returned as it is.
            let stored = people.get(2).required().await.unwrap();
            let given = changed(one(2).returning(), update);
            assert_eq!(given.await.unwrap(), stored, "{words}");
            drop(odm);
            t.db.collection::<odm::bson::Document>("people")
                .delete_many(doc! {})
                .await
                .unwrap();
        }
    });
}

#[odm_tests::test]
fn an_update_of_many_counts_those_that_fit_and_those_that_change() {
    with_db(async |t| {
        for (words, changes, update) in updates() {
            let (odm, people) = some(&t).await;
            let of_all = changed(people.update_where(|p| p.id.gt(0)), update);
            t.commands.clear();
            let done = of_all.await.unwrap();
            assert_eq!(t.commands.take(), ["update"], "{words}");
            assert_eq!(
                (done.matched, done.modified, done.refused),
                (2, changes.into(), 0),
                "{words}"
            );
            let versions = async || {
                let all = people.find_all().sort(|p| p.id.asc()).all().await.unwrap();
                all.iter().map(|person| person.version).collect::<Vec<_>>()
            };
            let first = 1 + i64::from(changes);
            assert_eq!(versions().await, [first, 1], "{words}");
            // A bulk, in both of its ways.
            people.delete_all().await.unwrap();
            people.insert_many([person(1), empty(2)]).await.unwrap();
            let bulk = odm
                .bulk()
                .add(changed(people.update(1), update))
                .add(changed(people.update(2), update))
                .add(changed(people.update(3), update));
            let done = bulk.await.unwrap();
            assert_eq!(
                (done.matched, done.modified, done.missed),
                (2, changes.into(), 1),
                "{words}"
            );
            assert_eq!(versions().await, [first, 1], "{words}");
            people.delete_all().await.unwrap();
            people.insert_many([person(1), empty(2)]).await.unwrap();
            let bulk = odm
                .bulk()
                .without_bulk_write_command()
                .add(changed(people.update(1), update))
                .add(changed(people.update(2), update));
            let done = bulk.add(changed(people.update(3), update)).await.unwrap();
            assert_eq!(
                (done.matched, done.modified, done.missed),
                (2, changes.into(), 1),
                "{words}"
            );
            let done = odm
                .bulk()
                .add(changed(people.update_where(|p| p.id.gt(1)), update))
                .await
                .unwrap();
            assert_eq!((done.matched, done.modified), (1, 0), "{words}");
            assert_eq!(versions().await, [first, 1], "{words}");
            people.delete_all().await.unwrap();
        }
    });
}

#[odm_tests::test]
fn an_update_that_meets_nothing_is_told_from_one_that_finds_nothing() {
    with_db(async |t| {
        let (_odm, people) = some(&t).await;
        let error = people.update(9).pull(|p| p.tags, "x").await.unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
        let mut stale = people.get(1).await.unwrap().unwrap();
        stale.version = 9;
        let error = people.update(&stale).pull(|p| p.tags, "x").await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Conflict {
                    seen: 9,
                    found: Some(1),
                    ..
                }
            ),
            "{error}"
        );
        // Beside another change the version rises as ever.
        let done = people
            .update(1)
            .pull(|p| p.tags, "x")
            .set(|p| p.name, "Ann")
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (1, 1));
        assert_eq!(people.get(1).await.unwrap().unwrap().version, 2);
    });
}

#[odm_tests::test]
fn an_update_without_changes_answers_alike_in_every_form() {
    with_db(async |t| {
        let (_odm, people) = some(&t).await;
        let kate = people.get(1).await.unwrap().unwrap();
        t.commands.clear();
        let done = people.update(&kate).await.unwrap();
        assert_eq!((done.matched, done.modified, t.commands.take().len()), (1, 0, 1));
        let given = people.update(&kate).returning().await.unwrap();
        assert_eq!((&given, t.commands.take().len()), (&kate, 1));
        assert_eq!(people.update(1).returning_before().await.unwrap(), kate);
        let missing = people.update(9);
        assert!(matches!(missing.await, Err(Error::NotFound { .. })));
        assert!(matches!(
            people.update(9).returning().await,
            Err(Error::NotFound { .. })
        ));
        let stale = Person {
            version: 7,
            ..kate.clone()
        };
        for error in [
            people.update(&stale).await.unwrap_err(),
            people.update(&stale).returning().await.unwrap_err(),
            people.update(&stale).returning_before().await.unwrap_err(),
        ] {
            assert!(
                matches!(
                    error,
                    Error::Conflict {
                        seen: 7,
                        found: Some(1),
                        ..
                    }
                ),
                "{error}"
            );
        }
        assert_eq!(people.get(1).await.unwrap(), Some(kate));
    });
}

#[odm_tests::test]
fn two_changes_of_one_field_are_refused() {
    with_db(async |t| {
        let (_odm, people) = some(&t).await;
        let refused: Vec<(&str, Alter)> = vec![
            ("name", |p| p.set(|p| p.name, "a").set(|p| p.name, "a")),
            ("name", |p| {
                p.set(|p| p.name, "a").raw(doc! { "$set": { "name": "b" } })
            }),
            ("name", |p| {
                p.raw(doc! { "$set": { "name": "b" } }).set(|p| p.name, "a")
            }),
            ("nickname", |p| p.set(|p| p.nickname, None).unset(|p| p.nickname)),
            ("nickname", |p| p.unset(|p| p.nickname).unset(|p| p.nickname)),
            ("note", |p| {
                p.set(|p| p.note, None).set(|p| p.note, Some("x".to_owned()))
            }),
            ("note", |p| {
                p.set(|p| p.note, Some("x".to_owned())).set(|p| p.note, None)
            }),
            ("note", |p| p.set(|p| p.note, None).set(|p| p.note, None)),
            ("name", |p| p.set_on_insert(|p| p.name, "a").set(|p| p.name, "a")),
            ("name", |p| {
                p.set_on_insert(|p| p.name, "a").set_on_insert(|p| p.name, "b")
            }),
            ("settings.a", |p| {
                p.set_key(|p| p.settings, "a", 1).set_key(|p| p.settings, "a", 2)
            }),
            ("settings.a", |p| {
                p.set_key(|p| p.settings, "a", 1).unset_key(|p| p.settings, "a")
            }),
            ("updated_at", |p| {
                p.set(|p| p.name, "a").raw(doc! { "$set": { "updated_at": 1 } })
            }),
            ("version", |p| {
                p.set(|p| p.name, "a").raw(doc! { "$inc": { "version": 5 } })
            }),
        ];
        t.commands.clear();
        for (field, update) in refused {
            let twice = changed(people.update(1), update);
            let error = twice.await.unwrap_err();
            assert!(matches!(error, Error::Query { .. }), "{error}");
            assert!(
                error.to_string().contains(&format!("`{field}`")),
                "{field}: {error}"
            );
        }
        assert!(
            t.commands.take().is_empty(),
            "it is found before anything is sent"
        );
        // Items: by one condition, and by two conditions that match one item, which the server finds.
        let street = |p: Changes<Person>, city: &str| {
            let city = city.to_owned();
            p.elem(
                |p| p.addresses,
                |a| a.city.starts_with(&city),
                |a| a.set(|a| a.street, "x"),
            )
        };
        let mut twice = people.update(1);
        *odm::update::Change::changes(&mut twice) = street(street(Changes::new(), "Bonn"), "Bonn");
        let error = twice.await.unwrap_err();
        assert!(error.to_string().contains("`addresses.street` twice"), "{error}");
        let mut twice = people.update(1);
        *odm::update::Change::changes(&mut twice) = street(street(Changes::new(), "Bo"), "Bonn");
        match twice.await {
            Err(error) => assert!(matches!(error, Error::Query { .. }), "{error}"),
            // The stand-in of MongoDB takes it.
            Ok(_) => assert!(odm_tests::is_the_stand_in(&t.db).await),
        }
        // Pushes and pulls of one array are one change.
        people
            .update(1)
            .push(|p| p.tags, "c")
            .push(|p| p.tags, "d")
            .await
            .unwrap();
        people
            .update(1)
            .pull(|p| p.tags, "c")
            .pull(|p| p.tags, "a")
            .await
            .unwrap();
        assert_eq!(people.get(1).await.unwrap().unwrap().tags, ["b", "d"]);
    });
}
