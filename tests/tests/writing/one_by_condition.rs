//! Writes of one document that a condition finds: the first in an order, the one with a unique key; inserts and saves that find out
//! whether it is there.

use futures::future::join_all;
use odm::bson::doc;
use odm::prelude::*;
use odm::{Error, Odm};
use odm_tests::{TestDb, with_db, with_transactions};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "jobs", index(fields(state, due)))]
struct Job {
    #[serde(rename = "_id")]
    id: i32,
    state: String,
    due: i32,
    #[field(max = 2)]
    tries: i32,
    #[embed(max = 2)]
    notes: Vec<String>,
}

fn job(id: i32, due: i32) -> Job {
    Job {
        id,
        state: "waiting".into(),
        due,
        tries: 0,
        notes: vec![],
    }
}

/// Counted in its queue, and its name is copied there: its writes have consequences.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tasks", index(fields(queue, name), unique))]
struct Task {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(on_delete = cascade)]
    queue: Ref<Queue>,
    name: String,
    state: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "queues")]
struct Queue {
    #[serde(rename = "_id")]
    id: i32,
    #[index(unique)]
    name: String,
    #[computed(count = Task, filter = |t| t.state.eq("waiting"))]
    waiting: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "users", version)]
struct User {
    #[serde(rename = "_id")]
    id: i32,
    #[index(unique)]
    email: String,
    #[index(unique, sparse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    nick: Option<String>,
    visits: i64,
    version: i64,
}

fn user(id: i32, email: &str) -> User {
    User {
        id,
        email: email.into(),
        nick: None,
        visits: 0,
        version: 0,
    }
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "members")]
struct Member {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[index(unique)]
    email: String,
    visits: i64,
}

async fn odm(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Job, Task, Queue, User, Note, Member]).unwrap();
    odm.sync().await.unwrap();
    odm
}

async fn queue_of_tasks(odm: &Odm) -> Ref<Queue> {
    let new = Queue {
        id: 1,
        name: "mail".into(),
        waiting: 0,
    };
    let queue = odm.collection::<Queue>().insert(new).await.unwrap().to_ref();
    let task = |id: i32| Task {
        id,
        queue,
        name: format!("task {id}"),
        state: "waiting".into(),
    };
    odm.collection::<Task>()
        .insert_many((1..=3).map(task))
        .await
        .unwrap();
    queue
}

#[odm_tests::test]
fn the_first_in_an_order_is_changed_by_one_command() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let jobs = odm.collection::<Job>();
        jobs.insert_many([job(1, 30), job(2, 10), job(3, 20)])
            .await
            .unwrap();
        t.commands.clear();
        let claim = || {
            jobs.update_first(|j| j.state.eq("waiting"))
                .sort(|j| j.due.asc())
                .set(|j| j.state, "claimed")
        };
        let claimed = claim().returning().await.unwrap();
        assert_eq!(claimed.map(|j| (j.id, j.state)), Some((2, "claimed".to_owned())));
        let before = claim().returning_before().await.unwrap();
        assert_eq!(before.map(|j| (j.id, j.state)), Some((3, "waiting".to_owned())));
        let updated = claim().await.unwrap();
        assert_eq!((updated.matched, updated.modified), (1, 1));
        assert_eq!(t.commands.take(), ["findAndModify"; 3]);

        assert_eq!(claim().await.unwrap().matched, 0, "none is left");
        assert_eq!(claim().returning().await.unwrap(), None);
        // Without a change it is read.
        let read = jobs.update_first(|j| j.due.gt(0)).sort(|j| j.due.desc());
        assert_eq!(read.returning().await.unwrap().map(|j| j.id), Some(1));
    });
}

