//! The diagram as an image.

use crate::layout::{Columns, End, Layout, MARGIN, Rect, Side, Wire, columns, layout};
use crate::rows::{Row, broken, cut, rows, wanted, width};
use crate::{Diagram, FieldKind, Line, LineKind, Node, Port};
use std::fmt::Write;

const ROW: i64 = 18;
/// The height of a box above its rows: the names of the document and of its collection, which may take several lines.
const HEAD: i64 = 46;
const BELOW: i64 = 15;
const PADDING: i64 = 10;
/// How wide a character of the rows is drawn at most, in tenths, and one of the title.
const CHARACTER: i64 = 75;
const BOLD: i64 = 88;
/// How far the corner of a line is rounded.
const ROUND: i64 = 5;
/// The height of the explanation below, and how wide its lines are drawn.
const LEGEND: i64 = 24;
const SAMPLE: i64 = 30;

/// Colours for light and dark mode, with a background of their own: the page around it may be in the other mode.
const STYLE: &str = "\
.odm-edges .ground{fill:#ffffff}\
.odm-edges .box{fill:#f6f8fa;stroke:#57606a}\
.odm-edges .embed{fill:#ffffff;stroke:#afb8c1}\
.odm-edges text{fill:#1f2328;font:12px ui-monospace,Menlo,Consolas,monospace}\
.odm-edges .name{font-weight:bold;font-size:14px}\
.odm-edges .quiet{fill:#57606a}\
.odm-edges .refers{fill:#0550ae}\
.odm-edges .derived{fill:#6639ba;font-style:italic}\
.odm-edges .reference{fill:none;stroke:#0969da;stroke-width:1.5}\
.odm-edges .copy{fill:none;stroke:#8250df;stroke-width:1.5;stroke-dasharray:5 3}\
.odm-edges .reference-head{fill:#0969da}\
.odm-edges .copy-head{fill:#8250df}\
@media(prefers-color-scheme:dark){\
.odm-edges .ground{fill:#0d1117}\
.odm-edges .box{fill:#161b22;stroke:#8b949e}\
.odm-edges .embed{fill:#0d1117;stroke:#484f58}\
.odm-edges text{fill:#e6edf3}\
.odm-edges .quiet{fill:#9da7b3}\
.odm-edges .refers{fill:#79c0ff}\
.odm-edges .derived{fill:#d2a8ff}\
.odm-edges .reference{stroke:#58a6ff}\
.odm-edges .copy{stroke:#bc8cff}\
.odm-edges .reference-head{fill:#58a6ff}\
.odm-edges .copy-head{fill:#bc8cff}}";

/// The box of a line's end, and its row.
type Place = (usize, Option<usize>);

/// A line with the places of its ends.
struct Placed<'d> {
    line: &'d Line,
    from: Place,
    to: Place,
}

impl Placed<'_> {
    fn is_copy(&self) -> bool {
        self.line.kind == LineKind::Copy
    }

    fn has_two_heads(&self) -> bool {
        self.line.kind == LineKind::TwoWay
    }
}

/// A box with what stands in it, at heights below its upper side.
struct Drawn {
    height: i64,
    /// The height of each row's first line.
    rows: Vec<i64>,
    texts: Vec<Text>,
    /// The frames around embedded structs: from, to, and how deep.
    embeds: Vec<(i64, i64, usize)>,
}

/// A text in a box.
struct Text {
    class: &'static str,
    column: usize,
    y: i64,
    text: String,
    words: String,
}

