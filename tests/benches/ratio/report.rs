//! The table, and the file with the same figures.

use crate::Result;
use crate::growth::{Curve, STREAM};
use crate::libraries;
use crate::pairs::{Pairs, interval};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// The result of a scenario.
#[derive(Debug, Serialize, Deserialize)]
pub struct Measured {
    pub scenario: String,
    /// The operation that it is compared with.
    pub baseline: String,
    /// `None` where it could not be measured.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The greatest ratio that is good enough.
    pub target: Option<f64>,
    /// Median seconds of the two sides.
    #[serde(rename = "seconds")]
    pub ours: Option<f64>,
    #[serde(rename = "baseline_seconds")]
    pub theirs: Option<f64>,
    pub pairs: usize,
    /// Why it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// How many MiB more of the process were resident at most during our side.
    #[serde(flatten)]
    pub memory: Option<Memory>,
    #[serde(flatten)]
    pub calls: Option<Calls>,
    /// One statement of the driver. `None` where it was not measured.
    #[serde(flatten)]
    pub statement: Option<Statement>,
}

/// Which plain statement of the driver a scenario is compared with, beside the code by hand.
#[derive(Clone, Copy, Debug)]
pub enum Single {
    /// The code by hand is one statement itself.
    Baseline,
    /// This one, which is measured in the same rounds, and the greatest ratio that is good enough.
    Is(&'static str, Option<f64>),
    /// There is none, or another row of the scenario has it.
    None,
}

/// The time in relation to that of one plain statement of the driver, which gives no guarantee.
#[derive(Debug, Serialize, Deserialize)]
pub struct Statement {
    /// A dash where no single statement does the same.
    #[serde(rename = "statement")]
    pub name: String,
    #[serde(rename = "statement_ratio")]
    pub ratio: Option<f64>,
    #[serde(rename = "statement_low")]
    pub low: Option<f64>,
    #[serde(rename = "statement_high")]
    pub high: Option<f64>,
    #[serde(rename = "statement_target")]
    pub target: Option<f64>,
    #[serde(rename = "statement_seconds")]
    pub seconds: Option<f64>,
}

/// What stands where there is no statement.
const DASH: &str = "–";

impl Statement {
    pub fn of(single: Single, baseline: &str, pairs: &Pairs) -> Statement {
        let (name, interval, target, seconds) = match single {
            Single::None => return Statement::none(),
            Single::Baseline => (baseline, Some(pairs.ratio()), None, Some(pairs.theirs())),
            Single::Is(name, target) => (name, pairs.ratio_to_statement(), target, pairs.statement()),
        };
        Statement {
            name: name.to_owned(),
            ratio: interval.map(|interval| interval.median),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            target,
            seconds,
        }
    }

    /// No single statement does the same.
    pub fn none() -> Statement {
        Statement {
            name: DASH.to_owned(),
            ratio: None,
            low: None,
            high: None,
            target: None,
            seconds: None,
        }
    }

    fn meets_target(&self) -> bool {
        self.target
            .is_none_or(|target| self.ratio.is_some_and(|ratio| ratio <= target))
    }
}

/// The ratio to one statement, as a table shows it.
fn shown_statement(statement: Option<&Statement>) -> String {
    match statement {
        Some(statement) if statement.name == DASH => DASH.to_owned(),
        Some(Statement {
            ratio: Some(ratio), ..
        }) => format!("{ratio:.2}"),
        _ => "not measured".to_owned(),
    }
}

/// How long single calls of both sides took, in seconds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Calls {
    #[serde(rename = "call_seconds")]
    pub median: f64,
    #[serde(rename = "slowest_call_seconds")]
    pub slowest: f64,
    #[serde(rename = "baseline_call_seconds")]
    pub baseline_median: f64,
    #[serde(rename = "baseline_slowest_call_seconds")]
    pub baseline_slowest: f64,
    /// How many were refused.
    #[serde(rename = "failed_calls")]
    pub failed: usize,
}

impl Calls {
    pub fn of(ours: Vec<Duration>, theirs: Vec<Duration>, failed: usize) -> Calls {
        let both = |calls: Vec<Duration>| {
            let slowest = calls.iter().max().copied().unwrap_or_default();
            let seconds = calls.iter().map(Duration::as_secs_f64).collect();
            (interval(seconds).median, slowest.as_secs_f64())
        };
        let ((median, slowest), (baseline_median, baseline_slowest)) = (both(ours), both(theirs));
        Calls {
            median,
            slowest,
            baseline_median,
            baseline_slowest,
            failed,
        }
    }
}

