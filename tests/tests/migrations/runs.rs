//! Runs that are killed, held up, or many at once.

use odm::__private::in_database;
use odm::bson::{Document as Doc, doc};
use odm::migrate::Step;
use odm::mongodb::event::command::CommandEvent;
use odm::prelude::*;
use odm::{Error, Migrations, migrations};
use odm_tests::fixtures::copying::{mortal, mortal_in, watched};
use odm_tests::random::Random;
use odm_tests::{TestDb, with_db, with_transactions};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

mod m0001_counted {
    use super::*;

    #[derive(odm::Row)]
    struct Old {
        n: i64,
    }

    /// A change that would be seen if a batch were applied twice.
    pub async fn up(step: &Step) -> odm::Result<()> {
        let raise = doc! { "$set": { "times": { "$add": [{ "$ifNull": ["$times", 0] }, 1] }, "done": true } };
        let things = step.collection("things");
        things
            .update(doc! { "done": { "$exists": false } }, [raise])
            .await?;
        things
            .each::<Old>(doc! { "twice": { "$exists": false } })
            .update(|old| Ok(doc! { "$set": { "twice": old.n * 2 }, "$inc": { "times": 1 } }))
            .await
    }
}

mod m0002_last {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("things").rename("n", "number").await
    }
}

mod m0001_numbered {
    use super::*;

    #[derive(odm::Row)]
    struct Old {
        n: i64,
    }

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("things")
            .each::<Old>(doc! { "number": { "$exists": false } })
            .update(|old| Ok(doc! { "$set": { "number": old.n } }))
            .await
    }
}

fn steps() -> Migrations {
    migrations![m0001_counted, m0002_last]
}

const THINGS: i64 = 2_000;

async fn with_things(t: &TestDb) -> Odm {
    let things = (0..THINGS).map(|n| doc! { "_id": n, "n": n });
    t.db.collection::<Doc>("things")
        .insert_many(things)
        .await
        .unwrap();
    let odm = Odm::new(t.db.clone(), []).unwrap();
    odm.migrate(steps()).set_rate(Some(0)).await.unwrap();
    odm
}

/// Lets the time of the lease pass.
async fn end_lease(t: &TestDb) {
    let runs = t.db.collection::<Doc>("_odm_migrations");
    let over = doc! { "$set": { "until": DateTime::from_millis(0) } };
    runs.update_one(doc! { "_id": "runner" }, over).await.unwrap();
}

async fn assert_applied_once(t: &TestDb) {
    let things = t.db.collection::<Doc>("things");
    let right =
        doc! { "times": 2, "done": true, "$expr": { "$eq": ["$twice", { "$multiply": ["$number", 2] }] } };
    assert_eq!(things.count_documents(right).await.unwrap(), THINGS as u64);
    let status = Odm::new(t.db.clone(), [])
        .unwrap()
        .migrate(steps())
        .status()
        .await
        .unwrap();
    assert!(status.open().next().is_none(), "{status}");
}

#[odm_tests::test]
fn a_batch_is_the_lease_the_update_and_the_commit() {
    with_transactions(async |t| {
        let odm = with_things(&t).await;
        t.commands.clear();
        odm.migrate(migrations![m0002_last]).up().await.unwrap();
        let times = |command: &str| t.commands.times(command);
        // The batches, the mark that the step is begun, and the one that it is done.
        let transactions = times("commitTransaction");
        assert!(transactions > 2);
        // One more takes the lease, and one gives it back.
        assert_eq!(times("findAndModify"), transactions + 1);
        assert_eq!(times("update"), transactions + 1);
        // The documents that need the change are counted before it, and behind it one is asked for.
        assert_eq!(times("aggregate"), 1);
    });
}