impl Diagram {
    /// The diagram as an SVG image: a box for each node with its fields, a line for each line, dashed for a copy. Fields that
    /// the library writes are in italics.
    ///
    /// It is at most 700 pixels wide, with text of 12. It can be read in light and in dark mode, and needs nothing else: no
    /// font, no script. Rows and lines say more where the pointer rests.
    pub fn svg(&self) -> String {
        let rows: Vec<Vec<Row>> = self.boxes.iter().map(|node| rows(&node.fields)).collect();
        let lines = self.placed(&rows);
        let drawn = |columns: &[usize]| -> Vec<Drawn> {
            let all = self.boxes.iter().zip(&rows).zip(columns);
            all.map(|((node, rows), columns)| drawn(node, rows, *columns))
                .collect()
        };
        // First as wide as each box wants to be, then as wide as it may be.
        let wanted: Vec<usize> = self
            .boxes
            .iter()
            .zip(&rows)
            .map(|(node, rows)| wanted(rows).max(head(node)))
            .collect();
        let wide = drawn(&wanted);
        let sizes: Vec<(i64, i64)> = wanted
            .iter()
            .zip(&wide)
            .map(|(columns, drawn)| (pixels(*columns) + 2 * PADDING, drawn.height))
            .collect();
        let columns = columns(&sizes, &ends(&lines, &wide));
        let fitting: Vec<usize> = columns.sides.iter().map(|side| fits(&columns, *side)).collect();
        let narrow = drawn(&fitting);
        let heights: Vec<i64> = narrow.iter().map(|drawn| drawn.height).collect();
        let layout = layout(&columns, &heights, &ends(&lines, &narrow));
        self.draw(&narrow, &lines, &layout)
    }

    /// The lines with the rows at which they end: that of the field, or of what it is embedded in where that is not looked
    /// into.
    fn placed(&self, rows: &[Vec<Row>]) -> Vec<Placed<'_>> {
        let row = |node: usize, field: &str| {
            let rows = rows.get(node)?;
            let mut path = field;
            loop {
                if let Some(at) = rows.iter().position(|row| row.path == path) {
                    return Some(at);
                }
                path = path.rsplit_once('.')?.0;
            }
        };
        let place = |port: &Port| {
            (
                port.node,
                port.field.as_deref().and_then(|field| row(port.node, field)),
            )
        };
        let placed = self.lines.iter().map(|line| Placed {
            line,
            from: place(&line.from),
            to: place(&line.to),
        });
        placed.collect()
    }

    fn draw(&self, drawn: &[Drawn], lines: &[Placed<'_>], layout: &Layout) -> String {
        let legend = Legend::of(drawn, lines);
        let width = layout.width.max(legend.width());
        let height = layout.height + if legend.is_empty() { 0 } else { LEGEND };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"odm-edges\" role=\"img\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<title>{}</title>\n<desc>{}</desc>\n\
             <style>{STYLE}</style>\n<defs>",
            escaped(&self.title),
            escaped(&self.description)
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
        for (line, wire) in lines.iter().zip(&layout.wires) {
            draw_line(&mut svg, line, &path(wire));
        }
        for (drawn, rect) in drawn.iter().zip(&layout.boxes) {
            draw_box(&mut svg, drawn, *rect);
        }
        legend.draw(&mut svg, layout.height);
        svg.push_str("</svg>\n");
        svg
    }
}

/// How many columns the head of a box wants.
fn head(node: &Node) -> usize {
    let name = width(&node.name) as i64 * BOLD / CHARACTER + 1;
    (name as usize).max(width(&node.below.join(", ")))
}

/// How many columns of text fit into the boxes of a column.
fn fits(columns: &Columns, side: Side) -> usize {
    let width = match side {
        Side::Left => columns.left,
        Side::Right => columns.right,
    };
    usize::try_from((width - 2 * PADDING) * 10 / CHARACTER).unwrap_or(0)
}

fn pixels(columns: usize) -> i64 {
    (columns as i64 * CHARACTER + 9) / 10
}

