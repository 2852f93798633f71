//! What a deletion means for the documents that refer to what is deleted.

use odm::Error;
use odm::bson::{Bson, DateTime, Document as Bsons, doc};
use odm::mongodb::Collection as Raw;
use odm::prelude::*;
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    #[serde(rename = "_id")]
    pub id: i64,
    #[index(unique)]
    pub code: String,
}

fn host(id: i64) -> NewHost {
    NewHost {
        id,
        code: format!("h{id}"),
    }
}

/// The same field names in every holder, so that one table of documents serves all rules.
macro_rules! holders {
    ($($ty:ident $new:ident $inner:ident $outer:ident, $collection:literal, $one:meta, $by:meta, $many:meta;)*) => {$(
        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = $collection, version, timestamps)]
        pub struct $ty {
            #[serde(rename = "_id")]
            pub id: i64,
            #[$one]
            pub top: Option<Ref<Host>>,
            #[$by]
            pub code: Option<Ref<Host, String>>,
            #[$many]
            pub list: Vec<Ref<Host>>,
            #[embed]
            pub inner: $inner,
            #[embed(max = 3)]
            pub inners: Vec<$inner>,
            #[embed(max = 3)]
            pub outers: Vec<$outer>,
            pub created_at: DateTime,
            pub updated_at: DateTime,
            pub version: i64,
        }

        #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
        pub struct $inner {
            pub note: String,
            #[$one]
            #[serde(rename = "hostRef")]
            pub host: Option<Ref<Host>>,
            #[$many]
            pub hosts: Vec<Ref<Host>>,
        }

        #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
        pub struct $outer {
            #[embed(max = 3)]
            pub inners: Option<Vec<$inner>>,
        }
    )*};
}

holders! {
    Freed NewFreed FreedInner FreedOuter, "freed",
        reference(on_delete = nullify), reference(by = code, on_delete = nullify),
        reference(many, max = 5, on_delete = pull);
    Bound NewBound BoundInner BoundOuter, "bound",
        reference(on_delete = restrict), reference(by = code, on_delete = restrict),
        reference(many, max = 5, on_delete = restrict);
    Following NewFollowing FollowingInner FollowingOuter, "following",
        reference(on_delete = cascade), reference(by = code, on_delete = cascade),
        reference(many, max = 5, on_delete = cascade);
    Kept NewKept KeptInner KeptOuter, "kept",
        reference(on_delete = keep), reference(by = code, on_delete = keep),
        reference(many, max = 5, on_delete = keep);
}

/// Where a reference may stand: with the document that holds one to the first of these keys, beside the second.
const PLACES: [(&str, bool); 8] = [
    ("top", false),
    ("code", false),
    ("list", true),
    ("inner.hostRef", false),
    ("inner.hosts", true),
    ("inners.hostRef", false),
    ("inners.hosts", true),
    ("outers.inners.hosts", true),
];

/// A document that refers to host 1 at one place and to host 2 at all others, if `others`.
fn holder(id: i64, place: &str, others: bool) -> Bsons {
    let ids = |here: bool| -> Vec<i64> {
        match (here, others) {
            (true, _) => vec![2, 1, 2, 1],
            (false, true) => vec![2],
            (false, false) => vec![],
        }
    };
    let one = |here: bool| match (here, others) {
        (true, _) => Bson::Int64(1),
        (false, true) => Bson::Int64(2),
        (false, false) => Bson::Null,
    };
    let inner = |at: &str| {
        doc! {
            "note": at,
            "hostRef": one(place == format!("{at}.hostRef")),
            "hosts": ids(place == format!("{at}.hosts")),
        }
    };
    let code = match one(place == "code") {
        Bson::Int64(n) => Bson::String(format!("h{n}")),
        _ => Bson::Null,
    };
    doc! {
        "_id": id,
        "top": one(place == "top"),
        "code": code,
        "list": ids(place == "list"),
        "inner": inner("inner"),
        "inners": [inner("none"), inner("inners")],
        "outers": [{ "inners": null }, {}, { "inners": [inner("none"), inner("outers.inners")] }],
        "created_at": DateTime::from_millis(1),
        "updated_at": DateTime::from_millis(1),
        "version": 7_i64,
    }
}

/// What is left of it when all references to host 1 are taken out.
fn freed(id: i64, place: &str) -> Bsons {
    let mut left = holder(id, place, true);
    fn pull(list: &mut Bson) {
        if let Bson::Array(items) = list {
            items.retain(|item| *item != Bson::Int64(1));
        }
    }
    fn at<'d>(document: &'d mut Bsons, name: &str) -> &'d mut Bsons {
        match document.get_mut(name) {
            Some(Bson::Document(inner)) => inner,
            Some(Bson::Array(items)) => match items.last_mut() {
                Some(Bson::Document(inner)) => inner,
                _ => panic!("no item"),
            },
            _ => panic!("no {name}"),
        }
    }
    let mut parts: Vec<&str> = place.split('.').collect();
    let last = parts.pop().unwrap();
    let mut within = &mut left;
    for part in parts {
        within = at(within, part);
    }
    match within.get_mut(last) {
        Some(list @ Bson::Array(_)) => pull(list),
        _ => {
            within.remove(last);
        }
    }
    left
}

