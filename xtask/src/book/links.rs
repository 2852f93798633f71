//! The checks of a built book that need no browser: every link and anchor leads somewhere, and no page loads
//! anything from another place than the book.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use url::Url;

use super::html::{Html, Link, loaded_by_style};

/// Where the reference documentation of a release is.
const DOCUMENTATION: &str = "https://docs.rs/mongodb-odm/latest/odm/";

/// Something on a page that a reader would stumble over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The file, with the line where that is known.
    pub place: String,
    pub what: String,
}

impl Fault {
    pub fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        let (place, what) = (place.into(), what.into());
        Self { place, what }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// A book as mdBook has written it.
#[derive(Debug)]
pub struct Built {
    root: PathBuf,
    /// Pages, pictures and their links, by the path under the root.
    documents: BTreeMap<PathBuf, Html>,
    styles: BTreeMap<PathBuf, Vec<String>>,
}

impl Built {
    pub fn read(root: &Path) -> Result<Self> {
        let root = root
            .canonicalize()
            .with_context(|| format!("{} can't be read", root.display()))?;
        let mut built = Self {
            documents: BTreeMap::new(),
            styles: BTreeMap::new(),
            root,
        };
        let mut folders = vec![built.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let relative = path.strip_prefix(&built.root)?.to_owned();
                match path.extension().and_then(OsStr::to_str) {
                    Some("html" | "svg") => {
                        built
                            .documents
                            .insert(relative, Html::read(&fs::read_to_string(&path)?));
                    }
                    Some("css") => {
                        built
                            .styles
                            .insert(relative, loaded_by_style(&fs::read_to_string(&path)?));
                    }
                    _ => {}
                }
            }
        }
        Ok(built)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The pages that a reader opens: all but the table of contents in a frame, the page for what is not found, and those
    /// that lead to another.
    pub fn pages(&self) -> impl Iterator<Item = &Path> {
        self.documents
            .iter()
            .filter(|(path, html)| {
                path.extension() == Some(OsStr::new("html"))
                    && !html.redirects
                    && ![Path::new("404.html"), Path::new("toc.html")].contains(&path.as_path())
            })
            .map(|(path, _)| path.as_path())
    }

    pub fn has_page(&self, path: &Path) -> bool {
        self.documents.contains_key(path)
    }

    pub fn links(&self) -> usize {
        self.documents.values().map(|html| html.links.len()).sum()
    }

    /// Each broken link and anchor, and each thing that a page loads from elsewhere.
    pub fn faults(&self) -> Result<Vec<Fault>> {
        let mut faults = BTreeSet::new();
        for (path, html) in &self.documents {
            let place = path.display().to_string();
            for link in &html.links {
                let what = match link {
                    Link::Followed(url) => self.wrong_link(path, url)?,
                    Link::Loaded(url) => self.wrong_resource(path, url)?,
                };
                faults.extend(what.map(|what| Fault::new(&place, what)));
            }
            if html.classes.contains("playground") {
                let what = "a sample that can be run asks play.rust-lang.org which crates it has";
                faults.insert(Fault::new(place, what));
            }
        }
        for (path, urls) in &self.styles {
            for url in urls {
                let what = self.wrong_resource(path, url)?;
                faults.extend(what.map(|what| Fault::new(path.display().to_string(), what)));
            }
        }
        Ok(faults.into_iter().collect())
    }

    /// Each link to the reference documentation that leads to no page of the folder, as `cargo doc` writes it.
    pub fn unknown_items(&self, documentation: &Path) -> Vec<Fault> {
        let mut faults = BTreeSet::new();
        for (path, html) in &self.documents {
            for link in &html.links {
                let Link::Followed(url) = link else { continue };
                let Some(item) = url.strip_prefix(DOCUMENTATION) else {
                    continue;
                };
                let file = item.split('#').next().unwrap_or_default();
                if !documentation.join(file).is_file() {
                    let what = format!("the reference documentation has no page {file}");
                    faults.insert(Fault::new(path.display().to_string(), what));
                }
            }
        }
        faults.into_iter().collect()
    }

    fn wrong_resource(&self, from: &Path, url: &str) -> Result<Option<String>> {
        match self.target(from, url)? {
            Target::Elsewhere => Ok(Some(format!("loads {url} from elsewhere"))),
            Target::Inline => Ok(None),
            Target::File(file, _) if !file.is_file() => Ok(Some(format!("loads {url}, which is missing"))),
            Target::File(..) => Ok(None),
        }
    }

