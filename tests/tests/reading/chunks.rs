//! Joins by more ids than one query takes: 12 MiB of them, or 100,000. Ids of a mebibyte make the first cheap.

use odm::AsStored;
use odm::Error;
use odm::mongodb::Database;
use odm::prelude::*;
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "places")]
struct Place {
    #[serde(rename = "_id")]
    id: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "routes")]
struct Route {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(many, max = 20, check = false, index = false)]
    places: Vec<Ref<Place>>,
}

/// A child with several parents.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "legs")]
struct Leg {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(many, max = 5, check = false, index = false)]
    ends: Vec<Ref<Place>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "visits")]
struct Visit {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(order(-at), check = false, index = false)]
    place: Ref<Place>,
    at: i32,
}

/// The number of places that are referred to: with 11 ids of a mebibyte in 12 MiB that is two queries.
const PLACES: usize = 14;

/// The id of a place: its number, and a mebibyte behind it.
fn id(n: usize) -> String {
    format!("{n:02}{}", "x".repeat(1 << 20))
}

/// The number in an id.
fn number(id: &str) -> usize {
    id[..2].parse().unwrap()
}

fn refs(numbers: &[usize]) -> Vec<Ref<Place>> {
    numbers.iter().map(|n| Ref::new(id(*n))).collect()
}

/// The places that the routes lead to: together every place, some of them twice, in no order.
fn routes() -> [Vec<usize>; 3] {
    let down: Vec<usize> = (0..PLACES).rev().step_by(2).chain([13]).collect();
    let up: Vec<usize> = (0..PLACES).step_by(2).chain([2]).collect();
    [down, vec![], up]
}

/// Whether a route's place is there.
fn is_there(n: usize) -> bool {
    matches!(n, 2 | 7 | 13)
}

async fn store<T: odm::Document>(db: &Database, documents: impl IntoIterator<Item = T>) {
    let collection = db.collection::<AsStored<T>>(T::META.collection);
    // One at a time: together they would be more than a message holds.
    for document in documents {
        collection.insert_one(AsStored(document)).await.unwrap();
    }
}

type Found = Vec<Vec<Option<usize>>>;

async fn along(routes: odm::Collection<Route>) -> odm::Result<(Found, Found)> {
    let numbers = |place: Option<&Place>| place.map(|place| number(&place.id));
    let all = routes.find_all().sort(|r| r.id.asc());
    let all = all
        .include(|r| (r.places.or_none(), r.places.leave_out_missing()))
        .all()
        .await?;
    let in_place = |(_, (places, _)): &(Route, (Vec<Option<Place>>, Vec<Place>))| {
        places.iter().map(|place| numbers(place.as_ref())).collect()
    };
    let left = |(_, (_, places)): &(Route, (Vec<Option<Place>>, Vec<Place>))| {
        places.iter().map(|place| numbers(Some(place))).collect()
    };
    Ok((all.iter().map(in_place).collect(), all.iter().map(left).collect()))
}

fn finds(sent: &[String]) -> usize {
    sent.iter().filter(|name| *name == "find").count()
}

/// The queries of chunks that are in flight together. On a busy machine the first may be back before the second goes: then
/// it is asked again.
async fn in_flight<T>(t: &TestDb, ask: impl AsyncFn() -> T) -> T {
    for _ in 0..5 {
        t.commands.clear();
        let answer = ask().await;
        if t.commands.most_together() > 1 {
            return answer;
        }
    }
    panic!("chunks are not in flight together");
}

#[odm_tests::test]
fn references_by_more_bytes_than_a_query_holds() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Place, Route]).unwrap();
        let places = (0..PLACES).filter(|n| is_there(*n));
        store(&t.db, places.map(|n| Place { id: id(n) })).await;
        let stored = routes().into_iter().zip(1..).map(|(places, id)| Route {
            id,
            places: refs(&places),
        });
        store(&t.db, stored).await;

        let there = |n: &usize| is_there(*n).then_some(*n);
        let in_place: Found = routes()
            .iter()
            .map(|route| route.iter().map(there).collect())
            .collect();
        let left: Found = routes()
            .iter()
            .map(|route| route.iter().map(there).filter(Option::is_some).collect())
            .collect();
        let expected = (in_place, left);
        let seen = in_flight(&t, async || along(odm.collection()).await.unwrap()).await;
        assert_eq!(seen, expected);
        assert_eq!(finds(&t.commands.take()), 1 + 2, "routes; two chunks of places");

        let collection = odm.collection::<Route>();
        let strict = collection.find_all().sort(|r| r.id.asc());
        let error = strict.include(|r| r.places).all().await.unwrap_err();
        let Error::MissingReference { ids, .. } = error else {
            panic!("{error}")
        };
        let missing: Vec<usize> = ids.iter().map(|id| number(id.as_str().unwrap())).collect();
        assert_eq!(
            missing,
            [11, 9, 5, 3, 1, 0, 4, 6, 8, 10, 12],
            "of both chunks, each once"
        );

        if odm.server().await.unwrap().has_transactions() {
            t.commands.clear();
            let seen = odm.transaction(|tx| async move { along(tx.collection()).await });
            assert_eq!(seen.await.unwrap(), expected);
            assert_eq!(t.commands.most_together(), 1, "one after the other in a session");
            assert_eq!(finds(&t.commands.take()), 1 + 2);
        }
    });
}

/// The legs, the visits and the last visit of each place that has one of these.
type Below = Vec<(usize, Vec<i32>, Vec<i32>, Vec<i32>)>;

