//! Which steps are applied: the status, the plan, and the run of those that are open.

use super::lease::{self, LEASE, Mark, RunnerState, StepProgress, StoredStep};
use super::list::{ListedStep, Migrations};
use super::planned::PlannedChange;
use super::run::{self, ForModels, GuardedWrite, Runner, Told};
use super::step::{Memory, Step, StepMode};
use crate::schema::plural;
use crate::store::trace::Trace;
use crate::store::transaction::OneSession;
use crate::{Error, Odm, Result};
use futures::future::FutureExt;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{DateTime, Document};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The session of a run; `None` on a standalone server.
type RunnerSession = Option<Arc<tokio::sync::Mutex<OneSession>>>;

/// Documents by the name of their collection.
#[cfg(feature = "cli")]
type DocumentsIn = HashMap<String, Vec<Document>>;

/// How long a process that waits for the lease sleeps before it asks again.
const WAIT: Duration = Duration::from_millis(300);

impl Odm {
    /// The steps of an application on this database: shows what is open, and applies it. Nothing is done until a method of [`Migrating`] is
    /// awaited. [`Odm::new`] and [`sync`](Odm::sync) never apply steps.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # mod m0001_first { pub async fn up(_: &odm::migrate::Step) -> odm::Result<()> { Ok(()) } }
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let steps = odm::migrations![m0001_first];
    /// let migrated = odm.migrate(steps).up().await?;
    /// println!("{migrated}");
    /// # Ok(()) }
    /// ```
    pub fn migrate(&self, steps: Migrations) -> Migrating {
        Migrating {
            odm: self.unscoped(),
            steps,
            to: None,
            again: None,
            told: None,
        }
    }
}

/// The steps of an application on a database: [`Odm::migrate`].
#[derive(Clone)]
pub struct Migrating {
    odm: Odm,
    steps: Migrations,
    to: Option<String>,
    again: Option<String>,
    told: Option<Told>,
}

impl fmt::Debug for Migrating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migrating")
            .field("steps", &self.steps)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

/// The state of a step in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepState {
    /// It was applied.
    Applied,
    /// It was begun, and has not come to its end.
    Begun,
    /// It is still to be applied.
    Open,
}

/// A step, and what it is in the database.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepStatus {
    /// Its name.
    pub name: String,
    /// Whether it is applied.
    pub state: StepState,
    /// Whether it can be taken back.
    pub has_down: bool,
    /// Its changes; of a step that is not applied, or is to be applied [again](Migrating::again), with the number of documents that need them.
    pub changes: Vec<PlannedChange>,
    /// The changes about the models that it has asked for, and that are still to be made: behind the last step of the list.
    pub for_models: Vec<String>,
    /// How many documents it has changed.
    pub documents: u64,
    /// When it was begun, by the clock of the server.
    pub begun: Option<DateTime>,
    /// When it was applied.
    pub applied: Option<DateTime>,
}

/// The step that a process applies, or has not finished.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunningStep {
    /// Its name.
    pub name: String,
    /// Whether it is taken back.
    pub down: bool,
    /// The position of its change, from 1.
    pub change: u64,
    /// How often the collection is gone through for this change.
    pub pass: u64,
    /// How many documents the step has changed.
    pub documents: u64,
    /// How many documents needed the change when the pass began.
    pub total: u64,
    /// Whether a process is at work on it now, by the clock of the server.
    pub is_running: bool,
}

impl RunningStep {
    pub(super) fn of(progress: &StepProgress, is_running: bool) -> RunningStep {
        let number = |n: i64| u64::try_from(n).unwrap_or_default();
        RunningStep {
            name: progress.step.clone(),
            down: progress.down,
            change: number(progress.change) + 1,
            pass: number(progress.pass),
            documents: number(progress.documents),
            total: number(progress.total),
            is_running,
        }
    }
}

impl fmt::Display for RunningStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunningStep {
            name,
            change,
            pass,
            documents,
            total,
            ..
        } = self;
        let back = if self.down { " (back)" } else { "" };
        write!(
            f,
            "{name}{back}: change {change}, pass {pass}: {} changed, {total} to change",
            plural(*documents, "document")
        )
    }
}

