//! References that go one way: their targets exist, whatever is written.

use futures::future::join_all;
use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm::update::Change;
use odm_tests::{TestDb, require_transactions, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    pub id: i32,
    #[index(unique)]
    pub name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "messages", timestamps, version)]
pub struct Message {
    pub id: i32,
    pub text: String,
    pub time: DateTime,
    #[parent_ref(order(-time))]
    #[field(name = "host_id")]
    pub host: Ref<Host>,
    /// By another field than the id.
    #[reference(by = name)]
    pub relay: Option<Ref<Host, String>>,
    /// A tree.
    #[reference]
    pub answers: Option<Ref<Message>>,
    #[reference(many, max = 5)]
    pub seen_by: Vec<Ref<User>>,
    #[embed]
    pub route: Option<Route>,
    #[embed(max = 4)]
    pub hops: Vec<Route>,
    #[reference(check = false)]
    pub author: Option<Ref<User>>,
    #[reference(on_delete = keep, index = false)]
    pub origin: Option<Ref<Host>>,
    pub created_at: DateTime,
    pub updated_at: DateTime,
    pub version: i64,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Route {
    pub port: i32,
    #[reference]
    pub to: Ref<Host>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users")]
pub struct User {
    pub id: i32,
    pub name: String,
}

/// One of these for each host at most, and for none as many as there are.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "racks")]
pub struct Rack {
    pub id: i32,
    #[parent_ref(one)]
    pub host: Option<Ref<Host>>,
    #[parent_ref(one, by = name)]
    pub label: Ref<Host, String>,
    #[reference]
    #[index]
    pub keeper: Ref<User>,
}

/// Users and hosts.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "notes")]
pub struct Note {
    pub id: i32,
    #[reference(any(User, Host))]
    pub about: AboutRef,
    #[reference(many, max = 4, any)]
    pub others: Vec<AboutRef>,
}

fn message(id: i32, host: i32) -> NewMessage {
    NewMessage {
        id,
        text: format!("message {id}"),
        time: DateTime::from_millis(i64::from(id)),
        host: Ref::new(host),
        relay: None,
        answers: None,
        seen_by: vec![],
        route: None,
        hops: vec![],
        author: None,
        origin: None,
    }
}

fn host(id: i32) -> NewHost {
    NewHost {
        id,
        name: format!("host-{id}"),
    }
}

fn route(to: i32) -> Route {
    Route {
        port: 80,
        to: Ref::new(to),
    }
}

async fn odm(test: &TestDb) -> Odm {
    let odm = Odm::new(test.db.clone(), models![Host, Message, User, Rack]).expect("sound models");
    odm.sync().await.expect("the schema is made");
    odm.server().await.expect("the server answers");
    odm.collection::<Host>()
        .insert_many((1..=3).map(host))
        .await
        .expect("is stored");
    let users = (1..=3).map(|id| NewUser {
        id,
        name: format!("user {id}"),
    });
    odm.collection::<User>()
        .insert_many(users)
        .await
        .expect("is stored");
    test.commands.clear();
    odm
}

/// The contents of a refusal: the field, the target's collection and the ids.
fn missing<T: std::fmt::Debug>(result: odm::Result<T>) -> (String, &'static str, Vec<Bson>) {
    match result {
        Err(Error::MissingReference {
            field, target, ids, ..
        }) => (field, target, ids),
        other => panic!("{other:?}"),
    }
}

fn lacks(field: &str, target: &'static str, id: impl Into<Bson>) -> (String, &'static str, Vec<Bson>) {
    (field.to_owned(), target, vec![id.into()])
}

#[odm_tests::test]
fn an_insert_needs_its_targets() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let messages = odm.collection::<Message>();
        messages.insert(message(1, 1)).await.unwrap();
        assert_eq!(
            missing(messages.insert(message(2, 9)).await),
            lacks("host_id", "hosts", 9)
        );
        let relayed = |name: &str| NewMessage {
            relay: Some(Ref::new(name.to_owned())),
            ..message(2, 1)
        };
        assert_eq!(
            missing(messages.insert(relayed("host-9")).await),
            lacks("relay", "hosts", "host-9")
        );
        let seen = |ids: &[i32]| NewMessage {
            seen_by: ids.iter().copied().map(Ref::new).collect(),
            ..message(2, 1)
        };
        let (field, target, ids) = missing(messages.insert(seen(&[1, 8, 2, 9, 8])).await);
        assert_eq!(
            (field.as_str(), target, ids),
            ("seen_by", "users", vec![8.into(), 9.into()]),
            "all, and each once"
        );
        let routed = |route: Option<Route>, hops: Vec<Route>| NewMessage {
            route,
            hops,
            ..message(2, 1)
        };
        assert_eq!(
            missing(messages.insert(routed(Some(route(7)), vec![])).await),
            lacks("route.to", "hosts", 7)
        );
        let hops = vec![route(1), route(6)];
        assert_eq!(
            missing(messages.insert(routed(None, hops)).await),
            lacks("hops.to", "hosts", 6)
        );
        let answer = |to: i32| NewMessage {
            answers: Some(Ref::new(to)),
            ..message(2, 1)
        };
        assert_eq!(
            missing(messages.insert(answer(5)).await),
            lacks("answers", "messages", 5)
        );
        assert_eq!(
            messages.find_all().count().await.unwrap(),
            1,
            "nothing was written"
        );
        for new in [
            relayed("host-2"),
            seen(&[1, 2, 2]),
            routed(Some(route(1)), vec![route(2), route(3)]),
            answer(1),
            answer(2),
        ] {
            messages.insert(new).await.unwrap();
            messages.delete(2).await.unwrap();
        }
        // References that are not checked.
        let free = NewMessage {
            author: Some(Ref::new(404)),
            ..message(3, 1)
        };
        messages.insert(free).await.unwrap();
        let gone = NewMessage {
            origin: Some(Ref::new(404)),
            ..message(4, 1)
        };
        assert_eq!(
            missing(messages.insert(gone).await),
            lacks("origin", "hosts", 404),
            "checked before"
        );
    });
}