fn raw(t: &TestDb, name: &str) -> Raw<Bsons> {
    t.db.collection(name)
}

async fn read(t: &TestDb, name: &str, id: i64) -> Option<Bsons> {
    raw(t, name).find_one(doc! { "_id": id }).await.unwrap()
}

/// Hosts 1 to 3, and one document a place that refers to host 1 there, in this collection.
async fn prepared(t: &TestDb, collection: &str, others: bool) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Host, Freed, Bound, Following, Kept]).unwrap();
    odm.sync().await.unwrap();
    odm.server().await.unwrap();
    odm.collection::<Host>()
        .insert_many((1..=3).map(host))
        .await
        .unwrap();
    let holders = PLACES
        .iter()
        .enumerate()
        .map(|(n, (place, _))| holder(n as i64, place, others));
    raw(t, collection).insert_many(holders).await.unwrap();
    t.commands.clear();
    odm
}

#[test]
fn references_are_taken_out_wherever_they_stand() {
    with_db(async |t| {
        let odm = prepared(&t, "freed", true).await;
        let done = odm.collection::<Host>().delete(1).await.unwrap();
        let lists = PLACES.iter().filter(|(_, list)| *list).count() as u64;
        assert_eq!(
            (done.deleted, done.cascaded, done.nullified, done.pulled),
            (1, 0, PLACES.len() as u64 - lists, lists)
        );
        for (n, (place, _)) in PLACES.iter().enumerate() {
            let found = read(&t, "freed", n as i64).await.unwrap();
            assert_eq!(found, freed(n as i64, place), "{place}");
        }
        // Neither version nor time stamp is touched: the whole documents were compared.
        assert_eq!(
            odm.collection::<Freed>().find_all().all().await.unwrap().len(),
            PLACES.len()
        );
    });
}

#[test]
fn what_restricts_is_named_wherever_it_stands() {
    with_db(async |t| {
        let odm = prepared(&t, "bound", false).await;
        let hosts = odm.collection::<Host>();
        for (n, (place, _)) in PLACES.iter().enumerate() {
            let error = hosts.delete(1).await.unwrap_err();
            assert!(matches!(error, Error::StillReferenced { .. }), "{place}: {error}");
            // Only this one is left.
            raw(&t, "bound")
                .delete_many(doc! { "_id": { "$ne": n as i64 } })
                .await
                .unwrap();
            match hosts.delete(1).await.unwrap_err() {
                Error::StillReferenced {
                    collection,
                    id,
                    by,
                    field,
                    count,
                    sample,
                } => {
                    assert_eq!(
                        (collection, *id, by, field.as_str(), count, sample),
                        (
                            "hosts",
                            Bson::Int64(1),
                            "bound",
                            *place,
                            1,
                            vec![Bson::Int64(n as i64)]
                        )
                    );
                }
                other => panic!("{place}: {other}"),
            }
            assert!(hosts.get(1).await.unwrap().is_some());
            raw(&t, "bound").delete_many(doc! {}).await.unwrap();
            let again = PLACES
                .iter()
                .enumerate()
                .map(|(n, (place, _))| holder(n as i64, place, false));
            raw(&t, "bound").insert_many(again).await.unwrap();
        }
        assert_eq!(hosts.delete(3).await.unwrap().deleted, 1, "nothing refers to it");
        raw(&t, "bound").delete_many(doc! {}).await.unwrap();
        assert_eq!(hosts.delete(1).await.unwrap().deleted, 1);
    });
}

#[test]
fn holders_follow_wherever_the_reference_stands() {
    with_db(async |t| {
        let odm = prepared(&t, "following", false).await;
        let one = holder(100, "top", true);
        let mut other = holder(101, "none", true);
        other.insert("top", 3_i64);
        raw(&t, "following").insert_many([one, other]).await.unwrap();
        let done = odm.collection::<Host>().delete(1).await.unwrap();
        assert_eq!(
            (done.deleted, done.cascaded, done.nullified, done.pulled),
            (1, PLACES.len() as u64 + 1, 0, 0)
        );
        let left: Vec<i64> = odm
            .collection::<Following>()
            .find_all()
            .all()
            .await
            .unwrap()
            .iter()
            .map(|f| f.id)
            .collect();
        assert_eq!(left, [101]);
    });
}

