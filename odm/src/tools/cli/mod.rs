//! The command line that an application gets in one line: `plan`, `sync`, `migrate`, `audit`, `repair`, `recover`, `backfill`, `forget`
//! and `edges` for its models.
//!
//! With the feature `cli`:
//!
//! ```toml
//! mongodb-odm = { version = "…", features = ["cli"] }
//! ```
//!
//! ```no_run
//! # use samples::model::*;
//! use std::process::ExitCode;
//!
//! #[tokio::main]
//! async fn main() -> odm::Result<ExitCode> {
//!     let client = odm::mongodb::Client::with_uri_str("mongodb://127.0.0.1:27017/?replicaSet=rs0").await?;
//!     let odm = Odm::new(client.database("app"), models![Person, Account])?;
//!     Ok(odm::cli::run(odm).await)
//! }
//! ```
//!
//! | command | does | as |
//! | --- | --- | --- |
//! | `plan` | shows what differs between the models and the database, and which copies the database knows and the models lack; with `--check` that is exit code 1. With `--indexes` also which indexes are unused, redundant or duplicates | [`Odm::plan`], [`Odm::index_report`] |
//! | `sync` | makes collections, validators and indexes as they are declared; `--accept-violations` also over documents that a new validator does not allow. Where the database holds copies that the models lack, nothing is changed, unless `--allow-unknown` is given. `--replace` replaces indexes that differ, takes the steps that are due of those that were superseded (`--retire-after DAYS`), and has a validator allow the previous shape while documents have it; it asks before an index is missing for a while, unless `--yes` is given | [`Odm::sync`], [`Plan::replace`](crate::Plan::replace), [`Plan::accept_violations`](crate::Plan::accept_violations), [`Odm::allow_unknown_copies`] |
//! | `audit` | finds faults in references and copies; with `--sample N` in a random sample of the documents, with `--only COLLECTION[.FIELD]` for some references and copies | [`Odm::audit`] |
//! | `repair` | repairs faults that have one right answer, and lists the rest; asks before it changes anything, unless `--yes` is given | [`Odm::repair`] |
//! | `recover` | applies the pending work of processes that ended | [`Odm::recover`] |
//! | `backfill` | fills in copies, computed fields, bucket summaries and the other sides of two-way references in documents that are older than the declaration, and continues where it was interrupted; `--all` also those that were filled before, `--snapshots` also missing snapshots, from the current values of the sources; `--at-once` does not wait for processes that have read older declarations | [`Odm::backfill`], [`Backfilling::again`](crate::Backfilling::again), [`Backfilling::snapshots`](crate::Backfilling::snapshots), [`Backfilling::at_once`](crate::Backfilling::at_once) |
//! | `forget` | removes the stored declarations of copies and references that the models don't declare any more; shows them and asks, unless `--yes` is given | [`Odm::forget_copies`] |
//! | `migrate` | applies the steps from one version to the next: `status`, `plan`, `up`, `down`; `up --dry-run` is `plan`; `new NAME` writes the next one, with a snapshot of the models, and `check` compares models and snapshots, both without a server; `--rate N` changes how many documents a second a run changes at most, also one that is under way | [`Odm::migrate`] |
//! | `edges` | draws the models: `--format text`, `mermaid` or `svg`, into a file with `--output` | [`Odm::edges`] |
//!
//! # Exit codes
//!
//! | code | means |
//! | --- | --- |
//! | 0 | done, and nothing is wrong |
//! | 1 | something is wrong with the data: `audit` found faults, `repair` left some, the user answered no to `repair`, `forget` or `sync --replace`, existing documents or indexes prevent `sync`, or `plan --check` found something to change or to backfill, or copies that the models lack, or `migrate status --check` found steps that are not applied, or `migrate check` models that differ from the last snapshot |
//! | 2 | the command failed, or a part of it: wrong arguments, a server that does not answer, copies that the models lack (`sync`), any other error; `recover`, `backfill` and `repair` also where one document could not be written, though everything else was done |
//!
//! # JSON
//!
//! With `--json`, a command writes one JSON document to standard output, also when it fails; only wrong arguments are reported
//! as text alone. It always has `command`, `database` and `exit` (the exit code), and, if the command failed, `error` (a text)
//! and nothing else. Values of documents, such as ids, are written as MongoDB's extended JSON: `{ "$oid": "…" }`.
//!
//! | command | more fields |
//! | --- | --- |
//! | `plan` | `empty`: whether there is nothing to change; `changes`; `notes`: what is there without being declared, in words; `backfills`: the names of what `backfill` is to fill; `unknown`: the copies that the database knows and the models lack, such as `orders.name from customers.name`; `warning`: on a standalone server what it lacks and how to make it a replica set, else `null`. With `--indexes` also `indexes`, an array of `{ collection, index, fields, bytes, uses, since, served_by, duplicate }`, where `uses` is `null` if it is unknown and `served_by` names the index that does its work, and `unknown_uses`: `{ collection, why }` |
//! | `sync` | `changes`: what was changed; `backfills` as of `plan` |
//! | `audit` | `documents`, `checked`, `right`, `wrong`: numbers; `references`, `copies`, `duplicate_ids`: arrays |
//! | `repair` | `repairs`: an array of `{ collection, field, what, count }` with `what` one of `nullified`, `pulled`, `linked`, `unlinked`, `deduplicated`, `copied`, `summed`, `restored`; `repaired`: their total number; `left`: the faults that are left, as of an audit |
//! | `recover` | `documents`: how many had pending work; `copies`: in how many copies were updated; `oldest_s`: the age of the oldest pending work in seconds, or null |
//! | `backfill` | `edges`: the names of what was filled, such as `products.parts.id`; `documents`: in how many copies were filled |
//! | `forget` | `forgotten`: what the database knew and the models lack, as of `plan`, and names of references |
//! | `migrate` | of `status` and `plan`: `steps`: an array of `{ name, state, has_down, documents, begun, applied, changes }` with `state` one of `applied`, `begun`, `open`, and each change `{ collection, words, documents, samples }`; `ahead`, `problems`: texts; `running`: `{ name, down, change, pass, documents, total, is_running }` or null; `rate`: a number or null. Of `up` and `down`: `applied`, `taken_back`: names; `for_models`: what was made behind the last step, in words; `documents`. Of `new`: `step`, `after`, `files`, `changes`, `by_hand`. Of `check`: `clean`, `snapshots`, `samples`, `samples_by_steps`, `changes`, `problems` |
//! | `edges` | `documents`: `{ name, collection, append_only, bucket }`, where `bucket` is `{ items, size, per }` or null; `references`: `{ holder, field, kind, targets, by, max, optional, only, inverse, on_delete }`; `copies`: `{ holder, field, source, kind, sync, … }` |
//!
//! A change is `{ kind, collection, words }` with `kind` one of `create_collection`, `set_validator`, `create_index`,
//! `change_ttl`, `set_pre_and_post_images`, `replace_index`, `retire_index`, `conflict`; `index` is the index's name, and `violations` is `{ count, sample }` where existing documents
//! are in the way. The `way` of a replaced index is `in_place`, `beside`, `beside_then_dropped` or `window`; the `step` of one that the index
//! `by` has superseded, or a step has retired (`by` is null), is `watch`, `hide`, `drop` or `unhide`. A reference of an audit is `{ collection, field, targets, checked, right, kept, dangling, one_sided,
//! repeated, over_bound, several_children, below_deleted, interrupted }`, where each of the last seven is `{ count, sample }` and
//! each sample a pair: the id of the document, and what is wrong. The copies of an audit are `{ collection, fields, source, checked, wrong, share,
//! stale }`, where `wrong` is how many of the checked ones differ, `share` is that of the right ones, from 0 to 1, and
//! `stale` is `{ count, sample }` with the ids of the documents that hold them. Its duplicate ids are `{ collection, shard_key, found }`, where
//! `found` is `{ count, sample }` with each `_id` that several documents have, and how many.
//!
//! The `kind` of a reference is `one`, `many` or `parent`; of a copy it is `field`, with `source_field` and `through`;
//! `subset`, with `parent`, `limit`, `last`, `order`, `fields` and `filtered`; or `count`, `sum`, `avg`, `min` or `max`, with
//! `of`, `parent` and `filtered`. [`edges`](crate::edges) describes their meaning.
//!
//! # Progress
//!
//! Where standard error is a terminal, a bar there shows how far `audit` and `repair` are, and of `backfill` how many
//! documents it has read; of `migrate up` and `down`, how many documents of a step are changed. Results go to standard output.

