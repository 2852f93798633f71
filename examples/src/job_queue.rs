//! A queue of jobs: claimers in several processes, retries, dead letters, processes that are killed at work, and replies that are
//! lost.
//!
//! A claim is one update of the first job that is open and due. It gives the job a token and a time until which it is claimed: a job whose
//! claimer has died is due again when that time is over, and a completion is accepted from the holder of the token alone. The driver
//! repeats an update whose reply is lost; where that reply is lost too, a claimer finds its job by the token, and a completion that is sent
//! again is accepted once.
use crate::program::{self, Options, Run};
use anyhow::{Context as _, ensure};
use clap::{Parser, Subcommand};
use futures::StreamExt;
use mongodb::{Client, Database};
use odm::Error;
use odm::prelude::*;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "jobs", index(fields(state, claimed_until)))]
pub struct Job {
    pub id: i32,
    pub state: State,
    /// The time from which it may be claimed, again or for the first time.
    pub claimed_until: DateTime,
    /// The token of the claim.
    pub claim: Option<ObjectId>,
    pub tries: i32,
    pub completions: i32,
    #[field(max_len = 200)]
    pub error: Option<String>,
}

#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
#[embed(rename_all = "lowercase")]
pub enum State {
    Open,
    Done,
    /// It has failed too often: a dead letter.
    Dead,
}

/// The pause before a failed job is tried again.
const PAUSE: Duration = Duration::from_millis(50);
const MOST_TRIES: i32 = 3;
/// A claimer looks for jobs this often, whether or not it hears of one: a job that is due again is no change.
const LOOK: Duration = Duration::from_millis(250);
/// How long a claimer repeats an operation that has no reply.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    size: Size,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Size {
    /// The number of jobs
    #[arg(long, default_value_t = 100)]
    pub jobs: i32,
    /// The number of processes
    #[arg(long, default_value_t = 2)]
    pub processes: usize,
    /// The number of claimers in each process
    #[arg(long, default_value_t = 4)]
    pub claimers: usize,
    /// How many times a process is killed
    #[arg(long, default_value_t = 2)]
    pub kills: usize,
    /// The seconds after which the job of a claimer that has died is claimed again: longer than a job takes, with its claim
    #[arg(long, default_value_t = 2)]
    pub lease: u64,
}

#[derive(Subcommand)]
enum Role {
    /// A process with claimers, which the program starts itself
    #[command(hide = true)]
    Work { database: String },
}

pub fn start() -> ExitCode {
    let cli = Cli::parse();
    let uri = cli.options.uri.clone().unwrap_or_default();
    if let Some(Role::Work { database }) = &cli.role {
        return match work_in_a_process(&uri, database, cli.size) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error:#}");
                ExitCode::FAILURE
            }
        };
    }
    program::on_a_database(&cli.options, "job_queue", |db| -> Run {
        Box::pin(async move { run(db, &uri, cli.size).await })
    })
}

fn handle(db: Database) -> odm::Result<Odm> {
    Odm::new(db, models![Job])
}

async fn run(db: Database, uri: &str, size: Size) -> anyhow::Result<()> {
    let odm = handle(db.clone())?;
    odm.sync().await?;
    let jobs = odm.collection::<Job>();
    let new = (0..size.jobs).map(|id| NewJob {
        id,
        state: State::Open,
        claimed_until: DateTime::now(),
        claim: None,
        tries: 0,
        completions: 0,
        error: None,
    });
    jobs.insert_many(new).await?;

    let started = Instant::now();
    let spawn = || process(uri, db.name(), size);
    let mut processes = Processes((0..size.processes).map(|_| spawn()).collect::<Result<_, _>>()?);
    for kill in 0..size.kills {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let at = kill % size.processes.max(1);
        if let Some(process) = processes.0.get_mut(at) {
            // SIGKILL: the process ends at work, and says nothing to anyone.
            process.kill()?;
            process.wait()?;
            *process = spawn()?;
        }
    }
    for process in &mut processes.0 {
        let status = process.wait()?;
        ensure!(status.success(), "a process of claimers ended with {status}");
    }
    verify(&jobs, size).await?;
    println!(
        "in {:.1} s, with {} kills",
        started.elapsed().as_secs_f64(),
        size.kills
    );
    Ok(())
}

/// Every job is done once or dead, and none is claimed any more.
async fn verify(jobs: &Collection<Job>, size: Size) -> anyhow::Result<()> {
    let all = jobs.find_all().all().await?;
    ensure!(all.len() as i32 == size.jobs);
    for job in &all {
        let is_doomed = outcome_of(job.id, MOST_TRIES).is_err();
        let (state, completions) = if is_doomed {
            (State::Dead, 0)
        } else {
            (State::Done, 1)
        };
        ensure!(
            job.state == state && job.completions == completions && job.claim.is_none(),
            "{job:?}"
        );
        ensure!(!is_doomed || job.tries >= MOST_TRIES, "{job:?}");
    }
    let dead = all.iter().filter(|job| job.state == State::Dead).count();
    let again = all.iter().filter(|job| job.tries > 1).count();
    println!(
        "{} jobs: {} done once, {dead} dead letters, {again} tried again",
        all.len(),
        all.len() - dead
    );
    Ok(())
}

fn process(uri: &str, database: &str, size: Size) -> anyhow::Result<Child> {
    let (claimers, lease) = (size.claimers.to_string(), size.lease.to_string());
    Command::new(std::env::current_exe()?)
        .args(["--uri", uri, "--claimers", &claimers, "--lease", &lease])
        .args(["work", database])
        .stdin(Stdio::null())
        .spawn()
        .context("starting a process of claimers")
}

