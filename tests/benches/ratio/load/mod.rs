//! Many writes that meet at one document, from one process and from several: how long all of them take, and the slowest one.
//!
//! The baseline is the same by one process in sequence; of the cascade it is what the driver deletes by three commands. They take
//! minutes, so they run only where `--only` asks for them.

pub mod model;

use crate::pairs::{Rounds, alternate, alternate_three};
use crate::report::{Calls, Measured, Report, Single};
use crate::{Options, Result};
use futures::future::join_all;
use model::{Channel, Line, LineBucket, Message, Meter, NewChannel, Reading};
use mongodb::bson::{Document as Raw, doc};
use mongodb::{Client, Database};
use odm::prelude::*;
use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Where the database's name ends.
const DB: &str = "_load";

/// All databases that are made.
pub const DATABASES: [&str; 1] = [DB];

/// The option of a process of its own, with the database, the kind of writes, their order, the first id and the number of writes.
pub const OPTION: &str = "--load-of";

const CASCADE: &str = "load: cascade over 20,000 children";
/// The number of writes of a block, and with `--quick`.
const WRITES: (i32, i32) = (300, 48);
/// The children of a cascade, and with `--quick`.
const CHILDREN: (i32, i32) = (20_000, 2_000);
/// The lines in its buckets, of which each holds a hundred.
const LINES: usize = 2_000;
const PROCESSES: i32 = 8;
/// The one that all meet at.
const ONE: i32 = 1;
/// The readings that hold a copy of the field that is changed.
const HOLDERS: i32 = 10;

/// A kind of writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    CopiedField,
    OneParent,
    OneSource,
}

const CASES: [Case; 3] = [Case::CopiedField, Case::OneParent, Case::OneSource];

impl Case {
    fn name(self) -> &'static str {
        match self {
            Case::CopiedField => "copied field",
            Case::OneParent => "one parent",
            Case::OneSource => "one source",
        }
    }
}

/// By whom, and in which order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct How {
    processes: i32,
    at_once: bool,
}

/// What each of the others is compared with.
const IN_SEQUENCE: How = How {
    processes: 1,
    at_once: false,
};

const WAYS: [How; 3] = [
    How {
        processes: 1,
        at_once: true,
    },
    How {
        processes: PROCESSES,
        at_once: false,
    },
    How {
        processes: PROCESSES,
        at_once: true,
    },
];

fn name(case: Case, how: How) -> String {
    let how = match (how.processes, how.at_once) {
        (1, _) => "at once".to_owned(),
        (many, false) => format!("{many} processes"),
        (many, true) => format!("{many} processes at once"),
    };
    format!("load: {}, {how}", case.name())
}

fn rows() -> impl Iterator<Item = (Case, How)> {
    CASES.into_iter().flat_map(|case| WAYS.map(|how| (case, how)))
}

/// Whether any of them is asked for.
pub fn is_wanted(options: &Options) -> bool {
    let mut wanted = rows()
        .map(|(case, how)| name(case, how))
        .chain([CASCADE.to_owned()]);
    options.only.is_some() && wanted.any(|name| options.wants(&name))
}

fn handle(db: Database) -> odm::Result<Odm> {
    Odm::new(db, models![Meter, Reading, Channel, Message, LineBucket])
}

pub async fn measure(client: &Client, name: &str, options: &Options, report: &mut Report) -> Result<()> {
    let load = Load {
        odm: handle(client.database(&format!("{name}{DB}")))?,
        next: Cell::new(1_000),
        quick: options.quick,
    };
    load.odm.sync().await?;
    load.prepare().await?;
    let pairs = options.rounds.unwrap_or(if options.quick { 1 } else { 3 });
    for (case, how) in rows() {
        if options.wants(&self::name(case, how)) {
            report.add(load.compare(case, how, pairs).await?);
        }
    }
    if options.wants(CASCADE) {
        report.add(load.cascade(pairs).await?);
    }
    Ok(())
}

/// The times of a block of writes.
struct Block {
    took: Duration,
    calls: Vec<Duration>,
    failed: usize,
}

struct Load {
    odm: Odm,
    next: Cell<i32>,
    quick: bool,
}

impl Load {
    /// The first of a number of unused ids.
    fn ids(&self, many: i32) -> i32 {
        self.next.replace(self.next.get() + many)
    }

    fn size(&self, (usual, quick): (i32, i32)) -> i32 {
        if self.quick { quick } else { usual }
    }

