//! Random operations by eight tasks on documents with every kind of edge, some of which are killed on the way.
//!
//! Each task owns the documents whose ids leave its number when divided by eight: it alone writes what the application
//! writes of them, while their references name documents of all tasks. So what the application wrote is known for sure, in
//! memory, and the copies follow from it; what the tasks contend for are the copies. Some of them follow in the
//! transaction of the write, others are declared to follow behind it.
//!
//! And there are documents that all tasks write. Each of those writes adds its number to a list in the document, so that the
//! list says which of them have happened, and in which order. Their effects on the other fields, one after the other, are
//! the expected document; a write that has returned without an error has to be there, and none may be there twice.
//!
//! Some documents belong to three tenants, and are written by a handle of each of them, also of another one, which finds nothing.
//! Others are kept when they are deleted, restored and purged, or leave a trace of each of their writes by a hook. Some are inserted
//! as trees, of which one document may be refused. Some have a shard key, by which they are moved, and a value that is unique over all
//! shards: all tasks contend for a few such values. No error shows the value of a sensitive field.
//!
//! A task is killed by a proxy that cuts it off at one of its commands; whether that one operation has happened is read from
//! its documents, which has to be all of it or nothing, and the task goes on with a new handle. Or the future of an operation is
//! dropped at one of its commands, and the process goes on. Meanwhile a worker applies the
//! pending work of the dead ones. At the end `recover()` runs, the audit is clean, and the database is what was computed in memory.
//!
//! `ODM_RANDOM_OPERATIONS` says how many operations there are (100,000 for a thorough run), `ODM_RANDOM_SEED` which; the seed
//! is printed. The operations of a task follow from it, but not how those of several tasks meet.

mod claimed;
mod documents;
mod expected;
mod hooked;
mod kept;
mod operations;
mod scoped;
mod trees;

use claimed::one_owner_each;
use documents::*;
use expected::*;
use futures::TryStreamExt;
use futures::future::{BoxFuture, FutureExt, TryFutureExt, join_all};
use hooked::trace;
use mongodb::Database;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm_tests::fixtures::edges::atomic::{
    Bar, Board, City, Comment, CommentBucket, Host, Line, Log, Mayor, Member, NewBar, NewBoard, NewCity,
    NewHost, NewLog, NewMayor, NewMember, NewOrder, NewPart, NewPost, NewProduct, NewRegion, NewReview,
    NewSensor, NewShop, NewStreet, NewTeam, NewUser, NewVote, Order, Part, Post, Product, Reading,
    ReadingBucket, Region, Review, Sensor, Shop, Street, Team, User, Vote,
};
use odm_tests::fixtures::edges::eventual::{
    Basket, Course, Gift, Good, Grade, Guard, Item, Market, NewBasket, NewCourse, NewGood, NewGrade,
    NewMarket, NewOffer, NewSample, NewWell, Offer, Sample, Well,
};
use odm_tests::fixtures::edges::{clean, remove, through};
use odm_tests::proxy::{Moment, Proxy, server};
use odm_tests::random::Random;
use odm_tests::{may_stand_still, require_transactions, with_db};
use operations::{one, some};
use scoped::{scoped, tenant_of};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use trees::{SECRET, conceals};

const TASKS: i32 = 8;
/// A task that is to be killed is killed at one of this number of next commands.
const KILLED_WITHIN: i32 = 15;
/// The constant number of documents of each kind that others refer to.
const SOURCES: i32 = 48;

/// The maximum number of parents that come and go.
const WELLS: i32 = 24;

/// The maximum number of documents of a kind that a task has before it deletes one: else their number would grow, and each
/// operation would write more than the one before.
const MOST: usize = 24;

/// The constant number of tills.
const TILLS: i32 = 6;

/// The first of these are always there; the others come and go.
const STUBS: i32 = 12;
const STAYING: i32 = 5;

