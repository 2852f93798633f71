//! The project's own commands, run as `cargo xtask <command>`.
//!
//! `demo`, `test` and `bench` need a MongoDB server: one is taken from the environment or started for the
//! length of the command (see `server`). `book`, `package` and `figures` need none.
//!
//! Everything a command starts belongs to a guard that stops it when dropped (see `process`). An
//! interruption drops the command where it stands, so a signal, a failure and a panic all clean up the same
//! way.
//!
//! A library, so that its tests can start programs of their own: see [`failover`].

pub mod book;
pub mod failover;
mod figures;
mod package;
#[cfg(test)]
mod pages;
mod rooms;
mod run;
mod server;
mod source;
mod suite;
mod workspace;

use odm_launch::process;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the demonstration program against a server.
    Demo {
        #[command(flatten)]
        server: ServerArgs,
        /// The books to load instead of the ones that come with the demonstration.
        #[arg(long, value_name = "PATH")]
        books: Option<PathBuf>,
        /// The log to load instead of the one that comes with the demonstration.
        #[arg(long, value_name = "PATH")]
        log: Option<PathBuf>,
    },
    /// Run the tests of the workspace against a server.
    Test {
        #[command(flatten)]
        server: ServerArgs,
        /// Run the failover tests alone, on three nodes of a mongod (ODM_MONGOD, else from PATH) that are killed and
        /// started again.
        #[arg(long, conflicts_with_all = ["server", "keep"])]
        failover: bool,
        /// Run the long tests at full length, which takes an hour or more: each row of the crash matrix
        /// (ODM_CRASH_MATRIX, written to `crash-matrix.md` in the target directory) and of the matrix of
        /// dropped futures (ODM_DROPPED), each lost command in a transaction that ignores the error (ODM_PASSED_OVER), 100,000 random operations (ODM_RANDOM_OPERATIONS), all meetings of two writers without transactions (ODM_MEETINGS), runs of migrations that are killed 200 times (ODM_KILLS) and stopped for 30 s (ODM_STOPPED), and on SecantusDB in Python
        /// the tests of thousands of documents (ODM_LONG_TESTS).
        #[arg(long, conflicts_with = "failover")]
        full: bool,
        /// Run the tests through a router, which plays `mongos` before the server: see `tests/router`. Nothing is sharded unless a
        /// test does so.
        #[arg(long, conflicts_with = "failover")]
        router: bool,
        /// Arguments for `cargo test`, which then runs one test binary after the other; with `-p`, only the packages named
        /// are tested.
        #[arg(last = true, value_name = "ARGS")]
        args: Vec<OsString>,
    },
    /// Run the benchmark against a server.
    Bench {
        #[command(flatten)]
        server: ServerArgs,
        /// Arguments for the benchmark itself.
        #[arg(last = true, value_name = "ARGS")]
        args: Vec<OsString>,
    },
    /// Build the book, installing mdBook under `target/tools` where it is not on PATH, and check its links, and in Chromium
    /// (ODM_CHROMIUM, else from PATH) how its pages look and what a search finds.
    Book(book::BookArgs),
    /// Pack the crates as the registry would get them, list what they hold, and compile it by itself and in applications.
    Package,
    /// Print what the library costs those who compile it, and how far the code is from the design of ARCHITECTURE.md: a
    /// table in Markdown.
    Figures(figures::FiguresArgs),
    /// Run cargo with these arguments, and print the memory in kB of the largest process that it started.
    #[command(hide = true)]
    Measure {
        /// Arguments for cargo.
        #[arg(last = true, value_name = "ARGS")]
        args: Vec<OsString>,
    },
}

/// Which server a command uses.
#[derive(Clone, Copy, Debug, Args)]
struct ServerArgs {
    /// Where the server comes from.
    #[arg(long, value_enum, default_value_t)]
    server: server::Choice,
    /// Leave a server started here running, with its data, and print its URI and PID; the demonstration leaves its
    /// databases on any server.
    #[arg(long)]
    keep: bool,
}

