//! The words that people type into the search of the guide, and the pages that have to be found by them.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::links::Fault;

/// A page has to be among this many results: those that are on the screen without scrolling.
const FIRST: usize = 5;

/// The list, under the folder of the book.
pub const FILE: &str = "search-words.txt";

/// Words, and the pages of which one has to be among the first results.
#[derive(Debug, PartialEq, Eq)]
pub struct Expectation {
    pub words: String,
    line: usize,
    /// Without their extension.
    pages: Vec<String>,
}

/// Reads a list of lines such as `pagination = querying, designs/pages`; `#` begins a comment.
pub fn expectations(text: &str) -> Result<Vec<Expectation>> {
    let mut expectations = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((words, pages)) = line.split_once('=') else {
            bail!("{FILE}:{}: `{line}` has no `=`", number + 1);
        };
        let pages: Vec<String> = pages.split(',').map(|page| page.trim().to_owned()).collect();
        let words = words.trim().to_owned();
        if words.is_empty() || pages.iter().any(String::is_empty) {
            bail!("{FILE}:{}: `{line}` lacks words or a page", number + 1);
        }
        expectations.push(Expectation {
            words,
            line: number + 1,
            pages,
        });
    }
    Ok(expectations)
}

impl Expectation {
    fn fault(&self, what: String) -> Fault {
        Fault::new(format!("{FILE}:{}", self.line), what)
    }

    /// The fault of the expectation itself: a page that the book does not have.
    pub fn unknown(&self, has_page: impl Fn(&Path) -> bool) -> Vec<Fault> {
        let unknown = self.pages.iter().filter(|page| !has_page(&file(page)));
        unknown
            .map(|page| self.fault(format!("the book has no page {page}.md")))
            .collect()
    }

    /// The fault of the results, which are links relative to the root of the book.
    pub fn unmet(&self, results: &[String]) -> Option<Fault> {
        let found: Vec<&str> = results.iter().take(FIRST).map(|link| page(link)).collect();
        if self.pages.iter().any(|page| found.contains(&page.as_str())) {
            return None;
        }
        let wanted = self.pages.join(" or ");
        let found = match found.as_slice() {
            [] => "nothing".to_owned(),
            found => found.join(", "),
        };
        let words = &self.words;
        Some(self.fault(format!(
            "a search for `{words}` finds {found}: {wanted} is not among the first {FIRST} results"
        )))
    }
}

fn file(page: &str) -> PathBuf {
    PathBuf::from(format!("{page}.html"))
}

/// The page that a result leads to, without its extension.
fn page(link: &str) -> &str {
    let path = link.split(['?', '#']).next().unwrap_or_default();
    path.strip_suffix(".html").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Expectation> {
        match expectations(text)?.pop() {
            Some(expectation) => Ok(expectation),
            None => bail!("nothing in {text}"),
        }
    }

    #[test]
    fn a_line_holds_words_and_pages() -> Result<()> {
        let text = "# comment\n\nN+1 = joins\ndefault value = schema , designs/split\n";
        let read = expectations(text)?;
        let words: Vec<&str> = read.iter().map(|read| read.words.as_str()).collect();
        assert_eq!(words, ["N+1", "default value"]);
        assert_eq!(read[1].pages, ["schema", "designs/split"]);
        assert_eq!(read[1].line, 4);
        for wrong in ["joins", "= joins", "N+1 =", "N+1 = a,,b"] {
            let message = expectations(wrong)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            assert!(message.contains("search-words.txt:1"), "{wrong}: {message}");
        }
        Ok(())
    }

    #[test]
    fn one_of_the_pages_among_the_first_results_will_do() -> Result<()> {
        let wanted = one("split = a, deep/b")?;
        let link = |page: &str| format!("{page}.html?highlight=split#section");
        assert_eq!(wanted.unmet(&[link("c"), link("deep/b")]), None);
        let late: Vec<String> = ["1", "2", "3", "4", "5", "a"].map(link).to_vec();
        let message = wanted.unmet(&late).map(|fault| fault.to_string());
        assert_eq!(
            message.as_deref(),
            Some(
                "search-words.txt:1: a search for `split` finds 1, 2, 3, 4, 5: a or deep/b is not among the first 5 results"
            )
        );
        let nothing = wanted.unmet(&[]).map(|fault| fault.what).unwrap_or_default();
        assert!(nothing.contains("finds nothing"), "{nothing}");
        Ok(())
    }

    #[test]
    fn a_page_that_is_not_in_the_book_is_named() -> Result<()> {
        let wanted = one("split = a, deep/b")?;
        let faults = wanted.unknown(|page| page == Path::new("a.html"));
        assert_eq!(
            faults,
            [Fault::new("search-words.txt:1", "the book has no page deep/b.md")]
        );
        Ok(())
    }

    #[test]
    fn the_list_of_the_guide_can_be_read() -> Result<()> {
        let path = crate::workspace::root().join("book").join(FILE);
        assert!(!expectations(&std::fs::read_to_string(path)?)?.is_empty());
        Ok(())
    }
}
