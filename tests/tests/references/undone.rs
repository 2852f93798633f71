//! The changes of a write are undone, and no change that other processes have made since.

use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::bson::{Bson, Document as Doc, doc};
use odm::prelude::*;
use odm::update::Changes;
use odm_tests::fixtures::interleaved::{Step, meddled_in};
use odm_tests::{TestDb, assert_clean, changed, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "places")]
pub struct Place {
    pub id: i32,
    pub name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "trips")]
pub struct Trip {
    pub id: i32,
    #[reference]
    pub to: Ref<Place>,
    #[denormalize(from = to.name)]
    pub name: String,
    #[embed]
    pub leg: Leg,
    #[reference(many, max = 10)]
    pub stops: Vec<Ref<Place>>,
    #[embed(max = 10)]
    pub legs: Vec<Leg>,
    #[embed]
    pub way: Way,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Leg {
    pub minutes: i32,
    #[reference]
    pub over: Ref<Place>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(tag = "by")]
pub enum Way {
    Foot,
    Train {
        #[reference]
        from: Ref<Place>,
    },
}

fn leg(over: i32) -> Leg {
    Leg {
        minutes: 5,
        over: Ref::new(over),
    }
}

fn places(ids: &[i32]) -> Vec<Ref<Place>> {
    ids.iter().copied().map(Ref::new).collect()
}

fn stored(leg: &Leg) -> Bson {
    odm::to_bson(leg).unwrap()
}

/// Whether it is this command, on this collection.
fn is(command: &Doc, name: &str, collection: &str) -> bool {
    command.get_str(name).is_ok_and(|of| of == collection)
}

/// One write, another process's write after it and before its target is deleted, and the document that is left in the end.
struct Case {
    write: fn(Changes<Trip>) -> Changes<Trip>,
    others: Doc,
    left: Doc,
}

fn cases() -> Vec<(&'static str, Case)> {
    let case = |write, others, left| Case { write, others, left };
    vec![
        (
            "no other write",
            case(
                |t| t.set(|t| t.to, Ref::new(100)),
                doc! {},
                doc! { "to": 1, "name": "place 1" },
            ),
        ),
        (
            "another reference",
            case(
                |t| t.set(|t| t.to, Ref::new(100)),
                doc! { "$set": { "to": 2, "name": "place 2" } },
                doc! { "to": 2, "name": "place 2" },
            ),
        ),
        (
            "a field beside it",
            case(
                |t| t.set(|t| t.leg.over, Ref::new(100)),
                doc! { "$set": { "leg.minutes": 7 } },
                doc! { "leg": { "minutes": 7, "over": 1 } },
            ),
        ),
        (
            "another variant",
            case(
                |t| t.set(|t| t.way, Way::Train { from: Ref::new(100) }),
                doc! {},
                doc! { "way": { "by": "Foot" } },
            ),
        ),
        (
            "more of an array that was set",
            case(
                |t| t.set(|t| t.stops, places(&[100])),
                doc! { "$push": { "stops": 3 } },
                doc! { "stops": [1, 2, 3] },
            ),
        ),
        (
            "another array",
            case(
                |t| t.set(|t| t.stops, places(&[100])),
                doc! { "$set": { "stops": [3] } },
                doc! { "stops": [3] },
            ),
        ),
        (
            "less of an array",
            case(
                |t| t.push(|t| t.stops, Ref::new(100)),
                doc! { "$pull": { "stops": 1 } },
                doc! { "stops": [2] },
            ),
        ),
        (
            "nothing but the added references",
            case(
                |t| t.push(|t| t.stops, Ref::new(100)),
                doc! { "$pull": { "stops": { "$in": [1, 2] } } },
                doc! { "stops": [] },
            ),
        ),
        (
            "an element",
            case(
                |t| t.set(|t| t.legs, vec![leg(100)]),
                doc! { "$push": { "legs": { "minutes": 5, "over": 3 } } },
                doc! { "legs": [stored(&leg(1)), stored(&leg(3))] },
            ),
        ),
    ]
}

async fn trips(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Place, Trip]).unwrap();
    odm.sync().await.unwrap();
    odm
}

#[odm_tests::test]
fn undoing_a_write_keeps_later_writes() {
    with_db(async |t| {
        let odm = t.standalone_of(&trips(&t).await).await;
        let all = odm.collection::<Place>();
        let place = |id: i32| Place {
            id,
            name: format!("place {id}"),
        };
        all.insert_many((1..=3).map(place)).await.unwrap();
        for (who, case) in cases() {
            all.insert(place(100)).await.unwrap();
            let trip = NewTrip {
                id: 1,
                to: Ref::new(1),
                leg: leg(1),
                stops: places(&[1, 2]),
                legs: vec![leg(1)],
                way: Way::Foot,
            };
            odm.collection::<Trip>().insert(trip).await.unwrap();
            let (db, others) = (t.db.clone(), case.others.clone());
            let steps: Vec<Step> = vec![
                (|_, command| is(command, "update", "trips"), Box::new(|_| {})),
                (
                    |_, command| is(command, "find", "places"),
                    Box::new(move |runtime| {
                        let name = db.name().to_owned();
                        runtime.block_on(async {
                            let (client, _) = odm_tests::client().await;
                            let db = client.database(&name);
                            if !others.is_empty() {
                                let trips = db.collection::<Doc>("trips");
                                trips.update_one(doc! { "_id": 1 }, others.clone()).await.unwrap();
                            }
                            let places = db.collection::<Doc>("places");
                            places.delete_one(doc! { "_id": 100 }).await.unwrap();
                        });
                    }),
                ),
            ];
            let (own, taken) = meddled_in(true, &odm, models![Place, Trip], steps).await;
            let bulk = own.bulk().without_bulk_write_command();
            let error = bulk
                .add(changed(own.collection::<Trip>().update(1), case.write))
                .await;
            assert!(
                matches!(error, Err(Error::MissingReference { .. })),
                "{who}: {error:?}"
            );
            assert_eq!(taken.load(std::sync::atomic::Ordering::SeqCst), 2, "{who}");
            let trips = t.db.collection::<Doc>("trips");
            let now = trips.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
            for (name, value) in &case.left {
                assert_eq!(now.get(name), Some(value), "{who}: {now}");
            }
            assert_clean(&odm).await;
            trips.delete_many(doc! {}).await.unwrap();
        }
    });
}