#[odm_tests::test]
fn a_document_that_a_bound_holds_back_is_not_passed_over() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let jobs = odm.collection::<Job>();
        let full = Job {
            notes: vec!["a".into(), "b".into()],
            tries: 2,
            ..job(1, 1)
        };
        jobs.insert_many([full, job(2, 2)]).await.unwrap();
        let first = || jobs.update_first(|j| j.state.eq("waiting")).sort(|j| j.due.asc());
        let pushed = first().push(|j| j.notes, "c").await;
        assert!(matches!(pushed, Err(Error::ArrayFull { .. })), "{pushed:?}");
        let tried = first().inc(|j| j.tries, 1).returning().await;
        assert!(matches!(tried, Err(Error::Invalid { .. })), "{tried:?}");
        let last = jobs
            .update_first(|j| j.state.eq("waiting"))
            .sort(|j| j.due.desc());
        let last = last.push(|j| j.notes, "c").returning().await.unwrap();
        assert_eq!(last.map(|j| (j.id, j.notes)), Some((2, vec!["c".to_owned()])));
        assert_eq!(jobs.find(|j| j.notes.contains("c")).count().await.unwrap(), 1);
    });
}

#[odm_tests::test]
fn each_of_many_clients_claims_another_document() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let queue = queue_of_tasks(&odm).await;
        odm.collection::<Job>()
            .insert_many((0..20).map(|n| job(n, n)))
            .await
            .unwrap();
        let clients = (0..8).map(|_| {
            let odm = odm.clone();
            tokio::spawn(async move {
                let mut claimed = (Vec::new(), Vec::new());
                let jobs = odm.collection::<Job>();
                let tasks = odm.collection::<Task>();
                loop {
                    let job = jobs.update_first(|j| j.state.eq("waiting")).sort(|j| j.due.asc());
                    let job = job.set(|j| j.state, "claimed").returning().await.unwrap();
                    // Its queue counts those that wait.
                    let task = tasks.update_first(|t| t.state.eq("waiting")).sort(|t| t.id.asc());
                    let task = task.set(|t| t.state, "claimed").returning().await.unwrap();
                    if job.is_none() && task.is_none() {
                        return claimed;
                    }
                    claimed.0.extend(job.map(|job| job.id));
                    claimed.1.extend(task.map(|task| task.id));
                }
            })
        });
        let (mut jobs, mut tasks) = (Vec::new(), Vec::new());
        for client in join_all(clients).await {
            let claimed = client.unwrap();
            jobs.extend(claimed.0);
            tasks.extend(claimed.1);
        }
        jobs.sort_unstable();
        tasks.sort_unstable();
        assert_eq!(jobs, (0..20).collect::<Vec<i32>>());
        assert_eq!(tasks, [1, 2, 3]);
        let queue = odm.collection::<Queue>().get(queue).required().await.unwrap();
        assert_eq!(queue.waiting, 0);
        assert!(odm.audit().await.unwrap().is_clean());
    });
}

#[odm_tests::test]
fn the_first_in_an_order_is_deleted_and_given() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let jobs = odm.collection::<Job>();
        jobs.insert_many([job(1, 30), job(2, 10)]).await.unwrap();
        t.commands.clear();
        let deleted = jobs
            .delete_first(|j| j.due.gt(0))
            .sort(|j| j.due.asc())
            .await
            .unwrap();
        assert_eq!(deleted, Some(job(2, 10)));
        assert_eq!(t.commands.take(), ["findAndModify"]);
        assert_eq!(
            jobs.delete_first(|j| j.due.gt(0)).await.unwrap(),
            Some(job(1, 30))
        );
        assert_eq!(jobs.delete_first(|j| j.due.gt(0)).await.unwrap(), None);

        // By the rules of what depends on it.
        let queue = queue_of_tasks(&odm).await;
        let tasks = odm.collection::<Task>();
        let task = tasks
            .delete_first(|t| t.state.eq("waiting"))
            .sort(|t| t.id.desc())
            .await
            .unwrap();
        assert_eq!(task.map(|task| task.id), Some(3));
        let queues = odm.collection::<Queue>();
        assert_eq!(queues.get(queue).required().await.unwrap().waiting, 2);
        let gone = queues.delete_first(|q| q.waiting.gt(0)).await.unwrap();
        assert_eq!(gone.map(|queue| queue.id), Some(1));
        assert_eq!(
            tasks.find_all().count().await.unwrap(),
            0,
            "deleted with their queue"
        );
    });
}