    async fn prepare(&self) -> Result<()> {
        let meter = Meter {
            id: ONE,
            name: String::new(),
        };
        self.odm.collection::<Meter>().insert(meter).await?;
        let holders = (0..HOLDERS).map(|id| model::reading(id, ONE));
        self.odm.collection::<Reading>().insert_many(holders).await?;
        self.odm
            .collection::<Channel>()
            .insert(NewChannel { id: ONE })
            .await?;
        Ok(())
    }

    async fn block(&self, case: Case, how: How) -> Result<Block> {
        let writes = self.size(WRITES);
        let first = self.ids(writes);
        match how.processes {
            1 => Ok(write(&self.odm, case, how.at_once, first, writes).await),
            processes => by_processes(self.odm.database().name(), case, how, first, writes / processes),
        }
    }

    async fn compare(&self, case: Case, how: How, pairs: usize) -> Result<Measured> {
        let (ours, theirs) = (RefCell::default(), RefCell::default());
        let timed = async |how: How, calls: &RefCell<(Vec<Duration>, usize)>| {
            let block = self.block(case, how).await?;
            let mut calls = calls.borrow_mut();
            calls.0.extend(block.calls);
            calls.1 += block.failed;
            Ok(block.took)
        };
        let pairs = alternate(
            Rounds::new(pairs),
            async || timed(how, &ours).await,
            async || timed(IN_SEQUENCE, &theirs).await,
        )
        .await;
        let audit = self.odm.audit().await?;
        if !audit.is_clean() {
            return Err(format!("after {}: {audit}", name(case, how)).into());
        }
        let (ours, theirs) = (ours.into_inner(), theirs.into_inner());
        let calls = Calls::of(ours.0, theirs.0, ours.1 + theirs.1);
        let measured = Measured::of(
            &name(case, how),
            "the same by one process in sequence",
            None,
            Single::None,
            &pairs,
        );
        Ok(measured.with_calls(calls))
    }

    /// A channel with many messages, which it counts and holds the newest of, and with buckets of lines.
    async fn store_tree(&self) -> Result<i32> {
        let (children, channel) = (self.size(CHILDREN), self.ids(1));
        self.odm
            .collection::<Channel>()
            .insert(NewChannel { id: channel })
            .await?;
        let first = self.ids(children);
        let messages = self.odm.collection::<Message>();
        for from in (first..first + children).step_by(1_000) {
            let some = (from..from + 1_000).map(|id| model::message(id, channel));
            messages.insert_many(some).await?;
        }
        let line = Line {
            text: "the fan blade assembly turns".to_owned(),
        };
        let lines = self.odm.buckets::<Line>();
        lines
            .push_many(&Ref::<Channel>::new(channel), vec![line; LINES])
            .await?;
        Ok(channel)
    }

    async fn cascade(&self, pairs: usize) -> Result<Measured> {
        let children = u64::try_from(self.size(CHILDREN))?;
        let channels = self.odm.collection::<Channel>();
        let ours = async || {
            let channel = self.store_tree().await?;
            let started = Instant::now();
            let done = channels.delete(channel).await?;
            let took = started.elapsed();
            if done.cascaded > children {
                Ok(took)
            } else {
                Err(format!("the cascade has deleted {done:?}").into())
            }
        };
        let theirs = async || {
            let channel = self.store_tree().await?;
            let db = self.odm.database();
            let below = doc! { "channel": channel };
            let started = Instant::now();
            let deleted = db
                .collection::<Raw>("messages")
                .delete_many(below.clone())
                .await?;
            db.collection::<Raw>("line_buckets").delete_many(below).await?;
            db.collection::<Raw>("channels")
                .delete_one(doc! { "_id": channel })
                .await?;
            let took = started.elapsed();
            if deleted.deleted_count == children {
                Ok(took)
            } else {
                Err(format!("{} of {children} were deleted", deleted.deleted_count).into())
            }
        };
        let statement = async || {
            let channel = self.store_tree().await?;
            let messages = self.odm.database().collection::<Raw>("messages");
            let started = Instant::now();
            let deleted = messages.delete_many(doc! { "channel": channel }).await?;
            let took = started.elapsed();
            if deleted.deleted_count == children {
                Ok(took)
            } else {
                Err(format!("{} of {children} were deleted", deleted.deleted_count).into())
            }
        };
        let pairs = alternate_three(Rounds::new(pairs), ours, theirs, statement).await;
        let baseline = "driver: delete_many of both, delete_one";
        let single = Single::Is("driver: delete_many of the children", None);
        Ok(Measured::of(CASCADE, baseline, None, single, &pairs))
    }
}

