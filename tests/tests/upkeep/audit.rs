//! Faults in references are found, and repaired where there is one right answer.

use odm::Error;
use odm::bson::{Bson, Document as Bsons, doc};
use odm::prelude::*;
use odm::upkeep::{Audit, Findings, RepairKind};
use odm_tests::fixtures::deletion::{
    Bound, Desk, Following, Freed, Host, Kept, PLACES, Person, Task, freed, holder, host, raw, read,
};
use odm_tests::{TestDb, assert_clean, require_transactions, with_db};
use serde::{Deserialize, Serialize};

fn of<'a>(audit: &'a Audit, collection: &str, field: &str) -> &'a odm::upkeep::AuditedReference {
    audit
        .references
        .iter()
        .find(|reference| reference.collection == collection && reference.field == field)
        .unwrap_or_else(|| panic!("no {collection}.{field} in {audit:?}"))
}

fn found(findings: &Findings) -> (u64, Vec<(Bson, Bson)>) {
    (findings.count, findings.sample.clone())
}

async fn hosts(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Host, Freed, Bound, Following, Kept]).unwrap();
    odm.sync().await.unwrap();
    odm.server().await.unwrap();
    let one = |id: i64| doc! { "_id": id, "code": format!("h{id}") };
    raw(t, "hosts").insert_many((1..=3).map(one)).await.unwrap();
    for name in ["freed", "bound", "following", "kept"] {
        let holders = PLACES
            .iter()
            .enumerate()
            .map(|(n, (place, _))| holder(n as i64, place, true));
        raw(t, name).insert_many(holders).await.unwrap();
    }
    t.commands.clear();
    odm
}

#[odm_tests::test]
fn references_without_a_target_are_found_wherever_they_stand() {
    with_db(async |t| {
        let odm = hosts(&t).await;
        let audit = odm.audit().await.unwrap();
        assert!(audit.is_clean(), "{audit}");
        assert_eq!(audit.documents, 4 * PLACES.len() as u64);
        assert_eq!(audit.right(), audit.checked());
        assert_eq!(
            audit.to_string(),
            format!(
                "nothing is wrong with {} references in 32 documents",
                audit.checked()
            )
        );

        // Behind the library's back.
        raw(&t, "hosts").delete_one(doc! { "_id": 1_i64 }).await.unwrap();
        let audit = odm.audit().await.unwrap();
        assert!(!audit.is_clean());
        for (n, (place, list)) in PLACES.iter().enumerate() {
            let id = Bson::Int64(n as i64);
            let key = match *place {
                "code" => Bson::from("h1"),
                _ => Bson::Int64(1),
            };
            // The arrays name it twice.
            let times = if *list { 2 } else { 1 };
            for name in ["freed", "bound", "following"] {
                let reference = of(&audit, name, place);
                assert_eq!(
                    found(&reference.dangling),
                    (times, vec![(id.clone(), key.clone()); times as usize]),
                    "{name}.{place}"
                );
                assert_eq!(reference.right() + times, reference.checked);
                assert_eq!(reference.kept, 0);
            }
            let kept = of(&audit, "kept", place);
            assert_eq!(
                (kept.kept, kept.is_clean()),
                (times, true),
                "it is declared to stay"
            );
        }
        assert!(
            audit
                .to_string()
                .contains("`freed`.`top`: 1 of the references to `hosts` names a document that does not exist: _id 0 to 1"),
            "{audit}"
        );

        let repaired = odm.repair_all().await.unwrap();
        for (n, (place, _)) in PLACES.iter().enumerate() {
            assert_eq!(
                read(&t, "freed", n as i64).await,
                Some(freed(n as i64, place)),
                "{place}"
            );
            for name in ["bound", "following", "kept"] {
                assert_eq!(
                    read(&t, name, n as i64).await,
                    Some(holder(n as i64, place, true))
                );
            }
        }
        assert_eq!(repaired.repairs.len(), PLACES.len());
        assert!(
            repaired
                .repairs
                .iter()
                .all(|m| m.collection == "freed" && m.count == 1)
        );
        assert!(
            repaired
                .repairs
                .iter()
                .any(|m| m.field == "list" && m.what == RepairKind::Pulled)
        );
        assert!(
            repaired
                .repairs
                .iter()
                .any(|m| m.field == "code" && m.what == RepairKind::Nullified)
        );
        assert!(
            !repaired.left.is_clean(),
            "what restricts and what would follow is left"
        );
        assert!(of(&repaired.left, "freed", "top").is_clean());
        assert_eq!(of(&repaired.left, "bound", "top").dangling.count, 1);
        assert_eq!(of(&repaired.left, "following", "list").dangling.count, 2);

        let again = odm.repair_all().await.unwrap();
        assert!(again.repairs.is_empty());
        assert!(
            again.to_string().starts_with("left: `bound`.`top`: 1 of"),
            "{again}"
        );
        let audit = odm.audit().collection::<Freed>().await.unwrap();
        assert!(audit.is_clean(), "{audit}");
    });
}