#[odm_tests::test]
fn a_tree_is_inserted_at_once() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let messages = odm.collection::<Message>();
        let answer = |id: i32, to: i32| NewMessage {
            answers: Some(Ref::new(to)),
            ..message(id, 1)
        };
        // Whichever comes first.
        messages
            .insert_many([answer(2, 1), message(1, 1), answer(3, 2)])
            .await
            .unwrap();
        odm.bulk()
            .add(odm.collection().insert(answer(12, 11)))
            .add(odm.collection().insert(message(11, 1)))
            .await
            .unwrap();
        let bad = [answer(22, 21), message(21, 9), answer(23, 404)];
        assert_eq!(
            missing(messages.insert_many(bad).await),
            lacks("host_id", "hosts", 9)
        );
        assert_eq!(messages.find_all().count().await.unwrap(), 5);
        // Its parent was refused: then it does not stay.
        let twins = [
            message(1, 1),
            answer(31, 30),
            NewMessage {
                id: 30,
                ..message(1, 1)
            },
        ];
        messages
            .insert_many(twins.map(|new| NewMessage {
                text: String::new(),
                ..new
            }))
            .unordered()
            .await
            .unwrap_err();
        assert_eq!(messages.find(|m| m.id.gte(30)).count().await.unwrap(), 2);
        t.db.run_command(doc! { "collMod": "messages", "validator": { "text": { "$ne": "refused" } } })
            .await
            .unwrap();
        let parent = NewMessage {
            text: "refused".into(),
            ..message(40, 1)
        };
        let error = messages
            .insert_many([parent, answer(41, 40)])
            .unordered()
            .await
            .unwrap_err();
        assert!(matches!(error, Error::MissingReference { .. }), "{error}");
        assert!(messages.get(41).await.unwrap().is_none(), "it was taken back");
    });
}