#[odm_tests::test]
fn a_unique_key_names_a_document_as_its_id_does() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let users = odm.collection::<User>();
        users.insert(user(1, "kate@example.com")).await.unwrap();
        t.commands.clear();
        let kate = || users.get_by(|u| u.email, "kate@example.com");
        assert_eq!(kate().await.unwrap().map(|u| u.id), Some(1));
        assert_eq!(kate().required().await.unwrap().id, 1);
        let counted = users
            .update_by(|u| u.email, "kate@example.com")
            .inc(|u| u.visits, 1);
        assert_eq!(counted.await.unwrap().modified, 1);
        let after = users
            .update_by(|u| u.email, "kate@example.com")
            .inc(|u| u.visits, 1);
        let after = after.returning().await.unwrap();
        assert_eq!((after.visits, after.version), (2, 2));
        assert_eq!(t.commands.take(), ["find", "find", "update", "findAndModify"]);

        // A key of two fields, with rules.
        let queue = queue_of_tasks(&odm).await;
        let tasks = odm.collection::<Task>();
        let done = tasks.update_by(|t| (t.queue, t.name), (queue, "task 2"));
        assert_eq!(done.set(|t| t.state, "done").await.unwrap().matched, 1);
        let deleted = tasks.delete_by(|t| (t.queue, t.name), (queue, "task 1"));
        assert_eq!(deleted.await.unwrap().deleted, 1);
        assert_eq!(
            odm.collection::<Queue>()
                .get(queue)
                .required()
                .await
                .unwrap()
                .waiting,
            1
        );

        let gone = users
            .update_by(|u| u.email, "x")
            .inc(|u| u.visits, 1)
            .await
            .unwrap_err();
        assert_eq!(gone.to_string(), r#"users: no document has `email` "x""#);
        let gone = users.get_by(|u| u.email, "x").required().await.unwrap_err();
        assert!(
            matches!(
                gone,
                Error::NotFound {
                    collection: "users",
                    ..
                }
            ),
            "{gone}"
        );
        let gone = users.get(9).required().await.unwrap_err();
        assert_eq!(gone.to_string(), "users: no document has `_id` 9");
        let none = users
            .find(|u| u.visits.gt(99))
            .one()
            .required()
            .await
            .unwrap_err();
        assert_eq!(none.to_string(), "users: no document matches");
        let missing = users.delete_by(|u| u.email, "x").await;
        assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
        let missing = users.delete_by(|u| u.email, "x").optional();
        assert_eq!(missing.await.unwrap(), None);
    });
}