/// The memory that an operation needs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Memory {
    /// In MiB; `None` where the system does not tell.
    #[serde(rename = "memory_mib")]
    pub mib: Option<f64>,
    #[serde(rename = "memory_target_mib")]
    pub target_mib: f64,
}

impl Memory {
    fn fits(&self) -> bool {
        self.mib.is_some_and(|mib| mib <= self.target_mib)
    }
}

impl Measured {
    fn meets_target(&self) -> bool {
        let statement = self.statement.as_ref();
        self.is_fast_enough() && self.fits_in_memory() && statement.is_none_or(Statement::meets_target)
    }

    fn has_target(&self) -> bool {
        let of_statement = self.statement.as_ref().and_then(|statement| statement.target);
        self.target.or(of_statement).is_some() || self.memory.is_some()
    }

    /// A scenario that was not measured has met no target.
    fn is_fast_enough(&self) -> bool {
        self.target
            .is_none_or(|target| self.ratio.is_some_and(|ratio| ratio <= target))
    }

    fn fits_in_memory(&self) -> bool {
        self.memory.as_ref().is_none_or(Memory::fits)
    }

    /// With as many digits as it takes to see on which side of the target it is.
    fn shown_ratio(&self) -> String {
        let Some(ratio) = self.ratio else {
            return "–".to_owned();
        };
        let shown = |digits: usize| format!("{ratio:.digits$}");
        let tells = |text: &String| {
            let (Some(target), Ok(shown)) = (self.target, text.parse::<f64>()) else {
                return true;
            };
            (shown <= target) == (ratio <= target)
        };
        (3..9).map(shown).find(tells).unwrap_or_else(|| ratio.to_string())
    }
}

/// How wide the printed table is.
const WIDTH: usize = 116;

pub struct Report {
    measured: Vec<Measured>,
    /// How operations grow with their collections.
    pub curves: Vec<Curve>,
}

/// The workspace's target directory.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) if !dir.is_empty() => PathBuf::from(dir),
        _ => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target")),
    }
}

impl Report {
    pub fn new() -> Report {
        println!(
            "\n{:<38} {:>10} {:>10} {:>7}  {:<15} {:>6} {:>9} {:>13}",
            "scenario", "odm", "by hand", "ratio", "95 % interval", "pairs", "target", "one statement"
        );
        println!("{}", "─".repeat(WIDTH));
        Report {
            measured: Vec::new(),
            curves: Vec::new(),
        }
    }

    pub fn add(&mut self, measured: Measured) {
        let target = match measured.target {
            Some(target) if measured.is_fast_enough() => format!("≤ {target:.2} ✓"),
            Some(target) => format!("≤ {target:.2} ✗"),
            None => String::new(),
        };
        println!(
            "{:<38} {:>10} {:>10} {:>7}  {:<15} {:>6} {target:>9} {:>13}",
            measured.scenario,
            measured.ours.map(time).unwrap_or_default(),
            measured.theirs.map(time).unwrap_or_default(),
            measured.shown_ratio(),
            match (measured.low, measured.high) {
                (Some(low), Some(high)) => format!("{low:.3} – {high:.3}"),
                _ => String::new(),
            },
            measured.pairs,
            shown_statement(measured.statement.as_ref()),
        );
        if let Some(Statement {
            target: Some(target), ..
        }) = &measured.statement
        {
            let meets = measured.statement.as_ref().is_some_and(Statement::meets_target);
            let sign = if meets { '✓' } else { '✗' };
            println!(
                "{:<38} {:>77}",
                "  one statement",
                format!("≤ {target:.2} {sign}")
            );
        }
        if let Some(why) = &measured.left_out {
            println!("  left out: {why}");
        }
        if let Some(memory) = &measured.memory {
            let fits = if memory.fits() { '✓' } else { '✗' };
            println!(
                "{:<38} {:>12} {:>45}",
                "  memory of our process",
                memory
                    .mib
                    .map_or_else(|| "not measured".to_owned(), |mib| format!("{mib:.1} MiB")),
                format!("≤ {:.0} MiB {fits}", memory.target_mib)
            );
        }
        if let Some(calls) = &measured.calls {
            let both = |median, slowest| format!("{} / {}", time(median), time(slowest));
            println!(
                "  one call, median / slowest: {}; baseline {}; {} failed",
                both(calls.median, calls.slowest),
                both(calls.baseline_median, calls.baseline_slowest),
                calls.failed
            );
        }
        self.measured.push(measured);
        // What follows may take an hour, or be interrupted.
        if let Err(error) = self.write() {
            eprintln!("the results so far can't be written: {error}");
        }
    }