    fn wrong_link(&self, from: &Path, url: &str) -> Result<Option<String>> {
        let Target::File(file, anchor) = self.target(from, url)? else {
            return Ok(None);
        };
        let file = if file.is_dir() {
            file.join("index.html")
        } else {
            file
        };
        if !file.is_file() {
            return Ok(Some(format!("the link {url} leads nowhere")));
        }
        let Some(anchor) = anchor else {
            return Ok(None);
        };
        let page = file.strip_prefix(&self.root).ok();
        let known = page
            .and_then(|page| self.documents.get(page))
            .is_some_and(|page| page.anchors.contains(&anchor));
        Ok((!known).then(|| format!("the link {url} leads to an anchor that is missing")))
    }

    fn target(&self, from: &Path, url: &str) -> Result<Target> {
        let from = self.root.join(from);
        let base = Url::from_file_path(&from).map_err(|()| anyhow!("{} is no address", from.display()))?;
        let Ok(url) = base.join(url) else {
            return Ok(Target::Elsewhere);
        };
        match url.scheme() {
            "file" => {}
            "data" | "javascript" => return Ok(Target::Inline),
            _ => return Ok(Target::Elsewhere),
        }
        // `//host/path` is an address of another machine; `to_file_path` refuses it.
        let Ok(file) = url.to_file_path() else {
            return Ok(Target::Elsewhere);
        };
        let anchor = url.fragment().filter(|anchor| !anchor.is_empty());
        let anchor = anchor.map(decoded);
        Ok(Target::File(file, anchor))
    }
}

#[derive(Debug)]
enum Target {
    File(PathBuf, Option<String>),
    Inline,
    Elsewhere,
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text)
        .decode_utf8_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    fn built(files: &[(&str, &str)]) -> Result<(tempfile::TempDir, Built)> {
        let dir = tempfile::tempdir()?;
        for (path, text) in files {
            let path = dir.path().join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
        }
        let built = Built::read(dir.path())?;
        Ok((dir, built))
    }

    #[test]
    fn links_to_the_reference_documentation_are_checked() -> Result<()> {
        let link = |page: &str| format!("<a href='{DOCUMENTATION}{page}'></a>");
        let page = link("enum.Error.html#variants") + &link("struct.No.html");
        let (_book, built) = built(&[("a.html", &page)])?;
        let documentation = tempfile::tempdir()?;
        fs::write(documentation.path().join("enum.Error.html"), "")?;
        let faults = built.unknown_items(documentation.path());
        let what = "the reference documentation has no page struct.No.html";
        assert_eq!(faults, [Fault::new("a.html", what)]);
        Ok(())
    }

    #[test]
    fn links_within_the_book_are_right() -> Result<()> {
        let (_dir, built) = built(&[
            (
                "a.html",
                "<h2 id='größe'></h2><a href='deep/b.html#x'></a><a href=''></a><a href='#'></a><a href='#gr%C3%B6%C3%9Fe'></a>",
            ),
            (
                "deep/b.html",
                "<h2 id=x></h2><a href='../a.html'></a><a href='../deep/'></a><img src='../p.svg'>",
            ),
            (
                "deep/index.html",
                "<a href='https://www.mongodb.com/docs/'></a><a href='mailto:a@example.com'></a>",
            ),
            ("p.svg", "<svg><a href='#in'/><g id=in /></svg>"),
            (
                "s.css",
                "x { background: url(p.svg) } y { background: url('data:image/svg+xml,<svg/>') }",
            ),
        ])?;
        assert_eq!(built.faults()?, []);
        assert_eq!(built.links(), 10);
        Ok(())
    }

    #[test]
    fn each_fault_of_the_faulty_book_is_found() -> Result<()> {
        let built = Built::read(&root().join("xtask/tests/faulty-book"))?;
        let found: Vec<String> = built.faults()?.iter().map(Fault::to_string).collect();
        let expected = [
            "links.html: a sample that can be run asks play.rust-lang.org which crates it has",
            "links.html: loads //fonts.example.com/a.css from elsewhere",
            "links.html: loads https://cdn.example.com/mathjax.js from elsewhere",
            "links.html: loads missing.svg, which is missing",
            "links.html: the link #absent leads to an anchor that is missing",
            "links.html: the link good.html#absent leads to an anchor that is missing",
            "links.html: the link missing.html leads nowhere",
            "style.css: loads https://fonts.example.com/a.woff2 from elsewhere",
        ];
        assert_eq!(found, expected);
        Ok(())
    }

    #[test]
    fn frames_redirects_and_the_page_for_the_lost_are_not_opened() -> Result<()> {
        let (_dir, built) = built(&[
            ("a.html", ""),
            ("404.html", ""),
            ("toc.html", ""),
            ("old.html", "<meta http-equiv=refresh content='0; URL=a.html'>"),
            ("p.svg", ""),
        ])?;
        assert_eq!(Vec::from_iter(built.pages()), [Path::new("a.html")]);
        assert!(built.has_page(Path::new("a.html")));
        assert!(!built.has_page(Path::new("b.html")));
        Ok(())
    }
}