#[odm_tests::test]
fn a_part_or_a_sample_is_looked_at_if_that_is_asked_for() {
    with_db(async |t| {
        let odm = hosts(&t).await;
        raw(&t, "hosts").delete_many(doc! {}).await.unwrap();
        let audit = odm
            .audit()
            .edge::<Bound, _>(|b| b.inner.hosts)
            .collection::<Kept>()
            .await
            .unwrap();
        assert_eq!(audit.documents, 16);
        assert!(!audit.is_clean());
        assert_eq!(of(&audit, "bound", "inner.hosts").right(), 0);
        assert!(
            audit
                .references
                .iter()
                .all(|r| r.collection == "kept" || r.field == "inner.hosts")
        );

        let audit = odm.audit().collection::<Freed>().sample(3).await.unwrap();
        assert_eq!(audit.documents, 3);
        assert!(audit.checked() > 0 && audit.right() == 0);
        assert_eq!(odm.audit().sample(0).await.unwrap().documents, 0);

        let error = odm.audit().edge::<Bound, _>(|b| b.inner.note).await.unwrap_err();
        assert!(
            matches!(&error, Error::Query { collection: "bound", message } if message.contains("`inner.note` is no reference")),
            "{error}"
        );
        let error = odm.repair_all().collection::<Host>().await.unwrap_err();
        assert!(matches!(
            error,
            Error::Query {
                collection: "hosts",
                ..
            }
        ));
        assert!(
            odm.repair_all()
                .edge::<Freed, _>(|f| f.top)
                .await
                .unwrap()
                .repairs
                .len()
                == 1
        );
        assert!(read(&t, "freed", 1).await.unwrap().get("top").is_none());
        assert!(read(&t, "freed", 0).await.unwrap().get("code").is_some());
    });
}

/// How many queries of an audit are for the shard keys of the database: one on a cluster, where several documents may have an `_id`.
async fn of_shard_keys(odm: &Odm) -> usize {
    usize::from(odm.server().await.unwrap().topology() == odm::server::Topology::Sharded)
}

