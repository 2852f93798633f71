//! `odm migrate`: the steps of the application in this folder, run by its own program, which has all models.

use anyhow::{Context, Result};
use clap::Args;
use std::process::Command;

/// Apply the steps of the application in this folder: `status`, `plan`, `up`, `down`, `new`, `check`.
///
/// Runs the program `manage` of the application by cargo, with the same arguments: `cargo run --bin manage -- migrate …`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The program that has the models and the steps.
    #[arg(long, value_name = "PROGRAM", default_value = "manage")]
    bin: String,
    /// The arguments of its command `migrate`; `odm migrate -- --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

/// Runs it, and gives its exit code.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let given = arguments.arguments.iter().skip_while(|given| *given == "--");
    let status = Command::new(&cargo)
        .args(["run", "--quiet", "--bin", &arguments.bin, "--", "migrate"])
        .args(given)
        .status()
        .with_context(|| format!("{} does not run: is Rust installed?", cargo.to_string_lossy()))?;
    // A program that a signal has ended has no code.
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(2))
}
