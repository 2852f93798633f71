//! The table, and the file with the same figures.

use crate::Result;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// What came out of a scenario.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub scenario: String,
    /// What it is compared with.
    pub baseline: String,
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// The greatest ratio that is good enough.
    pub target: Option<f64>,
    /// Median seconds of the two sides.
    #[serde(rename = "seconds")]
    pub ours: f64,
    #[serde(rename = "baseline_seconds")]
    pub theirs: f64,
    pub pairs: usize,
    /// How many MiB more of the process were resident at most during our side.
    #[serde(rename = "memory_mib", skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    #[serde(rename = "memory_target_mib", skip_serializing_if = "Option::is_none")]
    pub memory_target: Option<f64>,
}

impl Measured {
    fn meets_target(&self) -> bool {
        self.is_fast_enough() && self.fits_in_memory()
    }

    /// Judged as it is printed: to two digits.
    fn is_fast_enough(&self) -> bool {
        self.target
            .is_none_or(|target| (self.ratio * 100.0).round() / 100.0 <= target)
    }

    fn fits_in_memory(&self) -> bool {
        let (Some(memory), Some(target)) = (self.memory, self.memory_target) else {
            return true;
        };
        memory <= target
    }
}

pub struct Report {
    measured: Vec<Measured>,
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
            "\n{:<38} {:>10} {:>10} {:>7}  {:<15} {:>6} {:>7}",
            "scenario", "odm", "baseline", "ratio", "95 % interval", "pairs", "target"
        );
        println!("{}", "─".repeat(102));
        Report { measured: Vec::new() }
    }

    pub fn add(&mut self, measured: Measured) {
        let target = match measured.target {
            Some(target) if measured.is_fast_enough() => format!("≤ {target:.2} ✓"),
            Some(target) => format!("≤ {target:.2} ✗"),
            None => String::new(),
        };
        println!(
            "{:<38} {:>10} {:>10} {:>7.3}  {:<15} {:>6} {target:>9}",
            measured.scenario,
            time(measured.ours),
            time(measured.theirs),
            measured.ratio,
            format!("{:.3} – {:.3}", measured.low, measured.high),
            measured.pairs,
        );
        if let (Some(memory), Some(target)) = (measured.memory, measured.memory_target) {
            let fits = if measured.fits_in_memory() { '✓' } else { '✗' };
            println!(
                "{:<38} {:>10} {:>47}",
                "  memory of our process",
                format!("{memory:.1} MiB"),
                format!("≤ {target:.0} MiB {fits}")
            );
        }
        self.measured.push(measured);
    }

    pub fn meets_targets(&self) -> bool {
        self.measured.iter().all(Measured::meets_target)
    }

    /// Writes `target/bench/results.json`.
    pub fn write(&self) -> Result<()> {
        let dir = target_dir().join("bench");
        std::fs::create_dir_all(&dir)?;
        std::fs::write(
            dir.join("results.json"),
            serde_json::to_string_pretty(&self.measured)? + "\n",
        )?;
        Ok(())
    }

    pub fn summary(&self, took: Duration) {
        println!("{}", "─".repeat(102));
        let names = |met: bool| {
            let judged = self
                .measured
                .iter()
                .filter(|m| (m.target.is_some() || m.memory_target.is_some()) && m.meets_target() == met);
            judged.map(|m| m.scenario.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (met, missed) = (names(true), names(false));
        if !met.is_empty() {
            println!("within the target: {met}");
        }
        if !missed.is_empty() {
            println!("beyond the target: {missed}");
        }
        println!(
            "figures in target/bench/results.json, after {:.0} s",
            took.as_secs_f64()
        );
    }
}

fn time(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.1} µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}
