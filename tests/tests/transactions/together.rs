//! What meets in one document, one operation or one transaction.

use odm::__private::SwitchBulk as _;
use odm::bson::{Bson, Document as Doc, doc};
use odm::prelude::*;
use odm::{Error, Result};
use odm_tests::{assert_clean, with_db, with_transactions};
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "halls")]
pub struct Hall {
    pub id: i32,
    pub name: String,
    pub label: Option<String>,
    #[computed(sum = Seat.price)]
    pub total: i64,
    #[computed(count = Seat)]
    pub seats: i64,
    #[subset(of = Seat, limit = 2, order(-price), fields(price: i32))]
    pub best: Vec<BestEntry>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "seats")]
pub struct Seat {
    pub id: i32,
    #[parent_ref]
    pub hall: Ref<Hall>,
    #[denormalize(from = hall.name)]
    pub hall_name: String,
    #[denormalize(from = hall.label)]
    pub hall_label: Option<String>,
    pub price: i32,
    #[embed]
    pub extra: Option<Extra>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Extra {
    pub rows: i32,
}

fn hall(id: i32) -> NewHall {
    NewHall {
        id,
        name: format!("hall {id}"),
        label: Some(format!("label {id}")),
    }
}

fn seat(id: i32, hall: i32, price: i32) -> NewSeat {
    NewSeat {
        id,
        hall: Ref::new(hall),
        price,
        extra: None,
    }
}

async fn halls(t: &odm_tests::TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Hall, Seat]).unwrap();
    odm.sync().await.unwrap();
    let both = [hall(1), hall(2)];
    odm.collection::<Hall>().insert_many(both).await.unwrap();
    odm
}

#[odm_tests::test]
fn a_bulk_may_change_documents_that_it_has_inserted() {
    with_db(async |t| {
        let odm = halls(&t).await;
        for (first, odm) in [(10, odm.clone()), (20, t.standalone_of(&odm).await)] {
            // Not by the command that inserts and updates across collections, which not every server takes in a transaction.
            let bulk = || odm.bulk().without_bulk_write_command();
            bulk()
                .add(odm.collection::<Seat>().insert(seat(first, 1, 1)))
                .add(odm.collection::<Seat>().update(first).inc(|s| s.price, 5))
                .await
                .unwrap();
            assert_clean(&odm).await;
            bulk()
                .add(odm.collection::<Seat>().insert(seat(first + 1, 1, 1)))
                .add(
                    odm.collection::<Seat>()
                        .update(first + 1)
                        .set(|s| s.hall, Ref::new(2)),
                )
                .await
                .unwrap();
            assert_clean(&odm).await;
            bulk()
                .add(odm.collection::<Seat>().insert(seat(first + 2, 1, 1)))
                .add(
                    odm.collection::<Seat>()
                        .update_where(|s| s.hall.eq(Ref::new(1)))
                        .inc(|s| s.price, 2),
                )
                .await
                .unwrap();
            assert_clean(&odm).await;
            bulk()
                .add(odm.collection::<Seat>().insert(seat(first + 3, 2, 9)))
                .add(odm.collection::<Seat>().delete(first + 3))
                .await
                .unwrap();
            assert_clean(&odm).await;
        }
        let seats = odm.collection::<Hall>().get(2).await.unwrap().unwrap().seats;
        assert_eq!(seats, 2);
    });
}

#[odm_tests::test]
fn a_bulk_may_copy_from_documents_that_it_inserts() {
    with_transactions(async |t| {
        let odm = halls(&t).await;
        let insert = |odm: &Odm| {
            odm.bulk()
                .without_bulk_write_command()
                .add(odm.collection::<Hall>().insert(hall(3)))
                .add(odm.collection::<Seat>().insert(seat(1, 3, 7)))
        };
        insert(&odm).await.unwrap();
        let seat = odm.collection::<Seat>().get(1).await.unwrap().unwrap();
        assert_eq!((seat.hall_name.as_str(), seat.price), ("hall 3", 7));
        assert_clean(&odm).await;

        // Without transactions the source's own insert may fail, and the copies would be of what was never there.
        odm.collection::<Seat>().delete(1).await.unwrap();
        odm.collection::<Hall>().delete(3).await.unwrap();
        let error = insert(&t.standalone_of(&odm).await).await.unwrap_err();
        assert!(matches!(error, Error::MissingReference { .. }), "{error}");
    });
}

#[odm_tests::test]
fn an_upsert_leaves_the_copies_of_a_document_that_is_there() {
    with_db(async |t| {
        let odm = halls(&t).await;
        odm.collection::<Hall>()
            .update(1)
            .unset(|h| h.label)
            .await
            .unwrap();
        for (id, odm) in [(1, odm.clone()), (2, t.standalone_of(&odm).await)] {
            let seats = odm.collection::<Seat>();
            seats.insert(seat(id, 2, 1)).await.unwrap();
            let before = seats.get(id).await.unwrap().unwrap();
            assert_eq!(before.hall_label.as_deref(), Some("label 2"));
            seats
                .update(id)
                .inc(|s| s.price, 1)
                .set_on_insert(|s| s.hall, Ref::new(1))
                .upsert()
                .await
                .unwrap();
            let after = seats.get(id).await.unwrap().unwrap();
            assert_eq!(after, Seat { price: 2, ..before });
            assert_clean(&odm).await;
        }
    });
}

#[odm_tests::test]
fn a_replacement_is_given_as_it_is_stored() {
    with_db(async |t| {
        let odm = halls(&t).await;
        odm.collection::<Seat>().insert(seat(1, 1, 3)).await.unwrap();
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let seats = odm.collection::<Seat>();
            let mut seat = seats.get(1).await.unwrap().unwrap();
            seat.hall_name = "not the hall's".to_owned();
            seat.hall = Ref::new(2);
            let given = seats.replace(seat).await.unwrap();
            assert_eq!(given.hall_name, "hall 2");
            assert_eq!(seats.get(1).await.unwrap().unwrap(), given);

            let mut hall = odm.collection::<Hall>().get(2).await.unwrap().unwrap();
            hall.seats = 77;
            hall.best.clear();
            let given = odm.collection::<Hall>().replace(hall).await.unwrap();
            assert_eq!((given.seats, given.best.len()), (1, 1));
            assert_clean(&odm).await;
            seats.update(1).set(|s| s.hall, Ref::new(1)).await.unwrap();
        }
    });
}