/// As the page on cost and the rustdoc of `up` and `add` say.
#[odm_tests::test]
fn a_step_of_one_batch_is_as_many_round_trips_as_it_says() {
    with_transactions(async |t| {
        let odm = with_things(&t).await;
        let things = t.db.collection::<Doc>("things");
        things.delete_many(doc! { "_id": { "$gte": 150 } }).await.unwrap();
        odm.server().await.unwrap();
        t.commands.clear();
        odm.migrate(migrations![m0002_last]).up().await.unwrap();
        let transaction = ["findAndModify", "update", "commitTransaction"];
        let expected: [&[&str]; 8] = [
            // The list, the lease, and which copies the database knows.
            &["find", "findAndModify", "find"],
            // The next step, and how far it is; that it is begun.
            &["find", "find"],
            &transaction,
            // The count; the last id and the ids; the batch; one that still needs the change.
            &["aggregate", "find", "find"],
            &transaction,
            &["find"],
            // The step is applied; there is no further one, and the lease is given back.
            &transaction,
            &["find", "update"],
        ];
        assert_eq!(t.commands.take(), expected.concat());
        odm.migrate(migrations![m0002_last]).up().await.unwrap();
        assert_eq!(t.commands.take(), ["find"]);
    });
}

#[odm_tests::test]
fn a_run_that_is_killed_at_any_moment_is_finished_by_the_next() {
    with_transactions(async |t| {
        with_things(&t).await;
        let mut random = Random::new(11);
        let mut killed = 0;
        loop {
            let process = mortal(&t, []).await;
            let commands = 8 + random.below(14_usize);
            let died = process
                .dies_after(commands, |odm| async move {
                    odm.migrate(steps()).up().await.unwrap();
                })
                .await;
            if !died {
                break;
            }
            killed += 1;
            end_lease(&t).await;
        }
        assert!(killed > 5, "{killed}");
        assert_applied_once(&t).await;
    });
}

#[odm_tests::test]
fn a_run_whose_future_is_dropped_is_finished_by_the_next() {
    with_transactions(async |t| {
        let odm = with_things(&t).await;
        let mut random = Random::new(13);
        let mut dropped = 0_u64;
        loop {
            // Each one has a little more time, so that it goes on behind its first batch in the end.
            let time = Duration::from_millis(20 + random.below(150_u64) + 10 * dropped);
            let migrating = odm.migrate(steps());
            if let Ok(migrated) = tokio::time::timeout(time, migrating.up()).await {
                migrated.unwrap();
                break;
            }
            dropped += 1;
            // A transaction whose commit was sent comes to its end.
            tokio::time::sleep(Duration::from_millis(50)).await;
            end_lease(&t).await;
        }
        assert!(dropped > 0);
        assert_applied_once(&t).await;
    });
}

#[odm_tests::test]
fn of_eight_runs_at_once_each_batch_is_applied_by_one() {
    with_transactions(async |t| {
        let odm = with_things(&t).await;
        let applied = Arc::new(AtomicUsize::new(0));
        let runs = (0..8).map(|_| {
            let (odm, applied) = (odm.clone(), applied.clone());
            async move {
                let migrated = odm.migrate(steps()).up().await.unwrap();
                applied.fetch_add(migrated.applied.len(), Ordering::Relaxed);
            }
        });
        futures::future::join_all(runs).await;
        assert_eq!(applied.load(Ordering::Relaxed), 2);
        assert_applied_once(&t).await;
    });
}

/// A process that is held up for longer than its lease, in the middle of a step, and goes on after another one has done the rest.
#[odm_tests::test]
fn a_run_that_was_held_up_beyond_its_lease_writes_nothing_afterwards() {
    with_transactions(async |t| {
        let odm = with_things(&t).await;
        let (client, _) = odm_tests::client().await;
        let late = in_database(&odm, client.database(t.db.name())).unwrap();
        let (began, mut begins) = tokio::sync::mpsc::unbounded_channel();
        let held = std::thread::spawn({
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            move || {
                runtime.block_on(async move {
                    let slept = std::sync::Once::new();
                    let migrating = late.migrate(steps()).on_progress(move |step| {
                        // The whole process sleeps, with its heartbeat.
                        if step.pass == 1 && step.documents > 0 {
                            slept.call_once(|| {
                                began.send(()).unwrap();
                                std::thread::sleep(Duration::from_secs(6));
                            });
                        }
                    });
                    migrating.up().await.unwrap()
                })
            }
        });
        begins.recv().await.unwrap();
        let migrated = odm.migrate(steps()).up().await.unwrap();
        assert_eq!(migrated.applied, ["m0001_counted", "m0002_last"]);
        let late = tokio::task::spawn_blocking(move || held.join().unwrap())
            .await
            .unwrap();
        assert!(late.applied.is_empty(), "{late:?}");
        assert_applied_once(&t).await;
    });
}

