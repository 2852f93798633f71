//! Random operations by eight tasks on documents with every kind of edge, some of which are killed on the way.
//!
//! Each task owns the documents whose ids leave its number when divided by eight: it alone writes what the application
//! writes of them, while their references name documents of all tasks. So what the application wrote is known for sure, in
//! memory, and the copies follow from it; what the tasks contend for are the copies. Some of them follow in the
//! transaction of the write, others are declared to follow behind it.
//!
//! And there are documents that all tasks write. Each of those writes adds its number to a list in the document, so that the
//! list says which of them have happened, and in which order. What they make of the other fields, one after the other, is
//! what the document has to say; one whose end the task was told of has to be there, and none may be there twice.
//!
//! A task is killed by a proxy that cuts it off at one of its commands; whether that one operation has happened is read from
//! its documents, which has to be all of it or nothing, and the task goes on with a new handle. Meanwhile a worker pays what
//! the dead ones owe. At the end `recover()` runs, the audit is clean, and the database is what was computed in memory.
//!
//! `ODM_RANDOM_OPERATIONS` says how many operations there are (100,000 for a thorough run), `ODM_RANDOM_SEED` which; the seed
//! is printed. The operations of a task follow from it, but not how those of several tasks meet.

use super::crashes::atomic::{
    Bar, Board, City, Comment, CommentBucket, Host, Line, Log, Mayor, Member, NewBar, NewBoard, NewCity,
    NewHost, NewLog, NewMayor, NewMember, NewOrder, NewPart, NewPost, NewProduct, NewRegion, NewReview,
    NewSensor, NewShop, NewStreet, NewTeam, NewUser, NewVote, Order, Part, Post, Product, Reading,
    ReadingBucket, Region, Review, Sensor, Shop, Street, Team, User, Vote,
};
use super::crashes::eventual::{
    Basket, Course, Gift, Good, Grade, Guard, Item, Market, NewBasket, NewCourse, NewGood, NewGrade,
    NewMarket, NewOffer, NewSample, NewWell, Offer, Sample, Well,
};
use super::crashes::proxy::Proxy;
use super::crashes::{clean, remove, server, through};
use futures::TryStreamExt;
use futures::future::{BoxFuture, FutureExt, TryFutureExt, join_all};
use mongodb::Database;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm_tests::{lacks_transactions, with_db};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// What others refer to, and what goes with all of them.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "polls", version)]
pub struct Poll {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    pub version: i64,
}

/// It goes with its poll, and counts in a district.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "ballots", version)]
pub struct Ballot {
    #[serde(rename = "_id")]
    pub id: i32,
    pub weight: i32,
    #[reference(on_delete = cascade)]
    pub poll: Ref<Poll>,
    #[denormalize(from = poll.name)]
    pub poll_name: String,
    #[parent_ref]
    pub district: Ref<District>,
    pub version: i64,
}

/// It stays, while the children of all tasks come and go.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "districts", version)]
pub struct District {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[computed(count = Ballot)]
    pub ballots: i64,
    #[computed(sum = Ballot.weight)]
    pub weight: i64,
    #[subset(of = Ballot, limit = 2, order(-weight), fields(weight: i32, poll_name: String))]
    pub heaviest: Vec<HeaviestEntry>,
    pub version: i64,
}

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

/// What a small document with references is linked to on both sides.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "circuses", version)]
pub struct Circus {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[reference(many, inverse = circuses, max = 400)]
    pub acrobats: Vec<Ref<Acrobat>>,
    pub version: i64,
}

/// The side that is believed, since its name is the first.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "acrobats", version)]
pub struct Acrobat {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[reference(many, inverse = acrobats, max = 4)]
    pub circuses: Vec<Ref<Circus>>,
    #[reference(on_delete = nullify)]
    pub home: Option<Ref<Circus>>,
    #[denormalize(from = home.name, sync = eventual)]
    pub home_name: Option<String>,
    pub version: i64,
}

/// All tasks write it, and it counts what all tasks write.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tills", version)]
pub struct Till {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    pub total: i64,
    /// The operations that have happened, in their order.
    #[embed(max = 50_000)]
    pub done: Vec<i32>,
    #[computed(count = Stub)]
    pub stubs: i64,
    #[computed(sum = Stub.amount, sync = eventual)]
    pub amount: i64,
    #[subset(of = Stub, limit = 2, order(-amount), fields(amount: i32))]
    pub greatest: Vec<GreatestEntry>,
    pub version: i64,
}

/// All tasks write it, move it, and some of them delete it and make it again.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "stubs", version)]
pub struct Stub {
    #[serde(rename = "_id")]
    pub id: i32,
    pub amount: i32,
    #[embed(max = 50_000)]
    pub done: Vec<i32>,
    #[parent_ref]
    pub till: Ref<Till>,
    #[denormalize(from = till.name, sync = eventual)]
    pub till_name: String,
    #[denormalize(from = till.total, sync = eventual)]
    pub till_total: i64,
    pub version: i64,
}

const TASKS: i32 = 8;
/// One that is to be killed is killed at one of its next commands, of so many.
const KILLED_WITHIN: i32 = 15;
/// Of each kind of document that others refer to there are so many, always.
const SOURCES: i32 = 48;

/// There are so many parents that come and go at most.
const WELLS: i32 = 24;

/// A task has so many documents of a kind at most, then it deletes one: else there would be more and more of them, and each
/// operation would write more than the one before.
const MOST: usize = 24;

/// So many tills there are, always.
const TILLS: i32 = 6;

/// The first of these are always there; the others come and go.
const STUBS: i32 = 12;
const STAYING: i32 = 5;