async fn below(places: odm::Collection<Place>) -> odm::Result<Below> {
    let all = places.find_all().sort(|p| p.id.asc()).include(|p| {
        (
            p.children_by(|l: LegFields| l.ends).sort(|l| l.id.asc()),
            p.children::<Visit>(),
            p.children::<Visit>().limit(1),
        )
    });
    let mut found = Vec::new();
    for (place, (legs, visits, last)) in all.all().await? {
        let ids = |visits: &[Visit]| visits.iter().map(|visit| visit.id).collect::<Vec<_>>();
        if !legs.is_empty() || !visits.is_empty() {
            let legs = legs.iter().map(|leg| leg.id).collect();
            found.push((number(&place.id), legs, ids(&visits), ids(&last)));
        }
    }
    Ok(found)
}

#[odm_tests::test]
fn children_of_more_bytes_of_parents_than_a_query_holds() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Place, Leg, Visit]).unwrap();
        store(&t.db, (0..PLACES).map(|n| Place { id: id(n) })).await;
        // Found with both chunks, and by a duplicate.
        let legs = [vec![0, 13], vec![13, 5, 13]];
        let legs = legs.into_iter().zip(1..).map(|(ends, id)| Leg {
            id,
            ends: refs(&ends),
        });
        store(&t.db, legs).await;
        let visits = [(0, 5), (13, 1), (0, 7), (13, 3)];
        let visits = visits.into_iter().zip(1..).map(|((place, at), id)| Visit {
            id,
            place: Ref::new(self::id(place)),
            at,
        });
        store(&t.db, visits).await;

        // The parts of one join alone are together.
        let places = odm.collection::<Place>();
        let with_legs = async || {
            let legs = places
                .find_all()
                .include(|p| p.children_by(|l: LegFields| l.ends));
            legs.all().await.unwrap()
        };
        let mut of_places: Vec<(usize, Vec<i32>)> = Vec::new();
        for (place, legs) in in_flight(&t, with_legs).await {
            let mut legs: Vec<i32> = legs.iter().map(|leg| leg.id).collect();
            legs.sort_unstable();
            if !legs.is_empty() {
                of_places.push((number(&place.id), legs));
            }
        }
        of_places.sort_unstable();
        assert_eq!(
            of_places,
            [(0, vec![1]), (5, vec![2]), (13, vec![1, 2])],
            "each leg once"
        );
        assert_eq!(finds(&t.commands.take()), 1 + 2, "places; two chunks of them");

        let with_last = async || {
            let last = places.find_all().include(|p| p.children::<Visit>().limit(1));
            last.all().await.unwrap()
        };
        let last = in_flight(&t, with_last).await.into_iter();
        let mut last: Vec<(usize, i32)> = last
            .filter_map(|(place, last)| Some((number(&place.id), last.first()?.id)))
            .collect();
        last.sort_unstable();
        assert_eq!(last, [(0, 3), (13, 4)]);
        if odm.server().await.unwrap().has_lookup_with_pipeline() {
            let sent = t.commands.take();
            assert_eq!(sent.iter().filter(|name| *name == "aggregate").count(), 2);
        }

        if odm.server().await.unwrap().has_transactions() {
            t.commands.clear();
            let seen = odm.transaction(|tx| async move { below(tx.collection()).await });
            let expected: Below = vec![
                (0, vec![1], vec![3, 1], vec![3]),
                (5, vec![2], vec![], vec![]),
                (13, vec![1, 2], vec![4, 2], vec![4]),
            ];
            assert_eq!(seen.await.unwrap(), expected);
            assert_eq!(t.commands.most_together(), 1, "one after the other in a session");
            // Before MongoDB 5.0, and in a transaction of a sharded cluster, a limit for each parent is a query for each.
            let server = odm.server().await.unwrap();
            let joins =
                server.has_lookup_with_pipeline() && server.topology() != odm::server::Topology::Sharded;
            let of_each = if joins { 0 } else { PLACES };
            assert_eq!(finds(&t.commands.take()), 1 + 2 + 2 + of_each);
        }
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "numbers")]
struct Number {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "lists")]
struct List {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(many, max = 5000, check = false, index = false)]
    numbers: Vec<Ref<Number>>,
}

#[odm_tests::test]
fn references_by_more_ids_than_a_query_takes() {
    const LISTS: i32 = 21;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Number, List]).unwrap();
        // All numbers up to 105,000, each list from its greatest down, with its last one twice.
        let lists = (0..LISTS).map(|id| List {
            id,
            numbers: (0..5000)
                .map(|n| Ref::new((5000 * (id + 1) - n - 1).max(5000 * id + 1)))
                .collect(),
        });
        t.db.collection("lists").insert_many(lists).await.unwrap();
        let there: Vec<i32> = (0..LISTS * 5000).step_by(777).collect();
        let numbers = there.iter().map(|id| Number { id: *id });
        t.db.collection("numbers").insert_many(numbers).await.unwrap();
        t.commands.clear();
        let lists = odm.collection::<List>();
        let all = lists.find_all().sort(|l| l.id.asc());
        let all = all
            .include(|l| l.numbers.leave_out_missing())
            .all()
            .await
            .unwrap();
        assert_eq!(finds(&t.commands.take()), 1 + 2, "lists; two chunks of numbers");
        for (list, found) in all {
            let expected = list.numbers.iter().map(|n| *n.key()).filter(|n| n % 777 == 0);
            let found: Vec<i32> = found.iter().map(|n| n.id).collect();
            assert_eq!(found, expected.collect::<Vec<_>>(), "list {}", list.id);
        }
    });
}
