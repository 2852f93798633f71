//! The extended reference to a parent: a child names its parent in a struct that holds copies of it, and is found, counted and
//! deleted by the reference in it.

use futures::TryStreamExt;
use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::bson::{Bson, Document as Doc, doc};
use odm::prelude::*;
use odm::server::Topology;
use odm_tests::{TestDb, assert_clean_after, with_db};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    pub ipaddr: String,
    /// No document copies it.
    pub rack: i32,
    #[computed(count = LogMsg)]
    pub messages: i64,
    #[computed(sum = LogMsg.bytes, by = host)]
    pub bytes: i64,
    #[computed(count = LogMsg, filter = |l| l.at.gte(100))]
    pub late: i64,
    #[subset(of = LogMsg, limit = 3, order(-at), fields(at: i32, text: String))]
    pub newest: Vec<NewestEntry>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "users")]
pub struct User {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[computed(count = LogMsg)]
    pub said: i64,
    #[computed(max = LogMsg.at, by = user)]
    pub last_at: Option<i32>,
}

/// Two parents of different types: one that is always there, with a struct that is made, and one that may be none, with a
/// struct of its own.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "logmsg")]
pub struct LogMsg {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref(order(-at), on_delete = cascade)]
    #[denormalize(from = Host, fields(name: String, ipaddr: String))]
    pub host: HostEntry,
    #[parent_ref]
    #[denormalize(from = User)]
    pub user: Option<Sender>,
    pub at: i32,
    pub bytes: i32,
    pub text: String,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[denormalize(from = User)]
pub struct Sender {
    #[serde(rename = "of")]
    #[reference(on_delete = nullify)]
    pub user: Ref<User>,
    #[serde(rename = "n")]
    pub name: String,
}

/// A user has one at most, and one may have no user.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "badges")]
pub struct Badge {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref(one)]
    #[denormalize(from = User, fields(name: String))]
    pub user: Option<UserEntry>,
}

/// A town is counted by either of two references, of which one is a parent.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "towns")]
pub struct Town {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[computed(count = Journey, by = from)]
    pub departures: i64,
    #[computed(count = Journey, by = to)]
    pub arrivals: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "journeys")]
pub struct Journey {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref]
    #[denormalize(from = Town, fields(name: String))]
    pub from: TownEntry,
    #[reference]
    #[denormalize(from = Town, fields(name: String))]
    pub to: TownEntry,
}

fn host(id: i32) -> NewHost {
    NewHost {
        id,
        name: format!("host {id}"),
        ipaddr: format!("10.0.0.{id}"),
        rack: 1,
    }
}

fn user(id: i32) -> NewUser {
    NewUser {
        id,
        name: format!("user {id}"),
    }
}

fn message(id: i32, host: i32, user: Option<i32>) -> NewLogMsg {
    NewLogMsg {
        id,
        host: Ref::new(host),
        user: user.map(Ref::new),
        at: id,
        bytes: 10 + id,
        text: format!("message {id}"),
    }
}

async fn handle(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Host, User, LogMsg, Badge, Town, Journey]).unwrap();
    odm.sync().await.unwrap();
    odm.server().await.unwrap();
    odm
}

/// In transactions, where there are some, and on a standalone server.
async fn modes(t: &TestDb, odm: &Odm) -> Vec<(&'static str, Odm)> {
    vec![
        ("with transactions", odm.clone()),
        ("on a standalone server", t.standalone_of(odm).await),
    ]
}

async fn all(t: &TestDb, name: &str) -> Vec<Doc> {
    let raw = t.db.collection::<Doc>(name);
    let found = raw.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    found.try_collect().await.unwrap()
}

async fn emptied(t: &TestDb) {
    for name in ["hosts", "users", "logmsg", "badges", "towns", "journeys"] {
        t.db.collection::<Doc>(name).delete_many(doc! {}).await.unwrap();
    }
}

