//! The guide of odm. Every page is a module here, so that `cargo test -p odm-book` compiles and runs its samples.

pub mod blog;
pub mod designs;
pub mod films;
pub mod people;
pub mod shop;
pub mod tasks;

use futures::FutureExt;
use mongodb::bson::{Document, oid::ObjectId};
use mongodb::options::ClientOptions;
use mongodb::{Client, Database};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

/// Applies steps to a document of this collection, and compares what becomes of it. The collection is not made for an empty document.
///
/// # Panics
/// Where there is no server, where the steps fail, where the document is another one, and where a way back leads elsewhere.
pub fn steps(
    models: impl IntoIterator<Item = odm::Model>,
    steps: odm::Migrations,
    collection: &str,
    before: Document,
    after: Document,
) {
    run(async |db| {
        let documents = db.collection::<Document>(collection);
        documents.insert_one(&before).await?;
        let stored = async || -> odm::Result<Document> {
            let mut stored = documents.find_one(Document::new()).await?.unwrap_or_default();
            for own in ["_odm", "_copied"] {
                stored.remove(own);
            }
            Ok(stored)
        };
        let migrating = odm::Odm::new(db.clone(), models)?.migrate(steps);
        migrating.up().await?;
        let status = migrating.status().await?;
        assert!(status.open().next().is_none());
        assert_eq!(stored().await?, after);
        if status.steps.iter().all(|step| step.has_down) {
            migrating.down().await?;
            let mut back: Vec<_> = stored().await?.into_iter().collect();
            let mut expected: Vec<_> = before.into_iter().collect();
            // A field that comes back is the last one.
            back.sort_by(|(a, _), (b, _)| a.cmp(b));
            expected.sort_by(|(a, _), (b, _)| a.cmp(b));
            assert_eq!(back, expected);
        }
        Ok(())
    });
}

/// Runs a sample of the guide on a fresh database, which is dropped whatever becomes of the sample.
///
/// # Panics
/// Where there is no server, and where the sample fails.
pub fn run<F>(sample: F)
where
    F: AsyncFnOnce(Database) -> odm::Result<()>,
{
    let uri = match std::env::var("MONGODB_URI") {
        Ok(uri) if !uri.is_empty() => uri,
        _ => panic!("no MongoDB server: run `cargo xtask test`, or set MONGODB_URI"),
    };
    // A sample is the only writer to its database.
    odm::__private::backfill_at_once();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap_or_else(|error| panic!("no runtime: {error}"));
    runtime.block_on(async {
        let mut options = match ClientOptions::parse(uri).await {
            Ok(options) => options,
            Err(error) => panic!("MONGODB_URI is not usable: {error}"),
        };
        options
            .server_selection_timeout
            .get_or_insert(Duration::from_secs(20));
        let client = match Client::with_options(options) {
            Ok(client) => client,
            Err(error) => panic!("MONGODB_URI is not usable: {error}"),
        };
        let db = client.database(&format!("odm_book_{}", ObjectId::new().to_hex()));
        let outcome = AssertUnwindSafe(sample(db.clone())).catch_unwind().await;
        let dropped = db.drop().await;
        match outcome {
            Err(panic) => resume_unwind(panic),
            Ok(Err(error)) => panic!("the sample failed: {error}"),
            Ok(Ok(())) => {
                dropped.unwrap_or_else(|error| panic!("the sample's database could not be dropped: {error}"))
            }
        }
    });
}

macro_rules! pages {
    ($($page:ident => $file:literal;)*) => {$(
        #[doc = include_str!($file)]
        pub mod $page {}
    )*};
}

