//! The arguments of the command line.

use super::failure::Failure;
use crate::migrate::{Migrating, StepStatus};
use crate::tools::edges::CopyKind;
use crate::{Consistency, Odm};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::collections::HashMap;
use std::path::PathBuf;

const CODES: &str = "\
Exit codes:
  0  done, and nothing is wrong
  1  something is wrong with the data, or `plan --check` found something to change, to backfill, or unknown
  2  the command failed: wrong arguments, no server, another error";

/// Looks after the database of this application.
#[derive(Debug, Parser)]
#[command(after_help = CODES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: CliCommand,
    /// Write the result as one JSON document.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum CliCommand {
    /// Show what differs between the models and the database.
    Plan {
        /// Exit with 1 if something is to be changed or backfilled, or the database holds copies that the models lack.
        #[arg(long)]
        check: bool,
        /// Also show which indexes are unused, redundant or duplicates, with their sizes.
        #[arg(long)]
        indexes: bool,
    },
    /// Make collections, validators and indexes as the models declare them; nothing is dropped, unless --replace is given.
    Sync {
        /// Replace indexes that differ from the declaration, take the next steps of those that were superseded, and let validators allow the
        /// previous shape while documents have it.
        #[arg(long)]
        replace: bool,
        /// Do not ask before an index is dropped whose replacement the server can't build beside it.
        #[arg(long, short, requires = "replace")]
        yes: bool,
        /// For how many days a superseded index has to be unused, and then hidden.
        #[arg(long, value_name = "DAYS", requires = "replace", default_value_t = 7)]
        retire_after: u32,
        /// Set a validator although existing documents violate it: they stay as they are.
        #[arg(long)]
        accept_violations: bool,
        /// Go on although the database holds copies that the models lack, and that writes of this program leave stale.
        #[arg(long)]
        allow_unknown: bool,
    },
    /// Apply the steps from one version of the documents to the next.
    Migrate {
        /// Change at most this number of documents a second, from now on; `full`: without a pause.
        #[arg(long, value_name = "DOCUMENTS")]
        rate: Option<Rate>,
        #[command(subcommand)]
        command: Option<MigrateCommand>,
    },
    /// Find faults in references and copies.
    Audit {
        /// Inspect this number of documents of each collection, chosen at random.
        #[arg(long, value_name = "DOCUMENTS")]
        sample: Option<u64>,
        #[command(flatten)]
        chosen: ChosenArguments,
    },
    /// Repair faults that have one right answer, and list the rest.
    Repair {
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        chosen: ChosenArguments,
    },
    /// Apply the pending work of processes that ended: copies that they did not update any more.
    Recover,
    /// Fill in copies in documents that are older than their declaration.
    Backfill {
        /// Fill all copies, also those that were filled before.
        #[arg(long)]
        all: bool,
        /// Also fill missing snapshots, from the current values of the sources.
        #[arg(long)]
        snapshots: bool,
        /// Don't wait until every process has read the new declarations. Use it only if no other process writes.
        #[arg(long)]
        at_once: bool,
    },
    /// Remove the stored declarations of copies and references that the models do not declare any more.
    Forget {
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Draw the documents, references and copies of the models; no server is asked.
    Edges {
        /// How they are drawn.
        #[arg(long, value_enum, default_value_t, conflicts_with = "json")]
        format: Format,
        /// Write to this file, and not to standard output.
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum MigrateCommand {
    /// Write the step from the last snapshot to today's models, and the next snapshot. It needs no server.
    New {
        /// The purpose of the step, in lowercase letters, digits and `_`: `slug_of_articles`.
        name: String,
        /// A field or a collection that has another name now; nothing behind `=` if it was removed.
        #[arg(long, value_name = "COLLECTION.FIELD=NAME", value_parser = pair)]
        renamed: Vec<(String, String)>,
        #[command(flatten)]
        folder: Folder,
    },
    /// Compare today's models with the last snapshot, and read the documents of every snapshot with them. It needs no server; exits with 1
    /// where something differs.
    Check {
        #[command(flatten)]
        folder: Folder,
    },
    /// Show which steps are applied, and how many documents need the others. It needs no right to write.
    Status {
        /// Exit with 1 if a step is still to be applied, or can't be.
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        chosen: ChosenSteps,
    },
    /// Show the same with a few documents before and after each change.
    Plan {
        #[command(flatten)]
        chosen: ChosenSteps,
    },
    /// Apply the steps that are open. Where another process does so, wait for it.
    Up {
        /// Change nothing, and show the plan.
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        chosen: ChosenSteps,
    },
    /// Take back the step that was applied last.
    Down {
        /// Take back all steps behind this one.
        #[arg(long, value_name = "STEP")]
        to: Option<String>,
    },
}

/// Which steps are meant.
#[derive(Debug, Args)]
pub(super) struct ChosenSteps {
    /// This step is the last one.
    #[arg(long, value_name = "STEP")]
    to: Option<String>,
    /// This step and those behind it once more: for documents that a program of the version before has written since.
    #[arg(long, value_name = "STEP")]
    again: Option<String>,
}

impl ChosenSteps {
    /// The steps up to the last one.
    pub(super) fn in_range<'s>(&self, steps: &'s [StepStatus]) -> impl Iterator<Item = &'s StepStatus> {
        let last = steps.iter().position(|step| Some(&step.name) == self.to.as_ref());
        steps.iter().take(last.map_or(steps.len(), |last| last + 1))
    }

    pub(super) fn of(&self, migrating: Migrating) -> Migrating {
        let migrating = self.to.iter().fold(migrating, |migrating, to| migrating.to(to));
        let again = self.again.iter();
        again.fold(migrating, |migrating, again| migrating.again(again))
    }
}

