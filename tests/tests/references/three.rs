//! Three clients at one moment: what taking back a write restores or removes may meet a third one.

use odm::Error;
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm_tests::fixtures::interleaved::{Step, another, meddled_in};
use odm_tests::{TestDb, assert_clean, with_db};
use std::sync::atomic::Ordering;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "ports")]
pub struct Port {
    pub id: i32,
    #[index(unique)]
    pub code: String,
    pub name: String,
    /// The first one that is deleted while others refer to it.
    #[reference(on_delete = restrict)]
    pub of: Option<Ref<Port>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "ships", version)]
pub struct Ship {
    pub id: i32,
    #[reference(on_delete = nullify)]
    pub home: Option<Ref<Port>>,
    #[denormalize(from = home.name, consistency = eventual)]
    pub home_name: Option<String>,
    #[reference(by = code, on_delete = nullify)]
    pub next: Option<Ref<Port, String>>,
    #[reference(many, max = 5, on_delete = pull)]
    pub calls: Vec<Ref<Port>>,
    #[embed(max = 5)]
    pub stays: Vec<Stay>,
    #[reference]
    pub built_in: Option<Ref<Port>>,
    pub version: i64,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Stay {
    pub days: i32,
    #[reference(on_delete = nullify)]
    pub at: Option<Ref<Port>>,
}

fn port(id: i32) -> NewPort {
    NewPort {
        id,
        code: format!("P{id}"),
        name: format!("port {id}"),
        of: None,
    }
}

fn code(id: i32) -> Option<Ref<Port, String>> {
    Some(Ref::new(format!("P{id}")))
}

/// Refers to port 1 by every reference, and to 2 and 3 by some.
fn ship(id: i32) -> NewShip {
    NewShip {
        id,
        home: Some(Ref::new(1)),
        next: code(1),
        calls: vec![Ref::new(2), Ref::new(1), Ref::new(3)],
        stays: vec![
            Stay {
                days: 1,
                at: Some(Ref::new(1)),
            },
            Stay {
                days: 2,
                at: Some(Ref::new(2)),
            },
        ],
        built_in: None,
    }
}

async fn filled(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Port, Ship]).unwrap();
    odm.sync().await.unwrap();
    odm.collection::<Port>()
        .insert_many((1..=4).map(port))
        .await
        .unwrap();
    odm.collection::<Ship>().insert(ship(1)).await.unwrap();
    odm
}

/// Before this command, another client does this.
fn before(fits: fn(&str, &Doc) -> bool, t: &TestDb, does: impl AsyncFn(Odm) + Send + Sync + 'static) -> Step {
    let name = t.db.name().to_owned();
    let work = move |runtime: &tokio::runtime::Runtime| {
        runtime.block_on(async { does(another(&name, models![Port, Ship]).await).await });
    };
    (fits, Box::new(work))
}

fn is(command: &Doc, name: &str, collection: &str) -> bool {
    command.get_str(name).is_ok_and(|of| of == collection)
}

fn is_update_of_ship(_: &str, command: &Doc) -> bool {
    is(command, "update", "ships")
}

fn is_look_at_ports(_: &str, command: &Doc) -> bool {
    is(command, "find", "ports")
}

/// As a deletion does that has looked before the write, and not yet behind it.
async fn delete_late(odm: &Odm, id: i32) {
    let ports = odm.database().collection::<Doc>("ports");
    let deleted = ports.delete_one(doc! { "_id": id }).await.unwrap();
    assert_eq!(deleted.deleted_count, 1);
}

/// A write takes the place of a reference and is taken back, since its target is deleted. Meanwhile the previous target is deleted, too,
/// whose deletion finds no reference. The references are emptied, as that deletion would have done.
#[odm_tests::test]
fn a_reference_that_is_given_back_is_emptied_where_its_target_is_gone() {
    with_db(async |t| {
        let odm = filled(&t).await;
        for standalone in [false, true] {
            let steps = vec![
                before(is_update_of_ship, &t, async |_| {}),
                // The second look of the write.
                before(is_look_at_ports, &t, async |other| {
                    let deleted = other.collection::<Port>().delete(1).await.unwrap();
                    assert_eq!((deleted.deleted, deleted.nullified), (1, 1));
                    delete_late(&other, 4).await;
                }),
            ];
            let (own, taken) = meddled_in(standalone, &odm, models![Port, Ship], steps).await;
            let to = Some(Ref::new(4));
            let stays = vec![
                Stay { days: 1, at: to },
                Stay {
                    days: 2,
                    at: Some(Ref::new(2)),
                },
            ];
            let refused = own
                .collection::<Ship>()
                .update(1)
                .set(|s| s.next, code(4))
                .set(|s| s.calls, vec![Ref::new(2), Ref::new(4)])
                .set(|s| s.stays, stays)
                .set(|s| s.built_in, to)
                .await;
            assert!(
                matches!(refused, Err(Error::MissingReference { .. })),
                "{refused:?}"
            );
            assert_eq!(taken.load(Ordering::SeqCst), 2);
            let ships = odm.collection::<Ship>();
            let stored = ships.get(1).await.unwrap().unwrap();
            assert_eq!((&stored.next, &stored.built_in), (&None, &None), "{standalone}");
            assert_eq!(stored.calls, [Ref::new(2), Ref::new(3)]);
            let expected = [(1, None), (2, Some(Ref::new(2)))].map(|(days, at)| Stay { days, at });
            assert_eq!(stored.stays, expected);
            // A reference that the write did not touch was found by the deletion.
            assert_eq!((&stored.home, &stored.home_name), (&None, &None));
            assert_clean(&odm).await;
            ships.delete(1).await.unwrap();
            let ports = [port(1), port(4)];
            odm.collection::<Port>().insert_many(ports).await.unwrap();
            ships.insert(ship(1)).await.unwrap();
        }
    });
}