/// The processes, which end with the program.
struct Processes(Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for process in &mut self.0 {
            // One that has ended already can't be killed, which is as well.
            if process.kill().is_ok() {
                let _status = process.wait();
            }
        }
    }
}

fn work_in_a_process(uri: &str, database: &str, size: Size) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let client = Client::with_uri_str(uri).await?;
        let lease = Duration::from_secs(size.lease);
        work(&handle(client.database(database))?, size.claimers, lease).await?;
        Ok(())
    })
}

/// Claims jobs until all are done or dead.
pub async fn work(odm: &Odm, claimers: usize, lease: Duration) -> odm::Result<()> {
    let jobs = odm.collection::<Job>();
    // First the stream, then the jobs that are there: a job that is inserted in between is in one of both.
    let news = Arc::new(Notify::new());
    let follower = follow(&jobs, news.clone()).await?;
    let claimers = (0..claimers).map(|_| claim_and_work(jobs.clone(), news.clone(), lease));
    let outcome = futures::future::try_join_all(claimers).await;
    if let Some(follower) = follower {
        follower.abort();
    }
    outcome.map(drop)
}

/// Wakes claimers when a job is inserted or open again. A server without change streams has none: then they look for jobs from time to
/// time alone.
async fn follow(
    jobs: &Collection<Job>,
    news: Arc<Notify>,
) -> odm::Result<Option<tokio::task::JoinHandle<()>>> {
    let mut changes = match jobs
        .watch(|j| j.state.eq(State::Open) & j.claim.eq(None))
        .start()
        .await
    {
        Ok(changes) => changes,
        Err(Error::Unsupported { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(tokio::spawn(async move {
        while let Some(change) = changes.next().await {
            match change {
                Ok(_) => news.notify_waiters(),
                Err(error) => eprintln!("a change could not be read: {error}"),
            }
        }
    })))
}

async fn claim_and_work(jobs: Collection<Job>, news: Arc<Notify>, lease: Duration) -> odm::Result<()> {
    loop {
        match claim(&jobs, lease).await? {
            Some(job) => {
                let outcome = outcome_of(job.id, job.tries);
                // One that was accepted, and whose reply was lost, is not accepted again: the job has no token then.
                until_replied(|| finish(&jobs, &job, outcome.clone())).await?;
            }
            None if until_replied(async || jobs.exists_where(|j| j.state.eq(State::Open)).await).await? => {
                // Whichever comes first.
                let _elapsed = tokio::time::timeout(LOOK, news.notified()).await;
            }
            None => return Ok(()),
        }
    }
}

/// Repeats an operation while its reply is lost, or the server can't be reached. For operations that have the same outcome when they are
/// repeated.
async fn until_replied<T>(operation: impl AsyncFn() -> odm::Result<T>) -> odm::Result<T> {
    let begun = Instant::now();
    loop {
        match operation().await {
            Err(error) if (error.is_transient() || error.outcome_unknown()) && begun.elapsed() < PATIENCE => {
                eprintln!("no reply, tried again: {error}");
                tokio::time::sleep(PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}

/// Claims the job that has been due for the longest time. One command, of any number of clients each gets another job.
///
/// Where its reply is lost for good, one more finds the job by the token: if the claim was made, this claimer has it.
pub async fn claim(jobs: &Collection<Job>, lease: Duration) -> odm::Result<Option<Job>> {
    let (token, now) = (ObjectId::new(), DateTime::now());
    let claimed = jobs
        .update_first(|j| j.state.eq(State::Open) & j.claimed_until.lte(now))
        .sort(|j| j.claimed_until.asc())
        .set(|j| j.claim, token)
        .set(|j| j.claimed_until, after(now, lease))
        .inc(|j| j.tries, 1)
        .returning()
        .await;
    match claimed {
        Err(error) if error.is_transient() || error.outcome_unknown() => {
            eprintln!("no reply to a claim, looked for its token: {error}");
            until_replied(async || jobs.find(|j| j.claim.eq(token)).one().await).await
        }
        claimed => claimed,
    }
}

/// Ends a claim. Gives whether it was accepted: not where the job has been claimed by another process meanwhile, or is done.
pub async fn finish(jobs: &Collection<Job>, job: &Job, outcome: Result<(), String>) -> odm::Result<bool> {
    let claim = job.claim;
    let mine = jobs.update_first(|j| j.id.eq(job.id) & j.claim.eq(claim) & j.state.eq(State::Open));
    let done = match outcome {
        Ok(()) => mine
            .set(|j| j.state, State::Done)
            .inc(|j| j.completions, 1)
            .set(|j| j.claim, None),
        Err(error) if job.tries >= MOST_TRIES => mine
            .set(|j| j.state, State::Dead)
            .set(|j| j.error, error)
            .set(|j| j.claim, None),
        Err(error) => mine
            .set(|j| j.claimed_until, after(DateTime::now(), PAUSE))
            .set(|j| j.error, error)
            .set(|j| j.claim, None),
    };
    Ok(done.await?.matched == 1)
}

fn after(time: DateTime, duration: Duration) -> DateTime {
    let milliseconds = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    DateTime::from_millis(time.timestamp_millis().saturating_add(milliseconds))
}

/// The work: one job of ten fails at its first try, and one of fifty at each.
fn outcome_of(id: i32, tries: i32) -> Result<(), String> {
    match (id % 50, id % 10) {
        (7, _) => Err("the address does not exist".to_owned()),
        (_, 3) if tries < 2 => Err("the other server does not answer".to_owned()),
        _ => Ok(()),
    }
}
