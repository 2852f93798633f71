//! Random operations by eight tasks on documents with every kind of edge, some of which are killed on the way.
//!
//! Each task owns the documents whose ids leave its number when divided by eight: it alone writes what the application
//! writes of them, while their references name documents of all tasks. So what the application wrote is known for sure, in
//! memory, and the copies follow from it; what the tasks contend for are the copies. A task is killed by a proxy that cuts it
//! off at one of its commands; whether that one operation has happened is read from its documents, which has to be all of it
//! or nothing, and the task goes on with a new handle. Meanwhile a worker pays what the dead ones owe. At the end
//! `recover()` runs, the audit is clean, and the database is what was computed in memory.
//!
//! `ODM_RANDOM_OPERATIONS` says how many operations there are (100,000 for a thorough run), `ODM_RANDOM_SEED` which; the seed
//! is printed. The operations of a task follow from it, but not how those of several tasks meet.

use super::crashes::atomic::*;
use super::crashes::proxy::Proxy;
use super::crashes::{clean, remove, server, through};
use futures::TryStreamExt;
use futures::future::{BoxFuture, FutureExt, join_all};
use mongodb::Database;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A copy that is taken once.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "receipts")]
pub struct Receipt {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference]
    pub host: Ref<Host>,
    #[denormalize(from = host.name, sync = snapshot)]
    pub host_name: String,
}

const TASKS: i32 = 8;
/// Of each kind of document that others refer to there are so many, always.
const SOURCES: i32 = 48;

/// There are so many parents that come and go at most.
const WELLS: i32 = 24;

/// A task has so many documents of a kind at most, then it deletes one: else there would be more and more of them, and each
/// operation would write more than the one before.
const MOST: usize = 24;

const COPIES: [(&str, &str); 24] = [
    ("logs", "host_name"),
    ("logs", "host_ip"),
    ("logs", "host_load"),
    ("products", "parts.name"),
    ("products", "parts.note"),
    ("products", "parts.tags"),
    ("orders", "user.name"),
    ("orders", "user.mail"),
    ("shops", "best"),
    ("bars", "votes"),
    ("bars", "public_votes"),
    ("bars", "rating"),
    ("bars", "total"),
    ("bars", "most"),
    ("cities", "region_name"),
    ("cities", "region_code"),
    ("cities", "streets"),
    ("streets", "region_name"),
    ("streets", "region_code"),
    ("mayors", "streets"),
    ("receipts", "host_name"),
    ("wells", "samples"),
    ("wells", "deepest"),
    ("wells", "guards"),
];

type Key = (&'static str, i32);

/// What the application has written: no copies.
type Written = BTreeMap<Key, Raw>;

/// Numbers that a seed determines: splitmix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: i32) -> i32 {
        (self.next() % n as u64) as i32
    }
}

struct Operation {
    name: &'static str,
    /// What its documents are to be.
    after: Vec<(Key, Option<Raw>)>,
    run: BoxFuture<'static, odm::Result<()>>,
}

fn models() -> Vec<odm::Model> {
    models![
        Host, Log, Receipt, Part, Product, User, Order, Shop, Review, Bar, Vote, Region, City, Street, Mayor,
        Well, Sample, Guard
    ]
    .into()
}

/// What the application wrote of a document.
fn written(collection: &str, mut document: Raw) -> Option<Raw> {
    if document
        .get_document("_odm")
        .is_ok_and(|own| own.get_bool("gone").unwrap_or(false))
    {
        return None;
    }
    for (of, path) in COPIES {
        if of == collection {
            remove(&mut document, path);
        }
    }
    document.remove("version");
    clean(&mut document);
    Some(document)
}

fn cleaned(mut document: Raw) -> Raw {
    clean(&mut document);
    document
}

struct Task {
    number: i32,
    random: Random,
    own: Written,
    ids: i32,
    direct: Database,
    alone: bool,
    kills: usize,
    /// Kills after which the operation was found done.
    done: usize,
    errors: Vec<String>,
}

struct Process {
    proxy: Proxy,
    odm: Odm,
}