#[odm_tests::test]
fn every_change_needs_its_targets() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let messages = odm.collection::<Message>();
        let one = messages.insert(message(1, 1)).await.unwrap();
        let to = |id: i32| Ref::<Host>::new(id);
        let by = |id: i32| Ref::<User>::new(id);
        let update = || messages.update(1);
        assert_eq!(
            missing(update().set(|m| m.host, to(9)).await),
            lacks("host_id", "hosts", 9)
        );
        let name = Ref::<Host, String>::new("x".into());
        assert_eq!(
            missing(update().set(|m| m.relay, name).await),
            lacks("relay", "hosts", "x")
        );
        assert_eq!(
            missing(update().push(|m| m.seen_by, by(9)).await),
            lacks("seen_by", "users", 9)
        );
        assert_eq!(
            missing(update().add_to_set(|m| m.seen_by, by(9)).await),
            lacks("seen_by", "users", 9)
        );
        assert_eq!(
            missing(update().set(|m| m.seen_by, vec![by(1), by(9)]).await),
            lacks("seen_by", "users", 9)
        );
        assert_eq!(
            missing(update().set(|m| m.route, route(9)).await),
            lacks("route.to", "hosts", 9)
        );
        assert_eq!(
            missing(update().push(|m| m.hops, route(9)).await),
            lacks("hops.to", "hosts", 9)
        );
        assert_eq!(
            missing(update().set(|m| m.hops, vec![route(1), route(9)]).await),
            lacks("hops.to", "hosts", 9)
        );
        update()
            .push(|m| m.hops, route(1))
            .set(|m| m.route, route(1))
            .push(|m| m.seen_by, by(1))
            .await
            .unwrap();
        let hop = update().elem(|m| m.hops, |h| h.port.eq(80), |h| h.set(|h| h.to, to(9)));
        assert_eq!(missing(hop.await), lacks("hops.to", "hosts", 9));
        let hops = update().each(|m| m.hops, |h| h.set(|h| h.to, to(9)));
        assert_eq!(missing(hops.await), lacks("hops.to", "hosts", 9));
        assert_eq!(
            missing(update().set(|m| m.route.to, to(9)).await),
            lacks("route.to", "hosts", 9)
        );
        let item = update().replace_item(|m| m.seen_by, by(1), by(9));
        assert_eq!(missing(item.await), lacks("seen_by", "users", 9));
        let raw = update().raw(doc! { "$set": { "hops.0.to": 9 } });
        assert_eq!(missing(raw.await), lacks("hops.to", "hosts", 9));
        assert_eq!(
            missing(update().set(|m| m.host, to(9)).returning().await),
            lacks("host_id", "hosts", 9)
        );
        let many = messages.update_where(|m| m.id.gte(0)).set(|m| m.host, to(9));
        assert_eq!(missing(many.await), lacks("host_id", "hosts", 9));
        let replaced = messages.replace(Message {
            host: to(9),
            ..messages.get(1).await.unwrap().unwrap()
        });
        assert_eq!(missing(replaced.await), lacks("host_id", "hosts", 9));
        let bulk = odm
            .bulk()
            .add(messages.update(1).set(|m| m.host, to(9)))
            .add(odm.collection().insert(message(2, 1)));
        assert_eq!(missing(bulk.await), lacks("host_id", "hosts", 9));
        let bulk = odm.bulk().add(odm.collection().replace(Message {
            host: to(9),
            ..one.clone()
        }));
        assert_eq!(missing(bulk.await), lacks("host_id", "hosts", 9));
        assert_eq!(messages.find_all().count().await.unwrap(), 1);
        assert_eq!(messages.get(1).await.unwrap().unwrap().host, to(1));
        // Those that are there.
        update()
            .set(|m| m.host, to(2))
            .set(|m| m.relay, Ref::<Host, String>::new("host-3".into()))
            .push_all(|m| m.seen_by, [by(2), by(3)])
            .set(|m| m.author, by(404))
            .await
            .unwrap();
        // One that makes a field empty brings nothing.
        t.commands.clear();
        update()
            .unset(|m| m.relay)
            .pull(|m| m.seen_by, by(9))
            .set(|m| m.answers, None)
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["update"]);
        // An upsert, whose condition brings a reference too.
        let upsert = messages
            .update_where(|m| m.id.eq(70) & m.host.eq(to(9)))
            .set(|m| m.text, "x")
            .set(|m| m.time, DateTime::now())
            .set(|m| m.hops, vec![])
            .set(|m| m.seen_by, vec![by(1)])
            .upsert();
        assert_eq!(missing(upsert.await), lacks("host_id", "hosts", 9));
        assert!(
            t.db.collection::<Raw>("messages")
                .find_one(doc! { "_id": 70 })
                .await
                .unwrap()
                .is_none()
        );
    });
}

mod diary {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "people")]
    pub struct Person {
        pub id: i32,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "profiles")]
    pub struct Profile {
        #[parent_ref(one)]
        pub id: Ref<Person>,
        pub text: String,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    #[embed(id)]
    pub struct DayId {
        #[reference]
        pub person: Ref<Person>,
        pub day: i32,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "days")]
    pub struct Day {
        pub id: DayId,
        pub text: String,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    pub struct Line {
        #[reference]
        pub by: Ref<Person>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "notes")]
    pub struct Note {
        pub id: i32,
        #[reference]
        pub person: Ref<Person>,
        #[embed(max = 5)]
        pub lines: Vec<Line>,
        pub text: String,
    }
}

