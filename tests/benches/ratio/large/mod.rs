//! Documents of two kilobytes, as of a shop that has grown: what the codec saves where documents are large. Each row on the server, and
//! reads against answers from memory too, since a slow server hides the client.

mod replay;

use crate::pairs::Pairs;
use crate::report::{Measured, Report, Single};
use crate::scenarios::{pairs, timed};
use crate::{Options, Result};
use futures::TryStreamExt;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{DateTime, Decimal128, doc};
use mongodb::options::{ClientOptions, ServerMonitoringMode};
use mongodb::{Client, Database};
use odm::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

const NAMES: [&str; 10] = [
    "large: find 20,000 mixed",
    "large: find 20,000 mixed, from memory",
    "large: first of 20,000 mixed, from memory",
    "large: find 20,000 texts",
    "large: find 20,000 texts, from memory",
    "large: insert_many 1,000 mixed",
    "large: pages of 500 mixed",
    "large: pages of 500 mixed, from memory",
    "large: join 200 x 20 mixed",
    "large: join 200 x 20 mixed, from memory",
];

/// The suffix of the database.
pub const DATABASE: &str = "_large";

const STORED: usize = 20_000;
const BATCH: usize = 1_000;
const PAGE: u32 = 500;
const SHELVES: usize = 200;
const ON_A_SHELF: usize = 20;
/// Of these the shelves hold some.
const ITEMS: usize = 1_000;

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Address {
    #[field(max_len = 100)]
    street: String,
    #[field(max_len = 100)]
    city: String,
    zip: i32,
    longitude: f64,
    latitude: f64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Line {
    product: ObjectId,
    #[field(max_len = 20)]
    sku: String,
    #[field(min = 1)]
    quantity: i32,
    price: Decimal128,
    tax: f64,
    reserved: bool,
    shipped_at: Option<DateTime>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Event {
    at: DateTime,
    kind: i32,
    by: ObjectId,
}

/// Ids, numbers, dates, decimals, texts, and structs in arrays: 1.8 kB.
#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "mixed")]
struct Mixed {
    #[serde(rename = "_id")]
    id: ObjectId,
    number: i64,
    #[field(max_len = 100)]
    email: String,
    placed_at: DateTime,
    changed_at: Option<DateTime>,
    shipped: bool,
    total: Decimal128,
    discount: f64,
    address: Address,
    #[embed(max = 10)]
    #[field(max_len = 20)]
    tags: Vec<String>,
    #[embed(max = 50)]
    lines: Vec<Line>,
    #[embed(max = 50)]
    events: Vec<Event>,
    #[embed(max = 50)]
    scores: Vec<f64>,
    #[embed(max = 50)]
    counts: Vec<i32>,
    #[field(max_len = 500)]
    note: Option<String>,
}

/// Texts alone: 1.8 kB.
#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "texts")]
struct Texts {
    #[serde(rename = "_id")]
    id: String,
    #[field(max_len = 200)]
    title: String,
    #[field(max_len = 1_000)]
    summary: String,
    #[field(max_len = 2_000)]
    body: String,
    #[field(max_len = 100)]
    author: String,
    #[embed(max = 40)]
    #[field(max_len = 100)]
    words: Vec<String>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "shelves")]
struct Shelf {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(many, max = 50)]
    items: Vec<Ref<Mixed>>,
}

/// A shelf as one statement gives it.
#[derive(Deserialize)]
struct WithItems {
    #[serde(flatten)]
    _shelf: Shelf,
    joined: Vec<Mixed>,
}

fn id(n: usize) -> ObjectId {
    let mut bytes = [7; 12];
    bytes[..8].copy_from_slice(&(n as u64).to_be_bytes());
    ObjectId::from_bytes(bytes)
}

fn decimal(n: usize) -> Decimal128 {
    format!("{}.{:02}", n % 1_000, n % 100)
        .parse()
        .expect("is a number")
}

fn date(n: usize) -> DateTime {
    DateTime::from_millis(1_700_000_000_000 + n as i64 * 1_000)
}

fn mixed(n: usize) -> Mixed {
    Mixed {
        id: id(n),
        number: n as i64,
        email: format!("customer{n:07}@example.com"),
        placed_at: date(n),
        changed_at: n.is_multiple_of(2).then(|| date(n + 1)),
        shipped: n.is_multiple_of(3),
        total: decimal(n),
        discount: n as f64 / 7.0,
        address: Address {
            street: format!("Kastanienallee {}", n % 200),
            city: "São Paulo".to_owned(),
            zip: (n % 99_999) as i32,
            longitude: 13.4,
            latitude: 52.5,
        },
        tags: (0..5).map(|tag| format!("tag {}", n % 97 + tag)).collect(),
        lines: (0..8)
            .map(|line| Line {
                product: id(n + line),
                sku: format!("SKU-{:06}", n + line),
                quantity: 1 + line as i32,
                price: decimal(n + line),
                tax: 0.19,
                reserved: line % 2 == 0,
                shipped_at: (line % 3 == 0).then(|| date(line)),
            })
            .collect(),
        events: (0..6)
            .map(|event| Event {
                at: date(n + event),
                kind: event as i32,
                by: id(event),
            })
            .collect(),
        scores: (0..10).map(|score| score as f64 * 0.5).collect(),
        counts: (0..10).collect(),
        note: n.is_multiple_of(2).then(|| "Please ring twice.".to_owned()),
    }
}