    pub fn meets_targets(&self) -> bool {
        self.measured.iter().all(Measured::meets_target)
    }

    /// Writes `target/bench/results.json`.
    pub fn write(&self) -> Result<()> {
        let dir = target_dir().join("bench");
        std::fs::create_dir_all(&dir)?;
        let kept = serde_json::json!({ "rows": self.measured, "curves": self.curves });
        std::fs::write(
            dir.join("results.json"),
            serde_json::to_string_pretty(&kept)? + "\n",
        )?;
        Ok(())
    }

    /// Names the scenarios that were faster in the kept results, beyond what the intervals of both leave open. Gives whether there
    /// are none.
    pub fn compare(&self) -> Result<bool> {
        let kept = Kept::read()?;
        let mut worse = Vec::new();
        for row in &self.measured {
            // One that is compared with other code by now says nothing.
            let is_same =
                |before: &&Measured| before.scenario == row.scenario && before.baseline == row.baseline;
            let before = kept.rows.iter().find(is_same);
            if let (Some(low), Some(ratio), Some(before)) = (row.low, row.ratio, before)
                && let (Some(high), Some(then)) = (before.high, before.ratio)
                && low > high
            {
                worse.push(format!("{}: {ratio:.3} instead of {then:.3}", row.scenario));
            }
        }
        match worse.as_slice() {
            [] => println!("nothing became worse than in the kept results"),
            worse => println!("worse than in the kept results: {}", worse.join("; ")),
        }
        Ok(worse.is_empty())
    }

    /// Puts the rows and curves in the place of those of the kept results.
    pub fn keep(self) -> Result<()> {
        let mut kept = Kept::read().unwrap_or_default();
        for row in self.measured {
            match kept.rows.iter_mut().find(|known| known.scenario == row.scenario) {
                Some(known) => *known = row,
                None => kept.rows.push(row),
            }
        }
        if !self.curves.is_empty() {
            kept.curves = self.curves;
        }
        std::fs::write(KEPT, serde_json::to_string_pretty(&kept)? + "\n")?;
        Ok(())
    }

    pub fn summary(&self, took: Duration) {
        println!("{}", "─".repeat(WIDTH));
        let names = |met: bool| {
            let judged = self
                .measured
                .iter()
                .filter(|m| m.has_target() && m.meets_target() == met);
            judged.map(|m| m.scenario.as_str()).collect::<Vec<_>>().join("; ")
        };
        let (met, missed) = (names(true), names(false));
        if !met.is_empty() {
            println!("within the target: {met}");
        }
        if !missed.is_empty() {
            println!("beyond the target, or not measured: {missed}");
        }
        println!(
            "figures in target/bench/results.json, after {:.0} s",
            took.as_secs_f64()
        );
    }
}

pub fn time(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.1} µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}

/// The results that are kept in the repository.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/results.json");
/// The page of the guide that shows them.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../book/src/benchmark.md");

/// The joins that are compared with the driver on the page, and those that are compared with other libraries.
const JOINS: [&str; 4] = [
    "joins 1,000 × 20: $in",
    "joins 1,000 × 20 of 500: $in",
    "joins 1 × 20: $in",
    "joins 100 × newest 10 by queries: finds at once",
];
const JOINS_OF_LIBRARIES: [&str; 2] = ["joins 1,000 × 20", "joins 1,000 × 1"];

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    rows: Vec<Measured>,
    curves: Vec<Curve>,
}

impl Kept {
    fn read() -> Result<Kept> {
        Ok(serde_json::from_str(&std::fs::read_to_string(KEPT)?)?)
    }

