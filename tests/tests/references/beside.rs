//! What follows from what the library writes by itself: the other side of two-way references, references that go with their
//! target, and what it takes back when a target has vanished.

use odm::__private::SwitchBulk as _;
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm::{Error, Result};
use odm_tests::fixtures::interleaved::{Step, another, both, meddled_in};
use odm_tests::{require_transactions, with_db, with_transactions};
use std::sync::Arc;
use std::sync::atomic::Ordering;

async fn clean(odm: &Odm, when: &str) {
    assert_eq!(odm.recover().await.unwrap().documents, 0, "{when}");
    let audit = odm.audit().await.unwrap();
    assert!(audit.is_clean(), "{when}: {audit}");
}

mod clubs {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "clubs")]
    pub struct Club {
        pub id: i32,
        pub name: String,
        pub badge: String,
        #[computed(count = Player, consistency = eventual)]
        pub players: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "players")]
    pub struct Player {
        pub id: i32,
        #[parent_ref]
        pub club: Ref<Club>,
        #[denormalize(from = club.name, consistency = eventual)]
        pub club_name: String,
        #[denormalize(from = club.badge, consistency = snapshot)]
        pub badge: String,
        #[embed(max = 5)]
        pub loans: Vec<Loan>,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    pub struct Loan {
        #[reference]
        pub to: Ref<Club>,
        #[denormalize(from = to.name, consistency = eventual)]
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "tickets")]
    pub struct Ticket {
        pub id: i32,
        #[reference]
        pub player: Ref<Player>,
        #[denormalize(from = player.club_name, consistency = eventual)]
        pub club_name: String,
    }

    pub fn models() -> [odm::Model; 3] {
        models![Club, Player, Ticket]
    }

    pub fn club(id: i32) -> NewClub {
        NewClub {
            id,
            name: format!("club {id}"),
            badge: format!("badge {id}"),
        }
    }

    pub fn loan(to: i32) -> Loan {
        Loan {
            to: Ref::new(to),
            name: String::new(),
        }
    }

    pub fn player(id: i32, club: i32) -> NewPlayer {
        NewPlayer {
            id,
            club: Ref::new(club),
            loans: vec![loan(club)],
        }
    }

    pub async fn stocked(t: &odm_tests::TestDb) -> Odm {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        odm.sync().await.unwrap();
        let clubs = odm.collection::<Club>();
        clubs.insert(club(1)).await.unwrap();
        odm.collection::<Player>().insert(player(1, 1)).await.unwrap();
        let ticket = NewTicket {
            id: 1,
            player: Ref::new(1),
        };
        odm.collection::<Ticket>().insert(ticket).await.unwrap();
        // The player's badge is the one that the club had then.
        clubs.update(1).set(|c| c.badge, "new").await.unwrap();
        odm
    }
}

/// A reference to a target that has vanished is undone together with its copies: it gets its previous target and that one's
/// copies, whatever other processes have written meanwhile.
#[odm_tests::test]
fn undoing_a_write_restores_a_reference_with_its_copies() {
    use clubs::*;
    with_db(async |t| {
        let odm = stocked(&t).await;
        let name = t.db.name().to_owned();
        let (to_renamer, to_recoverer) = (name.clone(), name);
        let steps = |id: i32| -> Vec<Step> {
            let (renamer, recoverer) = (to_renamer.clone(), to_recoverer.clone());
            let is_write: fn(&str, &Doc) -> bool = |name, command| {
                let command = command.to_string();
                let sets = command.contains("\"$set\"") || command.contains("\"$push\"");
                ["update", "findAndModify"].contains(&name)
                    && sets
                    && command.contains("100")
                    && !command.contains("$literal")
            };
            vec![
                // The target vanishes, and the source of the copies before changes.
                (
                    is_write,
                    Box::new(move |runtime| {
                        runtime.block_on(async {
                            let odm = another(&renamer, models()).await;
                            let raw = odm.database().collection::<Doc>("clubs");
                            raw.delete_one(doc! { "_id": 100 }).await.unwrap();
                            let clubs = odm.collection::<Club>();
                            clubs
                                .update(1)
                                .set(|c| c.name, format!("renamed {id}"))
                                .await
                                .unwrap();
                        });
                    }),
                ),
                // Another process applies the pending work of the write, before it is undone.
                (
                    |name, command| name == "find" && !command.contains_key("autocommit"),
                    Box::new(move |runtime| {
                        runtime.block_on(async {
                            another(&recoverer, models()).await.recover().await.unwrap();
                        });
                    }),
                ),
            ]
        };
        for (at, (mode, _)) in both(&t, &odm).await.into_iter().enumerate() {
            for write in 0..2 {
                odm.collection::<Club>().insert(club(100)).await.unwrap();
                let round = 10 * at as i32 + write;
                let (own, taken) = meddled_in(at != 0, &odm, models(), steps(round)).await;
                let players = own.collection::<Player>();
                let update = players.update(1);
                let written = match write {
                    0 => update.set(|p| p.club, Ref::new(100)).await.map(drop),
                    _ => update.push(|p| p.loans, loan(100)).await.map(drop),
                };
                let when = format!("{mode}, write {write}");
                assert!(
                    matches!(&written, Err(Error::MissingReference { ids, .. }) if *ids == [100.into()]),
                    "{when}: {written:?}"
                );
                assert_eq!(
                    taken.load(Ordering::SeqCst),
                    2,
                    "{when}: the steps that were taken"
                );
                let player = odm.collection::<Player>().get(1).await.unwrap().unwrap();
                let renamed = format!("renamed {round}");
                assert_eq!(player.club, Ref::new(1), "{when}");
                assert_eq!(
                    (player.club_name.as_str(), player.badge.as_str()),
                    (renamed.as_str(), "badge 1"),
                    "{when}"
                );
                let loans: Vec<_> = player.loans.iter().map(|loan| loan.name.as_str()).collect();
                assert_eq!(loans, [renamed.as_str()], "{when}");
                let ticket = odm.collection::<Ticket>().get(1).await.unwrap().unwrap();
                assert_eq!(ticket.club_name, renamed, "{when}");
                let club = odm.collection::<Club>().get(1).await.unwrap().unwrap();
                assert_eq!(club.players, 1, "{when}");
                clean(&odm, &when).await;
            }
        }
    });
}