/// The stored documents, read with the driver: each copy equals its source, and each parent knows the children that name it.
async fn assert_right(t: &TestDb, odm: &Odm, what: &str) {
    let (hosts, users, messages) = (
        all(t, "hosts").await,
        all(t, "users").await,
        all(t, "logmsg").await,
    );
    let find = |of: &[Doc], id: Option<&Bson>| of.iter().find(|one| one.get("_id") == id).cloned();
    for message in &messages {
        let entry = message.get_document("host").unwrap();
        let host = find(&hosts, entry.get("id")).unwrap_or_else(|| panic!("{what}: {message}"));
        for copied in ["name", "ipaddr"] {
            assert_eq!(entry.get(copied), host.get(copied), "{what}: {message}");
        }
        assert!(!entry.contains_key("rack"), "{what}: {message}");
        if let Some(Bson::Document(sender)) = message.get("user") {
            let user = find(&users, sender.get("of")).unwrap_or_else(|| panic!("{what}: {message}"));
            assert_eq!(sender.get("n"), user.get("name"), "{what}: {message}");
        }
    }
    let of = |path: [&str; 2], id: &Bson| -> Vec<Doc> {
        let names = |message: &&Doc| {
            let entry = message.get_document(path[0]);
            entry.is_ok_and(|entry| entry.get(path[1]) == Some(id))
        };
        let mut own: Vec<Doc> = messages.iter().filter(names).cloned().collect();
        own.sort_by_key(|message| -message.get_i32("at").unwrap());
        own
    };
    let at = |message: &Doc| message.get_i32("at").unwrap();
    for host in &hosts {
        let own = of(["host", "id"], host.get("_id").unwrap());
        let bytes: i64 = own
            .iter()
            .map(|one| i64::from(one.get_i32("bytes").unwrap()))
            .sum();
        let late = own.iter().filter(|one| at(one) >= 100).count() as i64;
        let element = |one: &Doc| {
            let (id, text) = (one.get("_id").cloned().unwrap(), one.get_str("text").unwrap());
            Bson::from(doc! { "id": id, "at": at(one), "text": text })
        };
        let newest: Vec<Bson> = own.iter().take(3).map(element).collect();
        for (name, right) in [("messages", own.len() as i64), ("bytes", bytes), ("late", late)] {
            assert_eq!(host.get_i64(name).unwrap(), right, "{what}: {name} of {host}");
        }
        assert_eq!(host.get_array("newest").unwrap(), &newest, "{what}: {host}");
    }
    for user in &users {
        let own = of(["user", "of"], user.get("_id").unwrap());
        assert_eq!(user.get_i64("said").unwrap(), own.len() as i64, "{what}: {user}");
        let last = own.iter().map(at).max();
        assert_eq!(user.get_i32("last_at").ok(), last, "{what}: {user}");
    }
    assert_clean_after(odm, what).await;
}