/// The steps and the database: [`Migrating::status`], [`Migrating::plan`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MigrationStatus {
    /// The listed steps in their order.
    pub steps: Vec<StepStatus>,
    /// Steps that the database has and this program does not list, behind all of its own: a newer program has applied them.
    pub ahead: Vec<String>,
    /// Why the open steps can't be applied, in words.
    pub problems: Vec<String>,
    /// The step that is applied now, or was interrupted.
    pub running: Option<RunningStep>,
    /// How many documents a second a run changes at most; `None`: by default it rests for an eighth of the time that it works.
    pub rate: Option<u64>,
}

impl MigrationStatus {
    /// The steps that are still to be applied.
    pub fn open(&self) -> impl Iterator<Item = &StepStatus> {
        self.steps.iter().filter(|step| step.state != StepState::Applied)
    }
}

/// A line for each step, with its changes below it where it is open.
impl fmt::Display for MigrationStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        for step in &self.steps {
            let state = match (step.state, step.applied) {
                (StepState::Applied, Some(at)) => {
                    let at = at.try_to_rfc3339_string().unwrap_or_default();
                    format!("applied {at}, {} changed", plural(step.documents, "document"))
                }
                (StepState::Applied, None) => "applied".to_owned(),
                (StepState::Begun, _) => "begun".to_owned(),
                (StepState::Open, _) => "open".to_owned(),
            };
            lines.push(format!("{}: {state}", step.name));
            let is_counted = step.changes.iter().any(|change| change.documents.is_some());
            if step.state != StepState::Applied || is_counted {
                lines.extend(step.changes.iter().map(|change| format!("  {change}")));
            }
            lines.extend(
                step.for_models
                    .iter()
                    .map(|change| format!("  behind the last step: {change}")),
            );
        }
        if self.steps.is_empty() {
            lines.push("no steps".to_owned());
        }
        if let Some(running) = &self.running {
            let state = if running.is_running {
                "running"
            } else {
                "interrupted"
            };
            lines.push(format!("{state}: {running}"));
        }
        lines.extend(self.ahead.iter().map(|name| {
            format!("ahead: {name}, which this program does not list and a newer one has applied")
        }));
        lines.extend(self.problems.iter().map(|problem| format!("problem: {problem}")));
        f.write_str(&lines.join("\n"))
    }
}

/// The result of [`Migrating::up`] or [`Migrating::down`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migrated {
    /// The steps that this process has applied to their end.
    pub applied: Vec<String>,
    /// The steps that it has taken back.
    pub taken_back: Vec<String>,
    /// The changes about the models that were made behind the last step, in words.
    pub for_models: Vec<String>,
    /// How many documents were changed in these steps.
    pub documents: u64,
}

impl fmt::Display for Migrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = self
            .applied
            .iter()
            .map(|name| format!("applied {name}"))
            .collect();
        lines.extend(self.taken_back.iter().map(|name| format!("taken back {name}")));
        let for_models = self.for_models.iter();
        lines.extend(for_models.map(|change| format!("behind the last step: {change}")));
        if lines.is_empty() {
            return f.write_str("nothing to apply");
        }
        lines.push(format!("{} changed", plural(self.documents, "document")));
        f.write_str(&lines.join("\n"))
    }
}

impl Migrations {
    fn describe(listed: &ListedStep) -> Result<Vec<String>> {
        let step = Step::new(listed.name, false, StepMode::Describe);
        match (listed.up)(&step).now_or_never() {
            Some(described) => described?,
            None => return Err(waits(listed)),
        }
        let in_words = |change: PlannedChange| match change.collection.as_str() {
            "" => change.words,
            collection => format!("`{collection}`: {}", change.words),
        };
        Ok(step.into_changes().into_iter().map(in_words).collect())
    }

    /// Documents by collection, after the changes of all steps but the first ones, in memory: for tests of steps. Fills and declarations of the
    /// library are left out.
    ///
    /// ```
    /// # use odm::bson::doc;
    /// mod m0001_author {
    ///     pub async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    ///         step.collection("articles").rename("autor", "author").await
    ///     }
    /// }
    ///
    /// let old = [("articles".to_owned(), vec![doc! { "_id": 1, "autor": "Kate" }])];
    /// let new = odm::migrations![m0001_author].in_memory(0, old.into())?;
    /// assert_eq!(new["articles"], [doc! { "_id": 1, "author": "Kate" }]);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// In words, where a change is one that only a server makes: a pipeline, an expression beyond constants and conversions, the work of `run`.
    pub fn in_memory(
        &self,
        behind: usize,
        documents: HashMap<String, Vec<Document>>,
    ) -> Result<HashMap<String, Vec<Document>>, String> {
        let memory = Memory {
            documents,
            left_out: None,
        };
        let (memory, made) = self.apply_in(memory, behind);
        made.map(|()| memory.documents)
    }