macro_rules! child {
    ($task:ident, $odm:ident, $choice:expr, $Child:ident, $New:ident, $name:literal) => {{
        let above = $task.random.below(SOURCES);
        let stars = $task.random.below(100);
        let public = $task.random.below(2) == 0;
        match ($choice, $task.pick($name)) {
            (0, _) | (_, None) => {
                let id = $task.id();
                let after = doc! { "_id": id, "text": "new", "stars": stars, "public": public, "tags": [], "above": above };
                let new = $New { id, text: Some("new".into()), stars, public, tags: vec![], above: Ref::new(above) };
                one("insert a child", ($name, id), Some(after), async move {
                    $odm.collection::<$Child>().insert(new).await.map(drop)
                })
            }
            (1, Some((id, mut after))) => {
                after.insert("stars", stars);
                one("set a child", ($name, id), Some(after), async move {
                    $odm.collection::<$Child>().update(id).set(|c| c.stars, stars).await.map(drop)
                })
            }
            (2, Some((id, mut after))) => {
                after.insert("public", public);
                after.insert("text", format!("text {stars}"));
                one("set what is filtered by", ($name, id), Some(after), async move {
                    let children = $odm.collection::<$Child>();
                    let text = Some(format!("text {stars}"));
                    children.update(id).set(|c| c.public, public).set(|c| c.text, text).await.map(drop)
                })
            }
            (3, Some((id, mut after))) => {
                after.insert("above", above);
                one("move a child", ($name, id), Some(after), async move {
                    let children = $odm.collection::<$Child>();
                    children.update(id).set(|c| c.above, Ref::new(above)).await.map(drop)
                })
            }
            (4, Some((id, _))) => one("delete a child", ($name, id), None, async move {
                $odm.collection::<$Child>().delete(id).await.map(drop)
            }),
            (5, Some((id, _))) => {
                let after = doc! { "_id": id, "stars": stars, "public": public, "tags": [], "above": above };
                one("replace a child", ($name, id), Some(after), async move {
                    let children = $odm.collection::<$Child>();
                    let Some(now) = children.get(id).await? else { return Ok(()) };
                    let (above, version) = (Ref::new(above), now.version);
                    let new = $Child { id, text: None, stars, public, tags: vec![], above, version };
                    children.replace(new).await.map(drop)
                })
            }
            _ => {
                // All of a parent's that are this task's.
                let mine: Vec<i32> = $task.all($name).take(3).collect();
                let after = mine.iter().map(|id| {
                    let mut after = $task.own[&($name, *id)].clone();
                    after.insert("stars", stars);
                    (($name, *id), Some(after))
                });
                let after = after.collect();
                let run = async move {
                    let children = $odm.collection::<$Child>();
                    children.update_where(|c| c.id.in_(mine)).set(|c| c.stars, stars).await.map(drop)
                };
                Operation { name: "update_where", after, run: run.boxed() }
            }
        }
    }};
}

fn one(
    name: &'static str,
    key: Key,
    after: Option<Raw>,
    run: impl Future<Output = odm::Result<()>> + Send + 'static,
) -> Operation {
    Operation {
        name,
        after: vec![(key, after)],
        run: run.boxed(),
    }
}

impl Task {
    fn id(&mut self) -> i32 {
        self.ids += TASKS;
        self.ids
    }