/// The condition of an upsert gives the new document its values, and so does the id.
#[odm_tests::test]
fn references_in_the_condition_of_an_upsert_have_to_exist() {
    use diary::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Person, Profile, Day, Note]).unwrap();
        odm.sync().await.unwrap();
        odm.collection::<Person>().insert(Person { id: 1 }).await.unwrap();
        let to = |id| Ref::<Person>::new(id);
        let lacks = |outcome: odm::Result<_>| match outcome {
            Err(Error::MissingReference { ids, .. }) => assert_eq!(ids, [Bson::Int32(404)]),
            other => panic!("{other:?}"),
        };
        for person in [404, 1] {
            let (profiles, days) = (odm.collection::<Profile>(), odm.collection::<Day>());
            let notes = odm.collection::<Note>();
            let profile = profiles.update(to(person)).set(|p| p.text, "x").upsert().await;
            let id = DayId {
                person: to(person),
                day: 1,
            };
            let day = days.update(id.clone()).set(|d| d.text, "x").upsert().await;
            let of_day = days
                .update_where(|d| d.id.eq(&id))
                .set(|d| d.text, "y")
                .upsert()
                .await;
            let note = notes
                .update_where(|n| n.id.eq(1) & n.person.eq(to(person)))
                .set(|n| n.text, "x")
                .set(|n| n.lines, vec![])
                .upsert()
                .await;
            let line = notes
                .update_where(|n| n.id.eq(2) & n.text.ne("x"))
                .set_on_insert(|n| n.lines, vec![Line { by: to(person) }])
                .set(|n| n.text, "x")
                .set(|n| n.person, to(1))
                .upsert()
                .await;
            if person == 404 {
                lacks(profile.map(drop));
                lacks(day.map(drop));
                lacks(of_day.map(drop));
                lacks(note.map(drop));
                lacks(line.map(drop));
                continue;
            }
            assert!(profile.unwrap().upserted.is_some() && day.unwrap().upserted.is_some());
            let of_day = of_day.unwrap();
            assert_eq!((of_day.matched, of_day.upserted.is_some()), (1, false));
            assert!(note.unwrap().upserted.is_some() && line.unwrap().upserted.is_some());
            let line = notes.get(2).await.unwrap().unwrap();
            assert_eq!(line.lines, [Line { by: to(1) }]);
        }
        let audit = odm.audit().await.unwrap();
        assert!(audit.is_clean(), "{audit}");
    });
}

#[odm_tests::test]
fn checking_references_takes_a_known_number_of_queries() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let messages = odm.collection::<Message>();
        let sent = || t.commands.take();
        odm.collection::<User>()
            .insert(NewUser {
                id: 9,
                name: String::new(),
            })
            .await
            .unwrap();
        assert_eq!(sent(), ["insert"], "no references, no questions");
        messages.insert(message(1, 1)).await.unwrap();
        assert_eq!(sent(), ["find", "insert", "find"]);
        messages
            .insert_many((2..1_000).map(|id| message(id, id % 3 + 1)))
            .await
            .unwrap();
        assert_eq!(sent(), ["find", "insert", "find"], "however many there are");
        let full = NewMessage {
            relay: Some(Ref::new("host-2".into())),
            seen_by: vec![Ref::new(1), Ref::new(2)],
            route: Some(route(3)),
            hops: vec![route(1), route(2)],
            ..message(1_000, 1)
        };
        messages.insert(full).await.unwrap();
        // Hosts by their ids and by their names, and users.
        assert_eq!(sent(), ["find", "find", "find", "insert", "find", "find", "find"]);
        messages.update(1).set(|m| m.text, "x").await.unwrap();
        assert_eq!(sent(), ["update"]);
        messages.update(1).set(|m| m.host, Ref::new(2)).await.unwrap();
        assert_eq!(
            sent(),
            ["find", "find", "update", "find"],
            "what it was is read together with the first question"
        );
        messages
            .update_where(|m| m.id.lt(100))
            .set(|m| m.host, Ref::new(3))
            .await
            .unwrap();
        assert_eq!(sent(), ["find", "find", "update", "find"]);
        let kept = NewMessage {
            origin: Some(Ref::new(1)),
            ..message(1_001, 1)
        };
        messages.insert(kept).await.unwrap();
        assert_eq!(
            sent(),
            ["find", "insert", "find"],
            "one question for one collection"
        );
        assert!(messages.insert(message(1_002, 9)).await.is_err());
        assert_eq!(sent(), ["find"]);
        require_transactions(&odm).await;
        odm.transaction(async |tx| {
            tx.collection::<Message>().insert(message(1_003, 1)).await?;
            tx.collection::<Message>()
                .update(1_003)
                .set(|m| m.host, Ref::new(2))
                .await
        })
        .await
        .unwrap();
        // The second question is one for all.
        assert_eq!(
            sent(),
            [
                "find",
                "insert",
                "find",
                "find",
                "update",
                "commitTransaction",
                "find"
            ]
        );
    });
}