    /// The same as far as it is possible in memory, and the changes that were left out.
    #[cfg(feature = "cli")]
    pub(crate) fn in_memory_as_far_as_possible(
        &self,
        behind: usize,
        documents: HashMap<String, Vec<Document>>,
    ) -> (Result<DocumentsIn, String>, Vec<String>) {
        let memory = Memory {
            documents,
            left_out: Some(Vec::new()),
        };
        let (memory, made) = self.apply_in(memory, behind);
        let left_out = memory.left_out.unwrap_or_default();
        (made.map(|()| memory.documents), left_out)
    }

    fn apply_in(&self, mut memory: Memory, behind: usize) -> (Memory, Result<(), String>) {
        for listed in self.steps.iter().skip(behind) {
            let step = Step::new(listed.name, false, StepMode::Memory(Mutex::new(memory)));
            let made = match (listed.up)(&step).now_or_never() {
                Some(made) => made.map_err(|error| error.to_string()),
                None => Err(waits(listed).to_string()),
            };
            memory = step.into_memory();
            if made.is_err() {
                return (memory, made);
            }
        }
        (memory, Ok(()))
    }
}

/// The error of a step that waits for something while it is described.
fn waits(listed: &ListedStep) -> Error {
    Error::Step {
        step: listed.name.to_owned(),
        message: "it waits for something else than the methods of `Step`: do that in the closure of `each(…).run(…)`, since the function also \
                  runs to describe its changes"
            .to_owned(),
    }
}

/// Why the listed steps and those of the database don't go together, and the steps by which the database is ahead.
fn compare(listed: &[(&str, Vec<String>)], stored: &[StoredStep]) -> (Vec<String>, Vec<String>) {
    let position = |name: &str| listed.iter().position(|(listed, _)| *listed == name);
    let mut problems = Vec::new();
    let last_known = stored
        .iter()
        .filter(|step| position(&step.name).is_some())
        .map(|step| step.number)
        .max();
    let is_all_known = listed
        .iter()
        .all(|(name, _)| stored.iter().any(|step| step.name == *name && step.is_done));
    let mut ahead = Vec::new();
    for step in stored.iter().filter(|step| position(&step.name).is_none()) {
        if last_known.is_none_or(|last| step.number > last) && is_all_known {
            ahead.push(step.name.clone());
        } else {
            problems.push(format!(
                "the database has the step `{}`, which `migrations![…]` does not list: put its file and its name back. If this program is \
                 older than the one that applied it, run the newer one",
                step.name
            ));
        }
    }
    let mut known: Vec<(usize, &StoredStep)> = stored
        .iter()
        .filter_map(|step| Some((position(&step.name)?, step)))
        .collect();
    known.sort_by_key(|(_, step)| step.number);
    for pair in known.windows(2) {
        if let [(at, first), (next, second)] = pair
            && at > next
        {
            problems.push(format!(
                "`{}` was applied before `{}`, and the list has them the other way round: list them in the order in which they were \
                 applied",
                first.name, second.name
            ));
        }
    }
    let last_done = known
        .iter()
        .filter(|(_, step)| step.is_done)
        .map(|(at, _)| *at)
        .max();
    for (at, (name, changes)) in listed.iter().enumerate() {
        let step = known
            .iter()
            .find(|(known, _)| *known == at)
            .map(|(_, step)| *step);
        match step {
            None if last_done.is_some_and(|last| last > at) => {
                let later = last_done
                    .and_then(|last| listed.get(last))
                    .map_or("", |(name, _)| *name);
                problems.push(format!(
                    "`{name}` is not applied and is listed before `{later}`, which is: give it a name behind it, and move it to the end of \
                     the list"
                ));
            }
            Some(step) if step.is_done && step.changes != *changes => {
                let alike = step
                    .changes
                    .iter()
                    .zip(changes)
                    .take_while(|(then, now)| then == now);
                let at = alike.count();
                let (gone, new) = (step.changes.get(at), changes.get(at));
                let or_none =
                    |change: Option<&String>| change.cloned().unwrap_or_else(|| "nothing".to_owned());
                problems.push(format!(
                    "`{name}` was applied with other changes: then {}, now {}. A step that was applied stays as it was: put that back, and \
                     write a new step for the difference",
                    or_none(gone),
                    or_none(new)
                ));
            }
            _ => {}
        }
    }
    (problems, ahead)
}

