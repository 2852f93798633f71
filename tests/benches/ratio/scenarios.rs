//! The operations, each by the library and by hand.

use crate::model::{Line, Order, line, new_order, order};
use crate::pairs::Pairs;
use crate::report::{Measured, Single};
use crate::{Options, Result};
use futures::TryStreamExt;
use mongodb::Database;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{doc, serialize_to_bson};
use odm::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

pub const NAMES: [&str; 8] = [
    "insert",
    "insert_many 1,000",
    "get",
    "find 1",
    "find 1,000",
    "find 20,000",
    "update",
    "push",
];

/// The suffixes of the databases that are written to.
pub const INSERT: &str = "_insert";
pub const INSERT_MANY: &str = "_insert_many";

/// How many orders there are, in batches of `BATCH`.
const STORED: usize = 20_000;
const BATCH: usize = 1000;
/// How many single operations make a block: long enough for the clock, short enough that both sides see the same machine.
pub const BLOCK: usize = 24;

pub const ONE: Option<f64> = Some(1.05);
const MANY: Option<f64> = Some(1.0);

pub struct Bench {
    odm: odm::Collection<Order>,
    driver: mongodb::Collection<Order>,
    db: Database,
    ids: Vec<ObjectId>,
}

/// Times one block. What comes out of it is freed behind the clock: a program would go on using it.
macro_rules! timed {
    ($work:expr) => {{
        let started = Instant::now();
        let result = $work;
        let took = started.elapsed();
        let _result = black_box(result);
        took
    }};
}

pub(crate) use timed;

/// Alternating pairs: which side begins changes from pair to pair, and the first pairs only warm up.
macro_rules! pairs {
    ($rounds:expr, $per:expr, |$round:ident| $ours:expr, $theirs:expr) => {{
        let mut pairs = Pairs::default();
        let rounds: usize = $rounds;
        let warm_up = (rounds / 10).clamp(2, 20);
        for $round in 0..rounds + warm_up {
            let (ours, theirs): (Duration, Duration) = if $round % 2 == 0 {
                let ours = $ours;
                (ours, $theirs)
            } else {
                let theirs = $theirs;
                ($ours, theirs)
            };
            if $round >= warm_up {
                pairs.add(ours / $per, theirs / $per);
            }
        }
        pairs
    }};
    // With one statement as a third side.
    ($rounds:expr, $per:expr, |$round:ident| $ours:expr, $theirs:expr, $statement:expr) => {{
        let mut pairs = Pairs::default();
        let rounds: usize = $rounds;
        let warm_up = (rounds / 10).clamp(2, 20);
        for $round in 0..rounds + warm_up {
            let mut took = [Duration::ZERO; 3];
            for turn in 0..3 {
                let side = ($round + turn) % 3;
                took[side] = match side {
                    0 => $ours,
                    1 => $theirs,
                    _ => $statement,
                };
            }
            if $round >= warm_up {
                pairs.add_three(took[0] / $per, took[1] / $per, took[2] / $per);
            }
        }
        pairs
    }};
}

pub(crate) use pairs;

impl Bench {
    /// Stores the orders. There is no validator, so that the server does the same work for both sides.
    pub async fn prepare(db: &Database) -> Result<Bench> {
        let driver = db.collection::<Order>("orders");
        for field in ["email", "batch"] {
            let index = mongodb::IndexModel::builder().keys(doc! { field: 1 }).build();
            driver.create_index(index).await?;
        }
        let mut ids = Vec::with_capacity(STORED);
        for batch in 0..STORED / BATCH {
            let orders: Vec<Order> = (0..BATCH)
                .map(|n| order(batch * BATCH + n, batch as i32))
                .collect();
            ids.extend(orders.iter().map(|order| order.id));
            driver.insert_many(&orders).await?;
        }
        let odm = Odm::new(db.clone(), models![Order])?.collection::<Order>();
        Ok(Bench {
            odm,
            driver,
            db: db.clone(),
            ids,
        })
    }

