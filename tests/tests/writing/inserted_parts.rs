//! Upserts insert the document that they are given, with the changed parts, and never a document that can't be read.

use odm::bson::DateTime;
use odm::error::{Error, Rule};
use odm::prelude::*;
use odm::update::Updated;
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Inner {
    a: i32,
    #[field(max_len = 20)]
    b: String,
    #[embed(max = 5)]
    items: Vec<i32>,
    #[embed(max = 3, key_len = 5)]
    marks: BTreeMap<String, i32>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
enum Payment {
    Card {
        n: i32,
        #[field(max_len = 20)]
        bank: String,
    },
    Cash {
        sum: i32,
    },
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "kind")]
enum Way {
    Post {
        days: i32,
        #[field(max_len = 20)]
        to: String,
    },
    Shop {
        number: i32,
    },
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Flat {
    x: i32,
    y: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
struct Parts {
    #[serde(rename = "_id")]
    id: i32,
    #[field(max_len = 20)]
    name: String,
    inn: Inner,
    opt: Option<Inner>,
    payment: Payment,
    way: Way,
    #[embed(max = 3, key_len = 5)]
    map: BTreeMap<String, i32>,
    #[embed(max = 3, key_len = 5)]
    inners: BTreeMap<String, Flat>,
    #[serde(flatten)]
    flat: Flat,
}

fn map(entries: &[(&str, i32)]) -> BTreeMap<String, i32> {
    entries.iter().map(|(key, n)| ((*key).to_owned(), *n)).collect()
}

fn inner() -> Inner {
    Inner {
        a: 1,
        b: "keep".into(),
        items: vec![7],
        marks: map(&[("m", 1), ("n", 2)]),
    }
}

fn whole() -> Parts {
    Parts {
        id: 1,
        name: "keep".into(),
        inn: inner(),
        opt: Some(inner()),
        payment: Payment::Card {
            n: 1,
            bank: "keep".into(),
        },
        way: Way::Post {
            days: 1,
            to: "keep".into(),
        },
        map: map(&[("m", 1), ("n", 2)]),
        inners: BTreeMap::from([("k".to_owned(), Flat { x: 1, y: 2 })]),
        flat: Flat { x: 1, y: 2 },
    }
}

async fn parts(t: &TestDb) -> Collection<Parts> {
    let odm = Odm::new(t.db.clone(), models![Parts]).unwrap();
    odm.collection::<Parts>()
}

/// Each operator on each kind of part: the other parts are those of the new document.
#[odm_tests::test]
fn the_other_parts_are_those_of_the_document_that_is_given() {
    with_db(async |t| {
        let parts = parts(&t).await;
        macro_rules! rows {
            ($($name:literal: $update:expr => |$new:ident| $expected:expr;)*) => {
                $(
                    let update: fn(odm::update::Update<Parts>) -> odm::update::Update<Parts> = $update;
                    update(parts.update(1)).upsert_with(whole()).await.unwrap_or_else(|e| panic!("{}: {e}", $name));
                    let mut $new = whole();
                    $expected;
                    let stored = parts.get(1).await.unwrap_or_else(|e| panic!("{}: {e}", $name)).unwrap();
                    assert_eq!(stored, $new, $name);
                    parts.delete(1).await.unwrap();
                )*
            };
        }
        rows! {
            "set of a struct": |u| u.set(|p| p.inn.a, 5) => |new| new.inn.a = 5;
            "inc of a struct": |u| u.inc(|p| p.inn.a, 5) => |new| new.inn.a = 5;
            "min of a struct": |u| u.min(|p| p.inn.a, -5) => |new| new.inn.a = -5;
            "max of a struct": |u| u.max(|p| p.inn.a, 5) => |new| new.inn.a = 5;
            "mul of a struct": |u| u.mul(|p| p.inn.a, 5) => |new| new.inn.a = 0;
            "push of a struct": |u| u.push(|p| p.inn.items, 5) => |new| new.inn.items = vec![5];
            "push of a struct, placed": |u| u.push_into(|p| p.inn.items, [5, 6], |all| all.keep_last(1))
                => |new| new.inn.items = vec![6];
            "add to a set of a struct": |u| u.add_to_set(|p| p.inn.items, 5) => |new| new.inn.items = vec![5];
            "entry of a map": |u| u.set_key(|p| p.map, "x", 5) => |new| new.map = map(&[("m", 1), ("n", 2), ("x", 5)]);
            "entry of a map that is there": |u| u.set_key(|p| p.map, "m", 5) => |new| new.map = map(&[("m", 5), ("n", 2)]);
            "entry of a map of a struct": |u| u.set_key(|p| p.inn.marks, "m", 5)
                => |new| new.inn.marks = map(&[("m", 5), ("n", 2)]);
            "set of an option": |u| u.set(|p| p.opt.a, 5) => |new| new.opt.as_mut().unwrap().a = 5;
            "inc of an option": |u| u.inc(|p| p.opt.a, 5) => |new| new.opt.as_mut().unwrap().a = 5;
            "push of an option": |u| u.push(|p| p.opt.items, 5) => |new| new.opt.as_mut().unwrap().items = vec![5];
            "two parts": |u| u.set(|p| p.inn.a, 5).set(|p| p.opt.b, "new") => |new| {
                new.inn.a = 5;
                new.opt.as_mut().unwrap().b = "new".into();
            };
            "entry of a map that goes": |u| u.unset_key(|p| p.map, "m") => |new| new.map = map(&[("n", 2)]);
            "entry of a map of a struct that goes": |u| u.unset_key(|p| p.inn.marks, "m") => |new| new.inn.marks = map(&[("n", 2)]);
            "an option that goes": |u| u.unset(|p| p.opt) => |new| new.opt = None;
            "a flattened field": |u| u.set(|p| p.flat.x, 5) => |new| new.flat.x = 5;
            "on insert": |u| u.set_on_insert(|p| p.inn.a, 5) => |new| new.inn.a = 5;
            "nothing": |u| u => |new| new.id = 1;
        }
    });
}

#[odm_tests::test]
fn parts_of_variants_are_those_of_the_document_that_is_given() {
    with_db(async |t| {
        let parts = parts(&t).await;
        let new = || Parts {
            payment: Payment::Cash { sum: 1 },
            way: Way::Shop { number: 1 },
            ..whole()
        };
        let refused = |error: odm::Result<Updated>| match error.unwrap_err() {
            Error::Query { message, .. } => message,
            error => panic!("{error:?}"),
        };
        let card = parts.update(1).set(|p| p.payment.card.n, 5);
        let message = refused(card.upsert_with(new()).await);
        assert!(message.contains("`Card` of `payment`"), "{message}");
        let post = parts.update(1).set(|p| p.way.post.days, 5);
        let message = refused(post.upsert_with(new()).await);
        assert!(message.contains("`Post` of `way"), "{message}");
        assert_eq!(parts.find_all().count().await.unwrap(), 0);
        let post = parts.update(1).set(|p| p.way.post.days, 5);
        post.upsert_with(whole()).await.unwrap();
        let stored = parts.get(1).await.unwrap().unwrap();
        let way = Way::Post {
            days: 5,
            to: "keep".into(),
        };
        assert_eq!(stored, Parts { way, ..whole() });
    });
}

#[odm_tests::test]
fn a_part_that_the_condition_demands_is_that_of_the_condition() {
    with_db(async |t| {
        let parts = parts(&t).await;
        let update = parts
            .update_where(|p| p.inn.a.eq(5) & p.name.eq("new"))
            .set(|p| p.opt.a, 6);
        update.upsert_with(whole()).await.unwrap();
        let mut expected = whole();
        (expected.inn.a, expected.name) = (5, "new".into());
        expected.opt.as_mut().unwrap().a = 6;
        assert_eq!(parts.get(1).await.unwrap().unwrap(), expected);
    });
}

#[odm_tests::test]
fn a_map_that_would_become_too_large_is_refused() {
    with_db(async |t| {
        let parts = parts(&t).await;
        let full = Parts {
            map: map(&[("a", 1), ("b", 2), ("c", 3)]),
            ..whole()
        };
        let error = parts
            .update(1)
            .set_key(|p| p.map, "d", 4)
            .upsert_with(full)
            .await
            .unwrap_err();
        let Error::Invalid { violations, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(
            (violations[0].path.as_str(), &violations[0].rule),
            ("map", &Rule::MaxItems(3))
        );
        assert_eq!(parts.find_all().count().await.unwrap(), 0);
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "accounts", timestamps, version)]
struct Account {
    #[serde(rename = "_id")]
    id: i32,
    #[field(max_len = 20)]
    #[index(unique)]
    owner: String,
    cents: i32,
    limit: Option<i32>,
    #[serde(default)]
    kind: i32,
    #[field(default = 7)]
    #[serde(default = "Account::default_level")]
    level: i32,
    home: Flat,
    away: Option<Flat>,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

/// An upsert says which required fields it lacks before anything is sent.
#[odm_tests::test]
fn an_upsert_that_would_insert_what_can_not_be_read_is_refused() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Account]).unwrap();
        let accounts = odm.collection::<Account>();
        let lacks = |done: odm::Result<Updated>, fields: &[&str]| {
            let Err(Error::Query { collection, message }) = done else {
                panic!("{done:?}");
            };
            assert_eq!(collection, "accounts");
            let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
            let expected = format!("without a value for {}:", fields.join(", "));
            assert!(message.contains(&expected), "{message}");
            assert!(message.contains("upsert_with"), "{message}");
        };
        t.commands.clear();
        let update = || accounts.update(1);
        lacks(update().upsert().await, &["owner", "cents", "home"]);
        lacks(update().inc(|a| a.cents, 1).upsert().await, &["owner", "home"]);
        let of_home = update()
            .set(|a| a.owner, "a")
            .inc(|a| a.cents, 1)
            .set(|a| a.home.x, 1);
        lacks(of_home.upsert().await, &["home.y"]);
        let of_away = update()
            .set(|a| a.owner, "a")
            .inc(|a| a.cents, 1)
            .set(|a| a.home, Flat { x: 1, y: 1 });
        lacks(of_away.set(|a| a.away.y, 1).upsert().await, &["away.x"]);
        let by_owner = accounts.update_where(|a| a.owner.eq("a")).set(|a| a.cents, 1);
        lacks(by_owner.upsert().await, &["_id", "home"]);
        let by_key = accounts.update_by(|a| a.owner, "a").set(|a| a.cents, 1);
        lacks(by_key.upsert().await, &["_id", "home"]);
        let returning = update().set(|a| a.cents, 1).upsert().returning().await;
        lacks(returning.map(|_| Default::default()), &["owner", "home"]);
        let bulk = odm
            .bulk()
            .add(accounts.update(1).set(|a| a.cents, 1).upsert())
            .await;
        let Err(Error::Bulk { errors, .. }) = bulk else {
            panic!("{bulk:?}");
        };
        assert!(matches!(&errors[..], [(0, Error::Query { .. })]), "{errors:?}");
        assert_eq!(t.commands.take(), [""; 0]);

        // The fields that the library writes, and those with defaults, may be left out.
        let whole = accounts
            .update_where(|a| a.owner.eq("a") & a.id.eq(1))
            .inc(|a| a.cents, 1)
            .set(|a| a.home.x, 1)
            .set_on_insert(|a| a.home.y, 2);
        whole.upsert().await.unwrap();
        let stored = accounts.get(1).await.unwrap().unwrap();
        assert_eq!(
            (stored.cents, stored.level, stored.home),
            (1, 7, Flat { x: 1, y: 2 })
        );
    });
}