/// The changes about the models among these changes, in words.
fn of_models(changes: &[String]) -> Vec<String> {
    let is_of_models = |change: &&String| ForModels::ALL.iter().any(|models| *change == models.in_words());
    changes.iter().filter(is_of_models).cloned().collect()
}

/// Makes changes about today's models, which are given in words: of earlier steps, and of the last one.
async fn make_for_models(runner: &Runner, earlier: &[String], own: &[String]) -> Result<()> {
    for models in ForModels::ALL {
        if earlier
            .iter()
            .chain(own)
            .any(|change| change == models.in_words())
        {
            models.make(runner).await?;
        }
    }
    if earlier.is_empty() {
        return Ok(());
    }
    let write = GuardedWrite::Mark {
        step: "",
        mark: Mark::ForModelsDone,
        progress: &runner.progress(),
    };
    runner.write(&write).await
}

/// Stores that a step is begun, with the progress that it begins with.
async fn begin(
    runner: &Runner,
    at: usize,
    (step, changes): (&str, &[String]),
    progress: StepProgress,
) -> Result<()> {
    let number = i64::try_from(at).unwrap_or(i64::MAX);
    let mark = Mark::Begun { number, changes };
    let write = GuardedWrite::Mark {
        step,
        mark,
        progress: &progress,
    };
    runner.write(&write).await?;
    runner.set_progress(progress);
    Ok(())
}

/// Why steps are not applied again before one that the program does not list.
fn not_again(ahead: &str) -> String {
    format!(
        "the database has the step `{ahead}` behind those that `migrations![…]` lists, so none of these can be applied again: do that by the \
         program that lists it"
    )
}

/// The next work of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextStep {
    At(usize),
    /// All steps are applied, and what they ask for behind the last one is not made.
    ForModels,
}

/// Which steps a run applies or takes back.
#[derive(Clone, Copy)]
struct OpenSteps {
    /// The position of the last one; for a way back, of the one that stays.
    end: Option<usize>,
    down: bool,
    /// For a way back without an end: the only one.
    first: Option<NextStep>,
}

impl OpenSteps {
    /// Whether a run of these applies the last step of a list.
    fn reaches_last(&self, number: usize) -> bool {
        !self.down && self.end.is_none_or(|end| end + 1 >= number)
    }
}

/// How a run has ended.
enum RunEnd {
    Done,
    /// Another process has taken over.
    Lost,
}

impl Migrating {
    /// Goes no further than this step: [`up`](Migrating::up) applies it as the last one, and the status and the plan count no step behind it;
    /// [`down`](Migrating::down) takes back what was applied after it.
    #[must_use]
    pub fn to(mut self, name: impl Into<String>) -> Migrating {
        self.to = Some(name.into());
        self
    }

    /// Applies this step and those behind it once more, where they are applied: for documents that a program of the version before has written
    /// since. They remove and drop again, also where it has been stored since with another meaning. [`status`](Migrating::status) and
    /// [`plan`](Migrating::plan) count what that would change.
    #[must_use]
    pub fn again(mut self, name: impl Into<String>) -> Migrating {
        self.again = Some(name.into());
        self
    }

    /// Calls a function as the run goes on, once for each batch.
    #[must_use]
    pub fn on_progress(mut self, told: impl Fn(RunningStep) + Send + Sync + 'static) -> Migrating {
        self.told = Some(Arc::new(move |progress| told(RunningStep::of(progress, true))));
        self
    }

    /// How many documents a second a run changes at most, `Some(0)` without a pause; `None` is the default, by which it rests for an
    /// eighth of the time that it works, and its batches are small, since writes of other programs may wait for one. A run that is under way
    /// takes the rate up with its next batch.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Cost
    /// One round trip.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, steps: odm::Migrations) -> odm::Result<()> {
    /// odm.migrate(steps).set_rate(Some(500)).await?;
    /// # Ok(()) }
    /// ```
    pub async fn set_rate(&self, rate: Option<u64>) -> Result<()> {
        lease::set_rate(
            &self.odm,
            rate.map(|rate| i64::try_from(rate).unwrap_or(i64::MAX)),
        )
        .await
    }

