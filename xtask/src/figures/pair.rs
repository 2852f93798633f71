//! One application with odm and on the driver: the time of their builds, and the functions that are instantiated in them.
//!
//! The programs are `xtask/figures/with_odm.rs` and `with_driver.rs`. Each becomes a package of its own below the target
//! directory, with the versions of the workspace and the default debug profile, and with a target directory of its own: in a
//! common one, cargo would build crates again that both use with other features. The crates that they use are built before
//! anything is timed.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Line;
use crate::process::{Process, exit_code};
use crate::run::STOP_WITHIN;
use crate::workspace::{cargo, root, step, target_dir};

/// The text in both programs that is changed for an incremental build.
const CHANGED: &str = "\"Book {n}\"";

/// The dependencies of both programs, as the workspace declares them.
const DEPENDENCIES: [&str; 4] = ["mongodb", "serde", "futures", "tokio"];

/// The features that an application enables beside those of the workspace.
const FEATURES: [(&str, &str); 2] = [
    ("mongodb", "\"rustls-tls\", \"dns-resolver\""),
    ("tokio", "\"rt-multi-thread\""),
];

/// The declaration of a dependency in the workspace with the features that an application enables beside.
fn with_features(name: &str, declaration: &str) -> String {
    match FEATURES.iter().find(|(of, _)| *of == name) {
        Some((_, more)) => declaration.replace("features = [", &format!("features = [{more}, ")),
        None => declaration.to_owned(),
    }
}

struct Program {
    name: &'static str,
    source: &'static str,
    uses_odm: bool,
    dir: PathBuf,
}

fn programs() -> Result<[Program; 2]> {
    let program = |name, source, uses_odm| {
        let dir = target_dir().join("figures").join(name);
        let program = Program {
            name,
            source,
            uses_odm,
            dir,
        };
        program.write()?;
        Ok::<_, anyhow::Error>(program)
    };
    Ok([
        program("with_odm", include_str!("../../figures/with_odm.rs"), true)?,
        program("with_driver", include_str!("../../figures/with_driver.rs"), false)?,
    ])
}

impl Program {
    /// Makes it a package.
    fn write(&self) -> Result<()> {
        std::fs::create_dir_all(self.dir.join("src"))?;
        let workspace = std::fs::read_to_string(root().join("Cargo.toml"))?;
        let mut manifest = format!(
            "[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n",
            self.name
        );
        if self.uses_odm {
            manifest.push_str(&format!(
                "odm = {{ package = \"mongodb-odm\", path = {:?} }}\n",
                root().join("odm")
            ));
        }
        for name in DEPENDENCIES {
            let line = workspace
                .lines()
                .find(|line| line.starts_with(&format!("{name} = ")))
                .with_context(|| format!("the workspace declares no `{name}`"))?;
            manifest.push_str(&with_features(name, line));
            manifest.push('\n');
        }
        // As in the workspace. The application itself has the default profile.
        manifest.push_str("\n[profile.dev.package.\"*\"]\ndebug = false\n");
        std::fs::write(self.dir.join("Cargo.toml"), manifest)?;
        std::fs::copy(root().join("Cargo.lock"), self.dir.join("Cargo.lock"))?;
        self.change("")
    }

    /// Writes the program with one line of it changed. It is another one with every text.
    fn change(&self, text: &str) -> Result<()> {
        let source = self.source.replace(CHANGED, &format!("\"Book {{n}}{text}\""));
        Ok(std::fs::write(self.dir.join("src/main.rs"), source)?)
    }

    fn cargo(&self, arguments: &[&str]) -> tokio::process::Command {
        let mut command = cargo();
        command
            .args(arguments)
            .arg("--offline")
            .current_dir(&self.dir)
            .env("CARGO_TARGET_DIR", self.dir.join("target"))
            // The profile is that of an application, whatever this workspace is built with.
            .env_remove("CARGO_INCREMENTAL")
            .env_remove("CARGO_PROFILE_DEV_DEBUG");
        command
    }

    async fn run(&self, arguments: &[&str]) -> Result<Duration> {
        let began = Instant::now();
        let mut process = Process::spawn("cargo", &mut self.cargo(arguments), STOP_WITHIN)?;
        let code = exit_code(process.wait().await?);
        let took = began.elapsed();
        match code {
            0 => Ok(took),
            _ => bail!(
                "`cargo {}` of {} failed (exit code {code})",
                arguments.join(" "),
                self.name
            ),
        }
    }

    /// The time of a build of which nothing but the dependencies is there.
    async fn clean_build(&self) -> Result<Duration> {
        self.run(&["clean", "--quiet", "--package", self.name]).await?;
        self.run(&["build", "--quiet"]).await
    }
}

