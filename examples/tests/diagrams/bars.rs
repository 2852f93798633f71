//! The table of measurements as bars: to the left of the line the library is faster than the driver, to the right slower. A filled
//! bar is the ratio to the code by hand with the same guarantee, an outlined one that to one statement without it.

use crate::canvas::{Anchor, Canvas, LINE, WIDTH, width, wrapped};

/// The width of the column of names, and where the bars begin and end.
const NAMES: i64 = 336;
const LEFT: i64 = NAMES + 20;
const RIGHT: i64 = WIDTH - 52;
const TOP: i64 = 46;
const BAR: i64 = 10;

/// The ratios that the axis shows: it is logarithmic, since twice as fast is as far from equal as twice as slow.
const FROM: f64 = 0.125;
const TO: f64 = 8.0;
const MARKS: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

/// A ratio as it is written, and as a number where it is one: a dash says that there is none.
pub type Ratio = (String, Option<f64>);

/// A row of the table: what is compared, and the ratios of the times.
#[derive(Debug, PartialEq)]
pub struct Measured {
    pub operation: String,
    /// To the code by hand.
    pub ratios: Vec<Ratio>,
    /// To one statement, where that is other code.
    pub statement: Vec<Ratio>,
}

impl Measured {
    /// All ratios, each with whether it is that to one statement.
    fn bars(&self) -> impl Iterator<Item = (&Ratio, bool)> {
        let of_statement = self.statement.iter().map(|ratio| (ratio, true));
        self.ratios.iter().map(|ratio| (ratio, false)).chain(of_statement)
    }
}

/// The first line of the table.
const HEAD: &str = "| scenario | by hand | ratio | 95 % interval | one statement | ratio |";
/// In the place of what was compared by hand already.
const SAME: &str = "the same";

/// The ratios of a cell.
fn ratios(cell: &str) -> Vec<Ratio> {
    let one = |text: &str| {
        let ratio = text.parse().ok();
        let is_none = text == "–" || text == "not measured";
        assert!(ratio.is_some() || is_none, "`{text}` is no number");
        (text.to_owned(), ratio)
    };
    cell.split(" and ").map(one).collect()
}

/// The rows of the table.
pub fn measured(page: &str) -> Vec<Measured> {
    let mut rows: Vec<Measured> = Vec::new();
    let mut lines = page.lines().skip_while(|line| *line != HEAD);
    assert!(lines.next().is_some(), "the page has no table of measurements");
    for line in lines.skip(1).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [operation, driver, to_driver, _, statement, to_statement] = cells[..] else {
            panic!("six cells, not `{line}`");
        };
        let to_statement = if statement == SAME {
            assert_eq!(to_driver, to_statement, "{line}");
            Vec::new()
        } else {
            ratios(to_statement)
        };
        let mut operation = plain(operation);
        // Two rows may have the same operation, compared with different code.
        let driver = plain(driver);
        if rows.iter().any(|row| row.operation == operation) {
            operation = format!("{operation}: {driver}");
        }
        rows.push(Measured {
            operation,
            ratios: ratios(to_driver),
            statement: to_statement,
        });
    }
    rows
}

/// The text of a cell without its marks and links.
fn plain(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, link)) = rest.split_once('[') {
        text.push_str(before);
        let (shown, target) = link.split_once("](").unwrap_or((link, ""));
        text.push_str(shown);
        rest = target.split_once(')').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.replace('`', "")
}

fn at(ratio: f64) -> i64 {
    let share = (ratio.clamp(FROM, TO) / FROM).ln() / (TO / FROM).ln();
    LEFT + (share * (RIGHT - LEFT) as f64).round() as i64
}

pub fn draw(rows: &[Measured]) -> String {
    let words: Vec<String> = rows
        .iter()
        .map(|row| {
            let joined = |ratios: &[Ratio]| {
                let texts: Vec<&str> = ratios.iter().map(|(text, _)| text.as_str()).collect();
                texts.join(" and ")
            };
            let to_driver = format!("{}: {}", row.operation, joined(&row.ratios));
            if row.statement.is_empty() {
                to_driver
            } else {
                format!("{to_driver}, to one statement {}", joined(&row.statement))
            }
        })
        .collect();
    let mut canvas = Canvas::new(
        "The time of operations with the library, compared with the driver alone",
        &format!(
            "The ratio of the times; below 1 the library is faster. {}",
            words.join("; ")
        ),
    );
    let names: Vec<Vec<String>> = rows
        .iter()
        .map(|row| wrapped(&row.operation, NAMES - 16))
        .collect();
    let height = |at: usize| {
        let text = names[at].len() as i64 * LINE;
        text.max(rows[at].bars().count() as i64 * (BAR + 4)) + 8
    };
    let bottom = TOP + (0..rows.len()).map(height).sum::<i64>();
    for mark in MARKS {
        let class = if mark == 1.0 { "axis" } else { "grid" };
        canvas.line(class, (at(mark), TOP - 6), (at(mark), bottom));
        if mark.fract() == 0.0 || mark >= 0.25 {
            canvas.text("quiet", Anchor::Middle, (at(mark), TOP - 12), &mark.to_string());
        }
    }
    canvas.text("quiet", Anchor::End, (at(1.0) - 8, 16), "← faster");
    canvas.text(
        "quiet",
        Anchor::Start,
        (at(1.0) + 8, 16),
        "slower than the driver →",
    );
    canvas.text(
        "quiet",
        Anchor::Start,
        (12, 16),
        "filled: by hand, same guarantee",
    );
    canvas.text("quiet", Anchor::Start, (12, 16 + LINE), "outlined: one statement");
    let mut y = TOP;
    for (index, row) in rows.iter().enumerate() {
        for (line, text) in names[index].iter().enumerate() {
            canvas.text("field", Anchor::Start, (12, y + 11 + line as i64 * LINE), text);
        }
        for (line, ((text, ratio), is_statement)) in row.bars().enumerate() {
            let top = y + 2 + line as i64 * (BAR + 4);
            let one = at(1.0);
            let end = ratio.map_or(one, at);
            let class = match ratio {
                None => "",
                Some(_) if is_statement => "box",
                Some(ratio) if *ratio > 1.0 => "slower",
                Some(_) => "faster",
            };
            if ratio.is_some() {
                canvas.rect(class, (one.min(end), top), ((end - one).abs().max(1), BAR));
            }
            let x = end.max(one) + 6;
            let class = if ratio.is_some() { "field" } else { "quiet" };
            canvas.text(class, Anchor::Start, (x, top + BAR - 1), text);
            assert!(x + width(text) <= WIDTH, "{text} has no room");
        }
        y += height(index);
    }
    canvas.finish(bottom + 10)
}