    /// A table of the rows that the page shows: all but those of other libraries, of large results, and of further sizes of joins.
    fn on_driver(&self) -> String {
        let mut text =
            "\n| scenario | by hand | ratio | 95 % interval | one statement | ratio |\n".to_owned();
        text += &format!("|{}\n", " --- |".repeat(6));
        for row in self
            .rows
            .iter()
            .filter(|row| libraries::sides(&row.scenario).is_none())
            .filter(|row| !row.scenario.starts_with("large: "))
            .filter(|row| !row.scenario.starts_with("joins ") || JOINS.contains(&row.scenario.as_str()))
        {
            let interval = match (row.low, row.high) {
                (Some(low), Some(high)) => format!("{low:.2} to {high:.2}"),
                _ => row.left_out.clone().unwrap_or_default(),
            };
            let ratio = row
                .ratio
                .map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
            let statement = row.statement.as_ref();
            let name = match statement {
                Some(statement) if statement.name == row.baseline => "the same",
                Some(statement) => statement.name.as_str(),
                None => "not measured",
            };
            let of_statement = match name {
                "the same" => ratio.clone(),
                _ => shown_statement(statement),
            };
            let _ = writeln!(
                text,
                "| {} | {} | {ratio} | {interval} | {name} | {of_statement} |",
                row.scenario, row.baseline
            );
        }
        text + "\n"
    }

    /// A row for each task, and a column for each library.
    fn libraries(&self) -> String {
        let mut text = format!("\n| task | {} |\n", libraries::SIDES.join(" | "));
        text += &format!("| --- |{}\n", " --- |".repeat(libraries::SIDES.len()));
        let mut line = |task: &str, name: &dyn Fn(&str) -> String| {
            let ratio = |side: &&str| {
                let name = name(side);
                let row = self.rows.iter().find(|row| row.scenario == name);
                let ratio = row.and_then(|row| row.ratio);
                ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"))
            };
            let ratios: Vec<String> = libraries::SIDES.iter().map(ratio).collect();
            let _ = writeln!(text, "| {task} | {} |", ratios.join(" | "));
        };
        for task in libraries::TASKS {
            line(task, &|side| libraries::row(task, side));
        }
        for group in JOINS_OF_LIBRARIES {
            line(group, &|side| {
                let side = if side == "driver" { "$in" } else { side };
                format!("{group}: {side}")
            });
        }
        text + "\n"
    }

    /// A row for each operation, and a column for each size: its time and memory.
    fn growth(&self) -> String {
        let sizes: Vec<String> = self.curves.first().map_or_else(Vec::new, |curve| {
            curve
                .points
                .iter()
                .map(|point| thousands(point.documents))
                .collect()
        });
        let mut text = format!(
            "\n| operation | {} |\n| --- |{}\n",
            sizes.join(" | "),
            " --- |".repeat(sizes.len())
        );
        let (streams, curves): (Vec<&Curve>, Vec<&Curve>) =
            self.curves.iter().partition(|curve| curve.operation == STREAM);
        for curve in curves {
            let cell = |point: &crate::growth::Point| {
                let took = point.seconds.map_or_else(|| "–".to_owned(), time);
                match point.memory_mib {
                    Some(mib) => format!("{took}, {mib:.1} MiB"),
                    None => took,
                }
            };
            let cells: Vec<String> = curve.points.iter().map(cell).collect();
            let _ = writeln!(text, "| {} | {} |", curve.operation, cells.join(" | "));
        }
        for stream in streams {
            let _ = writeln!(
                text,
                "\n| a stream of 1,000,000 has read | the process has resident |\n| --- | --- |"
            );
            for point in &stream.points {
                let mib = point
                    .memory_mib
                    .map_or_else(|| "–".to_owned(), |mib| format!("{mib:.1} MiB"));
                let _ = writeln!(text, "| {} | {mib} |", thousands(point.documents));
            }
        }
        text + "\n"
    }
}

/// `1,000,000`
fn thousands(number: i32) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups = groups.map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// Writes the kept results into the page of the guide, between its marks.
pub fn write_page() -> Result<()> {
    let kept = Kept::read()?;
    let mut page = std::fs::read_to_string(PAGE)?;
    let parts = [
        ("driver", kept.on_driver()),
        ("libraries", kept.libraries()),
        ("growth", kept.growth()),
    ];
    for (name, part) in parts {
        let mark = format!("<!-- measured: {name} -->\n");
        let (above, below) = page.split_once(&mark).ok_or("the page has lost a mark")?;
        let (_, below) = below
            .split_once("<!-- end -->")
            .ok_or("the page has lost an end")?;
        page = format!("{above}{mark}{part}<!-- end -->{below}");
    }
    std::fs::write(PAGE, page)?;
    Ok(())
}