/// An insert that is taken back is gone from what was derived of it, and so is what it linked.
#[odm_tests::test]
fn an_undone_insert_leaves_no_document() {
    use clubs::*;
    with_db(async |t| {
        let odm = stocked(&t).await;
        for (at, (mode, _)) in both(&t, &odm).await.into_iter().enumerate() {
            odm.collection::<Club>().insert(club(100)).await.unwrap();
            let (deleter, recoverer) = (t.db.name().to_owned(), t.db.name().to_owned());
            let steps: Vec<Step> = vec![
                (
                    |name, _| name == "insert",
                    Box::new(move |runtime| {
                        runtime.block_on(async {
                            let odm = another(&deleter, models()).await;
                            let raw = odm.database().collection::<Doc>("clubs");
                            raw.delete_one(doc! { "_id": 100 }).await.unwrap();
                        });
                    }),
                ),
                (
                    |name, _| name == "find",
                    Box::new(move |runtime| {
                        runtime.block_on(async {
                            another(&recoverer, models()).await.recover().await.unwrap();
                        });
                    }),
                ),
            ];
            let (own, taken) = meddled_in(at != 0, &odm, models(), steps).await;
            let new = NewPlayer {
                loans: vec![loan(100)],
                ..player(2, 1)
            };
            let written = own.collection::<Player>().insert(new).await;
            assert!(
                matches!(written, Err(Error::MissingReference { .. })),
                "{mode}: {written:?}"
            );
            assert_eq!(
                taken.load(Ordering::SeqCst),
                2,
                "{mode}: the steps that were taken"
            );
            assert_eq!(odm.collection::<Player>().get(2).await.unwrap(), None, "{mode}");
            let club = odm.collection::<Club>().get(1).await.unwrap().unwrap();
            assert_eq!(club.players, 1, "{mode}");
            clean(&odm, mode).await;
        }
    });
}

/// A document whose deletion is refused by a concurrent reference is inserted again, with the changes that its copies have missed.
#[odm_tests::test]
fn a_restored_document_has_the_changes_that_its_copies_missed() {
    use clubs::*;
    with_db(async |t| {
        let odm = stocked(&t).await;
        for (at, (mode, _)) in both(&t, &odm).await.into_iter().enumerate() {
            let id = 10 + at as i32;
            odm.collection::<Player>().insert(player(id, 1)).await.unwrap();
            let (seller, renamer) = (t.db.name().to_owned(), t.db.name().to_owned());
            let renamed = format!("renamed {at}");
            let to = renamed.clone();
            let steps: Vec<Step> = vec![
                // Somebody refers to it, who does not ask.
                (
                    |name, command| {
                        name == "delete"
                            || name == "findAndModify" && command.contains_key("remove")
                            || name == "update" && command.to_string().contains("_odm.pending.delete")
                    },
                    Box::new(move |runtime| {
                        runtime.block_on(async {
                            let odm = another(&seller, models()).await;
                            let club_name = odm
                                .collection::<Player>()
                                .get(id)
                                .await
                                .unwrap()
                                .unwrap()
                                .club_name;
                            let ticket = doc! { "_id": id, "player": id, "club_name": club_name };
                            let raw = odm.database().collection::<Doc>("tickets");
                            raw.insert_one(ticket).await.unwrap();
                        });
                    }),
                ),
                // The source of its copies changes while it is not there.
                (
                    |name, _| name == "insert",
                    Box::new(move |runtime| {
                        runtime.block_on(async {
                            let odm = another(&renamer, models()).await;
                            let clubs = odm.collection::<Club>();
                            clubs.update(1).set(|c| c.name, to.as_str()).await.unwrap();
                        });
                    }),
                ),
            ];
            let (own, taken) = meddled_in(at != 0, &odm, models(), steps).await;
            let deleted = own.collection::<Player>().delete(id).await;
            assert!(
                matches!(deleted, Err(Error::StillReferenced { .. })),
                "{mode}: {deleted:?}"
            );
            assert_eq!(
                taken.load(Ordering::SeqCst),
                2,
                "{mode}: the steps that were taken"
            );
            let player = odm.collection::<Player>().get(id).await.unwrap().unwrap();
            assert_eq!(player.club_name, renamed, "{mode}");
            let ticket = odm.collection::<Ticket>().get(id).await.unwrap().unwrap();
            assert_eq!(ticket.club_name, renamed, "{mode}");
            let club = odm.collection::<Club>().get(1).await.unwrap().unwrap();
            assert_eq!(club.players, 2 + at as i64, "{mode}");
            clean(&odm, mode).await;
        }
    });
}

