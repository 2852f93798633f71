//! The checks of a built book that need a browser: the look of its pages, and the results of a search.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;
use url::Url;

use super::browser::Browser;
use super::links::{Built, Fault};
use super::search::Expectation;

const PROBE: &str = include_str!("probe.js");
const CONTRAST: &str = include_str!("contrast.js");
const SEARCH: &str = include_str!("search.js");

/// The height says nothing about a page; it decides only how much a picture of the screen shows.
const HEIGHT: u32 = 1600;
const DESKTOP: u32 = 1280;
const PHONE: u32 = 390;

/// Text has to stand out from its background by this ratio (WCAG 2.2, level AA).
const LEAST_CONTRAST: f64 = 4.5;

/// The page on which the search is used.
const INDEX: &str = "index.html";
/// All pages on one, for printing: what is wrong with its content is wrong with another page.
const PRINTED: &str = "print.html";

/// Which pages are looked at, and what is kept of them.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Pages by their path without extension; all of them if there is none.
    pub only: Vec<String>,
    /// The folder for pictures of the screen.
    pub screenshots: Option<PathBuf>,
}

/// The result of a look.
#[derive(Debug, Default)]
pub struct Seen {
    pub pages: usize,
    pub blocks: usize,
    /// Code blocks that are scrolled sideways on a phone.
    pub cut_on_phone: usize,
    pub themes: Vec<String>,
    pub searches: usize,
    pub faults: Vec<Fault>,
}

/// What `probe.js` returns.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Probe {
    rendered: bool,
    overflow: Vec<String>,
    title_cut: bool,
    code: Vec<Block>,
    tables: Vec<String>,
    pictures: Vec<String>,
    samples: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Block {
    cut: bool,
    columns: usize,
    longest: String,
}

/// What `contrast.js` returns for a theme.
#[derive(Debug, Deserialize)]
struct Theme {
    theme: String,
    faults: Vec<Faint>,
}

#[derive(Debug, Deserialize)]
struct Faint {
    colors: String,
    ratio: f64,
    text: String,
    times: usize,
}

/// Looks at the pages of a book, whose Markdown is in the folder `sources`.
pub async fn look(
    browser: &mut Browser,
    built: &Built,
    sources: &Path,
    searches: &[Expectation],
    options: &Options,
) -> Result<Seen> {
    let mut seen = Seen::default();
    if let Some(folder) = &options.screenshots {
        fs::create_dir_all(folder).with_context(|| format!("{} can't be made", folder.display()))?;
    }
    for page in built.pages() {
        // mdBook writes the first chapter a second time, as the index.
        if page == Path::new(INDEX) && !sources.join("index.md").is_file() {
            continue;
        }
        let name = page.with_extension("").display().to_string();
        if !options.only.is_empty() && !options.only.contains(&name) {
            continue;
        }
        let markdown = fs::read_to_string(sources.join(page.with_extension("md"))).ok();
        let mut looker = Looker {
            browser: &mut *browser,
            url: address(built, page)?,
            markdown,
            page,
            seen: &mut seen,
        };
        looker.page(&name, options.screenshots.as_deref()).await?;
    }
    if options.only.is_empty() && !searches.is_empty() {
        search(browser, built, searches, &mut seen).await?;
    }
    let mut known = BTreeSet::new();
    seen.faults.retain(|fault| known.insert(fault.clone()));
    Ok(seen)
}

fn address(built: &Built, page: &Path) -> Result<String> {
    let path = built.root().join(page);
    let url = Url::from_file_path(&path).map_err(|()| anyhow!("{} is no address", path.display()))?;
    Ok(url.into())
}

struct Looker<'a> {
    browser: &'a mut Browser,
    url: String,
    markdown: Option<String>,
    page: &'a Path,
    seen: &'a mut Seen,
}

