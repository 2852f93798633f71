//! `odm migrate`: the steps of the application in this folder, run by its own program, which has all models.

use anyhow::{Context, Result};
use clap::Args;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Apply the steps of the application in this folder: `status`, `plan`, `up`, `down`, `new`, `check`.
///
/// Runs the program `manage` of the application by cargo, in the folder of its package and with the same arguments: `cargo run --bin manage
/// -- migrate …`.
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
    let mut command = Command::new(&cargo);
    // The folder `migrations/` is that of the package, and this may run in one below it.
    if let Some(folder) = package(&cargo, Path::new(".")) {
        command.current_dir(folder);
    }
    let status = command
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

/// The folder of the package that cargo takes in this folder.
fn package(cargo: &OsStr, folder: &Path) -> Option<PathBuf> {
    let located = Command::new(cargo)
        .args(["locate-project", "--message-format", "plain"])
        .current_dir(folder)
        .output()
        .ok()?;
    let manifest = PathBuf::from(String::from_utf8(located.stdout).ok()?.trim());
    manifest
        .parent()
        .filter(|folder| folder.is_dir())
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_found_from_a_folder_below_it() {
        let package_of_this = Path::new(env!("CARGO_MANIFEST_DIR"));
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let found = package(&cargo, &package_of_this.join("src"));
        assert_eq!(found.as_deref(), Some(package_of_this));
        assert_eq!(package(&cargo, Path::new("/")), None);
    }
}