mod library {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "writers")]
    pub struct Writer {
        pub id: i32,
        #[reference(many, max = 5, inverse = writer)]
        pub works: Vec<Ref<Work>>,
        #[computed(count = Work, by = writer)]
        pub written: i64,
        #[computed(sum = Work.pages, by = writer)]
        pub pages: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "works")]
    pub struct Work {
        pub id: i32,
        #[reference(inverse = works)]
        pub writer: Option<Ref<Writer>>,
        #[parent_ref]
        pub shelf: Ref<Shelf>,
        pub pages: i32,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "shelves")]
    pub struct Shelf {
        pub id: i32,
        #[computed(count = Work, filter = |w| w.writer.eq(Ref::<Writer>::new(1)))]
        pub firsts: i64,
        #[subset(of = Work, limit = 3, order(-pages), fields(pages: i32))]
        pub thickest: Vec<ThickestEntry>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "opinions")]
    pub struct Opinion {
        pub id: i32,
        #[reference(on_delete = nullify, check = false)]
        pub writer: Option<Ref<Writer>>,
        #[denormalize(from = writer.written)]
        pub written: Option<i64>,
    }
}

/// Whatever changes a two-way reference on its other side, what is derived of it there follows.
#[odm_tests::test]
fn fields_derived_of_two_way_references_are_updated_by_both_sides() {
    use library::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Writer, Work, Shelf, Opinion]).unwrap();
        odm.sync().await.unwrap();
        for (mode, odm) in both(&t, &odm).await {
            let writers = odm.collection::<Writer>();
            let works = odm.collection::<Work>();
            let shelves = odm.collection::<Shelf>();
            shelves.insert(NewShelf { id: 1 }).await.unwrap();
            let work = |id: i32, writer: Option<i32>| NewWork {
                id,
                writer: writer.map(Ref::new),
                shelf: Ref::new(1),
                pages: 100 + id,
            };
            works.insert_many((1..=4).map(|id| work(id, None))).await.unwrap();
            let when = |what: &str| format!("{mode}: {what}");
            let writer = |id: i32, works: &[i32]| NewWriter {
                id,
                works: works.iter().copied().map(Ref::new).collect(),
            };
            let state = async |id: i32| {
                let writer = writers.get(id).await.unwrap().unwrap();
                (writer.written, writer.pages)
            };
            let firsts = async || shelves.get(1).await.unwrap().unwrap().firsts;

            writers.insert(writer(1, &[1, 2])).await.unwrap();
            clean(&odm, &when("a writer is inserted with works")).await;
            assert_eq!((state(1).await, firsts().await), ((2, 203), 2), "{mode}");
            let opinion = NewOpinion {
                id: 1,
                writer: Some(Ref::new(1)),
            };
            odm.collection::<Opinion>().insert(opinion).await.unwrap();
            let read = async || {
                let opinion = odm.collection::<Opinion>().get(1).await.unwrap().unwrap();
                opinion.written
            };
            assert_eq!(read().await, Some(2), "{mode}");

            writers.insert(writer(2, &[])).await.unwrap();
            writers.update(2).push(|w| w.works, Ref::new(3)).await.unwrap();
            clean(&odm, &when("a work is pushed")).await;
            assert_eq!(state(2).await, (1, 103), "{mode}");

            // The work is taken from the one and given to the other.
            writers.update(2).push(|w| w.works, Ref::new(1)).await.unwrap();
            clean(&odm, &when("a work is taken from another one")).await;
            assert_eq!((state(1).await, state(2).await), ((1, 102), (2, 204)), "{mode}");
            assert_eq!(firsts().await, 1, "{mode}");

            works
                .update(4)
                .set(|w| w.writer, Ref::<Writer>::new(1))
                .await
                .unwrap();
            clean(&odm, &when("a work names its writer")).await;
            assert_eq!((state(1).await, firsts().await), ((2, 206), 2), "{mode}");

            writers.update(1).pull(|w| w.works, Ref::new(4)).await.unwrap();
            clean(&odm, &when("a work is pulled")).await;
            assert_eq!((state(1).await, firsts().await), ((1, 102), 1), "{mode}");
            assert_eq!(read().await, Some(1), "{mode}");

            writers
                .update(1)
                .set(|w| w.works, vec![Ref::new(4), Ref::new(3)])
                .await
                .unwrap();
            clean(&odm, &when("the works are set")).await;
            assert_eq!((state(1).await, state(2).await), ((2, 207), (1, 101)), "{mode}");
            assert_eq!(read().await, Some(2), "{mode}");

            // A document that one operation inserts and links.
            odm.bulk()
                .without_bulk_write_command()
                .add(odm.collection::<Work>().insert(work(5, Some(1))))
                .add(odm.collection::<Work>().update(5).inc(|w| w.pages, 5))
                .await
                .unwrap();
            clean(&odm, &when("a bulk inserts and changes")).await;
            assert_eq!(state(1).await, (3, 317), "{mode}");

            let full = writers
                .update(1)
                .push_all(|w| w.works, [1, 2, 9].map(Ref::new))
                .await;
            assert!(full.is_err(), "{mode}: {full:?}");
            clean(&odm, &when("a write that fails")).await;
            assert_eq!(state(1).await, (3, 317), "{mode}");

            works.delete(5).await.unwrap();
            clean(&odm, &when("a work is deleted")).await;
            assert_eq!(state(1).await, (2, 207), "{mode}");

            writers.delete(1).await.unwrap();
            clean(&odm, &when("a writer is deleted")).await;
            assert_eq!(firsts().await, 0, "{mode}");
            assert_eq!(read().await, None, "{mode}");

            // An out-of-band write of one side alone.
            let raw = odm.database().collection::<Doc>("works");
            let set = doc! { "$set": { "writer": 2 } };
            raw.update_one(doc! { "_id": 3 }, set).await.unwrap();
            odm.repair_all().await.unwrap();
            clean(&odm, &when("a repair")).await;
            assert_eq!(state(2).await, (2, 204), "{mode}");

            for name in ["writers", "works", "shelves", "opinions"] {
                let raw = odm.database().collection::<Doc>(name);
                raw.delete_many(doc! {}).await.unwrap();
            }
        }
    });
}