#[odm_tests::test]
fn a_refusal_that_is_passed_over_ends_its_transaction_at_once() {
    with_transactions(async |t| {
        let odm = halls(&t).await;
        let runs = AtomicU32::new(0);
        let outcome: Result<()> = odm
            .transaction(async |tx| {
                runs.fetch_add(1, Ordering::Relaxed);
                let halls = tx.collection::<Hall>();
                assert!(halls.insert(hall(1)).await.is_err());
                halls.update(2).set(|h| h.name, "never").await?;
                Ok(())
            })
            .await;
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("E11000"), "{error}");
        assert_eq!(runs.into_inner(), 1);
        assert_eq!(
            odm.collection::<Hall>().get(2).await.unwrap().unwrap().name,
            "hall 2"
        );
    });
}

#[odm_tests::test]
fn a_change_within_nothing_says_what_to_set() {
    with_db(async |t| {
        let odm = halls(&t).await;
        let seats = odm.collection::<Seat>();
        seats.insert(seat(1, 1, 3)).await.unwrap();
        t.db.collection::<odm::bson::Document>("seats")
            .update_one(doc! { "_id": 1 }, doc! { "$set": { "extra": null } })
            .await
            .unwrap();
        let error = seats.update(1).set(|s| s.extra.rows, 3).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::IsNull { .. }), "{text}");
        assert!(
            text.contains("`extra` of the document with _id 1 is `null` or missing"),
            "{text}"
        );
        seats
            .update(1)
            .set(|s| s.extra, Some(Extra { rows: 3 }))
            .await
            .unwrap();
    });
}

/// Documents of yesterday, and what is declared today.
mod later {
    pub mod before {
        use odm::prelude::*;

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "owners")]
        pub struct Owner {
            pub id: i32,
            pub name: String,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "things")]
        pub struct Thing {
            pub id: i32,
            #[parent_ref]
            pub owner: Ref<Owner>,
            #[reference]
            pub maker: Ref<Owner>,
            pub n: i32,
        }
    }

    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "owners")]
    pub struct Owner {
        pub id: i32,
        pub name: String,
        #[computed(sum = Thing.n, by = owner)]
        pub total: i64,
        #[computed(count = Thing, by = owner)]
        pub things: i64,
        #[subset(of = Thing, limit = 2, order(-n), by = owner, fields(n: i32))]
        pub top: Vec<TopEntry>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "things")]
    pub struct Thing {
        pub id: i32,
        #[parent_ref]
        pub owner: Ref<Owner>,
        #[denormalize(from = owner.name)]
        pub owner_name: String,
        #[reference]
        pub maker: Ref<Owner>,
        #[denormalize(from = maker.name)]
        pub maker_name: String,
        pub n: i32,
    }
}

#[odm_tests::test]
fn several_copies_that_are_declared_later_are_filled_under_their_validator() {
    with_db(async |t| {
        for repair in [false, true] {
            let before = Odm::new(t.db.clone(), models![later::before::Owner, later::before::Thing]).unwrap();
            before.sync().await.unwrap();
            let owners = (1..=3).map(|id| later::before::Owner {
                id,
                name: format!("owner {id}"),
            });
            before
                .collection::<later::before::Owner>()
                .insert_many(owners)
                .await
                .unwrap();
            let things = (1..=9).map(|id| later::before::Thing {
                id,
                owner: Ref::new(1 + id % 3),
                maker: Ref::new(1 + (id + 1) % 3),
                n: id,
            });
            before
                .collection::<later::before::Thing>()
                .insert_many(things)
                .await
                .unwrap();

            let odm = Odm::new(t.db.clone(), models![later::Owner, later::Thing]).unwrap();
            let plan = odm.plan().await.unwrap();
            odm.apply(&plan.accept_violations()).await.unwrap();
            if repair {
                assert!(odm.repair_all().await.unwrap().repaired > 0)
            } else {
                assert!(odm.backfill().await.unwrap().documents > 0)
            }
            assert_clean(&odm).await;
            let thing = odm.collection::<later::Thing>().get(4).await.unwrap().unwrap();
            assert_eq!((&*thing.owner_name, &*thing.maker_name), ("owner 2", "owner 3"));
            let owner = odm.collection::<later::Owner>().get(2).await.unwrap().unwrap();
            assert_eq!((owner.total, owner.things, owner.top.len()), (12, 3, 2));
            t.db.drop().await.unwrap();
        }
    });
}

mod circles {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "regions")]
    pub struct Region {
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "depots")]
    pub struct Depot {
        pub id: i32,
        #[reference]
        pub region: Ref<Region>,
        #[denormalize(from = region.name)]
        pub region_name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "parcels")]
    pub struct Parcel {
        pub id: i32,
        #[reference]
        pub depot: Ref<Depot>,
        #[denormalize(from = depot.region_name, consistency = eventual)]
        pub region: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "nodes")]
    pub struct Node {
        pub id: i32,
        pub name: String,
        #[parent_ref]
        pub up: Option<Ref<Node>>,
        #[denormalize(from = up.name)]
        pub up_name: Option<String>,
        #[computed(count = Node)]
        pub below: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "leaves")]
    pub struct Leaf {
        pub id: i32,
        #[reference]
        pub node: Ref<Node>,
        #[denormalize(from = node.up_name)]
        pub above: Option<String>,
        #[denormalize(from = node.below)]
        pub below: i64,
    }
}

#[odm_tests::test]
fn eventual_copies_follow_a_copy_that_a_new_reference_brings() {
    use circles::{Depot, NewDepot, NewParcel, Parcel, Region};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Region, Depot, Parcel]).unwrap();
        odm.sync().await.unwrap();
        let regions = (1..=2).map(|id| Region {
            id,
            name: format!("R{id}"),
        });
        odm.collection::<Region>().insert_many(regions).await.unwrap();
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let (depots, parcels) = (odm.collection::<Depot>(), odm.collection::<Parcel>());
            let region = Ref::new(1);
            depots.insert(NewDepot { id: 1, region }).await.unwrap();
            let depot = Ref::new(1);
            parcels.insert(NewParcel { id: 1, depot }).await.unwrap();
            let is_at = async |region: i32| {
                let parcel = parcels.get(1).await.unwrap().unwrap();
                assert_eq!(parcel.region, format!("R{region}"));
                assert_clean(&odm).await;
                assert_eq!(odm.recover().await.unwrap().documents, 0);
            };
            depots.update(1).set(|d| d.region, Ref::new(2)).await.unwrap();
            is_at(2).await;
            depots
                .update_where(|d| d.id.eq(1))
                .set(|d| d.region, Ref::new(1))
                .await
                .unwrap();
            is_at(1).await;
            let depot = depots.get(1).await.unwrap().unwrap();
            let region = Ref::new(2);
            depots.replace(Depot { region, ..depot }).await.unwrap();
            is_at(2).await;
            odm.bulk()
                .add(depots.update(1).set(|d| d.region, Ref::new(1)))
                .await
                .unwrap();
            is_at(1).await;
            if odm.server().await.unwrap().has_transactions() {
                odm.transaction(async |tx| {
                    let depots = tx.collection::<Depot>();
                    depots.update(1).set(|d| d.region, Ref::new(2)).await?;
                    Ok(())
                })
                .await
                .unwrap();
                is_at(2).await;
            }
            parcels.delete(1).await.unwrap();
            depots.delete(1).await.unwrap();
        }
    });
}

