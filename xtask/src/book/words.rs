//! How long the guide is: its words, its pages, its samples and the cells of its tables.
//!
//! Words are those of prose and tables. Code is not counted, and neither are the addresses of links.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::links::Fault;

/// The most words of all pages.
const WORDS: usize = 48_000;
/// The most pages.
const PAGES: usize = 60;
/// The most lines of a sample that a reader sees.
const LINES: usize = 30;
/// The most words in a cell of a table.
const CELL: usize = 40;

/// The length of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Length {
    pub words: usize,
    /// The line where each sample with more than [`LINES`] visible lines begins, and their number.
    pub long_samples: Vec<(usize, usize)>,
    /// The line of each row with a cell of more than [`CELL`] words, and their number.
    pub long_cells: Vec<(usize, usize)>,
    /// Whether a sample calls `insert`.
    pub inserts: bool,
}

impl Length {
    pub fn of(page: &str) -> Self {
        let mut length = Self::default();
        let mut sample: Option<(usize, &str, usize)> = None;
        for (line, text) in page.lines().enumerate().map(|(at, text)| (at + 1, text.trim())) {
            match (&mut sample, text.strip_prefix("```")) {
                (None, Some(language)) => sample = Some((line, language, 0)),
                (Some((begin, _, lines)), Some(_)) => {
                    if *lines > LINES {
                        length.long_samples.push((*begin, *lines));
                    }
                    sample = None;
                }
                (Some((_, language, lines)), None) => {
                    length.inserts |= text.contains(".insert(");
                    let is_hidden = language.starts_with("rust") && (text == "#" || text.starts_with("# "));
                    *lines += usize::from(!is_hidden);
                }
                (None, None) => length.prose(line, text),
            }
        }
        length
    }

    fn prose(&mut self, line: usize, text: &str) {
        if text.starts_with("<!--") {
            return;
        }
        let text = without_addresses(text);
        self.words += words(&text);
        if text.starts_with('|') {
            let cells = text.replace("\\|", "");
            let most = cells.split('|').map(words).max().unwrap_or_default();
            if most > CELL {
                self.long_cells.push((line, most));
            }
        }
    }
}

fn words(text: &str) -> usize {
    text.split(|c: char| c.is_whitespace() || c == '|')
        .filter(|word| word.contains(char::is_alphanumeric))
        .count()
}

/// `[text](address)` as `[text]`.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("](");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push(']');
        kept.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    kept
}

/// The pages in the order of the table of contents: their paths from `src`.
fn contents(summary: &str) -> impl Iterator<Item = &str> {
    summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
}

/// The length of the guide in a line, and what is too long.
pub fn measure(src: &Path) -> Result<(String, Vec<Fault>)> {
    let read = |name: &str| {
        let path = src.join(name);
        fs::read_to_string(&path).with_context(|| format!("{} can't be read", path.display()))
    };
    let (mut pages, mut total, mut first_insert) = (0, 0, None);
    let mut faults = Vec::new();
    for name in contents(&read("SUMMARY.md")?) {
        let length = Length::of(&read(name)?);
        pages += 1;
        if length.inserts && first_insert.is_none() {
            first_insert = Some((pages, total));
        }
        total += length.words;
        let long_samples = length.long_samples.iter().map(|(line, lines)| {
            (
                line,
                format!("a sample of {lines} visible lines, at most {LINES}"),
            )
        });
        let long_cells = length
            .long_cells
            .iter()
            .map(|(line, words)| (line, format!("a cell of {words} words, at most {CELL}")));
        faults.extend(
            long_samples
                .chain(long_cells)
                .map(|(line, what)| Fault::new(format!("{name}:{line}"), what)),
        );
    }
    if total > WORDS || pages > PAGES {
        let what = format!("{total} words on {pages} pages, at most {WORDS} on {PAGES}");
        faults.push(Fault::new("SUMMARY.md", what));
    }
    let insert = first_insert.map_or("no page inserts a document".to_owned(), |(page, words)| {
        format!("the first insert is on page {page}, after {words} words")
    });
    Ok((
        format!("length: {total} words on {pages} pages; {insert}"),
        faults,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_prose_and_tables() {
        let page = "# A title\n\n[One two](a.md#b-c) – three.\n\n| a | `b c` |\n| --- | --- |\n\n```rust\nlet code = 1;\n```\n\
                    <!-- no word -->\n";
        let length = Length::of(page);
        assert_eq!((length.words, length.inserts), (8, false));
        assert!(Length::of("```rust\npeople.insert(one).await?;\n```\n").inserts);
    }

    #[test]
    fn long_samples_and_cells_are_found() {
        let hidden = "# let hidden = 1;\n".repeat(LINES);
        let lines = "let shown = 1;\n".repeat(LINES);
        let cell = "word ".repeat(CELL + 1);
        let page = format!("```rust\n{hidden}{lines}```\n\n```rust\n{lines}{lines}```\n\n| a | {cell}|\n");
        let length = Length::of(&page);
        let begin = page.lines().position(|line| line.is_empty()).unwrap_or_default() + 2;
        assert_eq!(length.long_samples, [(begin, 2 * LINES)]);
        assert_eq!(length.long_cells.len(), 1);
    }

    #[test]
    fn the_order_is_that_of_the_contents() {
        let summary = "# Summary\n\n[Introduction](a.md)\n\n- [B](deep/b.md)\n";
        assert_eq!(Vec::from_iter(contents(summary)), ["a.md", "deep/b.md"]);
    }
}