mod shop {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "goods")]
    pub struct Good {
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "branches")]
    pub struct Branch {
        pub id: i32,
        #[computed(count = Basket, filter = |b| b.items.elem(|i| i.name.eq("lamp")))]
        pub lamps: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "baskets")]
    pub struct Basket {
        pub id: i32,
        #[parent_ref]
        pub branch: Ref<Branch>,
        #[reference(many, max = 5)]
        #[denormalize(from = Good)]
        pub items: Vec<Item>,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    #[denormalize(from = Good)]
    pub struct Item {
        #[field(name = "_id")]
        #[reference(on_delete = pull)]
        pub good: Ref<Good>,
        pub name: String,
    }
}

/// With a reference goes the item that it stands in, and what is derived of the copies in it.
#[odm_tests::test]
fn a_field_derived_of_an_item_is_updated_with_its_reference() {
    use shop::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Good, Branch, Basket]).unwrap();
        odm.sync().await.unwrap();
        odm.collection::<Branch>()
            .insert(NewBranch { id: 1 })
            .await
            .unwrap();
        for (at, (mode, odm)) in both(&t, &odm).await.into_iter().enumerate() {
            let id = at as i32;
            odm.collection::<Good>()
                .insert(Good {
                    id,
                    name: "lamp".into(),
                })
                .await
                .unwrap();
            let basket = NewBasket {
                id,
                branch: Ref::new(1),
                items: vec![Ref::new(id)],
            };
            odm.collection::<Basket>().insert(basket).await.unwrap();
            let lamps = async || odm.collection::<Branch>().get(1).await.unwrap().unwrap().lamps;
            assert_eq!(lamps().await, 1, "{mode}");
            odm.collection::<Good>().delete(id).await.unwrap();
            assert_eq!(lamps().await, 0, "{mode}");
            clean(&odm, mode).await;
        }
    });
}

