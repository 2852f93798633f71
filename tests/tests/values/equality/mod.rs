//! Equality by value: what is found, taken out, replaced and added is what Rust's `==` says of what is read, however another client
//! has stored it.

mod defaults;
mod ids;
mod model;
mod numbers;

use model::{Door, Form, Home, House, Note, Random, Room, State, another_client, houses};
use odm::bson::{self, doc};
use odm::prelude::*;
use odm::update::Change;
use odm::{Collection, Error};
use odm_tests::{TestDb, with_db};
use std::collections::{BTreeMap, BTreeSet};

async fn prepared(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![House]).unwrap();
    odm.sync().await.unwrap();
    odm
}

async fn found(houses: &Collection<House>, filter: Filter<House>) -> BTreeSet<i32> {
    let said = format!("{filter:?}");
    let all = houses.find(|_| filter).all().await;
    all.unwrap_or_else(|e| panic!("{said}: {e}"))
        .into_iter()
        .map(|house| house.id)
        .collect()
}

/// Every filter on values of one field, with the documents that it finds by Rust's `==`.
macro_rules! of_field {
    ($all:ident, $houses:ident, $($field:ident)*) => {$(
        for (at, value) in $all.iter().map(|house| house.$field.clone()).enumerate() {
            let p = House::paths();
            let other = $all[(at + 1) % $all.len()].$field.clone();
            let of = |wanted: &dyn Fn(&House) -> bool| -> BTreeSet<i32> {
                $all.iter().filter(|house| wanted(house)).map(|house| house.id).collect()
            };
            let two = || [value.clone(), other.clone()];
            for (filter, expected) in [
                (p.$field.eq(value.clone()), of(&|house| house.$field == value)),
                (p.$field.ne(value.clone()), of(&|house| house.$field != value)),
                (p.$field.in_(two()), of(&|house| two().contains(&house.$field))),
                (p.$field.not_in(two()), of(&|house| !two().contains(&house.$field))),
            ] {
                let said = format!("{}: {filter:?}", stringify!($field));
                assert_eq!(found(&$houses, filter).await, expected, "{said}");
            }
        }
    )*};
}

/// Another client reorders keys, leaves out what is `null`, adds fields, and stores items of sets twice.
#[odm_tests::test]
fn filters_answer_as_rust_compares() {
    with_db(async |t| {
        let odm = prepared(&t).await;
        let houses_of = odm.collection::<House>();
        for seed in 0..3 {
            let mut random = Random::new(seed);
            let written = houses(&mut random, 9);
            t.db.collection::<bson::Document>("houses")
                .delete_many(doc! {})
                .await
                .unwrap();
            houses_of.insert_many(written.clone()).await.unwrap();
            another_client(&t.db, &mut random).await;
            let all = houses_of.find_all().sort(|p| p.id.asc()).all().await.unwrap();
            assert_eq!(all, written, "what another client did means nothing to a reader");
            of_field!(all, houses_of, home work tags hours owners state form note pair);
            let p = House::paths();
            for house in &all {
                for room in &house.rooms {
                    let other = Room::random(&mut random);
                    let two = [room.clone(), other.clone()];
                    let of = |wanted: &dyn Fn(&House) -> bool| -> BTreeSet<i32> {
                        all.iter()
                            .filter(|house| wanted(house))
                            .map(|house| house.id)
                            .collect()
                    };
                    for (filter, expected) in [
                        (p.rooms.contains(room), of(&|house| house.rooms.contains(room))),
                        (!p.rooms.contains(room), of(&|house| !house.rooms.contains(room))),
                        (
                            p.rooms.contains_any(two.clone()),
                            of(&|house| two.iter().any(|one| house.rooms.contains(one))),
                        ),
                        (
                            p.rooms.contains_all(two.clone()),
                            of(&|house| two.iter().all(|one| house.rooms.contains(one))),
                        ),
                        (
                            p.rooms.any_item().eq(room),
                            of(&|house| house.rooms.contains(room)),
                        ),
                        (
                            p.rooms.door.eq(&room.door),
                            of(&|house| house.rooms.iter().any(|one| one.door == room.door)),
                        ),
                    ] {
                        let said = format!("rooms: {filter:?}");
                        assert_eq!(found(&houses_of, filter).await, expected, "{said}");
                    }
                }
                for owner in &house.owners {
                    let expected = all
                        .iter()
                        .filter(|house| house.owners.contains(owner))
                        .map(|house| house.id)
                        .collect();
                    assert_eq!(found(&houses_of, p.owners.contains(owner)).await, expected);
                }
            }
        }
    });
}