    /// Which steps are applied, and how many documents need each change of the others. It needs no right to write.
    ///
    /// # Errors
    /// [`Error::Step`] for a step that waits for something else than the methods of [`Step`]; [`Error::Migrations`] where
    /// [`to`](Migrating::to) or [`again`](Migrating::again) names none; [`Error::Driver`].
    ///
    /// # Cost
    /// Two round trips, and for each change that is not applied one, in which the server reads the collection.
    pub async fn status(&self) -> Result<MigrationStatus> {
        self.look(false).await
    }

    /// The same with a few documents before and after each change.
    ///
    /// # Errors
    /// As [`status`](Migrating::status).
    ///
    /// # Cost
    /// That of [`status`](Migrating::status), and three round trips for each change.
    pub async fn plan(&self) -> Result<MigrationStatus> {
        self.look(true).await
    }

    fn described(&self) -> Result<Vec<(&'static str, Vec<String>)>> {
        let steps = self.steps.steps.iter();
        steps
            .map(|step| Ok((step.name, Migrations::describe(step)?)))
            .collect()
    }

    async fn look(&self, samples: bool) -> Result<MigrationStatus> {
        let described = self.described()?;
        let stored = lease::stored(&self.odm).await?;
        let (state, is_held) = lease::look(&self.odm).await?;
        let (mut problems, ahead) = compare(&described, &stored);
        if self.again.is_some() {
            problems.extend(ahead.iter().map(|name| not_again(name)));
        }
        let (to, again) = (
            self.position(self.to.as_ref())?,
            self.position(self.again.as_ref())?,
        );
        let mut steps = Vec::new();
        for (at, listed) in self.steps.steps.iter().enumerate() {
            let known = stored.iter().find(|step| step.name == listed.name);
            let state = match known {
                Some(step) if step.is_done => StepState::Applied,
                Some(_) => StepState::Begun,
                None => StepState::Open,
            };
            let is_open = state != StepState::Applied || again.is_some_and(|again| again <= at);
            let mode = if is_open && to.is_none_or(|to| at <= to) {
                StepMode::Plan {
                    odm: self.odm.clone(),
                    samples,
                }
            } else {
                StepMode::Describe
            };
            let step = Step::new(listed.name, false, mode);
            (listed.up)(&step).await?;
            steps.push(StepStatus {
                name: listed.name.to_owned(),
                state,
                has_down: listed.down.is_some(),
                changes: step.into_changes(),
                for_models: known.map(|step| step.for_models.clone()).unwrap_or_default(),
                documents: known.map_or(0, |step| u64::try_from(step.documents).unwrap_or_default()),
                begun: known.and_then(|step| step.begun),
                applied: known.and_then(|step| step.done),
            });
        }
        let is_open = |progress: &StepProgress| {
            let of = stored.iter().find(|step| step.name == progress.step);
            of.is_some_and(|step| !step.is_done)
        };
        let running = state.progress.filter(is_open);
        Ok(MigrationStatus {
            steps,
            ahead,
            problems,
            running: running.map(|progress| RunningStep::of(&progress, is_held)),
            rate: state.rate.and_then(|rate| u64::try_from(rate).ok()),
        })
    }

    fn position(&self, name: Option<&String>) -> Result<Option<usize>> {
        let Some(to) = name else { return Ok(None) };
        let names = self.steps.names();
        match names.iter().position(|name| name == to) {
            Some(position) => Ok(Some(position)),
            None => Err(Error::Migrations {
                problems: vec![format!(
                    "there is no step `{to}`: the list has {}",
                    names.join(", ")
                )],
            }),
        }
    }

    /// Applies the steps that are open, in their order. Several processes may do so at once: one of them works, and the others wait until it
    /// has ended, or has been silent for three seconds; then one of them goes on where it was. A process that is killed at any moment leaves
    /// nothing that the next run does not finish.
    ///
    /// # Errors
    /// Before anything is changed: [`Error::Migrations`] where the list and the database don't go together. [`Error::Step`], where documents
    /// still need a change after three passes, or the server refuses one; errors of a step's own code; [`Error::UnknownCopies`];
    /// [`Error::Driver`]. The next run goes on there.
    ///
    /// # Cost
    /// One round trip where nothing is open; else five for the lease and the list, eight for each step, and those of its changes: see
    /// [`StepCollection::add`](crate::migrate::StepCollection::add).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, steps: odm::Migrations) -> odm::Result<()> {
    /// let migrated = odm.migrate(steps).up().await?;
    /// println!("{} documents", migrated.documents);
    /// # Ok(()) }
    /// ```
    pub async fn up(&self) -> Result<Migrated> {
        let trace = Trace::new("(all)", "migrate");
        trace.run(self.until_done(false)).await
    }