mod logs {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "stations")]
    pub struct Station {
        pub id: i32,
        pub name: String,
        #[computed(count = Reading)]
        pub readings: i64,
        #[computed(max = Reading.value)]
        pub highest: Option<i32>,
        #[subset(of = Reading, limit = 2, order(-value), fields(value: i32))]
        pub extremes: Vec<ExtremesEntry>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "readings")]
    pub struct Reading {
        pub id: i32,
        #[parent_ref(check = false, on_delete = keep)]
        pub station: Ref<Station>,
        pub value: i32,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "signs")]
    pub struct Sign {
        pub id: i32,
        #[reference(on_delete = cascade)]
        pub station: Ref<Station>,
        #[denormalize(from = station.name, consistency = eventual)]
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "depots")]
    pub struct Depot {
        pub id: i32,
        #[index(unique)]
        pub code: String,
        #[computed(count = Parcel)]
        pub parcels: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "parcels")]
    pub struct Parcel {
        pub id: i32,
        #[parent_ref(by = code, check = false, on_delete = keep)]
        pub depot: Ref<Depot, String>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "pads")]
    pub struct Pad {
        pub id: i32,
        #[computed(max = Memo.n)]
        pub top: Option<i32>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "memos")]
    pub struct Memo {
        pub id: i32,
        #[parent_ref(on_delete = keep)]
        pub pad: Ref<Pad>,
        pub n: i32,
    }
}

/// Where a child need not ask for its parent, the parent may come after it, or once more.
#[odm_tests::test]
fn a_parent_may_come_after_its_children() {
    use logs::*;
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Station, Reading, Sign]).unwrap();
        odm.sync().await.unwrap();
        for (at, (mode, odm)) in both(&t, &odm).await.into_iter().enumerate() {
            let base = 100 * at as i32;
            let stations = odm.collection::<Station>();
            let readings = odm.collection::<Reading>();
            let new = |id: i32| NewStation { id, name: "x".into() };
            let reading = |id: i32, station: i32| Reading {
                id: base + id,
                station: Ref::new(base + station),
                value: id,
            };
            let state = async |id: i32| {
                let station = stations.get(base + id).await.unwrap().unwrap();
                let extremes: Vec<i32> = station.extremes.iter().map(|one| one.value).collect();
                (station.readings, station.highest, extremes)
            };
            let all = (1..=9).map(|id| reading(id, id % 3));
            readings.insert_many(all).await.unwrap();

            stations
                .insert_many([new(base + 1), new(base + 7)])
                .await
                .unwrap();
            clean(&odm, mode).await;
            assert_eq!(state(1).await, (3, Some(7), vec![7, 4]), "{mode}");
            assert_eq!(state(7).await, (0, None, vec![]), "{mode}");

            stations
                .update(base + 2)
                .set(|s| s.name, "y")
                .upsert()
                .await
                .unwrap();
            clean(&odm, mode).await;
            assert_eq!(state(2).await, (3, Some(8), vec![8, 5]), "{mode}");
            // It is there now: nothing is derived anew.
            readings.insert(reading(11, 2)).await.unwrap();
            stations
                .update(base + 2)
                .set(|s| s.name, "z")
                .upsert()
                .await
                .unwrap();
            assert_eq!(state(2).await, (4, Some(11), vec![11, 8]), "{mode}");
            clean(&odm, mode).await;

            odm.bulk()
                .without_bulk_write_command()
                .add(stations.insert(new(base)))
                .add(readings.insert(reading(12, 0)))
                .await
                .unwrap();
            clean(&odm, mode).await;
            assert_eq!(state(0).await, (4, Some(12), vec![12, 9]), "{mode}");

            // The question for their children is one for all.
            t.commands.clear();
            stations
                .insert_many((50..60).map(|id| new(base + id)))
                .await
                .unwrap();
            assert_eq!(
                t.commands.take(),
                ["insert", "find", "aggregate", "find", "update"],
                "{mode}"
            );

            stations.delete(base + 1).await.unwrap();
            readings.delete(base + 4).await.unwrap();
            stations.insert(new(base + 1)).await.unwrap();
            clean(&odm, mode).await;
            assert_eq!(state(1).await, (2, Some(7), vec![7, 1]), "{mode}");
        }

        // In the application's own transaction they are adopted behind its commit, whatever else it does.
        let new = |id: i32| NewStation { id, name: "x".into() };
        for id in 1000..1004 {
            let both = [0, 1].map(|n| Reading {
                id: 10 * id + n,
                station: Ref::new(id),
                value: n,
            });
            odm.collection::<Reading>().insert_many(both).await.unwrap();
        }
        odm.transaction(async |tx| {
            let (stations, readings) = (tx.collection::<Station>(), tx.collection::<Reading>());
            stations.insert_many((1000..1004).map(new)).await?;
            readings.delete(10_010).await?;
            readings.delete(10_011).await?;
            readings.update(10_020).set(|r| r.station, Ref::new(1003)).await?;
            let replaced = stations.get(1000).await?.unwrap();
            stations.replace(replaced).await?;
            Ok(())
        })
        .await
        .unwrap();
        clean(&odm, "a transaction").await;
        let stations = odm.collection::<Station>();
        let found = stations.find(|s| s.id.gte(1000)).sort(|s| s.id.asc());
        let counts: Vec<i64> = found.all().await.unwrap().iter().map(|s| s.readings).collect();
        assert_eq!(counts, [2, 0, 1, 3]);
    });
}

