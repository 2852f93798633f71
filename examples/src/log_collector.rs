//! A log collector: stores the messages of many hosts, and keeps an overview of each host up to date while it does.
//!
//! A host has any number of messages, so each message refers to its host. The host holds its overview: the newest
//! messages, their number, and the time of the last one.
use crate::program::{self, Options, Run};
use crate::{data, syslog};
use clap::Parser;
use mongodb::Database;
use odm::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    #[field(name = "_id")]
    pub name: String,
    /// Where the name says it.
    #[index]
    pub address: Option<String>,
    #[subset(of = LogMsg, limit = 5, order(-time), fields(time: DateTime, process: String, text: String))]
    // generates NewestEntry
    pub newest: Vec<NewestEntry>,
    #[computed(count = LogMsg)]
    pub messages: i64,
    #[computed(max = LogMsg.time)]
    pub last_seen: Option<DateTime>,
}

/// A message never changes: it is inserted, and deleted with its host or when it is old.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "messages", append_only)]
pub struct LogMsg {
    pub id: ObjectId,
    #[parent_ref(order(-time), on_delete = cascade)] // index { host: 1, time: -1 }
    pub host: Ref<Host>,
    pub time: DateTime,
    #[field(min_len = 1, max_len = 100)]
    #[index]
    pub process: String,
    pub pid: Option<i32>,
    #[field(max_len = 2000)]
    pub text: String,
}

/// Messages are stored in batches, as a collector receives them.
const BATCH: usize = 500;

#[derive(Parser)]
struct Cli {
    /// The log: syslog, one message a line [default: ../shared/data/Mac_2k.log, else one that is made up]
    path: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

pub fn start() -> ExitCode {
    let cli = Cli::parse();
    program::on_a_database(&cli.options, "log_collector", |db| -> Run {
        Box::pin(async move {
            let lines = match cli.path.or_else(|| data::beside(syslog::FILE)) {
                Some(path) => syslog::read(&path)?,
                None => syslog::made_up()?,
            };
            Ok(run(db, &lines).await?)
        })
    })
}

pub async fn run(db: Database, lines: &[syslog::Line]) -> odm::Result<()> {
    let odm = Odm::new(db, models![Host, LogMsg])?;
    odm.sync().await?;
    for batch in lines.chunks(BATCH) {
        collect(&odm, batch).await?;
    }
    overview(&odm, lines).await?;
    search(&odm, lines).await?;
    busiest_processes(&odm).await?;
    assert!(odm.audit().await?.is_clean());
    Ok(())
}

/// Stores a batch: the hosts that are new, then all messages in one call, which updates their hosts' overviews.
async fn collect(odm: &Odm, batch: &[syslog::Line]) -> odm::Result<()> {
    let (hosts, messages) = (odm.collection::<Host>(), odm.collection::<LogMsg>());
    let names: BTreeSet<&String> = batch.iter().map(|line| &line.host).collect();
    let known = hosts.get_many(names.iter().map(|name| (*name).clone())).await?;
    let known: BTreeSet<&String> = known.iter().map(|host| &host.name).collect();
    let new = names.difference(&known).map(|name| NewHost {
        name: (*name).clone(),
        address: syslog::address(name),
    });
    hosts.insert_many(new).await?;
    let new = batch.iter().map(|line| NewLogMsg {
        host: Ref::new(line.host.clone()),
        time: line.time,
        process: line.process.clone(),
        pid: line.pid,
        text: line.text.clone(),
    });
    messages.insert_many(new).await?;
    Ok(())
}

/// The page that an operator opens first: one query, no join, no count.
async fn overview(odm: &Odm, lines: &[syslog::Line]) -> odm::Result<()> {
    let hosts = odm.collection::<Host>();
    let mut all = hosts.find_all().all().await?;
    all.sort_by_key(|host| std::cmp::Reverse(host.last_seen));
    let stored: i64 = all.iter().map(|host| host.messages).sum();
    assert_eq!(stored, lines.len() as i64);
    println!("{stored} messages of {} hosts. Those heard of last:", all.len());
    for host in all.iter().take(5) {
        let last_seen = host.last_seen.map_or("never".into(), time);
        println!(
            "  {:36} {:5} messages, last {last_seen}",
            host.name, host.messages
        );
        if let Some(newest) = host.newest.first() {
            println!("    {}: {}", newest.process, short(&newest.text));
        }
    }
    Ok(())
}

/// The newest messages of one process on one host, by the index of the parent reference.
async fn search(odm: &Odm, lines: &[syslog::Line]) -> odm::Result<()> {
    let messages = odm.collection::<LogMsg>();
    let Some(first) = lines.first() else { return Ok(()) };
    let host = Ref::<Host>::new(first.host.clone());
    let found = messages
        .children_of(host)
        .filter(|m| m.process.eq(first.process.clone()))
        .limit(3)
        .all()
        .await?;
    println!("The newest messages of {} on {}:", first.process, first.host);
    for message in &found {
        println!("  {} {}", time(message.time), short(&message.text));
    }
    assert!(found.iter().all(|message| message.process == first.process));
    assert!(found.is_sorted_by(|a, b| a.time >= b.time));
    Ok(())
}

/// Processes with the most messages, counted by the server.
async fn busiest_processes(odm: &Odm) -> odm::Result<()> {
    #[derive(odm::Row)]
    struct Busy {
        #[field(name = "_id")]
        process: String,
        messages: i64,
    }
    let busiest: Vec<Busy> = odm
        .collection::<LogMsg>()
        .aggregate()
        .group(|m| m.process, |g| g.count("messages"))
        .stage(odm::bson::doc! { "$sort": { "messages": -1, "_id": 1 } })
        .limit(3)
        .all()
        .await?;
    let busiest: Vec<String> = busiest
        .iter()
        .map(|busy| format!("{} ({})", busy.process, busy.messages))
        .collect();
    println!("The busiest processes: {}", busiest.join(", "));
    Ok(())
}

fn time(at: DateTime) -> String {
    at.try_to_rfc3339_string().unwrap_or_default()
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}