/// The content of a box that has this number of columns.
fn drawn(node: &Node, rows: &[Row], columns: usize) -> Drawn {
    let text = |class, column, y, text: String, words: &str| Text {
        class,
        column,
        y,
        text,
        words: words.to_owned(),
    };
    let name = cut(&node.name, columns * CHARACTER as usize / BOLD as usize);
    let words = node.below.join(", ");
    let below = broken(&words, columns);
    let mut y = HEAD + BELOW * (below.len() as i64 - 1);
    let mut drawn = Drawn {
        height: y,
        rows: Vec::with_capacity(rows.len()),
        texts: vec![text("name", 0, 18, name, "")],
        embeds: Vec::new(),
    };
    for (at, line) in below.into_iter().enumerate() {
        drawn
            .texts
            .push(text("quiet", 0, 35 + at as i64 * BELOW, line, &words));
    }
    // The embedded structs that the walk is in: their last row, where they begin, how deep they are.
    let mut open: Vec<(usize, i64, usize)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        drawn.rows.push(y + ROW / 2 - 1);
        let class = match row.kind {
            FieldKind::Plain => "quiet",
            FieldKind::Reference => "refers",
            FieldKind::Derived => "derived",
        };
        let (name, pieces) = row.pieces(columns);
        let of_name = if row.kind == FieldKind::Derived {
            "derived"
        } else {
            "field"
        };
        let words = if row.words.is_empty() {
            String::new()
        } else {
            format!("{}: {}", row.path, row.words)
        };
        drawn
            .texts
            .push(text(of_name, name.column, y + 12, name.text, &words));
        let mut last = 0;
        for piece in pieces {
            last = last.max(piece.line);
            let y = y + 12 + piece.line as i64 * ROW;
            drawn.texts.push(text(class, piece.column, y, piece.text, &words));
        }
        y += ROW * (last as i64 + 1);
        if row.within > 0 {
            open.push((at + row.within, y, row.depth + 1));
            y += 3;
        }
        while let Some((_, from, depth)) = open.pop_if(|(last, _, _)| *last == at) {
            y += 2;
            drawn.embeds.push((from, y, depth));
            y += 4;
        }
    }
    // The outer ones first, since the inner ones lie on them.
    drawn.embeds.sort_by_key(|(_, _, depth)| *depth);
    drawn.height = y + if rows.is_empty() { 0 } else { PADDING / 2 };
    drawn
}