#[odm_tests::test]
fn items_are_taken_out_and_replaced_by_value() {
    with_db(async |t| {
        let odm = prepared(&t).await;
        let houses_of = odm.collection::<House>();
        let mut random = Random::new(7);
        let written = houses(&mut random, 8);
        houses_of.insert_many(written.clone()).await.unwrap();
        another_client(&t.db, &mut random).await;
        for mut house in written {
            let Some(first) = house.rooms.first().cloned() else {
                continue;
            };
            let new = Room::random(&mut random);
            houses_of
                .update(house.id)
                .replace_item(|p| p.rooms, &first, &new)
                .await
                .unwrap();
            house
                .rooms
                .iter_mut()
                .filter(|room| **room == first)
                .for_each(|room| *room = new.clone());
            assert_eq!(houses_of.get(house.id).await.unwrap().unwrap(), house);
            let gone: Vec<Room> = house.rooms.iter().take(2).cloned().collect();
            houses_of
                .update(house.id)
                .pull_all(|p| p.rooms, &gone)
                .await
                .unwrap();
            house.rooms.retain(|room| !gone.contains(room));
            let owner = house.owners.pop_first();
            if let Some(owner) = owner {
                houses_of
                    .update(house.id)
                    .pull(|p| p.owners, owner)
                    .await
                    .unwrap();
            }
            assert_eq!(houses_of.get(house.id).await.unwrap().unwrap(), house);
        }
    });
}

/// Compared by bytes, a struct whose fields another client has stored in another order would be added a second time.
#[odm_tests::test]
fn an_item_is_added_to_a_set_once() {
    with_db(async |t| {
        let odm = prepared(&t).await;
        let houses_of = odm.collection::<House>();
        let mut random = Random::new(3);
        let mut house = houses(&mut random, 1).remove(0);
        let door = |width| Door { width, lock: None };
        house.owners = [door(1), door(2)].into();
        house.rooms = vec![Room {
            door: door(1),
            name: "hall".to_owned(),
            keys: BTreeMap::new(),
        }];
        let hall = house.rooms[0].clone();
        houses_of.insert(house.clone()).await.unwrap();
        another_client(&t.db, &mut random).await;
        let stored = async || {
            t.db.collection::<bson::Document>("houses")
                .find_one(doc! {})
                .await
                .unwrap()
                .unwrap()
        };
        let before = stored().await;

        // One that is there: it is found, and nothing changes, in a set and in an array.
        for update in [
            houses_of.update(house.id).add_to_set(|p| p.owners, door(1)),
            houses_of.update(house.id).push(|p| p.owners, door(2)),
            houses_of.update(house.id).add_to_set(|p| p.rooms, &hall),
            houses_of
                .update(house.id)
                .push_all(|p| p.owners, [door(1), door(2)]),
        ] {
            let done = update.await.unwrap();
            assert_eq!((done.matched, done.modified), (1, 0));
        }
        assert_eq!(stored().await, before);
        // Beside other changes, and beside one that is new.
        let done = houses_of
            .update(house.id)
            .push_all(|p| p.owners, [door(1), door(3), door(3)])
            .set(|p| p.pair, (5, door(5)))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (1, 1));
        house.owners.insert(door(3));
        house.pair = (5, door(5));
        assert_eq!(houses_of.get(house.id).await.unwrap().unwrap(), house);
        let returned = houses_of
            .update(house.id)
            .add_to_set(|p| p.owners, door(3))
            .set(|p| p.state, State::Draft);
        house.state = State::Draft;
        assert_eq!(returned.returning().await.unwrap(), house);
        // An array that is full has what it has.
        house.owners = (0..6).map(door).collect();
        houses_of
            .update(house.id)
            .set(|p| p.owners, house.owners.clone())
            .await
            .unwrap();
        another_client(&t.db, &mut random).await;
        t.db.collection::<bson::Document>("houses").update_one(doc! {}, doc! { "$set": { "owners": (0..6).map(|width| doc! { "lock": null, "width": width }).collect::<Vec<_>>() } }).await.unwrap();
        assert_eq!(
            houses_of
                .update(house.id)
                .add_to_set(|p| p.owners, door(4))
                .await
                .unwrap()
                .matched,
            1
        );
        let full = houses_of
            .update(house.id)
            .add_to_set(|p| p.owners, door(9))
            .await
            .unwrap_err();
        assert!(
            matches!(&full, Error::ArrayFull { field, max: 6, .. } if field == "owners"),
            "{full}"
        );
        let gone = houses_of
            .update(99)
            .add_to_set(|p| p.owners, door(4))
            .await
            .unwrap_err();
        assert!(matches!(gone, Error::NotFound { .. }), "{gone}");
        // An upsert of a document that is there.
        let done = houses_of
            .update(house.id)
            .add_to_set(|p| p.owners, door(4))
            .set(|p| p.form, Form::New)
            .upsert_with(house.clone())
            .await
            .unwrap();
        assert_eq!((done.matched, done.upserted), (1, None));
        assert_eq!(
            houses_of.get(house.id).await.unwrap().unwrap(),
            House {
                form: Form::New,
                ..house
            }
        );
    });
}

