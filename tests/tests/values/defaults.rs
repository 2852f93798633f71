//! A missing field means its default: to conditions, to changes, and to what is derived of other documents.

use odm::bson::{Document as AnyDocument, doc};
use odm::prelude::*;
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    active: bool,
    #[serde(default = "seven")]
    points: i32,
    #[serde(default = "kat")]
    nick: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[embed(max = 5)]
    tags: Vec<String>,
    #[serde(default = "rust")]
    #[embed(max = 3)]
    words: Vec<String>,
    #[serde(default = "now")]
    seen: DateTime,
    #[serde(default)]
    home: Home,
    work: Option<Home>,
    #[serde(default)]
    #[embed(max = 5)]
    rooms: Vec<Home>,
}

/// Its fields default to those of its own default.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(default)]
struct Home {
    city: String,
    beds: i32,
}

impl Default for Home {
    fn default() -> Home {
        Home {
            city: "Bonn".into(),
            beds: 2,
        }
    }
}

fn seven() -> i32 {
    7
}

fn kat() -> Option<String> {
    Some("Kat".into())
}

fn rust() -> Vec<String> {
    vec!["rust".into()]
}

fn now() -> DateTime {
    DateTime::now()
}

/// Documents as other programs, and older versions of this one, have left them.
async fn users(t: &TestDb, stored: impl IntoIterator<Item = AnyDocument>) -> odm::Collection<User> {
    let odm = Odm::new(t.db.clone(), models![User]).unwrap();
    let documents = stored.into_iter().collect::<Vec<_>>();
    t.db.collection::<AnyDocument>("users")
        .insert_many(documents)
        .await
        .unwrap();
    odm.collection::<User>()
}

/// A condition finds exactly the documents of which it holds as they are read.
macro_rules! same {
    ($users:expr, $(|$p:ident| $filter:expr, |$u:ident| $read:expr;)*) => {
        let all = $users.find_all().sort(|u| u.id.asc()).all().await.unwrap();
        $(
            let found = $users.find(|$p: UserFields| $filter).sort(|u| u.id.asc()).all().await.unwrap();
            let expected: Vec<i32> = all.iter().filter(|$u| $read).map(|u| u.id).collect();
            let found: Vec<i32> = found.iter().map(|u| u.id).collect();
            assert_eq!(found, expected, "{}", stringify!($filter));
        )*
    };
}

