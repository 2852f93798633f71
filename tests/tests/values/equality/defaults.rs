//! A missing field means its default: to conditions, to changes, and to what is derived of other documents.

use odm::bson::{Document as AnyDocument, doc};
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, with_db};
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
    odm.check_models().await.unwrap();
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

#[odm_tests::test]
fn conditions_apply_defaults_as_readers_do() {
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
            |p| p.nick.contains_text("at"), |u| u.nick.as_deref().is_some_and(|n| n.contains("at"));
            |p| p.nick.contains_text("x"), |u| u.nick.as_deref().is_some_and(|n| n.contains('x'));
            |p| p.tags.eq(vec![]), |u| u.tags.is_empty();
            |p| p.tags.ne(vec![]), |u| !u.tags.is_empty();
            |p| p.tags.size(0), |u| u.tags.is_empty();
            |p| p.tags.contains("a"), |u| u.tags.contains(&"a".to_owned());
            |p| p.words.contains("rust"), |u| u.words.contains(&"rust".to_owned());
            |p| p.words.contains_any(["rust", "c"]), |u| u.words.contains(&"rust".to_owned());
            |p| p.words.contains_all(["rust", "c"]), |_u| false;
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
#[odm_tests::test]
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

#[odm_tests::test]
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
        let two = one.returning().await.unwrap();
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
        // A default that equals the server's own start value (0, an empty array) needs no pipeline.
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
#[odm_tests::test]
fn defaults_that_no_pipeline_can_express_are_filled_before() {
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

#[odm_tests::test]
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
            .add(users.update(9).inc(|u| u.points, 1))
            .add(users.update_where(|u| u.id.eq(5)).mul(|u| u.home.beds, 2));
        assert_eq!(bulk.await.unwrap().modified, 2);
        let beds = users.get(5).await.unwrap().unwrap().home.beds;
        assert_eq!((users.get(9).await.unwrap().unwrap().points, beds), (9, 4));
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "teams")]
struct Team {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default = "blue")]
    color: String,
    #[computed(sum = Player.points, filter = |p| p.active.eq(true))]
    points: i64,
    #[computed(count = Player, filter = |p| p.active.eq(false))]
    absent: i64,
    #[subset(of = Player, limit = 3, order(id), fields(points: i32))]
    best: Vec<BestEntry>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "players")]
struct Player {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(on_delete = cascade)]
    #[denormalize(from = Team, fields(color: String))]
    team: TeamEntry,
    #[serde(default = "seven")]
    points: i32,
    #[serde(default = "yes")]
    active: bool,
}

fn blue() -> String {
    "blue".into()
}

fn yes() -> bool {
    true
}

/// Derived values are computed from the values that a reader sees.
#[odm_tests::test]
fn derived_values_apply_defaults_as_readers_do() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Team, Player]).unwrap();
        t.db.collection::<AnyDocument>("teams")
            .insert_one(doc! { "_id": 1, "points": 0_i64, "absent": 0_i64, "best": [] })
            .await
            .unwrap();
        let player = |id: i32| doc! { "_id": id, "team": { "id": 1, "color": "none" } };
        let away = doc! { "_id": 3, "team": { "id": 1, "color": "none" }, "points": 5, "active": false };
        let players = t.db.collection::<AnyDocument>("players");
        players.insert_many([player(1), player(2), away]).await.unwrap();
        odm.sync().await.unwrap();
        odm.backfill().await.unwrap();
        let teams = odm.collection::<Team>();
        let team = async || teams.get(1).await.unwrap().unwrap();
        let of = |team: &Team| {
            (
                team.points,
                team.absent,
                team.best.iter().map(|b| b.points).collect::<Vec<_>>(),
            )
        };
        assert_eq!(of(&team().await), (14, 1, vec![7, 7, 5]));
        let players = odm.collection::<Player>();
        assert_eq!(players.get(1).await.unwrap().unwrap().team.color, "blue");
        assert_clean(&odm).await;
        players.update(1).inc(|p| p.points, 1).await.unwrap();
        players.update(2).set(|p| p.active, false).await.unwrap();
        assert_eq!(of(&team().await), (8, 2, vec![8, 7, 5]));
        teams.update(1).set(|t| t.color, "red").await.unwrap();
        assert_eq!(players.get(2).await.unwrap().unwrap().team.color, "red");
        assert_clean(&odm).await;
        let sum = players
            .aggregate()
            .group(|_| (), |g| g.sum("sum", |p| p.points))
            .one::<AnyDocument>();
        let sum = sum.await.unwrap().unwrap();
        assert_eq!(sum.get_i32("sum").unwrap(), 20);
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "users")]
struct Member {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default = "seven")]
    #[field(stored)]
    #[index(unique)]
    points: i32,
    #[serde(default)]
    #[embed(max = 5)]
    rooms: Vec<Home>,
    work: Option<Home>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[embed(max = 5)]
    tags: Vec<String>,
}