/// The times of clean and incremental builds.
pub async fn builds(rounds: usize) -> Result<Vec<Line>> {
    let programs = programs()?;
    for program in &programs {
        step(format!("building {} and what it uses", program.name));
        program.run(&["build", "--quiet"]).await?;
    }
    // By program and round.
    let (mut clean, mut changed) = ([vec![], vec![]], [vec![], vec![]]);
    for round in 0..rounds {
        for turn in 0..2 {
            // The other one begins in each round.
            let at = (turn + round) % 2;
            let program = &programs[at];
            clean[at].push(program.clean_build().await?.as_secs_f64());
            program.change(&format!(" of round {round}"))?;
            changed[at].push(program.run(&["build", "--quiet"]).await?.as_secs_f64());
            program.change("")?;
        }
        step(format!("round {} of {rounds}", round + 1));
    }
    Ok(vec![
        ratio(
            "clean debug build of an application, with odm / on the driver",
            clean,
            "≤ 1.1 ×",
        ),
        ratio(
            "the same, incremental: one line of it changed",
            changed,
            "≤ 1.1 ×",
        ),
    ])
}

/// The median of the ratios, each of two builds that followed each other.
fn ratio(what: &str, [with, without]: [Vec<f64>; 2], goal: &'static str) -> Line {
    let mut ratios: Vec<f64> = with
        .iter()
        .zip(&without)
        .map(|(with, without)| with / without)
        .collect();
    ratios.sort_by(f64::total_cmp);
    let range = match (ratios.first(), ratios.last()) {
        (Some(low), Some(high)) => format!("{low:.1} to {high:.1}"),
        _ => String::new(),
    };
    let now = format!(
        "{:.1} × ({range} in {} rounds; {:.1} s / {:.1} s)",
        median(ratios.clone()),
        ratios.len(),
        median(with),
        median(without)
    );
    Line::new(what, now, goal)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// How many functions are instantiated in each program.
pub async fn functions() -> Result<Vec<Line>> {
    if !cfg!(unix) {
        bail!("functions are counted on Unix alone, with a shell script between cargo and the compiler");
    }
    let programs = programs()?;
    let mut counts = Vec::new();
    for program in &programs {
        // With RUSTC_BOOTSTRAP in its own environment, cargo would build the dependencies again.
        let wrapper = target_dir().join("figures/rustc");
        executable(&wrapper, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec \"$@\"\n")?;
        // Nothing is printed where nothing is compiled.
        program.change(" counted")?;
        let listed = program.dir.join("functions.txt");
        let mut command = program.cargo(&["rustc", "--quiet"]);
        command
            .args(["--", "-Zprint-mono-items=yes"])
            .env("RUSTC_WORKSPACE_WRAPPER", &wrapper)
            .stdout(File::create(&listed)?);
        let code = exit_code(Process::spawn("cargo", &mut command, STOP_WITHIN)?.wait().await?);
        if code != 0 {
            bail!(
                "the functions of {} can't be counted (exit code {code})",
                program.name
            );
        }
        program.change("")?;
        counts.push(instantiated(&std::fs::read_to_string(listed)?));
    }
    let now = match counts[..] {
        [with, without] => format!("{with} / {without}"),
        _ => String::new(),
    };
    Ok(vec![Line::new(
        "functions instantiated in it, with odm / on the driver",
        now,
        "≤ 1.1 ×",
    )])
}

/// The functions that the compiler lists, each once: `MONO_ITEM fn name @@ units`.
fn instantiated(listed: &str) -> usize {
    let functions: BTreeSet<&str> = listed
        .lines()
        .filter_map(|line| line.strip_prefix("MONO_ITEM fn "))
        .map(|line| line.split(" @@ ").next().unwrap_or(line))
        .collect();
    functions.len()
}

#[cfg(unix)]
fn executable(path: &Path, script: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, script)?;
    Ok(std::fs::set_permissions(
        path,
        std::fs::Permissions::from_mode(0o755),
    )?)
}

#[cfg(not(unix))]
fn executable(path: &Path, script: &str) -> Result<()> {
    Ok(std::fs::write(path, script)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_have_the_line_that_is_changed_once() {
        for source in [
            include_str!("../../figures/with_odm.rs"),
            include_str!("../../figures/with_driver.rs"),
        ] {
            assert_eq!(source.matches(CHANGED).count(), 1);
        }
    }

    #[test]
    fn a_function_counts_once() {
        let listed = "MONO_ITEM fn a::<u8> @@ one[Internal]\nMONO_ITEM fn a::<u8> @@ two[Internal]\n\
                      MONO_ITEM static b @@ one[Internal]\nMONO_ITEM fn a::<u16> @@ one[External]\n";
        assert_eq!(instantiated(listed), 2);
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds() {
        let line = ratio("", [vec![4.0, 9.0, 8.0], vec![1.0, 3.0, 4.0]], "");
        assert_eq!(line.now, "3.0 × (2.0 to 4.0 in 3 rounds; 8.0 s / 3.0 s)");
        assert_eq!(median(vec![1.0, 2.0]), 1.5);
    }
}