#[odm_tests::test]
fn an_audit_is_as_many_round_trips_as_there_are_batches() {
    with_db(async |t| {
        let odm = hosts(&t).await;
        raw(&t, "freed").delete_many(doc! {}).await.unwrap();
        raw(&t, "freed")
            .insert_many((0..2_500).map(|id| holder(id, "list", true)))
            .await
            .unwrap();
        t.commands.clear();
        let audit = odm.audit().collection::<Freed>().await.unwrap();
        assert!(audit.is_clean(), "{audit}");
        assert_eq!(audit.documents, 2_500);
        // Three batches, each with two questions: for ids and for codes.
        let expected = 9 + of_shard_keys(&odm).await;
        assert_eq!(t.commands.take(), vec!["find"; expected]);
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
pub struct Author {
    #[serde(rename = "_id")]
    pub id: i64,
    #[reference(many, inverse = authors, max = 3)]
    pub books: Vec<Ref<Book>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "books", version)]
pub struct Book {
    #[serde(rename = "_id")]
    pub id: i64,
    #[reference(many, inverse = books, max = 3)]
    pub authors: Vec<Ref<Author>>,
    pub version: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "profiles")]
pub struct Profile {
    #[serde(rename = "_id")]
    pub id: i64,
    #[parent_ref(one)]
    pub author: Ref<Author>,
}

async fn insert(t: &TestDb, name: &str, documents: impl IntoIterator<Item = Bsons>) {
    raw(t, name).insert_many(documents).await.unwrap();
}

async fn field(t: &TestDb, name: &str, id: i64, field: &str) -> Bson {
    let document = read(t, name, id).await.unwrap();
    document.get(field).cloned().unwrap_or(Bson::Null)
}

fn list(items: impl IntoIterator<Item = i64>) -> Bson {
    Bson::Array(items.into_iter().map(Bson::Int64).collect())
}

#[odm_tests::test]
fn a_repair_restores_one_sided_links_by_the_authoritative_side() {
    with_db(async |t| {
        for transactions in [true, false] {
            let odm = Odm::new(t.db.clone(), models![Person, Task, Desk, Author, Book]).unwrap();
            let odm = if transactions {
                odm
            } else {
                t.standalone_of(&odm).await
            };
            let person = |id: i64, tasks: &[i64], friends: &[i64], desk: Option<i64>| {
                doc! { "_id": id, "tasks": tasks, "friends": friends, "desk": desk }
            };
            insert(
                &t,
                "people",
                [
                    // A task of its own, one that is another's, one twice, and one that does not exist.
                    person(1, &[10, 20, 10, 99], &[2, 3], Some(100)),
                    person(2, &[], &[], None),
                    person(3, &[], &[4], Some(400)),
                    person(4, &[], &[3, 1], None),
                ],
            )
            .await;
            let task = |id: i64, owner: i64| doc! { "_id": id, "owner": owner };
            insert(&t, "tasks", [task(10, 1), task(20, 2), task(21, 2), task(30, 77)]).await;
            let desk = |id: i64, person: Option<i64>| doc! { "_id": id, "person": person };
            insert(
                &t,
                "desks",
                [
                    desk(100, None),
                    desk(200, Some(2)),
                    desk(300, Some(3)),
                    desk(400, Some(3)),
                ],
            )
            .await;
            let book = |id: i64, authors: &[i64]| doc! { "_id": id, "authors": authors, "version": 5_i64 };
            insert(
                &t,
                "authors",
                [
                    doc! { "_id": 1_i64, "books": [1_i64, 2_i64] },
                    doc! { "_id": 2_i64, "books": [1_i64] },
                    doc! { "_id": 3_i64, "books": [3_i64, 4_i64, 5_i64, 6_i64] },
                ],
            )
            .await;
            insert(
                &t,
                "books",
                [
                    book(1, &[1]),
                    book(2, &[1, 2]),
                    book(3, &[3]),
                    book(4, &[1, 2, 4]),
                    book(5, &[3]),
                    book(6, &[3]),
                ],
            )
            .await;

            let audit = odm.audit().await.unwrap();
            let tasks = of(&audit, "people", "tasks");
            assert_eq!(found(&tasks.dangling), (1, vec![(1_i64.into(), 99_i64.into())]));
            assert_eq!(found(&tasks.one_sided), (1, vec![(1_i64.into(), 20_i64.into())]));
            assert_eq!(found(&tasks.repeated), (1, vec![(1_i64.into(), 10_i64.into())]));
            let owners = of(&audit, "tasks", "owner");
            assert_eq!(found(&owners.dangling), (1, vec![(30_i64.into(), 77_i64.into())]));
            assert_eq!(owners.one_sided.count, 2, "20 and 21");
            assert_eq!(
                of(&audit, "people", "friends").one_sided.count,
                3,
                "1 of 2 and 3, 4 of 1"
            );
            assert_eq!(of(&audit, "people", "desk").one_sided.count, 1);
            assert_eq!(of(&audit, "desks", "person").one_sided.count, 2);
            let books = of(&audit, "authors", "books");
            assert_eq!(found(&books.over_bound), (1, vec![(3_i64.into(), 4_i64.into())]));
            assert_eq!(books.one_sided.count, 2, "2 of 1, and 3 of 4");
            let authors = of(&audit, "books", "authors");
            assert_eq!(found(&authors.dangling), (1, vec![(4_i64.into(), 4_i64.into())]));
            assert_eq!(authors.one_sided.count, 3);

            let repaired = odm.repair_all().await.unwrap();
            // The owner of a task says whose it is.
            assert_eq!(field(&t, "people", 1, "tasks").await, list([10]));
            assert_eq!(field(&t, "people", 2, "tasks").await, list([20, 21]));
            assert_eq!(
                field(&t, "tasks", 30, "owner").await,
                Bson::Int64(77),
                "left: it needs an owner"
            );
            // The lesser of two friends.
            assert_eq!(field(&t, "people", 1, "friends").await, list([2, 3]));
            assert_eq!(field(&t, "people", 2, "friends").await, list([1]));
            assert_eq!(field(&t, "people", 3, "friends").await, list([4, 1]));
            assert_eq!(field(&t, "people", 4, "friends").await, list([3]));
            // Desks come before people.
            assert_eq!(field(&t, "people", 1, "desk").await, Bson::Null);
            assert_eq!(field(&t, "people", 2, "desk").await, Bson::Int64(200));
            assert_eq!(
                field(&t, "people", 3, "desk").await,
                Bson::Int64(400),
                "two desks name it: left"
            );
            // Authors come before books.
            assert_eq!(field(&t, "books", 1, "authors").await, list([1, 2]));
            assert_eq!(field(&t, "books", 2, "authors").await, list([1]));
            assert_eq!(
                field(&t, "books", 4, "authors").await,
                list([3]),
                "it had no room before it lost the others"
            );
            assert_eq!(
                field(&t, "books", 1, "version").await,
                Bson::Int64(6),
                "a link that was repaired raises it"
            );

            let left = &repaired.left;
            assert_eq!(of(left, "tasks", "owner").dangling.count, 1);
            assert_eq!(
                found(&of(left, "desks", "person").one_sided),
                (1, vec![(300_i64.into(), 3_i64.into())])
            );
            assert_eq!(of(left, "authors", "books").over_bound.count, 1);
            let count_of = |collection: &str, field: &str, what: RepairKind| {
                let one = repaired
                    .repairs
                    .iter()
                    .find(|m| (m.collection, m.field.as_str(), m.what) == (collection, field, what));
                one.map_or(0, |m| m.count)
            };
            assert_eq!(count_of("people", "tasks", RepairKind::Deduplicated), 1);
            assert_eq!(count_of("people", "tasks", RepairKind::Pulled), 1);
            assert_eq!(count_of("people", "tasks", RepairKind::Unlinked), 1);
            assert_eq!(count_of("people", "tasks", RepairKind::Linked), 2);

            let again = odm.repair_all().await.unwrap();
            let third = odm.repair_all().await.unwrap();
            assert!(third.repairs.is_empty(), "{again}\n--\n{third}");
            let audit = odm.audit().await.unwrap();
            assert_eq!(audit, third.left);
            let lines = audit.to_string();
            assert_eq!(lines.lines().count(), 3, "{lines}");
            for name in ["people", "tasks", "desks", "authors", "books"] {
                raw(&t, name).delete_many(doc! {}).await.unwrap();
            }
        }
    });
}

#[odm_tests::test]
fn parents_with_several_children_are_found_where_no_index_rules_them_out() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Author, Book, Profile]).unwrap();
        insert(
            &t,
            "authors",
            (0..3_i64).map(|id| doc! { "_id": id, "books": [] }),
        )
        .await;
        insert(
            &t,
            "profiles",
            (0..5_i64).map(|id| doc! { "_id": id, "author": id / 2 }),
        )
        .await;
        let audit = odm.audit().await.unwrap();
        assert_eq!(
            found(&of(&audit, "profiles", "author").several_children),
            (
                2,
                vec![(0_i64.into(), 2_i64.into()), (1_i64.into(), 2_i64.into())]
            )
        );
        let repaired = odm.repair_all().await.unwrap();
        assert!(repaired.repairs.is_empty());
        assert_eq!(repaired.left, audit, "which of them is right is not known");

        raw(&t, "profiles")
            .delete_many(doc! { "_id": { "$in": [1_i64, 3_i64] } })
            .await
            .unwrap();
        odm.database()
            .run_command(doc! {
                "createIndexes": "profiles",
                "indexes": [{ "key": { "author": 1 }, "name": "author_1", "unique": true }],
            })
            .await
            .unwrap();
        t.commands.clear();
        assert!(odm.audit().collection::<Profile>().await.unwrap().is_clean());
        let mut expected = vec!["find", "find", "listIndexes"];
        expected.extend(vec!["find"; of_shard_keys(&odm).await]);
        assert_eq!(t.commands.take(), expected, "no need to read them all");
    });
}