/// `plan` counts what documents lack, `backfill` stores it, and then the validator requires what is declared so.
#[odm_tests::test]
fn missing_fields_are_counted_filled_and_required() {
    with_db(async |t| {
        let stored = [
            doc! { "_id": 1, "rooms": [{}, { "beds": 1 }], "work": {} },
            doc! { "_id": 2, "points": 3, "work": null },
        ];
        t.db.collection::<AnyDocument>("users")
            .insert_many(stored)
            .await
            .unwrap();
        let odm = Odm::new(t.db.clone(), models![Member]).unwrap();
        let members = odm.collection::<Member>();
        let read = members.find_all().sort(|m| m.id.asc()).all().await.unwrap();
        let plan = odm.plan().await.unwrap();
        let lacking = plan.lacking().iter();
        let lacking: Vec<(&str, u64)> = lacking.map(|l| (l.field.as_str(), l.documents)).collect();
        let expected = [
            ("points", 1),
            ("rooms", 1),
            ("rooms.city", 1),
            ("rooms.beds", 1),
            ("work.city", 1),
            ("work.beds", 1),
        ];
        assert_eq!(lacking, expected);
        assert!(
            plan.to_string()
                .contains("`users`: 1 document without `points`, read with its default"),
            "{plan}"
        );
        let early = odm.sync().await;
        assert!(
            matches!(early, Err(odm::Error::ExistingDocuments { .. })),
            "{early:?}"
        );

        assert_eq!(odm.backfill().await.unwrap().defaults, 6);
        odm.sync().await.unwrap();
        assert_eq!(odm.plan().await.unwrap().lacking(), []);
        assert_eq!(odm.backfill().await.unwrap().defaults, 0);
        assert_eq!(members.find_all().sort(|m| m.id.asc()).all().await.unwrap(), read);
        let home = doc! { "city": "Bonn", "beds": 2 };
        let beds = doc! { "beds": 1, "city": "Bonn" };
        assert_eq!(
            self::stored(&t, 1).await,
            doc! { "_id": 1, "rooms": [home.clone(), beds], "work": home, "points": 7 }
        );

        // The server sees to it now, so the condition is plain and the change one operator.
        let without =
            t.db.collection::<AnyDocument>("users")
                .insert_one(doc! { "_id": 3, "rooms": [] })
                .await;
        assert!(without.is_err());
        let filter = Member::paths().points.eq(7).into_document().unwrap();
        assert_eq!(filter, doc! { "points": { "$eq": 7 } });
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "accounts", new(derive(Deserialize)))]
struct Account {
    #[serde(rename = "_id")]
    id: i32,
    owner: String,
    #[serde(default = "Account::default_points")]
    #[field(default = 7, stored)]
    points: i32,
    #[serde(default = "Account::default_plan")]
    #[field(default = "free".to_owned())]
    plan: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "seats", index(fields(room, home.beds), unique))]
struct Seat {
    #[serde(rename = "_id")]
    id: i32,
    room: i32,
    home: Home,
}

/// Where the derive sees one field of several, or a field within a struct, the handle is refused.
#[odm_tests::test]
fn a_unique_index_over_a_default_is_refused_before_a_server_is_asked() {
    with_db(async |t| match Odm::new(t.db, models![Seat]) {
        Err(odm::Error::Models { problems }) => {
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(
                problems[0].contains("`home.beds`, which has a default"),
                "{problems:?}"
            );
        }
        other => panic!("{other:?}"),
    });
}

/// One declaration serves serde, `New…`, upserts and conditions.
#[odm_tests::test]
fn new_documents_get_the_declared_default() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Account]).unwrap();
        odm.sync().await.unwrap();
        let accounts = odm.collection::<Account>();
        accounts
            .insert(NewAccount {
                plan: "pro".into(),
                ..NewAccount::new(1, "Kate".into())
            })
            .await
            .unwrap();
        let sent: NewAccount = serde_json::from_str(r#"{ "_id": 2, "owner": "Ann" }"#).unwrap();
        accounts.insert(sent).await.unwrap();
        accounts.update(3).set(|a| a.owner, "Bob").upsert().await.unwrap();
        accounts
            .update(4)
            .set(|a| a.owner, "Cy")
            .inc(|a| a.points, 1)
            .upsert()
            .await
            .unwrap();
        let where_pro = accounts
            .update_where(|a| a.id.eq(5) & a.plan.eq("pro"))
            .set(|a| a.owner, "Di")
            .upsert();
        where_pro.await.unwrap();
        let all = accounts.find_all().sort(|a| a.id.asc()).all().await.unwrap();
        let all: Vec<(i32, i32, &str)> = all.iter().map(|a| (a.id, a.points, a.plan.as_str())).collect();
        assert_eq!(
            all,
            [
                (1, 7, "pro"),
                (2, 7, "free"),
                (3, 7, "free"),
                (4, 8, "free"),
                (5, 7, "pro")
            ]
        );
        let lacking =
            t.db.collection::<AnyDocument>("accounts")
                .count_documents(doc! { "plan": null })
                .await
                .unwrap();
        assert_eq!(lacking, 0);
        assert_eq!(accounts.find(|a| a.plan.eq("free")).count().await.unwrap(), 3);
    });
}