    pub async fn measure(&self, name: &str, options: &Options) -> Result<Measured> {
        let (pairs, baseline, target) = match name {
            "insert" => (self.insert(options.rounds(300)).await, "driver: insert_one", ONE),
            "insert_many 1,000" => (
                self.insert_many(options.rounds(300)).await,
                "driver: insert_many",
                MANY,
            ),
            "get" => (
                self.get(options.rounds(300)).await,
                "driver: find_one by _id",
                ONE,
            ),
            "find 1" => (self.find_one(options.rounds(300)).await, "driver: find_one", ONE),
            "find 1,000" => (
                self.find_batch(options.rounds(150)).await,
                "driver: find, try_collect",
                MANY,
            ),
            "find 20,000" => (
                self.find_all(options.rounds(30)).await,
                "driver: find, try_collect",
                MANY,
            ),
            "update" => (
                self.update(options.rounds(300)).await,
                "driver: update_one with $set",
                ONE,
            ),
            "push" => (
                self.push(options.rounds(300)).await,
                "driver: update_one with $push, room for one more in the filter",
                ONE,
            ),
            other => return Err(format!("there is no scenario `{other}`").into()),
        };
        let single = if name == "push" {
            Single::Is("driver: update_one with $push, no bound", None)
        } else {
            Single::Baseline
        };
        Ok(Measured::of(name, baseline, target, single, &pairs))
    }

    /// An empty database for inserts.
    fn beside(&self, suffix: &str) -> Result<Odm> {
        let name = format!("{}{suffix}", self.db.name());
        Ok(Odm::new(self.db.client().database(&name), models![Order])?)
    }

    /// The id number `n`, spread over the collection.
    fn id(&self, n: usize) -> ObjectId {
        self.ids[n * 7919 % self.ids.len()]
    }

    async fn insert(&self, rounds: usize) -> Result<Pairs> {
        // Both sides write to the same collection, which is not the one that is read; and the same, whole documents.
        let odm = self.beside(INSERT)?;
        let (ours, theirs) = (
            odm.collection::<Order>(),
            odm.database().collection::<Order>("orders"),
        );
        let pairs = pairs!(
            rounds,
            BLOCK as u32,
            |round| {
                let orders: Vec<Order> = (0..BLOCK).map(|n| order(round * BLOCK + n, 0)).collect();
                let mut stored = Vec::with_capacity(BLOCK);
                timed!(for order in orders {
                    stored.push(ours.insert(order).await?);
                })
            },
            {
                let orders: Vec<Order> = (0..BLOCK).map(|n| order(round * BLOCK + n, 0)).collect();
                timed!(for order in &orders {
                    black_box(theirs.insert_one(order).await?);
                })
            }
        );
        odm.database().drop().await?;
        Ok(pairs)
    }

    async fn insert_many(&self, rounds: usize) -> Result<Pairs> {
        let odm = self.beside(INSERT_MANY)?;
        let (ours, theirs) = (
            odm.collection::<Order>(),
            odm.database().collection::<Order>("orders"),
        );
        let pairs = pairs!(
            rounds,
            1,
            |round| {
                let orders: Vec<Order> = (0..1000).map(|n| order(round * 1000 + n, 0)).collect();
                timed!(ours.insert_many(orders).await?)
            },
            {
                let orders: Vec<Order> = (0..1000).map(|n| order(round * 1000 + n, 0)).collect();
                timed!(theirs.insert_many(&orders).await?)
            }
        );
        odm.database().drop().await?;
        Ok(pairs)
    }

    async fn get(&self, rounds: usize) -> Result<Pairs> {
        Ok(pairs!(
            rounds,
            BLOCK as u32,
            |round| timed!(for n in 0..BLOCK {
                black_box(self.odm.get(self.id(round * BLOCK + n)).await?);
            }),
            timed!(for n in 0..BLOCK {
                let id = self.id(round * BLOCK + n);
                black_box(self.driver.find_one(doc! { "_id": id }).await?);
            })
        ))
    }