/// Commands of another client, from within a callback of the driver's.
fn run_beside(database: &str, commands: Vec<Raw>) {
    let database = database.to_owned();
    let work = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (client, _) = odm_tests::client().await;
            for command in commands {
                client.database(&database).run_command(command).await.unwrap();
            }
        });
    };
    std::thread::spawn(work).join().unwrap();
}

fn deletion_of_host(id: i32) -> Raw {
    doc! { "delete": "hosts", "deletes": [{ "q": { "_id": id }, "limit": 1 }] }
}

/// A handle whose next command of this name is preceded by the deletion of a host: after the first question, before the
/// write.
async fn meddled(database: &str, before: &'static str, id: i32) -> Odm {
    meddled_by(database, before, vec![deletion_of_host(id)]).await
}

/// A handle whose next command of this name is preceded by others' commands.
async fn meddled_by(database: &str, before: &'static str, commands: Vec<Raw>) -> Odm {
    use odm::mongodb::event::{EventHandler, command::CommandEvent};
    let mut options = odm::mongodb::options::ClientOptions::parse(odm_tests::uri())
        .await
        .unwrap();
    let (name, commands) = (database.to_owned(), std::sync::Mutex::new(Some(commands)));
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event
            && started.command_name == before
            && let Some(commands) = commands.lock().unwrap().take()
        {
            run_beside(&name, commands);
        }
    }));
    let client = odm::mongodb::Client::with_options(options).unwrap();
    Odm::new(client.database(database), models![Host, Message, User, Rack]).unwrap()
}

type References = (
    i32,
    Ref<Host>,
    Option<Ref<Host, String>>,
    Option<Route>,
    Vec<Route>,
);

async fn references(odm: &Odm) -> Vec<References> {
    let messages = odm.collection::<Message>();
    let all = messages.find_all().sort(|m| m.id.asc()).all().await.unwrap();
    all.into_iter()
        .map(|m| (m.id, m.host, m.relay, m.route, m.hops))
        .collect()
}