#[odm_tests::test]
fn a_document_without_the_value_has_no_key() {
    with_db(async |t| {
        let users = odm(&t).await.collection::<User>();
        t.commands.clear();
        let refused = users.get_by(|u| u.nick, None).await.unwrap_err();
        assert!(matches!(refused, Error::Query { .. }), "{refused}");
        let told = refused.to_string();
        assert!(told.contains("`nick`, and `null` is none"), "{told}");
        let refused = users.update_by(|u| u.nick, None).set(|u| u.visits, 1).await;
        assert!(matches!(refused, Err(Error::Query { .. })), "{refused:?}");
        let refused = users.delete_by(|u| u.nick, None).await;
        assert!(matches!(refused, Err(Error::Query { .. })), "{refused:?}");
        let scope = users.odm().scoped(User::paths().nick, None);
        assert!(matches!(scope, Err(Error::Query { .. })), "{scope:?}");
        assert!(t.commands.take().is_empty(), "nothing is sent");
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "guests", version)]
struct Guest {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[index(unique, collation(locale = "en", strength = 2))]
    name: String,
    #[serde(default)]
    #[embed(max = 2)]
    notes: Vec<String>,
    #[serde(default)]
    visits: i64,
    #[serde(default)]
    version: i64,
}

fn guest(name: &str) -> Guest {
    Guest {
        id: ObjectId::new(),
        name: name.into(),
        notes: Vec::new(),
        visits: 0,
        version: 0,
    }
}

/// A collection keeps its collation, so one that exists has a key without regard to case by the collation of an index.
#[odm_tests::test]
fn a_key_is_compared_by_the_collation_of_its_index() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Guest]).unwrap();
        odm.sync().await.unwrap();
        let guests = odm.collection::<Guest>();
        let kate = guests.insert(guest("Kate")).await.unwrap();
        assert_eq!(guests.find(|g| g.name.eq("KATE")).one().await.unwrap(), None);
        assert_eq!(
            guests.get_by(|g| g.name, "KATE").await.unwrap(),
            Some(kate.clone())
        );
        let again = guests.insert(guest("kate")).or_get_by(|g| g.name);
        let again = again.await.unwrap();
        assert!(!again.inserted, "{again:?}");
        // As one command, and where a bound makes it a read and a write by the id.
        guests
            .update_by(|g| g.name, "KATE")
            .inc(|g| g.visits, 1)
            .await
            .unwrap();
        let noted = guests
            .update_by(|g| g.name, "KATE")
            .push(|g| g.notes, "late")
            .returning()
            .await
            .unwrap();
        assert_eq!((noted.visits, noted.notes.len()), (1, 1));
        let upserted = guests
            .update_by(|g| g.name, "KATE")
            .inc(|g| g.visits, 1)
            .upsert()
            .await
            .unwrap();
        assert_eq!((upserted.matched, upserted.upserted), (1, None));
        // The condition of another update compares as the collection does, and would insert a second document.
        let refused = guests
            .update_where(|g| g.name.eq("KATE"))
            .inc(|g| g.visits, 1)
            .upsert()
            .await;
        let refused = refused.expect_err("the index takes both for one").to_string();
        assert!(refused.contains("update_by(…).upsert()"), "{refused}");
        assert_eq!(guests.delete_by(|g| g.name, "kATE").await.unwrap().deleted, 1);
        assert!(matches!(
            guests.delete_by(|g| g.name, "kate").await,
            Err(Error::NotFound { .. })
        ));
    });
}

#[odm_tests::test]
fn an_upsert_by_a_unique_key_inserts_with_it() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let members = odm.collection::<Member>();
        let visit = || {
            let visit = members.update_by(|m| m.email, "kate@example.com");
            visit.inc(|m| m.visits, 1).upsert()
        };
        assert!(visit().await.unwrap().upserted.is_some());
        let again = visit().await.unwrap();
        assert_eq!((again.upserted, again.modified), (None, 1));
        let kate = members
            .get_by(|m| m.email, "kate@example.com")
            .required()
            .await
            .unwrap();
        assert_eq!(kate.visits, 2);
        let refused = visit().returning().await;
        assert!(matches!(refused, Err(Error::Query { .. })), "{refused:?}");
    });
}

#[odm_tests::test]
fn of_many_clients_one_inserts_and_the_others_get_its_document() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let clients = (0..12).map(|client| {
            let users = odm.collection::<User>();
            tokio::spawn(async move {
                let made = users
                    .insert(user(client, "kate@example.com"))
                    .or_get_by(|u| u.email);
                made.await.unwrap()
            })
        });
        let saved: Vec<_> = join_all(clients).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(saved.iter().filter(|saved| saved.inserted).count(), 1);
        let users = odm.collection::<User>();
        let stored = users.find_all().all().await.unwrap();
        assert_eq!(stored.len(), 1);
        assert!(saved.iter().all(|saved| saved.document == stored[0]), "{saved:?}");

        // Another key that is taken is an error.
        let other = User {
            nick: Some("k".into()),
            ..user(20, "a@example.com")
        };
        users.insert(other).await.unwrap();
        let taken = User {
            nick: Some("k".into()),
            ..user(21, "b@example.com")
        };
        let taken = users.insert(taken).or_get_by(|u| u.email).await;
        assert!(matches!(taken, Err(Error::DuplicateKey { .. })), "{taken:?}");
        // A key without a value.
        let refused = users.insert(user(22, "c")).or_get_by(|u| u.nick).await;
        assert!(matches!(refused, Err(Error::Query { .. })), "{refused:?}");
    });
}