/// Inserts a number of documents, or changes one as often.
async fn write(odm: &Odm, case: Case, at_once: bool, first: i32, writes: i32) -> Block {
    let started = Instant::now();
    let calls = (first..first + writes).map(|id| async move {
        let started = Instant::now();
        let done = one(odm, case, id).await;
        (started.elapsed(), done)
    });
    let mut made = Vec::new();
    if at_once {
        made = join_all(calls).await;
    } else {
        for call in calls {
            made.push(call.await);
        }
    }
    let took = started.elapsed();
    let failed = made.iter().filter_map(|(_, done)| done.as_ref().err());
    if let Some(error) = failed.clone().next() {
        eprintln!("a write failed: {error}");
    }
    Block {
        took,
        failed: failed.count(),
        calls: made.iter().map(|(took, _)| *took).collect(),
    }
}

async fn one(odm: &Odm, case: Case, id: i32) -> odm::Result<()> {
    match case {
        Case::CopiedField => {
            let meters = odm.collection::<Meter>();
            let changed = meters.update(ONE).set(|m| m.name, format!("meter {id}"));
            changed.await.map(drop)
        }
        Case::OneParent => {
            let messages = odm.collection::<Message>();
            messages.insert(model::message(id, ONE)).await.map(drop)
        }
        Case::OneSource => {
            let readings = odm.collection::<Reading>();
            readings.insert(model::reading(id, ONE)).await.map(drop)
        }
    }
}

/// A process prints this when it is connected, and begins to write when it reads this.
const READY: &str = "ready";

/// Another process, and what it writes.
type Process = (Child, Lines<BufReader<ChildStdout>>);

fn process(asked: &str) -> Result<Process> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([OPTION, asked])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?;
    let lines = child.stdout.take().ok_or("a process has no output")?;
    Ok((child, BufReader::new(lines).lines()))
}

fn line(lines: &mut Lines<BufReader<ChildStdout>>) -> Result<String> {
    Ok(lines.next().ok_or("a process that writes has failed")??)
}

/// All processes begin when each is connected.
fn by_processes(database: &str, case: Case, how: How, first: i32, each: i32) -> Result<Block> {
    let mut processes: Vec<Process> = Vec::new();
    for n in 0..how.processes {
        let (case, first) = (CASES.iter().position(|one| *one == case), first + n * each);
        let case = case.ok_or("an unknown case")?;
        processes.push(process(&format!(
            "{database} {case} {} {first} {each}",
            how.at_once
        ))?);
    }
    for (_, lines) in &mut processes {
        if line(lines)? != READY {
            return Err("a process that writes is not ready".into());
        }
    }
    let started = Instant::now();
    for (child, _) in &mut processes {
        let mut input = child.stdin.take().ok_or("a process has no input")?;
        writeln!(input, "{READY}")?;
    }
    let mut block = Block {
        took: Duration::ZERO,
        calls: Vec::new(),
        failed: 0,
    };
    for (child, lines) in &mut processes {
        let said = line(lines)?;
        let mut numbers = said.split(' ');
        block.failed += numbers.next().unwrap_or_default().parse::<usize>()?;
        for number in numbers {
            block.calls.push(Duration::from_micros(number.parse()?));
        }
        if !child.wait()?.success() {
            return Err("a process that writes has failed".into());
        }
    }
    block.took = started.elapsed();
    Ok(block)
}

/// The other process: says that it is ready, waits for a line, writes, and prints how many writes have failed and how many
/// microseconds each took.
pub fn tell(asked: &str) -> Result<()> {
    let [database, case, at_once, first, writes] = asked.split(' ').collect::<Vec<_>>()[..] else {
        return Err(format!("`{asked}` is no database, case, order, id and number of writes").into());
    };
    let case = CASES
        .get(case.parse::<usize>()?)
        .copied()
        .ok_or("an unknown case")?;
    let (at_once, first, writes): (bool, i32, i32) = (at_once.parse()?, first.parse()?, writes.parse()?);
    crate::runtime()?.block_on(async {
        let client = Client::with_uri_str(crate::server()?).await?;
        let odm = handle(client.database(database))?;
        // A process asks these once: they are no part of a write.
        odm.server().await?;
        odm.check_models().await?;
        println!("{READY}");
        std::io::stdin()
            .lines()
            .next()
            .ok_or("the input ended before the writes began")??;
        let block = write(&odm, case, at_once, first, writes).await;
        let calls = block.calls.iter().map(|call| format!(" {}", call.as_micros()));
        println!("{}{}", block.failed, calls.collect::<String>());
        Ok(())
    })
}