/// Executes the command that the program was started with.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the tokio runtime did not start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(process::unless_interrupted(execute(cli.command)));
    // The driver may still be closing connections in the background; nothing waits for that.
    runtime.shutdown_background();
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  because: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn execute(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Demo { server, books, log } => {
            let job = run::Job::demo(books, log, server.keep)?;
            run::with_server(server, job).await
        }
        Command::Test {
            failover: true, args, ..
        } => failover::run(&server::Environment::read(), args).await,
        Command::Test {
            server,
            full,
            router,
            args,
            ..
        } => {
            let job = run::Job::test(args);
            let job = if router { job.through_router() } else { job };
            let job = if full { job.at_full_length() } else { job };
            let code = run::with_server(server, job).await;
            workspace::step(
                "not run: the failover tests, which need a mongod (`cargo xtask test --failover`)",
            );
            if !full {
                workspace::step(
                    "not run: most rows of the crash matrix, and 100,000 random operations (`cargo xtask test --full`)",
                );
            }
            code
        }
        Command::Bench { server, args } => run::with_server(server, run::Job::bench(args)).await,
        Command::Book(args) => book::run(args).await,
        Command::Package => package::run().await,
        Command::Figures(args) => figures::run(args).await,
        Command::Measure { args } => figures::measured(args).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn test_arguments_keep_their_own_separator() {
        let cli = Cli::try_parse_from(["xtask", "test", "--keep", "--", "-p", "odm", "--", "--nocapture"]);
        let Ok(Cli {
            command:
                Command::Test {
                    server,
                    failover: false,
                    full: false,
                    router: false,
                    args,
                },
        }) = cli
        else {
            panic!("not read as a test command: {cli:?}");
        };
        assert!(server.keep);
        assert_eq!(server.server, server::Choice::Auto);
        assert_eq!(args, ["-p", "odm", "--", "--nocapture"]);
    }

    #[test]
    fn failover_brings_its_own_servers() {
        let cli = Cli::try_parse_from(["xtask", "test", "--failover", "--", "two_way"]);
        assert!(
            matches!(&cli, Ok(Cli { command: Command::Test { failover: true, args, .. } }) if args == &["two_way"]),
            "{cli:?}"
        );
        assert!(Cli::try_parse_from(["xtask", "test", "--failover", "--server", "uri"]).is_err());
        assert!(Cli::try_parse_from(["xtask", "test", "--failover", "--keep"]).is_err());
    }

    #[test]
    fn full_length_is_for_one_server() {
        let cli = Cli::try_parse_from(["xtask", "test", "--full", "--server", "uri", "--", "-p", "odm"]);
        assert!(
            matches!(&cli, Ok(Cli { command: Command::Test { full: true, args, .. } }) if args == &["-p", "odm"]),
            "{cli:?}"
        );
        assert!(Cli::try_parse_from(["xtask", "test", "--full", "--failover"]).is_err());
    }

    #[test]
    fn a_router_stands_before_any_server_but_that_of_the_failover_tests() {
        let cli = Cli::try_parse_from(["xtask", "test", "--router", "--server", "uri", "--full"]);
        assert!(
            matches!(
                &cli,
                Ok(Cli {
                    command: Command::Test {
                        router: true,
                        full: true,
                        ..
                    }
                })
            ),
            "{cli:?}"
        );
        assert!(Cli::try_parse_from(["xtask", "test", "--router", "--failover"]).is_err());
    }

    #[test]
    fn an_unknown_server_is_refused() {
        let message = match Cli::try_parse_from(["xtask", "test", "--server", "oracle"]) {
            Ok(cli) => panic!("read as {cli:?}"),
            Err(error) => error.to_string(),
        };
        for name in ["auto", "uri", "mongod", "secantus"] {
            assert!(message.contains(name), "{message}");
        }
    }
}