#[odm_tests::test]
fn each_write_of_a_child_or_its_parent_keeps_both() {
    with_db(async |t| {
        let odm = handle(&t).await;
        for (mode, odm) in modes(&t, &odm).await {
            emptied(&t).await;
            let (hosts, users, log) = (
                odm.collection::<Host>(),
                odm.collection::<User>(),
                odm.collection::<LogMsg>(),
            );
            let right = async |what: &str| assert_right(&t, &odm, &format!("{mode}, {what}")).await;
            for id in 1..=3 {
                hosts.insert(host(id)).await.unwrap();
                users.insert(user(id)).await.unwrap();
            }

            let first = log.insert(message(1, 1, Some(1))).await.unwrap();
            assert_eq!(
                (first.host.name.as_str(), first.host.ipaddr.as_str()),
                ("host 1", "10.0.0.1")
            );
            assert_eq!(
                first.user.map(|user| user.name).as_deref(),
                Some("user 1"),
                "{mode}"
            );
            right("an insert").await;
            log.insert_many((2..=9).map(|id| message(id, 1 + id % 2, (id % 3 > 0).then_some(1 + id % 2))))
                .await
                .unwrap();
            right("an insert of many").await;
            let absent = log.insert(message(10, 99, None)).await;
            assert!(
                matches!(absent, Err(Error::MissingReference { .. })),
                "{mode}: {absent:?}"
            );
            right("an insert whose parent is not there").await;

            let done = hosts.update(1).set(|h| h.name, "goofy").await.unwrap();
            let of_one = log.find(|l| l.host.eq(Ref::new(1))).count().await.unwrap();
            assert_eq!((done.modified, done.copies_updated), (1, of_one), "{mode}");
            assert_eq!(
                log.find(|l| l.host.name.eq("goofy")).count().await.unwrap(),
                of_one
            );
            right("an update of the parent").await;
            hosts
                .update_where(|h| h.id.gte(1))
                .set(|h| h.ipaddr, "127.0.0.1")
                .await
                .unwrap();
            users.update(1).set(|u| u.name, "Kate").await.unwrap();
            right("updates of all parents").await;
            let done = hosts.update(1).inc(|h| h.rack, 1).await.unwrap();
            assert_eq!(done.copies_updated, 0, "{mode}: the rack is not copied");

            // A child moves: both parents count it anew, and its copies are the new parent's.
            log.update(1).set(|l| l.host, Ref::new(3)).await.unwrap();
            let moved = log.get(1).await.unwrap().unwrap();
            assert_eq!(
                moved.host,
                HostEntry {
                    id: Ref::new(3),
                    name: "host 3".into(),
                    ipaddr: "127.0.0.1".into()
                }
            );
            right("a move").await;
            log.update_where(|l| l.host.eq(Ref::new(2)))
                .set(|l| l.host, Ref::new(3))
                .await
                .unwrap();
            right("a move of several").await;
            log.update(2).set(|l| l.user, Ref::new(3)).await.unwrap();
            right("a move to another of the other parents").await;
            log.update(2).unset(|l| l.user).await.unwrap();
            log.update(4).set(|l| l.user, None).await.unwrap();
            right("children that leave it").await;
            log.update(3)
                .set(|l| l.text, "changed")
                .inc(|l| l.bytes, 5)
                .await
                .unwrap();
            log.update(5).set(|l| l.at, 200).await.unwrap();
            right("a change that its parent has to know").await;

            let upsert = log
                .update(20)
                .set(|l| l.host, Ref::new(2))
                .set(|l| l.at, 20)
                .set(|l| l.bytes, 1)
                .set(|l| l.text, "new")
                .upsert();
            upsert.await.unwrap();
            right("an upsert that inserts").await;
            log.update(20)
                .set(|l| l.host, Ref::new(1))
                .set_on_insert(|l| l.at, 20)
                .set_on_insert(|l| l.bytes, 1)
                .set_on_insert(|l| l.text, "new")
                .upsert()
                .await
                .unwrap();
            right("an upsert that moves").await;
            // The parent comes from the condition.
            let upsert = log
                .update_where(|l| l.id.eq(21) & l.host.eq(Ref::new(2)))
                .set(|l| l.at, 120)
                .set(|l| l.bytes, 1)
                .set(|l| l.text, "new");
            upsert.upsert().await.unwrap();
            assert_eq!(log.get(21).await.unwrap().unwrap().host.name, "host 2");
            right("an upsert whose condition says the parent").await;

            // The application's own values of copies are ignored.
            let mut replaced = log.get(6).await.unwrap().unwrap();
            replaced.host = HostEntry {
                id: Ref::new(2),
                name: "nonsense".into(),
                ipaddr: "nonsense".into(),
            };
            replaced.user = Some(Sender {
                user: Ref::new(3),
                name: "nonsense".into(),
            });
            log.replace(replaced).await.unwrap();
            right("a replacement").await;
            let whole = LogMsg {
                id: 30,
                host: HostEntry {
                    id: Ref::new(3),
                    name: "nonsense".into(),
                    ipaddr: "nonsense".into(),
                },
                user: None,
                at: 30,
                bytes: 1,
                text: "whole".into(),
            };
            let stored = log.insert(whole).await.unwrap();
            assert_eq!(stored.host.name, "host 3", "{mode}");
            right("an insert of a whole document").await;

            // A stand-in for a server may not take `bulkWrite` as the first command of a transaction.
            odm.bulk()
                .without_bulk_write_command()
                .add(odm.collection::<LogMsg>().insert(message(40, 1, Some(2))))
                .add(odm.collection::<LogMsg>().update(20).set(|l| l.host, Ref::new(2)))
                .add(odm.collection::<LogMsg>().delete(7))
                .add(odm.collection::<Host>().update(2).set(|h| h.name, "pluto"))
                .await
                .unwrap();
            right("a bulk").await;
            log.delete(40).await.unwrap();
            log.delete_where(|l| l.host.name.eq("pluto") & l.at.lt(10))
                .await
                .unwrap();
            right("deletions").await;

            // Its messages go with a host, and leave a user.
            let of_three = log.find(|l| l.host.eq(Ref::new(3))).count().await.unwrap();
            assert!(of_three > 1, "{mode}: {of_three}");
            let gone = hosts.delete(3).await.unwrap();
            assert_eq!((gone.deleted, gone.cascaded), (1, of_three), "{mode}");
            right("a cascade").await;
            log.insert(message(50, 1, Some(1))).await.unwrap();
            let of_one = log.find(|l| l.user.eq(Ref::new(1))).count().await.unwrap();
            assert!(of_one > 0, "{mode}");
            let gone = users.delete(1).await.unwrap();
            assert_eq!(gone.nullified, of_one, "{mode}");
            assert_eq!(log.get(50).await.unwrap().unwrap().user, None);
            right("a parent that leaves its children without one").await;
            assert_eq!(
                odm.recover().await.unwrap().documents,
                0,
                "{mode}: no work was pending"
            );
        }
    });
}