mod args;
mod failure;
mod json;
mod migrate;
mod progress;
mod streams;

use crate::schema::{Applied, plural};
use crate::{Audit, Backfilled, Migrations, Odm, Recovered, Repaired};
use args::{ChosenArguments, Cli, CliCommand, Format};
use clap::Parser;
use failure::{CLEAN, FAILED, Failure, WRONG};
use progress::{SoFar, watched};
use std::ffi::OsString;
use std::io::{self, BufReader, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use streams::CommandEnd;
pub use streams::Streams;

/// Executes the command that the program was started with, and returns its [exit code](self#exit-codes).
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> std::process::ExitCode {
/// odm::cli::run(odm).await
/// # }
/// ```
pub async fn run(program: impl Into<Program>) -> ExitCode {
    run_from(program, std::env::args_os()).await
}

/// The same with arguments of the caller's own, the first of which is the name of the program.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> std::process::ExitCode {
/// odm::cli::run_from(odm, ["manage", "audit", "--sample", "1000"]).await
/// # }
/// ```
pub async fn run_from<A: Into<OsString> + Clone>(
    program: impl Into<Program>,
    args: impl IntoIterator<Item = A>,
) -> ExitCode {
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let mut answers = BufReader::new(io::stdin());
    let asks = io::stdin().is_terminal() && io::stderr().is_terminal();
    let mut streams = Streams::new(&mut out, &mut err);
    streams.progress = io::stderr().is_terminal();
    if asks {
        streams = streams.answers(&mut answers);
    }
    ExitCode::from(run_with(program, args, &mut streams).await)
}

/// The same with input and output of the caller's own: for tests, or a program that shows them elsewhere. Gives the exit
/// code as a number.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) {
/// use odm::cli::{Streams, run_with};
///
/// let (mut out, mut err) = (Vec::new(), Vec::new());
/// let code = run_with(odm, ["manage", "plan", "--json"], &mut Streams::new(&mut out, &mut err)).await;
/// assert_eq!(code, 0, "{}", String::from_utf8_lossy(&err));
/// # }
/// ```
pub async fn run_with<A: Into<OsString> + Clone>(
    program: impl Into<Program>,
    args: impl IntoIterator<Item = A>,
    streams: &mut Streams<'_>,
) -> u8 {
    let program = program.into();
    let odm = &program.odm;
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help that was asked for is no error.
            let code = if error.use_stderr() { FAILED } else { CLEAN };
            let stream: &mut (dyn Write + Send) = match code {
                FAILED => &mut *streams.err,
                _ => &mut *streams.out,
            };
            return match write!(stream, "{}", error.render()).and_then(|()| stream.flush()) {
                Ok(()) => code,
                Err(_) => FAILED,
            };
        }
    };
    let done = match execute(&program, &cli.command, streams).await {
        Ok(done) => done,
        Err(error) => CommandEnd {
            code: error.code,
            text: None,
            json: json::error(&error.message),
            error: Some(error.message),
        },
    };
    match done.show(odm, &cli, streams) {
        Ok(code) => code,
        // The reader of the output is gone, or a disk is full.
        Err(_) => FAILED,
    }
}

