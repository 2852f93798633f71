//! Compares a design with what is true of its database: `truth.json` of each set in `tests/data/introspect`.

mod faults;
mod fields;
mod links;
mod references;

use odm_introspect::design::Design;
use serde_json::Value;
use std::fmt::Write;

/// How much of one kind was found.
#[derive(Debug, Default)]
pub struct Score {
    pub name: &'static str,
    /// The number of what is true.
    pub truth: usize,
    /// The true entries that were found.
    pub right: usize,
    /// The true entries that were not found.
    pub missed: Vec<String>,
    /// The entries that were found and are not true.
    pub wrong: Vec<String>,
    /// Whether what was found and is not in the truth may be true: of these the truth lists some.
    pub open: bool,
    /// The number of figures that were compared.
    pub figures: usize,
    /// Figures that are not as they were counted.
    pub off: Vec<String>,
}

impl Score {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    pub fn hit(&mut self) {
        self.truth += 1;
        self.right += 1;
    }

    pub fn miss(&mut self, what: String) {
        self.truth += 1;
        self.missed.push(what);
    }

    /// Compares a figure; `None` where the truth has none.
    pub fn figure(&mut self, what: &str, found: u64, truth: Option<u64>) {
        if let Some(truth) = truth {
            self.figures += 1;
            if found != truth {
                self.off.push(format!("{what}: {found} instead of {truth}"));
            }
        }
    }

    pub fn precision(&self) -> f64 {
        share(self.right, self.right + self.wrong.len())
    }

    pub fn recall(&self) -> f64 {
        share(self.right, self.truth)
    }

    pub fn f(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall == 0.0 {
            return 0.0;
        }
        2.0 * precision * recall / (precision + recall)
    }
}

fn share(part: usize, of: usize) -> f64 {
    if of == 0 {
        return 1.0;
    }
    part as f64 / of as f64
}

/// All scores of a set.
pub fn compare(design: &Design, truth: &Value) -> Vec<Score> {
    let (mut scores, matched) = references::compare(design, truth);
    scores.extend(links::compare(design, truth, &matched));
    scores.extend(fields::compare(design, truth));
    scores.extend(faults::compare(design, truth));
    scores
}

/// A table of scores, with every miss and every false one where `all` is set.
pub fn table(set: &str, scores: &[Score], all: bool) -> String {
    let mut table = format!(
        "{set}\n{:28} {:>6} {:>6} {:>6} {:>6} {:>9} {:>6} {:>5} {:>12}\n",
        "", "true", "found", "missed", "false", "precision", "recall", "F", "figures"
    );
    for score in scores {
        if score.truth == 0 && score.wrong.is_empty() {
            continue;
        }
        let (precision, f) = match score.open {
            true => ("-".to_owned(), "-".to_owned()),
            false => (format!("{:.3}", score.precision()), format!("{:.3}", score.f())),
        };
        let _ = writeln!(
            table,
            "{:28} {:>6} {:>6} {:>6} {:>6} {precision:>9} {:>6.3} {f:>5} {:>5} of {:>4}",
            score.name,
            score.truth,
            score.right,
            score.missed.len(),
            score.wrong.len(),
            score.recall(),
            score.figures - score.off.len(),
            score.figures,
        );
    }
    if all {
        for score in scores {
            for (what, which) in [
                ("missed", &score.missed),
                (if score.open { "not listed" } else { "false" }, &score.wrong),
                ("figure", &score.off),
            ] {
                for one in which {
                    let _ = writeln!(table, "  {set}, {}: {what}: {one}", score.name);
                }
            }
        }
    }
    table
}

/// The entries of a part of the truth.
fn part<'a>(truth: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    truth[name].as_array().into_iter().flatten()
}

/// A text of an entry; empty where it has none.
fn text<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry[name].as_str().unwrap_or_default()
}

/// A path, or the paths of a composite key.
fn paths(entry: &Value) -> Vec<String> {
    match entry {
        Value::Array(paths) => paths
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        path => path.as_str().map(str::to_owned).into_iter().collect(),
    }
}

/// A figure that was counted.
fn measured(entry: &Value, name: &str) -> Option<u64> {
    entry["measured"][name].as_u64()
}