#[odm_tests::test]
fn a_write_is_undone_if_its_target_is_deleted_meanwhile() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let messages = odm.collection::<Message>();
        let first = NewMessage {
            hops: vec![route(1), route(2)],
            relay: Some(Ref::new("host-1".into())),
            ..message(1, 1)
        };
        messages.insert(first).await.unwrap();
        let second = NewMessage {
            hops: vec![route(1)],
            ..message(2, 2)
        };
        messages.insert(second).await.unwrap();
        let before = references(&odm).await;
        let to = |id: i32| Ref::<Host>::new(id);
        for write in 0..15 {
            let id = 100 + write;
            odm.collection::<Host>().insert(host(id)).await.unwrap();
            let command = match write {
                0..=3 => "insert",
                4 => "findAndModify",
                _ => "update",
            };
            let meddled = meddled(t.db.name(), command, id).await;
            let own = meddled.collection::<Message>();
            let name = Ref::<Host, String>::new(format!("host-{id}"));
            let written = match write {
                0 => own.insert(message(9, id)).await.map(drop),
                1 => own.insert_many([message(9, 1), message(10, id)]).await.map(drop),
                2 => {
                    let hops = vec![route(1), route(id)];
                    own.insert(NewMessage {
                        hops,
                        ..message(9, 1)
                    })
                    .await
                    .map(drop)
                }
                3 => meddled
                    .bulk()
                    .without_bulk_write_command()
                    .add(meddled.collection().insert(message(9, id)))
                    .await
                    .map(drop),
                4 => own.update(1).set(|m| m.host, to(id)).returning().await.map(drop),
                5 => own.update(1).set(|m| m.host, to(id)).await.map(drop),
                6 => own.update(1).set(|m| m.relay, name).await.map(drop),
                7 => own.update(1).push(|m| m.hops, route(id)).await.map(drop),
                8 => own.update(1).set(|m| m.route, route(id)).await.map(drop),
                9 => {
                    let hop = own
                        .update(1)
                        .elem(|m| m.hops, |h| h.to.eq(to(2)), |h| h.set(|h| h.to, to(id)));
                    hop.await.map(drop)
                }
                10 => own
                    .update_where(|m| m.id.gt(0))
                    .set(|m| m.host, to(id))
                    .await
                    .map(drop),
                11 => {
                    let hops = own
                        .update_where(|m| m.id.gt(0))
                        .each(|m| m.hops, |h| h.set(|h| h.to, to(id)));
                    hops.await.map(drop)
                }
                12 => {
                    let two = messages.get(2).await.unwrap().unwrap();
                    own.replace(Message { host: to(id), ..two }).await.map(drop)
                }
                13 => {
                    let upsert = own
                        .update(9)
                        .set(|m| m.host, to(id))
                        .set(|m| m.text, "x")
                        .set(|m| m.hops, vec![]);
                    upsert
                        .set(|m| m.time, DateTime::now())
                        .set(|m| m.seen_by, vec![])
                        .upsert()
                        .await
                        .map(drop)
                }
                _ => {
                    let bulk = meddled.bulk().without_bulk_write_command();
                    bulk.add(own.update(1).set(|m| m.host, to(id)))
                        .add(own.update(2).push(|m| m.hops, route(id)))
                        .await
                        .map(drop)
                }
            };
            let (field, target, ids) = missing(written);
            assert_eq!(target, "hosts", "{write}");
            let key: Bson = match field.as_str() {
                "relay" => format!("host-{id}").into(),
                _ => id.into(),
            };
            assert_eq!(ids, [key], "{write}");
            assert_eq!(references(&odm).await, before, "{write}");
        }
        // One that is kept when its target goes may as well be written just before.
        odm.collection::<Host>().insert(host(200)).await.unwrap();
        let own = meddled(t.db.name(), "insert", 200).await;
        let new = NewMessage {
            origin: Some(to(200)),
            ..message(9, 1)
        };
        own.collection::<Message>().insert(new).await.unwrap();
    });
}

/// The references that a write has added are undone; those that others have added to the same array meanwhile stay.
#[odm_tests::test]
fn undoing_a_write_keeps_concurrent_additions_to_the_same_array() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let messages = odm.collection::<Message>();
        let first = NewMessage {
            hops: vec![route(1)],
            ..message(1, 1)
        };
        messages.insert(first).await.unwrap();
        for id in [100, 101] {
            odm.collection::<Host>().insert(host(id)).await.unwrap();
        }
        let route_of = |id: i32| odm::to_bson(&route(id)).unwrap();
        let push = doc! { "q": { "_id": 1 }, "u": { "$push": { "hops": route_of(2) } } };
        let others = vec![
            doc! { "update": "messages", "updates": [push] },
            deletion_of_host(100),
        ];
        let own = meddled_by(t.db.name(), "update", others).await;
        // Of the two that it brings the second one is there, and goes as well.
        let own = own.collection::<Message>();
        let push = own.update(1).push_all(|m| m.hops, [route(100), route(101)]);
        let (field, ..) = missing(push.await.map(drop));
        assert_eq!(field, "hops.to");
        let now = messages.get(1).await.unwrap().unwrap();
        assert_eq!(now.hops, [route(1), route(2)]);
    });
}

