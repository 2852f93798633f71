//! Runs a program of this package: connects to the server, gives the program a database of its own, and drops that at the end.

use clap::Parser;
use futures::FutureExt;
use futures::future::BoxFuture;
use mongodb::bson::oid::ObjectId;
use mongodb::event::EventHandler;
use mongodb::event::command::CommandEvent;
use mongodb::options::ClientOptions;
use mongodb::{Client, Database};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How to get a server.
const NO_SERVER: &str = "There is no MongoDB server: start one with `cargo run -p odm-cli -- server`, and set MONGODB_URI \
                         to the URI that it prints.";

/// The work of a program on its database.
pub type Run = BoxFuture<'static, anyhow::Result<()>>;

/// The options that all programs have.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Leave the database as it is at the end, instead of dropping it
    #[arg(long)]
    pub keep: bool,
    /// The server
    #[arg(long, env = "MONGODB_URI", value_name = "URI", hide_env_values = true)]
    pub uri: Option<String>,
}

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    options: Options,
}

/// The `main` of a design: runs it on a database of its own, whose name begins with that of the program.
pub fn start(name: &str, run: fn(Database) -> Run) -> ExitCode {
    on_a_database(&Cli::parse().options, name, run)
}

/// Runs a program with these options.
pub fn on_a_database(options: &Options, name: &str, run: impl FnOnce(Database) -> Run) -> ExitCode {
    let Some(uri) = options.uri.as_deref().filter(|uri| !uri.is_empty()) else {
        eprintln!("{NO_SERVER}");
        return ExitCode::from(2);
    };
    let outcome = tokio::runtime::Runtime::new()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(connected(uri, options.keep, name, run)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn connected(
    uri: &str,
    keep: bool,
    name: &str,
    run: impl FnOnce(Database) -> Run,
) -> anyhow::Result<()> {
    let commands = Commands::default();
    let mut options = ClientOptions::parse(uri).await?;
    options.command_event_handler = Some(commands.handler());
    options
        .server_selection_timeout
        .get_or_insert(Duration::from_secs(10));
    let client = Client::with_options(options)?;
    let db = client.database(&format!("odm_{name}_{}", ObjectId::new().to_hex()));

    let started = Instant::now();
    let outcome = tokio::select! {
        outcome = AssertUnwindSafe(run(db.clone())).catch_unwind() => outcome,
        () = interrupted() => Ok(Err(anyhow::anyhow!("interrupted"))),
    };
    let sent = commands.take().len();
    if !keep {
        db.drop().await?;
    }
    match outcome {
        // An assertion of the program does not hold.
        Err(panic) => resume_unwind(panic),
        Ok(outcome) => outcome?,
    }
    println!(
        "\n{sent} commands in {:.1} s. The database {} {}.",
        started.elapsed().as_secs_f64(),
        db.name(),
        if keep { "is kept" } else { "has been dropped" }
    );
    Ok(())
}

/// The commands that a client sends, as its monitoring reports them; its own housekeeping left out.
#[derive(Clone, Default)]
pub struct Commands(Arc<Mutex<Vec<String>>>);

impl Commands {
    /// The handler to register at a client.
    pub fn handler(&self) -> EventHandler<CommandEvent> {
        let sent = self.0.clone();
        EventHandler::callback(move |event| {
            if let CommandEvent::Started(started) = event
                && !matches!(
                    started.command_name.as_str(),
                    "hello" | "isMaster" | "ping" | "endSessions" | "killCursors"
                )
            {
                sent.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(started.command_name);
            }
        })
    }

    /// The names of those since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Ends when the program is asked to end.
pub async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    // Without a way to hear of it, it never ends.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