/// A rename concerns the children and what copies of them, and not all that is below.
#[odm_tests::test]
fn a_change_in_a_deep_tree_goes_as_far_as_it_is_copied() {
    use circles::{Leaf, NewLeaf, NewNode, Node};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Node, Leaf]).unwrap();
        odm.sync().await.unwrap();
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let (nodes, leaves) = (odm.collection::<Node>(), odm.collection::<Leaf>());
            let tree = (1..=20).map(|id| NewNode {
                id,
                name: format!("n{id}"),
                up: (id > 1).then(|| Ref::new(id - 1)),
            });
            for node in tree {
                nodes.insert(node).await.unwrap();
            }
            for id in 1..=20 {
                let node = Ref::new(id);
                leaves.insert(NewLeaf { id, node }).await.unwrap();
            }
            nodes.update(1).set(|n| n.name, "root").await.unwrap();
            assert_clean(&odm).await;
            assert_eq!(
                nodes.get(2).await.unwrap().unwrap().up_name.as_deref(),
                Some("root")
            );
            assert_eq!(
                leaves.get(2).await.unwrap().unwrap().above.as_deref(),
                Some("root")
            );
            let raw = t.db.collection::<Doc>("nodes");
            let version = async |id: i32| {
                let node = raw.find_one(doc! { "_id": id }).await.unwrap().unwrap();
                node.get_document("_odm").unwrap().get_i64("version").unwrap()
            };
            let before = [version(2).await, version(3).await];
            nodes.update(1).set(|n| n.name, "the root").await.unwrap();
            assert_eq!(
                leaves.get(2).await.unwrap().unwrap().above.as_deref(),
                Some("the root")
            );
            assert_eq!([version(2).await, version(3).await], [before[0] + 1, before[1]]);
            assert_clean(&odm).await;
            assert_eq!(odm.recover().await.unwrap().documents, 0);
            t.db.collection::<Doc>("nodes")
                .delete_many(doc! {})
                .await
                .unwrap();
            t.db.collection::<Doc>("leaves")
                .delete_many(doc! {})
                .await
                .unwrap();
        }
    });
}

/// Copies of copies have no circle by their fields; the documents may have one.
#[odm_tests::test]
fn documents_that_refer_to_each_other_in_a_circle_come_to_rest() {
    use circles::{Leaf, NewLeaf, NewNode, Node};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Node, Leaf]).unwrap();
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            odm.sync().await.unwrap();
            let (nodes, leaves) = (odm.collection::<Node>(), odm.collection::<Leaf>());
            for id in 1..=3 {
                let name = format!("n{id}");
                nodes.insert(NewNode { id, name, up: None }).await.unwrap();
                let node = Ref::new(id);
                leaves.insert(NewLeaf { id, node }).await.unwrap();
            }
            let is_true = async || {
                for leaf in leaves.find_all().all().await.unwrap() {
                    let node = nodes.get(*leaf.node.key()).await.unwrap().unwrap();
                    let above = match &node.up {
                        Some(up) => Some(nodes.get(*up.key()).await.unwrap().unwrap().name),
                        None => None,
                    };
                    let below = nodes
                        .find(|n| n.up.eq(Some(Ref::new(node.id))))
                        .count()
                        .await
                        .unwrap();
                    assert_eq!((&node.up_name, node.below), (&above, below as i64), "{node:?}");
                    assert_eq!((&leaf.above, leaf.below), (&above, below as i64), "{leaf:?}");
                }
                assert_clean(&odm).await;
                assert_eq!(
                    odm.recover().await.unwrap().documents,
                    0,
                    "no work is left pending"
                );
            };
            let up = async |id: i32, to: Option<i32>| {
                nodes.update(id).set(|n| n.up, to.map(Ref::new)).await.unwrap();
                is_true().await;
            };
            let rename = async |id: i32, name: &str| {
                nodes.update(id).set(|n| n.name, name).await.unwrap();
                is_true().await;
            };
            // Itself; a circle of two; of three.
            up(1, Some(1)).await;
            rename(1, "one").await;
            up(1, Some(2)).await;
            up(2, Some(1)).await;
            rename(1, "two").await;
            rename(2, "of two").await;
            up(2, Some(3)).await;
            up(3, Some(1)).await;
            rename(3, "three").await;
            nodes
                .update_where(|n| n.id.lte(2))
                .set(|n| n.name, "both")
                .await
                .unwrap();
            is_true().await;
            up(1, None).await;
            rename(1, "free").await;
            up(1, Some(1)).await;
            leaves.delete_where(|l| l.id.gt(0)).await.unwrap();
            nodes.delete_where(|n| n.id.gt(0)).await.unwrap();
            is_true().await;
            t.db.drop().await.unwrap();
        }
    });
}

/// A delivery that changes its own source goes on all the same.
#[odm_tests::test]
fn a_source_of_many_may_hold_a_copy_of_itself() {
    use circles::{Leaf, NewLeaf, NewNode, Node};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Node, Leaf]).unwrap();
        odm.sync().await.unwrap();
        let odm = t.standalone_of(&odm).await;
        let odm = odm.with_fan_out(odm::references::FanOut::new().batch(5));
        let (nodes, leaves) = (odm.collection::<Node>(), odm.collection::<Leaf>());
        for id in 1..=30 {
            let name = format!("n{id}");
            // Each belongs to the first one or the second.
            let up = (id > 2).then(|| Ref::new(1 + id % 2));
            nodes.insert(NewNode { id, name, up }).await.unwrap();
            let node = Ref::new(id);
            leaves.insert(NewLeaf { id, node }).await.unwrap();
        }
        for (first, second) in [(1, 2), (2, 1)] {
            nodes
                .update(1)
                .set(|n| n.up, Some(Ref::new(first)))
                .await
                .unwrap();
            nodes
                .update(2)
                .set(|n| n.up, Some(Ref::new(second)))
                .await
                .unwrap();
            nodes
                .update_where(|n| n.id.lte(2))
                .set(|n| n.name, format!("above {first}"))
                .await
                .unwrap();
            assert_clean(&odm).await;
            assert_eq!(odm.recover().await.unwrap().documents, 0);
        }
    });
}