#[odm_tests::test]
fn in_an_update_of_many_an_item_is_added_alone() {
    with_db(async |t| {
        let odm = prepared(&t).await;
        let houses_of = odm.collection::<House>();
        let door = |width| Door { width, lock: None };
        let mut all = houses(&mut Random::new(4), 3);
        all[0].owners = [door(1)].into();
        all[1].owners = [door(2)].into();
        all[2].owners = (2..8).map(door).collect();
        houses_of.insert_many(all).await.unwrap();
        another_client(&t.db, &mut Random::new(5)).await;
        let done = houses_of
            .update_where(|p| p.id.gte(0))
            .add_to_set(|p| p.owners, door(1))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (2, 1, 1));
        let done = houses_of
            .update_where(|p| p.id.gte(0))
            .add_to_set(|p| p.owners, door(2))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (3, 1, 0));
        let alone = |error: Error| assert!(error.to_string().contains("the only change"), "{error}");
        alone(
            houses_of
                .update_where(|p| p.id.gte(0))
                .add_to_set(|p| p.owners, door(2))
                .set(|p| p.form, Form::New)
                .await
                .unwrap_err(),
        );
        alone(
            odm.bulk()
                .add(
                    houses_of
                        .update(1)
                        .push(|p| p.owners, door(2))
                        .set(|p| p.form, Form::New),
                )
                .await
                .unwrap_err(),
        );
        odm.bulk()
            .add(houses_of.update(1).push(|p| p.owners, door(7)))
            .await
            .unwrap();
        assert_eq!(
            houses_of
                .find(|p| p.owners.contains(door(7)))
                .count()
                .await
                .unwrap(),
            2
        );
    });
}