type Nick = Option<String>;

#[derive(Embed, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
struct Stats {
    views: i32,
    likes: i32,
}

fn seven() -> i32 {
    7
}

/// Its name is copied by others, so that rules of the library concern it.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "goods", version)]
struct Good {
    #[serde(rename = "_id")]
    id: i32,
    #[field(scope)]
    tenant: i32,
    name: String,
    #[serde(default = "seven")]
    points: i32,
    #[serde(default)]
    stats: Stats,
    nick: Nick,
    #[embed(max = 3)]
    tags: Vec<String>,
    version: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "offers")]
struct Offer {
    #[serde(rename = "_id")]
    id: i32,
    #[field(scope)]
    tenant: i32,
    #[reference]
    good: Ref<Good>,
    #[denormalize(from = good.name)]
    good_name: String,
}

fn good() -> NewGood {
    NewGood {
        id: 1,
        name: "keep".into(),
        points: 1,
        stats: Stats { views: 1, likes: 2 },
        nick: Some("keep".into()),
        tags: vec!["keep".into()],
    }
}

/// A change of a missing field begins with its default, also where the library writes fields of its own into a new document.
#[odm_tests::test]
fn a_new_document_begins_with_the_defaults_beside_the_fields_of_the_library() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Good, Offer]).unwrap();
        let of_tenant = odm.scoped(Good::paths().tenant, 1).unwrap();
        {
            let goods = of_tenant.collection::<Good>();
            let set = goods
                .update(1)
                .inc(|g| g.points, 1)
                .inc(|g| g.stats.views, 5)
                .upsert_with(good());
            set.await.unwrap();
            let stored = goods.get(1).await.unwrap().unwrap();
            // A changed field begins with its default, and the others are those of the document.
            assert_eq!((stored.points, stored.stats), (8, Stats { views: 5, likes: 2 }));
            assert_eq!(
                (stored.tenant, stored.name.as_str(), stored.version),
                (1, "keep", 1)
            );
            // A document that is there keeps what is only for a new one.
            let again = goods.update(1).inc(|g| g.points, 1).upsert_with(NewGood {
                name: "other".into(),
                ..good()
            });
            assert_eq!(again.await.unwrap().upserted, None);
            let stored = goods.get(1).await.unwrap().unwrap();
            assert_eq!(
                (stored.points, stored.name.as_str(), stored.version),
                (9, "keep", 2)
            );
            goods.delete(1).await.unwrap();
        }
    });
}