mod left {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "owners")]
    pub struct Owner {
        pub id: i32,
        pub name: String,
        pub city: Option<String>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "things")]
    pub struct Thing {
        pub id: i32,
        #[reference]
        pub owner: Option<Ref<Owner>>,
        #[denormalize(from = owner.name)]
        pub owner_name: Option<String>,
        #[denormalize(from = owner.city)]
        pub owner_city: Option<String>,
        #[embed]
        pub place: Option<Place>,
        #[embed(max = 5)]
        pub loans: Vec<Loan>,
        #[embed]
        pub state: State,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    pub struct Place {
        #[reference]
        pub keeper: Option<Ref<Owner>>,
        #[denormalize(from = keeper.name)]
        pub keeper_name: Option<String>,
        #[denormalize(from = keeper.name, consistency = snapshot)]
        pub first_name: Option<String>,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    pub struct Loan {
        pub day: i32,
        #[reference]
        pub to: Option<Ref<Owner>>,
        #[denormalize(from = to.name)]
        pub called: Option<String>,
        #[denormalize(from = to.city)]
        pub lives: Option<String>,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    #[embed(tag = "is")]
    pub enum State {
        Sold(Sale),
        Given(Gift),
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    pub struct Sale {
        #[reference]
        #[field(skip_none)]
        pub buyer: Option<Ref<Owner>>,
        #[denormalize(from = buyer.name)]
        pub buyer_name: Option<String>,
        pub price: i32,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    pub struct Gift {
        pub giver: Option<String>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "labels")]
    pub struct Label {
        pub id: i32,
        #[reference]
        pub thing: Ref<Thing>,
        #[denormalize(from = thing.owner_name)]
        pub owner: Option<String>,
    }
}

/// An out-of-band write empties references, and leaves the copies.
#[odm_tests::test]
fn copies_that_others_left_beside_an_empty_reference_are_found_and_taken_away() {
    use left::{Gift, Label, Loan, NewLabel, NewThing, Owner, Place, Sale, State, Thing};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Owner, Thing, Label]).unwrap();
        odm.sync().await.unwrap();
        let owners = (1..=2).map(|id| Owner {
            id,
            name: format!("owner {id}"),
            city: Some(format!("city {id}")),
        });
        odm.collection::<Owner>().insert_many(owners).await.unwrap();
        let raw = t.db.collection::<Doc>("things");
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let (things, labels) = (odm.collection::<Thing>(), odm.collection::<Label>());
            let loan = |day, to: Option<i32>| Loan {
                day,
                to: to.map(Ref::new),
                called: None,
                lives: None,
            };
            for id in 1..=5 {
                let state = match id {
                    4 => State::Given(Gift {
                        giver: Some("somebody".into()),
                    }),
                    _ => State::Sold(Sale {
                        buyer: (id != 5).then(|| Ref::new(1)),
                        buyer_name: None,
                        price: 1,
                    }),
                };
                let new = NewThing {
                    id,
                    owner: Some(Ref::new(1)),
                    place: Some(Place {
                        keeper: Some(Ref::new(2)),
                        keeper_name: None,
                        first_name: None,
                    }),
                    loans: vec![
                        loan(1, Some(1)),
                        loan(2, None),
                        loan(3, Some(2)),
                        loan(4, Some(1)),
                    ],
                    state,
                };
                things.insert(new).await.unwrap();
                let thing = Ref::new(id);
                labels.insert(NewLabel { id, thing }).await.unwrap();
            }
            assert_clean(&odm).await;
            let whole = things.get(4).await.unwrap().unwrap();
            // Emptied; taken away; with its version.
            let past = [
                (
                    1,
                    doc! { "$set": { "owner": Bson::Null, "place.keeper": Bson::Null, "loans.2.to": Bson::Null } },
                ),
                (
                    2,
                    doc! { "$unset": { "owner": "", "place.keeper": "", "loans.2.to": "", "loans.3.to": "" } },
                ),
                (
                    3,
                    doc! { "$unset": { "owner": "", "_copied": "", "loans.0.to": "", "loans.0._copied": "", "state.buyer": "" } },
                ),
            ];
            for (id, update) in past {
                raw.update_one(doc! { "_id": id }, update).await.unwrap();
            }
            let audit = odm.audit().await.unwrap();
            let stale = |field: &str| {
                let mut copies = audit.copies.iter();
                let of = copies
                    .find(|copy| copy.collection == "things" && copy.fields.iter().any(|one| one == field));
                let of = of.unwrap_or_else(|| panic!("nothing of {field} in {audit}"));
                (of.checked, of.stale.count)
            };
            assert_eq!(stale("owner_name"), (5, 3));
            assert_eq!(stale("place.keeper_name"), (5, 2));
            assert_eq!(stale("loans.called"), (15, 3));
            // One variant has no such reference, and one document no buyer.
            assert_eq!(stale("state.buyer_name"), (3, 1));
            let repaired = odm.repair(&audit).await.unwrap();
            assert_eq!(repaired.repaired, 9, "{repaired}");
            assert_clean(&odm).await;
            assert_eq!(odm.repair_all().await.unwrap().repaired, 0);
            assert_eq!(odm.recover().await.unwrap().documents, 0);
            for id in 1..=3 {
                let thing = things.get(id).await.unwrap().unwrap();
                assert_eq!(
                    (thing.owner, thing.owner_name, thing.owner_city),
                    (None, None, None)
                );
                let label = labels.get(id).await.unwrap().unwrap();
                assert_eq!(label.owner, None, "a copy of the copy follows");
                let place = thing.place.unwrap();
                let keeper = (id == 3).then(|| "owner 2".to_owned());
                assert_eq!(place.keeper_name, keeper);
                assert_eq!(place.first_name.as_deref(), Some("owner 2"), "a snapshot stays");
                for loan in thing.loans {
                    let of = |what: &str| loan.to.as_ref().map(|to| format!("{what} {}", to.key()));
                    assert_eq!(
                        (loan.called, loan.lives),
                        (of("owner"), of("city")),
                        "{id} {}",
                        loan.day
                    );
                }
                let stored = raw.find_one(doc! { "_id": id }).await.unwrap().unwrap();
                let copied = stored.get_document("_copied").ok();
                assert!(
                    copied.is_none_or(|copied| !copied.contains_key("owner")),
                    "{stored}"
                );
            }
            assert_eq!(things.get(4).await.unwrap().unwrap(), whole);
            labels.delete_where(|l| l.id.gt(0)).await.unwrap();
            things.delete_where(|t| t.id.gt(0)).await.unwrap();
        }
    });
}

