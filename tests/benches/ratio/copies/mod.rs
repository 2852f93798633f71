//! Copies: what the dual writes cost that the library generates, against the same by hand, and what they save a reader.
//!
//! The targets are those of the task: a fan-out to 100,000 holders within 1.5 times of one raw `updateMany`, and within 64
//! MiB. A read from copies is not behind the join that it replaces.
//!
//! By hand a fan-out gives the same guarantee: up to 1,000 copies are updated in the transaction of their source, each with the version
//! that it is of; the source of more has a mark, in the statement that changes it, until they are updated, so that another process can
//! go on.

mod driver;
pub mod memory;
mod model;

use crate::pairs::{Pairs, Rounds, alternate_three};
use crate::report::{Measured, Report, Single};
use crate::{Options, Result};
use driver::{OnDriver, Page};
use model::{Device, Event, Host, LogMsg, NewDevice, NewEvent, NewHost, NewProduct, Part, Product, Review};
use mongodb::{Client, Database};
use odm::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Where the database's name ends.
const DB: &str = "_copies";

/// All databases that are made.
pub const DATABASES: [&str; 1] = [DB];

const INSERT: &str = "copies: insert, 1 copy and 1 subset";
/// The scenario, its device, and the number of its events.
const FAN_OUT: [(&str, i32, usize); 5] = [
    ("copies: fan-out to 1", 1, 1),
    ("copies: fan-out to 10", 2, 10),
    ("copies: fan-out to 100", 3, 100),
    ("copies: fan-out to 1,000", 4, 1_000),
    ("copies: fan-out to 100,000", 5, 100_000),
];
const READ: &str = "copies: read 1,000 with a copy";
const PAGE: &str = "copies: product page";

/// Both sides write to hosts of their own, whose ids begin here.
const HOSTS: i32 = 50;
/// How many messages a host keeps. The struct says the same.
const NEWEST: i32 = 10;
const BLOCK: usize = 24;
/// The devices of the events that are read.
const DEVICES: i32 = 50;
const EVENTS: i32 = 10_000;
const READ_AT_ONCE: i32 = 1_000;
const PRODUCTS: i32 = 100;
const PARTS: i32 = 500;
const PARTS_EACH: i32 = 20;
const REVIEWS_EACH: i32 = 50;

const FAN_OUT_TARGET: Option<f64> = Some(1.5);
/// Of a few copies, with the same guarantee on both sides.
const SAME_GUARANTEE: Option<f64> = Some(1.1);
/// Maximum number of copies that are updated in one transaction with their source.
const IN_TRANSACTION: usize = 1_000;
/// In MiB.
const MEMORY_TARGET: f64 = 64.0;
/// Not behind.
const AHEAD: Option<f64> = Some(1.0);
const NO_TARGET: Option<f64> = None;

fn names() -> impl Iterator<Item = &'static str> {
    let fan_outs = FAN_OUT.iter().map(|(name, ..)| *name);
    [INSERT].into_iter().chain(fan_outs).chain([READ, PAGE])
}

/// Whether any of the comparisons is wanted.
pub fn is_wanted(options: &Options) -> bool {
    names().any(|name| options.wants(name))
}

pub async fn measure(client: &Client, name: &str, options: &Options, report: &mut Report) -> Result<()> {
    let db = client.database(&format!("{name}{DB}"));
    let mut copies = Copies::prepare(&db).await?;
    let rounds = |usual| Rounds::new(options.rounds(usual));
    if options.wants(INSERT) {
        let pairs = copies.insert(rounds(100)).await;
        let baseline = "driver: transaction of find_one, insert_one, update_one with $push, with versions";
        let single = Single::Is("driver: insert_one, without the subset", NO_TARGET);
        report.add(Measured::of(INSERT, baseline, NO_TARGET, single, &pairs));
    }
    for (name, device, holders) in FAN_OUT {
        if options.wants(name) {
            report.add(copies.fan_out(name, device, holders, options).await?);
        }
    }
    if options.wants(READ) {
        let pairs = copies.read(rounds(80)).await;
        let baseline = "driver: find, find by $in, HashMap";
        let single = Single::Is("driver: find of the same copies", NO_TARGET);
        report.add(Measured::of(READ, baseline, AHEAD, single, &pairs));
    }
    if options.wants(PAGE) {
        copies.store_products().await?;
        let pairs = copies.page(rounds(100)).await;
        let baseline = "driver: find_one, then find by $in, find with sort and limit, and aggregate at once";
        let single = Single::Is("driver: find_one of the same copies", NO_TARGET);
        report.add(Measured::of(PAGE, baseline, AHEAD, single, &pairs));
    }
    db.drop().await?;
    Ok(())
}

