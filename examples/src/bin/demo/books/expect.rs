//! The expected results, counted in the lines of the file by plain code that knows nothing of the library.

use super::file::Line;
use super::model::{BookId, bounds};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What becomes of each line.
pub struct Expected {
    /// The lines that are stored.
    pub kept: Vec<Line>,
    /// The stored names of the fields that break a bound, by the position of the line.
    pub broken: BTreeMap<usize, BTreeSet<&'static str>>,
    /// The book that has the ISBN already, by the position of the line.
    pub doubled: BTreeMap<usize, BookId>,
}

impl Expected {
    pub fn of(lines: &[Line]) -> Result<Expected> {
        let mut expected = Expected {
            kept: Vec::new(),
            broken: BTreeMap::new(),
            doubled: BTreeMap::new(),
        };
        let mut isbns: HashMap<&str, BookId> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            let broken = broken(line);
            if !broken.is_empty() {
                expected.broken.insert(at, broken);
                continue;
            }
            if let Some(isbn) = &line.isbn {
                if let Some(first) = isbns.get(isbn.as_str()) {
                    expected.doubled.insert(at, first.clone());
                    continue;
                }
                isbns.insert(isbn, line.id()?);
            }
            expected.kept.push(line.clone());
        }
        Ok(expected)
    }

    /// How many of the stored books satisfy a condition.
    pub fn count(&self, condition: impl Fn(&Line) -> bool) -> u64 {
        self.kept.iter().filter(|line| condition(line)).count() as u64
    }

    /// How many books each value has, of a field with several: the most frequent first, then by name.
    pub fn ranking<'a>(&'a self, values: impl Fn(&'a Line) -> &'a [String]) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for value in self.kept.iter().flat_map(values) {
            *counts.entry(value).or_default() += 1;
        }
        let mut ranking: Vec<(String, u64)> = counts
            .into_iter()
            .map(|(value, n)| (value.to_owned(), n))
            .collect();
        ranking.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        ranking
    }
}

fn broken(line: &Line) -> BTreeSet<&'static str> {
    let length = |text: &String| text.chars().count();
    let longer = |text: &Option<String>, max: usize| text.as_ref().is_some_and(|text| length(text) > max);
    let rules = [
        (
            "title",
            line.title.is_empty() || length(&line.title) > bounds::TITLE,
        ),
        (
            "isbn",
            line.isbn
                .as_ref()
                .is_some_and(|isbn| !bounds::ISBN.contains(&length(isbn))),
        ),
        ("pageCount", !bounds::PAGES.contains(&line.page_count)),
        ("thumbnailUrl", longer(&line.thumbnail_url, bounds::URL)),
        ("shortDescription", longer(&line.short_description, bounds::SHORT)),
        ("longDescription", longer(&line.long_description, bounds::LONG)),
        (
            "authors",
            line.authors.len() > bounds::AUTHORS
                || line.authors.iter().any(|name| length(name) > bounds::AUTHOR),
        ),
        (
            "categories",
            line.categories.len() > bounds::CATEGORIES
                || line.categories.iter().any(|name| length(name) > bounds::CATEGORY),
        ),
    ];
    rules
        .into_iter()
        .filter(|(_, broken)| *broken)
        .map(|(name, _)| name)
        .collect()
}