/// The path of a copy is its own: in a variant without the reference nothing else stands there.
#[odm_tests::test]
fn a_copy_that_is_something_else_in_another_variant_is_refused() {
    use left::Owner;
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "parcels")]
    struct Parcel {
        id: i32,
        #[embed]
        state: State,
        #[embed]
        way: Way,
    }
    #[derive(Embed, Clone, Debug, PartialEq)]
    #[embed(tag = "is")]
    enum State {
        Sold(Sale),
        Given(Gift),
    }
    #[derive(Embed, Clone, Debug, PartialEq)]
    struct Sale {
        #[reference]
        buyer: Option<Ref<Owner>>,
        #[denormalize(from = buyer.name)]
        name: Option<String>,
    }
    #[derive(Embed, Clone, Debug, PartialEq)]
    struct Gift {
        name: String,
    }
    #[derive(Embed, Clone, Debug, PartialEq)]
    #[embed(untagged)]
    enum Way {
        By(Carrier),
        Own(Driver),
        Their(Pilot),
    }
    #[derive(Embed, Clone, Debug, PartialEq)]
    struct Carrier {
        #[reference]
        carrier: Ref<Owner>,
        #[denormalize(from = carrier.name)]
        called: String,
    }
    #[derive(Embed, Clone, Debug, PartialEq)]
    struct Driver {
        #[reference]
        driver: Ref<Owner>,
        #[denormalize(from = driver.name)]
        called: String,
        #[denormalize(from = driver.name)]
        lives: Option<String>,
    }
    #[derive(Embed, Clone, Debug, PartialEq)]
    struct Pilot {
        #[reference]
        driver: Ref<Owner>,
        #[denormalize(from = driver.city)]
        lives: Option<String>,
    }
    with_db(async |t| {
        let error = Odm::new(t.db.clone(), models![Owner, Parcel])
            .unwrap_err()
            .to_string();
        for part in [
            "`Parcel.state.name` is a copy in one variant and another value in another one: give the fields different names",
            "`Parcel.way.called` is copied through `way.driver` in one variant and through `way.carrier` in another one",
            "`Parcel.way.lives` is a copy of `city` in one variant and of `name` in another one",
        ] {
            assert!(error.contains(part), "{part}\n{error}");
        }
    });
}

mod nullified {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "users")]
    pub struct User {
        pub id: i32,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "machines")]
    pub struct Machine {
        pub id: i32,
        #[parent_ref]
        pub site: Ref<Site>,
        #[reference(on_delete = nullify)]
        pub user: Option<Ref<User>>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "sites")]
    pub struct Site {
        pub id: i32,
        #[computed(count = Machine, filter = |m| m.user.exists(true))]
        pub used: i64,
    }
}

/// A field that is derived under a condition on a reference is updated when a deletion empties the reference.
#[odm_tests::test]
fn a_deletion_that_empties_a_reference_is_passed_on() {
    use nullified::{Machine, NewMachine, NewSite, Site, User};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![User, Machine, Site]).unwrap();
        odm.sync().await.unwrap();
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            odm.collection::<User>()
                .insert_many([User { id: 1 }, User { id: 2 }])
                .await
                .unwrap();
            odm.collection::<Site>().insert(NewSite { id: 1 }).await.unwrap();
            for id in [1, 2] {
                let new = NewMachine {
                    id,
                    site: Ref::new(1),
                    user: Some(Ref::new(id)),
                };
                odm.collection::<Machine>().insert(new).await.unwrap();
            }
            let sites = odm.collection::<Site>();
            assert_eq!(sites.get(1).await.unwrap().unwrap().used, 2);
            odm.collection::<User>().delete(2).await.unwrap();
            assert_eq!(sites.get(1).await.unwrap().unwrap().used, 1);
            assert_clean(&odm).await;
            assert_eq!(odm.recover().await.unwrap().documents, 0);
            odm.collection::<Machine>()
                .delete_where(|m| m.id.gt(0))
                .await
                .unwrap();
            odm.collection::<Site>().delete(1).await.unwrap();
            odm.collection::<User>().delete(1).await.unwrap();
        }
    });
}

/// A copy may be of any shape, and is refused only where no update reaches it.
#[odm_tests::test]
fn copies_of_opaque_fields_are_taken_and_those_in_tuples_refused() {
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "hooks")]
    struct Hook {
        id: i32,
        #[field(opaque)]
        payload: Doc,
    }
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "calls")]
    struct Call {
        id: i32,
        #[reference]
        hook: Ref<Hook>,
        #[field(opaque)]
        #[denormalize(from = hook.payload)]
        payload: Doc,
    }
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "pairs")]
    struct Pair {
        id: i32,
        #[embed]
        pair: (Half, i32),
    }
    #[derive(Embed, Clone, Debug, PartialEq)]
    struct Half {
        #[reference]
        call: Ref<Call>,
        #[denormalize(from = call.payload)]
        #[field(opaque)]
        payload: Doc,
    }
    with_db(async |t| {
        let refused = Odm::new(t.db.clone(), models![Hook, Call, Pair]).unwrap_err();
        let expected = "`Pair.pair.0.payload` is a copy in the tuple `pair`";
        assert!(refused.to_string().contains(expected), "{refused}");
        let odm = Odm::new(t.db.clone(), models![Hook, Call]).unwrap();
        odm.sync().await.unwrap();
        let (hooks, calls) = (odm.collection::<Hook>(), odm.collection::<Call>());
        let payload = doc! { "a": 1 };
        hooks.insert(Hook { id: 1, payload }).await.unwrap();
        let hook = Ref::new(1);
        calls.insert(NewCall { id: 1, hook }).await.unwrap();
        hooks
            .update(1)
            .set(|h| h.payload, doc! { "b": [2] })
            .await
            .unwrap();
        assert_eq!(calls.get(1).await.unwrap().unwrap().payload, doc! { "b": [2] });
        assert_clean(&odm).await;
    });
}

mod roads {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "lands")]
    pub struct Land {
        pub id: i32,
        pub name: String,
        pub code: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "towns")]
    pub struct Town {
        pub id: i32,
        #[reference]
        pub land: Ref<Land>,
        #[denormalize(from = land.name)]
        pub land_name: String,
        #[denormalize(from = land.code)]
        pub land_code: String,
        #[computed(count = Road)]
        pub roads: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "roads")]
    pub struct Road {
        pub id: i32,
        #[parent_ref]
        pub town: Ref<Town>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "guides")]
    pub struct Guide {
        pub id: i32,
        #[reference]
        pub town: Ref<Town>,
        #[denormalize(from = town.roads)]
        pub roads: i64,
    }

    pub fn models() -> [odm::Model; 4] {
        models![Land, Town, Road, Guide]
    }
}