#[odm_tests::test]
fn in_a_transaction_the_second_check_of_targets_follows_the_commit() {
    with_db(async |t| {
        let odm = odm(&t).await;
        require_transactions(&odm).await;
        let messages = odm.collection::<Message>();
        messages.insert(message(1, 1)).await.unwrap();
        odm.collection::<Host>().insert(host(10)).await.unwrap();
        let raw = t.db.collection::<Raw>("hosts");
        let error = odm
            .transaction(async |tx| {
                let messages = tx.collection::<Message>();
                messages.insert(message(2, 10)).await?;
                messages.insert(message(3, 2)).await?;
                messages
                    .update(1)
                    .set(|m| m.text, "stays")
                    .set(|m| m.host, Ref::new(10))
                    .await?;
                // Another client deletes it, outside the transaction.
                raw.delete_one(doc! { "_id": 10 }).await?;
                Ok(())
            })
            .await;
        assert_eq!(missing(error), lacks("host_id", "hosts", 10));
        assert!(messages.get(2).await.unwrap().is_none());
        assert!(messages.get(3).await.unwrap().is_some());
        let one = messages.get(1).await.unwrap().unwrap();
        assert_eq!((one.host, one.text.as_str()), (Ref::new(1), "stays"));

        // The transaction sees its own inserts.
        odm.transaction(async |tx| {
            tx.collection::<Host>().insert(host(11)).await?;
            tx.collection::<Message>().insert(message(4, 11)).await?;
            tx.bulk()
                .add(tx.collection().insert(host(12)))
                .add(tx.collection().insert(message(5, 12)))
                .await?;
            Ok(())
        })
        .await
        .unwrap();
        // And an error of a check does not end it.
        odm.transaction(async |tx| {
            let refused = tx.collection::<Message>().insert(message(6, 404)).await;
            assert!(matches!(refused, Err(Error::MissingReference { .. })));
            tx.collection::<Message>().insert(message(7, 1)).await
        })
        .await
        .unwrap();
        assert!(messages.get(7).await.unwrap().is_some());
    });
}

#[odm_tests::test]
fn a_union_is_checked_in_each_collection() {
    with_db(async |t| {
        odm(&t).await;
        let odm = Odm::new(t.db.clone(), models![Note, User, Host]).unwrap();
        let applied = odm.sync().await.unwrap().to_string();
        assert!(
            applied.contains("`about.type_1_about.id_1` on about.type, about.id, for the reference"),
            "{applied}"
        );
        odm.server().await.unwrap();
        let notes = odm.collection::<Note>();
        let user = |id: i32| AboutRef::from(Ref::<User>::new(id));
        let host = |id: i32| AboutRef::from(Ref::<Host>::new(id));
        let note = |id: i32, about: AboutRef, others: Vec<AboutRef>| NewNote { id, about, others };
        t.commands.clear();
        notes
            .insert(note(1, user(1), vec![host(2), user(3), host(3)]))
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["find", "find", "insert", "find", "find"]);
        assert_eq!(
            missing(notes.insert(note(2, host(9), vec![])).await),
            lacks("about", "hosts", 9)
        );
        assert_eq!(
            missing(notes.insert(note(2, user(1), vec![host(1), user(9)])).await),
            lacks("others", "users", 9)
        );
        assert_eq!(
            missing(notes.update(1).push(|n| n.others, host(8)).await),
            lacks("others", "hosts", 8)
        );
        notes
            .update(1)
            .push(|n| n.others, user(2))
            .set(|n| n.about, host(1))
            .await
            .unwrap();
    });
}

#[odm_tests::test]
fn the_indexes_of_references_are_planned() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Host, Message, User, Rack]).unwrap();
        let plan = odm.plan().await.unwrap();
        let words = plan.to_string();
        for index in [
            "`messages`: create index `host_id_1_time_-1` on host_id, time (descending), for the reference",
            "`messages`: create index `relay_1` on relay, for the reference",
            "`messages`: create index `answers_1` on answers, for the reference",
            "`messages`: create index `seen_by_1` on seen_by, for the reference",
            "`messages`: create index `route.to_1` on route.to, for the reference",
            "`messages`: create index `hops.to_1` on hops.to, for the reference",
            "`messages`: create index `author_1` on author, for the reference",
            "`racks`: create index `host_1` on host, unique, only where",
            "`racks`: create index `label_1` on label, unique, for the reference",
            "`racks`: create index `keeper_1` on keeper",
        ] {
            assert!(words.contains(index), "{index}\n{words}");
        }
        assert!(
            !words.contains("origin_1") && !words.contains("conflict"),
            "{words}"
        );
        assert_eq!(words.matches("keeper_1").count(), 1);
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());

        // Each host has one rack at most; those without a host are many.
        odm.collection::<Host>()
            .insert_many((1..=3).map(host))
            .await
            .unwrap();
        odm.collection::<User>()
            .insert(NewUser {
                id: 1,
                name: String::new(),
            })
            .await
            .unwrap();
        let racks = odm.collection::<Rack>();
        let rack = |id: i32, host: Option<i32>, label: i32| NewRack {
            id,
            host: host.map(Ref::new),
            label: Ref::new(format!("host-{label}")),
            keeper: Ref::new(1),
        };
        racks
            .insert_many([rack(1, Some(1), 1), rack(2, None, 2)])
            .await
            .unwrap();
        racks.insert(rack(3, None, 3)).await.unwrap();
        let twin = racks.update(3).set(|r| r.host, Ref::new(1)).await.unwrap_err();
        assert!(
            matches!(&twin, Error::DuplicateKey { fields, .. } if fields == &["host"]),
            "{twin}"
        );
    });
}