/// The same where children name it by another field than its id.
#[odm_tests::test]
fn a_parent_may_come_after_children_that_name_it_by_another_field() {
    use logs::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Depot, Parcel]).unwrap();
        odm.sync().await.unwrap();
        for (at, (mode, odm)) in both(&t, &odm).await.into_iter().enumerate() {
            let id = at as i32;
            let (depots, parcels) = (odm.collection::<Depot>(), odm.collection::<Parcel>());
            let code = format!("depot {id}");
            let parcel = Parcel {
                id,
                depot: Ref::new(code.clone()),
            };
            parcels.insert(parcel).await.unwrap();
            depots.insert(NewDepot { id, code }).await.unwrap();
            clean(&odm, mode).await;
            assert_eq!(depots.get(id).await.unwrap().unwrap().parcels, 1, "{mode}");
        }
    });
}

/// A child that is kept without its parent is written as before.
#[odm_tests::test]
fn a_child_that_has_lost_its_parent_is_written_all_the_same() {
    use logs::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Pad, Memo]).unwrap();
        odm.sync().await.unwrap();
        for (at, (mode, odm)) in both(&t, &odm).await.into_iter().enumerate() {
            let id = at as i32;
            let (pads, memos) = (odm.collection::<Pad>(), odm.collection::<Memo>());
            pads.insert(NewPad { id }).await.unwrap();
            let memo = Memo {
                id,
                pad: Ref::new(id),
                n: 1,
            };
            memos.insert(memo.clone()).await.unwrap();
            pads.delete(id).await.unwrap();
            memos.update(id).inc(|m| m.n, 4).await.unwrap();
            clean(&odm, mode).await;
            pads.insert(NewPad { id }).await.unwrap();
            assert_eq!(pads.get(id).await.unwrap().unwrap().top, Some(5), "{mode}");
            clean(&odm, mode).await;
            let lost = Memo {
                id: 100,
                pad: Ref::new(99),
                ..memo
            };
            let refused = memos.insert(lost).await;
            assert!(
                matches!(refused, Err(Error::MissingReference { .. })),
                "{mode}: {refused:?}"
            );
        }
    });
}

mod pets {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "owners")]
    pub struct Owner {
        pub id: i32,
        #[reference(inverse = owner)]
        pub pet: Option<Ref<Pet>>,
        #[subset(of = Pet, by = owner, limit = 3, order(-age), fields(age: i32))]
        pub pets: Vec<PetsEntry>,
        #[computed(count = Pet, by = owner)]
        pub count: i64,
        #[computed(avg = Pet.age, by = owner)]
        pub age: Average,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "pets")]
    pub struct Pet {
        pub id: i32,
        #[reference(inverse = pet)]
        pub owner: Option<Ref<Owner>>,
        pub age: i32,
    }
}

/// The changes of a write on both sides of a link affect one parent, which counts them once.
#[odm_tests::test]
fn an_update_that_adds_and_removes_children_changes_their_parent_once() {
    use pets::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Owner, Pet]).unwrap();
        odm.sync().await.unwrap();
        for (mode, odm) in both(&t, &odm).await {
            let (owners, pets) = (odm.collection::<Owner>(), odm.collection::<Pet>());
            let pet = |id: i32, owner: Option<i32>| Pet {
                id,
                owner: owner.map(Ref::new),
                age: id,
            };
            let owner = |id: i32| NewOwner { id, pet: None };
            owners.insert_many([owner(1), owner(2)]).await.unwrap();
            let state = async |id: i32| {
                let owner = owners.get(id).await.unwrap().unwrap();
                let ages: Vec<i32> = owner.pets.iter().map(|pet| pet.age).collect();
                (owner.pet.map(|pet| *pet.key()), ages, owner.count)
            };
            pets.insert(pet(1, Some(1))).await.unwrap();
            clean(&odm, mode).await;
            // The one takes the place of the other.
            pets.insert(pet(2, Some(1))).await.unwrap();
            clean(&odm, mode).await;
            assert_eq!(state(1).await, (Some(2), vec![2], 1), "{mode}");
            pets.update(2)
                .set(|p| p.owner, Ref::<Owner>::new(2))
                .await
                .unwrap();
            clean(&odm, mode).await;
            assert_eq!(state(1).await, (None, vec![], 0), "{mode}");
            owners.update(1).set(|o| o.pet, Ref::<Pet>::new(2)).await.unwrap();
            clean(&odm, mode).await;
            assert_eq!(
                (state(1).await, state(2).await),
                ((Some(2), vec![2], 1), (None, vec![], 0)),
                "{mode}"
            );
            owners.update(1).set(|o| o.pet, Ref::<Pet>::new(1)).await.unwrap();
            clean(&odm, mode).await;
            assert_eq!(state(1).await, (Some(1), vec![1], 1), "{mode}");
            odm.bulk()
                .without_bulk_write_command()
                .add(pets.insert(pet(3, Some(2))))
                .add(pets.update(1).set(|p| p.age, 7))
                .await
                .unwrap();
            clean(&odm, mode).await;
            assert_eq!(
                (state(1).await, state(2).await),
                ((Some(1), vec![7], 1), (Some(3), vec![3], 1)),
                "{mode}"
            );
            for name in ["owners", "pets"] {
                let raw = odm.database().collection::<Doc>(name);
                raw.delete_many(doc! {}).await.unwrap();
            }
        }
    });
}