/// The same program before it had the land's code in towns, and guides.
mod roads_before {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "lands")]
    pub struct Land {
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "towns")]
    pub struct Town {
        pub id: i32,
        #[reference]
        pub land: Ref<Land>,
        #[denormalize(from = land.name)]
        pub land_name: String,
        #[computed(count = Road)]
        pub roads: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "roads")]
    pub struct Road {
        pub id: i32,
        #[parent_ref]
        pub town: Ref<Town>,
    }

    pub fn models() -> [odm::Model; 3] {
        models![Land, Town, Road]
    }
}

/// An older program knows the reference and not all of its copies, or not what follows from what it writes.
#[odm_tests::test]
fn an_older_program_leaves_unknown_copies_to_others() {
    use roads::{Guide, Land, NewGuide, NewRoad, NewTown, Town};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), roads::models()).unwrap();
        odm.sync().await.unwrap();
        let land = Land {
            id: 1,
            name: "land".into(),
            code: "l".into(),
        };
        odm.collection::<Land>().insert(land).await.unwrap();
        let town = NewTown {
            id: 1,
            land: Ref::new(1),
        };
        odm.collection::<Town>().insert(town).await.unwrap();
        let guide = NewGuide {
            id: 1,
            town: Ref::new(1),
        };
        odm.collection::<Guide>().insert(guide).await.unwrap();
        let road = NewRoad {
            id: 1,
            town: Ref::new(1),
        };
        odm.collection::<roads::Road>().insert(road).await.unwrap();

        let older = || Odm::new(t.db.clone(), roads_before::models()).unwrap();
        // A process of the new program has died: an older one finds its pending work, before it has called `sync`.
        let changed = doc! {
            "$set": { "code": "x", "_odm.pending.operation": ObjectId::new(), "_odm.pending.fields.*": ObjectId::new() },
            "$inc": { "_odm.version": 1_i64 },
        };
        let lands = t.db.collection::<Doc>("lands");
        lands.update_one(doc! { "_id": 1 }, changed).await.unwrap();
        let refused = older().recover().await.unwrap_err();
        assert!(matches!(refused, Error::UnknownCopies { .. }), "{refused}");
        assert_eq!(odm.recover().await.unwrap().documents, 1);
        assert_clean(&odm).await;
        assert_eq!(
            older().recover().await.unwrap().documents,
            0,
            "no work is pending"
        );

        let before = older();
        let told = before.sync().await.unwrap_err();
        let Error::UnknownCopies { edges } = &told else {
            panic!("{told}")
        };
        assert_eq!(
            edges[0], "towns.land_code from lands.code",
            "the copy, and not only the reference that it is taken through"
        );
        assert!(
            edges.len() > 1
                && edges[1..]
                    .iter()
                    .all(|name| name.starts_with("guides.") && name.contains(" from towns.")),
            "{told}"
        );
        let written = [
            before
                .collection::<roads_before::Land>()
                .update(1)
                .set(|l| l.name, "y")
                .await
                .map(drop),
            before
                .collection::<roads_before::Road>()
                .insert(roads_before::Road {
                    id: 2,
                    town: Ref::new(1),
                })
                .await
                .map(drop),
            before
                .collection::<roads_before::Road>()
                .delete(1)
                .await
                .map(drop),
        ];
        for written in written {
            written.unwrap();
        }
        odm.recover().await.unwrap();
        assert_clean(&odm).await;
        // Nor does it repair: of copies with one version some would be new then, and the others would never be updated. That it may
        // write them does not change that.
        let land = doc! { "_id": 1 };
        let change = doc! {
            "$set": { "name": "n", "code": "c", "_odm.pending.operation": ObjectId::new(), "_odm.pending.fields.*": ObjectId::new() },
            "$inc": { "_odm.version": 1_i64 },
        };
        lands.update_one(land, change).await.unwrap();
        let allowed = older().allow_unknown_copies();
        for older in [older(), allowed] {
            let all = [
                older.repair_all().await.map(drop),
                older.backfill().again().await.map(drop),
                older.recover().await.map(drop),
            ];
            for refused in all {
                assert!(matches!(refused, Err(Error::UnknownCopies { .. })), "{refused:?}");
            }
        }
        assert_eq!(odm.recover().await.unwrap().documents, 1);
        assert_clean(&odm).await;
        // The declarations of the new program are as they were: nothing waits for a backfill.
        assert_eq!(odm.backfill().await.unwrap().edges, Vec::<String>::new());
        assert_clean(&odm).await;

        // It has all models now.
        assert_eq!(before.forget_copies().await.unwrap(), 2);
        before.sync().await.unwrap();
        before
            .collection::<roads_before::Land>()
            .update(1)
            .set(|l| l.name, "y")
            .await
            .unwrap();
    });
}

/// A document that is stored under a field's old name can be read after the field is set, or removed.
#[odm_tests::test]
fn a_field_that_is_set_loses_its_old_name() {
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "renamed")]
    struct Renamed {
        id: i32,
        #[field(alias = "title")]
        name: String,
        #[field(alias = "remark", alias = "comment")]
        note: Option<String>,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Renamed]).unwrap();
        odm.sync().await.unwrap();
        let raw = t.db.collection::<Doc>("renamed");
        let old = doc! { "_id": 1, "title": "old", "comment": "old" };
        raw.insert_one(old).await.unwrap();
        let renamed = odm.collection::<Renamed>();
        let read = async || {
            let one = renamed.get(1).await.unwrap().unwrap();
            (one.name, one.note)
        };
        let old = || Some("old".to_owned());
        assert_eq!(read().await, ("old".to_owned(), old()));
        renamed.update(1).set(|r| r.name, "new").await.unwrap();
        assert_eq!(read().await, ("new".to_owned(), old()));
        renamed.update(1).unset(|r| r.note).await.unwrap();
        assert_eq!(read().await, ("new".to_owned(), None));
        let stored = raw.find_one(doc! {}).await.unwrap().unwrap();
        assert_eq!(stored, doc! { "_id": 1, "name": "new" });
    });
}