mod unregistered {
    use super::*;

    #[odm_tests::test]
    fn a_document_with_references_must_be_registered() {
        with_db(async |t| {
            let error = Odm::new(t.db.clone(), models![Message, Rack]).unwrap_err();
            let Error::Models { problems } = &error else {
                panic!("{error}")
            };
            assert_eq!(problems.len(), 10, "{error}");
            let odm = Odm::new(t.db.clone(), models![Host, User]).unwrap();
            let error = odm
                .collection::<Message>()
                .insert(message(1, 1))
                .await
                .unwrap_err();
            assert!(
                error.to_string().contains("`Message` is not among the models"),
                "{error}"
            );
        });
    }
}

/// Writers and deleters that follow the rule of both sides: after all of them, nothing dangles. 40 rounds of each, or as many
/// as `ODM_ROUNDS` says.
#[odm_tests::test]
fn concurrent_writers_and_deleters_leave_no_dangling_reference() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let rounds: i32 = std::env::var("ODM_ROUNDS")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(40);
        let hosts = odm.collection::<Host>();
        hosts.insert_many((100..110).map(host)).await.unwrap();
        let writers = (0..8).map(|n| {
            let odm = odm.clone();
            tokio::spawn(async move {
                let messages = odm.collection::<Message>();
                for round in 0..rounds {
                    let id = rounds * (n + 1) + round;
                    match messages.insert(message(id, 100 + (n + round) % 10)).await {
                        Ok(_) | Err(Error::MissingReference { .. }) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            })
        });
        let deleters = (0..2).map(|n| {
            let (odm, db) = (odm.clone(), t.db.clone());
            tokio::spawn(async move {
                let (hosts, messages) = (odm.collection::<Host>(), odm.collection::<Message>());
                for round in 0..rounds {
                    let id = 100 + (3 * n + round) % 10;
                    db.collection::<Raw>("hosts")
                        .delete_one(doc! { "_id": id })
                        .await
                        .unwrap();
                    messages.delete_where(|m| m.host.eq(Ref::new(id))).await.unwrap();
                    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
                    match hosts.insert(host(id)).await {
                        Ok(_) | Err(Error::DuplicateKey { .. }) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            })
        });
        for task in join_all(writers.chain(deleters)).await {
            task.unwrap();
        }
        let there: Vec<i32> = hosts
            .find_all()
            .all()
            .await
            .unwrap()
            .iter()
            .map(|host| host.id)
            .collect();
        let dangling = odm
            .collection::<Message>()
            .find_all()
            .all()
            .await
            .unwrap()
            .into_iter()
            .filter(|message| !there.contains(message.host.key()))
            .count();
        assert_eq!(dangling, 0);
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "films")]
pub struct Film {
    pub id: i32,
    pub data: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "shows")]
pub struct Show {
    pub id: i32,
    #[reference]
    pub film: Ref<Film>,
}

#[odm_tests::test]
fn documents_that_fill_more_than_one_condition_are_deleted() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Film, Show]).unwrap();
        odm.sync().await.unwrap();
        let films = odm.collection::<Film>();
        let film = |id, bytes: usize| NewFilm {
            id,
            data: "x".repeat(bytes),
        };
        films.insert(film(1, 3_500_000)).await.unwrap();
        films.insert(film(2, 13_500_000)).await.unwrap();
        films.insert(film(3, 10)).await.unwrap();
        odm.collection::<Show>()
            .insert(NewShow {
                id: 1,
                film: Ref::new(3),
            })
            .await
            .unwrap();
        let deleted = films.delete_where(|f| f.id.lt(3)).await.unwrap();
        assert_eq!(deleted.deleted, 2);
        assert_eq!(films.find_all().count().await.unwrap(), 1);
    });
}