const COPIES: [(&str, &str); 43] = [
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
    ("markets", "cheapest"),
    ("courses", "least"),
    ("courses", "greatest"),
    ("courses", "mean"),
    ("courses", "least_public"),
    ("courses", "sum_public"),
    ("boards", "newest"),
    ("baskets", "items.name"),
    ("baskets", "items.note"),
    ("baskets", "gift.name"),
    ("members", "fan_of_name"),
    // The members say which team is theirs.
    ("teams", "members"),
    ("teams", "size"),
    ("ballots", "poll_name"),
    ("districts", "ballots"),
    ("districts", "weight"),
    ("districts", "heaviest"),
    // The acrobats say which circuses are theirs.
    ("circuses", "acrobats"),
    ("acrobats", "home_name"),
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

/// What one operation does with a document that all tasks write.
#[derive(Clone, Debug)]
enum Deed {
    /// Of a till: its name is the number of the operation, and its total grows.
    Pay(i64),
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
    /// Whether it has happened; nobody knows of one whose task was killed.
    done: Option<bool>,
}

struct Operation {
    name: &'static str,
    /// What its documents are to be.
    after: Vec<(Key, Option<Raw>)>,
    /// They are written together: a transaction.
    whole: bool,
    /// What it does with documents that all tasks write.
    events: Vec<Event>,
    /// It has done nothing if this gives `false`: somebody else was first.
    run: BoxFuture<'static, odm::Result<bool>>,
}

fn models() -> Vec<odm::Model> {
    models![
        Host,
        Log,
        Receipt,
        Part,
        Product,
        User,
        Order,
        Shop,
        Review,
        Bar,
        Vote,
        Region,
        City,
        Street,
        Mayor,
        Well,
        Sample,
        Guard,
        Market,
        Offer,
        Course,
        Grade,
        Board,
        Line,
        Good,
        Basket,
        Team,
        Member,
        Poll,
        Ballot,
        District,
        Circus,
        Acrobat,
        Till,
        Stub,
        Post,
        CommentBucket,
        Sensor,
        ReadingBucket
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
    events: Vec<Event>,
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
                some("update_where", after, run)
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
        whole: true,
        events: vec![],
        run: run.map_ok(|()| true).boxed(),
    }
}

/// Of several documents, each of which may be written without the others.
fn some(
    name: &'static str,
    after: Vec<(Key, Option<Raw>)>,
    run: impl Future<Output = odm::Result<()>> + Send + 'static,
) -> Operation {
    Operation {
        name,
        after,
        whole: false,
        events: vec![],
        run: run.map_ok(|()| true).boxed(),
    }
}

/// Of documents that all tasks write.
fn contended(
    name: &'static str,
    events: Vec<Event>,
    run: impl Future<Output = odm::Result<()>> + Send + 'static,
) -> Operation {
    let run = async move {
        match run.await {
            Ok(()) => Ok(true),
            // Somebody else has deleted it, made it, or changed what was to be replaced.
            Err(
                odm::Error::NotFound { .. } | odm::Error::DuplicateKey { .. } | odm::Error::Conflict { .. },
            ) => Ok(false),
            Err(error) => Err(error),
        }
    };
    Operation {
        name,
        after: vec![],
        whole: false,
        events,
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
            Mayor "mayors", Sample "samples", Order "orders", Offer "offers", Grade "grades", Line "lines",
            Basket "baskets", Member "members", Ballot "ballots", Acrobat "acrobats"
        );
        if self.all("comments").count() > MOST {
            return self.delete_comment(odm);
        }
        if self.all("readings").count() > MOST {
            return self.delete_reading(odm);
        }
        None
    }

    fn operation(&mut self, odm: Odm) -> Operation {
        if let Some(delete) = self.too_many(&odm) {
            return delete;
        }
        let to = self.random.below(SOURCES);
        let text = format!("{}", self.random.below(1_000_000));
        match self.random.below(80) {
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
                some("bulk", after, async move { bulk.await.map(drop) })
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
            31..=33 => self.sample(odm),
            34..=35 => child!(self, odm, self.random.below(7), Offer, NewOffer, "offers"),
            36..=37 => child!(self, odm, self.random.below(7), Grade, NewGrade, "grades"),
            38 => self.line(odm),
            39..=41 => self.basket(odm),
            42..=43 => self.sources(odm),
            44..=48 => self.member(odm),
            49..=53 => self.poll(odm),
            54..=57 => self.comment(odm),
            58..=61 => self.reading(odm),
            62..=66 => self.acrobat(odm),
            67..=77 => self.contended(odm),
            _ => self.transaction(odm),
        }
    }

    /// Several sources by one write, of which each has holders of all tasks.
    fn sources(&mut self, odm: Odm) -> Operation {
        let text = format!("{}", self.random.below(1_000_000));
        let first = self.random.below(SOURCES);
        macro_rules! rename {
            ($Document:ident $name:literal) => {{
                let mine: Vec<i32> = self.all($name).filter(|id| *id >= first).take(3).collect();
                let after = mine.iter().map(|id| {
                    let mut after = self.own[&($name, *id)].clone();
                    after.insert("name", &text);
                    (($name, *id), Some(after))
                });
                let after = after.collect();
                some("update_where of sources", after, async move {
                    let sources = odm.collection::<$Document>();
                    sources
                        .update_where(|s| s.id.in_(mine))
                        .set(|s| s.name, text)
                        .await
                        .map(drop)
                })
            }};
        }
        macro_rules! parent {
            ($Document:ident $name:literal) => {{
                let (id, mut after) = self.source($name);
                after.insert("name", &text);
                one("update of a parent", ($name, id), Some(after), async move {
                    let parents = odm.collection::<$Document>();
                    parents.update(id).set(|p| p.name, text).await.map(drop)
                })
            }};
        }
        match self.random.below(11) {
            0 => rename!(Host "hosts"),
            1 => rename!(Part "parts"),
            2 => rename!(User "users"),
            3 => rename!(Region "regions"),
            4 => rename!(Good "goods"),
            5 => rename!(Team "teams"),
            6 => rename!(Poll "polls"),
            7 => rename!(Circus "circuses"),
            // And a parent, beside what is derived in it. One alone: SecantusDB hangs where an `updateMany` without a
            // transaction meets one that has another write in the same collection.
            8 => parent!(Shop "shops"),
            9 => parent!(Course "courses"),
            _ => parent!(District "districts"),
        }
    }

    /// A child that never changes.
    fn line(&mut self, odm: Odm) -> Operation {
        match (self.random.below(3), self.pick("lines")) {
            (0, Some((id, _))) => one("delete a line", ("lines", id), None, async move {
                odm.collection::<Line>().delete(id).await.map(drop)
            }),
            _ => {
                let (id, board, at) = (self.id(), self.random.below(SOURCES), self.random.below(20));
                let text = format!("line {id}");
                let after = doc! { "_id": id, "at": at, "text": &text, "board": board };
                let board = Ref::new(board);
                one("insert a line", ("lines", id), Some(after), async move {
                    let new = Line { id, at, text, board };
                    odm.collection::<Line>().insert(new).await.map(drop)
                })
            }
        }
    }

    /// Copies in what is embedded.
    fn basket(&mut self, odm: Odm) -> Operation {
        let (to, n) = (self.random.below(SOURCES), self.random.below(1_000));
        let item = move |n: i32| Item {
            n,
            good: Some(Ref::new(to)),
            name: None,
            note: None,
        };
        let picked = self.pick("baskets");
        let baskets = odm.collection::<Basket>();
        match (self.random.below(7), picked) {
            (0 | 1, _) | (_, None) => {
                let id = self.id();
                let items: Vec<Raw> = vec![doc! { "n": 0, "good": to }, doc! { "n": 1, "good": to }];
                let after = doc! { "_id": id, "title": "new", "items": items, "gift": { "good": to } };
                let new = NewBasket {
                    id,
                    title: "new".into(),
                    items: vec![item(0), item(1)],
                    gift: Gift {
                        good: Some(Ref::new(to)),
                        name: Some("a lie".into()),
                    },
                };
                one("insert a basket", ("baskets", id), Some(after), async move {
                    baskets.insert(new).await.map(drop)
                })
            }
            (2, Some((id, mut after))) => {
                after.get_document_mut("gift").expect("a gift").insert("good", to);
                one("set within", ("baskets", id), Some(after), async move {
                    baskets
                        .update(id)
                        .set(|b| b.gift.good, Ref::new(to))
                        .await
                        .map(drop)
                })
            }
            (3, Some((id, mut after))) => {
                after.get_document_mut("gift").expect("a gift").remove("good");
                one("unset within", ("baskets", id), Some(after), async move {
                    baskets.update(id).unset(|b| b.gift.good).await.map(drop)
                })
            }
            (4, Some((id, mut after))) => {
                let items = after.get_array_mut("items").expect("items");
                if items.len() < 4 {
                    items.push(doc! { "n": n, "good": to }.into());
                    one("push within", ("baskets", id), Some(after), async move {
                        baskets.update(id).push(|b| b.items, item(n)).await.map(drop)
                    })
                } else {
                    *items = vec![doc! { "n": n, "good": to }.into()];
                    one("set all within", ("baskets", id), Some(after), async move {
                        baskets.update(id).set(|b| b.items, vec![item(n)]).await.map(drop)
                    })
                }
            }
            (5, Some((id, mut after))) => {
                let items = after.get_array_mut("items").expect("items");
                let first = items[0].as_document_mut().expect("an item");
                let n = first.get_i32("n").expect("a number");
                // Others may have the same number.
                for item in items.iter_mut().filter_map(Bson::as_document_mut) {
                    if item.get_i32("n").ok() == Some(n) {
                        item.insert("good", to);
                    }
                }
                one("set in an item", ("baskets", id), Some(after), async move {
                    let update = baskets.update(id);
                    let update = update.elem(|b| b.items, |i| i.n.eq(n), |i| i.set(|i| i.good, Ref::new(to)));
                    update.await.map(drop)
                })
            }
            (_, Some((id, _))) => one("delete a basket", ("baskets", id), None, async move {
                baskets.delete(id).await.map(drop)
            }),
        }
    }

    /// One side of a two-way reference, whose other side is in a document of all tasks.
    fn member(&mut self, odm: Odm) -> Operation {
        let to = self.random.below(SOURCES);
        let (members, teams) = (odm.collection::<Member>(), odm.collection::<Team>());
        let picked = self.pick("members");
        match (self.random.below(9), picked) {
            (0 | 1, _) | (_, None) => {
                let id = self.id();
                let name = format!("member {id}");
                let fan_of = self.random.below(SOURCES);
                let mut after = doc! { "_id": id, "name": &name, "fan_of": fan_of };
                let team = (self.random.below(4) > 0).then_some(to);
                if let Some(team) = team {
                    after.insert("team", team);
                }
                let new = NewMember {
                    id,
                    name,
                    team: team.map(Ref::new),
                    fan_of: Some(Ref::new(fan_of)),
                };
                one("insert a member", ("members", id), Some(after), async move {
                    members.insert(new).await.map(drop)
                })
            }
            (2 | 3, Some((id, mut after))) => {
                after.insert("team", to);
                one("move a member", ("members", id), Some(after), async move {
                    members.update(id).set(|m| m.team, Ref::new(to)).await.map(drop)
                })
            }
            (4, Some((id, mut after))) => {
                after.remove("team");
                one("unset a team", ("members", id), Some(after), async move {
                    members.update(id).unset(|m| m.team).await.map(drop)
                })
            }
            (5, Some((id, mut after))) => {
                after.insert("fan_of", to);
                one("set beside a link", ("members", id), Some(after), async move {
                    members.update(id).set(|m| m.fan_of, Ref::new(to)).await.map(drop)
                })
            }
            (6, Some((id, mut after))) => {
                after.insert("team", to);
                one("push a member", ("members", id), Some(after), async move {
                    teams.update(to).push(|t| t.members, Ref::new(id)).await.map(drop)
                })
            }
            (7, Some((id, mut after))) if after.contains_key("team") => {
                let team = after.get_i32("team").expect("an id");
                after.remove("team");
                one("pull a member", ("members", id), Some(after), async move {
                    teams
                        .update(team)
                        .pull(|t| t.members, Ref::new(id))
                        .await
                        .map(drop)
                })
            }
            (_, Some((id, _))) => one("delete a member", ("members", id), None, async move {
                members.delete(id).await.map(drop)
            }),
        }
    }

    /// Documents that come and go with one that they refer to, and count in another.
    fn poll(&mut self, odm: Odm) -> Operation {
        let text = format!("{}", self.random.below(1_000_000));
        let (to, weight) = (self.random.below(SOURCES), self.random.below(100));
        let (polls, ballots) = (odm.collection::<Poll>(), odm.collection::<Ballot>());
        let (choice, poll, ballot) = (self.random.below(9), self.pick("polls"), self.pick("ballots"));
        match (choice, poll, ballot) {
            (0, ..) | (_, None, _) => {
                let id = self.id();
                let after = doc! { "_id": id, "name": &text };
                one("insert a poll", ("polls", id), Some(after), async move {
                    polls.insert(NewPoll { id, name: text }).await.map(drop)
                })
            }
            (1, Some((id, mut after)), _) => {
                after.insert("name", &text);
                one("rename a poll", ("polls", id), Some(after), async move {
                    polls.update(id).set(|p| p.name, text).await.map(drop)
                })
            }
            (2, Some((id, _)), _) => {
                let mut after = vec![(("polls", id), None)];
                let of = self.own.iter().filter(|((collection, _), document)| {
                    *collection == "ballots" && document.get_i32("poll").ok() == Some(id)
                });
                after.extend(of.map(|(key, _)| (*key, None)));
                some("delete, cascade", after, async move {
                    polls.delete(id).await.map(drop)
                })
            }
            (3, _, Some((id, mut after))) => {
                after.insert("district", to);
                one("move a ballot", ("ballots", id), Some(after), async move {
                    ballots
                        .update(id)
                        .set(|b| b.district, Ref::new(to))
                        .await
                        .map(drop)
                })
            }
            (4, Some((poll, _)), Some((id, mut after))) => {
                after.insert("poll", poll);
                after.insert("weight", weight);
                one("set a ballot", ("ballots", id), Some(after), async move {
                    let update = ballots.update(id).set(|b| b.poll, Ref::new(poll));
                    update.set(|b| b.weight, weight).await.map(drop)
                })
            }
            (5, _, Some(_)) => {
                let mine: Vec<i32> = self.all("ballots").take(3).collect();
                let after = mine.iter().map(|id| (("ballots", *id), None)).collect();
                some("delete_where", after, async move {
                    ballots.delete_where(|b| b.id.in_(mine)).await.map(drop)
                })
            }
            (_, Some((poll, _)), _) => {
                let new: Vec<NewBallot> = (0..3)
                    .map(|n| NewBallot {
                        id: self.id(),
                        weight: weight + n,
                        poll: Ref::new(poll),
                        district: Ref::new((to + 7 * n) % SOURCES),
                    })
                    .collect();
                let after = new.iter().map(|ballot| {
                    let (id, district) = (ballot.id, *ballot.district.key());
                    let after =
                        doc! { "_id": id, "weight": ballot.weight, "poll": poll, "district": district };
                    (("ballots", id), Some(after))
                });
                some("insert_many", after.collect(), async move {
                    ballots.insert_many(new).await.map(drop)
                })
            }
        }
    }

    /// An item of a bucket, in which all tasks have items.
    fn comment(&mut self, odm: Odm) -> Operation {
        let post = self.random.below(SOURCES);
        let (stars, at) = (self.random.below(10), self.random.below(1_000));
        let comments = odm.buckets::<Comment>();
        let new = move |n: i32| Comment {
            n,
            text: "new".into(),
            stars,
            at: DateTime::from_millis(i64::from(at)),
        };
        let after = |n: i32| {
            let at = DateTime::from_millis(i64::from(at));
            doc! { "n": n, "text": "new", "stars": stars, "at": at, "post": post }
        };
        let picked = self.pick("comments");
        match (self.random.below(8), picked) {
            (0..=2, _) | (_, None) => {
                let n = self.id();
                one("push a comment", ("comments", n), Some(after(n)), async move {
                    comments.push(post, new(n)).await.map(drop)
                })
            }
            (3, _) => {
                let all: Vec<i32> = (0..4).map(|_| self.id()).collect();
                let after = all.iter().map(|n| (("comments", *n), Some(after(*n)))).collect();
                some("push many comments", after, async move {
                    comments.push_many(post, all.into_iter().map(new)).await.map(drop)
                })
            }
            (4 | 5, Some((n, mut after))) => {
                let post = after.get_i32("post").expect("an id");
                after.insert("stars", stars);
                one("edit a comment", ("comments", n), Some(after), async move {
                    let edited = comments.edit(post, |c| c.n.eq(n), |c| c.set(|c| c.stars, stars));
                    edited.await.map(drop)
                })
            }
            (6, Some((n, mut after))) => {
                let post = after.get_i32("post").expect("an id");
                let at = DateTime::from_millis(i64::from(at));
                after.insert("at", at);
                one("edit a time", ("comments", n), Some(after), async move {
                    let edited = comments.edit(post, |c| c.n.eq(n), |c| c.set(|c| c.at, at));
                    edited.await.map(drop)
                })
            }
            _ => self.delete_comment(&odm).expect("one was picked"),
        }
    }

    fn delete_comment(&mut self, odm: &Odm) -> Option<Operation> {
        let (n, comment) = self.pick("comments")?;
        let (post, comments) = (comment.get_i32("post").ok()?, odm.buckets::<Comment>());
        Some(one("delete a comment", ("comments", n), None, async move {
            comments.delete(post, |c| c.n.eq(n)).await.map(drop)
        }))
    }

    /// The same by time.
    fn reading(&mut self, odm: Odm) -> Operation {
        let sensor = self.random.below(SOURCES);
        let (degrees, minute) = (self.random.below(10), self.random.below(240));
        let readings = odm.buckets::<Reading>();
        let time = |minute: i32| DateTime::from_millis(i64::from(minute) * 60_000);
        let picked = self.pick("readings");
        match (self.random.below(8), picked) {
            (0..=2, _) | (_, None) => {
                let n = self.id();
                let at = time(minute);
                let after = doc! { "n": n, "at": at, "degrees": degrees, "sensor": sensor };
                one("push a reading", ("readings", n), Some(after), async move {
                    readings.push(sensor, Reading { n, at, degrees }).await.map(drop)
                })
            }
            (3, _) => {
                // Of one hour, the next one, and the first one again.
                let new: Vec<Reading> = [0, 60, 1, 0]
                    .iter()
                    .map(|later| Reading {
                        n: self.id(),
                        at: time(minute + later),
                        degrees,
                    })
                    .collect();
                let after = new.iter().map(|r| {
                    let after = doc! { "n": r.n, "at": r.at, "degrees": degrees, "sensor": sensor };
                    (("readings", r.n), Some(after))
                });
                some("push many readings", after.collect(), async move {
                    readings.push_many(sensor, new).await.map(drop)
                })
            }
            (4..=6, Some((n, mut after))) => {
                let sensor = after.get_i32("sensor").expect("an id");
                let was = after.get_datetime("at").expect("a time").timestamp_millis();
                let within = i64::from(minute % 60) * 60_000;
                let at = DateTime::from_millis(was - was % 3_600_000 + within);
                let sum = after.get_i32("degrees").expect("a number") + 1;
                after.insert("at", at);
                after.insert("degrees", sum);
                one("edit a reading", ("readings", n), Some(after), async move {
                    let edited = readings.edit(
                        sensor,
                        |r| r.n.eq(n),
                        |r| r.set(|r| r.at, at).inc(|r| r.degrees, 1),
                    );
                    edited.await.map(drop)
                })
            }
            _ => self.delete_reading(&odm).expect("one was picked"),
        }
    }

    fn delete_reading(&mut self, odm: &Odm) -> Option<Operation> {
        let (n, reading) = self.pick("readings")?;
        let (sensor, readings) = (reading.get_i32("sensor").ok()?, odm.buckets::<Reading>());
        Some(one("delete a reading", ("readings", n), None, async move {
            readings.delete(sensor, |r| r.n.eq(n)).await.map(drop)
        }))
    }

    /// One side of a many-to-many, whose other side is in documents of all tasks.
    fn acrobat(&mut self, odm: Odm) -> Operation {
        let to = self.random.below(SOURCES);
        let (acrobats, circuses) = (odm.collection::<Acrobat>(), odm.collection::<Circus>());
        let picked = self.pick("acrobats");
        let several: Vec<i32> = (0..self.random.below(4))
            .map(|n| (to + n * 5) % SOURCES)
            .collect();
        let refs = |ids: &[i32]| ids.iter().map(|id| Ref::new(*id)).collect::<Vec<_>>();
        let linked = |acrobat: &Raw| -> Vec<i32> {
            let ids = acrobat.get_array("circuses").expect("an array");
            ids.iter().filter_map(Bson::as_i32).collect()
        };
        match (self.random.below(11), picked) {
            (0 | 1, _) | (_, None) => {
                let id = self.id();
                let name = format!("acrobat {id}");
                let home = self.random.below(SOURCES);
                let after = doc! { "_id": id, "name": &name, "circuses": &several, "home": home };
                let new = NewAcrobat {
                    id,
                    name,
                    circuses: refs(&several),
                    home: Some(Ref::new(home)),
                };
                one("insert an acrobat", ("acrobats", id), Some(after), async move {
                    acrobats.insert(new).await.map(drop)
                })
            }
            (n @ 2..=5, Some((id, mut after))) => {
                let mut ids = linked(&after);
                let other_side = n % 2 == 0;
                let push = ids.len() < 4 && !ids.contains(&to);
                let circus = match push {
                    true => {
                        ids.push(to);
                        to
                    }
                    false => ids.remove(self.random.below(ids.len() as i32) as usize),
                };
                after.insert("circuses", ids);
                one("link or unlink", ("acrobats", id), Some(after), async move {
                    let (acrobat, there) = (acrobats.update(id), circuses.update(circus));
                    let (circus, id) = (Ref::new(circus), Ref::new(id));
                    match (other_side, push) {
                        (false, true) => acrobat.push(|a| a.circuses, circus).await.map(drop),
                        (false, false) => acrobat.pull(|a| a.circuses, circus).await.map(drop),
                        (true, true) => there.push(|c| c.acrobats, id).await.map(drop),
                        (true, false) => there.pull(|c| c.acrobats, id).await.map(drop),
                    }
                })
            }
            (6, Some((id, mut after))) => {
                after.insert("circuses", &several);
                one("set all links", ("acrobats", id), Some(after), async move {
                    acrobats
                        .update(id)
                        .set(|a| a.circuses, refs(&several))
                        .await
                        .map(drop)
                })
            }
            (7, Some((id, mut after))) => {
                let mut ids = linked(&after);
                ids.pop();
                after.insert("circuses", ids);
                one("pop a link", ("acrobats", id), Some(after), async move {
                    acrobats.update(id).pop(|a| a.circuses).await.map(drop)
                })
            }
            (8, Some((id, _))) => {
                let name = format!("acrobat of {to}");
                let after = doc! { "_id": id, "name": &name, "circuses": &several, "home": to };
                one("replace an acrobat", ("acrobats", id), Some(after), async move {
                    let Some(mut now) = acrobats.get(id).await? else {
                        return Ok(());
                    };
                    now.name = name;
                    now.circuses = refs(&several);
                    now.home = Some(Ref::new(to));
                    acrobats.replace(now).await.map(drop)
                })
            }
            (9, Some((id, mut after))) => {
                after.insert("home", to);
                let mut ids = linked(&after);
                let gone = (!ids.is_empty()).then(|| ids.remove(0));
                after.insert("circuses", ids);
                one(
                    "unlink and set a copy's reference",
                    ("acrobats", id),
                    Some(after),
                    async move {
                        let mut update = acrobats.update(id).set(|a| a.home, Ref::new(to));
                        if let Some(gone) = gone {
                            update = update.pull(|a| a.circuses, Ref::new(gone));
                        }
                        update.await.map(drop)
                    },
                )
            }
            (_, Some((id, _))) => one("delete an acrobat", ("acrobats", id), None, async move {
                acrobats.delete(id).await.map(drop)
            }),
        }
    }

    /// A write of what the other tasks write too.
    fn contended(&mut self, odm: Odm) -> Operation {
        let number = self.id();
        let (till, stub) = (self.random.below(TILLS), self.random.below(STUBS));
        let amount = 1 + self.random.below(100);
        let event = |key: Key, deed: Deed| Event {
            number,
            key,
            deed,
            done: None,
        };
        let key = ("stubs", stub);
        let put = vec![event(key, Deed::Put { till, amount })];
        let (tills, stubs) = (odm.collection::<Till>(), odm.collection::<Stub>());
        match self.random.below(9) {
            0 | 1 => {
                let events = vec![event(("tills", till), Deed::Pay(amount.into()))];
                contended("pay", events, async move {
                    let update = tills.update(till).set(|t| t.name, format!("{number}"));
                    let update = update
                        .inc(|t| t.total, i64::from(amount))
                        .push(|t| t.done, number);
                    update.await.map(drop)
                })
            }
            2 => contended("move", vec![event(key, Deed::Move(till))], async move {
                let update = stubs.update(stub).set(|s| s.till, Ref::new(till));
                update.push(|s| s.done, number).await.map(drop)
            }),
            3 => contended("add", vec![event(key, Deed::Add(amount))], async move {
                let update = stubs.update(stub).inc(|s| s.amount, amount);
                update.push(|s| s.done, number).await.map(drop)
            }),
            4 => {
                let ids = [stub % STAYING, (stub + 1) % STAYING];
                let events = ids.map(|id| event(("stubs", id), Deed::Add(amount)));
                contended("add to several", events.into(), async move {
                    let update = stubs.update_where(|s| s.id.in_(ids));
                    let update = update.inc(|s| s.amount, amount).push(|s| s.done, number);
                    update.await.map(drop)
                })
            }
            5 => contended("replace", put, async move {
                let not_found = odm::Error::NotFound {
                    collection: "stubs",
                    id: Box::new(stub.into()),
                };
                let mut now = stubs.get(stub).await?.ok_or(not_found)?;
                now.amount = amount;
                now.till = Ref::new(till);
                now.done.push(number);
                stubs.replace(now).await.map(drop)
            }),
            6 => contended("upsert", put, async move {
                let update = stubs.update(stub).set(|s| s.amount, amount);
                let update = update.set(|s| s.till, Ref::new(till)).push(|s| s.done, number);
                update.upsert().await.map(drop)
            }),
            7 if stub >= STAYING => contended("delete", vec![event(key, Deed::Delete)], async move {
                stubs.delete(stub).await.map(drop)
            }),
            _ => contended("insert", put, async move {
                let new = NewStub {
                    id: stub,
                    amount,
                    done: vec![number],
                    till: Ref::new(till),
                };
                stubs.insert(new).await.map(drop)
            }),
        }
    }

    /// Several writes as one, where there are transactions.
    fn transaction(&mut self, odm: Odm) -> Operation {
        if self.alone {
            return self.sources(odm);
        }
        let to = self.random.below(SOURCES);
        let text = format!("{}", self.random.below(1_000_000));
        let stars = self.random.below(100);
        let mut after: Vec<(Key, Option<Raw>)> = Vec::new();
        let (host, mut renamed) = self.source("hosts");
        renamed.insert("name", &text);
        after.push((("hosts", host), Some(renamed)));
        let log = self.id();
        let new = doc! { "_id": log, "text": "log", "host": to };
        after.push((("logs", log), Some(new)));
        let vote = self.id();
        let new = doc! { "_id": vote, "stars": stars, "public": true, "tags": [], "above": to };
        after.push((("votes", vote), Some(new)));
        let review = self.pick("reviews").map(|(id, mut moved)| {
            moved.insert("above", to);
            after.push((("reviews", id), Some(moved)));
            id
        });
        let street = self.pick("streets").map(|(id, _)| {
            after.push((("streets", id), None));
            id
        });
        let member = self.pick("members").map(|(id, mut moved)| {
            moved.insert("team", to);
            after.push((("members", id), Some(moved)));
            id
        });
        let comment = (self.random.below(2) == 0).then(|| self.id());
        if let Some(n) = comment {
            let at = DateTime::from_millis(i64::from(stars));
            let new = doc! { "n": n, "text": "new", "stars": stars, "at": at, "post": to };
            after.push((("comments", n), Some(new)));
        }
        let poll = self.pick("polls").map(|(id, _)| {
            after.push((("polls", id), None));
            let of = self.own.iter().filter(|((collection, _), document)| {
                *collection == "ballots" && document.get_i32("poll").ok() == Some(id)
            });
            after.extend(of.map(|(key, _)| (*key, None)));
            id
        });
        let (number, till, amount) = (self.id(), self.random.below(TILLS), self.random.below(100));
        let event = Event {
            number,
            key: ("tills", till),
            deed: Deed::Pay(amount.into()),
            done: None,
        };
        let run = async move {
            let work = async |tx: odm::Tx| {
                let tills = tx.collection::<Till>();
                let update = tills.update(till);
                let update = update
                    .set(|t| t.name, format!("{number}"))
                    .inc(|t| t.total, i64::from(amount));
                update.push(|t| t.done, number).await?;
                let hosts = tx.collection::<Host>();
                hosts.update(host).set(|h| h.name, &text).await?;
                let new = NewLog {
                    id: log,
                    text: "log".into(),
                    host: Ref::new(to),
                };
                tx.collection::<Log>().insert(new).await?;
                let new = NewVote {
                    id: vote,
                    text: None,
                    stars,
                    public: true,
                    tags: vec![],
                    above: Ref::new(to),
                };
                tx.collection::<Vote>().insert(new).await?;
                if let Some(id) = review {
                    let reviews = tx.collection::<Review>();
                    reviews.update(id).set(|r| r.above, Ref::new(to)).await?;
                }
                if let Some(id) = street {
                    tx.collection::<Street>().delete(id).await?;
                }
                if let Some(id) = member {
                    let teams = tx.collection::<Team>();
                    teams.update(to).push(|t| t.members, Ref::new(id)).await?;
                }
                if let Some(n) = comment {
                    let at = DateTime::from_millis(i64::from(stars));
                    let text = "new".into();
                    let comments = tx.buckets::<Comment>();
                    comments.push(to, Comment { n, text, stars, at }).await?;
                }
                if let Some(id) = poll {
                    tx.collection::<Poll>().delete(id).await?;
                }
                Ok(())
            };
            odm.transaction(work).await
        };
        Operation {
            name: "transaction",
            after,
            whole: true,
            events: vec![event],
            run: run.map_ok(|()| true).boxed(),
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
        let proxy = Proxy::start(&server().await, 0).await;
        let db = through(&proxy, self.direct.name()).await;
        let odm = handle(db, self.alone);
        odm.server().await.unwrap();
        proxy.arm();
        Process { proxy, odm }
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
            let Operation {
                name,
                after,
                whole,
                events,
                run,
            } = self.operation(process.odm.clone());
            let mut running = tokio::spawn(run);
            let ended = tokio::select! {
                ended = &mut running => ended,
                () = process.proxy.cut() => {
                    running.abort();
                    running.await
                }
            };
            // One that was cut off has ended somehow, but never by a panic.
            let ended = match ended {
                Ok(ended) => Some(ended),
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => None,
            };
            let cut = process.proxy.is_cut();
            if cut {
                self.kills += 1;
                dies = false;
                process.proxy.bury().await;
                process = self.process().await;
            }
            let done = match &ended {
                Some(Ok(done)) => Some(*done),
                _ => None,
            };
            self.events
                .extend(events.into_iter().map(|event| Event { done, ..event }));
            match ended {
                Some(Ok(_)) => {
                    for (key, after) in after {
                        self.note(key, after);
                    }
                }
                ended => {
                    if let (Some(Err(error)), false) = (&ended, cut) {
                        self.errors.push(format!("{name}: {error}"));
                    }
                    self.look(name, after, whole).await;
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
    async fn look(&mut self, name: &str, after: Vec<(Key, Option<Raw>)>, whole: bool) {
        let (mut undone, mut done) = (Vec::new(), Vec::new());
        for (key, after) in after {
            let now = now(&self.direct, key).await;
            let after = after.map(cleaned);
            let was = self.own.get(&key);
            assert!(
                now.as_ref() == was || now == after,
                "{name} of {key:?} is neither undone nor done:\n{was:?}\n{after:?}\n{now:?}"
            );
            if was != after.as_ref() {
                match now == after {
                    true => done.push(key),
                    false => undone.push(key),
                }
            }
            self.note(key, now);
        }
        assert!(
            !whole || undone.is_empty() || done.is_empty(),
            "{name} is done in part: {done:?} and not {undone:?}"
        );
        self.done += done.len();
    }
}

/// What is stored of a document, or of an item, that the application wrote.
async fn now(db: &Database, (collection, id): Key) -> Option<Raw> {
    let Some((_, buckets, parent)) = BUCKETS.into_iter().find(|(items, ..)| *items == collection) else {
        let documents = db.collection::<Raw>(collection);
        let now = documents.find_one(doc! { "_id": id }).await.unwrap();
        return now.and_then(|now| written(collection, now));
    };
    let holding = doc! { format!("{collection}.n"): id };
    let bucket = db.collection::<Raw>(buckets).find_one(holding).await.unwrap()?;
    items(&bucket, collection, parent).remove(&id)
}

/// The items of a bucket, by their numbers, with the parent that they are of.
fn items(bucket: &Raw, items: &str, parent: &str) -> BTreeMap<i32, Raw> {
    let all = bucket.get_array(items).unwrap();
    all.iter()
        .map(|item| {
            let mut item = item.as_document().unwrap().clone();
            item.insert(parent, bucket.get(parent).unwrap().clone());
            (item.get_i32("n").unwrap(), cleaned(item))
        })
        .collect()
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
    macro_rules! parents {
        ($($Document:ident $New:ident),*) => {$(
            let new = ids().map(|id| $New { id, name: text(id) });
            odm.collection::<$Document>().insert_many(new).await.unwrap();
        )*};
    }
    parents!(
        Bar NewBar, Market NewMarket, Course NewCourse, Board NewBoard, District NewDistrict, Post NewPost,
        Sensor NewSensor
    );
    odm.collection::<Circus>()
        .insert_many(ids().map(|id| NewCircus {
            id,
            name: text(id),
            acrobats: vec![],
        }))
        .await
        .unwrap();
    odm.collection::<Till>()
        .insert_many((0..TILLS).map(|id| NewTill {
            id,
            name: String::new(),
            total: 0,
            done: vec![],
        }))
        .await
        .unwrap();
    odm.collection::<Stub>()
        .insert_many((0..STUBS).map(|id| NewStub {
            id,
            amount: 0,
            done: vec![],
            till: Ref::new(id % TILLS),
        }))
        .await
        .unwrap();
    odm.collection::<Good>()
        .insert_many(ids().map(|id| NewGood {
            id,
            name: text(id),
            note: Some(text(id)),
        }))
        .await
        .unwrap();
    odm.collection::<Team>()
        .insert_many(ids().map(|id| NewTeam {
            id,
            name: text(id),
            members: vec![],
        }))
        .await
        .unwrap();
}

const COLLECTIONS: [&str; 37] = [
    "hosts",
    "logs",
    "receipts",
    "parts",
    "products",
    "users",
    "orders",
    "shops",
    "reviews",
    "bars",
    "votes",
    "regions",
    "cities",
    "streets",
    "mayors",
    "wells",
    "samples",
    "markets",
    "offers",
    "courses",
    "grades",
    "boards",
    "lines",
    "goods",
    "baskets",
    "teams",
    "members",
    "polls",
    "ballots",
    "districts",
    "posts",
    "sensors",
    "guards",
    "circuses",
    "acrobats",
    "tills",
    "stubs",
];

/// What is kept in buckets: the items, the collection, the parent.
const BUCKETS: [(&str, &str, &str); 2] = [
    ("comments", "comment_buckets", "post"),
    ("readings", "reading_buckets", "sensor"),
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
            for side in ["members", "acrobats"] {
                if let Ok(linked) = document.get_array_mut(side) {
                    // In whichever order they came.
                    linked.sort_by_key(|id| id.as_i32());
                }
            }
            all.insert((collection, id), cleaned(document));
        }
    }
    for (name, collection, parent) in BUCKETS {
        let order = doc! { parent: 1, "start": 1, "page": 1 };
        let stored = db.collection::<Raw>(collection);
        let buckets = stored.find(doc! {}).sort(order).await.unwrap();
        let buckets: Vec<Raw> = buckets.try_collect().await.unwrap();
        holds_what_it_says(&buckets, name, parent);
        for bucket in &buckets {
            for (n, item) in items(bucket, name, parent) {
                assert_eq!(all.insert((name, n), item), None, "{n} of {name} is there twice");
            }
        }
    }
    all
}

/// What each bucket says of its items is so, none is overfilled, no page is missing, and each task's items stand in the order
/// in which it has pushed them.
fn holds_what_it_says(buckets: &[Raw], name: &str, parent: &str) {
    let mut before: Option<(Bson, Option<DateTime>, i32)> = None;
    let mut pushed: BTreeMap<(String, i32), i32> = BTreeMap::new();
    let number = |document: &Raw, name: &str| document.get_i32(name).unwrap();
    for bucket in buckets {
        let start = bucket.get_datetime("start").ok().copied();
        let (of, page) = (bucket.get(parent).unwrap().clone(), number(bucket, "page"));
        let wanted = match &before {
            Some((parent, started, page)) if (parent, *started) == (&of, start) => page + 1,
            _ => 1,
        };
        assert_eq!(page, wanted, "{bucket}");
        before = Some((of.clone(), start, page));
        let items: Vec<&Raw> = bucket
            .get_array(name)
            .unwrap()
            .iter()
            .map(|item| item.as_document().unwrap())
            .collect();
        let (count, room) = (number(bucket, "count"), number(bucket, "room"));
        assert!(
            count as usize == items.len() && count + room <= 3 && room >= 0,
            "{bucket}"
        );
        let times: Vec<DateTime> = items
            .iter()
            .map(|item| *item.get_datetime("at").unwrap())
            .collect();
        assert_eq!(bucket.get_datetime("first").ok(), times.iter().min(), "{bucket}");
        assert_eq!(bucket.get_datetime("last").ok(), times.iter().max(), "{bucket}");
        let summed = if name == "comments" { "stars" } else { "degrees" };
        let sum: i64 = items.iter().map(|item| i64::from(number(item, summed))).sum();
        assert_eq!(bucket.get_i64(format!("sum_{summed}")).unwrap(), sum, "{bucket}");
        for (item, at) in items.iter().zip(times) {
            if let Some(start) = start {
                let since = at.timestamp_millis() - start.timestamp_millis();
                assert!((0..3_600_000).contains(&since), "{bucket}");
            }
            let n = number(item, "n");
            let key = (format!("{of} {start:?}"), n % TASKS);
            let last = pushed.insert(key, n);
            assert!(
                last.is_none_or(|last| last < n),
                "{last:?} comes before {n}: {bucket}"
            );
        }
    }
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
            "markets" => {
                let mut children: Vec<(i32, i32, &Raw)> = of("offers")
                    .filter(|(_, child)| child.get_i32("above").ok() == Some(*id))
                    .filter(|(_, child)| child.get_bool("public").unwrap())
                    .map(|((_, child_id), child)| (child.get_i32("stars").unwrap(), *child_id, child))
                    .collect();
                children.sort_by_key(|(stars, child_id, _)| (*stars, *child_id));
                let cheapest = children.iter().take(2).map(|(_, child_id, child)| {
                    let mut element = doc! { "id": child_id };
                    copy(&mut element, child, &[("text", "text"), ("stars", "stars")]);
                    element
                });
                document.insert("cheapest", cheapest.collect::<Vec<_>>());
            }
            "courses" => {
                let children: Vec<(i32, bool)> = of("grades")
                    .filter(|(_, child)| child.get_i32("above").ok() == Some(*id))
                    .map(|(_, child)| (child.get_i32("stars").unwrap(), child.get_bool("public").unwrap()))
                    .collect();
                let all = || children.iter().map(|(stars, _)| *stars);
                let public = || {
                    children
                        .iter()
                        .filter(|(_, public)| *public)
                        .map(|(stars, _)| *stars)
                };
                let sum = f64::from(all().sum::<i32>());
                document.insert("mean", doc! { "sum": sum, "count": children.len() as i64 });
                document.insert("sum_public", i64::from(public().sum::<i32>()));
                document.insert("least", all().min());
                document.insert("greatest", all().max());
                document.insert("least_public", public().min());
            }
            "boards" => {
                let mut children: Vec<(i32, i32, &Raw)> = of("lines")
                    .filter(|(_, child)| child.get_i32("board").ok() == Some(*id))
                    .map(|((_, child_id), child)| (child.get_i32("at").unwrap(), *child_id, child))
                    .collect();
                children.sort_by_key(|(at, child_id, _)| (*at, *child_id));
                let newest = children.iter().skip(children.len().saturating_sub(2));
                let newest =
                    newest.map(|(at, _, child)| doc! { "at": at, "text": child.get_str("text").unwrap() });
                document.insert("newest", newest.collect::<Vec<_>>());
            }
            "baskets" => {
                let good = |within: &Raw| Some(&own[&("goods", within.get_i32("good").ok()?)]);
                for item in document.get_array_mut("items").unwrap() {
                    let item = item.as_document_mut().unwrap();
                    if let Some(good) = good(item) {
                        copy(item, good, &[("name", "name"), ("note", "note")]);
                    }
                }
                let gift = document.get_document_mut("gift").unwrap();
                if let Some(good) = good(gift) {
                    copy(gift, good, &[("name", "name")]);
                }
            }
            "members" => {
                let team = &own[&("teams", key("fan_of"))];
                copy(document, team, &[("fan_of_name", "name")]);
            }
            "teams" => {
                let members: Vec<i32> = of("members")
                    .filter(|(_, member)| member.get_i32("team").ok() == Some(*id))
                    .map(|((_, member_id), _)| *member_id)
                    .collect();
                document.insert("size", members.len() as i64);
                document.insert("members", members);
            }
            "ballots" => {
                let poll = &own[&("polls", key("poll"))];
                copy(document, poll, &[("poll_name", "name")]);
            }
            "districts" => {
                let mut children: Vec<(i32, i32, &Raw)> = of("ballots")
                    .filter(|(_, child)| child.get_i32("district").ok() == Some(*id))
                    .map(|((_, child_id), child)| (child.get_i32("weight").unwrap(), *child_id, child))
                    .collect();
                children.sort_by_key(|(weight, child_id, _)| std::cmp::Reverse((*weight, *child_id)));
                let heaviest = children.iter().take(2).map(|(weight, child_id, child)| {
                    let poll = &own[&("polls", child.get_i32("poll").unwrap())];
                    let mut element = doc! { "id": child_id, "weight": weight };
                    copy(&mut element, poll, &[("poll_name", "name")]);
                    element
                });
                document.insert("heaviest", heaviest.collect::<Vec<_>>());
                document.insert("ballots", children.len() as i64);
                let weight: i64 = children.iter().map(|(weight, ..)| i64::from(*weight)).sum();
                document.insert("weight", weight);
            }
            "circuses" => {
                let acrobats = of("acrobats").filter(|(_, acrobat)| {
                    acrobat
                        .get_array("circuses")
                        .is_ok_and(|of| of.contains(&Bson::from(*id)))
                });
                let acrobats: Vec<i32> = acrobats.map(|((_, acrobat), _)| *acrobat).collect();
                document.insert("acrobats", acrobats);
            }
            "acrobats" => {
                let circus = &own[&("circuses", key("home"))];
                copy(document, circus, &[("home_name", "name")]);
            }
            "tills" => {
                let mut children: Vec<(i32, i32)> = of("stubs")
                    .filter(|(_, child)| child.get_i32("till").ok() == Some(*id))
                    .map(|((_, child_id), child)| (child.get_i32("amount").unwrap(), *child_id))
                    .collect();
                children.sort_by_key(|child| std::cmp::Reverse(*child));
                let greatest = children.iter().take(2);
                let greatest = greatest.map(|(amount, child_id)| doc! { "id": child_id, "amount": amount });
                document.insert("greatest", greatest.collect::<Vec<_>>());
                document.insert("stubs", children.len() as i64);
                let sum: i64 = children.iter().map(|(amount, _)| i64::from(*amount)).sum();
                document.insert("amount", sum);
            }
            "stubs" => {
                let till = &own[&("tills", key("till"))];
                copy(document, till, &[("till_name", "name"), ("till_total", "total")]);
            }
            _ => {}
        }
        clean(document);
    }
    all
}