impl Looker<'_> {
    async fn page(&mut self, name: &str, screenshots: Option<&Path>) -> Result<()> {
        self.seen.pages += 1;
        let desktop = self.probe(DESKTOP).await?;
        if !desktop.rendered {
            self.fault("the page has no heading and no text".to_owned());
            return Ok(());
        }
        if self.page == Path::new(PRINTED) {
            return Ok(());
        }
        self.judge(&desktop, DESKTOP);
        for what in desktop.pictures.into_iter().chain(desktop.samples) {
            self.fault(what);
        }
        self.seen.blocks += desktop.code.len();
        for block in desktop.code.iter().filter(|block| block.cut) {
            let what = format!(
                "code is cut at {DESKTOP} pixels: {} columns, `{:.40}`",
                block.columns, block.longest
            );
            self.seen
                .faults
                .push(Fault::new(self.place(&block.longest), what));
        }
        for table in desktop.tables {
            self.fault(format!("a table is cut at {DESKTOP} pixels: {table}"));
        }
        if let Some(folder) = screenshots {
            self.screenshots(folder, name, DESKTOP).await?;
        }
        self.contrast().await?;

        let phone = self.probe(PHONE).await?;
        self.judge(&phone, PHONE);
        self.seen.cut_on_phone += phone.code.iter().filter(|block| block.cut).count();
        if let Some(folder) = screenshots {
            self.screenshots(folder, name, PHONE).await?;
        }
        Ok(())
    }

    /// Opens the page on a screen of this width.
    async fn probe(&mut self, width: u32) -> Result<Probe> {
        self.browser.resize(width, HEIGHT).await?;
        self.browser.open(&self.url).await?;
        let probe = self.browser.evaluate(&format!("({PROBE}\n)({width})")).await;
        let probe = probe.with_context(|| self.url.clone())?;
        for problem in self.browser.problems() {
            self.fault(problem);
        }
        Ok(probe)
    }

    fn judge(&mut self, probe: &Probe, width: u32) {
        for wide in &probe.overflow {
            self.fault(format!("wider than {width} pixels: {wide}"));
        }
        if probe.title_cut {
            self.fault(format!("the title of the book is cut at {width} pixels"));
        }
    }

    async fn contrast(&mut self) -> Result<()> {
        for Theme { theme, faults } in contrast(self.browser).await? {
            for faint in faults {
                self.fault(faint.what(&theme));
            }
            if !self.seen.themes.contains(&theme) {
                self.seen.themes.push(theme);
            }
        }
        Ok(())
    }

    async fn screenshots(&mut self, folder: &Path, name: &str, width: u32) -> Result<()> {
        for theme in ["light", "navy"] {
            let click = format!("document.getElementById('mdbook-theme-{theme}')?.click()");
            let _: Option<()> = self.browser.evaluate(&click).await?;
            let file = format!("{}-{width}-{theme}.png", name.replace('/', "-"));
            fs::write(folder.join(file), self.browser.screenshot().await?)?;
        }
        Ok(())
    }

    fn fault(&mut self, what: String) {
        let place = self.place("");
        self.seen.faults.push(Fault::new(place, what));
    }

    /// The Markdown of the page, with the line that holds `text`.
    fn place(&self, text: &str) -> String {
        let Some(markdown) = &self.markdown else {
            return self.page.display().to_string();
        };
        let page = self.page.with_extension("md");
        match line_of(markdown, text) {
            Some(line) => format!("{}:{line}", page.display()),
            None => page.display().to_string(),
        }
    }
}

impl Faint {
    fn what(&self, theme: &str) -> String {
        let Self {
            colors,
            ratio,
            text,
            times,
        } = self;
        format!("contrast {ratio:.2} in the theme {theme}: {colors}, {times} times, first in `{text}`")
    }
}

async fn contrast(browser: &mut Browser) -> Result<Vec<Theme>> {
    browser
        .evaluate(&format!("({CONTRAST}\n)({LEAST_CONTRAST})"))
        .await
}

async fn search(
    browser: &mut Browser,
    built: &Built,
    searches: &[Expectation],
    seen: &mut Seen,
) -> Result<()> {
    let place = INDEX;
    browser.resize(DESKTOP, HEIGHT).await?;
    browser.open(&address(built, Path::new(place))?).await?;
    let words: Vec<&str> = searches.iter().map(|search| search.words.as_str()).collect();
    let words = serde_json::to_string(&words)?;
    let results: Vec<Vec<String>> = browser.evaluate(&format!("({SEARCH}\n)({words})")).await?;
    seen.searches = results.len();
    for (search, results) in searches.iter().zip(&results) {
        seen.faults.extend(search.unmet(results));
    }
    // The results of the last search are still there.
    for Theme { theme, faults } in contrast(browser).await? {
        let faults = faults.iter().map(|faint| faint.what(&theme));
        seen.faults
            .extend(faults.map(|what| Fault::new("the results of a search", what)));
    }
    let problems = browser.problems().into_iter();
    seen.faults.extend(problems.map(|what| Fault::new(place, what)));
    Ok(())
}

/// The number of the first line that holds `text`.
fn line_of(markdown: &str, text: &str) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    let at = markdown.lines().position(|line| line.contains(text))?;
    Some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_text() {
        let markdown = "# Title\n\n```rust\nlet a = 1;\n```\n";
        assert_eq!(line_of(markdown, "let a = 1;"), Some(4));
        assert_eq!(line_of(markdown, "let b = 1;"), None);
        assert_eq!(line_of(markdown, ""), None);
    }
}
