//! `replace` keeps what the type does not declare, in every front end; `exact` does not.

use odm::__private::SwitchBulk as _;
use odm::bson::{Bson, DateTime, Document as Raw, doc};
use odm::error::Rule;
use odm::prelude::*;
use odm::write::BulkDone;
use odm::{Error, Model};
use odm_tests::{TestDb, assert_clean, with_db, with_transactions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: i64,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nick: Option<String>,
    #[serde(alias = "house")]
    home: Address,
    #[serde(skip_serializing_if = "Option::is_none")]
    work: Option<Address>,
    #[embed(max = 5)]
    stays: Vec<Address>,
    #[embed(max = 5)]
    scores: BTreeMap<String, i32>,
    shape: Shape,
    contact: Contact,
    state: State,
    any: Any,
    #[field(opaque)]
    free: Raw,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Address {
    city: String,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "postcode")]
    zip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Place {
    x: i32,
    y: i32,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "kind")]
enum Shape {
    Circle { centre: Place, radius: i32 },
    Square { side: i32, corner: Option<Place> },
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
enum Contact {
    Mail { address: String },
    Post(Address),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "t", content = "c")]
enum State {
    At(Place),
    Gone,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(untagged)]
enum Any {
    Place(Place),
    Number(i32),
}

fn address(city: &str) -> Address {
    Address {
        city: city.into(),
        zip: None,
        place: None,
    }
}

/// A person to each part of which another client has added a field `more`.
fn stored() -> Raw {
    let place = || doc! { "x": 1, "y": 2, "more": 1 };
    let address = || doc! { "city": "Bern", "zip": "3000", "more": 2, "place": place() };
    doc! {
        "_id": 1_i64, "name": "Ada", "nick": "A", "more": { "deep": [1, { "a": "$name" }] },
        "house": address(), "work": address(), "stays": [address()], "scores": { "a": 1, "b": 2 },
        "shape": { "kind": "Circle", "centre": place(), "radius": 1, "more": 3 },
        "contact": { "Post": address() },
        "state": { "t": "At", "c": place(), "more": 4 },
        "any": place(), "free": { "a": 1, "b": 2 },
    }
}

async fn people(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), [Model::of::<Person>()]).unwrap();
    odm.check_models().await.unwrap();
    raw(t).insert_one(stored()).await.unwrap();
    odm
}

fn raw(t: &TestDb) -> odm::mongodb::Collection<Raw> {
    t.db.collection("people")
}

async fn now(t: &TestDb) -> Raw {
    raw(t).find_one(doc! { "_id": 1_i64 }).await.unwrap().unwrap()
}

/// The person after it was read, changed and written back.
fn change(person: &mut Person) {
    person.name = "$nick".into();
    person.nick = None;
    person.home.city = "Basel".into();
    person.home.zip = None;
    person.work = None;
    person.stays.push(address("Chur"));
    person.scores.remove("b");
    person.free = doc! { "$add": [1, 2], "a": { "$literal": 1 } };
}

fn changed() -> Raw {
    let place = || doc! { "x": 1, "y": 2, "more": 1 };
    let known = || doc! { "x": 1, "y": 2 };
    let stay = doc! { "city": "Bern", "zip": "3000", "place": known() };
    doc! {
        "_id": 1_i64, "name": "$nick", "more": { "deep": [1, { "a": "$name" }] },
        "home": { "city": "Basel", "more": 2, "place": place() },
        "stays": [stay, { "city": "Chur" }], "scores": { "a": 1 },
        "shape": { "kind": "Circle", "centre": place(), "radius": 1, "more": 3 },
        "contact": { "Post": { "city": "Bern", "zip": "3000", "more": 2, "place": place() } },
        "state": { "t": "At", "c": place(), "more": 4 },
        "any": known(), "free": { "$add": [1, 2], "a": { "$literal": 1 } },
    }
}

/// Whatever the order of the fields.
fn sorted(value: impl Into<Bson>) -> Bson {
    match value.into() {
        Bson::Document(document) => {
            let sorted: BTreeMap<String, Bson> = document.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            Bson::Document(sorted.into_iter().collect())
        }
        Bson::Array(items) => items.into_iter().map(sorted).collect::<Vec<_>>().into(),
        value => value,
    }
}

