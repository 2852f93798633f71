//! How the cost of an operation grows with the collection that it works in: its time, and the memory of the process, at 1,000 to
//! 1,000,000 documents.
//!
//! It takes minutes, so it runs only where `--only growth` asks for it. `--page` writes its figures into the guide.

mod model;

use crate::copies::memory::Resident;
use crate::load::model::{Channel, Line, LineBucket, Message, Meter, NewChannel, NewMeter, Reading};
use crate::load::model::{message, reading};
use crate::pairs::interval;
use crate::{Options, Result};
use futures::TryStreamExt;
use model::{Album, NewAlbum, NewPhoto, Photo};
use mongodb::bson::{Document as Raw, doc};
use mongodb::{Client, Database};
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Where the database's name ends.
pub const DATABASES: [&str; 1] = ["_growth"];

pub const NAME: &str = "growth";

/// The numbers of documents; with `--quick` the first two, and with `--up-to` those that are no greater.
const SIZES: [i32; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// An operation on all documents is left out at a size where it is expected to take longer: as it grew from the size before, and ten times
/// the time at least.
const LONG: f64 = 200.0;

const AUDIT: &str = "audit of all";
const RECONCILER: &str = "the reconciler, 10 changes";

/// How many documents are read by the stream whose memory is shown.
const STREAMED: i32 = 1_000_000;
/// The name of its curve: each point is the resident memory after that number of documents.
pub const STREAM: &str = "resident in a stream of 1,000,000";

/// How an operation should grow, which decides what a figure is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Touches {
    /// A number of documents that does not depend on the collection.
    Few,
    /// All documents.
    All,
}

/// An operation at one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    pub documents: i32,
    /// `None` where it could not be measured.
    pub seconds: Option<f64>,
    /// How many MiB more of the process were resident at the worst, where the system tells it.
    pub memory_mib: Option<f64>,
}

/// An operation at all sizes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Curve {
    pub operation: String,
    pub touches: Touches,
    pub points: Vec<Point>,
}

pub fn is_wanted(options: &Options) -> bool {
    options.only.is_some() && options.wants(NAME)
}

pub async fn measure(client: &Client, name: &str, options: &Options) -> Result<Vec<Curve>> {
    let mut curves: Vec<Curve> = Vec::new();
    let sizes = if options.quick { &SIZES[..2] } else { &SIZES };
    println!(
        "\n{:<34} {:>9} {:>12} {:>12} {:>9}",
        "growth", "documents", "time", "a document", "MiB"
    );
    let sizes = sizes
        .iter()
        .filter(|size| options.up_to.is_none_or(|most| **size <= most));
    for documents in sizes {
        let db = client.database(&format!("{name}{}", DATABASES[0]));
        let mut growth = Growth::prepare(db.clone(), *documents).await?;
        growth.left_out = too_long(&curves);
        growth.all().await?;
        for (operation, touches, point) in growth.points {
            show(&operation, touches, &point);
            match curves.iter_mut().find(|curve| curve.operation == operation) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve {
                    operation,
                    touches,
                    points: vec![point],
                }),
            }
        }
        db.drop().await?;
    }
    if !options.quick {
        let db = client.database(&format!("{name}{}", DATABASES[0]));
        curves.push(stream(&db).await?);
        db.drop().await?;
    }
    Ok(curves)
}

/// The operations that are left out at the next size. A first reconciler begins with an audit.
fn too_long(curves: &[Curve]) -> Vec<String> {
    let is_long = |curve: &&Curve| {
        let mut last = curve.points.iter().rev().map(|point| point.seconds);
        let expected = match (last.next(), last.next()) {
            (Some(None), _) => f64::INFINITY,
            (Some(Some(last)), Some(Some(before))) => last * (last / before).max(10.0),
            (last, _) => last.flatten().unwrap_or_default() * 10.0,
        };
        curve.touches == Touches::All && expected > LONG
    };
    let long = curves.iter().filter(is_long);
    let mut long: Vec<String> = long.map(|curve| curve.operation.clone()).collect();
    if long.iter().any(|operation| operation == AUDIT) {
        long.push(RECONCILER.to_owned());
    }
    long
}

/// Reads a million documents by a stream, and looks three times at what is resident.
async fn stream(db: &Database) -> Result<Curve> {
    let raw = db.collection::<Raw>("readings");
    for first in (0..STREAMED).step_by(10_000) {
        let one = |id| doc! { "_id": id, "meter": 1, "name": "a meter", "value": id };
        raw.insert_many((first..first + 10_000).map(one)).await?;
    }
    let odm = Odm::new(db.clone(), models![Meter, Reading])?;
    let mut stream = odm.collection::<Reading>().find_all().stream().await?;
    let (mut read, mut points) = (0, Vec::new());
    while let Some(reading) = stream.try_next().await? {
        std::hint::black_box(reading);
        read += 1;
        if [STREAMED / 10, STREAMED / 2, STREAMED].contains(&read) {
            let memory_mib = Resident::now().mib();
            println!("{STREAM} after {read}: {:.1} MiB", memory_mib.unwrap_or_default());
            points.push(Point {
                documents: read,
                seconds: None,
                memory_mib,
            });
        }
    }
    Ok(Curve {
        operation: STREAM.to_owned(),
        touches: Touches::Few,
        points,
    })
}