/// An upsert may set the reference of a copy that others copy.
#[odm_tests::test]
fn an_upsert_sets_the_reference_of_a_copy_that_is_copied() {
    use clubs::*;
    with_db(async |t| {
        let odm = stocked(&t).await;
        odm.collection::<Club>().insert(club(2)).await.unwrap();
        for (at, (mode, odm)) in both(&t, &odm).await.into_iter().enumerate() {
            let players = odm.collection::<Player>();
            for (id, club) in [(1, 2 - at as i32), (5 + at as i32, 2)] {
                players
                    .update(id)
                    .set(|p| p.club, Ref::new(club))
                    .set(|p| p.loans, vec![])
                    .upsert()
                    .await
                    .unwrap();
                clean(&odm, mode).await;
                let player = players.get(id).await.unwrap().unwrap();
                let name = odm.collection::<Club>().get(club).await.unwrap().unwrap().name;
                assert_eq!(player.club_name, name, "{mode}");
            }
        }
    });
}

/// Whichever of the two commits first, a child and its parent that come at the same time are counted.
#[odm_tests::test]
fn a_parent_and_its_child_may_come_at_the_same_time() {
    use logs::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Station, Reading, Sign]).unwrap();
        odm.sync().await.unwrap();
        for (at, (mode, odm)) in both(&t, &odm).await.into_iter().enumerate() {
            for round in 0..20 {
                let id = 1_000 * at as i32 + round;
                let station = NewStation { id, name: "x".into() };
                let reading = |n: i32| Reading {
                    id: 10 * id + n,
                    station: Ref::new(id),
                    value: n,
                };
                let (stations, readings) = (odm.collection::<Station>(), odm.collection::<Reading>());
                let first = async { readings.insert(reading(1)).await.map(drop) };
                let second = async { readings.insert(reading(2)).await.map(drop) };
                let parent = async { stations.insert(station).await.map(drop) };
                let done: Result<_> = futures::future::try_join3(first, parent, second).await;
                done.unwrap();
            }
            clean(&odm, mode).await;
        }
    });
}

mod orders {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "items")]
    pub struct Item {
        pub id: i32,
        pub price: i32,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "orders")]
    pub struct Order {
        pub id: i32,
        #[computed(sum = Line.price)]
        pub total: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "lines")]
    pub struct Line {
        pub id: i32,
        #[parent_ref(on_delete = cascade)]
        pub order: Ref<Order>,
        #[reference(on_delete = nullify)]
        pub item: Option<Ref<Item>>,
        #[denormalize(from = item.price)]
        pub price: Option<i32>,
    }
}

/// A deletion follows what the one before it has left for the end of the transaction.
#[odm_tests::test]
fn deletions_of_one_transaction_meet() {
    use orders::*;
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Item, Order, Line]).unwrap();
        odm.sync().await.unwrap();
        let line = |id: i32, item: Option<i32>| NewLine {
            id,
            order: Ref::new(1),
            item: item.map(Ref::new),
        };
        odm.collection::<Order>()
            .insert(NewOrder { id: 1 })
            .await
            .unwrap();
        let items = [1, 2].map(|id| Item { id, price: 10 * id });
        odm.collection::<Item>().insert_many(items).await.unwrap();
        let lines = [line(1, Some(1)), line(2, Some(2)), line(3, None)];
        odm.collection::<Line>().insert_many(lines).await.unwrap();
        odm.transaction(async |tx| {
            tx.collection::<Item>().delete(1).await?;
            tx.collection::<Line>().delete(1).await.map(drop)
        })
        .await
        .unwrap();
        let total = async || odm.collection::<Order>().get(1).await.unwrap().unwrap().total;
        assert_eq!(total().await, 20);
        clean(&odm, "a transaction").await;
    });
}

