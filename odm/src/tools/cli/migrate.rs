//! The command `migrate`: the steps of the application, on its database.

use super::args::{MigrateCommand, Rate};
use super::failure::{CLEAN, Failure, WRONG};
use super::json;
use super::progress::{SoFar, watched};
use super::streams::{CommandEnd, Streams};
use crate::migrate::{Migrated, Migrating, Migrations, RunningStep, StepState, StepStatus};
use crate::tools::snapshots::check::{ListedSteps, check};
use crate::tools::snapshots::steps::new_step;
use crate::{Odm, Result};
use mongodb::bson::Document;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a line tells how far a run is, where there is no bar.
const EVERY: Duration = Duration::from_secs(5);

impl ListedSteps for Migrations {
    fn names(&self) -> Vec<String> {
        Migrations::names(self).into_iter().map(str::to_owned).collect()
    }

    fn in_memory(
        &self,
        after: usize,
        collection: &str,
        documents: Vec<Document>,
    ) -> (Result<Vec<Document>, String>, Vec<String>) {
        let of_collection = HashMap::from([(collection.to_owned(), documents)]);
        let (made, left_out) = self.in_memory_as_far_as_possible(after + 1, of_collection);
        // A step may have renamed the collection.
        let made = made.map(|made| made.into_values().flatten().collect());
        (made, left_out)
    }
}

pub(super) async fn execute(
    odm: &Odm,
    migrations: Option<&Migrations>,
    command: Option<&MigrateCommand>,
    rate: Option<Rate>,
    streams: &mut Streams<'_>,
) -> Result<CommandEnd, Failure> {
    if let Some(MigrateCommand::New {
        name,
        renamed,
        folder,
    }) = command
    {
        let mut ask = |question: &str| streams.ask(question);
        let made = new_step(odm, &folder.folder, name, renamed, &mut ask).map_err(Failure::new)?;
        return Ok(CommandEnd::new(CLEAN, &made, made.json()));
    }
    let Some(migrations) = migrations else {
        return Err(Failure::new(
            "this program lists no steps: pass them, `odm::cli::run((odm, migrations::all()))`",
        ));
    };
    if let Some(MigrateCommand::Check { folder }) = command {
        let checked = check(odm, migrations, &folder.folder).map_err(Failure::new)?;
        let code = if checked.is_clean() { CLEAN } else { WRONG };
        return Ok(CommandEnd::new(code, &checked, checked.json()));
    }
    let migrating = odm.migrate(migrations.clone());
    if let Some(rate) = rate {
        let documents = match rate {
            Rate::Default => None,
            Rate::Documents(documents) => Some(documents),
        };
        migrating.set_rate(documents).await?;
    }
    match command {
        None | Some(MigrateCommand::New { .. } | MigrateCommand::Check { .. }) => {
            let status = migrating.status().await?;
            let text = match status.rate {
                None => {
                    "the rate is the default: a run rests for an eighth of the time that it works".to_owned()
                }
                Some(0) => "the rate is full: a run does not rest".to_owned(),
                Some(rate) => format!("the rate is {rate} documents a second"),
            };
            Ok(CommandEnd::new(CLEAN, text, json::migration_status(&status)))
        }
        Some(MigrateCommand::Status { check, chosen }) => {
            let migrating = chosen.of(migrating);
            let status = watched(streams.progress, "counting", None, migrating.status()).await?;
            let is_wrong = !status.problems.is_empty() || chosen.in_range(&status.steps).any(is_to_do);
            let code = if *check && is_wrong { WRONG } else { CLEAN };
            Ok(CommandEnd::new(code, &status, json::migration_status(&status)))
        }
        Some(
            MigrateCommand::Plan { chosen }
            | MigrateCommand::Up {
                dry_run: true,
                chosen,
            },
        ) => {
            let migrating = chosen.of(migrating);
            let status = watched(streams.progress, "counting", None, migrating.plan()).await?;
            Ok(CommandEnd::new(CLEAN, &status, json::migration_status(&status)))
        }
        Some(MigrateCommand::Up { chosen, .. }) => run(chosen.of(migrating), false, streams).await,
        Some(MigrateCommand::Down { to }) => {
            let migrating = to.iter().fold(migrating, |migrating, to| migrating.to(to));
            run(migrating, true, streams).await
        }
    }
}

/// Whether a step is to be applied, also again, or asks for something that is not made.
fn is_to_do(step: &StepStatus) -> bool {
    let is_needed = step.changes.iter().any(|change| change.documents > Some(0));
    step.state != StepState::Applied || is_needed || !step.for_models.is_empty()
}

/// Applies steps, or takes them back, and shows how far that is.
async fn run(migrating: Migrating, down: bool, streams: &mut Streams<'_>) -> Result<CommandEnd, Failure> {
    let so_far = SoFar::default();
    let (told, mut steps) = tokio::sync::mpsc::unbounded_channel::<RunningStep>();
    let (seen, pass) = (so_far.clone(), Mutex::new(None));
    let migrating = migrating.on_progress(move |step| {
        let mut pass = pass.lock().unwrap_or_else(PoisonError::into_inner);
        // A step has several changes, and each its passes: as many documents as before one, and those that it is to change.
        let this = Some((step.name.clone(), step.change, step.pass));
        if *pass != this {
            *pass = this;
            let total = step.documents.saturating_add(step.total);
            seen.total.store(total, Ordering::Relaxed);
        }
        seen.documents.store(step.documents, Ordering::Relaxed);
        drop(told.send(step));
    });
    let work = async {
        if down {
            migrating.down().await
        } else {
            migrating.up().await
        }
    };
    let what = if down { "taking back" } else { "applying" };
    let mut work = std::pin::pin!(watched(streams.progress, what, Some(so_far), work));
    let mut last = Instant::now();
    let migrated: Migrated = loop {
        tokio::select! {
            migrated = &mut work => break migrated?,
            Some(step) = steps.recv() => {
                if !streams.progress && last.elapsed() >= EVERY {
                    last = Instant::now();
                    writeln!(streams.err, "{step}").map_err(crate::Error::application)?;
                }
            }
        }
    };
    Ok(CommandEnd::new(CLEAN, &migrated, json::migrated(&migrated)))
}