#[test]
fn conditions_see_what_a_reader_sees() {
    with_db(async |t| {
        let users = users(
            &t,
            [
                doc! { "_id": 1 },
                doc! { "_id": 2, "active": false, "points": 7, "nick": "Kat", "tags": [], "words": ["rust"] },
                doc! { "_id": 3, "active": true, "points": 9, "nick": null, "tags": ["a"], "words": [] },
                doc! { "_id": 4, "home": {}, "work": {}, "rooms": [{}, { "beds": 1 }] },
                doc! { "_id": 5, "home": { "city": "Köln" }, "work": { "beds": 3 }, "rooms": [{ "city": "Köln", "beds": 2 }] },
                doc! { "_id": 6, "home": { "beds": 3 }, "work": null, "rooms": [] },
            ],
        )
        .await;
        same! { users,
            |p| p.active.eq(false), |u| !u.active;
            |p| p.active.eq(true), |u| u.active;
            |p| p.active.ne(false), |u| u.active;
            |p| p.active.ne(true), |u| !u.active;
            |p| !p.active.eq(false), |u| u.active;
            |p| p.points.in_([1, 7]), |u| [1, 7].contains(&u.points);
            |p| p.points.in_([9]), |u| u.points == 9;
            |p| p.points.not_in([1, 7]), |u| ![1, 7].contains(&u.points);
            |p| p.points.not_in([9]), |u| u.points != 9;
            |p| p.points.gt(6), |u| u.points > 6;
            |p| p.points.gt(7), |u| u.points > 7;
            |p| p.points.gte(7) & p.points.lt(9), |u| (7..9).contains(&u.points);
            |p| p.points.lte(6), |u| u.points <= 6;
            |p| p.nick.eq("Kat"), |u| u.nick.as_deref() == Some("Kat");
            |p| p.nick.eq(None), |u| u.nick.is_none();
            |p| p.nick.ne(None), |u| u.nick.is_some();
            |p| p.nick.ne("Kat"), |u| u.nick.as_deref() != Some("Kat");
            |p| p.nick.in_([Some("Kat".to_owned()), None]), |u| u.nick.as_deref().is_none_or(|n| n == "Kat");
            |p| p.nick.in_([None::<String>]), |u| u.nick.is_none();
            |p| p.nick.not_in([None::<String>]), |u| u.nick.is_some();
            |p| p.nick.starts_with("Ka"), |u| u.nick.as_deref().is_some_and(|n| n.starts_with("Ka"));
            |p| p.nick.regex("at"), |u| u.nick.as_deref().is_some_and(|n| n.contains("at"));
            |p| p.nick.regex("x"), |u| u.nick.as_deref().is_some_and(|n| n.contains('x'));
            |p| p.tags.eq(vec![]), |u| u.tags.is_empty();
            |p| p.tags.ne(vec![]), |u| !u.tags.is_empty();
            |p| p.tags.size(0), |u| u.tags.is_empty();
            |p| p.tags.contains("a"), |u| u.tags.contains(&"a".to_owned());
            |p| p.words.contains("rust"), |u| u.words.contains(&"rust".to_owned());
            |p| p.words.contains_any(["rust", "c"]), |u| u.words.contains(&"rust".to_owned());
            |p| p.words.all(["rust", "c"]), |_u| false;
            |p| p.words.size(1), |u| u.words.len() == 1;
            |p| p.home.beds.eq(2), |u| u.home.beds == 2;
            |p| p.home.beds.ne(2), |u| u.home.beds != 2;
            |p| p.home.city.gte("Bonn"), |u| u.home.city.as_str() >= "Bonn";
            |p| p.home.city.lt("C"), |u| u.home.city.as_str() < "C";
            |p| p.work.beds.eq(2), |u| u.work.as_ref().is_some_and(|w| w.beds == 2);
            |p| p.work.beds.ne(2), |u| u.work.as_ref().is_none_or(|w| w.beds != 2);
            |p| p.rooms.beds.eq(2), |u| u.rooms.iter().any(|r| r.beds == 2);
            |p| p.rooms.beds.ne(2), |u| u.rooms.iter().all(|r| r.beds != 2);
            |p| p.rooms.beds.lt(2), |u| u.rooms.iter().any(|r| r.beds < 2);
            |p| p.rooms.elem(|r| r.city.eq("Bonn") & r.beds.lte(1)), |u| u.rooms.iter().any(|r| r.city == "Bonn" && r.beds <= 1);
        }
        // A clock has no value to compare with: what is stored counts.
        assert_eq!(
            users
                .find(|u| u.seen.gt(DateTime::from_millis(0)))
                .count()
                .await
                .unwrap(),
            0
        );
    });
}

/// `{ $in: [d, null] }` is one range of an index for each value.
#[test]
fn a_condition_on_a_default_is_served_by_an_index() {
    let p = User::paths();
    assert_eq!(
        p.points.eq(7).into_document().unwrap(),
        doc! { "points": { "$in": [7, null] } }
    );
    assert_eq!(
        p.points.eq(8).into_document().unwrap(),
        doc! { "points": { "$eq": 8 } }
    );
    let nick = p.nick.eq("Kat").into_document().unwrap();
    assert_eq!(
        nick,
        doc! { "$or": [{ "nick": { "$eq": "Kat" } }, { "nick": { "$exists": false } }] }
    );
}

/// The document as it is stored.
async fn stored(t: &TestDb, id: i32) -> AnyDocument {
    let users = t.db.collection::<AnyDocument>("users");
    users
        .find_one(doc! { "_id": id })
        .await
        .unwrap()
        .expect("is there")
}

