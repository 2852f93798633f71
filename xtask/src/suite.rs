//! All tests of the workspace, several test binaries side by side: most of them wait for a server.
//!
//! The output of each goes to a file of its own below the target directory, and is shown where the binary fails. At the end
//! stands how many tests passed, failed and were skipped, and why.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use futures::future::try_join_all;

use crate::process::{Process, exit_code};
use crate::server::Server;
use crate::workspace::{cargo, step, target_dir};

/// How long cargo and what it runs may take to end when asked to.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Begun first, in this order: what takes longest would otherwise run alone at the end.
const LONGEST: [&str; 15] = [
    "ui",
    "migrations",
    "tenants",
    "claims",
    "crashes",
    "doc",
    "deletion",
    "libraries",
    "equal",
    "copies",
    "errors",
    "children",
    "upkeep",
    "written",
    "two_way",
];

/// How many binaries run at once: one more than there are cores, since a test that waits for its server leaves its core to
/// another.
pub fn lanes() -> usize {
    std::thread::available_parallelism()
        .map_or(2, |cores| cores.get() + 1)
        .clamp(2, 4)
}

/// A unit that runs in one go: a test binary by its name, the unit tests, or the samples in the documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    name: String,
    selection: Vec<String>,
}

/// All parts of the workspace, those that take longest first.
fn parts(metadata: &serde_json::Value) -> Result<VecDeque<Part>> {
    let packages = metadata["packages"].as_array();
    let packages = packages.ok_or_else(|| anyhow!("`cargo metadata` names no packages"))?;
    let targets = packages
        .iter()
        .filter_map(|package| package["targets"].as_array())
        .flatten();
    let mut parts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for target in targets {
        let is = |kind: &str| {
            target["kind"]
                .as_array()
                .is_some_and(|kinds| kinds.iter().any(|of| of == kind))
        };
        let name = target["name"].as_str().unwrap_or_default();
        if target["doctest"] == true {
            parts.insert("doc".to_owned(), vec!["--doc".to_owned()]);
        }
        if target["test"] != true {
            continue;
        }
        let (part, selection) = match () {
            // By its name alone, which no two targets share: with `-p` cargo would build the dependencies with other features.
            () if is("test") => (name, vec!["--test".to_owned(), name.to_owned()]),
            () if is("bin") => ("programs", vec!["--bins".to_owned()]),
            () if is("example") => ("examples", vec!["--examples".to_owned()]),
            () if is("bench") => ("benches", vec!["--benches".to_owned()]),
            () => ("libraries", vec!["--lib".to_owned()]),
        };
        parts.insert(part.to_owned(), selection);
    }
    let mut parts: Vec<Part> = parts
        .into_iter()
        .map(|(name, selection)| Part { name, selection })
        .collect();
    parts.sort_by_key(|part| {
        LONGEST
            .iter()
            .position(|name| *name == part.name)
            .unwrap_or(LONGEST.len())
    });
    Ok(parts.into())
}

