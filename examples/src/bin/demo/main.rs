//! `cargo xtask demo`: the designs one after the other, then real files, everything said on the way.

mod books;
mod compile_errors;
mod copies;
mod designs;
mod library;
mod log;
mod relations;
mod show;

use anyhow::{Context, Result, bail};
use clap::Parser;
use mongodb::bson::oid::ObjectId;
use mongodb::options::ClientOptions;
use mongodb::{Client, Database};
use odm_examples::program::{Commands, interrupted};
use show::Show;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Shows what the library does, on a server that MONGODB_URI names.
#[derive(Parser)]
#[command(name = "demo")]
struct Cli {
    /// The books to load: MongoDB Extended JSON, one document a line [default: ../shared/data/books.json]
    #[arg(long, value_name = "PATH")]
    books: Option<PathBuf>,
    /// The log to load: syslog, one message a line [default: ../shared/data/Mac_2k.log]
    #[arg(long, value_name = "PATH")]
    log: Option<PathBuf>,
    /// Leave the databases as they are at the end, instead of dropping them
    #[arg(long)]
    keep: bool,
    /// The server
    #[arg(long, env = "MONGODB_URI", value_name = "URI", hide_env_values = true)]
    uri: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match demo(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nThe demo ends here: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  because: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn demo(cli: Cli) -> Result<()> {
    let Some(uri) = cli.uri else {
        bail!("there is no MongoDB server: run `cargo xtask demo`, or set MONGODB_URI");
    };
    let commands = Commands::default();
    let mut options = ClientOptions::parse(&uri)
        .await
        .context("MONGODB_URI is not usable")?;
    options.command_event_handler = Some(commands.handler());
    options
        .server_selection_timeout
        .get_or_insert(Duration::from_secs(20));
    let client = Client::with_options(options).context("MONGODB_URI is not usable")?;

    let databases = Databases {
        client,
        name: format!("odm_demo_{}", ObjectId::new().to_hex()),
    };
    let mut show = Show::new(commands);
    let outcome = tokio::select! {
        outcome = walk(&mut show, &databases, cli.books, cli.log) => outcome,
        () = interrupted() => Err(anyhow::anyhow!("it was interrupted")),
    };
    if cli.keep {
        show.text(&format!(
            "The databases `{}*` are left as they are.",
            databases.name
        ));
    } else {
        let dropped = databases.drop_all().await;
        outcome?;
        show.closing(dropped?);
        return Ok(());
    }
    outcome
}

async fn walk(
    show: &mut Show,
    databases: &Databases,
    books: Option<PathBuf>,
    log: Option<PathBuf>,
) -> Result<()> {
    designs::one_to_few(show, databases).await?;
    designs::one_to_one(show, databases).await?;
    designs::versions(show, databases).await?;
    designs::transactions(show, databases).await?;
    relations::one_to_many(show, databases).await?;
    relations::two_way(show, databases).await?;
    relations::reference_in_child(show, databases).await?;
    copies::copies(show, databases).await?;
    copies::subsets(show, databases).await?;
    compile_errors::show(show);
    books::run(show, databases.named("books"), books.clone()).await?;
    library::run(show, databases.named("library"), books).await?;
    log::run(show, databases.named("log"), log).await
}

/// The databases of this run: all of them begin with a name that no other run uses.
struct Databases {
    client: Client,
    name: String,
}

impl Databases {
    fn named(&self, suffix: &str) -> Database {
        self.client.database(&format!("{}_{suffix}", self.name))
    }

    async fn drop_all(&self) -> Result<usize> {
        let mut dropped = 0;
        for name in self.client.list_database_names().await? {
            if name.starts_with(&self.name) {
                self.client.database(&name).drop().await?;
                dropped += 1;
            }
        }
        Ok(dropped)
    }
}
