//! The guide of odm. Every page is a module here, so that `cargo test -p odm-book` compiles and runs its samples.

pub mod designs;
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
    design_copies => "src/designs/copies.md";
    design_extended_reference => "src/designs/extended-reference.md";
    design_subset => "src/designs/subset.md";
    design_computed => "src/designs/computed.md";
    design_buckets => "src/designs/buckets.md";
    design_outlier => "src/designs/outlier.md";
    design_tree => "src/designs/tree.md";
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

    /// The pages below a folder of the book, by their paths from `src`, with their texts.
    fn pages(below: &str) -> Vec<(String, String)> {
        let src = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
        let mut pages = Vec::new();
        for entry in std::fs::read_dir(src.join(below)).expect("the book has pages") {
            let entry = entry.expect("a page");
            let name = entry.file_name().into_string().expect("a name in Unicode");
            let path = if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            };
            if entry.path().is_dir() {
                pages.extend(self::pages(&path));
            } else if path.ends_with(".md") {
                pages.push((
                    path,
                    std::fs::read_to_string(entry.path()).expect("a page can be read"),
                ));
            }
        }
        pages.sort();
        pages
    }

    #[test]
    fn every_page_is_in_the_summary_and_its_samples_are_tested() {
        let (summary, lib) = (include_str!("src/SUMMARY.md"), include_str!("lib.rs"));
        for (path, text) in pages("") {
            if path == "SUMMARY.md" {
                continue;
            }
            assert!(
                summary.contains(&format!("({path})")),
                "SUMMARY.md does not name {path}"
            );
            assert!(
                samples(&text).is_empty() || lib.contains(&format!("\"src/{path}\"")),
                "lib.rs does not test {path}"
            );
        }
    }

    /// The first hour shows the application that `odm new` makes.
    #[test]
    fn getting_started_shows_the_template() {
        let page = include_str!("src/getting-started.md");
        for file in ["src/models.rs", "src/main.rs", "tests/shop.rs"] {
            let path = format!("{}/../odm/cli/template/{file}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(path).expect("the template has the file");
            assert!(
                samples(page).contains(&text),
                "getting-started.md shows another {file}:\n{text}"
            );
        }
    }

    #[test]
    fn no_page_has_a_dead_link() {
        let src = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
        for (path, text) in pages("") {
            let page = src.join(&path);
            for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = link.split('#').next().unwrap_or_default();
                let is_there = file.is_empty() || file.contains("://") || page.with_file_name(file).is_file();
                assert!(is_there, "{path} links to {link}");
            }
        }
    }
}
