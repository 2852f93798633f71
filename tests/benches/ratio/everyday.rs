//! Operations of every day, each by the library and with the same guarantee by hand: claims, find-or-insert, saves, upserts in a bulk,
//! pages backwards, and a step of a migration.

use crate::pairs::Pairs;
use crate::report::{Measured, Report, Single};
use crate::scenarios::{BLOCK, ONE, pairs, timed};
use crate::{Options, Result};
use futures::TryStreamExt;
use mongodb::Client;
use mongodb::bson::{Document as Raw, doc, serialize_to_document};
use mongodb::options::{ReturnDocument, UpdateOneModel, WriteModel};
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::{Duration, Instant};

pub const NAMES: [&str; 8] = [
    "claim",
    "find or insert",
    "save",
    "bulk upserts 100",
    "page backwards",
    STEP,
    DEFAULT_RATE,
    BESIDE,
];

const STEP: &str = "step over 100,000";
const DEFAULT_RATE: &str = "step over 100,000 at the default rate";
const BESIDE: &str = "update beside a step";

/// How many documents the step changes: `ODM_STEPPED` says another number.
const STEPPED: i32 = 100_000;

/// How many of them are inserted at a time.
const INSERTED: usize = 10_000;

/// The target of the step: it is many transactions, with a lease in each, and may be killed. At the default rate it takes twice as long,
/// and an update of the application beside it.
const TWICE: Option<f64> = Some(2.0);

mod m0001_tag {
    pub async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
        step.collection("stepped").add("tag", "new").await
    }
}

/// The suffix of the database.
pub const DATABASE: &str = "_everyday";

/// How many tasks there are.
const STORED: i32 = 5_000;

const IN_A_BULK: usize = 100;

const PAGE: u32 = 20;

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "tasks", index(fields(state, due)))]
struct Task {
    #[serde(rename = "_id")]
    id: i32,
    #[index(unique)]
    name: String,
    state: i32,
    due: i32,
    worker: Option<String>,
    text: String,
}

fn task(id: i32) -> Task {
    Task {
        id,
        name: format!("task-{id}"),
        state: 0,
        due: id,
        worker: None,
        text: "Please ring twice, the bell is broken.".to_owned(),
    }
}

struct Everyday {
    odm: Odm,
    tasks: odm::Collection<Task>,
    driver: mongodb::Collection<Task>,
    client: Client,
}

pub async fn measure(client: &Client, name: &str, options: &Options, report: &mut Report) -> Result<()> {
    let db = client.database(&format!("{name}{DATABASE}"));
    let driver = db.collection::<Task>("tasks");
    for (keys, unique) in [(doc! { "name": 1 }, true), (doc! { "state": 1, "due": 1 }, false)] {
        let unique = mongodb::options::IndexOptions::builder().unique(unique).build();
        let index = mongodb::IndexModel::builder().keys(keys).options(unique).build();
        driver.create_index(index).await?;
    }
    let tasks: Vec<Task> = (0..STORED).map(task).collect();
    driver.insert_many(&tasks).await?;
    let odm = Odm::new(db, models![Task])?;
    let everyday = Everyday {
        tasks: odm.collection(),
        odm,
        driver,
        client: client.clone(),
    };
    for name in NAMES.into_iter().filter(|name| options.wants(name)) {
        let rounds = options.rounds(300);
        let (pairs, baseline) = match name {
            "claim" => (
                everyday.claim(rounds).await,
                "driver: find_one_and_update with sort",
            ),
            "find or insert" => (
                everyday.find_or_insert(rounds).await,
                "driver: find_one by the key, then insert_one, and find_one again after a duplicate key",
            ),
            "save" => (
                everyday.save(rounds).await,
                "driver: update_one of all fields with upsert, which keeps the others as save does",
            ),
            "bulk upserts 100" => (
                everyday.bulk(options.rounds(150)).await,
                "driver: bulk_write of update_one with upsert, again for those that lost a race",
            ),
            STEP => (
                everyday.step(options.rounds(6)).await,
                "driver: one update_many, by hand",
            ),
            DEFAULT_RATE => (
                everyday.by_default(options.rounds(6)).await,
                "the same step without a pause",
            ),
            BESIDE => (
                everyday.beside(options.rounds(6)).await,
                "the same updates alone: the 95th percentile of both",
            ),
            _ => (
                everyday.page(rounds).await,
                "driver: find of those before, in the other order, reversed, with ties and missing values",
            ),
        };
        let single = match name {
            "find or insert" => Single::Is("driver: find_one_and_update with $setOnInsert and upsert", None),
            "page backwards" => Single::Is("driver: find with sort and limit, without ties", None),
            _ => Single::Baseline,
        };
        let target = if [STEP, DEFAULT_RATE, BESIDE].contains(&name) {
            TWICE
        } else {
            ONE
        };
        report.add(Measured::of(name, baseline, target, single, &pairs));
    }
    Ok(())
}

