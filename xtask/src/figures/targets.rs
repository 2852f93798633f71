//! What the test binaries take to build: time, and the memory of the largest process, which is the compiler or the linker.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};

use super::Line;
use crate::workspace::{cargo, root, step};

/// A test binary of the package `odm-tests`.
struct Target {
    name: String,
    /// Its main file.
    file: std::path::PathBuf,
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
        match folder.is_file() {
            true => found.push(Target { name, file: folder }),
            false if is_file => found.push(Target { name, file: path }),
            false => {}
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
    for target in &chosen {
        step(format!("building the test binary {}", target.name));
        // What it uses is built first, and is not measured.
        build(&["build", "--package", "odm-tests"], None).await?;
        std::fs::File::options()
            .append(true)
            .open(&target.file)?
            .set_modified(SystemTime::now())?;
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
    built.sort_by(|(_, a), (_, b)| b.memory.cmp(&a.memory));
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

/// What a build took.
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
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command
        .arg("measure")
        .arg("--")
        .args(arguments)
        .env("CARGO_INCREMENTAL", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    let began = Instant::now();
    let output = command.output().await?;
    let took = began.elapsed();
    if !output.status.success() {
        bail!("building {} failed", target.unwrap_or("the package odm-tests"));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let memory = said.lines().last().and_then(|line| line.trim().parse().ok());
    Ok(Built {
        memory: memory.context("the memory of a build is not known")?,
        took,
    })
}

/// `cargo xtask measure`: runs cargo, and prints the memory of the largest process that came of it, in kB.
#[cfg(unix)]
pub async fn measured(arguments: Vec<OsString>) -> Result<u8> {
    use crate::process::{Process, exit_code};
    use nix::sys::resource::{UsageWho, getrusage};

    let mut command = cargo();
    command.args(arguments).arg("--quiet");
    let code = exit_code(
        Process::spawn("cargo", &mut command, crate::run::STOP_WITHIN)?
            .wait()
            .await?,
    );
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
        let of = |name: &str| targets.iter().find(|target| target.name == name);
        assert!(of("ui").is_some_and(|target| target.file.ends_with("tests/ui.rs")));
        assert!(of("values").is_some_and(|target| target.file.ends_with("values/main.rs")));
        assert!(targets.iter().all(|target| target.file.is_file()));
        Ok(())
    }
}