/// As with a number or an array: the entry would stay under the old name of the map, and the update would say that it is gone.
#[odm_tests::test]
fn an_entry_of_a_map_is_not_taken_out_under_its_old_name() {
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "desks")]
    struct Desk {
        id: i32,
        #[field(alias = "times")]
        #[embed(max = 5)]
        hours: std::collections::BTreeMap<String, i32>,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Desk]).unwrap();
        let raw = t.db.collection::<Doc>("desks");
        let old = doc! { "_id": 1, "times": { "mon": 8, "tue": 9 } };
        let new = doc! { "_id": 2, "hours": { "mon": 8, "tue": 9 } };
        raw.insert_many([&old, &new]).await.unwrap();
        let desks = odm.collection::<Desk>();
        let error = desks.update(1).unset_key(|d| d.hours, "mon").await.unwrap_err();
        assert!(error.to_string().contains("previous name `times`"), "{error}");
        let stored = raw.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
        assert_eq!(stored, old, "nothing was written");
        let many = desks
            .update_where(|d| d.id.gte(1))
            .unset_key(|d| d.hours, "mon")
            .await
            .unwrap();
        assert_eq!((many.modified, many.refused), (1, 1));
        let hours = async |id: i32| {
            desks
                .get(id)
                .await
                .unwrap()
                .unwrap()
                .hours
                .into_keys()
                .collect::<Vec<_>>()
        };
        assert_eq!(hours(2).await, ["tue"]);
        // Set as a whole it has its own name, and can be changed.
        let both = std::collections::BTreeMap::from([("mon".to_owned(), 8), ("tue".to_owned(), 9)]);
        desks.update(1).set(|d| d.hours, both).await.unwrap();
        desks.update(1).unset_key(|d| d.hours, "mon").await.unwrap();
        assert_eq!(hours(1).await, ["tue"]);
        let stored = raw.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
        assert_eq!(stored, doc! { "_id": 1, "hours": { "tue": 9 } });
    });
}

/// A change of what is stored under a field's old name would leave the document with both, which nothing can read.
#[odm_tests::test]
fn a_change_of_a_field_under_its_old_name_is_refused_until_it_is_set() {
    #[derive(Embed, Clone, Debug, PartialEq)]
    struct Line {
        sku: String,
        #[field(alias = "count")]
        quantity: i32,
    }
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "carts")]
    struct Cart {
        id: i32,
        #[field(alias = "points")]
        #[field(min = 0, max = 100)]
        score: i32,
        #[field(alias = "labels")]
        #[embed(max = 3)]
        tags: Vec<String>,
        #[embed(max = 5)]
        lines: Vec<Line>,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Cart]).unwrap();
        let raw = t.db.collection::<Doc>("carts");
        let old = doc! {
            "_id": 1, "points": 5, "labels": ["a", "b", "c"], "lines": [{ "sku": "x", "count": 1 }, { "sku": "y", "quantity": 1 }],
        };
        let new = doc! { "_id": 2, "score": 5, "tags": ["a"], "lines": [{ "sku": "x", "quantity": 1 }] };
        raw.insert_many([&old, &new]).await.unwrap();
        let carts = odm.collection::<Cart>();
        let names_previous = |error: odm::Error, name: &str| {
            let message = error.to_string();
            assert!(message.contains(&format!("previous name `{name}`")), "{message}");
        };
        names_previous(carts.update(1).inc(|c| c.score, 1).await.unwrap_err(), "points");
        names_previous(carts.update(1).max(|c| c.score, 9).await.unwrap_err(), "points");
        names_previous(carts.update(1).push(|c| c.tags, "d").await.unwrap_err(), "labels");
        names_previous(carts.update(1).pull(|c| c.tags, "a").await.unwrap_err(), "labels");
        names_previous(
            carts.update(1).add_to_set(|c| c.tags, "a").await.unwrap_err(),
            "labels",
        );
        names_previous(
            carts
                .update(1)
                .inc(|c| c.score, 1)
                .set_on_insert(|c| c.tags, vec![])
                .set_on_insert(|c| c.lines, vec![])
                .upsert()
                .await
                .unwrap_err(),
            "points",
        );
        let of_x = |line: CartFields| line.lines;
        let one_more = carts
            .update(1)
            .elem(of_x, |l| l.sku.eq("x"), |l| l.inc(|l| l.quantity, 1));
        names_previous(one_more.await.unwrap_err(), "lines.count");
        let many = carts
            .update_where(|c| c.id.gte(1))
            .inc(|c| c.score, 1)
            .await
            .unwrap();
        assert_eq!((many.modified, many.refused), (1, 1));
        let stored = raw.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
        assert_eq!(stored, old, "nothing was written");
        // Where the old name is not, there is nothing to refuse; an item with its own name is no other's.
        carts
            .update(2)
            .inc(|c| c.score, 1)
            .push(|c| c.tags, "b")
            .await
            .unwrap();
        let one_more = carts
            .update(1)
            .elem(of_x, |l| l.sku.eq("y"), |l| l.inc(|l| l.quantity, 1));
        one_more.await.unwrap();
        // The advice of the message.
        let set = carts
            .update(1)
            .set(|c| c.score, 5)
            .set(|c| c.tags, vec!["a".to_owned()]);
        set.await.unwrap();
        carts
            .update(1)
            .inc(|c| c.score, 1)
            .push(|c| c.tags, "b")
            .await
            .unwrap();
        let read = carts.get(1).await.unwrap().unwrap();
        assert_eq!((read.score, read.tags.len(), read.lines[1].quantity), (6, 2, 2));
    });
}

/// An update stores what serde would: nothing for `None`, where the field says so.
#[odm_tests::test]
fn a_field_that_serde_would_skip_is_removed() {
    #[derive(Embed, Clone, Debug, PartialEq)]
    struct Part {
        id: i32,
        #[field(skip_none)]
        note: Option<String>,
    }
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "works")]
    struct Work {
        id: i32,
        #[field(skip_none, alias = "ean")]
        #[index(unique, sparse)]
        isbn: Option<String>,
        #[field(skip_none)]
        #[embed(max = 3)]
        tags: Option<Vec<String>>,
        subtitle: Option<String>,
        #[embed(max = 3)]
        parts: Vec<Part>,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Work]).unwrap();
        odm.sync().await.unwrap();
        let raw = t.db.collection::<Doc>("works");
        let works = odm.collection::<Work>();
        for id in [1, 2] {
            let isbn = Some(format!("isbn {id}"));
            let (tags, subtitle) = (Some(vec!["a".to_owned()]), Some("s".to_owned()));
            let parts = vec![Part {
                id: 1,
                note: Some("n".to_owned()),
            }];
            works
                .insert(Work {
                    id,
                    isbn,
                    tags,
                    subtitle,
                    parts,
                })
                .await
                .unwrap();
        }
        // Two of them: `null` would be a value, of which a unique index takes one.
        for id in [1, 2] {
            let update = works
                .update(id)
                .set(|w| w.isbn, None)
                .set(|w| w.tags, None)
                .set(|w| w.subtitle, None);
            update
                .elem(|w| w.parts, |p| p.id.eq(1), |p| p.set(|p| p.note, None))
                .await
                .unwrap();
            let stored = raw.find_one(doc! { "_id": id }).await.unwrap().unwrap();
            assert_eq!(
                stored,
                doc! { "_id": id, "subtitle": null, "parts": [{ "id": 1 }] }
            );
            let read = works.get(id).await.unwrap().unwrap();
            let mut replaced = read.clone();
            replaced.isbn = None;
            assert_eq!(read, replaced);
        }
        // Several values in one update are refused, whichever of them is stored.
        let last = || Some("last".to_owned());
        for update in [
            works.update(2).set(|w| w.isbn, None).set(|w| w.isbn, last()),
            works.update(2).set(|w| w.isbn, last()).set(|w| w.isbn, None),
        ] {
            assert!(matches!(update.await, Err(Error::Query { .. })));
        }
        works.update(2).set(|w| w.isbn, last()).await.unwrap();
        works.update(2).set(|w| w.isbn, None).await.unwrap();
        assert_eq!(works.get(2).await.unwrap().unwrap().isbn, None);
        let none = works.update(4).set_on_insert(|w| w.isbn, None);
        none.set(|w| w.parts, Vec::<Part>::new()).upsert().await.unwrap();
        assert_eq!(works.get(4).await.unwrap().unwrap().isbn, None);
        // A missing array is an empty one, and `null` is none.
        works.update(1).push(|w| w.tags, "b").await.unwrap();
        assert_eq!(
            works.get(1).await.unwrap().unwrap().tags,
            Some(vec!["b".to_owned()])
        );
        let new = works
            .update(3)
            .set(|w| w.isbn, None)
            .set_on_insert(|w| w.tags, None)
            .set(|w| w.parts, Vec::<Part>::new());
        new.upsert().await.unwrap();
        let stored = raw.find_one(doc! { "_id": 3 }).await.unwrap().unwrap();
        assert_eq!(stored, doc! { "_id": 3, "parts": [] });
    });
}