    /// Takes back the step that was applied last, or all behind [`to`](Migrating::to), the last one first.
    ///
    /// # Errors
    /// [`Error::Migrations`] where a step has no `down`, before it is begun; else as [`up`](Migrating::up).
    ///
    /// # Cost
    /// As [`up`](Migrating::up).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, steps: odm::Migrations) -> odm::Result<()> {
    /// let migrated = odm.migrate(steps).down().await?;
    /// println!("{:?}", migrated.taken_back);
    /// # Ok(()) }
    /// ```
    pub async fn down(&self) -> Result<Migrated> {
        let trace = Trace::new("(all)", "migrate");
        trace.run(self.until_done(true)).await
    }

    async fn until_done(&self, down: bool) -> Result<Migrated> {
        let mut migrated = Migrated::default();
        let described = self.described()?;
        let end = self.position(self.to.as_ref())?;
        let mut again = self.position(self.again.as_ref())?.filter(|_| !down);
        let token = ObjectId::new();
        // Of several runs at once each takes back one step, or none.
        let first = self
            .next(
                &described,
                OpenSteps {
                    end,
                    down,
                    first: None,
                },
            )
            .await?;
        if first.is_none() && again.is_none() {
            return Ok(migrated);
        }
        let open = OpenSteps { end, down, first };
        let session = if self.odm.has_transactions().await? {
            Some(OneSession::new(&self.odm).await?)
        } else {
            None
        };
        let id = match &session {
            Some(session) => Some(session.id().await),
            None => None,
        };
        let session = session.map(|session| Arc::new(tokio::sync::Mutex::new(session)));
        let members = run::members(&self.odm).await?;
        loop {
            let Some(state) = lease::take(&self.odm, token, id.as_ref()).await? else {
                if again.is_none() && self.next(&described, open).await?.is_none() {
                    return Ok(migrated);
                }
                tokio::time::sleep(WAIT).await;
                continue;
            };
            let ended = self
                .with_lease(
                    (token, session.clone(), &state, members.clone()),
                    &described,
                    open,
                    &mut again,
                    &mut migrated,
                )
                .await;
            if let Ok(RunEnd::Lost) = ended {
                continue;
            }
            let released = lease::release(&self.odm, token).await;
            ended?;
            released?;
            return Ok(migrated);
        }
    }