/// Many at once: children come, move and go while their parents are renamed.
#[odm_tests::test]
fn concurrent_writers_of_children_and_parents_keep_copies_in_sync() {
    with_db(async |t| {
        let odm = handle(&t).await;
        for (mode, odm) in modes(&t, &odm).await {
            emptied(&t).await;
            for id in 1..=2 {
                odm.collection::<Host>().insert(host(id)).await.unwrap();
                odm.collection::<User>().insert(user(id)).await.unwrap();
            }
            let mut tasks = Vec::new();
            for task in 0..4 {
                let odm = odm.clone();
                tasks.push(tokio::spawn(async move {
                    let (hosts, log) = (odm.collection::<Host>(), odm.collection::<LogMsg>());
                    for n in 0..6 {
                        let id = 100 * task + n;
                        log.insert(message(id, 1 + n % 2, Some(1 + task % 2))).await?;
                        hosts
                            .update(1 + n % 2)
                            .set(|h| h.name, format!("{task}/{n}"))
                            .await?;
                        log.update(id).set(|l| l.host, Ref::new(2 - n % 2)).await?;
                        if n % 3 == 0 {
                            log.delete(id).await?;
                        }
                    }
                    Ok::<(), Error>(())
                }));
            }
            for task in tasks {
                task.await.unwrap().unwrap();
            }
            assert_eq!(
                odm.collection::<LogMsg>().find_all().count().await.unwrap(),
                16,
                "{mode}"
            );
            odm.recover().await.unwrap();
            assert_right(&t, &odm, mode).await;
        }
    });
}

/// Writes the parents and the children that the reads look for: to hosts 1 and 2 five messages each, to host 3 none.
async fn filled(t: &TestDb) -> Odm {
    let odm = handle(t).await;
    let hosts = (1..=3).map(host).collect::<Vec<_>>();
    odm.collection::<Host>().insert_many(hosts).await.unwrap();
    odm.collection::<User>()
        .insert_many((1..=2).map(user))
        .await
        .unwrap();
    let messages = (0..10).map(|id| message(id, 1 + id % 2, (id < 4).then_some(1)));
    odm.collection::<LogMsg>().insert_many(messages).await.unwrap();
    t.commands.clear();
    odm
}

fn ids(messages: &[LogMsg]) -> Vec<i32> {
    messages.iter().map(|message| message.id).collect()
}