#[test]
fn what_is_kept_is_not_looked_for() {
    with_db(async |t| {
        let odm = prepared(&t, "kept", true).await;
        let only = Odm::new(t.db.clone(), models![Host, Kept]).unwrap();
        assert_eq!(only.collection::<Host>().delete(1).await.unwrap().deleted, 1);
        assert_eq!(t.commands.take(), ["delete"], "nothing is to be done for it");
        for (n, (place, _)) in PLACES.iter().enumerate() {
            assert_eq!(
                read(&t, "kept", n as i64).await,
                Some(holder(n as i64, place, true))
            );
        }
        assert_eq!(odm.collection::<Host>().delete(1).await.unwrap().deleted, 0);
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "shelves", version)]
pub struct Shelf {
    #[serde(rename = "_id")]
    pub id: i64,
    pub version: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "boxes")]
pub struct Crate {
    #[serde(rename = "_id")]
    pub id: i64,
    #[parent_ref(on_delete = cascade)]
    pub shelf: Ref<Shelf>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: i64,
    #[parent_ref(on_delete = cascade)]
    pub parcel: Ref<Crate>,
    #[reference(on_delete = nullify)]
    pub likes: Option<Ref<Shelf>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "orders")]
pub struct Sale {
    #[serde(rename = "_id")]
    pub id: i64,
    #[reference]
    pub part: Option<Ref<Part>>,
}

/// `shelves` shelves with `boxes` boxes each with `parts` parts each.
async fn shelves(t: &TestDb, shelves: i64, boxes: i64, parts: i64) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Shelf, Crate, Part, Sale]).unwrap();
    odm.sync().await.unwrap();
    odm.server().await.unwrap();
    let all = |name: &str| raw(t, name);
    all("shelves")
        .insert_many((0..shelves).map(|n| doc! { "_id": n, "version": 1_i64 }))
        .await
        .unwrap();
    all("boxes")
        .insert_many((0..shelves * boxes).map(|n| doc! { "_id": n, "shelf": n / boxes }))
        .await
        .unwrap();
    all("parts")
        .insert_many(
            (0..shelves * boxes * parts)
                .map(|n| doc! { "_id": n, "parcel": n / parts, "likes": n % shelves }),
        )
        .await
        .unwrap();
    t.commands.clear();
    odm
}

async fn counts(t: &TestDb) -> (u64, u64, u64) {
    let count = async |name: &str| raw(t, name).count_documents(doc! {}).await.unwrap();
    (count("shelves").await, count("boxes").await, count("parts").await)
}

#[test]
fn nothing_is_deleted_where_a_restrict_stands_deep_in_a_cascade() {
    with_db(async |t| {
        let odm = shelves(&t, 3, 20, 20).await;
        let shelves = odm.collection::<Shelf>();
        // The last part of the last box of the second shelf.
        raw(&t, "orders")
            .insert_one(doc! { "_id": 5_i64, "part": 799_i64 })
            .await
            .unwrap();
        for refused in [shelves.delete(1), shelves.delete_where(|s| s.id.gte(0))] {
            match refused.await.unwrap_err() {
                Error::StillReferenced {
                    collection,
                    id,
                    by,
                    field,
                    count,
                    sample,
                } => assert_eq!(
                    (collection, *id, by, field.as_str(), count, sample),
                    (
                        "parts",
                        Bson::Int64(799),
                        "orders",
                        "part",
                        1,
                        vec![Bson::Int64(5)]
                    )
                ),
                other => panic!("{other}"),
            }
            assert_eq!(counts(&t).await, (3, 60, 1200), "nothing was deleted");
        }
        assert_eq!(
            raw(&t, "parts")
                .count_documents(doc! { "likes": null })
                .await
                .unwrap(),
            0,
            "nothing was changed"
        );
        let done = shelves.delete(0).await.unwrap();
        assert_eq!((done.deleted, done.cascaded, done.nullified), (1, 420, 400 - 134));
        assert_eq!(counts(&t).await, (2, 40, 800));
        raw(&t, "orders").delete_many(doc! {}).await.unwrap();
        let done = shelves.delete_where(|s| s.id.gte(0)).await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (2, 840));
        assert_eq!(counts(&t).await, (0, 0, 0));
    });
}

#[test]
fn a_version_that_is_not_the_stored_one_deletes_nothing() {
    with_db(async |t| {
        let odm = shelves(&t, 2, 2, 2).await;
        let shelves = odm.collection::<Shelf>();
        let mut shelf = shelves.get(1).await.unwrap().unwrap();
        shelf.version = 9;
        let error = shelves.delete(&shelf).await.unwrap_err();
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
        assert_eq!(counts(&t).await, (2, 4, 8));
        shelf.version = 1;
        assert_eq!(shelves.delete(&shelf).await.unwrap().cascaded, 6);
        assert_eq!(shelves.delete(&shelf).await.unwrap().deleted, 0, "there is none");
    });
}