fn is_duplicate(error: &mongodb::error::Error) -> bool {
    use mongodb::error::{ErrorKind, WriteFailure};
    matches!(&*error.kind, ErrorKind::Write(WriteFailure::WriteError(of)) if of.code == 11000)
}

/// The rate of a run without a pause.
const FULL_RATE: Option<u64> = Some(0);

struct Stepped {
    documents: mongodb::Collection<Raw>,
    steps: mongodb::Collection<Raw>,
    migrating: odm::migrate::Migrating,
}

impl Stepped {
    async fn put_back(&self) -> Result<()> {
        let unset = doc! { "$unset": { "tag": "" } };
        self.documents.update_many(doc! {}, unset).await?;
        self.steps.delete_many(doc! {}).await?;
        Ok(())
    }

    /// Runs the step at a rate, and undoes it.
    async fn run(&self, rate: Option<u64>) -> Result<Duration> {
        self.migrating.set_rate(rate).await?;
        let took = timed!(black_box(self.migrating.up().await?));
        self.put_back().await?;
        Ok(took)
    }
}

/// The 95th percentile.
fn percentile(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() * 95 / 100).copied().unwrap_or_default()
}

impl Everyday {
    /// A claim changes the state, and each block puts its tasks back behind the clock.
    async fn claim(&self, rounds: usize) -> Result<Pairs> {
        let put_back = async || -> Result<()> {
            let set = doc! { "$set": { "state": 0 } };
            self.driver.update_many(doc! { "state": 1 }, set).await?;
            Ok(())
        };
        Ok(pairs!(
            rounds,
            BLOCK as u32,
            |_round| {
                let took = timed!(for _ in 0..BLOCK {
                    let claimed = self
                        .tasks
                        .update_first(|t| t.state.eq(0))
                        .sort(|t| t.due.asc())
                        .set(|t| t.state, 1)
                        .set(|t| t.worker, "worker")
                        .returning()
                        .await?;
                    black_box(claimed);
                });
                put_back().await?;
                took
            },
            {
                let took = timed!(for _ in 0..BLOCK {
                    let set = doc! { "$set": { "state": 1, "worker": "worker" } };
                    let claimed = self
                        .driver
                        .find_one_and_update(doc! { "state": 0 }, set)
                        .sort(doc! { "due": 1 })
                        .return_document(ReturnDocument::After)
                        .await?;
                    black_box(claimed);
                });
                put_back().await?;
                took
            }
        ))
    }

    /// The documents of the step, without its effect.
    async fn stepped(&self) -> Result<Stepped> {
        let db = self.client.database(self.odm.database().name());
        let stepped = Stepped {
            documents: db.collection("stepped"),
            steps: db.collection("_odm_migrations"),
            migrating: self.odm.migrate(odm::migrations![m0001_tag]),
        };
        stepped.documents.drop().await?;
        let number = std::env::var("ODM_STEPPED").ok();
        let number = number.map_or(Ok(STEPPED), |number| number.parse())?;
        for first in (0..number).step_by(INSERTED) {
            let ids = first..number.min(first + INSERTED as i32);
            let documents = ids.map(|id| doc! { "_id": id, "text": "x".repeat(100) });
            stepped.documents.insert_many(documents).await?;
        }
        stepped.put_back().await?;
        Ok(stepped)
    }