#[odm_tests::test]
fn the_children_of_one_parent_are_one_query() {
    with_db(async |t| {
        let odm = filled(&t).await;
        let (hosts, log) = (odm.collection::<Host>(), odm.collection::<LogMsg>());
        let host = hosts.get(2).await.unwrap().unwrap();
        t.commands.clear();
        let of_host = log.children_of(&host).all().await.unwrap();
        assert_eq!(ids(&of_host), [9, 7, 5, 3, 1], "in the order of the declaration");
        assert_eq!(t.commands.take(), ["find"]);
        let of_id = log.children_of(Ref::<Host>::new(2)).limit(2).all().await.unwrap();
        assert_eq!(ids(&of_id), [9, 7]);
        assert_eq!(t.commands.take(), ["find"]);
        // The reference that stands in a child names its parent, too.
        let beside = log
            .children_of(of_id[0].host.id)
            .filter(|l| l.at.lt(5))
            .all()
            .await
            .unwrap();
        assert_eq!(ids(&beside), [3, 1]);
        assert_eq!(log.children_of(Ref::<User>::new(1)).count().await.unwrap(), 4);
        assert_eq!(log.children_of(Ref::<Host>::new(3)).all().await.unwrap(), []);
        let found = log
            .find(|l| l.host.eq(host.to_ref()) & l.user.eq(None))
            .count()
            .await
            .unwrap();
        assert_eq!(found, 3);
    });
}

#[odm_tests::test]
fn the_children_of_many_parents_are_one_pipeline_or_a_query_for_each() {
    with_db(async |t| {
        let odm = filled(&t).await;
        let server = odm.server().await.unwrap();
        let joins = server.has_lookup_with_pipeline() && server.topology() != Topology::Sharded;
        let hosts = odm.collection::<Host>();
        let query = || hosts.find_all().sort(|h| h.id.asc());
        t.commands.clear();

        let whole = query().include(|h| h.children::<LogMsg>()).all().await.unwrap();
        let of_each = |rows: &[(Host, Vec<LogMsg>)]| -> Vec<Vec<i32>> {
            rows.iter().map(|(_, messages)| ids(messages)).collect()
        };
        assert_eq!(
            of_each(&whole),
            [vec![8, 6, 4, 2, 0], vec![9, 7, 5, 3, 1], vec![]]
        );
        assert_eq!(t.commands.take(), ["find", "find"]);

        let newest = query()
            .include(|h| h.children::<LogMsg>().limit(2))
            .all()
            .await
            .unwrap();
        assert_eq!(of_each(&newest), [vec![8, 6], vec![9, 7], vec![]]);
        let sent = t.commands.take();
        if joins {
            assert_eq!(sent, ["find", "aggregate"]);
        }
        let by_queries = query().include(|h| h.children::<LogMsg>().limit(2).by_queries());
        assert_eq!(by_queries.all().await.unwrap(), newest);
        assert_eq!(
            t.commands.take(),
            ["find"; 4],
            "one for the hosts, and one for each of three"
        );

        let by = query().include(|h| h.children_by(|l: LogMsgFields| l.host).limit(2));
        assert_eq!(by.all().await.unwrap(), newest, "in the order of the declaration");
        let oldest = query().include(|h| {
            let of = h.children::<LogMsg>().filter(|l| l.host.name.eq("host 1"));
            of.sort(|l| l.at.asc()).limit(2)
        });
        assert_eq!(
            of_each(&oldest.all().await.unwrap()),
            [vec![0, 2], vec![], vec![]]
        );
        if joins {
            t.commands.clear();
            let looked_up = query().include(|h| h.children::<LogMsg>().limit(2)).lookup();
            assert_eq!(looked_up.all().await.unwrap(), newest);
            assert_eq!(t.commands.take(), ["aggregate"]);
        }

        // From the child to its parents, and on from one side to the other.
        let log = odm.collection::<LogMsg>();
        t.commands.clear();
        let with_both: Vec<(LogMsg, (Host, Option<User>))> = log
            .find_all()
            .sort(|l| l.id.asc())
            .include(|l| (l.host, l.user))
            .all()
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["find"; 3]);
        for (message, (host, user)) in &with_both {
            assert_eq!(message.host.id, host.to_ref());
            assert_eq!(
                message.user.as_ref().map(|of| &of.user),
                user.as_ref().map(Document::to_ref).as_ref()
            );
        }
        let nested = query().include(|h| h.children::<LogMsg>().limit(1).include(|l| l.host));
        for (host, messages) in nested.all().await.unwrap() {
            assert!(messages.iter().all(|(_, of)| *of == host));
        }
    });
}

