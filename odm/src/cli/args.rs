//! What can be said on the command line.

use super::Failure;
use crate::Odm;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const CODES: &str = "\
Exit codes:
  0  done, and nothing is wrong
  1  something is wrong with the data, or `plan --check` found something to change
  2  the command was not carried out: wrong arguments, no server, another error";

/// Looks after the database of this application.
#[derive(Debug, Parser)]
#[command(after_help = CODES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
    /// Write the result as one JSON document.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Show what differs between the models and the database.
    Plan {
        /// Exit with 1 if something is to be changed.
        #[arg(long)]
        check: bool,
    },
    /// Make collections, validators and indexes as the models declare them; nothing is dropped.
    Sync {
        /// Set a validator although existing documents violate it: they stay as they are.
        #[arg(long)]
        accept_violations: bool,
    },
    /// Look for what is wrong with the references.
    Audit {
        /// Look at so many documents of each collection, chosen at random.
        #[arg(long, value_name = "DOCUMENTS")]
        sample: Option<u64>,
        #[command(flatten)]
        chosen: Chosen,
    },
    /// Mend what has one right answer, and list the rest.
    Repair {
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        chosen: Chosen,
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

impl Command {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Command::Plan { .. } => "plan",
            Command::Sync { .. } => "sync",
            Command::Audit { .. } => "audit",
            Command::Repair { .. } => "repair",
            Command::Edges { .. } => "edges",
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

/// Which references are meant.
#[derive(Debug, Args)]
pub(super) struct Chosen {
    /// Only the references of this collection, or this one of them; may be given several times.
    #[arg(long, value_name = "COLLECTION[.FIELD]")]
    only: Vec<String>,
}

impl Chosen {
    /// As the audit takes them; empty for all.
    pub(super) fn of(&self, odm: &Odm) -> Result<Vec<(&'static str, Option<String>)>, Failure> {
        let edges = odm.graph().edges();
        let mut chosen = Vec::new();
        for name in &self.only {
            let collection = edges.iter().find(|edge| edge.holder.collection == name);
            let one = edges
                .iter()
                .find(|edge| format!("{}.{}", edge.holder.collection, edge.path) == *name);
            chosen.push(match (collection, one) {
                (Some(edge), _) => (edge.holder.collection, None),
                (None, Some(edge)) => (edge.holder.collection, Some(edge.path.clone())),
                (None, None) => {
                    let known: Vec<String> = edges
                        .iter()
                        .map(|edge| format!("{}.{}", edge.holder.collection, edge.path))
                        .collect();
                    return Err(Failure::new(match known.is_empty() {
                        true => format!("`--only {name}`: the models have no references"),
                        false => format!(
                            "`--only {name}` is no collection with references and no reference: there are {}",
                            known.join(", ")
                        ),
                    }));
                }
            });
        }
        Ok(chosen)
    }
}

/// About how many documents are to be read, for the progress bar: 0 where the server does not say.
pub(super) async fn documents(
    odm: &Odm,
    only: &[(&'static str, Option<String>)],
    sample: Option<u64>,
) -> u64 {
    let mut collections: Vec<&str> = Vec::new();
    for edge in odm.graph().edges() {
        let name = edge.holder.collection;
        let chosen = only.is_empty() || only.iter().any(|(collection, _)| *collection == name);
        if chosen && !collections.contains(&name) {
            collections.push(name);
        }
    }
    let mut total = 0_u64;
    for name in collections {
        let collection = odm.database().collection::<mongodb::bson::Document>(name);
        let count = collection.estimated_document_count().await.unwrap_or(0);
        total = total.saturating_add(sample.map_or(count, |sample| count.min(sample)));
    }
    total
}