#[odm_tests::test]
fn repairs_may_run_at_once_and_while_others_write() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Person, Task, Desk]).unwrap();
        odm.sync().await.unwrap();
        odm.server().await.unwrap();
        let person = |id: i64| doc! { "_id": id, "tasks": [], "friends": [(id + 1) % 40, (id + 7) % 40], "desk": null };
        insert(&t, "people", (0..40).map(person)).await;
        insert(
            &t,
            "tasks",
            (0..200_i64).map(|id| doc! { "_id": id, "owner": id % 40 }),
        )
        .await;
        let mut tasks = Vec::new();
        for n in 0..3_i64 {
            let odm = odm.clone();
            tasks.push(tokio::spawn(async move {
                for i in 0..25_i64 {
                    let (task, owner) = ((n * 67 + i * 31) % 200, (n + i * 3) % 40);
                    // It may meet a repair: then it is tried again.
                    odm.collection::<Task>()
                        .update(task)
                        .set(|t| t.owner, Ref::new(owner))
                        .await
                        .unwrap();
                }
            }));
        }
        for _ in 0..2 {
            let odm = odm.clone();
            tasks.push(tokio::spawn(async move {
                for _ in 0..2 {
                    odm.repair_all().await.unwrap();
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        odm.repair_all().await.unwrap();
        let audit = odm.audit().await.unwrap();
        assert!(audit.is_clean(), "{audit}");
        assert_eq!(audit.checked(), 200 + 200 + 2 * (39 + 33));
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "loose")]
pub struct Loose {
    #[serde(rename = "_id")]
    pub id: i64,
    #[reference(on_delete = nullify)]
    pub host: Option<Ref<Host>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tied")]
pub struct Tied {
    #[serde(rename = "_id")]
    pub id: i64,
    #[reference]
    pub host: Ref<Host>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "followers")]
pub struct Follower {
    #[serde(rename = "_id")]
    pub id: i64,
    #[parent_ref(on_delete = cascade)]
    pub host: Ref<Host>,
}

/// Runs `work` on a thread and a client of its own, each of whose commands waits a moment before it is sent.
fn apart<R: Send + 'static, Fut: Future<Output = R>>(
    t: &TestDb,
    n: u64,
    work: impl FnOnce(Odm) -> Fut + Send + 'static,
) -> std::thread::JoinHandle<R> {
    use odm::mongodb::event::{EventHandler, command::CommandEvent};
    let name = t.db.name().to_owned();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut options = odm::mongodb::options::ClientOptions::parse(odm_tests::uri())
                .await
                .unwrap();
            let state = std::sync::atomic::AtomicU64::new(n);
            options.command_event_handler = Some(EventHandler::callback(move |event| {
                if let CommandEvent::Started(_) = event {
                    use std::sync::atomic::Ordering::Relaxed;
                    let next = state
                        .load(Relaxed)
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1 + n);
                    state.store(next, Relaxed);
                    std::thread::sleep(std::time::Duration::from_micros((next >> 33) % 6_000));
                }
            }));
            let client = odm::mongodb::Client::with_options(options).unwrap();
            let models = models![Host, Loose, Tied, Follower];
            work(Odm::new(client.database(&name), models).unwrap()).await
        })
    })
}