#[odm_tests::test]
fn a_parent_has_one_child_at_most() {
    // A database for each: the stand-in keeps what a document had in a partial index.
    for at in 0..2 {
        with_db(async |t| {
            let (mode, odm) = modes(&t, &handle(&t).await).await.swap_remove(at);
            let (users, badges) = (odm.collection::<User>(), odm.collection::<Badge>());
            users.insert_many((1..=3).map(user)).await.unwrap();
            let badge = |id: i32, user: Option<i32>| NewBadge {
                id,
                user: user.map(Ref::new),
            };
            badges.insert(badge(1, Some(1))).await.unwrap();
            let second = badges.insert(badge(2, Some(1))).await;
            assert!(
                matches!(second, Err(Error::DuplicateKey { .. })),
                "{mode}: {second:?}"
            );
            // Any number of them may have no user.
            badges
                .insert_many([badge(3, None), badge(4, None)])
                .await
                .unwrap();
            let moved = badges.update(3).set(|b| b.user, Ref::new(1)).await;
            assert!(
                matches!(moved, Err(Error::DuplicateKey { .. })),
                "{mode}: {moved:?}"
            );
            badges.update(3).set(|b| b.user, Ref::new(2)).await.unwrap();
            users.update(2).set(|u| u.name, "Kate").await.unwrap();

            t.commands.clear();
            let all = users
                .find_all()
                .sort(|u| u.id.asc())
                .include(|u| u.child::<Badge>());
            let all: Vec<(User, Option<Badge>)> = all.all().await.unwrap();
            assert_eq!(t.commands.take(), ["find", "find"], "{mode}");
            let names: Vec<_> = all
                .iter()
                .map(|(_, badge)| {
                    badge
                        .as_ref()
                        .and_then(|badge| Some((badge.id, badge.user.as_ref()?.name.as_str())))
                })
                .collect();
            assert_eq!(names, [Some((1, "user 1")), Some((3, "Kate")), None], "{mode}");

            // Where nothing is said, a child holds its parent back.
            let held = users.delete(1).await;
            assert!(
                matches!(held, Err(Error::StillReferenced { .. })),
                "{mode}: {held:?}"
            );
            badges.update(1).unset(|b| b.user).await.unwrap();
            users.delete(1).await.unwrap();
            assert_clean_after(&odm, mode).await;
        });
    }
}

#[odm_tests::test]
fn two_references_to_one_type_are_told_apart_by_the_field() {
    with_db(async |t| {
        let odm = handle(&t).await;
        for (mode, odm) in modes(&t, &odm).await {
            emptied(&t).await;
            let (towns, journeys) = (odm.collection::<Town>(), odm.collection::<Journey>());
            for id in 1..=2 {
                let name = format!("town {id}");
                towns.insert(NewTown { id, name }).await.unwrap();
            }
            for id in 1..=5 {
                let (from, to) = (Ref::new(1 + id % 2), Ref::new(1));
                journeys.insert(NewJourney { id, from, to }).await.unwrap();
            }
            journeys.update(1).set(|j| j.to, Ref::new(2)).await.unwrap();
            towns.update(1).set(|t| t.name, "Bonn").await.unwrap();
            let counts = async || {
                let all = towns.find_all().sort(|t| t.id.asc()).all().await.unwrap();
                all.iter()
                    .map(|town| (town.departures, town.arrivals))
                    .collect::<Vec<_>>()
            };
            assert_eq!(counts().await, [(2, 4), (3, 1)], "{mode}");
            // The parent is found by its own field alone, and the other one is named.
            assert_eq!(
                journeys.children_of(Ref::<Town>::new(2)).count().await.unwrap(),
                3
            );
            let arriving = towns.find_all().sort(|t| t.id.asc());
            let arriving = arriving
                .include(|t| t.children_by(|j: JourneyFields| j.to))
                .all()
                .await
                .unwrap();
            let of_each: Vec<usize> = arriving.iter().map(|(_, journeys)| journeys.len()).collect();
            assert_eq!(of_each, [4, 1], "{mode}");
            let journey = journeys.get(1).await.unwrap().unwrap();
            assert_eq!(
                (journey.from.name.as_str(), journey.to.name.as_str()),
                ("town 2", "town 2")
            );
            journeys
                .update_where(|j| j.to.eq(Ref::new(2)))
                .set(|j| j.from, Ref::new(1))
                .await
                .unwrap();
            assert_eq!(counts().await, [(3, 4), (2, 1)], "{mode}");
            assert_clean_after(&odm, mode).await;
        }
    });
}

