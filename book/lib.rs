//! The guide of odm. Every page is a module here, so that `cargo test -p odm-book` compiles and runs its samples.

pub mod films;
pub mod people;
pub mod shop;
pub mod tasks;

use futures::FutureExt;
use mongodb::options::ClientOptions;
use mongodb::{Client, Database, bson::oid::ObjectId};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

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
    schema_design => "src/schema-design.md";
    choosing => "src/choosing.md";
    design_one_to_one => "src/designs/one-to-one.md";
    design_split => "src/designs/split.md";
    design_one_to_few => "src/designs/one-to-few.md";
    design_one_to_many => "src/designs/one-to-many.md";
    design_squillions => "src/designs/squillions.md";
    design_two_way => "src/designs/two-way.md";
    design_many_to_many => "src/designs/many-to-many.md";
    documents => "src/documents.md";
    references => "src/references.md";
    copies => "src/copies.md";
    subsets => "src/subsets.md";
    computed => "src/computed.md";
    joins => "src/joins.md";
    two_way => "src/two-way.md";
    integrity => "src/integrity.md";
    bounds => "src/bounds.md";
    buckets => "src/buckets.md";
    inserting => "src/inserting.md";
    querying => "src/querying.md";
    updating => "src/updating.md";
    bulk_and_transactions => "src/bulk-and-transactions.md";
    aggregation => "src/aggregation.md";
    schema => "src/schema.md";
    errors => "src/errors.md";
    user_input => "src/user-input.md";
    observability => "src/observability.md";
    servers => "src/servers.md";
    operations => "src/operations.md";
    edges => "src/edges.md";
    cost => "src/cost.md";
    crash_matrix => "src/crash-matrix.md";
    copy_costs => "src/copy-costs.md";
    testing => "src/testing.md";
    internals => "src/internals.md";
    status => "src/status.md";
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn pages_show_the_models_that_their_samples_use() {
        for (name, page, module) in [
            (
                "inserting",
                include_str!("src/inserting.md"),
                include_str!("people.rs"),
            ),
            (
                "querying",
                include_str!("src/querying.md"),
                include_str!("films.rs"),
            ),
            ("joins", include_str!("src/joins.md"), include_str!("shop.rs")),
            (
                "two-way",
                include_str!("src/two-way.md"),
                include_str!("tasks.rs"),
            ),
        ] {
            assert!(
                samples(page).iter().any(|sample| sample.contains(models(module))),
                "the page `{name}` shows other models than its samples use:\n{}",
                models(module)
            );
        }
    }

    #[test]
    fn every_page_is_in_the_summary_and_tested() {
        let (summary, lib) = (include_str!("src/SUMMARY.md"), include_str!("lib.rs"));
        let pages =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).expect("the book has pages");
        for page in pages {
            let name = page
                .expect("a page")
                .file_name()
                .into_string()
                .expect("a name in Unicode");
            if name == "SUMMARY.md" || !name.ends_with(".md") {
                continue;
            }
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

    #[test]
    fn every_page_has_a_sample_and_no_dead_link() {
        let pages =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).expect("the book has pages");
        for page in pages {
            let path = page.expect("a page").path();
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a page can be read");
            // These list what there is.
            let lists = ["SUMMARY.md", "status.md", "crash-matrix.md"];
            if !lists.iter().any(|list| path.ends_with(list)) {
                assert!(!samples(&text).is_empty(), "{} has no sample", path.display());
            }
            for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = link.split('#').next().unwrap_or_default();
                if file.is_empty() || file.contains("://") {
                    continue;
                }
                assert!(
                    path.with_file_name(file).is_file(),
                    "{} links to {link}",
                    path.display()
                );
            }
        }
    }

    /// The chapters of the designs: their paths, names and texts.
    fn chapters() -> Vec<(std::path::PathBuf, String, String)> {
        let chapters = concat!(env!("CARGO_MANIFEST_DIR"), "/src/designs");
        let chapters = std::fs::read_dir(chapters).expect("the book has chapters of designs");
        chapters
            .map(|page| {
                let path = page.expect("a chapter").path();
                let name = path.file_name().and_then(|name| name.to_str());
                let name = name.expect("a name in Unicode").to_owned();
                let text = std::fs::read_to_string(&path).expect("a chapter can be read");
                (path, name, text)
            })
            .collect()
    }

    /// The page's column is as wide as this in the font of code.
    const COLUMNS: usize = 84;

    /// The lines of a page, each with whether it is in a block of code.
    fn lines(page: &str) -> impl Iterator<Item = (bool, &str)> {
        let mut code = false;
        page.lines().filter_map(move |line| {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            (!fence).then_some((code, line))
        })
    }

    fn code(page: &str) -> impl Iterator<Item = &str> {
        lines(page).filter_map(|(code, line)| code.then_some(line))
    }

    fn prose(page: &str) -> impl Iterator<Item = &str> {
        lines(page).filter_map(|(code, line)| (!code).then_some(line))
    }

    #[test]
    fn every_chapter_of_a_design_has_the_same_parts() {
        let parts = [
            "## The structs",
            "## Working with it",
            "## What the library does",
            "## What can go wrong",
            "## See also",
        ];
        for (_, name, text) in chapters() {
            let headings: Vec<&str> = prose(&text).filter(|line| line.starts_with("## ")).collect();
            assert_eq!(headings, parts, "in {name}");
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
            assert!(sections[3].contains("\n| "), "{name} has no table of statements");
            for line in code(&text) {
                let shown = line.strip_prefix("# ").unwrap_or(line);
                assert!(
                    shown.chars().count() <= COLUMNS,
                    "{name} has a line of code that is cut:\n{line}"
                );
            }
            // The samples that contain whole programs repeat the structs, hidden.
            let without_empty_lines = |text: &str| {
                let lines: Vec<&str> = text
                    .lines()
                    .filter(|line| !matches!(line.trim(), "" | "#"))
                    .collect();
                lines.join("\n")
            };
            let samples = samples(&text);
            let structs = without_empty_lines(&samples[0]);
            for sample in samples.iter().filter(|sample| sample.contains("#[tokio::main]")) {
                let sample = without_empty_lines(sample);
                assert!(
                    sample.contains(&structs),
                    "{name} shows other structs than its samples use"
                );
            }
        }
    }

    #[test]
    fn every_chapter_of_a_design_is_in_the_summary_and_tested_and_has_no_dead_link() {
        let (summary, lib) = (include_str!("src/SUMMARY.md"), include_str!("lib.rs"));
        let choosing = include_str!("src/choosing.md");
        for (path, name, text) in chapters() {
            let file = format!("designs/{name}");
            assert!(
                summary.contains(&format!("({file})")),
                "SUMMARY.md does not name {file}"
            );
            assert!(
                lib.contains(&format!("\"src/{file}\"")),
                "lib.rs does not test {file}"
            );
            assert!(
                choosing.contains(&format!("({file})")),
                "choosing.md does not name {file}"
            );
            for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = link.split('#').next().unwrap_or_default();
                let is_there = file.is_empty() || file.contains("://") || path.with_file_name(file).is_file();
                assert!(is_there, "{name} links to {link}");
            }
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

    #[test]
    fn every_decision_is_in_the_summary_and_has_no_dead_link() {
        let summary = include_str!("src/SUMMARY.md");
        let decisions = concat!(env!("CARGO_MANIFEST_DIR"), "/src/decisions");
        let mut names = Vec::new();
        for page in std::fs::read_dir(decisions).expect("the book has decisions") {
            let path = page.expect("a page").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name in Unicode");
            assert!(
                summary.contains(&format!("(decisions/{name})")),
                "SUMMARY.md does not name decisions/{name}"
            );
            let text = std::fs::read_to_string(&path).expect("a page can be read");
            for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = link.split('#').next().unwrap_or_default();
                let is_there = file.is_empty() || file.contains("://") || path.with_file_name(file).is_file();
                assert!(is_there, "{} links to {link}", path.display());
            }
            names.push(name.to_owned());
        }
        assert_eq!(summary.matches("](decisions/").count(), names.len());
    }
}