/// A document is inserted, another client refers to it, and a third one deletes what the new document refers to: its insert is undone.
#[odm_tests::test]
fn references_to_a_document_whose_insert_is_undone_are_emptied() {
    with_db(async |t| {
        let odm = filled(&t).await;
        for standalone in [false, true] {
            let steps = vec![
                before(|_, command| is(command, "insert", "ports"), &t, async |_| {}),
                before(is_look_at_ports, &t, async |other| {
                    let ships = other.collection::<Ship>();
                    ships
                        .update(1)
                        .set(|s| s.home, Some(Ref::new(5)))
                        .set(|s| s.next, code(5))
                        .push(|s| s.calls, Ref::new(5))
                        .push(
                            |s| s.stays,
                            Stay {
                                days: 9,
                                at: Some(Ref::new(5)),
                            },
                        )
                        .await
                        .unwrap();
                    delete_late(&other, 4).await;
                }),
            ];
            let (own, taken) = meddled_in(standalone, &odm, models![Port, Ship], steps).await;
            let of_4 = NewPort {
                of: Some(Ref::new(4)),
                ..port(5)
            };
            let undone = own.collection::<Port>().insert(of_4).await;
            assert!(
                matches!(undone, Err(Error::MissingReference { .. })),
                "{undone:?}"
            );
            assert_eq!(taken.load(Ordering::SeqCst), 2);
            assert!(odm.collection::<Port>().get(5).await.unwrap().is_none());
            let ships = odm.collection::<Ship>();
            let stored = ships.get(1).await.unwrap().unwrap();
            assert_eq!(
                (&stored.home, &stored.home_name, &stored.next),
                (&None, &None, &None),
                "{standalone}"
            );
            assert_eq!(stored.calls, [Ref::new(2), Ref::new(1), Ref::new(3)]);
            assert_eq!(
                stored.stays.last().map(|stay| (stay.days, &stay.at)),
                Some((9, &None))
            );
            assert_clean(&odm).await;
            ships.delete(1).await.unwrap();
            odm.collection::<Port>().insert(port(4)).await.unwrap();
            ships.insert(ship(1)).await.unwrap();
        }
    });
}

/// Where the rule is `restrict`, the previous target was deleted rightly, as nothing referred to it then, and the document may not be
/// without a reference: it dangles, and an audit finds it.
#[odm_tests::test]
fn a_reference_that_restricts_and_is_given_back_is_left_to_an_audit() {
    with_db(async |t| {
        let odm = filled(&t).await;
        let ships = odm.collection::<Ship>();
        let built_in = Some(Ref::new(3));
        ships.update(1).set(|s| s.built_in, built_in).await.unwrap();
        let steps = vec![
            before(is_update_of_ship, &t, async |_| {}),
            before(is_look_at_ports, &t, async |other| {
                let deleted = other.collection::<Port>().delete(3).await.unwrap();
                assert_eq!((deleted.deleted, deleted.nullified), (1, 0));
                delete_late(&other, 4).await;
            }),
        ];
        let (own, taken) = meddled_in(false, &odm, models![Port, Ship], steps).await;
        let update = own.collection::<Ship>().update(1);
        let refused = update.set(|s| s.built_in, Some(Ref::new(4))).await;
        // Both clients did what they could not know to be wrong.
        assert!(
            matches!(refused, Err(Error::MissingReference { .. })),
            "{refused:?}"
        );
        assert_eq!(taken.load(Ordering::SeqCst), 2);
        let stored = ships.get(1).await.unwrap().unwrap();
        assert_eq!(stored.built_in, Some(Ref::new(3)));
        let found = odm.audit().await.unwrap();
        let dangling = found.references.iter().map(|one| one.dangling.count);
        assert_eq!(dangling.sum::<u64>(), 1, "{found}");
    });
}