/// As longshotlabs/simpl-schema#286 and SRoddis/Mongo.Migration#57 tell of others: two programs with two schemas on one collection.
#[odm_tests::test]
fn fields_that_the_type_does_not_declare_stay() {
    with_db(async |t| {
        let odm = people(&t).await;
        let people = odm.collection::<Person>();
        let mut person = people.get(1).await.unwrap().unwrap();
        change(&mut person);
        t.commands.clear();
        let given = people.replace(person.clone()).await.unwrap();
        assert_eq!(t.commands.take(), ["update"], "one statement");
        assert_eq!(given, person);
        assert_eq!(sorted(now(&t).await), sorted(changed()));
        assert_eq!(people.get(1).await.unwrap().unwrap(), person);
    });
}

#[odm_tests::test]
fn undeclared_fields_stay_in_a_bulk_replacement() {
    with_db(async |t| {
        let odm = people(&t).await;
        let mut person = odm.collection::<Person>().get(1).await.unwrap().unwrap();
        change(&mut person);
        let done = odm
            .bulk()
            .add(odm.collection().replace(person.clone()))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified, done.missed), (1, 1, 0));
        assert_eq!(sorted(now(&t).await), sorted(changed()));

        raw(&t)
            .replace_one(doc! { "_id": 1_i64 }, stored())
            .await
            .unwrap();
        odm.bulk()
            .add(odm.collection().replace(person.clone()))
            .without_bulk_write_command()
            .await
            .unwrap();
        assert_eq!(sorted(now(&t).await), sorted(changed()));

        person.id = 2;
        let done: BulkDone = odm.bulk().add(odm.collection().replace(person)).await.unwrap();
        assert_eq!((done.matched, done.missed), (0, 1));
    });
}

#[odm_tests::test]
fn undeclared_fields_stay_in_a_replacement_within_a_transaction() {
    with_transactions(async |t| {
        let odm = people(&t).await;
        odm.transaction(|tx| async move {
            let people = tx.collection::<Person>();
            let mut person = people.get(1).await?.unwrap();
            change(&mut person);
            people.replace(person).await.map(drop)
        })
        .await
        .unwrap();
        assert_eq!(sorted(now(&t).await), sorted(changed()));
    });
}

#[odm_tests::test]
fn another_variant_and_another_type_are_whole_values() {
    with_db(async |t| {
        let odm = people(&t).await;
        let people = odm.collection::<Person>();
        // The stored value is no struct.
        raw(&t)
            .update_one(
                doc! {},
                doc! { "$set": { "work": [{ "place": { "more": 1 } }], "any": 5 } },
            )
            .await
            .unwrap();
        let person = Person {
            id: 1,
            name: "Ada".into(),
            nick: None,
            home: Address {
                place: Some(Place { x: 5, y: 6 }),
                ..address("Bern")
            },
            work: Some(Address {
                place: Some(Place { x: 7, y: 8 }),
                ..address("Bern")
            }),
            stays: Vec::new(),
            scores: BTreeMap::new(),
            shape: Shape::Square {
                side: 2,
                corner: None,
            },
            contact: Contact::Mail {
                address: "a@b.c".into(),
            },
            state: State::Gone,
            any: Any::Place(Place { x: 9, y: 9 }),
            free: Raw::new(),
        };
        people.replace(person.clone()).await.unwrap();
        let now = now(&t).await;
        for (name, expected) in [
            ("work", doc! { "city": "Bern", "place": { "x": 7, "y": 8 } }),
            ("shape", doc! { "kind": "Square", "side": 2, "corner": null }),
            ("contact", doc! { "Mail": { "address": "a@b.c" } }),
            ("state", doc! { "t": "Gone" }),
            ("any", doc! { "x": 9, "y": 9 }),
            (
                "home",
                doc! { "city": "Bern", "more": 2, "place": { "x": 5, "y": 6, "more": 1 } },
            ),
        ] {
            assert_eq!(sorted(now.get(name).unwrap().clone()), sorted(expected), "{name}");
        }
        assert_eq!(people.get(1).await.unwrap().unwrap(), person);
    });
}

