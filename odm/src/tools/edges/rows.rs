//! The rows of a box: the fields of a document, broken into lines that fit.

use crate::tools::edges::{CopyEdge, CopyKind, DocumentNode, Edges, FieldNode, ReferenceEdge, ReferenceKind};

/// The names of fields that stand beside each other take no more columns than this before the types begin.
const NAMES: usize = 20;
/// A type that would have fewer columns than this begins on a line of its own.
const NARROW: usize = 20;

/// The subject of a row, which its colour says, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A field that the application writes.
    Plain,
    /// A reference.
    Reference,
    /// A field that the library writes.
    Derived,
}

/// A field of a document.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Its stored path.
    pub(super) path: String,
    pub(super) name: String,
    /// Its type, or what it refers to or is derived from.
    pub(super) text: String,
    /// The same in whole words, where there is more to say.
    pub(super) words: String,
    pub(super) kind: Kind,
    /// How deep it is embedded.
    pub(super) depth: usize,
    /// How many of the rows below it are embedded in it.
    pub(super) within: usize,
    /// The column at which its type begins.
    column: usize,
}

/// A piece of text in a row: its line, its column, and itself.
#[derive(Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) text: String,
}

/// How many columns of text the rows of a box want.
pub(super) fn wanted(rows: &[Row]) -> usize {
    let rows = rows.iter().map(|row| row.column + width(&row.text));
    rows.max().unwrap_or(0)
}

impl Row {
    /// The name and the text in at most this number of columns: broken between words; a word that is too long is cut.
    pub(super) fn pieces(&self, columns: usize) -> (Piece, Vec<Piece>) {
        let indent = self.indent();
        let name = Piece {
            line: 0,
            column: indent,
            text: cut(&self.name, columns.saturating_sub(indent)),
        };
        let below = self.column + NARROW > columns && self.column + width(&self.text) > columns;
        let (first, column) = if below { (1, indent + 2) } else { (0, self.column) };
        let room = columns.saturating_sub(column).max(1);
        let lines = broken(&self.text, room).into_iter().enumerate();
        let pieces = lines.map(|(at, text)| Piece {
            line: first + at,
            column,
            text,
        });
        (name, pieces.collect())
    }

    /// How many columns it is indented.
    fn indent(&self) -> usize {
        self.depth * 2
    }
}

impl Edges {
    pub(super) fn rows(&self, document: &DocumentNode) -> Vec<Row> {
        let mut rows = Vec::new();
        self.add(document, &document.fields, "", 0, false, &mut rows);
        rows
    }

    fn add(
        &self,
        document: &DocumentNode,
        fields: &[FieldNode],
        prefix: &str,
        depth: usize,
        derived: bool,
        rows: &mut Vec<Row>,
    ) {
        let names = fields.iter().map(|field| width(&field.name));
        let names = names.filter(|name| *name <= NAMES).max().unwrap_or(0);
        for field in fields {
            let path = format!("{prefix}{}", field.name);
            let reference = self.references_of(document).find(|edge| edge.field == path);
            let copy = self.copies_of(document).find(|edge| edge.field == path);
            let (text, words, kind) = match (reference, copy) {
                (Some(edge), _) => (edge.row(), edge.to_string(), Kind::Reference),
                (None, Some(edge)) => (edge.row(&field.shape), edge.to_string(), Kind::Derived),
                (None, None) if derived || field.by_library => {
                    (field.shape.clone(), String::new(), Kind::Derived)
                }
                (None, None) => (field.shape.clone(), String::new(), Kind::Plain),
            };
            let at = rows.len();
            rows.push(Row {
                column: depth * 2 + names.max(width(&field.name)) + 2,
                name: field.name.clone(),
                text,
                words,
                kind,
                depth,
                within: 0,
                path: path.clone(),
            });
            // How a number is stored is not shown: what it is a number of is.
            let computed = copy.is_some_and(|edge| matches!(edge.kind, CopyKind::Computed { .. }));
            if !computed {
                let below = format!("{path}.");
                let derived = derived || kind == Kind::Derived;
                self.add(document, &field.fields, &below, depth + 1, derived, rows);
            }
            let within = rows.len() - at - 1;
            if let Some(row) = rows.get_mut(at) {
                row.within = within;
            }
        }
    }
}