/// A handle for a database with all of them.
fn handle(db: Database) -> odm::Result<Odm> {
    Odm::new(db, models![Host, LogMsg, Device, Event, Part, Product, Review])
}

/// The data, for the library and for the driver.
struct Copies {
    odm: Odm,
    driver: OnDriver,
}

impl Copies {
    async fn prepare(db: &Database) -> Result<Copies> {
        let odm = handle(db.clone())?;
        // With the validators and the indexes that the copies need, for both sides.
        odm.sync().await?;
        let driver = OnDriver::new(db).await?;
        Ok(Copies { odm, driver })
    }

    async fn insert(&mut self, rounds: Rounds) -> Result<Pairs> {
        let hosts = (0..2 * HOSTS).map(|id| NewHost {
            id,
            name: format!("goofy{id:03}.example.com"),
            ipaddr: format!("127.66.{id}.66"),
        });
        self.odm.collection::<Host>().insert_many(hosts).await?;
        let messages = self.odm.collection::<LogMsg>();
        let (mut ours_next, mut theirs_next) = (0, 0);
        let ours = async || {
            let first = ours_next;
            ours_next += BLOCK;
            let new: Vec<_> = (first..ours_next)
                .map(|n| model::message(n, n as i32 % HOSTS))
                .collect();
            let mut stored = Vec::with_capacity(BLOCK);
            let started = Instant::now();
            for new in new {
                stored.push(messages.insert(new).await?);
            }
            let took = started.elapsed();
            black_box(stored);
            Ok(took / BLOCK as u32)
        };
        let driver = &mut self.driver;
        let theirs = async || {
            let first = theirs_next;
            theirs_next += BLOCK;
            let new: Vec<_> = (first..theirs_next)
                .map(|n| model::message(n, HOSTS + n as i32 % HOSTS))
                .collect();
            let started = Instant::now();
            for new in &new {
                driver.insert(new, NEWEST).await?;
            }
            Ok(started.elapsed() / BLOCK as u32)
        };
        let (db, mut third_next) = (self.odm.database().clone(), 0);
        let statement = async || {
            let first = third_next;
            third_next += BLOCK;
            let new: Vec<_> = (first..third_next)
                .map(|n| model::message(n, 2 * HOSTS + n as i32 % HOSTS))
                .collect();
            let started = Instant::now();
            for new in &new {
                driver::insert_alone(&db, new, "127.66.0.66").await?;
            }
            Ok(started.elapsed() / BLOCK as u32)
        };
        let pairs = alternate_three(rounds, ours, theirs, statement).await?;
        // Both sides have kept the same.
        let hosts = self.odm.collection::<Host>();
        for id in [0, HOSTS] {
            let host = hosts.get(id).await?.ok_or("a host is missing")?;
            let last = self
                .driver
                .last_message(id)
                .await?
                .ok_or("a message is missing")?;
            let kept = host.newest.first().map(|newest| newest.message.as_str());
            if kept != Some(last.message.as_str()) || last.ipaddr != host.ipaddr {
                return Err(format!("host {id} and its messages differ: {host:?}, {last:?}").into());
            }
        }
        Ok(pairs)
    }

