//! The book, built with mdBook, and checked: its links and its length without a browser, its look and its search in Chromium.

mod browser;
mod html;
mod links;
mod look;
mod search;
mod words;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::Command;

use self::browser::Browser;
use self::links::{Built, Fault};
use self::look::{Options, Seen};
use self::search::Expectation;
use crate::process::{Process, exit_code};
use crate::workspace::{cargo, find_program, root, step, target_dir};

/// The release that is installed where there is none on PATH.
const VERSION: &str = "0.5.4";

/// How the book is built and checked.
#[derive(Debug, Default, clap::Args)]
pub struct BookArgs {
    /// Serve the book and rebuild it on every change; nothing is checked.
    #[arg(long, conflicts_with_all = ["only", "screenshots"])]
    serve: bool,
    /// Look at this page alone, which is named by its path under `book/src` without `.md`; may be given several times.
    #[arg(long, value_name = "PAGE")]
    only: Vec<String>,
    /// Write a picture of each page in this folder: at both widths, light and dark.
    #[arg(long, value_name = "DIR")]
    screenshots: Option<PathBuf>,
    /// The address of the repository: each page then links to it, and to the editor of its own Markdown.
    #[arg(long, value_name = "URL", env = "ODM_REPOSITORY")]
    repository: Option<String>,
}

/// Builds the book and checks it, or serves it until interrupted.
pub async fn run(args: BookArgs) -> Result<u8> {
    let serve = args.serve;
    let book = root().join("book");
    if !book.join("book.toml").is_file() {
        bail!(
            "{} is missing: there is no book to build",
            book.join("book.toml").display()
        );
    }
    let tools = target_dir().join("tools");
    let mdbook = match find_program("mdbook") {
        Some(mdbook) => mdbook,
        None => match installed(&tools, serve).await {
            Some(mdbook) => mdbook,
            None => install(&tools, serve).await?,
        },
    };
    let action = if serve { "serve" } else { "build" };
    step(format!("{} {action}", mdbook.display()));
    let output = target_dir().join("book");
    let mut command = Command::new(&mdbook);
    command.arg(action).arg(&book).arg("--dest-dir").arg(&output);
    if let Some(repository) = &args.repository {
        command.envs(repository_settings(repository));
    }
    let code = execute("mdbook", &mut command).await?;
    if code != 0 {
        step(format!("mdbook failed (exit code {code})"));
    }
    if code != 0 || serve {
        return Ok(code);
    }
    let options = Options {
        only: args.only,
        screenshots: args.screenshots,
    };
    let faults = check(&book, &output, &options).await?;
    for fault in &faults {
        eprintln!("  {fault}");
    }
    match faults.len() {
        0 => step("the book is built"),
        1 => step("the book is built, with one fault"),
        count => step(format!("the book is built, with {count} faults")),
    }
    Ok(u8::from(!faults.is_empty()))
}

/// Checks the book in the folder `output`, and says what was checked and what was not.
async fn check(book: &Path, output: &Path, options: &Options) -> Result<Vec<Fault>> {
    let built = Built::read(output)?;
    let words = book.join(search::FILE);
    let words = fs::read_to_string(&words).with_context(|| format!("{} can't be read", words.display()))?;
    let searches = search::expectations(&words)?;
    let unknown = searches
        .iter()
        .flat_map(|search| search.unknown(|page| built.has_page(page)));
    let mut faults = built.faults()?;
    step(format!(
        "links: {} on {} pages, {} broken or to another place",
        built.links(),
        built.pages().count(),
        faults.len()
    ));
    faults.extend(unknown);
    let documentation = target_dir().join("doc/odm");
    if documentation.is_dir() {
        faults.extend(built.unknown_items(&documentation));
    } else {
        step(
            "skipped: the links to the reference documentation, which `cargo doc --workspace --no-deps` writes",
        );
    }
    let (length, too_long) = words::measure(&book.join("src"))?;
    step(length);
    faults.extend(too_long);
    let Some(program) = browser::find()? else {
        step(format!(
            "skipped: the check in a browser, which needs Chromium ({}, or on the PATH)",
            browser::VARIABLE
        ));
        return Ok(faults);
    };
    let mut browser = Browser::start(&program).await?;
    let seen = look::look(&mut browser, &built, &book.join("src"), &searches, options).await?;
    step(summary(&browser.version, &seen, &searches));
    faults.extend(seen.faults);
    Ok(faults)
}

/// Looks at a built book in Chromium, for the searches of a text like `search-words.txt`; `None` where there is no Chromium.
///
/// # Errors
/// Where the book can't be read, or the browser does not do what it is asked.
pub async fn look_at(book: &Path, searches: &str) -> Result<Option<Seen>> {
    let Some(program) = browser::find()? else {
        return Ok(None);
    };
    let mut browser = Browser::start(&program).await?;
    let searches = search::expectations(searches)?;
    let built = Built::read(book)?;
    let seen = look::look(&mut browser, &built, book, &searches, &Options::default()).await?;
    Ok(Some(seen))
}

