//! The diagram as an image.

use super::layout::{Layout, MARGIN, Rect, layout};
use super::{CopyKind, Edges};
use std::fmt::Write;

const ROW: i64 = 18;
/// The height of a box above its rows: the names of the document and of its collection.
const HEAD: i64 = 44;
const PADDING: i64 = 12;
/// How wide a character of the rows is drawn at most, and one of the title.
const CHARACTER: i64 = 8;
const BOLD: i64 = 9;
/// How far a line to the own box reaches out.
const LOOP: i64 = 34;

/// Colours for light and dark mode, with a background of their own: the page around it may be in the other mode.
const STYLE: &str = "\
.odm-edges .ground{fill:#ffffff}\
.odm-edges .box{fill:#f6f8fa;stroke:#57606a}\
.odm-edges text{fill:#1f2328;font:12px ui-monospace,Menlo,Consolas,monospace}\
.odm-edges .name{font-weight:bold;font-size:14px}\
.odm-edges .collection{fill:#57606a}\
.odm-edges .copied{fill:#8250df}\
.odm-edges .reference{fill:none;stroke:#0969da;stroke-width:1.5}\
.odm-edges .copy{fill:none;stroke:#8250df;stroke-width:1.5;stroke-dasharray:5 4}\
.odm-edges .reference-head{fill:#0969da}\
.odm-edges .copy-head{fill:#8250df}\
@media(prefers-color-scheme:dark){\
.odm-edges .ground{fill:#0d1117}\
.odm-edges .box{fill:#161b22;stroke:#8b949e}\
.odm-edges text{fill:#e6edf3}\
.odm-edges .collection{fill:#9da7b3}\
.odm-edges .copied{fill:#d2a8ff}\
.odm-edges .reference{stroke:#58a6ff}\
.odm-edges .copy{stroke:#d2a8ff}\
.odm-edges .reference-head{fill:#58a6ff}\
.odm-edges .copy-head{fill:#d2a8ff}}";

/// A line of text in a box.
struct Row {
    field: String,
    short: String,
    words: String,
    copied: bool,
}

/// A line between boxes.
struct Line {
    /// The boxes, as the layout has them from left to right.
    boxes: (usize, usize),
    /// Where it begins and ends: a box, and a row of it, or its head.
    from: (usize, Option<usize>),
    to: (usize, Option<usize>),
    copy: bool,
    both: bool,
    words: String,
}

impl Edges {
    /// The diagram as an SVG image: a box for each document with its references and copies, a line for each reference
    /// (with two heads if it is two-way), a dashed line from source to copy. It can be read in light and in dark mode, and
    /// needs nothing else: no font, no script. Each row and line says more where the pointer rests.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # fn example(odm: Odm) -> std::io::Result<()> {
    /// std::fs::write("models.svg", odm.edges().svg())?;
    /// # Ok(()) }
    /// ```
    pub fn svg(&self) -> String {
        let rows: Vec<Vec<Row>> = self
            .documents
            .iter()
            .map(|document| self.rows(document))
            .collect();
        let sizes: Vec<(i64, i64)> = self
            .documents
            .iter()
            .zip(&rows)
            .map(|(document, rows)| {
                let row = |row: &Row| (width(&row.field) + 2 + width(&row.short)) * CHARACTER;
                let head = [
                    width(document.name) * BOLD,
                    width(&subtitle(document)) * CHARACTER,
                ];
                let widest = rows.iter().map(row).chain(head).max().unwrap_or(0);
                let rows = match rows.len() as i64 {
                    0 => 0,
                    rows => rows * ROW + PADDING / 2,
                };
                (widest + 2 * PADDING, HEAD + rows)
            })
            .collect();
        let lines = self.lines(&rows);
        let pairs: Vec<(usize, usize)> = lines.iter().map(|line| line.boxes).collect();
        let layout = layout(&sizes, &pairs);
        self.draw(&rows, &lines, &layout)
    }

    fn rows(&self, document: &super::DocumentNode) -> Vec<Row> {
        let references = self.references_of(document).map(|edge| Row {
            field: edge.field.clone(),
            short: edge.short(),
            words: edge.to_string(),
            copied: false,
        });
        let copies = self.copies_of(document).map(|edge| Row {
            field: edge.field.clone(),
            short: edge.short(),
            words: edge.to_string(),
            copied: true,
        });
        references.chain(copies).collect()
    }

    fn lines(&self, rows: &[Vec<Row>]) -> Vec<Line> {
        let row = |document: usize, field: &str, copied: bool| {
            rows.get(document)?
                .iter()
                .position(|row| row.field == field && row.copied == copied)
        };
        let mut lines = Vec::new();
        for edge in self.references.iter().filter(|edge| !self.is_second_side(edge)) {
            let Some(holder) = self.document(edge.holder) else {
                continue;
            };
            for target in edge.targets.iter().filter_map(|target| self.document(target)) {
                let back = edge
                    .inverse
                    .as_ref()
                    .and_then(|inverse| row(target, inverse, false));
                lines.push(Line {
                    boxes: (holder, target),
                    from: (holder, row(holder, &edge.field, false)),
                    to: (target, back),
                    copy: false,
                    both: edge.inverse.is_some(),
                    words: format!("{}.{}: {edge}", edge.holder, edge.field),
                });
            }
        }
        for edge in &self.copies {
            let Some(holder) = self.document(edge.holder) else {
                continue;
            };
            if let Some(source) = self.document(edge.source) {
                lines.push(Line {
                    // As the reference goes that it follows.
                    boxes: match edge.kind {
                        CopyKind::Field { .. } => (holder, source),
                        _ => (source, holder),
                    },
                    from: (source, None),
                    to: (holder, row(holder, &edge.field, true)),
                    copy: true,
                    both: false,
                    words: format!("{}.{}: {edge}", edge.holder, edge.field),
                });
            }
        }
        lines
    }