#[test]
fn an_interrupted_cascade_goes_on_where_it_stopped() {
    with_db(async |t| {
        let odm = shelves(&t, 2, 1_500, 2).await;
        let shelves = odm.collection::<Shelf>();
        // Dropped as soon as something is deleted, again and again.
        let mut stops = 0;
        loop {
            let deletion = std::future::IntoFuture::into_future(shelves.delete(0));
            let some = async {
                let deletes = 2;
                let mut seen = 0;
                while seen < deletes {
                    seen += t.commands.take().iter().filter(|name| *name == "delete").count();
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
            };
            tokio::pin!(some);
            match futures::future::select(deletion, some).await {
                futures::future::Either::Left((done, _)) => {
                    done.unwrap();
                    break;
                }
                futures::future::Either::Right(_) => stops += 1,
            }
            let (left, boxes, parts) = counts(&t).await;
            assert!(left == 2 || boxes == 1_500, "the shelf is deleted last");
            assert!(
                parts <= 2 * boxes,
                "a box is deleted after its parts: {parts} of {boxes}"
            );
            assert!(stops < 100, "each gets further");
        }
        assert!(stops > 1, "it was stopped {stops} times");
        assert_eq!(counts(&t).await, (1, 1_500, 3_000));
        assert_eq!(
            raw(&t, "boxes")
                .count_documents(doc! { "shelf": 0_i64 })
                .await
                .unwrap(),
            0
        );
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "nodes")]
pub struct Node {
    #[serde(rename = "_id")]
    pub id: i64,
    #[reference]
    pub parent: Option<Ref<Node>>,
    #[reference(many, max = 4, on_delete = pull)]
    pub friends: Vec<Ref<Node>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "links")]
pub struct Link {
    #[serde(rename = "_id")]
    pub id: i64,
    #[reference(on_delete = cascade)]
    pub next: Option<Ref<Link>>,
}

#[test]
fn a_tree_holds_back_its_own_only_where_they_stay() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Node]).unwrap();
        let nodes = odm.collection::<Node>();
        let fill = async || {
            let node =
                |id: i64, parent: Bson| doc! { "_id": id, "parent": parent, "friends": [(id + 1) % 600, id] };
            let all = (0..600).map(|id| {
                node(
                    id,
                    if id == 0 {
                        Bson::Int64(0)
                    } else {
                        Bson::Int64((id - 1) / 2)
                    },
                )
            });
            raw(&t, "nodes").insert_many(all).await.unwrap();
        };
        fill().await;
        let error = nodes.delete(299).await.unwrap_err();
        assert!(
            matches!(&error, Error::StillReferenced { count: 1, .. }),
            "{error}"
        );
        assert_eq!(nodes.delete(599).await.unwrap().pulled, 1, "a leaf");
        assert_eq!(nodes.delete(299).await.unwrap().deleted, 1, "a leaf now");
        assert_eq!(
            read(&t, "nodes", 298)
                .await
                .unwrap()
                .get_array("friends")
                .unwrap(),
            &[Bson::Int64(298)]
        );
        let error = nodes.delete_where(|n| n.id.lt(100)).await.unwrap_err();
        assert!(matches!(&error, Error::StillReferenced { .. }), "{error}");
        assert_eq!(nodes.find_all().count().await.unwrap(), 598);
        let done = nodes.delete_where(|n| n.id.gte(100)).await.unwrap();
        assert_eq!(done.deleted, 498, "all below them go too");
        let done = nodes.delete_where(|n| n.id.gte(0)).await.unwrap();
        assert_eq!(
            done.deleted, 100,
            "the whole tree, with the root that is its own parent"
        );
        raw(&t, "nodes")
            .insert_one(doc! { "_id": 7_i64, "parent": 7_i64, "friends": [7_i64] })
            .await
            .unwrap();
        let done = nodes.delete(7).await.unwrap();
        assert_eq!(
            (done.deleted, done.pulled),
            (1, 0),
            "it does not hold itself back"
        );
    });
}

#[test]
fn a_cascade_goes_round_a_circle_once_and_down_a_long_chain() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Link]).unwrap();
        odm.sync().await.unwrap();
        let links = odm.collection::<Link>();
        raw(&t, "links")
            .insert_many((0..5).map(|id| doc! { "_id": id as i64, "next": (id as i64 + 1) % 5 }))
            .await
            .unwrap();
        let done = links.delete(3).await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (1, 4));
        // Each refers to the one before it: as deep as there are documents.
        raw(&t, "links")
            .insert_many((0..400).map(|id| doc! { "_id": id as i64, "next": if id == 0 { Bson::Null } else { Bson::Int64(id as i64 - 1) } }))
            .await
            .unwrap();
        let done = links.delete(0).await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (1, 399));
    });
}