#[odm_tests::test]
fn an_exact_replacement_keeps_nothing() {
    with_db(async |t| {
        let odm = people(&t).await;
        let people = odm.collection::<Person>();
        let person = people.get(1).await.unwrap().unwrap();
        t.commands.clear();
        assert_eq!(people.replace(person.clone()).exact().await.unwrap(), person);
        assert_eq!(t.commands.take(), ["update"]);
        let whole = odm::bson::serialize_to_raw_document_buf(&person).unwrap();
        let whole = Raw::try_from(&whole).unwrap();
        assert_eq!(now(&t).await, whole);

        raw(&t)
            .replace_one(doc! { "_id": 1_i64 }, stored())
            .await
            .unwrap();
        odm.bulk()
            .add(odm.collection().replace(person).exact())
            .await
            .unwrap();
        assert_eq!(now(&t).await, whole);
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "strict")]
#[serde(deny_unknown_fields)]
struct Strict {
    #[serde(rename = "_id")]
    id: i64,
    name: String,
}

#[odm_tests::test]
fn a_type_that_refuses_unknown_fields_replaces_the_whole() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), [Model::of::<Strict>()]).unwrap();
        let raw = t.db.collection::<Raw>("strict");
        raw.insert_one(doc! { "_id": 1_i64, "name": "a", "more": 1 })
            .await
            .unwrap();
        let strict = odm.collection::<Strict>();
        assert!(strict.get(1).await.is_err(), "it can't be read");
        let whole = Strict {
            id: 1,
            name: "b".into(),
        };
        strict.replace(whole.clone()).await.unwrap();
        assert_eq!(strict.get(1).await.unwrap(), Some(whole));
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "notes", timestamps, version)]
struct Note {
    #[serde(rename = "_id")]
    id: i64,
    text: String,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

#[odm_tests::test]
fn the_time_at_which_a_document_was_made_stays() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), [Model::of::<Note>()]).unwrap();
        let notes = odm.collection::<Note>();
        let first = notes
            .insert(NewNote {
                id: 1,
                text: "a".into(),
            })
            .await
            .unwrap();
        t.commands.clear();
        let second = notes.replace(first.clone()).await.unwrap();
        assert_eq!(t.commands.take(), ["update"]);
        assert_eq!((second.created_at, second.version), (first.created_at, 2));

        let elsewhen = DateTime::from_millis(0);
        let made_up = Note {
            created_at: elsewhen,
            ..second.clone()
        };
        let third = notes.replace(made_up.clone()).await.unwrap();
        assert_eq!((third.created_at, third.version), (first.created_at, 3));
        assert_eq!(notes.get(1).await.unwrap().unwrap(), third);
        let stale = notes.replace(made_up.clone()).await;
        assert!(
            matches!(
                stale,
                Err(Error::Conflict {
                    seen: 2,
                    found: Some(3),
                    ..
                })
            ),
            "{stale:?}"
        );
        let made_up = Note {
            version: 3,
            ..made_up
        };
        odm.bulk()
            .add(odm.collection().replace(made_up.clone()))
            .await
            .unwrap();
        let fourth = notes.get(1).await.unwrap().unwrap();
        assert_eq!((fourth.created_at, fourth.version), (first.created_at, 4));

        // Where none is stored, the given one is.
        let unset = doc! { "$unset": { "created_at": "" } };
        let raw = t.db.collection::<Raw>("notes");
        raw.update_one(doc! {}, unset).await.unwrap();
        let fifth = notes
            .replace(Note {
                version: 4,
                ..made_up
            })
            .await
            .unwrap();
        assert_eq!(fifth.created_at, elsewhen);
        assert_eq!(notes.get(1).await.unwrap().unwrap(), fifth);

        let exact = Note {
            created_at: DateTime::from_millis(5),
            ..fifth
        };
        notes.replace(exact).exact().await.unwrap();
        let sixth = notes.get(1).await.unwrap().unwrap();
        assert_eq!((sixth.created_at, sixth.version), (DateTime::from_millis(5), 6));

        let gone = notes.replace(Note { id: 2, ..sixth }).await;
        assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
    });
}