/// An upsert finds what is there, and inserts what its condition says.
#[odm_tests::test]
fn an_upsert_by_a_value_inserts_it_once() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![House]).unwrap();
        let houses_of = odm.collection::<House>();
        let mut random = Random::new(11);
        for (id, house) in (0..).zip(houses(&mut random, 6)) {
            t.db.collection::<bson::Document>("houses")
                .delete_many(doc! {})
                .await
                .unwrap();
            let upsert = async || {
                let whole = house.clone();
                let update = houses_of.update_where(|p| {
                    p.id.eq(id)
                        & p.home.eq(&whole.home)
                        & p.tags.eq(&whole.tags)
                        & p.hours.eq(&whole.hours)
                        & p.owners.eq(&whole.owners)
                        & p.state.eq(&whole.state)
                        & p.form.eq(&whole.form)
                        & p.note.eq(&whole.note)
                        & p.pair.eq(whole.pair.clone())
                });
                let update = update
                    .set_on_insert(|p| p.rooms, whole.rooms.clone())
                    .set(|p| p.work, whole.work.clone());
                update.upsert().await.unwrap()
            };
            assert!(upsert().await.upserted.is_some());
            let expected = House { id, ..house.clone() };
            assert_eq!(houses_of.find_all().all().await.unwrap(), [expected]);
            another_client(&t.db, &mut random).await;
            let again = upsert().await;
            assert_eq!((again.matched, again.upserted), (1, None));
        }
        let tags = || BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        let both = houses_of
            .update_where(|p| p.tags.eq(tags()))
            .push(|p| p.tags, "c")
            .upsert()
            .await
            .unwrap_err();
        assert!(
            matches!(&both, Error::Query { message, .. } if message.contains("set_on_insert")),
            "{both}"
        );
    });
}

/// A struct is found by the index on one of its fields.
#[odm_tests::test]
fn an_index_on_a_field_serves_equality_of_its_struct() {
    with_db(async |t| {
        let odm = prepared(&t).await;
        let houses_of = odm.collection::<House>();
        let all = houses(&mut Random::new(2), 40);
        houses_of.insert_many(all.clone()).await.unwrap();
        for home in [&all[0].home, &all[1].home] {
            let same_city = all.iter().filter(|house| house.home.city == home.city).count() as u64;
            for filter in [House::paths().home.eq(home), House::paths().home.in_([home])] {
                let plan = houses_of.find(|_| filter).explain().await.unwrap();
                assert!(format!("{plan:?}").contains("home.city"), "{plan:?}");
                assert!(plan.keys_examined <= same_city, "{plan:?}");
            }
        }
        // All that is asked of documents where one field says which struct it is.
        let plan = houses_of
            .find(|p| p.home.place.eq(&all[0].home.place))
            .explain()
            .await
            .unwrap();
        assert!(plan.documents_examined >= plan.returned, "{plan:?}");
    });
}

#[odm_tests::test]
fn more_values_than_a_condition_takes_are_refused() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![House]).unwrap();
        let houses_of = odm.collection::<House>();
        let homes = |n: usize| -> Vec<Home> {
            houses(&mut Random::new(1), n)
                .into_iter()
                .map(|house| house.home)
                .collect()
        };
        assert_eq!(
            houses_of.find(|p| p.home.in_(homes(100))).count().await.unwrap(),
            0
        );
        let error = houses_of
            .find(|p| p.home.in_(homes(101)))
            .count()
            .await
            .unwrap_err();
        assert!(
            matches!(&error, Error::Query { message, .. } if message.contains("at most 100")),
            "{error}"
        );
        // A map in the items of an array is asked for in each order of its entries.
        let keys = |n: i32| -> BTreeMap<String, i32> { (0..n).map(|n| (format!("k{n}"), n)).collect() };
        let room = |n| Room {
            keys: keys(n),
            ..Room::random(&mut Random::new(1))
        };
        assert_eq!(
            houses_of
                .find(|p| p.rooms.contains(room(4)))
                .count()
                .await
                .unwrap(),
            0
        );
        let error = houses_of
            .find(|p| p.rooms.contains(room(5)))
            .count()
            .await
            .unwrap_err();
        assert!(
            matches!(&error, Error::Query { message, .. } if message.contains("at most 4 entries")),
            "{error}"
        );
        let note = Note::Text("x".to_owned());
        assert_eq!(houses_of.find(|p| p.note.eq(note)).count().await.unwrap(), 0);
    });
}