/// The ids of a pass come from one cursor, which a server closes after ten minutes without a read, and by its own restart.
#[odm_tests::test]
fn a_run_whose_cursor_was_closed_goes_on_behind_its_last_batch() {
    const MORE_THAN_ONE_REPLY: i64 = 60_000;
    with_transactions(async |t| {
        let things = t.db.collection::<Doc>("things");
        let all = (0..MORE_THAN_ONE_REPLY).map(|n| doc! { "_id": n, "n": n });
        things.insert_many(all).await.unwrap();
        // The ids of the open cursors, and how often the ids of the collection were asked for.
        let opened: Arc<Mutex<(Vec<i64>, usize)>> = Arc::default();
        let odm = watched(&t, [], {
            let opened = opened.clone();
            move |event| match event {
                CommandEvent::Started(find) if find.command.contains_key("hint") => {
                    opened.lock().unwrap().1 += 1
                }
                CommandEvent::Succeeded(found) => {
                    let cursor = found.reply.get_document("cursor");
                    let id = cursor.and_then(|cursor| cursor.get_i64("id")).unwrap_or_default();
                    opened.lock().unwrap().0.extend((id != 0).then_some(id));
                }
                _ => {}
            }
        })
        .await;
        odm.migrate(steps()).set_rate(Some(0)).await.unwrap();
        let closed = std::sync::Once::new();
        let (name, cursors) = (t.db.name().to_owned(), opened.clone());
        let migrating = odm.migrate(migrations![m0002_last]).on_progress(move |step| {
            if step.documents > 0 {
                closed.call_once(|| {
                    let (name, ids) = (name.clone(), cursors.lock().unwrap().0.clone());
                    std::thread::spawn(move || close(&name, ids)).join().unwrap();
                });
            }
        });
        assert_eq!(migrating.up().await.unwrap().applied, ["m0002_last"]);
        // Once at first, and once behind the closed cursor; a run that loses its lease beside other work asks anew, too.
        let asked = opened.lock().unwrap().1;
        assert!(asked >= 2, "{asked}");
        let renamed = doc! { "n": { "$exists": false }, "$expr": { "$eq": ["$number", "$_id"] } };
        let renamed = things.count_documents(renamed).await.unwrap();
        assert_eq!(renamed, MORE_THAN_ONE_REPLY as u64);
    });
}

/// Closes these cursors of `things`.
#[tokio::main(flavor = "current_thread")]
async fn close(database: &str, cursors: Vec<i64>) {
    let (client, _) = odm_tests::client().await;
    let close = doc! { "killCursors": "things", "cursors": &cursors };
    let reply = client.database(database).run_command(close).await.unwrap();
    assert!(!cursors.is_empty(), "the first reply has all ids");
    let closed: Vec<odm::bson::Bson> = cursors.into_iter().map(Into::into).collect();
    assert_eq!(reply.get_array("cursorsKilled").unwrap(), &closed);
}