    async fn fan_out(
        &mut self,
        name: &str,
        device: i32,
        holders: usize,
        options: &Options,
    ) -> Result<Measured> {
        let devices = self.store_device(device, holders).await?;
        // By a process that has not stored the events itself, whose allocator would have kept the room for them.
        let memory = memory::of_fan_out(self.odm.database().name(), device, holders)?;
        let (rounds, times, target) = match holders {
            1 | 10 | 100 => (200, BLOCK, SAME_GUARANTEE),
            1_000 => (60, 1, SAME_GUARANTEE),
            _ => (20, 1, NO_TARGET),
        };
        let of_statement = if holders == 100_000 {
            FAN_OUT_TARGET
        } else {
            NO_TARGET
        };
        let all = |changed: u64| match changed == holders as u64 {
            true => Ok(()),
            false => Err(format!("{changed} of {holders} copies were changed")),
        };
        let mut next = 0;
        let ours = async || {
            let started = Instant::now();
            for _ in 0..times {
                next += 1;
                let renamed = devices.update(device).set(|d| d.name, format!("ours {next}"));
                all(renamed.await?.copies_updated)?;
            }
            Ok(started.elapsed() / times as u32)
        };
        let (db, driver) = (self.odm.database().clone(), &mut self.driver);
        let mut other = 0;
        let driver_code = async || {
            let started = Instant::now();
            for _ in 0..times {
                other += 1;
                let name = format!("theirs {other}");
                all(if holders <= IN_TRANSACTION {
                    driver.rename_all(device, &name).await?
                } else {
                    driver.rename_in_steps(device, &name).await?
                })?;
            }
            Ok(started.elapsed() / times as u32)
        };
        let mut third = 0;
        let statement = async || {
            let started = Instant::now();
            for _ in 0..times {
                third += 1;
                all(driver::rename(&db, device, &format!("third {third}")).await?)?;
            }
            Ok(started.elapsed() / times as u32)
        };
        let rounds = Rounds::new(options.rounds(rounds));
        let pairs = alternate_three(rounds, ours, driver_code, statement).await;
        let baseline = if holders <= IN_TRANSACTION {
            "driver: transaction of find_one_and_update, update_many, with versions"
        } else {
            "driver: update_one with a mark, update_many, update_one that clears it"
        };
        let single = Single::Is("driver: one update_many", of_statement);
        let measured = Measured::of(name, baseline, target, single, &pairs);
        Ok(measured.with_memory(memory, MEMORY_TARGET))
    }

    /// A device with this number of events.
    async fn store_device(&self, device: i32, holders: usize) -> Result<odm::Collection<Device>> {
        let devices = self.odm.collection::<Device>();
        let first = NewDevice {
            id: device,
            name: "before".to_owned(),
        };
        devices.insert(first).await?;
        self.store_events(device * 1_000_000, holders, |_| device).await?;
        Ok(devices)
    }

    async fn store_events(&self, first: i32, count: usize, device: impl Fn(i32) -> i32) -> Result<()> {
        let events: Vec<NewEvent> = (first..)
            .take(count)
            .map(|id| NewEvent {
                id,
                what: format!("the fan blade assembly does not turn, for the {id}th time"),
                device: Ref::new(device(id)),
            })
            .collect();
        for batch in events.chunks(1_000) {
            let batch = batch.iter().map(|event| NewEvent {
                id: event.id,
                what: event.what.clone(),
                device: event.device,
            });
            self.odm.collection::<Event>().insert_many(batch).await?;
        }
        Ok(())
    }

    /// Events with the names of their devices: with the copies they are one query.
    async fn read(&self, rounds: Rounds) -> Result<Pairs> {
        let devices = (0..DEVICES).map(|n| NewDevice {
            id: 1_000 + n,
            name: format!("device number {n}"),
        });
        self.odm.collection::<Device>().insert_many(devices).await?;
        self.store_events(0, EVENTS as usize, |id| 1_000 + id % DEVICES)
            .await?;
        let events = self.odm.collection::<Event>();
        let at = |round: i32| round * READ_AT_ONCE % EVENTS;
        let ours = async |round: i32| {
            let (from, to) = (at(round), at(round) + READ_AT_ONCE);
            let found = events.find(|e| e.id.gte(from) & e.id.lt(to)).all().await?;
            Ok(found
                .into_iter()
                .map(|event| (event.id, event.name))
                .collect::<Vec<_>>())
        };
        let theirs = async |round: i32| self.driver.events(at(round), at(round) + READ_AT_ONCE).await;
        let statement = async |round: i32| {
            self.driver
                .events_with_copies(at(round), at(round) + READ_AT_ONCE)
                .await
        };
        in_turn(rounds, 1, ours, theirs, statement).await
    }