fn texts(n: usize) -> Texts {
    let words = |count: usize| -> String {
        let words =
            (0..count).map(|at| ["database", "of", "documents", "written", "by", "programs"][(n + at) % 6]);
        words.collect::<Vec<_>>().join(" ")
    };
    Texts {
        id: format!("article-{n:07}"),
        title: words(8),
        summary: words(40),
        body: words(125),
        author: "Kate Monster".to_owned(),
        words: (0..20)
            .map(|at| format!("word number {}", n % 100 + at))
            .collect(),
    }
}

fn shelf(n: usize) -> Shelf {
    let item = |at: usize| Ref::new(id((n * 31 + at * 7) % ITEMS));
    Shelf {
        id: n as i32,
        items: (0..ON_A_SHELF).map(item).collect(),
    }
}

pub fn is_wanted(options: &Options) -> bool {
    NAMES.iter().any(|name| options.wants(name))
}

/// The handles of both sides.
struct Sides {
    odm: Odm,
    db: Database,
}

impl Sides {
    fn new(db: Database) -> Result<Sides> {
        let odm = Odm::new(db.clone(), models![Mixed, Texts, Shelf])?;
        Ok(Sides { odm, db })
    }
}

async fn prepare(db: &Database) -> Result<()> {
    for batch in 0..STORED / BATCH {
        let all = batch * BATCH..(batch + 1) * BATCH;
        let (orders, articles): (Vec<_>, Vec<_>) = all.map(|n| (mixed(n), texts(n))).unzip();
        db.collection::<Mixed>("mixed").insert_many(&orders).await?;
        db.collection::<Texts>("texts").insert_many(&articles).await?;
    }
    let shelves: Vec<Shelf> = (0..SHELVES).map(shelf).collect();
    db.collection::<Shelf>("shelves").insert_many(&shelves).await?;
    let size = |bytes: usize| assert!((1_650..1_950).contains(&bytes), "a document has {bytes} bytes");
    size(mongodb::bson::serialize_to_vec(&mixed(2))?.len());
    size(mongodb::bson::serialize_to_vec(&texts(2))?.len());
    Ok(())
}

pub async fn measure(
    client: &Client,
    uri: &str,
    name: &str,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let database = format!("{name}{DATABASE}");
    let db = client.database(&database);
    prepare(&db).await?;
    let on_server = Sides::new(db)?;
    let mut through = ClientOptions::parse(uri).await?;
    let server = through.hosts.first().ok_or("there is no server")?.to_string();
    through.hosts = vec![replay::start(server)?.to_string().parse()?];
    through.repl_set_name = None;
    through.direct_connection = Some(true);
    // One answer to each request.
    through.server_monitoring_mode = Some(ServerMonitoringMode::Poll);
    let from_memory = Sides::new(Client::with_options(through)?.database(&database))?;
    for name in NAMES.into_iter().filter(|name| options.wants(name)) {
        let sides = if name.ends_with("from memory") {
            &from_memory
        } else {
            &on_server
        };
        let what = name
            .trim_start_matches("large: ")
            .trim_end_matches(", from memory");
        let baseline = "driver: find, try_collect";
        let (pairs, baseline, target) = match what {
            "find 20,000 mixed" => (
                sides.find::<Mixed>("mixed", options.rounds(30)).await,
                baseline,
                0.56,
            ),
            "first of 20,000 mixed" => (
                sides.first(options.rounds(60)).await,
                "driver: find, try_next",
                1.0,
            ),
            "find 20,000 texts" => (
                sides.find::<Texts>("texts", options.rounds(30)).await,
                baseline,
                0.71,
            ),
            "insert_many 1,000 mixed" => (
                sides.insert_many(options.rounds(60)).await,
                "driver: insert_many",
                0.87,
            ),
            "pages of 500 mixed" => (
                sides.pages(options.rounds(60)).await,
                "driver: find behind the last id, one more than the page",
                0.77,
            ),
            _ => (
                sides.join(options.rounds(60)).await,
                "driver: find, one query with $in, a map",
                0.77,
            ),
        };
        let single = if what.starts_with("join") {
            Single::Is("driver: aggregate with $lookup", None)
        } else {
            Single::Baseline
        };
        report.add(Measured::of(name, baseline, Some(target), single, &pairs));
    }
    Ok(())
}