/// Fields that would be derived of each other are refused, by name. (What no condition names, the compiler refuses.)
#[odm_tests::test]
fn a_circle_of_derived_fields_is_refused() {
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "hens")]
    struct Hen {
        id: i32,
        #[computed(count = Egg, filter = |e| e.from.gt(0))]
        from: i64,
    }
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "eggs")]
    struct Egg {
        id: i32,
        #[parent_ref]
        hen: Ref<Hen>,
        #[denormalize(from = hen.from)]
        from: i64,
    }
    with_db(async |t| {
        let refused = Odm::new(t.db.clone(), models![Hen, Egg]).unwrap_err().to_string();
        assert!(refused.contains("update each other forever"), "{refused}");
        assert!(
            refused.contains("`hens.from` → `eggs.from`") || refused.contains("`eggs.from` → `hens.from`"),
            "{refused}"
        );
    });
}

/// A join on the server finds the same as the query alone would.
#[odm_tests::test]
fn a_lookup_compares_as_the_query_says() {
    use roads::{Land, NewTown, Town};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), roads::models()).unwrap();
        odm.sync().await.unwrap();
        let land = Land {
            id: 1,
            name: "Land".into(),
            code: "l".into(),
        };
        odm.collection::<Land>().insert(land).await.unwrap();
        let town = NewTown {
            id: 1,
            land: Ref::new(1),
        };
        odm.collection::<Town>().insert(town).await.unwrap();
        let ignore_case = odm::mongodb::options::Collation::builder()
            .locale("en")
            .strength(odm::mongodb::options::CollationStrength::Secondary)
            .build();
        let towns = odm.collection::<Town>();
        let query = || {
            let found = towns.find(|t| t.land_name.eq("LAND"));
            found.collation(ignore_case.clone()).include(|t| t.land)
        };
        let joined = query().all().await.unwrap();
        assert_eq!(joined.len(), 1);
        assert_eq!(query().lookup().all().await.unwrap(), joined);
    });
}

mod codes {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "towns")]
    pub struct Town {
        pub id: i32,
        #[reference]
        pub land: Ref<roads::Land>,
        #[denormalize(from = land.name)]
        pub land_name: String,
        #[denormalize(from = land.code)]
        pub land_code: Option<String>,
    }
}

mod codes_before {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "towns")]
    pub struct Town {
        pub id: i32,
        #[reference]
        pub land: Ref<roads::Land>,
        #[denormalize(from = land.name)]
        pub land_name: String,
    }
}

/// The declarations of a newer program are filled by a program that has all of them, which alone writes their holders.
#[odm_tests::test]
fn an_older_program_does_not_fill_declarations_of_a_newer_one() {
    use roads::Land;
    with_db(async |t| {
        let before = || Odm::new(t.db.clone(), models![Land, codes_before::Town]).unwrap();
        let odm = before();
        odm.sync().await.unwrap();
        let land = Land {
            id: 1,
            name: "land".into(),
            code: "l".into(),
        };
        odm.collection::<Land>().insert(land).await.unwrap();
        let town = |id: i32| codes_before::NewTown {
            id,
            land: Ref::new(1),
        };
        odm.collection::<codes_before::Town>()
            .insert(town(1))
            .await
            .unwrap();

        let newer = Odm::new(t.db.clone(), models![Land, codes::Town]).unwrap();
        newer.sync().await.unwrap();
        let older = before();
        let told = older.sync().await.unwrap_err();
        assert!(matches!(told, Error::UnknownCopies { .. }), "{told}");
        let towns = older.collection::<codes_before::Town>();
        towns.insert(town(2)).await.unwrap();
        let filled = older.backfill().await.unwrap();
        assert_eq!(filled.edges, Vec::<String>::new());
        let filled = newer.backfill().await.unwrap();
        assert_eq!(filled.edges, ["towns.land"]);
        newer.recover().await.unwrap();
        let town = newer.collection::<codes::Town>().get(1).await.unwrap().unwrap();
        assert_eq!(town.land_code.as_deref(), Some("l"));
        assert_clean(&newer).await;
    });
}

/// A copy that is declared later, and that every document has to have, is filled before the validator demands it.
#[odm_tests::test]
fn a_required_copy_beside_an_old_one_is_filled_first() {
    use roads::{Land, Road, Town};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), roads_before::models()).unwrap();
        odm.sync().await.unwrap();
        let land = doc! { "_id": 1, "name": "land", "code": "l", "_odm": { "version": 1_i64 } };
        t.db.collection::<Doc>("lands").insert_one(land).await.unwrap();
        let town = roads_before::NewTown {
            id: 1,
            land: Ref::new(1),
        };
        odm.collection::<roads_before::Town>().insert(town).await.unwrap();
        let newer = Odm::new(t.db.clone(), models![Land, Town, Road]).unwrap();
        let refused = newer.sync().await.unwrap_err();
        assert!(matches!(refused, Error::ExistingDocuments { .. }), "{refused}");
        assert_eq!(newer.backfill().await.unwrap().edges, ["towns.land"]);
        newer.sync().await.unwrap();
        assert_eq!(
            newer
                .collection::<Town>()
                .get(1)
                .await
                .unwrap()
                .unwrap()
                .land_code,
            "l"
        );
        assert_clean(&newer).await;
    });
}