type Key = (&'static str, i32);

/// The documents as the application has written them, without copies.
type Written = BTreeMap<Key, Raw>;

/// The change that one operation makes to a document that all tasks write.
#[derive(Clone, Debug)]
enum Deed {
    /// Of a till: its name is the number of the operation, and its total grows.
    Collect(i64),
    /// Of a stub: it is another till's.
    Move(i32),
    /// It grows.
    Add(i32),
    /// It is made, or made anew.
    Put { till: i32, amount: i32 },
    /// It is deleted.
    Delete,
}

/// One operation on such a document.
#[derive(Clone, Debug)]
struct Event {
    /// The number of the operation.
    number: i32,
    key: Key,
    deed: Deed,
    /// Whether it has happened; unknown where the task was killed.
    done: Option<bool>,
}

struct Operation {
    name: &'static str,
    /// What its documents are to be.
    after: Vec<(Key, Option<Raw>)>,
    /// They are written together: a transaction.
    whole: bool,
    /// The changes of documents that all tasks write.
    events: Vec<Event>,
    /// It has done nothing if this gives `false`: another task was first.
    run: BoxFuture<'static, odm::Result<bool>>,
    /// Of an operation in steps: the same call again, which goes on with it after a kill or a drop.
    again: Option<Again>,
}

type Again = Arc<dyn Fn(Odm) -> BoxFuture<'static, odm::Result<bool>> + Send + Sync>;

struct Task {
    number: i32,
    random: Random,
    own: Written,
    ids: i32,
    direct: Database,
    alone: bool,
    kills: usize,
    /// Futures that were dropped before their end.
    drops: usize,
    /// The number of the operation that has deleted a document, of those that are deleted and kept.
    deletions: BTreeMap<Key, usize>,
    /// Kills and drops after which the operation was found done.
    done: usize,
    /// Writes that were refused since another document has the value.
    refused: usize,
    events: Vec<Event>,
    errors: Vec<String>,
    /// The server can't do with transactions beside the deliveries of others.
    stands_still: bool,
    /// The names that receipts have taken, by the results of their inserts.
    taken: Arc<Mutex<BTreeMap<i32, String>>>,
}

struct Process {
    proxy: Proxy,
    odm: Odm,
    /// A handle for the documents of tenants.
    of_tenants: Odm,
}

impl Task {
    async fn process(&self) -> Process {
        let server = server().await;
        let proxy = if self.alone {
            Proxy::standalone(&server, 0).await
        } else {
            Proxy::start(&server, 0).await
        };
        let db = through(&proxy, self.direct.name()).await;
        let (odm, of_tenants) = (handle(db.clone(), self.alone), of_tenants(db));
        odm.server().await.unwrap();
        odm.check_models().await.unwrap();
        of_tenants.server().await.unwrap();
        proxy.arm();
        Process {
            proxy,
            odm,
            of_tenants,
        }
    }

    async fn run(mut self, operations: usize, kill_one_of: i32) -> Task {
        let mut process = self.process().await;
        let mut dies = false;
        for n in 0..operations {
            // At half time certainly, whatever the seed is; and one after the other.
            if (self.random.below(kill_one_of) == 0 || n == operations / 2) && !dies {
                let commands = 1 + self.random.below(KILLED_WITHIN) as usize;
                process.proxy.cut_after(commands);
                dies = true;
            }
            let is_dropped = !dies && (self.random.below(kill_one_of) == 0 || n == operations / 4);
            let Operation {
                name,
                after,
                whole,
                events,
                run,
                again,
            } = self.operation(&process);
            let ended = if is_dropped {
                self.dropped(&process.proxy, run).await
            } else {
                ended(&process.proxy, run).await
            };
            let cut = process.proxy.is_cut();
            if cut {
                self.kills += 1;
                dies = false;
                process.proxy.bury().await;
                process = self.process().await;
            }
            let ended = match (ended, again) {
                (Some(Ok(done)), _) => Some(Ok(done)),
                // It goes on where it stopped.
                (None, Some(again)) => Some(again(process.odm.clone()).await),
                (Some(Err(_)), Some(again)) if cut => Some(again(process.odm.clone()).await),
                (ended, _) => ended,
            };
            let done = match &ended {
                Some(Ok(done)) => Some(*done),
                Some(Err(error)) => {
                    conceals(error);
                    None
                }
                None => None,
            };
            self.events
                .extend(events.into_iter().map(|event| Event { done, ..event }));
            match ended {
                Some(Ok(true)) => {
                    for (key, after) in after {
                        self.note(n, key, after);
                    }
                }
                Some(Ok(false)) => {
                    for (key, _) in after {
                        self.refused += 1;
                        let now = now(&self.direct, key).await;
                        assert_eq!(now.as_ref(), self.own.get(&key), "{name} of {key:?} was refused");
                    }
                }
                ended => {
                    if let (Some(Err(error)), false) = (&ended, cut) {
                        self.errors.push(format!("{name}: {error}"));
                    }
                    self.look(n, name, after, whole).await;
                }
            }
        }
        process.proxy.bury().await;
        self
    }

    /// An operation whose future is dropped at one of its next commands, before the server gets it or while its reply is outstanding.
    async fn dropped(
        &mut self,
        proxy: &Proxy,
        run: BoxFuture<'static, odm::Result<bool>>,
    ) -> Option<odm::Result<bool>> {
        let moment = self.random.pick(&[Moment::BeforeSending, Moment::BeforeReply]);
        proxy.hold(1 + self.random.below(KILLED_WITHIN) as usize, moment);
        let mut running = tokio::spawn(run);
        let ended = tokio::select! {
            ended = &mut running => Some(ended.unwrap()),
            () = proxy.reached() => None,
        };
        if ended.is_none() {
            self.drops += 1;
            running.abort();
            let _ = running.await;
        }
        proxy.release();
        // Until the sent commands are answered, and the transaction has ended.
        while ended.is_none() && !proxy.is_quiet() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        ended
    }

    fn note(&mut self, n: usize, key: Key, after: Option<Raw>) {
        let is_deleted = after.as_ref().is_some_and(|after| after.contains_key("deleted"));
        if is_deleted {
            self.deletions.entry(key).or_insert(n);
        } else {
            self.deletions.remove(&key);
        }
        match after {
            Some(after) => drop(self.own.insert(key, cleaned(after))),
            None => drop(self.own.remove(&key)),
        }
    }

    /// The effect of an operation that did not come to its end.
    async fn look(&mut self, n: usize, name: &str, after: Vec<(Key, Option<Raw>)>, whole: bool) {
        let (mut undone, mut done) = (Vec::new(), Vec::new());
        for (key, after) in after {
            let now = now(&self.direct, key).await;
            if self.alone {
                self.complete_links(key, now.as_ref()).await;
            }
            let after = after.map(cleaned);
            let was = self.own.get(&key);
            assert!(
                now.as_ref() == was || now == after,
                "{name} of {key:?} is neither undone nor done:\n{was:?}\n{after:?}\n{now:?}"
            );
            if was != after.as_ref() {
                if now == after {
                    done.push(key)
                } else {
                    undone.push(key)
                }
            }
            self.note(n, key, now);
        }
        assert!(
            !whole || undone.is_empty() || done.is_empty(),
            "{name} is done in part: {done:?} and not {undone:?}"
        );
        self.done += done.len();
    }
}

impl Task {
    /// On a standalone server the two sides of a link are two statements, between which the process may have died. Only this task
    /// writes the links of this acrobat or member, so the other side is made to agree with it: a later operation on one side would
    /// take the other side for right.
    async fn complete_links(&self, (collection, id): Key, document: Option<&Raw>) {
        let (other, list, linked) = match collection {
            "acrobats" => {
                let circuses = document.and_then(|acrobat| acrobat.get_array("circuses").ok());
                ("circuses", "acrobats", circuses.cloned().unwrap_or_default())
            }
            "members" => {
                let team = document.and_then(|member| member.get("team"));
                ("teams", "members", team.cloned().into_iter().collect())
            }
            _ => return,
        };
        let others = self.direct.collection::<Raw>(other);
        let not_linked = doc! { "_id": { "$nin": &linked }, list: id };
        others
            .update_many(not_linked, doc! { "$pull": { list: id } })
            .await
            .unwrap();
        let lacking = doc! { "_id": { "$in": &linked }, list: { "$ne": id } };
        others
            .update_many(lacking, doc! { "$push": { list: id } })
            .await
            .unwrap();
    }
}

/// The end of an operation, if the task is not killed before.
async fn ended(proxy: &Proxy, run: BoxFuture<'static, odm::Result<bool>>) -> Option<odm::Result<bool>> {
    let mut running = tokio::spawn(run);
    let ended = tokio::select! {
        ended = &mut running => ended,
        () = proxy.cut() => {
            running.abort();
            running.await
        }
    };
    // One that was cut off has ended somehow, but never by a panic.
    match ended {
        Ok(ended) => Some(ended),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => None,
    }
}

fn run(alone: bool) {
    with_db(async |t| {
        let of_environment = |name: &str| {
            std::env::var(name)
                .ok()
                .and_then(|value| value.parse::<u64>().ok())
        };
        let operations = of_environment("ODM_RANDOM_OPERATIONS").unwrap_or(240) as usize;
        let seed =
            of_environment("ODM_RANDOM_SEED").unwrap_or_else(|| Random(std::process::id().into()).next());
        let odm = if alone {
            handle(t.standalone().await, alone)
        } else {
            handle(t.db.clone(), alone)
        };
        if !alone {
            require_transactions(&odm).await;
        }
        println!("ODM_RANDOM_SEED={seed} ODM_RANDOM_OPERATIONS={operations} alone: {alone}");
        odm.sync().await.unwrap();
        sources(&odm).await;
        let first: Written = stored(&t.db)
            .await
            .into_iter()
            .filter(|(key, _)| !["tills", "stubs"].contains(&key.0))
            .filter_map(|(key, document)| Some((key, written(key.0, document)?)))
            .collect();
        let stands_still = !alone && may_stand_still(&t.db).await;
        let started = Instant::now();
        // The worker leaves alone what is young, so that the other one meets the living too.
        let worker = odm.worker(Duration::from_millis(500));
        let recovering = odm.clone();
        let meets_the_living = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(500)).await;
                let _ = recovering.recover().await;
            }
        });
        let taken = Arc::<Mutex<BTreeMap<i32, String>>>::default();
        let tasks = (0..TASKS).map(|number| {
            let own = first
                .iter()
                .filter(|((_, id), _)| id % TASKS == number)
                .map(|(key, document)| (*key, document.clone()));
            let task = Task {
                number,
                random: Random(seed.wrapping_add(number as u64)),
                own: own.collect(),
                ids: 1_000 * TASKS + number,
                direct: t.db.clone(),
                alone,
                kills: 0,
                drops: 0,
                deletions: BTreeMap::new(),
                done: 0,
                refused: 0,
                events: Vec::new(),
                errors: Vec::new(),
                stands_still,
                taken: taken.clone(),
            };
            tokio::spawn(task.run(operations / TASKS as usize, 40))
        });
        let tasks: Vec<Task> = join_all(tasks)
            .await
            .into_iter()
            .map(|task| task.unwrap())
            .collect();
        worker.stop().await;
        meets_the_living.abort();
        let took = started.elapsed();
        let recovered = odm.recover().await.unwrap();
        if alone {
            // A link and a move are two statements, between which some have been killed.
            let repaired = odm.repair_all().await.unwrap();
            assert!(repaired.left.is_clean(), "{repaired}");
        }
        let mut own = Written::new();
        let (mut kills, mut drops, mut done, mut refused) = (0, 0, 0, 0);
        let (mut errors, mut events) = (Vec::<String>::new(), Vec::<Event>::new());
        for task in tasks {
            assert!(task.own.keys().all(|(_, id)| id % TASKS == task.number));
            own.extend(task.own);
            events.extend(task.events);
            kills += task.kills;
            drops += task.drops;
            done += task.done;
            refused += task.refused;
            errors.extend(task.errors);
        }
        println!(
            "{operations} operations, {kills} kills, {drops} dropped futures (after {done} of these the operation was done), {} errors, {} documents, \
             {recovered:?}, {:.1} s",
            errors.len(),
            own.len(),
            took.as_secs_f64()
        );
        let each = operations / TASKS as usize;
        if each - each / 2 >= KILLED_WITHIN as usize {
            assert!(
                kills >= TASKS as usize,
                "each of {TASKS} processes is killed once at least, and {kills} kills were there"
            );
            assert!(drops > 0, "no future was dropped");
            let done = events.iter().filter(|event| event.done == Some(true)).count();
            assert!(done > 0, "nothing was done with what all tasks write");
        }
        errors.iter().take(5).for_each(|error| println!("{error}"));
        let mut found = stored(&t.db).await;
        own.extend(after_all(&events, &found));
        let wanted = with_copies(&own);
        let taken = std::mem::take(&mut *taken.lock().unwrap());
        for ((collection, id), document) in &mut found {
            if *collection == "receipts" {
                // The name that the host had then. It is unknown where the task was killed.
                let name = document.remove("host_name");
                let told = taken.get(id).cloned().map(Bson::from);
                assert_eq!(
                    name,
                    told.or(name.clone().filter(|name| name.as_str().is_some())),
                    "receipt {id}"
                );
            }
        }
        if !alone {
            let codes = one_owner_each(&t.db, &own).await;
            println!("{codes} values have one owner each, {refused} writes were refused another one's value");
        }
        let audit = odm.audit().await.unwrap();
        let keys: BTreeSet<&Key> = wanted.keys().chain(found.keys()).collect();
        let mut differ = 0;
        for key in keys {
            let (wanted, found) = (wanted.get(key), found.get(key));
            if wanted != found {
                differ += 1;
                if differ <= 5 {
                    println!("{key:?}\n  {wanted:?}\n  {found:?}");
                }
            }
        }
        assert!(audit.is_clean(), "{audit}");
        assert_eq!(differ, 0, "documents differ");
        assert_eq!(errors, Vec::<String>::new());
        let pending = doc! { "_odm.pending": { "$exists": true } };
        for collection in COLLECTIONS {
            let documents = t.db.collection::<Raw>(collection);
            let count = documents.count_documents(pending.clone()).await.unwrap();
            assert_eq!(count, 0, "{collection} have pending work");
        }
    });
}

#[odm_tests::test]
fn random_operations_end_as_the_model_says() {
    run(false);
}

#[odm_tests::test]
fn random_operations_on_a_standalone_server_end_as_the_model_says() {
    run(true);
}
