//! The time to build a test binary, and the memory of the largest process of the build, which is the compiler or the linker.

use std::ffi::OsString;
use std::io::Seek;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};

use super::Line;
use crate::process::{Process, exit_code};
use crate::run::STOP_WITHIN;
use crate::workspace::{cargo, root, step, target_dir};

/// A test binary of the package `odm-tests`.
struct Target {
    name: String,
    /// Its main file.
    file: std::path::PathBuf,
}

impl Target {
    /// Makes cargo compile it from the beginning. To switch incremental compilation off would build what it uses again, too.
    fn forget(&self) -> Result<()> {
        let incremental = target_dir().join("debug/incremental");
        for entry in std::fs::read_dir(incremental).into_iter().flatten() {
            let path = entry?.path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if name.rsplit_once('-').is_some_and(|(name, _)| name == self.name) {
                std::fs::remove_dir_all(path)?;
            }
        }
        let source = std::fs::File::options().append(true).open(&self.file)?;
        Ok(source.set_modified(SystemTime::now())?)
    }
}

/// All of them, as cargo finds them.
fn targets() -> Result<Vec<Target>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join("tests/tests"))? {
        let path = entry?.path();
        let (folder, is_file) = (
            path.join("main.rs"),
            path.extension().is_some_and(|end| end == "rs"),
        );
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        let name = name.to_owned();
        if folder.is_file() {
            found.push(Target { name, file: folder });
        } else if is_file {
            found.push(Target { name, file: path });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Builds the test binaries with these names, or all, one after the other.
pub async fn measure(only: &[String]) -> Result<Vec<Line>> {
    let all = targets()?;
    if let Some(unknown) = only
        .iter()
        .find(|name| all.iter().all(|target| target.name != **name))
    {
        let names: Vec<&str> = all.iter().map(|target| target.name.as_str()).collect();
        bail!("there is no test binary `{unknown}`, but {}", names.join(", "));
    }
    let (chosen, left_out): (Vec<Target>, Vec<Target>) = all
        .into_iter()
        .partition(|target| only.is_empty() || only.contains(&target.name));
    let mut built = Vec::new();
    step("building what the test binaries use, which is not measured");
    build(&["test", "--package", "odm-tests", "--no-run", "--lib"], None).await?;
    for target in &chosen {
        step(format!("building the test binary {}", target.name));
        target.forget()?;
        let arguments = [
            "test",
            "--package",
            "odm-tests",
            "--no-run",
            "--test",
            &target.name,
        ];
        built.push((target.name.as_str(), build(&arguments, Some(&target.name)).await?));
    }
    built.sort_by_key(|(_, built)| std::cmp::Reverse(built.memory));
    let list: Vec<String> = built
        .iter()
        .map(|(name, built)| format!("`{name}` {built}"))
        .collect();
    let mut now = list.join("; ");
    if !left_out.is_empty() {
        let names: Vec<String> = left_out
            .iter()
            .map(|target| format!("`{}`", target.name))
            .collect();
        now.push_str(&format!("; not measured: {}", names.join(", ")));
    }
    Ok(vec![Line::new(
        "peak memory and time to build a test binary, the largest first",
        now,
        "≤ 2.5 GB, ≤ 90 s on two cores",
    )])
}

/// The outcome of a build.
struct Built {
    /// In kB.
    memory: i64,
    took: Duration,
}

impl std::fmt::Display for Built {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gigabytes = self.memory as f64 / 1024.0 / 1024.0;
        write!(out, "{gigabytes:.2} GB, {:.0} s", self.took.as_secs_f64())
    }
}

/// Runs cargo. The memory is that of a process of its own for each build, since a process knows it only of all its children.
async fn build(arguments: &[&str], target: Option<&str>) -> Result<Built> {
    let mut said = tempfile::tempfile()?;
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command
        .arg("measure")
        .arg("--")
        .args(arguments)
        .stdout(said.try_clone()?);
    let began = Instant::now();
    let code = exit_code(Process::spawn("cargo", &mut command, STOP_WITHIN)?.wait().await?);
    let took = began.elapsed();
    if code != 0 {
        bail!(
            "building {} failed (exit code {code})",
            target.unwrap_or("the package odm-tests")
        );
    }
    said.rewind()?;
    let said = std::io::read_to_string(said)?;
    let memory = said.lines().last().and_then(|line| line.trim().parse().ok());
    Ok(Built {
        memory: memory.context("the memory of a build is not known")?,
        took,
    })
}

/// `cargo xtask measure`: runs cargo, and prints the memory of the largest process that came of it, in kB.
#[cfg(unix)]
pub async fn measured(arguments: Vec<OsString>) -> Result<u8> {
    use nix::sys::resource::{UsageWho, getrusage};

    let mut command = cargo();
    command.args(arguments).arg("--quiet");
    let code = exit_code(Process::spawn("cargo", &mut command, STOP_WITHIN)?.wait().await?);
    let most = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    // Apple's systems count bytes.
    println!(
        "{}",
        if cfg!(target_vendor = "apple") {
            most / 1024
        } else {
            most
        }
    );
    Ok(code)
}

/// Elsewhere the memory of a process that has ended is not known.
#[cfg(not(unix))]
pub async fn measured(_: Vec<OsString>) -> Result<u8> {
    bail!("the memory of a build is measured on Unix alone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_files_and_folders() -> Result<()> {
        let targets = targets()?;
        let named = |target: &Target| target.file.ends_with(format!("tests/{}.rs", target.name));
        let in_folder = |target: &Target| target.file.ends_with(format!("{}/main.rs", target.name));
        assert!(targets.iter().any(named) && targets.iter().any(in_folder));
        assert!(targets.iter().all(|target| target.file.is_file()));
        Ok(())
    }
}