/// At ten documents a second the run would take minutes.
#[odm_tests::test]
fn a_rate_is_taken_up_by_a_run_that_is_under_way() {
    with_db(async |t| {
        let odm = with_things(&t).await;
        let migrating = odm.migrate(migrations![m0002_last]);
        migrating.set_rate(Some(10)).await.unwrap();
        let (told, mut progress) = tokio::sync::mpsc::unbounded_channel();
        let run = migrating.clone().on_progress(move |step| drop(told.send(step)));
        let run = tokio::spawn(async move { run.up().await });
        let mut batches = Vec::new();
        let mut before = 0;
        while let Some(step) = progress.recv().await {
            batches.push(step.documents - before);
            before = step.documents;
            if batches.len() == 3 {
                migrating.set_rate(Some(0)).await.unwrap();
            }
        }
        assert_eq!(run.await.unwrap().unwrap().documents, THINGS as u64);
        assert!(batches.iter().take(3).all(|batch| *batch <= 10), "{batches:?}");
        assert!(batches.iter().any(|batch| *batch > 100), "{batches:?}");
    });
}

mod m0001_large {
    use super::*;

    #[derive(odm::Row)]
    struct Old {
        text: String,
    }

    pub async fn up(step: &Step) -> odm::Result<()> {
        let things = step.collection("things");
        things
            .each::<Old>(doc! { "done": { "$exists": false } })
            .update(|old| Ok(doc! { "$set": { "text": old.text.to_uppercase(), "done": true } }))
            .await
    }
}

/// The documents as they were read and as they will be are more than a command may have.
#[odm_tests::test]
fn a_batch_of_large_documents_is_changed_whole() {
    with_db(async |t| {
        let things = t.db.collection::<Doc>("things");
        for id in 0..9 {
            let large = doc! { "_id": id, "text": "x".repeat(1 << 20) };
            things.insert_one(large).await.unwrap();
        }
        let odm = Odm::new(t.db.clone(), []).unwrap();
        odm.migrate(migrations![m0001_large]).up().await.unwrap();
        let done = doc! { "done": true, "text": { "$gte": "X", "$lt": "Y" } };
        assert_eq!(things.count_documents(done).await.unwrap(), 9);
    });
}

mod m0001_other_values {
    use super::*;
    use std::sync::atomic::AtomicI64;

    static CALLS: AtomicI64 = AtomicI64::new(0);

    /// As with a time or a new id.
    pub async fn up(step: &Step) -> odm::Result<()> {
        let value = CALLS.fetch_add(1, Ordering::Relaxed);
        step.collection("things").add("at", value).await
    }
}

#[odm_tests::test]
fn a_step_with_other_values_in_each_run_is_refused_before_it_begins() {
    with_db(async |t| {
        let odm = with_things(&t).await;
        let error = odm
            .migrate(migrations![m0001_other_values])
            .up()
            .await
            .unwrap_err();
        let expected = "`m0001_other_values` has another change in each run: `things`: add `at` as ";
        assert!(error.to_string().contains(expected), "{error}");
        let things = t.db.collection::<Doc>("things");
        let changed = things.count_documents(doc! { "at": { "$exists": true } }).await;
        assert_eq!(changed.unwrap(), 0);
    });
}

/// The same on a standalone server, where a batch may be written twice: this step does not count.
mod m0001_harmless {
    use super::*;

    #[derive(odm::Row)]
    struct Old {
        n: i64,
    }

    pub async fn up(step: &Step) -> odm::Result<()> {
        let things = step.collection("things");
        things.add("done", true).await?;
        things
            .each::<Old>(doc! { "twice": { "$exists": false } })
            .update(|old| Ok(doc! { "$set": { "twice": old.n * 2 } }))
            .await
    }
}

#[odm_tests::test]
fn on_a_standalone_server_a_batch_that_is_written_twice_changes_nothing_more() {
    with_db(async |t| {
        with_things(&t).await;
        let harmless = || migrations![m0001_harmless];
        let mut random = Random::new(5);
        loop {
            let process = mortal_in(true, &t, []).await;
            let commands = 6 + random.below(30_usize);
            let died = process
                .dies_after(commands, |odm| async move {
                    odm.migrate(harmless()).up().await.unwrap();
                })
                .await;
            if !died {
                break;
            }
            end_lease(&t).await;
        }
        let right = doc! { "done": true, "$expr": { "$eq": ["$twice", { "$multiply": ["$n", 2] }] } };
        let things = t.db.collection::<Doc>("things");
        assert_eq!(things.count_documents(right).await.unwrap(), THINGS as u64);
    });
}