    async fn store_products(&self) -> Result<()> {
        let parts = self.odm.collection::<Part>();
        parts.insert_many((0..PARTS).map(model::part)).await?;
        let products = (0..PRODUCTS).map(|id| NewProduct {
            id,
            name: format!("left-handed smoke shifter, model {id}"),
            parts: (0..PARTS_EACH)
                .map(|n| Ref::new((id * 7 + n * 13) % PARTS))
                .collect(),
        });
        self.odm.collection::<Product>().insert_many(products).await?;
        for product in 0..PRODUCTS {
            let reviews = (0..REVIEWS_EACH).map(|n| model::review(product * REVIEWS_EACH + n, product));
            self.odm.collection::<Review>().insert_many(reviews).await?;
        }
        self.driver.store_plain().await
    }

    /// A product with the names of its parts, its newest reviews and their numbers.
    async fn page(&self, rounds: Rounds) -> Result<Pairs> {
        self.is_one_command().await?;
        let products = self.odm.collection::<Product>();
        in_turn(
            rounds,
            BLOCK,
            async |n: i32| show(&products, n % PRODUCTS).await,
            async |n: i32| self.driver.page(n % PRODUCTS).await,
            async |n: i32| self.driver.page_with_copies(n % PRODUCTS).await,
        )
        .await
    }

    /// A page is one round trip.
    async fn is_one_command(&self) -> Result<()> {
        let (client, commands) = odm_tests::client().await;
        let odm = Odm::new(
            client.database(self.odm.database().name()),
            models![Part, Product, Review],
        )?;
        show(&odm.collection(), 0).await?;
        match commands.take().as_slice() {
            [one] if one == "find" => Ok(()),
            sent => Err(format!("a product's page is not one query but {sent:?}").into()),
        }
    }
}

async fn show(products: &odm::Collection<Product>, id: i32) -> Result<Page> {
    let product = products.get(id).await?.ok_or("a product is missing")?;
    let rating = product.rating.value().ok_or("there are no reviews")?;
    Ok(Page {
        id: product.id,
        name: product.name,
        parts: product
            .parts
            .into_iter()
            .map(|part| (part.name, part.price))
            .collect(),
        reviews: product
            .reviews
            .into_iter()
            .map(|review| (review.at, review.author, review.text))
            .collect(),
        count: product.review_count,
        rating,
    })
}

/// Compares three reads that give the same of each number, a number of them at a time. First it checks that they do.
async fn in_turn<T: PartialEq + std::fmt::Debug>(
    rounds: Rounds,
    times: usize,
    mut ours: impl AsyncFnMut(i32) -> Result<T>,
    mut theirs: impl AsyncFnMut(i32) -> Result<T>,
    mut statement: impl AsyncFnMut(i32) -> Result<T>,
) -> Result<Pairs> {
    for n in 0..10 {
        let (ours, theirs, third) = (ours(n).await?, theirs(n).await?, statement(n).await?);
        if ours != theirs || ours != third {
            let message = format!("the sides give different values: {ours:?}, {theirs:?} and {third:?}");
            return Err(message.into());
        }
    }
    let [mut ours_next, mut theirs_next, mut third_next] = [0..i32::MAX, 0..i32::MAX, 0..i32::MAX];
    alternate_three(
        rounds,
        async || time(times, &mut ours_next, &mut ours).await,
        async || time(times, &mut theirs_next, &mut theirs).await,
        async || time(times, &mut third_next, &mut statement).await,
    )
    .await
}

/// The mean time of one read over this number of them. Their results are freed after the time is taken.
async fn time<T>(
    times: usize,
    numbers: &mut impl Iterator<Item = i32>,
    read: &mut impl AsyncFnMut(i32) -> Result<T>,
) -> Result<Duration> {
    let mut results = Vec::with_capacity(times);
    let started = Instant::now();
    for n in numbers.take(times) {
        results.push(read(n).await?);
    }
    let took = started.elapsed();
    black_box(results);
    Ok(took / times as u32)
}
