//! Measures the cost of compiling the library, and its distance from the design of `ARCHITECTURE.md`, and prints them as a
//! table in Markdown.
//!
//! Figures that read the sources take a second. Builds take minutes, and are compared with a build beside them, since other
//! programs load the machine.

mod pair;
mod sources;
mod targets;

pub use targets::measured;

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::process::{Process, exit_code};
use crate::run::STOP_WITHIN;
use crate::workspace::{cargo, step};

/// A row of the table, or several that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Row {
    /// Debug builds of an application with odm, and of the same on the driver.
    Build,
    /// Functions instantiated in either.
    Functions,
    /// Ways to the database for a write that front ends use.
    Writes,
    /// Peak memory and time to build the test binaries.
    TestBinaries,
    /// Time of `cargo xtask test`, with nothing built before. Measured where it is asked for.
    Tests,
    /// Fields of the library in users' documents.
    Fields,
    /// Names that the root of the crate exports.
    Exports,
    /// Lines of code in each room, and the paths that lead from a room to one above it.
    Rooms,
    /// Sizes of the rooms that execute operations: contexts, fields of results, lookups that can fail, lines.
    Engine,
}

impl Row {
    /// Those that are measured where none is named.
    const USUAL: [Row; 8] = [
        Row::Build,
        Row::Functions,
        Row::Writes,
        Row::TestBinaries,
        Row::Fields,
        Row::Exports,
        Row::Rooms,
        Row::Engine,
    ];
}

/// Print what the library costs those who compile it, and how far the code is from the design of ARCHITECTURE.md: a table in
/// Markdown.
#[derive(Debug, clap::Args)]
pub struct FiguresArgs {
    /// Print these rows alone. Without it, all but `tests`.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ROW")]
    only: Vec<Row>,
    /// How often each program is built; the medians are printed.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..), value_name = "N")]
    rounds: u16,
    /// Build these test binaries of the package `odm-tests` alone. Without it, all of them.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    target: Vec<String>,
    /// Also time `cargo xtask test` with an empty target directory, which takes half an hour.
    #[arg(long)]
    tests: bool,
}

/// A line of the table.
struct Line {
    what: String,
    now: String,
    goal: &'static str,
}

impl Line {
    fn new(what: impl Into<String>, now: impl Into<String>, goal: &'static str) -> Self {
        Line {
            what: what.into(),
            now: now.into(),
            goal,
        }
    }
}

/// Measures the rows that are asked for and prints them.
pub async fn run(args: FiguresArgs) -> Result<u8> {
    let mut rows = if args.only.is_empty() {
        Row::USUAL.to_vec()
    } else {
        args.only
    };
    if args.tests && !rows.contains(&Row::Tests) {
        rows.push(Row::Tests);
    }
    let mut lines = Vec::new();
    for row in rows {
        step(format!("measuring {row:?}"));
        lines.extend(match row {
            Row::Build => pair::builds(usize::from(args.rounds)).await?,
            Row::Functions => pair::functions().await?,
            Row::Writes => vec![sources::writes()?],
            Row::TestBinaries => targets::measure(&args.target).await?,
            Row::Tests => vec![tests().await?],
            Row::Fields => vec![sources::fields()?],
            Row::Exports => vec![sources::exports()?],
            Row::Rooms => sources::rooms()?,
            Row::Engine => sources::engine()?,
        });
    }
    print!("{}", table(&lines));
    Ok(0)
}

fn table(lines: &[Line]) -> String {
    let mut out = String::from("| what | now | goal |\n| --- | --- | --- |\n");
    for Line { what, now, goal } in lines {
        // Writing to a string does not fail.
        let _ = writeln!(out, "| {what} | {now} | {goal} |");
    }
    out
}

/// The time of `cargo xtask test` as after a checkout, with the crates of others downloaded.
async fn tests() -> Result<Line> {
    let nothing_built = tempfile::tempdir()?;
    let mut command = cargo();
    command
        .args(["xtask", "test"])
        .env("CARGO_TARGET_DIR", nothing_built.path());
    let began = Instant::now();
    let code = exit_code(
        Process::spawn("cargo xtask test", &mut command, STOP_WITHIN)?
            .wait()
            .await?,
    );
    if code != 0 {
        bail!("`cargo xtask test` failed (exit code {code}), so its time is not measured");
    }
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    Ok(Line::new(
        "`cargo xtask test` with nothing built before",
        format!("{minutes:.1} min"),
        "≤ 15 min on two cores",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_markdown() {
        let lines = [Line::new("fields", "12", "≤ 5")];
        assert_eq!(
            table(&lines),
            "| what | now | goal |\n| --- | --- | --- |\n| fields | 12 | ≤ 5 |\n"
        );
    }
}
