//! A real log: its hosts, and messages that name their host. A host has any number of messages, so it lists none.

use crate::books::describe_plan;
use crate::show::{Show, commands_of_limited, plural, shorten};
use anyhow::{Context, Result, bail};
use mongodb::Database;
use mongodb::bson::DateTime;
use odm::prelude::*;
use odm_examples::data;
use odm_examples::log::{Host, LogMsg, NewHost, NewLogMsg};
use odm_examples::syslog::{self as file, Line};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The number of messages that are read of each host.
const NEWEST: u32 = 3;

pub async fn run(show: &mut Show, db: Database, path: Option<PathBuf>) -> Result<()> {
    show.heading("One to very many: hosts and the messages of a log");
    let lines = lines(show, path)?;
    let expected = expected(&lines);
    show.text(&format!(
        "{} lines of {} hosts: `Jul  1 09:00:55 HOST process[pid]: message`. Syslog writes neither the year nor the zone, so \
         all times are taken for {} and UTC{}. A message names its host, `#[parent_ref(order(-time, -line))]`: the line number \
         decides between messages of one second.",
        lines.len(),
        expected.len(),
        file::YEAR,
        file::ZONE,
    ));
    let quoted: Vec<(DateTime, &Line)> = lines
        .iter()
        .filter_map(|line| Some((file::quoted_time(&line.text)?, line)))
        .collect();
    let agree = quoted.iter().filter(|(time, line)| *time == line.time).count();
    show.check(
        &format!(
            "{} messages quote their time, as `when=2017-07-01 17:08:20 +0000`, and all agree",
            quoted.len()
        ),
        agree,
        quoted.len(),
    )?;
    println!();
    let odm = Odm::new(db, models![Host, LogMsg])?;
    let plan = show.step("What would `sync` do?", odm.plan()).await?;
    show.block(&plan.to_string());
    show.step("Do it", odm.apply(&plan)).await?;
    insert(show, &odm, &lines, &expected).await?;
    newest(show, &odm, &expected).await?;
    of_one(show, &odm, &expected).await?;
    whose(show, &odm, &lines).await?;
    gone(show, &odm, &expected).await
}

/// The lines of the file that was named, of the one beside the workspace, or of one that is made up.
fn lines(show: &Show, path: Option<PathBuf>) -> Result<Vec<Line>> {
    let Some(path) = path.or_else(|| data::beside(file::FILE)) else {
        show.text(
            "There is no log here (`--log PATH` names one), so the demo makes one up: the same every time, in the same format.",
        );
        return file::made_up();
    };
    show.text(&format!("From {}.", path.display()));
    file::read(&path)
}

/// The lines of each host, the newest first.
fn expected(lines: &[Line]) -> BTreeMap<&str, Vec<&Line>> {
    let mut hosts: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    for line in lines {
        hosts.entry(line.host.as_str()).or_default().push(line);
    }
    for lines in hosts.values_mut() {
        lines.sort_by_key(|line| std::cmp::Reverse((line.time, line.number)));
    }
    hosts
}

async fn insert(
    show: &mut Show,
    odm: &Odm,
    lines: &[Line],
    expected: &BTreeMap<&str, Vec<&Line>>,
) -> Result<()> {
    show.part("Hosts, then messages: that their hosts exist is asked once for all of them");
    let hosts = expected.keys().map(|name| NewHost {
        name: (*name).to_owned(),
        address: file::address(name),
    });
    let collection = odm.collection::<Host>();
    show.step(format!("{} hosts", expected.len()), collection.insert_many(hosts))
        .await?;
    let collection = odm.collection::<LogMsg>();
    let messages = lines.iter().map(|line| NewLogMsg {
        line: line.number,
        host: Ref::new(line.host.clone()),
        time: line.time,
        process: line.process.clone(),
        pid: line.pid,
        text: line.text.clone(),
    });
    let messages = collection.insert_many(messages);
    show.step(format!("{} messages", lines.len()), messages).await?;
    let stray = NewLogMsg {
        line: 0,
        host: Ref::new("localhost".to_owned()),
        time: lines.first().context("the log is empty")?.time,
        process: "cron".into(),
        pid: None,
        text: "from an unknown host".into(),
    };
    match show
        .step("A message of a host that there is not", collection.insert(stray))
        .await
    {
        Err(error @ odm::Error::MissingReference { .. }) => show.got(error.to_string()),
        other => bail!("a message of an unknown host should be refused: {other:?}"),
    }
    let stored = collection.find_all().count().await?;
    show.check(
        &format!("{stored} messages are stored, as many as the file has lines"),
        stored,
        lines.len() as u64,
    )
}

