//! The table, and the file with the same figures.

use crate::Result;
use crate::pairs::interval;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// The result of a scenario.
#[derive(Debug, Serialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// How many MiB more of the process were resident at most during our side.
    #[serde(flatten)]
    pub memory: Option<Memory>,
    #[serde(flatten)]
    pub calls: Option<Calls>,
}

/// How long single calls of both sides took, in seconds.
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
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
        self.is_fast_enough() && self.fits_in_memory()
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
            "{:<38} {:>10} {:>10} {:>7}  {:<15} {:>6} {target:>9}",
            measured.scenario,
            measured.ours.map(time).unwrap_or_default(),
            measured.theirs.map(time).unwrap_or_default(),
            measured.shown_ratio(),
            match (measured.low, measured.high) {
                (Some(low), Some(high)) => format!("{low:.3} – {high:.3}"),
                _ => String::new(),
            },
            measured.pairs,
        );
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
                .filter(|m| (m.target.is_some() || m.memory.is_some()) && m.meets_target() == met);
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

fn time(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.1} µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}