/// Looks at the pages of a folder in Chromium, which follow the reader's preference for light or dark; `None` where there is no
/// Chromium. Pictures of the screen are kept in the folder `screenshots`.
///
/// # Errors
/// Where the pages can't be read, or the browser does not do what it is asked.
pub async fn look_at_pages(folder: &Path, screenshots: Option<&Path>) -> Result<Option<Vec<Fault>>> {
    let Some(program) = browser::find()? else {
        return Ok(None);
    };
    let mut browser = Browser::start(&program).await?;
    let built = Built::read(folder)?;
    let mut faults = Vec::new();
    for scheme in ["light", "dark"] {
        browser.prefer(scheme).await?;
        let options = Options {
            screenshots: screenshots.map(|folder| folder.join(scheme)),
            ..Options::default()
        };
        let seen = look::look(&mut browser, &built, folder, &[], &options).await?;
        faults.extend(seen.faults);
    }
    Ok(Some(faults))
}

fn summary(browser: &str, seen: &Seen, searches: &[Expectation]) -> String {
    let searched = match seen.searches {
        0 => format!("none of {} searches tried", searches.len()),
        count => format!("{count} searches"),
    };
    format!(
        "{browser}: pages: {}, at 1280 and 390 pixels in the themes {}, {searched}, faults: {}; {} of {} code blocks are \
         scrolled sideways at 390",
        seen.pages,
        seen.themes.join(" and "),
        seen.faults.len(),
        seen.cut_on_phone,
        seen.blocks,
    )
}

/// The settings of `book.toml` that depend on where the repository is. mdBook takes them from its environment.
fn repository_settings(repository: &str) -> [(&'static str, String); 2] {
    let repository = repository.trim_end_matches('/');
    [
        ("MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL", repository.to_owned()),
        (
            "MDBOOK_OUTPUT__HTML__EDIT_URL_TEMPLATE",
            format!("{repository}/edit/main/book/{{path}}"),
        ),
    ]
}

/// The mdBook installed before, where it is the right release and can do what is asked of it.
async fn installed(tools: &Path, serve: bool) -> Option<PathBuf> {
    let mdbook = program(tools);
    let mut command = Command::new(&mdbook);
    command.kill_on_drop(true).arg("--version");
    let output = command.output().await.ok()?;
    if !String::from_utf8_lossy(&output.stdout).contains(VERSION) {
        return None;
    }
    if serve {
        let mut command = Command::new(&mdbook);
        command.kill_on_drop(true).args(["serve", "--help"]);
        return command.output().await.ok()?.status.success().then_some(mdbook);
    }
    Some(mdbook)
}

async fn install(tools: &Path, serve: bool) -> Result<PathBuf> {
    step(format!("installing mdBook {VERSION} under {}", tools.display()));
    let mut command = cargo();
    command.args(install_arguments(tools, serve));
    if execute("cargo install", &mut command).await? != 0 {
        bail!(
            "mdBook could not be installed: put an `mdbook` {VERSION} on PATH, or look above for the reason"
        );
    }
    Ok(program(tools))
}

fn program(tools: &Path) -> PathBuf {
    tools
        .join("bin")
        .join(format!("mdbook{}", std::env::consts::EXE_SUFFIX))
}

/// A debug build and only the features in use: a book of this size is built at once either way, and mdBook in
/// a fraction of the time.
fn install_arguments(tools: &Path, serve: bool) -> Vec<OsString> {
    let features = if serve { "search,serve" } else { "search" };
    [
        "install",
        "mdbook",
        "--version",
        VERSION,
        "--locked",
        "--debug",
        "--no-default-features",
        "--features",
    ]
    .into_iter()
    .chain([features, "--quiet", "--root"])
    .map(OsString::from)
    .chain([tools.into()])
    .collect()
}

async fn execute(name: &str, command: &mut Command) -> Result<u8> {
    let mut process = Process::spawn(name, command, Duration::from_secs(2))?;
    Ok(exit_code(process.wait().await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serving_needs_one_more_feature() {
        let features = |serve| install_arguments(Path::new("/t"), serve)[8].clone();
        assert_eq!(features(false), "search");
        assert_eq!(features(true), "search,serve");
    }

    #[test]
    fn a_page_links_to_its_own_markdown() {
        let [(_, repository), (_, edit)] = repository_settings("https://example.com/odm/");
        assert_eq!(repository, "https://example.com/odm");
        assert_eq!(edit, "https://example.com/odm/edit/main/book/{path}");
    }

    #[test]
    fn the_summary_says_what_was_not_searched() {
        let seen = Seen {
            pages: 2,
            themes: vec!["light".to_owned(), "navy".to_owned()],
            ..Seen::default()
        };
        let searches = search::expectations("a = b\n").unwrap_or_default();
        let summary = summary("Chrome/1", &seen, &searches);
        assert!(
            summary.starts_with("Chrome/1: pages: 2, at 1280 and 390 pixels in the themes light and navy")
        );
        assert!(summary.contains("none of 1 searches tried"), "{summary}");
    }

    #[tokio::test]
    async fn nothing_is_installed_in_an_empty_folder() -> Result<()> {
        let dir = tempfile::tempdir()?;
        assert_eq!(installed(dir.path(), false).await, None);
        Ok(())
    }
}
