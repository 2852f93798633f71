//! The program `odm`: what a MongoDB application with [`odm`] needs before it has models.
//!
//! - `odm server` starts a MongoDB for development.
//! - `odm new NAME` makes an application.
//! - `odm doctor URI` says what a server can do.
//! - `odm introspect URI` reads the design of a database that is there, and writes models.
//! - `odm migrate` runs the steps of an application, by its own program.
//!
//! The other commands that need the models of an application (`plan`, `sync`, `audit` …) are in its own program: see `odm::cli`.

mod doctor;
mod introspect;
mod migrate;
mod new;
mod server;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use odm_launch::process::unless_interrupted;

/// A MongoDB for development, a new application, and what a server can do.
#[derive(Debug, Parser)]
#[command(name = "odm", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Server(server::Arguments),
    New(new::Arguments),
    Doctor(doctor::Arguments),
    Introspect(introspect::Arguments),
    Migrate(migrate::Arguments),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the tokio runtime did not start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::New(arguments) => new::run(&arguments),
            Command::Migrate(arguments) => migrate::run(&arguments),
            Command::Server(arguments) => unless_interrupted(server::run(arguments)).await,
            Command::Doctor(arguments) => unless_interrupted(doctor::run(arguments)).await,
            Command::Introspect(arguments) => unless_interrupted(introspect::run(arguments)).await,
        }
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
