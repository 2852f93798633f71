//! The table of growth as curves: a panel for each operation, in which both axes are logarithmic. A level line is an operation that
//! costs the same in a collection of any size.

use crate::canvas::{Anchor, Canvas, LINE, WIDTH, wrapped};

const COLUMNS: i64 = 4;
const PANEL: i64 = WIDTH / COLUMNS;
const NAMES: i64 = 2 * LINE + 4;
const HEIGHT: i64 = 90;
const BELOW: i64 = 34;

/// The decades of seconds that a panel shows.
const FROM: f64 = 1e-4;
const TO: f64 = 1e3;

/// An operation, with its time at each size: as it is written, and in seconds.
#[derive(Debug, PartialEq)]
pub struct Curve {
    pub operation: String,
    pub points: Vec<(String, f64)>,
}

/// The rows of the table whose columns are `operation` and the sizes.
pub fn measured(page: &str) -> Vec<Curve> {
    let mut lines = page
        .lines()
        .skip_while(|line| !line.starts_with("| operation | 1,000 |"));
    assert!(lines.next().is_some(), "the page has no table of growth");
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|line| {
        let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
        let operation = cells.next().unwrap_or_default().to_owned();
        let times = cells.filter_map(|cell| {
            let time = cell.split(',').next()?.to_owned();
            let (number, unit) = time.split_once(' ')?;
            let unit = match unit {
                "µs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                other => panic!("`{other}` is no unit"),
            };
            let seconds = number.parse::<f64>().ok()? * unit;
            Some((time, seconds))
        });
        Curve {
            points: times.collect(),
            operation,
        }
    })
    .collect()
}

pub fn draw(curves: &[Curve]) -> String {
    let words = curves.iter().map(|curve| {
        let times: Vec<&str> = curve.points.iter().map(|(time, _)| time.as_str()).collect();
        format!("{}: {}", curve.operation, times.join(", "))
    });
    let words: Vec<String> = words.collect();
    let mut canvas = Canvas::new(
        "The time of operations at collections of 1,000 documents and more",
        &format!(
            "From the smallest collection to the largest. {}",
            words.join("; ")
        ),
    );
    let rows = (curves.len() as i64 + COLUMNS - 1) / COLUMNS;
    for (index, curve) in curves.iter().enumerate() {
        let (column, row) = (index as i64 % COLUMNS, index as i64 / COLUMNS);
        let (left, top) = (column * PANEL + 12, row * (NAMES + HEIGHT + BELOW) + 16);
        for (line, text) in wrapped(&curve.operation, PANEL - 20).iter().enumerate() {
            canvas.text("field", Anchor::Start, (left, top + line as i64 * LINE), text);
        }
        let (right, ground) = (left + PANEL - 36, top + NAMES + HEIGHT);
        canvas.line("axis", (left, ground), (right, ground));
        canvas.line("axis", (left, top + NAMES), (left, ground));
        let last = curve.points.len().saturating_sub(1).max(1) as i64;
        let at = |index: usize, seconds: f64| {
            let share = (seconds.clamp(FROM, TO) / FROM).ln() / (TO / FROM).ln();
            let x = left + index as i64 * (right - left) / last;
            (x, ground - (share * HEIGHT as f64).round() as i64)
        };
        let places = curve
            .points
            .iter()
            .enumerate()
            .map(|(index, (_, seconds))| at(index, *seconds));
        let places: Vec<(i64, i64)> = places.collect();
        for pair in places.windows(2) {
            canvas.line("call", pair[0], pair[1]);
        }
        for (x, y) in &places {
            canvas.rect("tab", (x - 2, y - 2), (4, 4));
        }
        if let (Some((first, _)), Some((end, _))) = (curve.points.first(), curve.points.last()) {
            canvas.text("quiet", Anchor::Start, (left, ground + LINE), first);
            canvas.text("quiet", Anchor::End, (right + 8, ground + LINE), end);
        }
    }
    canvas.finish(rows * (NAMES + HEIGHT + BELOW) + 10)
}