/// Where steps and snapshots are.
#[derive(Debug, Args)]
pub(super) struct Folder {
    /// The folder of the steps.
    #[arg(long, value_name = "FOLDER", default_value = "migrations")]
    pub(super) folder: PathBuf,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() => Ok((from.to_owned(), to.to_owned())),
        _ => Err("`COLLECTION.FIELD=NAME`, or `COLLECTION.FIELD=` for what was removed".to_owned()),
    }
}

/// A rate on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    Default,
    Documents(u64),
}

impl std::str::FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        match text {
            "default" => Ok(Rate::Default),
            "full" => Ok(Rate::Documents(0)),
            number => match number.parse() {
                Ok(0) => {
                    Err("a run needs at least one document a second; `full` is without a pause".to_owned())
                }
                Ok(rate) => Ok(Rate::Documents(rate)),
                Err(_) => Err("a number of documents a second, `full` or `default`".to_owned()),
            },
        }
    }
}

impl CliCommand {
    pub(super) fn name(&self) -> &'static str {
        match self {
            CliCommand::Plan { .. } => "plan",
            CliCommand::Sync { .. } => "sync",
            CliCommand::Migrate { .. } => "migrate",
            CliCommand::Audit { .. } => "audit",
            CliCommand::Repair { .. } => "repair",
            CliCommand::Recover => "recover",
            CliCommand::Backfill { .. } => "backfill",
            CliCommand::Forget { .. } => "forget",
            CliCommand::Edges { .. } => "edges",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Format {
    /// Paragraphs and lines.
    #[default]
    Text,
    /// A flow chart in the language of Mermaid.
    Mermaid,
    /// An image.
    Svg,
}

/// Which references and copies are meant.
#[derive(Debug, Args)]
pub(super) struct ChosenArguments {
    /// Only the references and copies in this collection, or those at this field or within it; may be given several times.
    #[arg(long, value_name = "COLLECTION[.FIELD]")]
    only: Vec<String>,
}

impl ChosenArguments {
    /// As the audit takes them; empty for all.
    pub(super) fn of(&self, odm: &Odm) -> Result<Vec<(&'static str, Option<String>)>, Failure> {
        let edges = odm.edges();
        let references = edges.references.iter().map(|edge| (edge.holder, &edge.field));
        let copies = edges
            .copies
            .iter()
            .filter(|edge| edge.consistency != Consistency::Snapshot);
        let copies = copies.map(|edge| (edge.holder, &edge.field));
        // The summaries of buckets are compared too.
        let summaries: Vec<(&'static str, String)> = summaries(odm).collect();
        let summaries = summaries.iter().map(|(holder, field)| (*holder, field));
        let known: Vec<(&'static str, &String)> = references.chain(copies).chain(summaries).collect();
        let mut chosen = Vec::new();
        for name in &self.only {
            if let Some((collection, _)) = known.iter().find(|(collection, _)| collection == name) {
                chosen.push((*collection, None));
                continue;
            }
            // `orders.customer` means `orders.customer.id` too.
            let mut fits: Vec<(&'static str, Option<String>)> = Vec::new();
            for (collection, field) in &known {
                let whole = format!("{collection}.{field}");
                let below = whole.strip_prefix(name.as_str());
                let fit = (*collection, Some((*field).clone()));
                // A reference with copies is known as both.
                if below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
                    && !fits.contains(&fit)
                {
                    fits.push(fit);
                }
            }
            if fits.is_empty() {
                let known: Vec<String> = known
                    .iter()
                    .map(|(collection, field)| format!("{collection}.{field}"))
                    .collect();
                return Err(Failure::new(if known.is_empty() {
                    format!("`--only {name}`: the models have no references")
                } else {
                    format!(
                        "`--only {name}` is neither a collection with references or copies, nor one of them: \
                     there are {}",
                        known.join(", ")
                    )
                }));
            }
            chosen.extend(fits);
        }
        Ok(chosen)
    }
}

/// The fields of buckets that follow from their items.
fn summaries(odm: &Odm) -> impl Iterator<Item = (&'static str, String)> + '_ {
    odm.graph().models().flat_map(|meta| {
        let names = meta.bucket.into_iter().flat_map(|bucket| bucket.summary_fields());
        names.map(|name| (meta.collection, name.to_owned()))
    })
}

/// About how many documents are to be read, for the progress bar: 0 where the server does not say. The holders of
/// references are read once for all of these, and once more for each reference with copies and each derived field; so are
/// buckets.
pub(super) async fn documents(
    odm: &Odm,
    only: &[(&'static str, Option<String>)],
    sample: Option<u64>,
) -> u64 {
    let edges = odm.edges();
    let is_chosen = |holder: &str, field: &str| {
        let mut only_these = only.iter();
        only.is_empty()
            || only_these
                .any(|(collection, one)| *collection == holder && one.as_ref().is_none_or(|one| one == field))
    };
    let references = edges.references.iter();
    let mut reads: Vec<(&str, &str)> = references
        .filter(|edge| is_chosen(edge.holder, &edge.field))
        .map(|edge| (edge.holder, ""))
        .collect();
    let copies = edges
        .copies
        .iter()
        .filter(|edge| edge.consistency != Consistency::Snapshot);
    let copies = copies.filter(|edge| is_chosen(edge.holder, &edge.field));
    reads.extend(copies.map(|edge| match &edge.kind {
        CopyKind::Field { through, .. } => (edge.holder, through.as_str()),
        _ => (edge.holder, edge.field.as_str()),
    }));
    let buckets = summaries(odm).filter(|(holder, field)| is_chosen(holder, field));
    reads.extend(buckets.map(|(holder, _)| (holder, "(summary)")));
    reads.sort_unstable();
    reads.dedup();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    let mut total = 0_u64;
    for (name, _) in reads {
        let count = match counts.get(name) {
            Some(count) => *count,
            None => {
                let collection = odm.database().collection::<mongodb::bson::Document>(name);
                let count = collection.estimated_document_count().await.unwrap_or(0);
                counts.insert(name, count);
                count
            }
        };
        total = total.saturating_add(sample.map_or(count, |sample| count.min(sample)));
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_or_a_word() {
        assert_eq!("500".parse(), Ok(Rate::Documents(500)));
        assert_eq!("full".parse(), Ok(Rate::Documents(0)));
        assert_eq!("default".parse(), Ok(Rate::Default));
        assert!("0".parse::<Rate>().is_err() && "-1".parse::<Rate>().is_err());
    }
}