/// Out-of-band writes are taken up: copies and counts by a backfill, a deleted parent by a repair.
#[odm_tests::test]
fn an_audit_finds_and_a_repair_corrects_out_of_band_writes_of_parent_entries() {
    with_db(async |t| {
        let odm = filled(&t).await;
        let (hosts, log) = (t.db.collection::<Doc>("hosts"), t.db.collection::<Doc>("logmsg"));
        let bare = doc! { "_id": 70, "host": { "id": 3, "name": "?", "ipaddr": "?" }, "at": 70, "bytes": 7, "text": "bare" };
        log.insert_one(bare).await.unwrap();
        hosts
            .update_one(doc! { "_id": 1 }, doc! { "$set": { "name": "renamed" } })
            .await
            .unwrap();
        let audit = odm.audit().await.unwrap();
        let stale = |collection: &str| -> u64 {
            let of = audit
                .copies
                .iter()
                .filter(|copies| copies.collection == collection);
            of.map(|copies| copies.stale.count).sum()
        };
        assert!(stale("logmsg") >= 6 && stale("hosts") >= 1, "{audit}");
        odm.backfill().again().await.unwrap();
        assert_right(&t, &odm, "a backfill").await;

        hosts.delete_one(doc! { "_id": 3 }).await.unwrap();
        let audit = odm.audit().await.unwrap();
        let dangling = audit
            .references
            .iter()
            .find(|of| of.collection == "logmsg" && of.field == "host.id");
        assert_eq!(dangling.map(|of| of.dangling.count), Some(1), "{audit}");
        // No document is deleted unasked.
        let repaired = odm.repair(&audit).await.unwrap();
        assert!(!repaired.left.is_clean(), "{repaired}");
        assert!(odm.collection::<LogMsg>().get(70).await.unwrap().is_some());
        odm.collection::<LogMsg>().delete(70).await.unwrap();
        assert_right(&t, &odm, "a repair").await;
    });
}

#[odm_tests::test]
fn the_indexes_are_those_of_the_reference_in_it() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Host, User, LogMsg, Badge, Town, Journey]).unwrap();
        let words = odm.plan().await.unwrap().to_string();
        for (collection, index) in [
            (
                "logmsg",
                "`host.id_1_at_-1__id_-1` on host.id, at (descending), _id (descending), for the reference",
            ),
            ("logmsg", "`host.id_1__id_1` on host.id, _id, for the reference"),
            ("logmsg", "`user.of_1__id_1` on user.of, _id, for the reference"),
            ("journeys", "`from.id_1__id_1` on from.id, _id, for the reference"),
            ("journeys", "`to.id_1__id_1` on to.id, _id, for the reference"),
        ] {
            let line = format!("`{collection}`: create index {index}");
            assert!(words.lines().any(|told| told.trim() == line), "{line}\n{words}");
        }
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());
        let indexes: Vec<_> =
            t.db.collection::<Doc>("badges")
                .list_indexes()
                .await
                .unwrap()
                .try_collect()
                .await
                .unwrap();
        let one = indexes.iter().find(|index| index.keys == doc! { "user.id": 1 });
        let options = one.and_then(|index| index.options.clone()).unwrap_or_default();
        assert_eq!(options.unique, Some(true), "{indexes:?}");
        // Those without a parent are many.
        let partial = options.partial_filter_expression;
        assert_eq!(
            partial,
            Some(doc! { "user.id": { "$gte": f64::NEG_INFINITY } }),
            "{indexes:?}"
        );
    });
}