#[odm_tests::test]
fn kept_fields_count_towards_the_limit_of_a_document() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), [Model::of::<Strict>(), Model::of::<Note>()]).unwrap();
        let notes = odm.collection::<Note>();
        let note = notes
            .insert(NewNote {
                id: 1,
                text: "a".into(),
            })
            .await
            .unwrap();
        let half = "x".repeat(9 * 1024 * 1024);
        let raw = t.db.collection::<Raw>("notes");
        raw.update_one(doc! {}, doc! { "$set": { "more": &half } })
            .await
            .unwrap();
        let large = Note { text: half, ..note };
        let refused = notes.replace(large.clone()).await;
        let Err(Error::TooLarge { largest, .. }) = refused else {
            panic!("{:?}", refused.map(drop))
        };
        assert_eq!(largest[0].0, "text");
        let refused = odm.bulk().add(odm.collection().replace(large.clone())).await;
        let Err(Error::Bulk { errors, .. }) = refused else {
            panic!("{:?}", refused.map(drop))
        };
        assert!(matches!(&errors[0].1, Error::TooLarge { .. }), "{}", errors[0].1);
        notes.replace(large).exact().await.unwrap();
    });
}

#[odm_tests::test]
fn an_id_stays_as_it_is_stored() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), [Model::of::<Person>()]).unwrap();
        let mut older = stored();
        older.insert("_id", 1_i32);
        raw(&t).insert_one(older).await.unwrap();
        let people = odm.collection::<Person>();
        let person = people.get(1).await.unwrap().unwrap();
        people.replace(person.clone()).await.unwrap();
        people.replace(person).exact().await.unwrap();
        let stored = raw(&t).find_one(doc! {}).await.unwrap().unwrap();
        assert_eq!(stored.get("_id"), Some(&Bson::Int32(1)));
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: i64,
    name: String,
    #[computed(count = Message)]
    messages: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "messages")]
struct Message {
    #[serde(rename = "_id")]
    id: i64,
    text: String,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.name)]
    host_name: String,
    origin: Option<Origin>,
    #[embed(max = 5)]
    hops: Vec<Origin>,
    #[field(extra)]
    #[serde(flatten)]
    extra: Raw,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Origin {
    #[reference]
    from: Option<Ref<Host>>,
    #[denormalize(from = from.name)]
    from_name: Option<String>,
    #[field(extra)]
    #[serde(flatten)]
    extra: Raw,
}

fn origin(host: i64) -> Origin {
    Origin {
        from: Some(Ref::new(host)),
        from_name: None,
        extra: Raw::new(),
    }
}

async fn messages(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), odm::models![Host, Message]).unwrap();
    odm.sync().await.unwrap();
    let hosts = [1, 2].map(|id| NewHost {
        id,
        name: format!("host {id}"),
    });
    odm.collection::<Host>().insert_many(hosts).await.unwrap();
    let new = NewMessage {
        id: 1,
        text: "a".into(),
        host: Ref::new(1),
        origin: Some(origin(1)),
        hops: vec![origin(1), origin(2)],
    };
    odm.collection::<Message>().insert(new).await.unwrap();
    let more = doc! { "$set": { "more": 1, "origin.more": { "a": 2 }, "hops.0.more": 3 } };
    let raw = t.db.collection::<Raw>("messages");
    raw.update_one(doc! {}, more).await.unwrap();
    let more = doc! { "$set": { "more": 1 } };
    let raw = t.db.collection::<Raw>("hosts");
    raw.update_many(doc! {}, more).await.unwrap();
    odm
}

