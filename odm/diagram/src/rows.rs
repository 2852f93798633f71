//! The rows of a box: its fields, broken into lines that fit.

use crate::{Field, FieldKind};

/// The names of fields that stand beside each other take no more columns than this before the types begin.
const NAMES: usize = 20;
/// A type that would have fewer columns than this begins on a line of its own.
const NARROW: usize = 20;

/// A field of a box.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Its path.
    pub(crate) path: String,
    pub(crate) name: String,
    /// Its type, or what it refers to or is derived from.
    pub(crate) text: String,
    /// The same in whole words, where there is more to say.
    pub(crate) words: String,
    pub(crate) kind: FieldKind,
    /// How deep it is embedded.
    pub(crate) depth: usize,
    /// How many of the rows below it are embedded in it.
    pub(crate) within: usize,
    /// The column at which its type begins.
    column: usize,
}

/// A piece of text in a row: its line, its column, and itself.
#[derive(Debug, PartialEq)]
pub(crate) struct Piece {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) text: String,
}

/// How many columns of text the rows of a box want.
pub(crate) fn wanted(rows: &[Row]) -> usize {
    let rows = rows.iter().map(|row| row.column + width(&row.text));
    rows.max().unwrap_or(0)
}

impl Row {
    /// The name and the text in at most this number of columns: broken between words; a word that is too long is cut.
    pub(crate) fn pieces(&self, columns: usize) -> (Piece, Vec<Piece>) {
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

/// The rows of a box, with those that are embedded behind the field that holds them.
pub(crate) fn rows(fields: &[Field]) -> Vec<Row> {
    let mut rows = Vec::new();
    add(fields, "", 0, &mut rows);
    rows
}

fn add(fields: &[Field], prefix: &str, depth: usize, rows: &mut Vec<Row>) {
    let names = fields.iter().map(|field| width(&field.name));
    let names = names.filter(|name| *name <= NAMES).max().unwrap_or(0);
    for field in fields {
        let path = format!("{prefix}{}", field.name);
        let at = rows.len();
        rows.push(Row {
            column: depth * 2 + names.max(width(&field.name)) + 2,
            name: field.name.clone(),
            text: field.text.clone(),
            words: field.words.clone(),
            kind: field.kind,
            depth,
            within: 0,
            path: path.clone(),
        });
        add(&field.fields, &format!("{path}."), depth + 1, rows);
        let within = rows.len() - at - 1;
        if let Some(row) = rows.get_mut(at) {
            row.within = within;
        }
    }
}

/// How many columns a text takes: what is not ASCII may be twice as wide, but for the signs of the rows.
pub(crate) fn width(text: &str) -> usize {
    let columns = text.chars().map(|c| match c {
        '→' | '≤' | '≥' | '…' => 1,
        c if c.is_ascii() => 1,
        _ => 2,
    });
    columns.sum()
}

/// As much of a text as fits, with an ellipsis for the rest.
pub(crate) fn cut(text: &str, columns: usize) -> String {
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
pub(crate) fn broken(text: &str, columns: usize) -> Vec<String> {
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
            kind: FieldKind::Plain,
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
