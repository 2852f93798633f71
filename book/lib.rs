//! The guide of odm. Every page is a module here, so that `cargo test -p odm-book` compiles and runs its samples.

pub mod blog;
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
    application => "src/application.md";
    deployment => "src/deployment.md";
    runbook => "src/runbook.md";
    coming_from => "src/coming-from.md";
    from_mongoose => "src/from-mongoose.md";
    from_beanie => "src/from-beanie.md";
    from_prisma => "src/from-prisma.md";
    from_mongodm => "src/from-mongodm.md";
    from_oximod => "src/from-oximod.md";
    from_driver => "src/from-driver.md";
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
                "coming-from",
                include_str!("src/coming-from.md"),
                include_str!("blog.rs"),
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