#[odm_tests::test]
fn an_insert_or_get_costs_one_round_trip_and_one_more_for_the_insert() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let queue = queue_of_tasks(&odm).await;
        let users = odm.collection::<User>();
        t.commands.clear();
        let made = || users.insert(user(1, "kate@example.com")).or_get_by(|u| u.email);
        assert!(made().await.unwrap().inserted);
        assert_eq!(t.commands.take(), ["find", "insert"]);
        assert!(!made().await.unwrap().inserted);
        assert_eq!(t.commands.take(), ["find"]);
        // An ordinary insert with its rules, by a key of two fields.
        let task = Task {
            id: 9,
            queue,
            name: "task 9".into(),
            state: "waiting".into(),
        };
        let tasks = odm.collection::<Task>();
        assert!(
            tasks
                .insert(task.clone())
                .or_get_by(|t| (t.queue, t.name))
                .await
                .unwrap()
                .inserted
        );
        let again = Task { id: 10, ..task };
        let again = tasks
            .insert(again)
            .or_get_by(|t| (t.queue, t.name))
            .await
            .unwrap();
        assert_eq!((again.inserted, again.document.id), (false, 9));
        assert_eq!(
            odm.collection::<Queue>()
                .get(queue)
                .required()
                .await
                .unwrap()
                .waiting,
            4
        );
    });
}

#[odm_tests::test]
fn a_transaction_in_which_another_client_inserts_first_is_run_again() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let runs = std::sync::atomic::AtomicUsize::new(0);
        let saved = odm
            .transaction(async |tx| {
                let users = tx.collection::<User>();
                // The snapshot begins with the first read.
                let _ = users.find_all().count().await?;
                if runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
                    let other = odm.collection::<User>();
                    other.insert(user(7, "kate@example.com")).await?;
                }
                users
                    .insert(user(8, "kate@example.com"))
                    .or_get_by(|u| u.email)
                    .await
            })
            .await
            .unwrap();
        assert_eq!((saved.inserted, saved.document.id), (false, 7));
        assert_eq!(runs.into_inner(), 2);
    });
}

#[odm_tests::test]
fn a_saved_document_is_inserted_or_replaced() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        let note = |text: &str| Note {
            id: 1,
            text: text.into(),
        };
        t.commands.clear();
        let first = notes.save(note("a")).await.unwrap();
        assert_eq!((first.inserted, first.document), (true, note("a")));
        assert_eq!(t.commands.take(), ["update", "insert"]);
        let second = notes.save(note("b")).await.unwrap();
        assert_eq!((second.inserted, second.document), (false, note("b")));
        assert_eq!(t.commands.take(), ["update"]);
        assert_eq!(notes.get(1).await.unwrap(), Some(note("b")));

        let clients = (0..8).map(|n| {
            let notes = odm.collection::<Note>();
            tokio::spawn(async move {
                notes
                    .save(Note {
                        id: 2,
                        text: n.to_string(),
                    })
                    .await
                    .unwrap()
            })
        });
        let saved: Vec<_> = join_all(clients).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(saved.iter().filter(|saved| saved.inserted).count(), 1);
    });
}

#[odm_tests::test]
fn a_save_with_a_version_does_not_bring_back_what_was_deleted() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let users = odm.collection::<User>();
        let made = users.save(user(1, "kate@example.com")).await.unwrap();
        assert_eq!((made.inserted, made.document.version), (true, 1));
        let mut kate = made.document;
        kate.visits = 5;
        let saved = users.save(kate.clone()).await.unwrap();
        assert_eq!((saved.inserted, saved.document.version), (false, 2));
        assert_eq!(users.get(1).await.unwrap(), Some(saved.document.clone()));
        let conflict = users.save(kate).await;
        assert!(
            matches!(
                conflict,
                Err(Error::Conflict {
                    seen: 1,
                    found: Some(2),
                    ..
                })
            ),
            "{conflict:?}"
        );
        users.delete(1).await.unwrap();
        let gone = users.save(saved.document).await;
        assert!(
            matches!(
                gone,
                Err(Error::Conflict {
                    seen: 2,
                    found: None,
                    ..
                })
            ),
            "{gone:?}"
        );
        assert_eq!(users.find_all().count().await.unwrap(), 0);
        // One that is new to this client, and there.
        let other = NewUser {
            id: 3,
            email: "a@example.com".into(),
            nick: None,
            visits: 0,
        };
        users.insert(other).await.unwrap();
        let there = users.save(user(3, "b@example.com")).await;
        assert!(matches!(there, Err(Error::Conflict { .. })), "{there:?}");
    });
}