    fn draw(&self, rows: &[Vec<Row>], lines: &[Line], layout: &Layout) -> String {
        // A line from the last column to its own box reaches beyond it.
        let (width, height) = (layout.width + LOOP - MARGIN.min(LOOP), layout.height);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"odm-edges\" role=\"img\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<title>Documents, references and copies</title>\n\
             <style>{STYLE}</style>\n<defs>"
        );
        for kind in ["reference", "copy"] {
            let _ = write!(
                svg,
                "<marker id=\"odm-{kind}-head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" \
                 markerHeight=\"7\" orient=\"auto-start-reverse\"><path class=\"{kind}-head\" d=\"M0,0 L10,5 L0,10 \
                 z\"/></marker>"
            );
        }
        let _ = writeln!(
            svg,
            "</defs>\n<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>"
        );
        for (at, line) in lines.iter().enumerate() {
            let kind = if line.copy { "copy" } else { "reference" };
            let start = if line.both {
                format!(" marker-start=\"url(#odm-{kind}-head)\"")
            } else {
                String::new()
            };
            let _ = writeln!(
                svg,
                "<path class=\"{kind}\"{start} marker-end=\"url(#odm-{kind}-head)\" d=\"{}\"><title>{}</title></path>",
                path(line, at, layout),
                escaped(&line.words)
            );
        }
        for ((document, rows), rect) in self.documents.iter().zip(rows).zip(&layout.boxes) {
            let Rect { x, y, width, height } = *rect;
            let _ = writeln!(
                svg,
                "<rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
            );
            let left = x + PADDING;
            let _ = writeln!(
                svg,
                "<text class=\"name\" x=\"{left}\" y=\"{}\">{}</text>\n<text class=\"collection\" x=\"{left}\" \
                 y=\"{}\">{}</text>",
                y + 18,
                escaped(document.name),
                y + 35,
                escaped(&subtitle(document))
            );
            for (at, row) in rows.iter().enumerate() {
                let class = if row.copied { " class=\"copied\"" } else { "" };
                let _ = writeln!(
                    svg,
                    "<text{class} x=\"{left}\" y=\"{}\"><title>{}</title>{}: {}</text>",
                    y + HEAD + at as i64 * ROW + 13,
                    escaped(&row.words),
                    escaped(&row.field),
                    escaped(&row.short)
                );
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn subtitle(document: &super::DocumentNode) -> String {
    let mut words = document.more();
    words.insert(0, document.collection.to_owned());
    words.join(", ")
}

/// The curve of a line: from box to box, through its own place in the columns between.
fn path(line: &Line, at: usize, layout: &Layout) -> String {
    let rect =
        |(document, _): (usize, Option<usize>)| layout.boxes.get(document).copied().unwrap_or_default();
    let (from, to) = (rect(line.from), rect(line.to));
    let (y1, y2) = (height(from, line.from.1), height(to, line.to.1));
    if line.from.0 == line.to.0 {
        let x = from.x + from.width;
        // With both ends on one row nothing would be seen.
        let y2 = if y1 == y2 { y2 + ROW / 2 } else { y2 };
        return format!("M{x},{y1} C{far},{y1} {far},{y2} {x},{y2}", far = x + LOOP);
    }
    let rightwards = from.x < to.x;
    let (x1, x2) = if rightwards {
        (from.x + from.width, to.x)
    } else {
        (from.x, to.x + to.width)
    };
    let passes = layout.passes.get(at).map(Vec::as_slice).unwrap_or_default();
    let mut stops: Vec<(i64, i64, i64)> = passes
        .iter()
        .map(|pass| (pass.left, pass.right, pass.y))
        .collect();
    if !rightwards {
        stops.reverse();
        stops
            .iter_mut()
            .for_each(|(enter, leave, _)| std::mem::swap(enter, leave));
    }
    let mut path = format!("M{x1},{y1}");
    let (mut x, mut y) = (x1, y1);
    let curve = |path: &mut String, x: i64, y: i64, to_x: i64, to_y: i64| {
        let middle = (x + to_x) / 2;
        let _ = write!(path, " C{middle},{y} {middle},{to_y} {to_x},{to_y}");
    };
    for (enter, leave, at) in stops {
        curve(&mut path, x, y, enter, at);
        let _ = write!(path, " H{leave}");
        (x, y) = (leave, at);
    }
    curve(&mut path, x, y, x2, y2);
    path
}

/// The height at which a line meets a box.
fn height(rect: Rect, row: Option<usize>) -> i64 {
    match row {
        Some(row) => rect.y + HEAD + row as i64 * ROW + 9,
        None => rect.y + 14,
    }
}

/// How many columns a text takes: what is not ASCII may be twice as wide.
fn width(text: &str) -> i64 {
    text.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum()
}

/// XML has no way to write most control characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