    async fn step(&self, rounds: usize) -> Result<Pairs> {
        let stepped = self.stepped().await?;
        Ok(pairs!(rounds, 1, |_round| stepped.run(FULL_RATE).await?, {
            let lacks = doc! { "tag": { "$exists": false } };
            let set = doc! { "$set": { "tag": "new" } };
            let took = timed!(stepped.documents.update_many(lacks, set).await?);
            stepped.put_back().await?;
            took
        }))
    }

    async fn by_default(&self, rounds: usize) -> Result<Pairs> {
        let stepped = self.stepped().await?;
        Ok(pairs!(
            rounds,
            1,
            |_round| stepped.run(None).await?,
            stepped.run(FULL_RATE).await?
        ))
    }

    /// The 95th percentile of updates of one document, one after the other: beside a step at the default rate, and alone.
    async fn beside(&self, rounds: usize) -> Result<Pairs> {
        let stepped = self.stepped().await?;
        let update = async |number: usize| -> Result<Duration> {
            let id = number as i32 * 7919 % STORED;
            Ok(timed!(self.tasks.update(id).set(|t| t.due, number as i32).await?))
        };
        Ok(pairs!(
            rounds,
            1,
            |_round| {
                let mut times = Vec::new();
                let mut run = std::pin::pin!(stepped.migrating.up());
                loop {
                    tokio::select! {
                        biased;
                        ended = &mut run => {
                            ended?;
                            break;
                        }
                        took = update(times.len()) => times.push(took?),
                    }
                }
                stepped.put_back().await?;
                percentile(&mut times)
            },
            {
                let mut times = Vec::new();
                for number in 0..1_000 {
                    times.push(update(number).await?);
                }
                percentile(&mut times)
            }
        ))
    }

    /// Every second task is there.
    async fn find_or_insert(&self, rounds: usize) -> Result<Pairs> {
        let id = |round: usize, n: usize| match n % 2 {
            0 => (n as i32 * 7919 + round as i32) % STORED,
            _ => STORED + (round * BLOCK + n) as i32,
        };
        let remove = async || -> Result<()> {
            self.driver
                .delete_many(doc! { "_id": { "$gte": STORED } })
                .await?;
            Ok(())
        };
        Ok(pairs!(
            rounds,
            BLOCK as u32,
            |round| {
                let tasks: Vec<Task> = (0..BLOCK).map(|n| task(id(round, n))).collect();
                let took = timed!(for task in tasks {
                    black_box(self.tasks.insert(task).or_get_by(|t| t.name).await?);
                });
                remove().await?;
                took
            },
            {
                let tasks: Vec<Task> = (0..BLOCK).map(|n| task(id(round, n))).collect();
                let took = timed!(for task in &tasks {
                    loop {
                        let found = self.driver.find_one(doc! { "name": &task.name }).await?;
                        if let Some(found) = found {
                            black_box(found);
                            break;
                        }
                        match self.driver.insert_one(task).await {
                            Err(error) if is_duplicate(&error) => {}
                            inserted => {
                                black_box(inserted?);
                                break;
                            }
                        }
                    }
                });
                remove().await?;
                took
            },
            {
                let tasks: Vec<Task> = (0..BLOCK).map(|n| task(id(round, n))).collect();
                let took = timed!(for task in &tasks {
                    let mut fields = serialize_to_document(task)?;
                    fields.remove("name");
                    let found = self
                        .driver
                        .find_one_and_update(doc! { "name": &task.name }, doc! { "$setOnInsert": fields })
                        .upsert(true)
                        .return_document(ReturnDocument::After)
                        .await?;
                    black_box(found);
                });
                remove().await?;
                took
            }
        ))
    }