fn show(operation: &str, touches: Touches, point: &Point) {
    let time = |seconds: Option<f64>| seconds.map_or_else(|| "–".to_owned(), crate::report::time);
    let of_one = match touches {
        Touches::Few => None,
        Touches::All => point.seconds.map(|seconds| seconds / f64::from(point.documents)),
    };
    println!(
        "{operation:<34} {:>9} {:>12} {:>12} {:>9}",
        point.documents,
        time(point.seconds),
        of_one.map(crate::report::time).unwrap_or_default(),
        point
            .memory_mib
            .map_or_else(|| "–".to_owned(), |mib| format!("{mib:.1}"))
    );
}

/// The collections at one size: a meter with all readings and one with ten, a channel with all messages and lines, an album with all
/// photos.
struct Growth {
    odm: Odm,
    db: Database,
    documents: i32,
    points: Vec<(String, Touches, Point)>,
    /// The operations that are not measured at this size.
    left_out: Vec<String>,
}

impl Growth {
    async fn prepare(db: Database, documents: i32) -> Result<Growth> {
        db.drop().await?;
        let odm = Odm::new(
            db.clone(),
            models![Meter, Reading, Channel, Message, LineBucket, Album, Photo],
        )?;
        odm.sync().await?;
        let meter = |id| NewMeter {
            id,
            name: "before".to_owned(),
        };
        odm.collection::<Meter>()
            .insert_many([meter(1), meter(2)])
            .await?;
        let channel = |id| NewChannel { id };
        odm.collection::<Channel>()
            .insert_many([channel(1), channel(2)])
            .await?;
        let album = |id| NewAlbum { id };
        odm.collection::<Album>().insert(album(1)).await?;
        // In parts, so that what a part has needed is there again for the next one.
        for first in (0..documents).step_by(10_000) {
            let part = || first..documents.min(first + 10_000);
            let readings = part().map(|id| reading(id, if id % (documents / 10) == 0 { 2 } else { 1 }));
            odm.collection::<Reading>().insert_many(readings).await?;
            odm.collection::<Message>()
                .insert_many(part().map(|id| message(id, 1)))
                .await?;
            let photos = part().map(|id| NewPhoto {
                id,
                album: Ref::new(1),
            });
            odm.collection::<Photo>().insert_many(photos).await?;
            odm.buckets::<Line>().push_many(1, part().map(line)).await?;
        }
        Ok(Growth {
            odm,
            db,
            documents,
            points: Vec::new(),
            left_out: Vec::new(),
        })
    }

    /// Measures an operation several times; one that fails has a point without figures.
    async fn point(
        &mut self,
        operation: &str,
        touches: Touches,
        times: usize,
        once: impl AsyncFn(&Odm, usize) -> Result<Duration>,
    ) {
        let memory = Resident::now();
        let mut took = Vec::new();
        let times = if self.left_out.iter().any(|left| left == operation) {
            0
        } else {
            times
        };
        for round in 0..times {
            match once(&self.odm, round).await {
                Ok(one) => took.push(one.as_secs_f64()),
                Err(error) => eprintln!("{operation}: {error}"),
            }
        }
        let point = Point {
            documents: self.documents,
            seconds: (!took.is_empty()).then(|| interval(took).median),
            memory_mib: memory.growth(),
        };
        self.points.push((operation.to_owned(), touches, point));
    }

    async fn all(&mut self) -> Result<()> {
        self.reads().await?;
        self.writes().await;
        self.upkeep().await;
        self.deletions().await;
        Ok(())
    }