/// An upsert is refused only where its new document could not be read.
#[odm_tests::test]
fn only_documents_that_can_not_be_read_are_refused() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Good, Offer]).unwrap();
        let goods = odm.scoped(Good::paths().tenant, 1).unwrap().collection::<Good>();
        // An alias of `Option` may be missing, one value of a list is demanded, and a placed push is cut.
        let update = goods
            .update_where(|g| g.id.eq(1) & g.name.in_(["a"]))
            .push_into(|g| g.tags, ["a", "b", "c", "d"], |tags| tags.keep_last(2))
            .upsert();
        update.await.unwrap();
        let stored = goods.get(1).await.unwrap().unwrap();
        assert_eq!((stored.name.as_str(), stored.nick, stored.points), ("a", None, 7));
        assert_eq!(stored.tags, ["c", "d"]);
        goods.delete(1).await.unwrap();
        // A condition on an item says nothing of the array of the document.
        let update = goods.update_where(|g| g.id.eq(1) & g.tags.contains_any(["keep", "b"]));
        update.set(|g| g.name, "new").upsert_with(good()).await.unwrap();
        let stored = goods.get(1).await.unwrap().unwrap();
        assert_eq!(
            (stored.name.as_str(), stored.tags),
            ("new", vec!["keep".to_owned()])
        );
        goods.delete(1).await.unwrap();

        let refused = |done: odm::Result<Updated>, words: &str| {
            let Err(Error::Query { message, .. }) = done else {
                panic!("{done:?}");
            };
            assert!(message.contains(words), "{message}");
        };
        let of_stats = goods.update(1).set(|g| g.name, "a").pull(|g| g.tags, "a");
        refused(of_stats.upsert().await, "without a value for `tags`");
        let taken = goods.update(1).pull(|g| g.tags, "keep").upsert_with(good());
        refused(taken.await, "takes none out of a document");
        let of_text = goods.update_where(|g| g.id.eq(1) & g.tags.contains_all(["a"]));
        refused(of_text.set(|g| g.name, "a").upsert().await, "`tags`");
        assert_eq!(goods.find_all().count().await.unwrap(), 0);
    });
}