mod m0001_never {
    use super::*;

    /// It leaves the documents as they are.
    pub async fn up(step: &Step) -> odm::Result<()> {
        let nothing = doc! { "$set": { "n": "$n" } };
        step.collection("things")
            .update(doc! { "n": { "$lt": 3 } }, [nothing])
            .await
    }
}

#[odm_tests::test]
fn a_step_after_which_documents_still_need_it_ends_and_says_so() {
    with_db(async |t| {
        let odm = with_things(&t).await;
        let error = odm.migrate(migrations![m0001_never]).up().await.unwrap_err();
        let Error::Step { step, message } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(step, "m0001_never");
        assert!(
            message.starts_with("3 documents of `things` still need the change \"update"),
            "{message}"
        );
        let status = odm.migrate(migrations![m0001_never]).status().await.unwrap();
        let running = status.running.unwrap();
        assert!(!running.is_running && running.pass == 0, "{running:?}");
    });
}

#[odm_tests::test]
fn a_step_ends_beside_a_program_that_inserts_documents_of_the_old_shape() {
    with_db(async |t| {
        let odm = with_things(&t).await;
        let stop = Arc::new(AtomicUsize::new(0));
        let writes = {
            let (things, stop) = (t.db.collection::<Doc>("things"), stop.clone());
            async move {
                let mut id = THINGS;
                while stop.load(Ordering::Relaxed) == 0 {
                    things.insert_one(doc! { "_id": id, "n": id }).await.unwrap();
                    id += 1;
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                id
            }
        };
        let run = async {
            // Each run ends, with an error while the old program writes.
            let first = odm.migrate(migrations![m0001_harmless]).up().await;
            stop.store(1, Ordering::Relaxed);
            first
        };
        let (inserted, first) = futures::join!(writes, run);
        if let Err(error) = first {
            assert!(
                error
                    .to_string()
                    .contains("a program of the version before may write them"),
                "{error}"
            );
        }
        odm.migrate(migrations![m0001_harmless]).up().await.unwrap();
        let things = t.db.collection::<Doc>("things");
        let open = things
            .count_documents(doc! { "done": { "$exists": false } })
            .await
            .unwrap();
        assert!(open == 0 || inserted > THINGS, "{open} of {inserted}");
    });
}

/// A document behind the first batches.
const HELD: i64 = 1_500;

/// A batch with a document that the transaction of another program has changed is refused by the server as a whole: smaller ones are made until
/// this document is alone.
#[odm_tests::test]
fn a_transaction_of_another_program_holds_up_the_document_that_it_changes_alone() {
    with_transactions(async |t| {
        for steps in [migrations![m0001_numbered], migrations![m0002_last]] {
            let things = t.db.collection::<Doc>("things");
            things.drop().await.unwrap();
            t.db.collection::<Doc>("_odm_migrations").drop().await.unwrap();
            let odm = with_things(&t).await;
            let mut session = t.db.client().start_session().await.unwrap();
            session.start_transaction().await.unwrap();
            let held = doc! { "_id": HELD };
            let change = doc! { "$set": { "held": true } };
            things
                .update_one(held.clone(), change)
                .session(&mut session)
                .await
                .unwrap();
            let meanwhile = async {
                let changed = doc! { "number": { "$exists": true } };
                let all_before =
                    async || things.count_documents(changed.clone()).await.unwrap() == HELD as u64;
                let waited = tokio::time::timeout(Duration::from_secs(60), async {
                    while !all_before().await {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                });
                let waited = waited.await;
                session.abort_transaction().await.unwrap();
                waited.expect("the documents before the one that is held are changed");
            };
            let (run, ()) = futures::join!(async { odm.migrate(steps).up().await }, meanwhile);
            assert_eq!(run.unwrap().documents, THINGS as u64);
            assert!(
                things
                    .find_one(held)
                    .await
                    .unwrap()
                    .unwrap()
                    .get("held")
                    .is_none()
            );
        }
    });
}