/// A parent has to be there for a child that has nothing to be derived.
#[odm_tests::test]
fn a_child_without_a_value_needs_its_parent_too() {
    use orders::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Item, Order, Line]).unwrap();
        odm.sync().await.unwrap();
        for (mode, odm) in both(&t, &odm).await {
            let line = NewLine {
                id: 1,
                order: Ref::new(99),
                item: None,
            };
            let refused = odm.collection::<Line>().insert(line).await;
            assert!(
                matches!(refused, Err(Error::MissingReference { .. })),
                "{mode}: {refused:?}"
            );
        }
    });
}

/// Documents that match a condition on a number of children are deleted, though the number falls meanwhile.
#[odm_tests::test]
fn documents_are_deleted_by_conditions_on_derived_fields() {
    use orders::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Item, Order, Line]).unwrap();
        odm.sync().await.unwrap();
        for (mode, odm) in both(&t, &odm).await {
            let (orders, lines) = (odm.collection::<Order>(), odm.collection::<Line>());
            odm.collection::<Item>()
                .insert(Item { id: 1, price: 10 })
                .await
                .unwrap();
            orders
                .insert_many((1..=3).map(|id| NewOrder { id }))
                .await
                .unwrap();
            let new = (1..=3).flat_map(|order| {
                (0..order).map(move |n| NewLine {
                    id: 10 * order + n,
                    order: Ref::new(order),
                    item: Some(Ref::new(1)),
                })
            });
            lines.insert_many(new).await.unwrap();
            let deleted = orders.delete_where(|o| o.total.gte(20)).await.unwrap();
            assert_eq!((deleted.deleted, deleted.cascaded), (2, 5), "{mode}");
            assert_eq!(orders.find_all().count().await.unwrap(), 1, "{mode}");
            assert_eq!(lines.find_all().count().await.unwrap(), 1, "{mode}");
            clean(&odm, mode).await;
            orders.delete_where(|o| o.id.gt(0)).await.unwrap();
            odm.collection::<Item>().delete(1).await.unwrap();
        }
    });
}

/// A child goes, or goes elsewhere, in a transaction in which its parent is not there; meanwhile the parent is inserted and
/// counts it. The process of the first one dies behind its commit: a recovery finds its pending work.
#[odm_tests::test]
fn a_child_goes_while_its_parent_comes_and_its_process_dies() {
    use logs::*;
    use odm_tests::fixtures::edges::through;
    use odm_tests::proxy::{Proxy, server};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Station, Reading]).unwrap();
        odm.sync().await.unwrap();
        require_transactions(&odm).await;
        let (stations, readings) = (odm.collection::<Station>(), odm.collection::<Reading>());
        let new = |id: i32| NewStation { id, name: "x".into() };
        stations.insert(new(0)).await.unwrap();
        for (at, what) in ["delete", "move", "replace", "bulk"].into_iter().enumerate() {
            let id = at as i32 + 1;
            let reading = move |station: i32| Reading {
                id,
                station: Ref::new(station),
                value: id,
            };
            readings.insert(reading(id)).await.unwrap();
            let proxy = Arc::new(Proxy::start(&server().await, usize::MAX).await);
            proxy.arm();
            let process = Odm::new(through(&proxy, t.db.name()).await, models![Station, Reading]).unwrap();
            process.server().await.unwrap();
            let (stations, at_the_end) = (stations.clone(), proxy.clone());
            let going = tokio::spawn(async move {
                let going = process.transaction(async |tx| {
                    let readings = tx.collection::<Reading>();
                    match what {
                        "delete" => readings.delete(id).await.map(drop)?,
                        "move" => {
                            let moved = readings.update(id).set(|r| r.station, Ref::new(0)).await;
                            moved.map(drop)?;
                        }
                        "replace" => readings.replace(reading(0)).await.map(drop)?,
                        _ => tx.bulk().add(readings.delete(id)).await.map(drop)?,
                    }
                    stations.insert(new(id)).await?;
                    // The commit is sent, and nothing behind it.
                    at_the_end.cut_after(1);
                    Ok(())
                });
                going.await
            });
            proxy.cut().await;
            going.abort();
            let counted = async || {
                let station = odm.collection::<Station>().get(id).await.unwrap().unwrap();
                (station.readings, station.highest, station.extremes.len())
            };
            assert_eq!(
                counted().await,
                (1, Some(id), 1),
                "{what}: it could not see the other one"
            );
            odm.recover().await.unwrap();
            assert_eq!(counted().await, (0, None, 0), "{what}");
            clean(&odm, what).await;
            let notes = doc! { "parents": { "$exists": true } };
            let notes =
                t.db.collection::<Doc>("_odm_edges")
                    .count_documents(notes)
                    .await
                    .unwrap();
            assert_eq!(notes, 0, "{what}");
        }
        assert_eq!(stations.get(0).await.unwrap().unwrap().readings, 2);
    });
}