    async fn save(&self, rounds: usize) -> Result<Pairs> {
        let tasks = |round: usize, state: i32| -> Vec<Task> {
            let id = |n: usize| ((round * BLOCK + n) as i32 * 7919) % STORED;
            (0..BLOCK).map(|n| Task { state, ..task(id(n)) }).collect()
        };
        Ok(pairs!(
            rounds,
            BLOCK as u32,
            |round| {
                let tasks = tasks(round, 2);
                timed!(for task in tasks {
                    black_box(self.tasks.save(task).await?);
                })
            },
            {
                let tasks = tasks(round, 3);
                timed!(for task in &tasks {
                    let mut fields = serialize_to_document(task)?;
                    fields.remove("_id");
                    let stored = self
                        .driver
                        .update_one(doc! { "_id": task.id }, doc! { "$set": fields })
                        .upsert(true)
                        .await?;
                    black_box(stored);
                })
            }
        ))
    }

    async fn bulk(&self, rounds: usize) -> Result<Pairs> {
        let id = |round: usize, n: usize| ((round * IN_A_BULK + n) as i32 * 7919) % STORED;
        Ok(pairs!(
            rounds,
            1,
            |round| timed!({
                let upserts = (0..IN_A_BULK).fold(self.odm.bulk(), |bulk, n| {
                    bulk.add(
                        self.odm
                            .collection::<Task>()
                            .update(id(round, n))
                            .set(|t| t.state, round as i32)
                            .set_on_insert(|t| t.name, format!("task-{n}"))
                            .set_on_insert(|t| t.due, 0)
                            .set_on_insert(|t| t.text, "a text")
                            .upsert(),
                    )
                });
                upserts.await?
            }),
            timed!({
                let upserts = (0..IN_A_BULK).map(|n| {
                    let update = doc! {
                        "$set": { "state": -(round as i32) },
                        "$setOnInsert": { "name": format!("task-{n}"), "due": 0, "text": "a text" },
                    };
                    let one = UpdateOneModel::builder()
                        .namespace(self.driver.namespace())
                        .filter(doc! { "_id": id(round, n) })
                        .update(update)
                        .upsert(true)
                        .build();
                    WriteModel::from(one)
                });
                // Kept for those that lose a race, which are sent again.
                let upserts: Vec<_> = upserts.collect();
                self.client.bulk_write(upserts.clone()).verbose_results().await?
            })
        ))
    }

    async fn page(&self, rounds: usize) -> Result<Pairs> {
        // Each page is that before the one that begins here.
        let mut tokens = Vec::new();
        let mut from: Option<odm::query::PageToken> = None;
        for _ in 0..BLOCK {
            let mut page = self.tasks.find_all().sort(|t| t.due.asc()).page(PAGE);
            if let Some(token) = &from {
                page = page.after(token.clone());
            }
            let page = page.await?;
            from = page.next.clone();
            tokens.extend(page.previous.zip(page.items.first().map(|task| task.due)));
        }
        let count = tokens.len() as u32;
        Ok(pairs!(
            rounds,
            count,
            |_round| timed!(for (token, _) in &tokens {
                let page = self
                    .tasks
                    .find_all()
                    .sort(|t| t.due.asc())
                    .page(PAGE)
                    .before(token.clone())
                    .await?;
                assert_eq!(page.items.len(), PAGE as usize);
                black_box(page);
            }),
            timed!(for (_, due) in &tokens {
                let before = doc! { "$or": [
                    { "due": { "$lt": due } },
                    { "due": null },
                    { "due": due, "_id": { "$lt": due } },
                ] };
                let mut page: Vec<Task> = self
                    .driver
                    .find(before)
                    .sort(doc! { "due": -1, "_id": -1 })
                    .limit(i64::from(PAGE) + 1)
                    .await?
                    .try_collect()
                    .await?;
                page.truncate(PAGE as usize);
                page.reverse();
                // The positions from which the pages before and behind go on.
                for end in [page.first(), page.last()].into_iter().flatten() {
                    black_box(serialize_to_document(&(end.due, end.id)).is_ok());
                }
                black_box(page);
            }),
            timed!(for (_, due) in &tokens {
                let before = self.driver.find(doc! { "due": { "$lt": due } });
                let before = before.sort(doc! { "due": -1 }).limit(i64::from(PAGE));
                let page: Vec<Task> = before.await?.try_collect().await?;
                assert_eq!(page.len(), PAGE as usize);
                black_box(page);
            })
        ))
    }
}