    fn all(&self, collection: &'static str) -> impl Iterator<Item = i32> + '_ {
        let range = (collection, i32::MIN)..=(collection, i32::MAX);
        self.own.range(range).map(|((_, id), _)| *id)
    }

    /// One of the task's own.
    fn pick(&mut self, collection: &'static str) -> Option<(i32, Raw)> {
        let all = self.all(collection).count();
        if all == 0 {
            return None;
        }
        let at = self.random.below(all as i32) as usize;
        let id = self.all(collection).nth(at)?;
        Some((id, self.own.get(&(collection, id))?.clone()))
    }

    fn source(&mut self, collection: &'static str) -> (i32, Raw) {
        self.pick(collection).expect("sources are never deleted")
    }

    /// The deletion of one of a kind that the task has too many of.
    fn too_many(&mut self, odm: &Odm) -> Option<Operation> {
        macro_rules! delete {
            ($($Document:ident $name:literal),*) => {$(
                if self.all($name).count() > MOST {
                    let (id, _) = self.pick($name)?;
                    let documents = odm.collection::<$Document>();
                    return Some(one("delete one of many", ($name, id), None, async move {
                        documents.delete(id).await.map(drop)
                    }));
                }
            )*};
        }
        delete!(
            Log "logs", Receipt "receipts", Product "products", Review "reviews", Vote "votes", Street "streets",
            Mayor "mayors", Sample "samples"
        );
        None
    }

    fn operation(&mut self, odm: Odm) -> Operation {
        if let Some(delete) = self.too_many(&odm) {
            return delete;
        }
        let to = self.random.below(SOURCES);
        let text = format!("{}", self.random.below(1_000_000));
        match self.random.below(34) {
            0 => {
                let (id, mut after) = self.source("hosts");
                after.insert("name", &text);
                one("set the source", ("hosts", id), Some(after), async move {
                    let hosts = odm.collection::<Host>();
                    hosts.update(id).set(|h| h.name, text).await.map(drop)
                })
            }
            1 => {
                let (id, mut after) = self.source("hosts");
                let load = after.get_i32("load").unwrap_or_default();
                after.insert("load", load + 1);
                after.remove("ip");
                one(
                    "unset and inc the source",
                    ("hosts", id),
                    Some(after),
                    async move {
                        let hosts = odm.collection::<Host>();
                        hosts
                            .update(id)
                            .unset(|h| h.ip)
                            .inc(|h| h.load, 1)
                            .await
                            .map(drop)
                    },
                )
            }
            2 => {
                let (id, mut after) = self.source("parts");
                after.insert("name", &text);
                after.insert("note", &text);
                one(
                    "set the source of entries",
                    ("parts", id),
                    Some(after),
                    async move {
                        let parts = odm.collection::<Part>();
                        let note = Some(text.clone());
                        parts
                            .update(id)
                            .set(|p| p.name, text)
                            .set(|p| p.note, note)
                            .await
                            .map(drop)
                    },
                )
            }
            3 => {
                let (id, mut after) = self.source("parts");
                let tags = vec![text.clone()];
                after.insert("tags", &tags);
                after.remove("note");
                one(
                    "unset the source of entries",
                    ("parts", id),
                    Some(after),
                    async move {
                        let parts = odm.collection::<Part>();
                        parts
                            .update(id)
                            .set(|p| p.tags, tags)
                            .unset(|p| p.note)
                            .await
                            .map(drop)
                    },
                )
            }
            4 => {
                let (id, mut after) = self.source("users");
                after.insert("name", &text);
                after.remove("mail");
                one("set a user", ("users", id), Some(after), async move {
                    let users = odm.collection::<User>();
                    users
                        .update(id)
                        .set(|u| u.name, text)
                        .unset(|u| u.mail)
                        .await
                        .map(drop)
                })
            }
            5 => {
                let (id, mut after) = self.source("regions");
                after.insert("name", &text);
                one(
                    "set the source of a chain",
                    ("regions", id),
                    Some(after),
                    async move {
                        let regions = odm.collection::<Region>();
                        regions.update(id).set(|r| r.name, text).await.map(drop)
                    },
                )
            }
            6 => {
                let (id, mut after) = self.source("cities");
                after.insert("region", to);
                one("move in a chain", ("cities", id), Some(after), async move {
                    let cities = odm.collection::<City>();
                    cities.update(id).set(|c| c.region, Ref::new(to)).await.map(drop)
                })
            }
            7 => {
                let id = self.id();
                let after = doc! { "_id": id, "host": to };
                one("insert a receipt", ("receipts", id), Some(after), async move {
                    let host = Ref::new(to);
                    odm.collection::<Receipt>()
                        .insert(NewReceipt { id, host })
                        .await
                        .map(drop)
                })
            }
            8 | 9 => match self.pick("logs") {
                Some((id, mut after)) => {
                    after.insert("host", to);
                    one("move", ("logs", id), Some(after), async move {
                        let logs = odm.collection::<Log>();
                        logs.update(id).set(|l| l.host, Ref::new(to)).await.map(drop)
                    })
                }
                None => self.insert_log(odm, to),
            },
            10 | 11 => self.insert_log(odm, to),
            12 => match self.pick("logs") {
                Some((id, _)) => one("delete", ("logs", id), None, async move {
                    odm.collection::<Log>().delete(id).await.map(drop)
                }),
                None => self.insert_log(odm, to),
            },
            13 => {
                let id = self.id();
                let parts: Vec<i32> = (0..3).map(|n| (to + n * 5) % SOURCES).collect();
                let entries: Vec<Raw> = parts.iter().map(|part| doc! { "id": part }).collect();
                let after = doc! { "_id": id, "title": &text, "parts": entries };
                let new = NewProduct {
                    id,
                    title: text,
                    parts: parts.into_iter().map(Ref::new).collect(),
                };
                one("insert with entries", ("products", id), Some(after), async move {
                    odm.collection::<Product>().insert(new).await.map(drop)
                })
            }
            14..=16 => match self.pick("products") {
                None => self.insert_log(odm, to),
                Some((id, mut after)) => {
                    let entries = after.get_array_mut("parts").expect("an array");
                    let has = entries.contains(&Bson::from(doc! { "id": to }));
                    if has || entries.len() > 6 {
                        let gone = entries[0]
                            .as_document()
                            .and_then(|entry| entry.get_i32("id").ok())
                            .expect("an id");
                        entries.retain(|entry| *entry != Bson::from(doc! { "id": gone }));
                        one("pull", ("products", id), Some(after), async move {
                            let products = odm.collection::<Product>();
                            products
                                .update(id)
                                .pull(|p| p.parts, Ref::new(gone))
                                .await
                                .map(drop)
                        })
                    } else {
                        entries.push(doc! { "id": to }.into());
                        one("push", ("products", id), Some(after), async move {
                            let products = odm.collection::<Product>();
                            products
                                .update(id)
                                .push(|p| p.parts, Ref::new(to))
                                .await
                                .map(drop)
                        })
                    }
                }
            },
            17 => match self.pick("products") {
                Some((id, _)) => one("delete with entries", ("products", id), None, async move {
                    odm.collection::<Product>().delete(id).await.map(drop)
                }),
                None => self.insert_log(odm, to),
            },
            18 | 19 => match self.pick("orders") {
                Some((id, mut after)) if after.contains_key("user") => {
                    after.remove("user");
                    one("unset", ("orders", id), Some(after), async move {
                        odm.collection::<Order>()
                            .update(id)
                            .unset(|o| o.user)
                            .await
                            .map(drop)
                    })
                }
                Some((id, mut after)) => {
                    after.insert("user", doc! { "id": to });
                    one("set", ("orders", id), Some(after), async move {
                        let orders = odm.collection::<Order>();
                        orders.update(id).set(|o| o.user, Ref::new(to)).await.map(drop)
                    })
                }
                None => {
                    let id = self.id();
                    let after = doc! { "_id": id, "what": &text, "user": { "id": to } };
                    let user = Some(Ref::new(to));
                    one("insert an order", ("orders", id), Some(after), async move {
                        let new = NewOrder { id, what: text, user };
                        odm.collection::<Order>().insert(new).await.map(drop)
                    })
                }
            },
            20 => {
                // Two writes of one transaction, where there are some.
                let (log, street) = (self.id(), self.id());
                let after = vec![
                    (
                        ("logs", log),
                        Some(doc! { "_id": log, "text": &text, "host": to }),
                    ),
                    (
                        ("streets", street),
                        Some(doc! { "_id": street, "name": &text, "city": to }),
                    ),
                ];
                let bulk = odm
                    .bulk()
                    // SecantusDB refuses that command as the first of a transaction.
                    .without_bulk_write_command()
                    .insert(NewLog {
                        id: log,
                        text: text.clone(),
                        host: Ref::new(to),
                    })
                    .insert(NewStreet {
                        id: street,
                        name: text,
                        city: Ref::new(to),
                    });
                Operation {
                    name: "bulk",
                    after,
                    run: async move { bulk.await.map(drop) }.boxed(),
                }
            }
            21 => {
                let id = self.id();
                let after = doc! { "_id": id, "city": to };
                one("insert a mayor", ("mayors", id), Some(after), async move {
                    let city = Ref::new(to);
                    odm.collection::<Mayor>()
                        .insert(NewMayor { id, city })
                        .await
                        .map(drop)
                })
            }
            22 => match self.pick("streets") {
                Some((id, mut after)) => {
                    after.insert("city", to);
                    one(
                        "move at the end of a chain",
                        ("streets", id),
                        Some(after),
                        async move {
                            let streets = odm.collection::<Street>();
                            streets.update(id).set(|s| s.city, Ref::new(to)).await.map(drop)
                        },
                    )
                }
                None => self.insert_log(odm, to),
            },
            23 => match self.pick("streets") {
                Some((id, _)) => one(
                    "delete at the end of a chain",
                    ("streets", id),
                    None,
                    async move { odm.collection::<Street>().delete(id).await.map(drop) },
                ),
                None => self.insert_log(odm, to),
            },
            24..=26 => child!(self, odm, self.random.below(7), Review, NewReview, "reviews"),
            27..=29 => child!(self, odm, self.random.below(7), Vote, NewVote, "votes"),
            30 => self.well(odm),
            _ => self.sample(odm),
        }
    }

    /// A parent comes, after its children or before them, or goes and leaves them.
    fn well(&mut self, odm: Odm) -> Operation {
        let id = self.number + TASKS * self.random.below(WELLS / TASKS);
        let name = format!("{}", self.random.below(1_000_000));
        let after = doc! { "_id": id, "name": &name };
        let there = self.own.contains_key(&("wells", id));
        match self.random.below(3) {
            0 if there => one("delete a parent", ("wells", id), None, async move {
                odm.collection::<Well>().delete(id).await.map(drop)
            }),
            0 => one("insert a parent", ("wells", id), Some(after), async move {
                odm.collection::<Well>()
                    .insert(NewWell { id, name })
                    .await
                    .map(drop)
            }),
            _ => one("upsert a parent", ("wells", id), Some(after), async move {
                let wells = odm.collection::<Well>();
                wells.update(id).set(|w| w.name, name).upsert().await.map(drop)
            }),
        }
    }

    /// A child that does not ask for its parent.
    fn sample(&mut self, odm: Odm) -> Operation {
        let (well, depth) = (self.random.below(WELLS), self.random.below(100));
        match (self.random.below(5), self.pick("samples")) {
            (0, Some((id, _))) => one(
                "delete a child that need not ask",
                ("samples", id),
                None,
                async move { odm.collection::<Sample>().delete(id).await.map(drop) },
            ),
            (1, Some((id, mut after))) => {
                after.insert("well", well);
                one(
                    "move a child that need not ask",
                    ("samples", id),
                    Some(after),
                    async move {
                        let samples = odm.collection::<Sample>();
                        samples.update(id).set(|s| s.well, Ref::new(well)).await.map(drop)
                    },
                )
            }
            (2, Some((id, mut after))) => {
                after.insert("depth", depth);
                one(
                    "set a child that need not ask",
                    ("samples", id),
                    Some(after),
                    async move {
                        let samples = odm.collection::<Sample>();
                        samples.update(id).set(|s| s.depth, depth).await.map(drop)
                    },
                )
            }
            _ => {
                let id = self.id();
                let after = doc! { "_id": id, "depth": depth, "well": well };
                let new = NewSample {
                    id,
                    depth,
                    well: Ref::new(well),
                };
                one(
                    "insert a child that need not ask",
                    ("samples", id),
                    Some(after),
                    async move { odm.collection::<Sample>().insert(new).await.map(drop) },
                )
            }
        }
    }

    fn insert_log(&mut self, odm: Odm, host: i32) -> Operation {
        let id = self.id();
        let after = doc! { "_id": id, "text": "log", "host": host };
        let new = NewLog {
            id,
            text: "log".into(),
            host: Ref::new(host),
        };
        one("insert", ("logs", id), Some(after), async move {
            odm.collection::<Log>().insert(new).await.map(drop)
        })
    }

    async fn process(&self) -> Process {
        let proxy = Proxy::start(&server(), 0).await;
        let db = through(&proxy, self.direct.name()).await;
        let odm = handle(db, self.alone);
        odm.server().await.unwrap();
        proxy.arm();
        Process { proxy, odm }
    }

    async fn run(mut self, operations: usize, kill_one_of: i32) -> Task {
        let mut process = self.process().await;
        for _ in 0..operations {
            if self.random.below(kill_one_of) == 0 {
                let commands = 1 + self.random.below(15) as usize;
                process.proxy.cut_after(commands);
            }
            let Operation { name, after, run } = self.operation(process.odm.clone());
            let mut running = tokio::spawn(run);
            let ended = tokio::select! {
                ended = &mut running => ended.ok(),
                () = process.proxy.cut() => {
                    running.abort();
                    running.await.ok()
                }
            };
            let cut = process.proxy.is_cut();
            if cut {
                self.kills += 1;
                process.proxy.bury().await;
                process = self.process().await;
            }
            match ended {
                Some(Ok(())) => {
                    for (key, after) in after {
                        self.note(key, after);
                    }
                }
                ended => {
                    if let (Some(Err(error)), false) = (&ended, cut) {
                        self.errors.push(format!("{name}: {error}"));
                    }
                    self.look(name, after).await;
                }
            }
        }
        process.proxy.bury().await;
        self
    }

    fn note(&mut self, key: Key, after: Option<Raw>) {
        match after {
            Some(after) => drop(self.own.insert(key, cleaned(after))),
            None => drop(self.own.remove(&key)),
        }
    }

    /// What an operation has done that did not come to its end.
    async fn look(&mut self, name: &str, after: Vec<(Key, Option<Raw>)>) {
        for (key, after) in after {
            let (collection, id) = key;
            let documents = self.direct.collection::<Raw>(collection);
            let now = documents.find_one(doc! { "_id": id }).await.unwrap();
            let now = now.and_then(|now| written(collection, now));
            let after = after.map(cleaned);
            let was = self.own.get(&key);
            assert!(
                now.as_ref() == was || now == after,
                "{name} of {key:?} is neither undone nor done:\n{was:?}\n{after:?}\n{now:?}"
            );
            self.done += usize::from(now == after);
            self.note(key, now);
        }
    }
}

fn handle(db: Database, alone: bool) -> Odm {
    let odm = Odm::new(db, models()).unwrap();
    match alone {
        true => odm.without_transactions(),
        false => odm,
    }
}

/// Makes the documents that others refer to.
async fn sources(odm: &Odm) {
    let ids = || 0..SOURCES;
    let text = |id: i32| format!("name {id}");
    odm.collection::<Host>()
        .insert_many(ids().map(|id| NewHost {
            id,
            name: text(id),
            ip: Some(text(id)),
            load: id,
        }))
        .await
        .unwrap();
    odm.collection::<Part>()
        .insert_many(ids().map(|id| NewPart {
            id,
            name: text(id),
            note: Some(text(id)),
            tags: vec![],
        }))
        .await
        .unwrap();
    odm.collection::<User>()
        .insert_many(ids().map(|id| NewUser {
            id,
            name: text(id),
            mail: Some(text(id)),
        }))
        .await
        .unwrap();
    odm.collection::<Region>()
        .insert_many(ids().map(|id| NewRegion {
            id,
            name: text(id),
            code: Some(text(id)),
        }))
        .await
        .unwrap();
    odm.collection::<City>()
        .insert_many(ids().map(|id| NewCity {
            id,
            name: text(id),
            region: Ref::new(id),
        }))
        .await
        .unwrap();
    odm.collection::<Shop>()
        .insert_many(ids().map(|id| NewShop { id, name: text(id) }))
        .await
        .unwrap();
    odm.collection::<Bar>()
        .insert_many(ids().map(|id| NewBar { id, name: text(id) }))
        .await
        .unwrap();
}

const COLLECTIONS: [&str; 17] = [
    "hosts", "logs", "receipts", "parts", "products", "users", "orders", "shops", "reviews", "bars", "votes",
    "regions", "cities", "streets", "mayors", "wells", "samples",
];

/// All documents, without what the library alone knows of them.
async fn stored(db: &Database) -> Written {
    let mut all = Written::new();
    for collection in COLLECTIONS {
        let documents = db.collection::<Raw>(collection).find(doc! {}).await.unwrap();
        let documents: Vec<Raw> = documents.try_collect().await.unwrap();
        for mut document in documents {
            let id = document.get_i32("_id").unwrap();
            document.remove("version");
            all.insert((collection, id), cleaned(document));
        }
    }
    all
}

/// What the application wrote, with the copies that follow from it.
fn with_copies(own: &Written) -> Written {
    let mut all = own.clone();
    let copy = |document: &mut Raw, source: &Raw, names: &[(&str, &str)]| {
        for (name, from) in names {
            if let Some(value) = source.get(from) {
                document.insert(*name, value.clone());
            }
        }
    };
    let of = |collection: &'static str| own.range((collection, i32::MIN)..=(collection, i32::MAX));
    // Cities first, since their copies are copied.
    let mut cities: BTreeMap<i32, Raw> = BTreeMap::new();
    for ((_, id), city) in of("cities") {
        let mut city = city.clone();
        let region = &own[&("regions", city.get_i32("region").unwrap())];
        copy(
            &mut city,
            region,
            &[("region_name", "name"), ("region_code", "code")],
        );
        let streets = of("streets")
            .filter(|(_, street)| street.get_i32("city").ok() == Some(*id))
            .count();
        city.insert("streets", streets as i64);
        cities.insert(*id, city);
    }
    for ((collection, id), document) in &mut all {
        let key = |name: &str| document.get_i32(name).unwrap();
        match *collection {
            "logs" => {
                let host = &own[&("hosts", key("host"))];
                let names = [("host_name", "name"), ("host_ip", "ip"), ("host_load", "load")];
                copy(document, host, &names);
            }
            "products" => {
                for entry in document.get_array_mut("parts").unwrap() {
                    let entry = entry.as_document_mut().unwrap();
                    let part = &own[&("parts", entry.get_i32("id").unwrap())];
                    copy(
                        entry,
                        part,
                        &[("name", "name"), ("note", "note"), ("tags", "tags")],
                    );
                }
            }
            "orders" => {
                if let Ok(user) = document.get_document_mut("user") {
                    let source = &own[&("users", user.get_i32("id").unwrap())];
                    copy(user, source, &[("name", "name"), ("mail", "mail")]);
                }
            }
            "cities" => *document = cities[id].clone(),
            "streets" => {
                let city = &cities[&key("city")];
                let names = [("region_name", "region_name"), ("region_code", "region_code")];
                copy(document, city, &names);
            }
            "mayors" => {
                let city = &cities[&key("city")];
                copy(document, city, &[("streets", "streets")]);
            }
            "shops" => {
                let mut children: Vec<(i32, i32, &Raw)> = of("reviews")
                    .filter(|(_, child)| child.get_i32("above").ok() == Some(*id))
                    .map(|((_, child_id), child)| (child.get_i32("stars").unwrap(), *child_id, child))
                    .collect();
                children.sort_by_key(|(stars, child_id, _)| std::cmp::Reverse((*stars, *child_id)));
                let best = children.iter().take(2).map(|(_, child_id, child)| {
                    let mut element = doc! { "id": child_id };
                    copy(&mut element, child, &[("text", "text"), ("stars", "stars")]);
                    element
                });
                document.insert("best", best.collect::<Vec<_>>());
            }
            "bars" => {
                let children: Vec<(i32, bool)> = of("votes")
                    .filter(|(_, child)| child.get_i32("above").ok() == Some(*id))
                    .map(|(_, child)| (child.get_i32("stars").unwrap(), child.get_bool("public").unwrap()))
                    .collect();
                let public: Vec<i32> = children
                    .iter()
                    .filter(|(_, public)| *public)
                    .map(|(stars, _)| *stars)
                    .collect();
                let sum = f64::from(public.iter().sum::<i32>());
                document.insert("votes", children.len() as i64);
                document.insert("public_votes", public.len() as i64);
                document.insert("rating", doc! { "sum": sum, "count": public.len() as i64 });
                let total: i64 = children.iter().map(|(stars, _)| i64::from(*stars)).sum();
                document.insert("total", total);
                if let Some(most) = children.iter().map(|(stars, _)| *stars).max() {
                    document.insert("most", most);
                }
            }
            "wells" => {
                let mut children: Vec<(i32, i32)> = of("samples")
                    .filter(|(_, child)| child.get_i32("well").ok() == Some(*id))
                    .map(|((_, child_id), child)| (child.get_i32("depth").unwrap(), *child_id))
                    .collect();
                children.sort_by_key(|child| std::cmp::Reverse(*child));
                let deepest = children.iter().take(2);
                let deepest = deepest.map(|(depth, child_id)| doc! { "id": child_id, "depth": depth });
                document.insert("samples", children.len() as i64);
                document.insert("deepest", deepest.collect::<Vec<_>>());
                document.insert("guards", 0_i64);
            }
            _ => {}
        }
        clean(document);
    }
    all
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
        let odm = handle(t.db.clone(), alone);
        if !alone && !odm.server().await.unwrap().has_transactions() {
            return;
        }
        println!("ODM_RANDOM_SEED={seed} ODM_RANDOM_OPERATIONS={operations} alone: {alone}");
        odm.sync().await.unwrap();
        sources(&odm).await;
        let first: Written = stored(&t.db)
            .await
            .into_iter()
            .filter_map(|(key, document)| Some((key, written(key.0, document)?)))
            .collect();
        let started = Instant::now();
        let worker = odm.worker(Duration::from_millis(500));
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
                done: 0,
                errors: Vec::new(),
            };
            tokio::spawn(task.run(operations / TASKS as usize, 40))
        });
        let tasks: Vec<Task> = join_all(tasks)
            .await
            .into_iter()
            .map(|task| task.unwrap())
            .collect();
        worker.stop().await;
        let took = started.elapsed();
        let recovered = odm.recover().await.unwrap();
        let mut own = Written::new();
        let (mut kills, mut done) = (0, 0);
        let mut errors: Vec<String> = Vec::new();
        for task in tasks {
            assert!(task.own.keys().all(|(_, id)| id % TASKS == task.number));
            own.extend(task.own);
            kills += task.kills;
            done += task.done;
            errors.extend(task.errors);
        }
        println!(
            "{operations} operations, {kills} kills (after {done} of them the operation was done), {} errors, {} documents, \
             {recovered:?}, {:.1} s",
            errors.len(),
            own.len(),
            took.as_secs_f64()
        );
        errors.iter().take(5).for_each(|error| println!("{error}"));
        let (wanted, mut found) = (with_copies(&own), stored(&t.db).await);
        for ((collection, _), document) in &mut found {
            if *collection == "receipts" {
                // A name that the host had once.
                assert!(document.remove("host_name").is_some());
            }
        }
        let audit = odm.audit().await.unwrap();
        let keys: std::collections::BTreeSet<&Key> = wanted.keys().chain(found.keys()).collect();
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
        let owing = doc! { "$or": [{ "_odm.owed": { "$exists": true } }, { "_odm.gone": true }] };
        for collection in COLLECTIONS {
            let documents = t.db.collection::<Raw>(collection);
            let count = documents.count_documents(owing.clone()).await.unwrap();
            assert_eq!(count, 0, "{collection} owe something");
        }
    });
}

#[test]
fn random_operations_end_as_the_model_says() {
    run(false);
}

#[test]
fn random_operations_without_transactions_end_as_the_model_says() {
    run(true);
}