async fn metadata() -> Result<serde_json::Value> {
    let mut command = cargo();
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command
        .output()
        .await
        .context("`cargo metadata` could not be run")?;
    if !output.status.success() {
        anyhow::bail!("`cargo metadata`: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("`cargo metadata` gave no JSON")
}

/// How many tests came to which end, and why some were skipped.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
    reasons: BTreeMap<String, u64>,
}

impl Counts {
    /// Reads what Rust's harness and that of `odm_tests` print.
    fn read(output: &str) -> Counts {
        let mut counts = Counts::default();
        for line in output.lines() {
            if let Some(line) = line.strip_prefix("test result: ") {
                let number = |what: &str| -> u64 {
                    let before = line.split(what).next().unwrap_or_default();
                    let word = before.split_whitespace().next_back();
                    word.and_then(|word| word.parse().ok()).unwrap_or_default()
                };
                counts.passed += number(" passed");
                counts.failed += number(" failed");
                counts.skipped += number(" ignored");
            } else if let Some((_, reason)) = line
                .strip_prefix("test ")
                .and_then(|line| line.split_once(" ... ignored"))
            {
                let reason = reason.trim_matches([' ', ',', '(', ')']);
                let reason = if reason.is_empty() {
                    "no reason given"
                } else {
                    reason
                };
                *counts.reasons.entry(reason.to_owned()).or_default() += 1;
            }
        }
        counts
    }

    fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        for (reason, times) in other.reasons {
            *self.reasons.entry(reason).or_default() += times;
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts {
            passed,
            failed,
            skipped,
            reasons,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")?;
        let mut separator = ": ";
        for (reason, times) in reasons {
            write!(f, "{separator}{times} ({reason})")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// The outcome of a part.
#[derive(Debug)]
struct Ended {
    name: String,
    code: u8,
    counts: Counts,
}

/// All tests, with what has become of them.
#[derive(Debug)]
pub struct Suite {
    queue: RefCell<VecDeque<Part>>,
    running: RefCell<Vec<Part>>,
    ended: RefCell<Vec<Ended>>,
    logs: PathBuf,
}

impl Suite {
    /// The tests of the workspace.
    pub async fn new() -> Result<Self> {
        let logs = target_dir().join("test-output");
        std::fs::create_dir_all(&logs).with_context(|| format!("{} can't be created", logs.display()))?;
        Ok(Self {
            queue: RefCell::new(parts(&metadata().await?)?),
            running: RefCell::default(),
            ended: RefCell::default(),
            logs,
        })
    }

    /// Runs what has not been run on these servers, a part at a time on each. A part that runs when the future is dropped is run again
    /// by the next call.
    pub async fn run(&self, servers: &[&Server], variables: &[(&'static str, OsString)]) -> Result<()> {
        self.queue.borrow_mut().extend(self.running.take());
        let lane = async |server: &Server| -> Result<()> {
            loop {
                let next = self.queue.borrow_mut().pop_front();
                let Some(part) = next else { return Ok(()) };
                self.running.borrow_mut().push(part.clone());
                let ended = run_part(&part, server, variables, &self.logs).await?;
                self.running.borrow_mut().retain(|running| *running != part);
                self.ended.borrow_mut().push(ended);
            }
        };
        try_join_all(servers.iter().map(|server| lane(server))).await?;
        Ok(())
    }

    /// Says how the tests ended. Returns the exit code of the first part that failed.
    pub fn report(self) -> u8 {
        let (mut all, mut code, mut failed) = (Counts::default(), 0, Vec::new());
        for part in self.ended.into_inner() {
            all.add(part.counts);
            if part.code != 0 {
                code = if code == 0 { part.code } else { code };
                failed.push(part.name);
            }
        }
        if !failed.is_empty() {
            step(format!(
                "failed: {} (see {})",
                failed.join(", "),
                self.logs.display()
            ));
        }
        step(all);
        code
    }
}

async fn run_part(
    part: &Part,
    server: &Server,
    variables: &[(&'static str, OsString)],
    logs: &Path,
) -> Result<Ended> {
    let Part { name, selection } = part.clone();
    let path = logs.join(format!("{name}.txt"));
    let output = File::create(&path).with_context(|| format!("{} can't be written", path.display()))?;
    let mut command = cargo();
    command
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(selection)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::from(output.try_clone()?))
        .stderr(output);
    server.tell(&mut command);
    let started = Instant::now();
    let code = exit_code(Process::spawn(&name, &mut command, STOP_WITHIN)?.wait().await?);
    let output = std::fs::read(&path).with_context(|| format!("{} can't be read", path.display()))?;
    let output = String::from_utf8_lossy(&output);
    let counts = Counts::read(&output);
    let seconds = started.elapsed().as_secs();
    if code != 0 {
        eprintln!("{output}");
    }
    step(format!("{name}: {counts} ({seconds} s)"));
    Ok(Ended { name, code, counts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;
    use serde_json::json;
    use std::collections::BTreeSet;

    #[test]
    fn every_target_with_tests_is_run_once_and_the_longest_first() -> Result<()> {
        let target = |name: &str, kind: &str, test: bool, doctest: bool| json!({ "name": name, "kind": [kind], "test": test, "doctest": doctest });
        let metadata = json!({ "packages": [
            { "targets": [target("odm", "lib", true, true), target("xtask", "bin", true, false)] },
            { "targets": [
                target("odm_tests", "lib", true, true),
                target("reading", "test", true, false),
                target("errors", "test", true, false),
                target("failover", "test", false, false),
                target("ratio", "bench", false, false),
            ] },
        ] });
        let parts = parts(&metadata)?;
        let selections: Vec<_> = parts.iter().map(|part| part.selection.join(" ")).collect();
        assert_eq!(
            selections,
            ["--doc", "--lib", "--test errors", "--bins", "--test reading"]
        );
        Ok(())
    }

    /// What differs would be compiled twice: for this package, and for the tests that it starts.
    #[test]
    fn this_package_has_dependencies_with_the_features_of_the_workspace() -> Result<()> {
        let tree = |selection: &[&str]| -> Result<BTreeSet<String>> {
            let mut command = std::process::Command::new(env!("CARGO"));
            let output = command
                .current_dir(root())
                .args([
                    "tree",
                    "--locked",
                    "--prefix",
                    "none",
                    "--no-dedupe",
                    "--format",
                    "{p} {f}",
                ])
                .args(selection)
                .output()?;
            anyhow::ensure!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            let text = String::from_utf8(output.stdout)?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        let here = tree(&["--package", "xtask", "--edges", "normal,build"])?;
        let everywhere = tree(&["--workspace", "--edges", "normal,build,dev"])?;
        let twice: Vec<_> = here.difference(&everywhere).collect();
        assert!(
            twice.is_empty(),
            "give these in xtask/Cargo.toml the features that the workspace needs: {twice:#?}"
        );
        Ok(())
    }

    #[test]
    fn the_ends_of_both_harnesses_are_counted_with_reasons() {
        let output = "test a ... ok\n\
            test b ... ignored (needs transactions)\n\
            test c   ... ignored (needs transactions)\n\
            test d ... ignored, takes an hour\n\
            test e - f (line 1) ... ignored\n\
            test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
            test result: FAILED. 30 passed; 4 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.10s\n";
        let mut counts = Counts::default();
        counts.add(Counts::read(output));
        assert_eq!(
            counts.to_string(),
            "31 passed, 4 failed, 4 skipped: 2 (needs transactions), 1 (no reason given), 1 (takes an hour)"
        );
        assert_eq!(
            Counts::read("nothing").to_string(),
            "0 passed, 0 failed, 0 skipped"
        );
    }
}