/// The program that a command line belongs to: the handle of the application, and its [steps](crate::migrate) if it has any.
///
/// ```no_run
/// # use samples::model::*;
/// # mod migrations { pub fn all() -> odm::Migrations { odm::migrations![] } }
/// # async fn example(odm: Odm) -> std::process::ExitCode {
/// odm::cli::run((odm, migrations::all())).await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    odm: Odm,
    migrations: Option<Migrations>,
}

impl From<Odm> for Program {
    fn from(odm: Odm) -> Program {
        Program {
            odm,
            migrations: None,
        }
    }
}

impl From<(Odm, Migrations)> for Program {
    fn from((odm, migrations): (Odm, Migrations)) -> Program {
        Program {
            odm,
            migrations: Some(migrations),
        }
    }
}

async fn execute(
    program: &Program,
    command: &CliCommand,
    streams: &mut Streams<'_>,
) -> Result<CommandEnd, Failure> {
    let odm = &program.odm;
    match command {
        CliCommand::Migrate { rate, command } => {
            let steps = program.migrations.as_ref();
            migrate::execute(odm, steps, command.as_ref(), *rate, streams).await
        }
        CliCommand::Plan { check, indexes } => {
            let plan = watched(streams.progress, "comparing", None, odm.plan()).await?;
            let is_refused = !plan.unknown().is_empty() && !odm.allows_unknown();
            let to_do = !plan.is_empty() || !plan.backfills().is_empty() || is_refused;
            let code = if *check && to_do { WRONG } else { CLEAN };
            if *indexes {
                let report = watched(streams.progress, "reading", None, odm.index_report()).await?;
                let text = format!("{plan}\n\n{report}");
                return Ok(CommandEnd::new(code, text, json::plan_with(&plan, &report)));
            }
            Ok(CommandEnd::new(code, &plan, json::plan(&plan)))
        }
        CliCommand::Sync {
            replace,
            yes,
            retire_after,
            accept_violations,
            allow_unknown,
        } => {
            let odm = if *allow_unknown {
                odm.clone().allow_unknown_copies()
            } else {
                odm.clone()
            };
            if *replace {
                let retire_after = Duration::from_secs(u64::from(*retire_after) * 24 * 60 * 60);
                return self::replace(&odm, *accept_violations, retire_after, *yes, streams).await;
            }
            let work = sync(&odm, *accept_violations);
            let applied = watched(streams.progress, "changing", None, work).await?;
            Ok(CommandEnd::new(CLEAN, &applied, json::applied(&applied)))
        }
        CliCommand::Audit { sample, chosen } => {
            let audit = audit(odm, chosen, *sample, streams).await?;
            let code = if audit.is_clean() { CLEAN } else { WRONG };
            Ok(CommandEnd::new(code, &audit, json::audit(&audit)))
        }
        CliCommand::Repair { yes, chosen } => repair(odm, chosen, *yes, streams).await,
        CliCommand::Recover => {
            let recovered = watched(streams.progress, "recovering", None, odm.recover()).await?;
            Ok(CommandEnd::new(
                CLEAN,
                in_words(&recovered),
                json::recovered(&recovered),
            ))
        }
        CliCommand::Backfill {
            all,
            snapshots,
            at_once,
        } => {
            let mut backfilling = odm.backfill();
            if *at_once {
                backfilling = backfilling.at_once();
            }
            if *all {
                backfilling = backfilling.again();
            }
            if *snapshots {
                backfilling = backfilling.snapshots();
            }
            // How many it will be depends on where an earlier one has stopped.
            let so_far = Some(SoFar::new(backfilling.read(), 0));
            let (told, mut waits) = tokio::sync::mpsc::unbounded_channel();
            let backfilling = backfilling.on_wait(move |why| drop(told.send(why.to_string())));
            let mut filling_in =
                std::pin::pin!(watched(streams.progress, "backfilling", so_far, backfilling));
            let filled = loop {
                tokio::select! {
                    filled = &mut filling_in => break filled?,
                    Some(why) = waits.recv() => writeln!(streams.err, "{why}").map_err(crate::Error::application)?,
                }
            };
            Ok(CommandEnd::new(
                CLEAN,
                filling(&filled),
                json::backfilled(&filled),
            ))
        }
        CliCommand::Forget { yes } => forget(odm, *yes, streams).await,
        CliCommand::Edges { format, output } => {
            let edges = odm.edges();
            let text = match format {
                Format::Text => edges.to_string(),
                Format::Mermaid => edges.mermaid(),
                Format::Svg => edges.svg(),
            };
            let Some(file) = output else {
                return Ok(CommandEnd::new(CLEAN, text, json::edges(&edges)));
            };
            let newline = if text.ends_with('\n') { "" } else { "\n" };
            match std::fs::write(file, text + newline) {
                Ok(()) => Ok(CommandEnd::new(CLEAN, "", json::edges(&edges))),
                Err(error) => Err(Failure::new(format!(
                    "{} can't be written: {error}",
                    file.display()
                ))),
            }
        }
    }
}