#[odm_tests::test]
fn the_diagram_shows_the_field_of_the_parent_entry() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Host, User, LogMsg, Badge, Town, Journey]).unwrap();
        let edges = odm.edges();
        let of = |holder: &str, field: &str| {
            let mut all = edges.references.iter();
            let found = all.find(|edge| edge.holder == holder && edge.field == field);
            found.map(ToString::to_string)
        };
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(
            of("logmsg", "host.id"),
            said("parent -> hosts, on_delete = cascade")
        );
        assert_eq!(
            of("logmsg", "user.of"),
            said("parent or none -> users, on_delete = nullify")
        );
        assert_eq!(
            of("badges", "user.id"),
            said("parent or none -> users, which has one at most, on_delete = restrict")
        );
        assert_eq!(
            of("journeys", "from.id"),
            said("parent -> towns, on_delete = restrict")
        );
        assert_eq!(
            of("journeys", "to.id"),
            said("one -> towns, on_delete = restrict")
        );
        let text = edges.to_string();
        for part in [
            "by logmsg.host.id",
            "copy of hosts.name through host.id",
            "copy of users.name through user.of",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    });
}

/// A child that stays when its parent goes, with what it has copied.
mod staying {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug)]
    #[document(collection = "inns")]
    pub struct Inn {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
        #[computed(count = Guest)]
        pub guests: i64,
        #[subset(of = Guest, limit = 2, order(-night), fields(night: i32))]
        pub latest: Vec<LatestEntry>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug)]
    #[document(collection = "guests")]
    pub struct Guest {
        #[serde(rename = "_id")]
        pub id: i32,
        pub night: i32,
        #[parent_ref(order(-night), on_delete = keep)]
        #[denormalize(from = Inn, fields(name: String))]
        pub inn: InnEntry,
    }
}

#[odm_tests::test]
fn a_parent_inserted_after_its_children_counts_them() {
    use staying::{Guest, Inn, NewGuest, NewInn};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Inn, Guest]).unwrap();
        odm.sync().await.unwrap();
        for (mode, odm) in modes(&t, &odm).await {
            let (inns, guests) = (odm.collection::<Inn>(), odm.collection::<Guest>());
            guests.delete_where(|g| g.id.gte(0)).await.unwrap();
            inns.delete_where(|i| i.id.gte(0)).await.unwrap();
            let inn = |name: &str| NewInn {
                id: 1,
                name: name.to_owned(),
            };
            inns.insert(inn("The Prancing Pony")).await.unwrap();
            for id in 1..=3 {
                let (night, inn) = (id, Ref::new(1));
                guests.insert(NewGuest { id, night, inn }).await.unwrap();
            }
            inns.delete(1).await.unwrap();
            let kept = guests.get(1).await.unwrap().unwrap();
            assert_eq!(kept.inn.name, "The Prancing Pony", "{mode}");
            // A document that it refers to already may have been deleted.
            guests.replace(kept).await.unwrap();
            assert_eq!(
                guests.children_of(Ref::<Inn>::new(1)).count().await.unwrap(),
                3,
                "{mode}"
            );

            let again = inns.insert(inn("The Green Dragon")).await.unwrap();
            let again = inns.get(again.id).await.unwrap().unwrap();
            let nights: Vec<i32> = again.latest.iter().map(|guest| guest.night).collect();
            assert_eq!((again.guests, nights), (3, vec![3, 2]), "{mode}");
            let renamed = guests.find(|g| g.inn.name.eq("The Green Dragon")).count();
            assert_eq!(renamed.await.unwrap(), 3, "{mode}");
            assert_clean_after(&odm, mode).await;
        }
    });
}

/// A subset by a plain array of references with copies has more than one parent.
mod of_several {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug)]
    #[document(collection = "tags")]
    pub struct Tag {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
        #[computed(count = Post, by = tags)]
        pub posts: i64,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug)]
    #[document(collection = "posts")]
    pub struct Post {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(many, max = 5)]
        #[denormalize(from = Tag, fields(name: String))]
        pub tags: Vec<TagEntry>,
    }
}

#[odm_tests::test]
fn a_child_with_an_array_of_parent_entries_is_refused() {
    with_db(async |t| {
        let refused = Odm::new(t.db.clone(), models![of_several::Tag, of_several::Post]);
        let Err(Error::Models { problems }) = refused else {
            panic!("accepted");
        };
        let said = "`Tag.posts` is derived from the documents of `Post` that name their parent in `tags.id`, which is no single \
                    reference";
        assert_eq!(problems, [said]);
    });
}