impl ReferenceEdge {
    /// `[→ tasks] ≤ 500, on_delete = cascade`.
    fn row(&self) -> String {
        let by = match self.by {
            "_id" => String::new(),
            by => format!(".{by}"),
        };
        let target = format!("→ {}{by}", self.targets.join(" | "));
        let mut text = match self.kind {
            ReferenceKind::Many => format!("[{target}]"),
            _ => target,
        };
        if self.optional {
            text.push('?');
        }
        if let Some(max) = self.max {
            text.push_str(&format!(" ≤ {max}"));
        }
        if self.only {
            text.push_str(", unique");
        }
        text + &self.rule()
    }
}

impl CopyEdge {
    /// `= parts.name`, `first 10 of reviews by -date`, `avg(reviews.stars)`.
    fn row(&self, shape: &str) -> String {
        let (what, filtered) = match &self.kind {
            CopyKind::Field { source, .. } => (format!("= {}.{source}", self.source), false),
            CopyKind::Subset {
                limit,
                last,
                order,
                fields,
                filtered,
                ..
            } => {
                let end = if *last { "last" } else { "first" };
                let what = if shape.starts_with('[') {
                    format!("[{end} {limit} of {} by {order}]", self.source)
                } else {
                    // A field of one child.
                    format!("{end}({}.{}) by {order}", self.source, fields.join(", "))
                };
                (what, *filtered)
            }
            CopyKind::Computed {
                operation,
                of,
                filtered,
                ..
            } => {
                let of = of.map(|of| format!(".{of}")).unwrap_or_default();
                (format!("{operation}({}{of})", self.source), *filtered)
            }
        };
        let condition = if filtered { ", if it matches" } else { "" };
        format!("{what}{condition}{}", self.mode())
    }
}

/// How many columns a text takes: what is not ASCII may be twice as wide, but for the signs of the rows.
pub(super) fn width(text: &str) -> usize {
    let columns = text.chars().map(|c| match c {
        '→' | '≤' | '≥' | '…' => 1,
        c if c.is_ascii() => 1,
        _ => 2,
    });
    columns.sum()
}

/// As much of a text as fits, with an ellipsis for the rest.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| {
        let own = width(c.encode_utf8(&mut [0; 4]));
        let fits = own <= left;
        left = left.saturating_sub(own);
        fits
    };
    let mut cut: String = text.chars().take_while(fits).collect();
    cut.push('…');
    cut
}

/// A text in lines of at most this number of columns. `on_delete = cascade` and `by -date` stay together.
pub(super) fn broken(text: &str, columns: usize) -> Vec<String> {
    const TOGETHER: char = '\u{a0}';
    let text = text.replace(" = ", "\u{a0}=\u{a0}").replace(" by ", " by\u{a0}");
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let word = &word.replace(TOGETHER, " ");
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && width(line) + 1 + width(word) > columns {
            lines.push(cut(word, columns));
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&cut(word, columns));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(
            broken("→ products, on_delete = cascade", 20),
            ["→ products,", "on_delete = cascade"]
        );
        assert_eq!(
            broken("[first 10 of reviews by -date]", 40),
            ["[first 10 of reviews by -date]"]
        );
        assert_eq!(broken("unbreakable", 6), ["unbre…"]);
        assert_eq!(broken("", 6), [""]);
    }

    #[test]
    fn what_is_cut_fits() {
        assert_eq!(cut("comments", 8), "comments");
        assert_eq!(cut("comments", 7), "commen…");
        assert_eq!(cut("äöü", 5), "äö…");
        assert_eq!(cut("äöü", 4), "ä…");
        assert_eq!(cut("x", 0), "…");
    }

    #[test]
    fn a_type_without_room_stands_below_its_name() {
        let row = Row {
            path: "a.b".into(),
            name: "published_date".into(),
            text: "[string ≤ 60] ≤ 6".into(),
            words: String::new(),
            kind: Kind::Plain,
            depth: 1,
            within: 0,
            column: 18,
        };
        let (name, wide) = row.pieces(40);
        assert_eq!((name.line, name.column), (0, 2));
        assert_eq!((wide[0].line, wide[0].column, wide.len()), (0, 18, 1));
        let (_, narrow) = row.pieces(24);
        assert_eq!((narrow[0].line, narrow[0].column, narrow.len()), (1, 4, 1));
    }
}