#[odm_tests::test]
fn nothing_dangles_after_inserts_and_deletions_that_raced() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Host, Loose, Tied, Follower]).unwrap();
        odm.sync().await.unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        let going = move || std::time::Instant::now() < until;
        let mut writers = Vec::new();
        for n in 0..6_i64 {
            writers.push(apart(&t, n as u64, async move |odm| {
                let (mut i, mut written, mut refused) = (0, 0, 0);
                while going() {
                    i += 1;
                    let (id, to) = (n * 100_000 + i, Ref::<Host>::new((n + i) % 3));
                    let inserted = match n % 3 {
                        0 => odm
                            .collection::<Loose>()
                            .insert(NewLoose { id, host: Some(to) })
                            .await
                            .map(drop),
                        1 => odm
                            .collection::<Tied>()
                            .insert(NewTied { id, host: to })
                            .await
                            .map(drop),
                        _ => odm
                            .collection::<Follower>()
                            .insert(NewFollower { id, host: to })
                            .await
                            .map(drop),
                    };
                    match inserted {
                        Ok(()) => written += 1,
                        Err(Error::MissingReference { .. }) => refused += 1,
                        Err(other) => panic!("{other}"),
                    }
                    // Some of the documents that restrict the deletion of a host are deleted again.
                    if n % 3 == 1 {
                        odm.collection::<Tied>().delete(id).optional().await.unwrap();
                    }
                }
                (written, refused)
            }));
        }
        let mut deleters = Vec::new();
        for n in 0..4_i64 {
            deleters.push(apart(&t, 100 + n as u64, async move |odm| {
                let (mut i, mut deleted, mut held) = (n, 0, 0);
                while going() {
                    i += 1;
                    let again = odm.collection::<Host>().insert(host(i % 3)).await;
                    assert!(
                        matches!(again, Ok(_) | Err(Error::DuplicateKey { .. })),
                        "{again:?}"
                    );
                    match odm.collection::<Host>().delete(i % 3).optional().await {
                        Ok(done) => deleted += u64::from(done.is_some()),
                        Err(Error::StillReferenced { .. }) => held += 1,
                        Err(other) => panic!("{other}"),
                    }
                }
                (deleted, held)
            }));
        }
        let ended = tokio::task::spawn_blocking(move || {
            let writers: Vec<_> = writers.into_iter().map(|one| one.join().unwrap()).collect();
            let deleters: Vec<_> = deleters.into_iter().map(|one| one.join().unwrap()).collect();
            (writers, deleters)
        });
        let (writers, deleters) = ended.await.unwrap();
        let audit = odm.audit().await.unwrap();
        assert!(
            audit.is_clean(),
            "{audit}; {writers:?} written and refused, {deleters:?} deleted and held back"
        );
        // How many, and how many were refused, depends on the machine.
        assert!(writers.iter().any(|(written, _)| *written > 0), "{writers:?}");
        assert!(
            deleters.iter().any(|(deleted, held)| deleted + held > 0),
            "{deleters:?}"
        );
    });
}