async fn newest(show: &mut Show, odm: &Odm, expected: &BTreeMap<&str, Vec<&Line>>) -> Result<()> {
    show.part("The newest messages of every host");
    let hosts = odm.collection::<Host>();
    let find = hosts
        .find_all()
        .sort(|h| h.name.asc())
        .include(|h| h.children::<LogMsg>().limit(NEWEST));
    let found: Vec<(Host, Vec<LogMsg>)> = show
        .step(format!("All hosts, each with its newest {NEWEST}"), find.all())
        .await?;
    for (host, messages) in found.iter().take(3) {
        show.got(&host.name);
        show.list(messages.iter().map(shown));
    }
    show.got(format!("and so on, {} hosts", found.len()));
    let commands = commands_of_limited(odm, found.len()).await?;
    show.check(
        &format!("{commands} commands for {} hosts", found.len()),
        show.last_sent(),
        commands,
    )?;
    let lines: Vec<(&str, Vec<i32>)> = found
        .iter()
        .map(|(host, messages)| (host.name.as_str(), messages.iter().map(|m| m.line).collect()))
        .collect();
    let in_file = expected
        .iter()
        .map(|(name, lines)| {
            let newest = lines.iter().take(NEWEST as usize);
            (*name, newest.map(|line| line.number).collect())
        })
        .collect();
    show.check("the lines that a sort of the file gives", lines, in_file)?;
    let find = hosts.find_all().include(|h| h.children::<LogMsg>().limit(NEWEST));
    let explain = show.step("How are they found?", find.explain()).await?;
    show.list(explain.joins.iter().map(|join| {
        format!(
            "{} by {}: {} on {}",
            join.collection,
            join.field,
            join.stages.join(" ← "),
            join.indexes.join(", ")
        )
    }));
    show.check(
        "by the index that the parent reference declares",
        explain
            .joins
            .iter()
            .any(odm::query::JoinExplain::is_collection_scan),
        false,
    )
}

async fn of_one(show: &mut Show, odm: &Odm, expected: &BTreeMap<&str, Vec<&Line>>) -> Result<()> {
    show.part("The messages of one host");
    let (name, lines) = expected
        .iter()
        .max_by_key(|(_, lines)| lines.len())
        .context("the log is empty")?;
    let (hosts, messages) = (odm.collection::<Host>(), odm.collection::<LogMsg>());
    let host = show
        .step(format!("The host {name}"), hosts.get((*name).to_owned()))
        .await?
        .context("the host has gone")?;
    let count = show
        .step(
            "How many messages has it? `messages.children_of(&host)`",
            messages.children_of(&host).count(),
        )
        .await?;
    show.check(&format!("{count}, as in the file"), count, lines.len() as u64)?;
    let find = messages
        .children_of(&host)
        .filter(|m| m.process.eq("kernel"))
        .limit(3);
    let found = show
        .step(
            "The newest three of its kernel: in the declared order",
            find.all(),
        )
        .await?;
    show.list(found.iter().map(shown));
    let kernel = lines.iter().filter(|line| line.process == "kernel").take(3);
    show.check(
        "the same lines as in the file",
        found.iter().map(|m| m.line).collect::<Vec<_>>(),
        kernel.map(|line| line.number).collect(),
    )?;
    let explain = show
        .step(
            "How is that found, and sorted?",
            messages.children_of(&host).limit(3).explain(),
        )
        .await?;
    show.got(describe_plan(&explain));
    // MongoDB reads them in the order of the index; another server may plan it in another way.
    show.got(if explain.sorts_in_memory() {
        "this server sorts what the index has found"
    } else {
        "the index has them in this order"
    });
    show.check("by the index", explain.is_collection_scan(), false)
}

async fn whose(show: &mut Show, odm: &Odm, lines: &[Line]) -> Result<()> {
    show.part("And from messages to their hosts");
    let messages = odm.collection::<LogMsg>();
    let find = messages
        .find(|m| m.text.contains_text("Link Down"))
        .include(|m| m.host)
        .all();
    let found: Vec<(LogMsg, Host)> = show.step("Who lost the network?", find).await?;
    let names: BTreeSet<&str> = found.iter().map(|(_, host)| host.name.as_str()).collect();
    show.got(format!("{} messages of {} hosts", found.len(), names.len()));
    let in_file = lines.iter().filter(|line| line.text.contains("Link Down"));
    show.check(
        "as in the file",
        names,
        in_file.map(|line| line.host.as_str()).collect(),
    )?;
    show.check("2 commands", show.last_sent(), 2)
}

async fn gone(show: &mut Show, odm: &Odm, expected: &BTreeMap<&str, Vec<&Line>>) -> Result<()> {
    show.part("A host goes, and its messages with it: `on_delete = cascade`");
    let (name, lines) = expected
        .iter()
        .max_by_key(|(_, lines)| lines.len())
        .context("the log is empty")?;
    let (hosts, messages) = (odm.collection::<Host>(), odm.collection::<LogMsg>());
    let delete = hosts.delete((*name).to_owned());
    let deleted = show.step(format!("Delete {name}"), delete).await?;
    show.got(format!(
        "{} deleted, and {} with it",
        plural(deleted.deleted, "host"),
        plural(deleted.cascaded, "message")
    ));
    let left = messages.find_all().count().await?;
    let all: usize = expected.values().map(Vec::len).sum();
    show.check(
        &format!(
            "{left} messages are left, all but the {} of the host",
            lines.len()
        ),
        left,
        (all - lines.len()) as u64,
    )
}

fn shown(message: &LogMsg) -> String {
    let time = message.time.try_to_rfc3339_string().unwrap_or_default();
    format!("{time}  {}: {}", message.process, shorten(&message.text, 46))
}