/// What the documents that all tasks write have to be, but for their copies, after the operations that they list.
fn after_all(events: &[Event], found: &Written) -> Written {
    let known: BTreeMap<(i32, Key), &Event> = events
        .iter()
        .map(|event| ((event.number, event.key), event))
        .collect();
    let mut wanted = Written::new();
    for (key, document) in found {
        if !["tills", "stubs"].contains(&key.0) {
            continue;
        }
        let mut after = doc! { "_id": key.1 };
        if key.0 == "tills" {
            after.extend(doc! { "name": "", "total": 0_i64 });
        } else {
            after.extend(doc! { "amount": 0, "till": key.1 % TILLS });
        }
        let done = document.get_array("done").unwrap();
        let mut seen = BTreeSet::new();
        for number in done.iter().map(|number| number.as_i32().unwrap()) {
            assert!(seen.insert(number), "{number} has happened twice: {document}");
            let event = known.get(&(number, *key));
            let event = event.unwrap_or_else(|| panic!("{number} was never of {key:?}: {document}"));
            assert_ne!(event.done, Some(false), "{event:?} has happened: {document}");
            match event.deed {
                Deed::Pay(amount) => {
                    after.insert("name", format!("{number}"));
                    after.insert("total", after.get_i64("total").unwrap() + amount);
                }
                Deed::Move(till) => drop(after.insert("till", till)),
                Deed::Add(amount) => drop(after.insert("amount", after.get_i32("amount").unwrap() + amount)),
                Deed::Put { till, amount } => after.extend(doc! { "till": till, "amount": amount }),
                Deed::Delete => panic!("{event:?} is listed: {document}"),
            }
        }
        after.insert("done", done.clone());
        wanted.insert(*key, cleaned(after));
    }
    for event in events.iter().filter(|event| event.done == Some(true)) {
        let may_be_gone = event.key.0 == "stubs" && event.key.1 >= STAYING;
        let Some(document) = found.get(&event.key) else {
            assert!(may_be_gone, "{event:?}, and the document is gone");
            continue;
        };
        let listed = document
            .get_array("done")
            .is_ok_and(|done| done.contains(&Bson::from(event.number)));
        assert!(listed || may_be_gone, "{event:?} is lost: {document}");
    }
    wanted
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
        if !alone && lacks_transactions(&odm).await {
            return;
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
                events: Vec::new(),
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
        meets_the_living.abort();
        let took = started.elapsed();
        let recovered = odm.recover().await.unwrap();
        let mut own = Written::new();
        let (mut kills, mut done) = (0, 0);
        let (mut errors, mut events) = (Vec::<String>::new(), Vec::<Event>::new());
        for task in tasks {
            assert!(task.own.keys().all(|(_, id)| id % TASKS == task.number));
            own.extend(task.own);
            events.extend(task.events);
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
        let each = operations / TASKS as usize;
        if each - each / 2 >= KILLED_WITHIN as usize {
            assert!(
                kills >= TASKS as usize,
                "each of {TASKS} processes is killed once at least, and {kills} kills were there"
            );
        }
        errors.iter().take(5).for_each(|error| println!("{error}"));
        let mut found = stored(&t.db).await;
        own.extend(after_all(&events, &found));
        let wanted = with_copies(&own);
        for ((collection, _), document) in &mut found {
            if *collection == "receipts" {
                // A name that the host had once.
                assert!(document.remove("host_name").is_some());
            }
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
        let owing = doc! { "$or": [
            { "_odm.owed": { "$exists": true } },
            { "_odm.gone": true },
            { "_odm.links": { "$exists": true } },
        ] };
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