/// Where the lines end. Those that end at one row stand beside each other, but for those that mean the same there.
fn ends(lines: &[Placed<'_>], drawn: &[Drawn]) -> Vec<(End, End)> {
    let mut ports: Vec<(Place, Vec<(bool, bool)>)> = Vec::new();
    let all = lines.iter().flat_map(|line| {
        [
            (line.from, (line.is_copy(), line.has_two_heads())),
            (line.to, (line.is_copy(), true)),
        ]
    });
    for (end, meaning) in all {
        let known = ports.iter().position(|(known, _)| *known == end);
        let at = known.unwrap_or(ports.len());
        if known.is_none() {
            ports.push((end, Vec::new()));
        }
        if let Some((_, meanings)) = ports.get_mut(at)
            && !meanings.contains(&meaning)
        {
            meanings.push(meaning);
        }
    }
    let place = |end: Place, meaning: (bool, bool)| {
        let meanings = ports.iter().find(|(known, _)| *known == end);
        let (at, of) = meanings.map_or((0, 1), |(_, meanings)| {
            let at = meanings.iter().position(|known| *known == meaning);
            (at.unwrap_or(0), meanings.len())
        });
        let row = end.1.and_then(|row| drawn.get(end.0)?.rows.get(row).copied());
        // Within the height of a row, or of the head.
        let apart = if row.is_some() { 7 } else { 9 };
        let shift = (2 * at as i64 - (of as i64 - 1)) * apart / 2;
        End {
            at: end.0,
            y: row.unwrap_or(20) + shift,
        }
    };
    let both = lines.iter().map(|line| {
        let mut from = place(line.from, (line.is_copy(), line.has_two_heads()));
        let mut to = place(line.to, (line.is_copy(), true));
        if line.from == line.to {
            // With both ends at one place nothing would be seen.
            from.y -= 4;
            to.y += 4;
        }
        (from, to)
    });
    both.collect()
}

fn draw_line(svg: &mut String, line: &Placed<'_>, path: &str) {
    let kind = if line.is_copy() { "copy" } else { "reference" };
    let start = if line.has_two_heads() {
        format!(" marker-start=\"url(#odm-{kind}-head)\"")
    } else {
        String::new()
    };
    let _ = writeln!(
        svg,
        "<path class=\"{kind}\"{start} marker-end=\"url(#odm-{kind}-head)\" d=\"{path}\"><title>{}</title></path>",
        escaped(&line.line.words)
    );
}

/// From box to lane, along it, and to the other box, with round corners.
fn path(wire: &Wire) -> String {
    let Wire {
        from: (x1, y1),
        to: (x2, y2),
        lane,
    } = *wire;
    if y1 == y2 && x1 != x2 {
        return format!("M{x1},{y1} H{x2}");
    }
    let round = ROUND.min((y2 - y1).abs() / 2);
    let down = round * (y2 - y1).signum();
    let (out, back) = (round * (lane - x1).signum(), round * (x2 - lane).signum());
    format!(
        "M{x1},{y1} H{} Q{lane},{y1} {lane},{} V{} Q{lane},{y2} {},{y2} H{x2}",
        lane - out,
        y1 + down,
        y2 - down,
        lane + back,
    )
}

fn draw_box(svg: &mut String, drawn: &Drawn, rect: Rect) {
    let Rect { x, y, width, height } = rect;
    let _ = writeln!(
        svg,
        "<rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
    );
    for (from, to, depth) in &drawn.embeds {
        let left = x + PADDING + pixels(depth * 2) - 6;
        let right = x + width - 4 - 3 * (*depth as i64 - 1);
        let _ = writeln!(
            svg,
            "<rect class=\"embed\" x=\"{left}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>",
            y + from,
            right - left,
            to - from
        );
    }
    for text in &drawn.texts {
        let words = match text.words.as_str() {
            "" => String::new(),
            words => format!("<title>{}</title>", escaped(words)),
        };
        let _ = writeln!(
            svg,
            "<text class=\"{}\" x=\"{}\" y=\"{}\">{words}{}</text>",
            text.class,
            x + PADDING + pixels(text.column),
            y + text.y,
            escaped(&text.text)
        );
    }
}

/// The meaning of the kinds of lines and text that the picture has.
struct Legend {
    reference: bool,
    copy: bool,
    derived: bool,
}

impl Legend {
    fn of(drawn: &[Drawn], lines: &[Placed<'_>]) -> Legend {
        let mut texts = drawn.iter().flat_map(|drawn| &drawn.texts);
        Legend {
            reference: lines.iter().any(|line| !line.is_copy()),
            copy: lines.iter().any(|line| line.is_copy()),
            derived: texts.any(|text| text.class == "derived"),
        }
    }

    fn is_empty(&self) -> bool {
        !self.reference && !self.copy && !self.derived
    }

    /// What stands in it: the class of a line, if it has one, that of the text, and the text.
    fn entries(&self) -> Vec<(Option<&'static str>, &'static str, &'static str)> {
        let all = [
            (self.reference, Some("reference"), "quiet", "reference"),
            (self.copy, Some("copy"), "quiet", "copied or computed"),
            (self.derived, None, "derived", "written by the library"),
        ];
        let there = all.into_iter().filter(|(there, ..)| *there);
        there.map(|(_, line, class, text)| (line, class, text)).collect()
    }

    fn width(&self) -> i64 {
        let entries = self.entries();
        let width = |(line, _, text): &(Option<&str>, &str, &str)| {
            pixels(text.len()) + if line.is_some() { SAMPLE + 8 } else { 0 }
        };
        let gaps = (entries.len() as i64 - 1).max(0) * 20;
        if entries.is_empty() {
            return 0;
        }
        entries.iter().map(width).sum::<i64>() + gaps + 2 * MARGIN
    }

    fn draw(&self, svg: &mut String, top: i64) {
        let mut x = MARGIN;
        let y = top + 8;
        for (line, class, text) in self.entries() {
            if let Some(kind) = line {
                let to = x + SAMPLE;
                let _ = writeln!(
                    svg,
                    "<path class=\"{kind}\" marker-end=\"url(#odm-{kind}-head)\" d=\"M{x},{} H{to}\"/>",
                    y - 4
                );
                x = to + 8;
            }
            let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
            x += pixels(text.len()) + 20;
        }
    }
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