    async fn find_one(&self, rounds: usize) -> Result<Pairs> {
        let emails: Vec<String> = (0..STORED)
            .map(|n| new_order(n * 7919 % STORED, 0).email)
            .collect();
        let email = |n: usize| emails[n % STORED].as_str();
        Ok(pairs!(
            rounds,
            BLOCK as u32,
            |round| timed!(for n in 0..BLOCK {
                let email = email(round * BLOCK + n);
                black_box(self.odm.find(|o| o.email.eq(email)).one().await?);
            }),
            timed!(for n in 0..BLOCK {
                let email = email(round * BLOCK + n);
                black_box(self.driver.find_one(doc! { "email": email }).await?);
            })
        ))
    }

    async fn find_batch(&self, rounds: usize) -> Result<Pairs> {
        let batches = STORED / BATCH;
        Ok(pairs!(
            rounds,
            1,
            |round| timed!({
                let batch = (round % batches) as i32;
                let found: Vec<Order> = self.odm.find(|o| o.batch.eq(batch)).all().await?;
                assert_eq!(found.len(), BATCH);
                found
            }),
            timed!({
                let batch = (round % batches) as i32;
                let found: Vec<Order> = self
                    .driver
                    .find(doc! { "batch": batch })
                    .await?
                    .try_collect()
                    .await?;
                assert_eq!(found.len(), BATCH);
                found
            })
        ))
    }

    async fn find_all(&self, rounds: usize) -> Result<Pairs> {
        Ok(pairs!(
            rounds,
            1,
            |round| timed!({
                let found: Vec<Order> = self.odm.find_all().all().await?;
                assert_eq!(found.len(), STORED);
                found
            }),
            timed!({
                let found: Vec<Order> = self.driver.find(doc! {}).await?.try_collect().await?;
                assert_eq!(found.len(), STORED);
                found
            })
        ))
    }

    async fn update(&self, rounds: usize) -> Result<Pairs> {
        Ok(pairs!(
            rounds,
            BLOCK as u32,
            |round| timed!(for n in 0..BLOCK {
                let id = self.id(round * BLOCK + n);
                black_box(self.odm.update(id).set(|o| o.total, n as f64).await?);
            }),
            timed!(for n in 0..BLOCK {
                let id = self.id(round * BLOCK + n);
                let set = doc! { "$set": { "total": n as f64 + 0.5 } };
                black_box(self.driver.update_one(doc! { "_id": id }, set).await?);
            })
        ))
    }

    /// The sides push onto different orders, whose arrays grow alike. The library's update holds the bound in its filter, as the
    /// code by hand does; the statement has none.
    async fn push(&self, rounds: usize) -> Result<Pairs> {
        let lines: Vec<Line> = (0..BLOCK).map(line).collect();
        let third = self.ids.len() / 3;
        let id = |n: usize, side: usize| self.ids[n * 7919 % third * 3 + side];
        Ok(pairs!(
            rounds,
            BLOCK as u32,
            |round| timed!(for (n, line) in lines.iter().enumerate() {
                black_box(
                    self.odm
                        .update(id(round * BLOCK + n, 0))
                        .push(|o| o.lines, line)
                        .await?,
                );
            }),
            timed!(for (n, line) in lines.iter().enumerate() {
                let push = doc! { "$push": { "lines": serialize_to_bson(line)? } };
                let filter = doc! {
                    "_id": id(round * BLOCK + n, 1),
                    "lines.999": { "$exists": false },
                };
                black_box(self.driver.update_one(filter, push).await?);
            }),
            timed!(for (n, line) in lines.iter().enumerate() {
                let push = doc! { "$push": { "lines": serialize_to_bson(line)? } };
                let filter = doc! { "_id": id(round * BLOCK + n, 2) };
                black_box(self.driver.update_one(filter, push).await?);
            })
        ))
    }
}