#[odm_tests::test]
fn user_input_in_a_key_is_a_value() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let users = odm.collection::<User>();
        users.insert(user(1, "a")).await.unwrap();
        let input = r#"{ "$gt": "" }"#;
        assert_eq!(users.get_by(|u| u.email, input).await.unwrap(), None);
        let made = users.insert(user(2, input)).or_get_by(|u| u.email).await.unwrap();
        assert!(made.inserted);
        let stored = users.driver::<odm::bson::Document>();
        assert_eq!(stored.count_documents(doc! { "email": input }).await.unwrap(), 1);
    });
}

#[odm_tests::test]
fn an_update_of_one_document_may_have_a_condition() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let jobs = odm.collection::<Job>();
        jobs.insert_many([job(1, 10), job(2, 20)]).await.unwrap();
        let done = jobs
            .update(1)
            .filter(|j| j.due.lt(15))
            .set(|j| j.state, "late")
            .await;
        assert_eq!(done.unwrap().matched, 1);
        let done = jobs
            .update(2)
            .filter(|j| j.due.lt(15))
            .set(|j| j.state, "late")
            .await;
        assert_eq!(done.unwrap().matched, 0, "another one is not taken for it");
        let none = jobs
            .update(3)
            .filter(|j| j.due.lt(15))
            .set(|j| j.state, "late")
            .returning();
        assert_eq!(none.await.unwrap(), None);
        // A declared bound is an error, as of any update.
        let full = jobs.update(1).filter(|j| j.due.lt(15)).inc(|j| j.tries, 3).await;
        assert!(matches!(full, Err(Error::Invalid { .. })), "{full:?}");

        // With rules, by a key, and by the version that was read.
        queue_of_tasks(&odm).await;
        let queues = odm.collection::<Queue>();
        let task = odm
            .collection::<Task>()
            .find(|t| t.state.eq("waiting"))
            .one()
            .await
            .unwrap();
        let (before, task) = (queues.find_all().all().await.unwrap(), task.unwrap());
        let tasks = odm.collection::<Task>();
        let same = tasks
            .update(task.id)
            .filter(|t| t.state.eq("done"))
            .set(|t| t.state, "late");
        assert_eq!(same.await.unwrap().matched, 0);
        assert_eq!(queues.find_all().all().await.unwrap(), before);
        let taken = tasks
            .update(task.id)
            .filter(|t| t.state.eq("waiting"))
            .set(|t| t.state, "done");
        assert_eq!(
            taken.returning().await.unwrap().map(|t| t.state),
            Some("done".into())
        );
        assert_ne!(queues.find_all().all().await.unwrap(), before, "one less waits");

        let users = odm.collection::<User>();
        let kate = users.insert(user(1, "kate@b.org")).await.unwrap();
        let by_key = users
            .update_by(|u| u.email, "kate@b.org")
            .filter(|u| u.visits.eq(0));
        assert_eq!(by_key.inc(|u| u.visits, 1).await.unwrap().matched, 1);
        let stale = users
            .update(&kate)
            .filter(|u| u.visits.eq(1))
            .inc(|u| u.visits, 1)
            .await;
        assert_eq!(stale.unwrap().matched, 0, "the document has another version now");
        assert_eq!(
            users
                .replace(users.get(1).await.unwrap().unwrap())
                .await
                .unwrap()
                .visits,
            1
        );
    });
}