    async fn reads(&mut self) -> Result<()> {
        let documents = self.documents;
        self.point("find 10 by an index", Touches::Few, 20, async |odm, _| {
            let started = Instant::now();
            let found = odm
                .collection::<Reading>()
                .find(|r| r.meter.eq(Ref::new(2)))
                .all()
                .await?;
            has(found.len(), 10)?;
            Ok(started.elapsed())
        })
        .await;
        self.point("the first page of 20", Touches::Few, 20, async |odm, _| {
            let started = Instant::now();
            let page = odm
                .collection::<Message>()
                .find_all()
                .sort(|m| m.id.asc())
                .page(20)
                .await?;
            has(page.items.len(), 20)?;
            Ok(started.elapsed())
        })
        .await;
        // Behind all pages but the last two.
        let messages = self.odm.collection::<Message>();
        let behind = messages
            .find(|m| m.id.gte(documents - 60))
            .sort(|m| m.id.asc())
            .page(20);
        let token = behind.await?.next.ok_or("there is no further page")?;
        self.point("a page of 20 near the end", Touches::Few, 20, async |odm, _| {
            let started = Instant::now();
            let page = odm
                .collection::<Message>()
                .find_all()
                .sort(|m| m.id.asc())
                .page(20);
            has(page.after(token.clone()).await?.items.len(), 20)?;
            Ok(started.elapsed())
        })
        .await;
        self.point(
            "a channel with its newest 10",
            Touches::Few,
            20,
            async |odm, _| {
                let started = Instant::now();
                let channels = odm.collection::<Channel>();
                let joined = channels
                    .find(|c| c.id.eq(1))
                    .include(|c| c.children::<Message>().limit(10));
                let (_, newest) = joined.one().await?.ok_or("the channel is missing")?;
                has(newest.len(), 10)?;
                Ok(started.elapsed())
            },
        )
        .await;
        self.point("a stream of all", Touches::All, 1, async |odm, _| {
            let started = Instant::now();
            let mut stream = odm.collection::<Reading>().find_all().stream().await?;
            let mut read = 0;
            while let Some(reading) = stream.try_next().await? {
                std::hint::black_box(reading);
                read += 1;
            }
            has(read as usize, documents as usize)?;
            Ok(started.elapsed())
        })
        .await;
        Ok(())
    }

    async fn writes(&mut self) {
        let all = self.documents as u64 - 10;
        self.point(
            "change a source of 10 holders",
            Touches::Few,
            10,
            async |odm, round| {
                let started = Instant::now();
                let meters = odm.collection::<Meter>();
                let done = meters.update(2).set(|m| m.name, format!("name {round}")).await?;
                has(done.copies_updated as usize, 10)?;
                Ok(started.elapsed())
            },
        )
        .await;
        self.point("change a source of all", Touches::All, 1, async |odm, _| {
            let started = Instant::now();
            let done = odm
                .collection::<Meter>()
                .update(1)
                .set(|m| m.name, "after")
                .await?;
            has(done.copies_updated as usize, all as usize)?;
            Ok(started.elapsed())
        })
        .await;
        let next = self.documents;
        self.point(
            "insert into a subset and a count",
            Touches::Few,
            20,
            async |odm, round| {
                let new = message(next + round as i32, 1);
                let started = Instant::now();
                odm.collection::<Message>().insert(new).await?;
                Ok(started.elapsed())
            },
        )
        .await;
        self.point("push onto a bucket", Touches::Few, 20, async |odm, round| {
            let started = Instant::now();
            odm.buckets::<Line>().push(1, line(round as i32)).await?;
            Ok(started.elapsed())
        })
        .await;
    }

    async fn upkeep(&mut self) {
        let db = self.db.clone();
        self.point(RECONCILER, Touches::Few, 1, async |odm, _| {
            let reconciler = odm.reconciler().start().await?;
            reconciler.caught_up().await?;
            let readings = db.collection::<Raw>("readings");
            let started = Instant::now();
            readings
                .update_many(doc! { "meter": 2 }, doc! { "$set": { "name": "foreign" } })
                .await?;
            reconciler.caught_up().await?;
            let took = started.elapsed();
            reconciler.stop().await?;
            Ok(took)
        })
        .await;
        self.point("backfill of all", Touches::All, 1, async |odm, _| {
            let started = Instant::now();
            odm.backfill().again().await?;
            Ok(started.elapsed())
        })
        .await;
        self.point(AUDIT, Touches::All, 1, async |odm, _| {
            let started = Instant::now();
            let audit = odm.audit().await?;
            let took = started.elapsed();
            if audit.is_clean() {
                Ok(took)
            } else {
                Err(audit.to_string().into())
            }
        })
        .await;
    }

    async fn deletions(&mut self) {
        let photos = self.documents as u64;
        self.point("soft deletion with all below", Touches::All, 1, async |odm, _| {
            let started = Instant::now();
            let done = odm.collection::<Album>().delete(1).await?;
            has(done.cascaded as usize, photos as usize)?;
            Ok(started.elapsed())
        })
        .await;
        self.point("restoration of all", Touches::All, 1, async |odm, _| {
            let started = Instant::now();
            odm.collection::<Album>().restore(1).await?;
            Ok(started.elapsed())
        })
        .await;
        self.point("deletion with all below", Touches::All, 1, async |odm, _| {
            let started = Instant::now();
            odm.collection::<Channel>().delete(1).await?;
            Ok(started.elapsed())
        })
        .await;
    }
}

fn line(n: i32) -> Line {
    Line {
        text: format!("line {n} of a log, which says that the fan does not turn"),
    }
}

fn has(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{found} documents instead of {expected}").into())
    }
}