#[odm_tests::test]
fn references_of_a_union_are_looked_for_by_their_type() {
    with_db(async |t| {
        let odm = odm_tests::fixtures::deletion::media(&t).await;
        assert_clean(&odm).await;
        raw(&t, "pictures")
            .delete_one(doc! { "_id": 1_i64 })
            .await
            .unwrap();
        odm.database()
            .run_command(doc! { "collMod": "shows", "validationLevel": "off" })
            .await
            .unwrap();
        raw(&t, "shows")
            .update_one(
                doc! { "_id": 2_i64 },
                doc! { "$set": { "cover": { "type": "Sound", "id": 1_i64 } } },
            )
            .await
            .unwrap();
        let audit = odm.audit().await.unwrap();
        let cover = of(&audit, "shows", "cover");
        assert_eq!(cover.targets, ["pictures", "clips"]);
        assert_eq!(
            found(&cover.dangling),
            (
                2,
                vec![
                    (1_i64.into(), 1_i64.into()),
                    (2_i64.into(), doc! { "type": "Sound", "id": 1_i64 }.into()),
                ]
            )
        );
        assert_eq!(of(&audit, "shows", "items").dangling.count, 2);
        assert_eq!(of(&audit, "shows", "scenes.front").dangling.count, 2);
        assert_eq!(of(&audit, "remarks", "on").dangling.count, 1);
        let repaired = odm.repair_all().await.unwrap();
        let left = |field: &str| of(&repaired.left, "shows", field).dangling.count;
        assert_eq!(
            (left("cover"), left("items"), left("scenes.front")),
            (1, 0, 0),
            "what is no clip and no picture"
        );
        assert_eq!(of(&repaired.left, "remarks", "on").dangling.count, 1);
        let show = read(&t, "shows", 1).await.unwrap();
        assert_eq!(show.get_array("items").unwrap().len(), 2);
        assert!(odm.repair_all().await.unwrap().repairs.is_empty());
    });
}