pages! {
    readme => "../README.md";
    introduction => "src/introduction.md";
    getting_started => "src/getting-started.md";
    introspect => "src/introspect.md";
    crud => "src/crud.md";
    querying => "src/querying.md";
    updating => "src/updating.md";
    inserting => "src/inserting.md";
    documents => "src/documents.md";
    types => "src/types.md";
    enums => "src/enums.md";
    references => "src/references.md";
    joins => "src/joins.md";
    integrity => "src/integrity.md";
    copies => "src/copies.md";
    schema_design => "src/schema-design.md";
    choosing => "src/choosing.md";
    bounds => "src/bounds.md";
    design_one_to_one => "src/designs/one-to-one.md";
    design_one_to_few => "src/designs/one-to-few.md";
    design_one_to_many => "src/designs/one-to-many.md";
    design_squillions => "src/designs/squillions.md";
    design_two_way => "src/designs/two-way.md";
    design_many_to_many => "src/designs/many-to-many.md";
    design_extended_reference => "src/designs/extended-reference.md";
    design_subset => "src/designs/subset.md";
    design_computed => "src/designs/computed.md";
    design_buckets => "src/designs/buckets.md";
    design_outlier => "src/designs/outlier.md";
    design_tree => "src/designs/tree.md";
    rules => "src/rules.md";
    schema => "src/schema.md";
    bulk_and_transactions => "src/bulk-and-transactions.md";
    hooks => "src/hooks.md";
    scopes => "src/scopes.md";
    aggregation => "src/aggregation.md";
    collections => "src/collections.md";
    errors => "src/errors.md";
    application => "src/application.md";
    requests => "src/requests.md";
    json => "src/json.md";
    connections => "src/connections.md";
    testing => "src/testing.md";
    deployment => "src/deployment.md";
    migrations => "src/migrations.md";
    operations => "src/operations.md";
    watching => "src/watching.md";
    runbook => "src/runbook.md";
    growing => "src/growing.md";
    servers => "src/servers.md";
    cost => "src/cost.md";
    benchmark => "src/benchmark.md";
    coming_from => "src/coming-from.md";
    everyday => "src/everyday.md";
    from_mongoose => "src/from-mongoose.md";
    from_beanie => "src/from-beanie.md";
    from_prisma => "src/from-prisma.md";
    from_rust => "src/from-rust.md";
    attributes => "src/attributes.md";
    faq => "src/faq.md";
    assistants => "src/assistants.md";
    docs_internals_deletions => "../docs/internals/deletions.md";
    docs_copy_costs => "../docs/copy-costs.md";
    docs_operations => "../docs/operations.md";
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    /// Adds the pages in a folder and in those within it, by their path from the first, but for the list of contents.
    fn below(folder: &Path, within: &str, pages: &mut Vec<(String, PathBuf)>) {
        for entry in std::fs::read_dir(folder).expect("there are pages") {
            let path = entry.expect("a page").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name in Unicode");
            if path.is_dir() {
                below(&path, &format!("{within}{name}/"), pages);
            } else if name.ends_with(".md") && name != "SUMMARY.md" {
                pages.push((format!("{within}{name}"), path));
            }
        }
    }

    /// The pages of the guide: their paths from `src`.
    fn pages() -> Vec<(String, PathBuf)> {
        let mut pages = Vec::new();
        below(
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
            "",
            &mut pages,
        );
        pages.sort();
        pages
    }

    /// The Rust samples of a page, without the marks that hide a line.
    fn samples(page: &str) -> Vec<String> {
        let mut samples = Vec::new();
        let mut sample: Option<String> = None;
        for line in page.lines() {
            match (&mut sample, line.starts_with("```")) {
                (None, true) if line.starts_with("```rust") => sample = Some(String::new()),
                (Some(_), true) => samples.extend(sample.take()),
                (Some(sample), false) => {
                    sample.push_str(line.strip_prefix("# ").unwrap_or(line));
                    sample.push('\n');
                }
                _ => {}
            }
        }
        samples
    }

    /// The models of a module: what stands between its `use` lines and its first function.
    fn models(module: &str) -> &str {
        let begin = module.find("#[derive").unwrap_or_default();
        let end = module.find("\n/// Some ").unwrap_or(module.len());
        module[begin..end].trim()
    }

    /// The models that samples of several pages use: the module, its text, and the page that shows them.
    const SHARED: [(&str, &str, &str); 5] = [
        ("people", include_str!("people.rs"), "inserting.md"),
        ("blog", include_str!("blog.rs"), "coming-from.md"),
        ("films", include_str!("films.rs"), "querying.md"),
        ("shop", include_str!("shop.rs"), "joins.md"),
        ("tasks", include_str!("tasks.rs"), "designs/two-way.md"),
    ];

    #[test]
    fn shared_models_are_shown_on_one_page_and_linked_from_the_others() {
        for (name, path) in pages() {
            let text = std::fs::read_to_string(&path).expect("a page can be read");
            for (module, code, shown_on) in SHARED {
                if name == shown_on {
                    assert!(
                        samples(&text).iter().any(|sample| sample.contains(models(code))),
                        "{name} shows other models than its samples use:\n{}",
                        models(code)
                    );
                } else if text.contains(&format!("odm_book::{module}")) {
                    let file = shown_on.rsplit('/').next().unwrap_or(shown_on);
                    assert!(
                        text.contains(&format!("{file})")) || text.contains(&format!("{file}#")),
                        "{name} uses the models of `{module}` and does not link {shown_on}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_page_is_in_the_summary_and_tested() {
        let (summary, lib) = (include_str!("src/SUMMARY.md"), include_str!("lib.rs"));
        for (name, _) in pages() {
            assert!(
                summary.contains(&format!("({name})")),
                "SUMMARY.md does not name {name}"
            );
            assert!(
                lib.contains(&format!("\"src/{name}\"")),
                "lib.rs does not test {name}"
            );
        }
    }

    /// An application of `odm new` has the driver through odm alone. These pages show programs that have it beside.
    #[test]
    fn samples_use_the_driver_through_odm() {
        let beside = [
            "application.md",
            "deployment.md",
            "connections.md",
            "from-rust.md",
        ];
        for (path, text) in pages() {
            let text = std::fs::read_to_string(text).expect("a page can be read");
            let uses = samples(&text)
                .iter()
                .any(|sample| sample.contains("use mongodb::"));
            assert!(
                !uses || beside.contains(&path.as_str()),
                "{path} has a sample with `use mongodb::`"
            );
        }
    }

    #[test]
    fn every_page_has_a_sample() {
        for (name, path) in pages() {
            let text = std::fs::read_to_string(&path).expect("a page can be read");
            assert!(!samples(&text).is_empty(), "{name} has no sample");
        }
    }

    /// The pages for those who change the library: their paths from `docs`.
    fn docs() -> Vec<(String, PathBuf)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let mut docs = Vec::new();
        below(&folder, "", &mut docs);
        docs
    }

    #[test]
    fn no_page_has_a_dead_link() {
        for (name, path) in pages().into_iter().chain(docs()) {
            let text = std::fs::read_to_string(&path).expect("a page can be read");
            for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = link.split('#').next().unwrap_or_default();
                if file.is_empty() || file.contains("://") {
                    continue;
                }
                assert!(path.with_file_name(file).is_file(), "{name} links to {link}");
            }
        }
    }

    /// The chapters of the designs: their names and texts.
    fn chapters() -> impl Iterator<Item = (String, String)> {
        pages().into_iter().filter_map(|(page, path)| {
            let name = page.strip_prefix("designs/")?.to_owned();
            Some((
                name,
                std::fs::read_to_string(path).expect("a chapter can be read"),
            ))
        })
    }

    /// The lines of a page outside of its blocks of code.
    fn prose(page: &str) -> impl Iterator<Item = &str> {
        let mut code = false;
        page.lines().filter(move |line| {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            !code && !fence
        })
    }

    #[test]
    fn every_chapter_of_a_design_has_the_same_parts() {
        let parts = [
            "## The structs",
            "## Working with it",
            "## Options",
            "## What can go wrong",
            "## What it costs",
        ];
        for (name, text) in chapters() {
            assert!(
                include_str!("src/choosing.md").contains(&format!("(designs/{name})")),
                "choosing.md does not lead to {name}"
            );
            let headings: Vec<&str> = prose(&text).filter(|line| line.starts_with("## ")).collect();
            let has_options = headings.contains(&parts[2]);
            let expected = parts.iter().filter(|part| has_options || **part != parts[2]);
            assert!(headings.iter().eq(expected), "the parts of {name}: {headings:?}");
            let mut lines = text.lines();
            assert!(
                lines.next().is_some_and(|title| title.starts_with("# ")),
                "{name} has a title"
            );
            let sections: Vec<&str> = text.split("\n## ").collect();
            // The introduction leads to the design that fits where this one does not.
            assert!(sections[0].contains("]("), "{name} links no other design");
            let structs = sections[1];
            let order = ["```rust", "](../edges/", "```js"].map(|part| structs.find(part));
            assert!(
                order[0].is_some() && order.is_sorted() && order[2] > order[1],
                "{name} shows its structs, then the picture, then the documents: {order:?}"
            );
            assert!(
                sections[2].contains("assert"),
                "{name} shows what its operations result in"
            );
            let costs = sections.last().expect("the costs");
            assert!(costs.contains("\n| "), "{name} has no table of statements");
        }
    }

    /// A text in one line, without the marks that the compiler puts before its notes.
    fn in_one_line(text: &str) -> String {
        text.split_whitespace()
            .filter(|word| *word != "|" && *word != "=")
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn pages_show_the_errors_that_the_compiler_prints() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/ui/guide");
        let cases: Vec<(String, String)> = std::fs::read_dir(folder)
            .expect("there are cases")
            .map(|file| file.expect("a case").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .map(|path| {
                let message = std::fs::read_to_string(path.with_extension("stderr"));
                let code = std::fs::read_to_string(path);
                (code.expect("a case"), in_one_line(&message.expect("a message")))
            })
            .collect();
        let mut compared = 0;
        for page in [
            include_str!("src/schema-design.md"),
            include_str!("src/designs/many-to-many.md"),
        ] {
            for sample in page.split("```rust,compile_fail\n").skip(1) {
                let (code, rest) = sample.split_once("```").expect("the end of a sample");
                let code: Vec<&str> = code
                    .lines()
                    .map(|line| line.strip_prefix("# ").unwrap_or(line))
                    .collect();
                let code = code.join("\n");
                let case = cases.iter().find(|(case, _)| case.contains(&code));
                let (_, message) = case.unwrap_or_else(|| panic!("{folder} has no case with\n{code}"));
                let shown = rest
                    .split("```text\n")
                    .nth(1)
                    .and_then(|rest| rest.split("```").next());
                let shown = shown.expect("the page shows the error");
                // Each part of the message that begins as a note does, or with the error.
                for part in shown.split("\n   = ") {
                    let part = in_one_line(part);
                    assert!(
                        message.contains(&part),
                        "the page shows\n{part}\nand the compiler prints\n{message}"
                    );
                }
                compared += 1;
            }
        }
        assert_eq!(compared, cases.len(), "each case is on a page");
    }

    /// The page of the samples holds this many columns, and a reader this many words.
    const COLUMNS: usize = 84;
    const WORDS: usize = 110;

    /// Pages with lines of code that are wider, or paragraphs that are longer, and how many. This list only shrinks.
    const EXCEPTIONS: &[(&str, usize, usize)] = &[];

    /// The visible lines of code that are too wide, and the paragraphs that are too long.
    fn too_large(page: &str) -> (Vec<String>, Vec<String>) {
        let (mut wide, mut long) = (Vec::new(), Vec::new());
        let mut paragraph: Vec<&str> = Vec::new();
        let mut language: Option<&str> = None;
        for line in page.lines().chain([""]) {
            let text = line.trim();
            let fence = text.strip_prefix("```");
            let is_item = ["- ", "* ", "1. "].iter().any(|mark| text.starts_with(mark))
                || text
                    .split_once(". ")
                    .is_some_and(|(number, _)| number.parse::<u32>().is_ok());
            let is_apart =
                text.is_empty() || ["|", "#", "<", "```"].iter().any(|mark| text.starts_with(mark));
            if is_apart || is_item || language.is_some() {
                let words = paragraph.join(" ").split_whitespace().count();
                if words > WORDS {
                    long.push(format!("{words} words: {}", paragraph[0]));
                }
                paragraph.clear();
            }
            match (language, fence) {
                (Some(_), Some(_)) => language = None,
                (None, Some(of)) => language = Some(of),
                (Some(of), None) => {
                    let is_hidden = of.starts_with("rust") && (text == "#" || text.starts_with("# "));
                    if !is_hidden && line.chars().count() > COLUMNS {
                        wide.push(line.to_owned());
                    }
                }
                (None, None) if !is_apart => paragraph.push(text),
                (None, None) => {}
            }
        }
        (wide, long)
    }

    #[test]
    fn code_fits_the_column_and_paragraphs_are_short() {
        let mut exceptions = Vec::new();
        for (name, path) in pages() {
            let (wide, long) = too_large(&std::fs::read_to_string(&path).expect("a page can be read"));
            if !wide.is_empty() || !long.is_empty() {
                exceptions.push((name, wide, long));
            }
        }
        let found: Vec<(&str, usize, usize)> = exceptions
            .iter()
            .map(|(name, wide, long)| (name.as_str(), wide.len(), long.len()))
            .collect();
        assert_eq!(found, EXCEPTIONS, "{exceptions:#?}");
    }

    #[test]
    fn wide_lines_and_long_paragraphs_are_found() {
        let wide = "x".repeat(COLUMNS + 1);
        let words = vec!["word"; WORDS + 1].join(" ");
        let page = format!("{words}\n\n```rust\n{wide}\n# {wide}\n```\n\n- a\n- b\n\n| {words} |\n");
        let (found, long) = too_large(&page);
        assert_eq!((found, long.len()), (vec![wide], 1));
    }

    /// The name by which a heading is linked: its own in braces, or made of its text.
    fn anchors(page: &str) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        let mut is_code = false;
        for line in page.lines() {
            is_code ^= line.starts_with("```");
            let Some(heading) = (!is_code && line.starts_with('#')).then(|| line.trim_start_matches('#'))
            else {
                continue;
            };
            let Some(heading) = heading.strip_prefix(' ') else {
                continue;
            };
            if let Some((_, id)) = heading.split_once("{#") {
                anchors.push(id.trim_end_matches('}').to_owned());
                continue;
            }
            let text: String = heading
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect();
            let before = anchors.iter().filter(|anchor| **anchor == text).count();
            anchors.push(if before == 0 {
                text
            } else {
                format!("{text}-{before}")
            });
        }
        anchors
    }

    #[test]
    fn every_link_leads_to_a_heading() {
        let mut dead = Vec::new();
        for (name, path) in pages().into_iter().chain(docs()) {
            let text = std::fs::read_to_string(&path).expect("a page can be read");
            for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let Some((file, anchor)) = link.split_once('#') else {
                    continue;
                };
                if link.contains("://") {
                    continue;
                }
                let target = if file.is_empty() {
                    path.clone()
                } else {
                    path.with_file_name(file)
                };
                let target = std::fs::read_to_string(&target).unwrap_or_default();
                if !anchors(&target).iter().any(|known| known == anchor) {
                    dead.push(format!("{name}: {link}"));
                }
            }
        }
        assert!(dead.is_empty(), "{dead:#?}");
    }

    /// The first sentence of a page below its title, without links and marks.
    fn first_sentence(page: &str) -> String {
        let paragraphs = page.split("\n\n").map(str::trim);
        let first = paragraphs
            .into_iter()
            .find(|part| part.starts_with(|c: char| c.is_alphanumeric() || "`[*".contains(c)))
            .unwrap_or_default();
        let mut text = String::new();
        for (at, part) in first.split("](").enumerate() {
            text += match at {
                0 => part,
                _ => part.split_once(')').map_or("", |(_, rest)| rest),
            };
        }
        let text = text.replace('[', "").replace('\n', " ");
        let end = text.find(". ").or_else(|| text.find(": "));
        let text = end.map_or(text.as_str(), |end| &text[..end]);
        format!("{}.", text.trim_end_matches(['.', ':']))
    }

    /// `llms.txt` lists the pages for programs that read them: <https://llmstxt.org>.
    #[test]
    fn llms_txt_lists_every_page() {
        let mut made = "# odm\n\n> An object-document mapper for MongoDB in Rust: schema design, checked by the compiler and kept true by \
                        the runtime. Read assistants.html first.\n"
            .to_owned();
        for line in include_str!("src/SUMMARY.md").lines().skip(1) {
            if let Some(part) = line.strip_prefix("# ") {
                made += &format!("\n## {part}\n\n");
            }
            let Some((title, name)) = line.trim_start_matches("- [").split_once("](") else {
                continue;
            };
            let (title, name) = (title.trim_start_matches('['), name.trim_end_matches(')'));
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
            let page = std::fs::read_to_string(path).expect("a page can be read");
            if !made.contains("\n## ") {
                made.push('\n');
            }
            let address = name.replace(".md", ".html");
            made += &format!("- [{title}]({address}): {}\n", first_sentence(&page));
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/llms.txt");
        if std::env::var_os("ODM_WRITE_BOOK").is_some() {
            std::fs::write(&path, &made).expect("the list can be written");
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == made,
            "llms.txt differs from the pages: `ODM_WRITE_BOOK=1 cargo test -p odm-book --lib`"
        );
    }

    /// The servers that were tested are one sentence in `tests/tested.txt`, which the pages repeat.
    #[test]
    fn every_page_says_the_same_of_the_servers_that_were_tested() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let line = std::fs::read_to_string(root.join("tests/tested.txt")).expect("a line");
        let mut lines = vec![String::new()];
        for word in "**Tested:**".split(' ').chain(line.split_whitespace()) {
            let last = lines.last_mut().expect("a line");
            if last.chars().count() + 1 + word.chars().count() > 116 {
                lines.push(word.to_owned());
            } else if last.is_empty() {
                last.push_str(word);
            } else {
                *last += &format!(" {word}");
            }
        }
        let right = lines.join("\n");
        for name in ["README.md", "book/src/servers.md"] {
            let path = root.join(name);
            let page = std::fs::read_to_string(&path).expect("a page");
            let (above, rest) = page.split_once("<!-- tested -->\n").expect("the mark");
            let (_, below) = rest.split_once("\n<!-- end -->").expect("the end of the mark");
            let made = format!("{above}<!-- tested -->\n{right}\n<!-- end -->{below}");
            if std::env::var_os("ODM_WRITE_BOOK").is_some() {
                std::fs::write(&path, &made).expect("the page can be written");
            } else {
                assert!(page == made, "{name} says something else than tests/tested.txt");
            }
        }
    }
}