#[test]
fn a_change_begins_with_the_default() {
    with_db(async |t| {
        let users = users(
            &t,
            (1..=4).map(|id| doc! { "_id": id, "rooms": [{}, { "beds": 5 }] }),
        )
        .await;
        t.commands.clear();
        let one = users
            .update(1)
            .inc(|u| u.points, 1)
            .push(|u| u.words, "c")
            .push(|u| u.tags, "a");
        assert_eq!(one.await.unwrap().modified, 1);
        assert_eq!(t.commands.take(), ["update"]);
        let one = users
            .update(2)
            .mul(|u| u.points, 3)
            .add_to_set(|u| u.words, "rust")
            .inc(|u| u.home.beds, 1);
        let two = one.returning().await.unwrap().unwrap();
        assert_eq!(
            (
                two.points,
                two.words.clone(),
                two.home.beds,
                two.home.city.as_str()
            ),
            (21, rust(), 3, "Bonn")
        );
        assert_eq!(t.commands.take(), ["findAndModify"]);
        let many = users
            .update_where(|u| u.id.gte(3))
            .min(|u| u.points, 9)
            .set(|u| u.home.city, "Köln")
            .pop(|u| u.words);
        assert_eq!(many.await.unwrap().modified, 2);
        assert_eq!(t.commands.take(), ["update"]);
        for id in [3, 4] {
            assert_eq!(
                stored(&t, id).await,
                doc! {
                    "_id": id, "rooms": [{}, { "beds": 5 }], "points": 7, "words": [],
                    "home": { "city": "Köln", "beds": 2 },
                }
            );
        }
        let kept = users
            .update(3)
            .max(|u| u.points, 3)
            .pull(|u| u.words, "rust")
            .await
            .unwrap();
        assert_eq!((kept.matched, kept.modified), (1, 0));
        let one = users.get(1).await.unwrap().unwrap();
        assert_eq!(
            (one.points, one.words, one.tags),
            (8, vec!["rust".into(), "c".into()], vec!["a".to_owned()])
        );
        // What the server's own nothing is the default of needs no more than before.
        t.commands.clear();
        users
            .update(4)
            .set(|u| u.points, 1)
            .push(|u| u.tags, "b")
            .set(|u| u.active, true)
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["update"]);
    });
}

/// By array filters, and by a condition of `pull_where`, no pipeline can say it: a statement before it fills.
#[test]
fn what_no_pipeline_can_say_is_filled_before() {
    with_db(async |t| {
        let users = users(
            &t,
            (1..=3).map(|id| doc! { "_id": id, "rooms": [{}, { "beds": 5 }] }),
        )
        .await;
        t.commands.clear();
        users
            .update(1)
            .each(|u| u.rooms, |r| r.inc(|r| r.beds, 1))
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["update", "update"]);
        let one = users.get(1).await.unwrap().unwrap();
        assert_eq!(one.rooms.iter().map(|r| r.beds).collect::<Vec<_>>(), [3, 6]);
        let many = users
            .update_where(|u| u.id.gte(2))
            .pull_where(|u| u.words, |w| w.starts_with("x"))
            .inc(|u| u.points, 1);
        assert_eq!(many.await.unwrap().modified, 2);
        let two = users.get(2).await.unwrap().unwrap();
        assert_eq!((two.points, two.words), (8, rust()));
    });
}

#[test]
fn an_upsert_inserts_the_changed_default() {
    with_db(async |t| {
        let users = users(&t, [doc! { "_id": 9 }]).await;
        let upsert = |id: i32| {
            users
                .update(id)
                .inc(|u| u.points, 1)
                .push(|u| u.words, "c")
                .upsert()
        };
        for (times, points) in [(1, 8), (2, 9)] {
            upsert(1).await.unwrap();
            let one = users.get(1).await.unwrap().unwrap();
            assert_eq!((one.points, one.words.len()), (points, times + 1));
        }
        upsert(9).await.unwrap();
        assert_eq!(users.get(9).await.unwrap().unwrap().points, 8);
        let many = users
            .update_where(|u| u.id.eq(5) & u.active.eq(true))
            .inc(|u| u.points, 2)
            .upsert();
        assert_eq!(many.await.unwrap().upserted, Some(5.into()));
        let five = users.get(5).await.unwrap().unwrap();
        assert_eq!((five.points, five.active), (9, true));
        let bulk = users
            .odm()
            .bulk()
            .update::<User>(&9, |u| u.inc(|u| u.points, 1))
            .update_where::<User>(|u| u.id.eq(5), |u| u.mul(|u| u.home.beds, 2));
        assert_eq!(bulk.await.unwrap().modified, 2);
        let beds = users.get(5).await.unwrap().unwrap().home.beds;
        assert_eq!((users.get(9).await.unwrap().unwrap().points, beds), (9, 4));
    });
}