    /// Applies the open steps while this process has the lease.
    async fn with_lease(
        &self,
        (token, session, state, members): (ObjectId, RunnerSession, &RunnerState, Vec<String>),
        described: &[(&'static str, Vec<String>)],
        open: OpenSteps,
        again: &mut Option<usize>,
        migrated: &mut Migrated,
    ) -> Result<RunEnd> {
        self.odm.learn().await?;
        let told = self.told.clone();
        let runner = Arc::new(Runner::new(&self.odm, token, session, state, told, members));
        let made = async {
            if let Some(from) = *again {
                self.reopen(&runner, described, from, open.end).await?;
                *again = None;
            }
            self.run_open(&runner, described, open, migrated).await
        };
        let made = made.await;
        if runner.is_lost() {
            return Ok(RunEnd::Lost);
        }
        made.map(|()| RunEnd::Done)
    }

    /// Marks the steps from this one on as begun.
    async fn reopen(
        &self,
        runner: &Runner,
        described: &[(&'static str, Vec<String>)],
        from: usize,
        end: Option<usize>,
    ) -> Result<()> {
        let stored = lease::stored(&self.odm).await?;
        let (mut problems, ahead) = compare(described, &stored);
        problems.extend(ahead.iter().map(|name| not_again(name)));
        let is_done = |name: &str| stored.iter().any(|step| step.name == name && step.is_done);
        let beyond = described.iter().skip(end.map_or(described.len(), |end| end + 1));
        problems.extend(beyond.filter(|(name, _)| is_done(name)).map(|(name, _)| {
            format!("`{name}` is applied and would be applied again, too: all steps behind one are. Leave out where to end")
        }));
        if !problems.is_empty() {
            return Err(Error::Migrations { problems });
        }
        // The last one first: a process that ends in between leaves none applied behind one that is not.
        for (at, (name, changes)) in described.iter().enumerate().skip(from).rev() {
            if is_done(name) {
                let progress = StepProgress {
                    step: (*name).to_owned(),
                    ..StepProgress::default()
                };
                begin(runner, at, (name, changes), progress).await?;
            }
        }
        Ok(())
    }

    /// The step that is next, if there is one.
    async fn next(
        &self,
        described: &[(&'static str, Vec<String>)],
        open @ OpenSteps { end, down, first }: OpenSteps,
    ) -> Result<Option<NextStep>> {
        let stored = lease::stored(&self.odm).await?;
        let (mut problems, ahead) = compare(described, &stored);
        if down {
            problems.extend(ahead.iter().map(|name| {
                format!(
                    "the database has the step `{name}` behind those that `migrations![…]` lists, so none of these can be taken back before \
                     it: take it back by the program that lists it"
                )
            }));
        }
        if !problems.is_empty() {
            return Err(Error::Migrations { problems });
        }
        let find = |name: &str| stored.iter().find(|step| step.name == name);
        if !down {
            let is_open = |(name, _): &(&str, Vec<String>)| !find(name).is_some_and(|step| step.is_done);
            if let Some(at) = described.iter().position(is_open) {
                return Ok(Some(NextStep::At(at)).filter(|_| end.is_none_or(|end| at <= end)));
            }
            let is_asked_for = stored.iter().any(|step| !step.for_models.is_empty());
            let is_left = is_asked_for && ahead.is_empty() && open.reaches_last(described.len());
            return Ok(is_left.then_some(NextStep::ForModels));
        }
        let last = described.iter().rposition(|(name, _)| find(name).is_some());
        let is_wanted = |last: &usize| match (end, first) {
            (Some(end), _) => *last > end,
            // Without an end it is one step.
            (None, Some(first)) => NextStep::At(*last) == first,
            (None, None) => true,
        };
        Ok(last.filter(is_wanted).map(NextStep::At))
    }

    async fn run_open(
        &self,
        runner: &Arc<Runner>,
        described: &[(&'static str, Vec<String>)],
        open: OpenSteps,
        migrated: &mut Migrated,
    ) -> Result<()> {
        let down = open.down;
        let mut is_first = true;
        while let Some(next) = self.next(described, open).await? {
            let NextStep::At(at) = next else {
                return self.make_what_is_left(runner, migrated).await;
            };
            let (Some(listed), Some((name, changes))) = (self.steps.steps.get(at), described.get(at)) else {
                return Ok(());
            };
            let function = match (down, listed.down) {
                (false, _) => listed.up,
                (true, Some(back)) => back,
                (true, None) => {
                    return Err(Error::Migrations {
                        problems: vec![format!(
                            "`{name}` has no `down`, so it can't be taken back: write `pub async fn down(step: &Step) -> odm::Result<()>` \
                             into its file, or a new step"
                        )],
                    });
                }
            };
            // The words of a change are how a later run knows it, and the time since they were read is that of some round trips.
            let again = Migrations::describe(listed)?;
            let none = "no change".to_owned();
            let number = changes.len().max(again.len());
            let pairs =
                (0..number).map(|at| (changes.get(at).unwrap_or(&none), again.get(at).unwrap_or(&none)));
            if let Some((first, second)) = pairs.into_iter().find(|(first, second)| first != second) {
                return Err(Error::Migrations {
                    problems: vec![format!(
                        "`{name}` has another change in each run: {first}, and {second}. Values of a step are the same in every run: a time \
                         is set by `update(…)` with `$$NOW` in a pipeline, and an id for each document by `each(…).update(…)`"
                    )],
                });
            }
            let was = runner.progress();
            let stored = lease::stored(&self.odm).await?;
            let is_begun = stored.iter().find(|step| step.name == *name);
            let is_same = is_begun.is_some_and(|step| !step.is_done && step.changes == *changes);
            // Of the steps before it, what is to be made behind the last one.
            let earlier: Vec<String> = stored.into_iter().flat_map(|step| step.for_models).collect();
            let of_step = StepProgress {
                step: (*name).to_owned(),
                down,
                ..StepProgress::default()
            };
            if was.step != *name || was.down != down || !is_same {
                begin(runner, at, (name, changes), of_step).await?;
            }
            let behind = described.iter().skip(at).flat_map(|(_, changes)| changes);
            if open.reaches_last(described.len()) {
                runner.expects(behind.chain(&earlier));
            }
            if std::mem::take(&mut is_first) {
                runner.follow_last_batch().await?;
            }
            let is_last = at + 1 == described.len();
            let own = of_models(changes);
            let step = Step::new(listed.name, down, StepMode::Run(runner.clone()));
            let mut made = function(&step).await;
            if made.is_ok() && is_last && !down {
                made = make_for_models(runner, &earlier, &own).await;
            }
            if runner.is_lost() {
                return Ok(());
            }
            made?;
            let documents = runner.progress().documents;
            let mark = if down {
                Mark::Gone
            } else {
                Mark::Done {
                    documents,
                    for_models: if is_last { &[] } else { &own },
                }
            };
            let progress = &StepProgress::default();
            runner
                .write(&GuardedWrite::Mark {
                    step: name,
                    mark,
                    progress,
                })
                .await?;
            migrated.documents += u64::try_from(documents).unwrap_or_default();
            let names = if down {
                &mut migrated.taken_back
            } else {
                &mut migrated.applied
            };
            names.push((*name).to_owned());
            let done = if down {
                "a step is taken back"
            } else {
                "a step is applied"
            };
            tracing::info!(target: "odm", step = name, documents, "{done}");
        }
        Ok(())
    }
}

impl Migrating {
    /// Makes what applied steps ask for behind the last one: it has been taken back or out of the list, or is applied by `to` alone.
    async fn make_what_is_left(&self, runner: &Runner, migrated: &mut Migrated) -> Result<()> {
        let stored = lease::stored(&self.odm).await?;
        let earlier: Vec<String> = stored.into_iter().flat_map(|step| step.for_models).collect();
        runner.expects(earlier.iter());
        runner.follow_last_batch().await?;
        make_for_models(runner, &earlier, &[]).await?;
        migrated.for_models.extend(earlier);
        Ok(())
    }
}

const _: () = assert!(LEASE.as_millis() > 2 * WAIT.as_millis());

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(name: &str, number: i64, is_done: bool, changes: &[&str]) -> StoredStep {
        StoredStep {
            name: name.to_owned(),
            number,
            is_done,
            changes: changes.iter().map(|&change| change.to_owned()).collect(),
            for_models: Vec::new(),
            documents: 0,
            begun: None,
            done: None,
        }
    }

    fn listed(names: &[&'static str]) -> Vec<(&'static str, Vec<String>)> {
        names.iter().map(|name| (*name, vec!["x".to_owned()])).collect()
    }

    #[test]
    fn the_list_and_the_database_are_compared() {
        let done = |name, number| stored(name, number, true, &["x"]);
        let problem =
            |names: &[&'static str], stored: &[StoredStep]| compare(&listed(names), stored).0.join("; ");
        assert_eq!(problem(&["a", "b"], &[done("a", 0)]), "");
        assert!(
            problem(&["b"], &[done("a", 0), done("b", 1)])
                .contains("the step `a`, which `migrations![…]` does not list")
        );
        assert!(problem(&["b", "a"], &[done("a", 0), done("b", 1)]).contains("`a` was applied before `b`"));
        assert!(
            problem(&["new", "b"], &[done("b", 0)]).contains("`new` is not applied and is listed before `b`")
        );
        let other = [stored("a", 0, true, &["y"])];
        assert!(problem(&["a"], &other).contains("applied with other changes: then y, now x"));
        // One that is not applied yet may be corrected.
        assert_eq!(problem(&["a"], &[stored("a", 0, false, &["y"])]), "");
    }

    #[test]
    fn a_newer_program_may_have_applied_more() {
        let done = |name, number| stored(name, number, true, &["x"]);
        let (problems, ahead) = compare(&listed(&["a"]), &[done("a", 0), done("b", 1)]);
        assert_eq!(
            (problems.as_slice(), ahead.as_slice()),
            (&[][..], &["b".to_owned()][..])
        );
        // This one has a step of its own, of another branch.
        let (problems, _) = compare(&listed(&["a", "c"]), &[done("a", 0), done("b", 1)]);
        assert_eq!(problems.len(), 1);
    }
}