async fn sync(odm: &Odm, accept_violations: bool) -> crate::Result<Applied> {
    if accept_violations {
        let plan = odm.plan().await?.accept_violations();
        return odm.apply(&plan).await;
    }
    odm.sync().await
}

async fn replace(
    odm: &Odm,
    accept_violations: bool,
    retire_after: Duration,
    yes: bool,
    streams: &mut Streams<'_>,
) -> Result<CommandEnd, Failure> {
    let mut plan = watched(streams.progress, "comparing", None, odm.plan()).await?;
    if accept_violations {
        plan = plan.accept_violations();
    }
    plan = plan.replace().retire_after(retire_after);
    if plan.needs_window() {
        if !yes && streams.answers.is_none() {
            return Err(Failure::new(format!(
                "an index is dropped before its replacement is built, and there is no terminal to ask on: pass `--yes`\n{plan}"
            )));
        }
        let question = format!(
            "{plan}\nReplace indexes in a window, in the database `{}`?",
            odm.database().name()
        );
        if !yes && streams.ask(&question) != Some(true) {
            return Err(Failure {
                code: WRONG,
                message: "nothing was changed".to_owned(),
            });
        }
        plan = plan.in_window();
    }
    let applied = watched(streams.progress, "changing", None, odm.apply(&plan)).await?;
    Ok(CommandEnd::new(CLEAN, &applied, json::applied(&applied)))
}