impl Sides {
    async fn find<T>(&self, name: &str, rounds: usize) -> Result<Pairs>
    where
        T: Document + Serialize + DeserializeOwned,
    {
        let ours = self.odm.collection::<T>();
        let theirs = self.db.collection::<T>(name);
        Ok(pairs!(
            rounds,
            1,
            |_round| timed!({
                let found: Vec<T> = ours.find_all().all().await?;
                assert_eq!(found.len(), STORED);
                found
            }),
            timed!({
                let found: Vec<T> = theirs.find(doc! {}).await?.try_collect().await?;
                assert_eq!(found.len(), STORED);
                found
            })
        ))
    }

    async fn first(&self, rounds: usize) -> Result<Pairs> {
        let ours = self.odm.collection::<Mixed>();
        let theirs = self.db.collection::<Mixed>("mixed");
        Ok(pairs!(
            rounds,
            1,
            |_round| timed!({
                let mut found = ours.find_all().stream().await?;
                let first = found.try_next().await?;
                assert!(first.is_some());
                (found, first)
            }),
            timed!({
                let mut found = theirs.find(doc! {}).await?;
                let first = found.try_next().await?;
                assert!(first.is_some());
                (found, first)
            })
        ))
    }

    async fn insert_many(&self, rounds: usize) -> Result<Pairs> {
        let ours = self.odm.collection::<Mixed>();
        let theirs = self.db.collection::<Mixed>("mixed");
        let all = |round: usize, side: usize| -> Vec<Mixed> {
            let from = STORED + (round * 2 + side) * BATCH;
            (from..from + BATCH).map(mixed).collect()
        };
        let pairs = pairs!(
            rounds,
            1,
            |round| {
                let orders = all(round, 0);
                timed!(ours.insert_many(orders).await?)
            },
            {
                let orders = all(round, 1);
                timed!(theirs.insert_many(&orders).await?)
            }
        );
        theirs.delete_many(doc! { "_id": { "$gte": id(STORED) } }).await?;
        Ok(pairs)
    }

    async fn pages(&self, rounds: usize) -> Result<Pairs> {
        let ours = self.odm.collection::<Mixed>();
        let theirs = self.db.collection::<Mixed>("mixed");
        const PAGES: usize = 4;
        Ok(pairs!(
            rounds,
            PAGES as u32,
            |_round| timed!({
                let mut from: Option<odm::query::PageToken> = None;
                for _ in 0..PAGES {
                    let page = ours.find_all().page(PAGE);
                    let page = match from {
                        Some(token) => page.after(token).await?,
                        None => page.await?,
                    };
                    assert_eq!(page.items.len(), PAGE as usize);
                    from = page.next.clone();
                    black_box(page);
                }
            }),
            timed!({
                let mut from: Option<ObjectId> = None;
                for _ in 0..PAGES {
                    let filter = match from {
                        Some(id) => doc! { "_id": { "$gt": id } },
                        None => doc! {},
                    };
                    let found = theirs.find(filter).sort(doc! { "_id": 1 });
                    let found = found.limit(i64::from(PAGE) + 1).await?;
                    let mut page: Vec<Mixed> = found.try_collect().await?;
                    page.truncate(PAGE as usize);
                    from = page.last().map(|last| last.id);
                    black_box(page);
                }
            })
        ))
    }

    async fn join(&self, rounds: usize) -> Result<Pairs> {
        let ours = self.odm.collection::<Shelf>();
        let shelves = self.db.collection::<Shelf>("shelves");
        let items = self.db.collection::<Mixed>("mixed");
        Ok(pairs!(
            rounds,
            1,
            |_round| timed!({
                let all = ours.find_all().include(|shelf| shelf.items).all().await?;
                assert_eq!(all.len(), SHELVES);
                all
            }),
            timed!({
                let shelves: Vec<Shelf> = shelves.find(doc! {}).await?.try_collect().await?;
                let mut ids: Vec<ObjectId> = shelves
                    .iter()
                    .flat_map(|shelf| shelf.items.iter().map(|item| *item.key()))
                    .collect();
                ids.sort_unstable();
                ids.dedup();
                let mut found = items.find(doc! { "_id": { "$in": ids } }).await?;
                let mut by_id = HashMap::new();
                while let Some(item) = found.try_next().await? {
                    by_id.insert(item.id, item);
                }
                let all: Result<Vec<(Shelf, Vec<Mixed>)>> = shelves
                    .into_iter()
                    .map(|shelf| {
                        let items = shelf.items.iter().map(|item| by_id.get(item.key()).cloned());
                        let items: Option<Vec<Mixed>> = items.collect();
                        Ok((shelf, items.ok_or("an item is missing")?))
                    })
                    .collect();
                all?
            }),
            timed!({
                let stages = [doc! { "$lookup": {
                    "from": "mixed",
                    "localField": "items",
                    "foreignField": "_id",
                    "as": "joined",
                } }];
                let found = shelves.aggregate(stages).with_type::<WithItems>().await?;
                let all: Vec<WithItems> = found.try_collect().await?;
                assert!(all.iter().all(|shelf| !shelf.joined.is_empty()));
                all
            })
        ))
    }
}
