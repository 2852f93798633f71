//! The book, built with mdBook.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::process::Command;

use crate::process::{Process, exit_code};
use crate::workspace::{cargo, find_program, root, step, target_dir};

/// The release that is installed where there is none on PATH.
const VERSION: &str = "0.5.4";

/// Builds the book, or serves it until interrupted.
pub async fn run(serve: bool) -> Result<u8> {
    let book = root().join("book");
    if !book.join("book.toml").is_file() {
        bail!(
            "{} is missing: there is no book to build",
            book.join("book.toml").display()
        );
    }
    let tools = target_dir().join("tools");
    let mdbook = match find_program("mdbook") {
        Some(mdbook) => mdbook,
        None => match installed(&tools, serve).await {
            Some(mdbook) => mdbook,
            None => install(&tools, serve).await?,
        },
    };
    let action = if serve { "serve" } else { "build" };
    step(format!("{} {action}", mdbook.display()));
    let mut command = Command::new(&mdbook);
    command.arg(action).arg(&book);
    let code = execute("mdbook", &mut command).await?;
    match code {
        0 if !serve => step("the book is built"),
        0 => {}
        _ => step(format!("mdbook failed (exit code {code})")),
    }
    Ok(code)
}

/// The mdBook installed before, where it is the right release and can do what is asked of it.
async fn installed(tools: &Path, serve: bool) -> Option<PathBuf> {
    let mdbook = program(tools);
    let mut command = Command::new(&mdbook);
    command.kill_on_drop(true).arg("--version");
    let output = command.output().await.ok()?;
    if !String::from_utf8_lossy(&output.stdout).contains(VERSION) {
        return None;
    }
    if serve {
        let mut command = Command::new(&mdbook);
        command.kill_on_drop(true).args(["serve", "--help"]);
        return command.output().await.ok()?.status.success().then_some(mdbook);
    }
    Some(mdbook)
}

async fn install(tools: &Path, serve: bool) -> Result<PathBuf> {
    step(format!("installing mdBook {VERSION} under {}", tools.display()));
    let mut command = cargo();
    command.args(install_arguments(tools, serve));
    if execute("cargo install", &mut command).await? != 0 {
        bail!(
            "mdBook could not be installed: put an `mdbook` {VERSION} on PATH, or look above for the reason"
        );
    }
    Ok(program(tools))
}

fn program(tools: &Path) -> PathBuf {
    tools
        .join("bin")
        .join(format!("mdbook{}", std::env::consts::EXE_SUFFIX))
}

/// A debug build and only the features in use: a book of this size is built at once either way, and mdBook in
/// a fraction of the time.
fn install_arguments(tools: &Path, serve: bool) -> Vec<OsString> {
    let features = if serve { "search,serve" } else { "search" };
    [
        "install",
        "mdbook",
        "--version",
        VERSION,
        "--locked",
        "--debug",
        "--no-default-features",
        "--features",
    ]
    .into_iter()
    .chain([features, "--quiet", "--root"])
    .map(OsString::from)
    .chain([tools.into()])
    .collect()
}

async fn execute(name: &str, command: &mut Command) -> Result<u8> {
    let mut process = Process::spawn(name, command, Duration::from_secs(2))?;
    Ok(exit_code(process.wait().await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serving_needs_one_more_feature() {
        let features = |serve| install_arguments(Path::new("/t"), serve)[8].clone();
        assert_eq!(features(false), "search");
        assert_eq!(features(true), "search,serve");
    }

    #[tokio::test]
    async fn nothing_is_installed_in_an_empty_folder() -> Result<()> {
        let dir = tempfile::tempdir()?;
        assert_eq!(installed(dir.path(), false).await, None);
        Ok(())
    }
}