async fn audit(
    odm: &Odm,
    chosen: &ChosenArguments,
    sample: Option<u64>,
    streams: &Streams<'_>,
) -> Result<Audit, Failure> {
    let only = chosen.of(odm)?;
    let total = if streams.progress {
        args::documents(odm, &only, sample).await
    } else {
        0
    };
    let mut auditing = odm.audit().only(only);
    if let Some(sample) = sample {
        auditing = auditing.sample(sample);
    }
    let so_far = Some(SoFar::new(auditing.read(), total));
    Ok(watched(streams.progress, "reading", so_far, auditing).await?)
}

async fn repair(
    odm: &Odm,
    chosen: &ChosenArguments,
    yes: bool,
    streams: &mut Streams<'_>,
) -> Result<CommandEnd, Failure> {
    let only = chosen.of(odm)?;
    let total = if streams.progress {
        args::documents(odm, &only, None).await
    } else {
        0
    };
    let repairing = if yes {
        odm.repair_all().only(only)
    } else {
        if streams.answers.is_none() {
            return Err(Failure::new(
                "`repair` changes documents, and there is no terminal to ask on: pass `--yes`",
            ));
        }
        let audit = audit(odm, chosen, None, streams).await?;
        if audit.is_clean() {
            let text = audit.to_string();
            let nothing = Repaired {
                left: audit,
                ..Repaired::default()
            };
            return Ok(CommandEnd::new(CLEAN, text, json::repaired(&nothing)));
        }
        let question = format!(
            "{audit}\nRepair what has one right answer, in the database `{}`?",
            odm.database().name()
        );
        if streams.ask(&question) != Some(true) {
            return Err(Failure {
                code: WRONG,
                message: "nothing was changed".to_owned(),
            });
        }
        odm.repair(&audit)
    };
    let so_far = Some(SoFar::new(repairing.read(), total));
    let repaired = watched(streams.progress, "repairing", so_far, repairing).await?;
    let code = if repaired.left.is_clean() { CLEAN } else { WRONG };
    Ok(CommandEnd::new(code, &repaired, json::repaired(&repaired)))
}

async fn forget(odm: &Odm, yes: bool, streams: &mut Streams<'_>) -> Result<CommandEnd, Failure> {
    if !yes && streams.answers.is_none() {
        return Err(Failure::new(
            "`forget` lets other programs leave copies stale, and there is no terminal to ask on: pass `--yes`",
        ));
    }
    let names = odm.undeclared_copies().await?;
    if names.is_empty() {
        return Ok(CommandEnd::new(
            CLEAN,
            "nothing to forget",
            json::forgotten(&names),
        ));
    }
    if !yes {
        let question = format!(
            "The database `{}` holds these declarations, which the models of this program lack:\n  {}\nForget them? Copies of \
             programs that still declare them are no longer kept in sync.",
            odm.database().name(),
            names.join("\n  "),
        );
        if streams.ask(&question) != Some(true) {
            return Err(Failure {
                code: WRONG,
                message: "nothing was changed".to_owned(),
            });
        }
    }
    odm.forget_copies().await?;
    let lines: Vec<String> = names.iter().map(|name| format!("forgotten: {name}")).collect();
    Ok(CommandEnd::new(CLEAN, lines.join("\n"), json::forgotten(&names)))
}

fn in_words(recovered: &Recovered) -> String {
    match recovered.documents {
        0 => "no pending work".to_owned(),
        documents => format!(
            "{} had pending work{}; copies were updated in {}",
            plural(documents, "document"),
            recovered.oldest.map_or_else(String::new, |oldest| {
                let began = if documents == 1 { "" } else { ", the oldest" };
                format!("{began} for {} s", oldest.as_secs())
            }),
            plural(recovered.copies, "document")
        ),
    }
}

fn filling(filled: &Backfilled) -> String {
    let defaults =
        (filled.defaults > 0).then(|| format!("{} stored", plural(filled.defaults, "missing default")));
    let copies = (!filled.edges.is_empty()).then(|| {
        format!(
            "copies were filled in {}, for {}",
            plural(filled.documents, "document"),
            filled.edges.join(", ")
        )
    });
    let all: Vec<String> = defaults.into_iter().chain(copies).collect();
    if all.is_empty() {
        "nothing to backfill".to_owned()
    } else {
        all.join("; ")
    }
}

#[cfg(test)]
mod tests;