#[odm_tests::test]
fn both_sides_agree_after_links_and_deletions_that_raced() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Person, Task, Desk]).unwrap();
        odm.sync().await.unwrap();
        require_transactions(&odm).await;
        let person = |id: i64| doc! { "_id": id, "tasks": [], "friends": [], "desk": null };
        insert(&t, "people", (0..6).map(person)).await;
        let until = std::time::Instant::now() + std::time::Duration::from_secs(4);
        let mut workers = Vec::new();
        for n in 0..8_i64 {
            let odm = odm.clone();
            workers.push(tokio::spawn(async move {
                let (people, tasks, desks) = (
                    odm.collection::<Person>(),
                    odm.collection::<Task>(),
                    odm.collection::<Desk>(),
                );
                let (mut i, mut done, mut refused) = (n * 7, 0_u64, 0_u64);
                while std::time::Instant::now() < until {
                    i += 1;
                    let (id, who, other) = (n * 10_000 + i, (i * 5 + n) % 6, (i * 3 + n) % 6);
                    let made = match i % 8 {
                        0 | 1 => tasks
                            .insert(odm_tests::fixtures::deletion::NewTask {
                                id,
                                owner: Ref::new(who),
                            })
                            .await
                            .map(drop),
                        2 => tasks
                            .update(id - 2)
                            .set(|t| t.owner, Ref::new(other))
                            .await
                            .map(drop),
                        3 => people
                            .update(who)
                            .add_to_set(|p| p.friends, Ref::new(other))
                            .await
                            .map(drop),
                        4 => people
                            .update(other)
                            .pull(|p| p.friends, Ref::<Person>::new(who))
                            .await
                            .map(drop),
                        5 => desks
                            .insert(odm_tests::fixtures::deletion::NewDesk {
                                id,
                                person: Some(Ref::new(who)),
                            })
                            .await
                            .map(drop),
                        6 => tasks.delete_where(|t| t.owner.eq(Ref::new(who))).await.map(drop),
                        _ => match people.delete(who).await {
                            Ok(_) => {
                                let again = odm_tests::fixtures::deletion::NewPerson {
                                    id: who,
                                    tasks: vec![],
                                    friends: vec![],
                                    desk: None,
                                };
                                people.insert(again).await.map(drop)
                            }
                            Err(error) => Err(error),
                        },
                    };
                    match made {
                        Ok(()) => done += 1,
                        Err(error) if odm_tests::fixtures::links::is_refusal(&error) => refused += 1,
                        Err(other) => panic!("{other}"),
                    }
                }
                (done, refused)
            }));
        }
        let mut sums = (0, 0);
        for worker in workers {
            let (done, refused) = worker.await.unwrap();
            sums = (sums.0 + done, sums.1 + refused);
        }
        let audit = odm.audit().await.unwrap();
        assert!(audit.is_clean(), "{audit}; done and refused: {sums:?}");
        assert!(sums.0 > 0, "something happened: {sums:?}");
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "gears")]
struct Gear {
    #[serde(rename = "_id")]
    id: i32,
    number: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "boxes")]
struct GearBox {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(many, max = 2, on_delete = pull)]
    #[denormalize(from = Gear, fields(number: String))]
    gears: Vec<BoxedGear>,
}

#[odm_tests::test]
fn items_with_copies_are_counted_and_pulled_as_references_are() {
    with_db(async |t| {
        // Without the validator, which knows the bound, too.
        let odm = Odm::new(t.db.clone(), models![Gear, GearBox]).unwrap();
        let gears = [1, 2, 3].map(|id| doc! { "_id": id, "number": format!("g{id}") });
        insert(&t, "gears", gears).await;
        let boxed = |id: i32| doc! { "id": id, "number": format!("g{id}") };
        let boxes = [
            doc! { "_id": 1, "gears": [boxed(1), boxed(2), boxed(3)] },
            doc! { "_id": 2, "gears": [boxed(1), boxed(9)] },
            doc! { "_id": 3, "gears": [] },
        ];
        insert(&t, "boxes", boxes).await;
        let audit = odm.audit().await.unwrap();
        let gears = of(&audit, "boxes", "gears.id");
        assert!(audit.to_string().contains("more than 2"), "{audit}");
        assert_eq!(found(&gears.over_bound), (1, vec![(1.into(), 3_i64.into())]));
        assert_eq!(found(&gears.dangling), (1, vec![(2.into(), 9_i64.into())]));

        let repaired = odm.repair_all().await.unwrap();
        let repairs: Vec<_> = repaired
            .repairs
            .iter()
            .filter(|repair| repair.field == "gears.id")
            .map(|repair| (repair.what, repair.count))
            .collect();
        assert_eq!(repairs, [(RepairKind::Pulled, 1)]);
        let left = of(&repaired.left, "boxes", "gears.id");
        assert_eq!((left.over_bound.count, left.dangling.count), (1, 0));
    });
}