#[odm_tests::test]
fn fields_of_the_library_and_unknown_fields_both_stay() {
    with_db(async |t| {
        let odm = messages(&t).await;
        let (hosts, messages) = (odm.collection::<Host>(), odm.collection::<Message>());
        let mut host = hosts.get(1).await.unwrap().unwrap();
        host.name = "renamed".into();
        let host = hosts.replace(host).await.unwrap();
        assert_eq!((host.name.as_str(), host.messages), ("renamed", 1));
        let stored = t.db.collection::<Raw>("hosts");
        let stored = stored.find_one(doc! { "_id": 1_i64 }).await.unwrap().unwrap();
        assert_eq!(stored.get("more"), Some(&1.into()));
        assert_clean(&odm).await;

        let mut message = messages.get(1).await.unwrap().unwrap();
        assert_eq!(message.host_name, "renamed");
        message.host = Ref::new(2);
        let moved = messages.replace(message).await.unwrap();
        assert_eq!(moved.host_name, "host 2");
        assert_eq!(
            moved.origin.as_ref().unwrap().from_name.as_deref(),
            Some("renamed")
        );
        assert_eq!(hosts.get(2).await.unwrap().unwrap().messages, 1);
        assert_clean(&odm).await;

        // Without the reference its copy and its version go, and the rest stays.
        let mut message = moved;
        message.origin.as_mut().unwrap().from = None;
        let message = messages.replace(message).await.unwrap();
        let origin = message.origin.unwrap();
        assert_eq!(
            (origin.from_name, origin.extra),
            (None, doc! { "more": { "a": 2 } })
        );
        assert_clean(&odm).await;
        let done = hosts.update(1).set(|h| h.name, "again").await.unwrap();
        assert_eq!(done.copies_updated, 1, "that of the hop");
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn extra_shows_unknown_fields_without_the_librarys() {
    with_db(async |t| {
        let odm = messages(&t).await;
        let messages = odm.collection::<Message>();
        let message = messages.get(1).await.unwrap().unwrap();
        assert_eq!(message.extra, doc! { "more": 1 });
        assert_eq!(
            message.origin.as_ref().unwrap().extra,
            doc! { "more": { "a": 2 } }
        );
        assert_eq!(message.hops[0].extra, doc! { "more": 3 });
        assert_eq!(message.hops[1].extra, Raw::new());
        let joined: Vec<(Message, Host)> = messages.find_all().include(|m| m.host).all().await.unwrap();
        assert_eq!(joined[0].0, message, "also where others are joined to it");
        let looked: Vec<(Host, Vec<Message>)> = odm
            .collection::<Host>()
            .find(|h| h.id.eq(1))
            .include(|h| h.children::<Message>())
            .all()
            .await
            .unwrap();
        assert_eq!(looked[0].1, std::slice::from_ref(&message));

        // It is not written back: another client has changed it in the meantime.
        let raw = t.db.collection::<Raw>("messages");
        let other = doc! { "$set": { "more": 5, "origin.more": 6 }, "$unset": { "nothing": "" } };
        raw.update_one(doc! {}, other).await.unwrap();
        let mut changed = message;
        changed.text = "b".into();
        changed.extra.insert("brought", true);
        let given = messages.replace(changed).await.unwrap();
        assert_eq!(given.extra, doc! { "more": 5 });
        assert_eq!(given.origin.as_ref().unwrap().extra, doc! { "more": 6 });
        // Items of an array are whole values: there it is.
        assert_eq!(given.hops[0].extra, doc! { "more": 3 });
        assert_eq!(messages.get(1).await.unwrap().unwrap(), given);

        let mut exact = given;
        exact.extra = doc! { "brought": [1] };
        let given = messages.replace(exact.clone()).exact().await.unwrap();
        assert_eq!((&given.extra, given.id), (&exact.extra, 1));
        assert_eq!(messages.get(1).await.unwrap().unwrap(), given);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn extra_of_a_new_document_is_stored_and_holds_no_declared_name() {
    with_db(async |t| {
        let odm = messages(&t).await;
        let messages = odm.collection::<Message>();
        let first = messages.get(1).await.unwrap().unwrap();
        let with = |extra: Raw| Message {
            id: 2,
            extra,
            ..first.clone()
        };
        let stored = messages.insert(with(doc! { "a": 1 })).await.unwrap();
        assert_eq!(messages.get(2).await.unwrap().unwrap(), stored);
        assert_eq!(stored.extra, doc! { "a": 1 });
        for name in ["text", "_odm", "_copied", "__odm_0", "$set", "a.b"] {
            let refused = messages.insert(with(doc! { name: 1 })).await;
            let Err(Error::Invalid { violations, .. }) = refused else {
                panic!("{name}: {refused:?}")
            };
            let rule = &violations[0].rule;
            assert!(matches!(rule, Rule::Other(_) | Rule::Key(_)), "{name}: {rule:?}");
        }
        let mut nested = with(Raw::new());
        nested.hops[0].extra = doc! { "from": 1 };
        let refused = messages.insert(nested).await;
        assert!(
            matches!(&refused, Err(Error::Invalid { violations, .. }) if violations[0].path == "hops.0.from"),
            "{refused:?}"
        );
    });
}
