//! The pictures of the guide: the designs as the library draws them, what is sent in which order, what was measured.
//!
//! `ODM_WRITE_BOOK=1 cargo test -p odm-examples --test diagrams` writes them, and without it the test compares them with the files.

mod bars;
mod canvas;
mod curves;
mod sequence;
mod sequences;

/// The models of chapters whose programs show more than one design.
#[allow(dead_code)] // they are drawn, not stored
use mongodb::Client;
use odm::prelude::*;
use std::path::{Path, PathBuf};

const WRITTEN_BY: &str = "ODM_WRITE_BOOK=1 cargo test -p odm-examples --test diagrams";

struct Design {
    /// The name of the picture, and of the program.
    name: &'static str,
    /// Its page, and which of the page's samples has the structs, if it has a page.
    chapter: Option<(&'static str, usize)>,
    /// The source that declares the models.
    source: &'static str,
    models: Vec<odm::Model>,
}

macro_rules! design {
    ($name:ident, $module:ident, $chapter:expr, $source:literal, $at:path, [$($model:ident),*]) => {
        Design {
            name: stringify!($name),
            chapter: $chapter,
            source: include_str!(concat!("../../", $source, stringify!($module), ".rs")),
            models: {
                use $at::{$($model),*};
                models![$($model),*].to_vec()
            },
        }
    };
    // Of the program.
    (program $name:ident, $chapter:expr, $($model:ident),*) => {
        design!($name, $name, $chapter, "src/", odm_examples::$name, [$($model),*])
    };
    // Of the chapter, whose models are a module of the guide.
    (chapter $name:ident, $module:ident, $chapter:expr, $($model:ident),*) => {
        design!($name, $module, $chapter, "../book/designs/", odm_book::designs::$module, [$($model),*])
    };
}

fn designs() -> Vec<Design> {
    vec![
        design!(program one_to_one, Some(("designs/one-to-one", 0)), User, Membership),
        design!(chapter one_to_one_split, split, Some(("designs/one-to-one", 1)), Movie, MovieDetails),
        design!(chapter one_to_few, one_to_few, Some(("designs/one-to-few", 0)), Person),
        design!(chapter one_to_many, one_to_many, Some(("designs/one-to-many", 0)), Part, Product),
        design!(
            chapter one_to_squillions, squillions,
            Some(("designs/squillions", 0)),
            Host,
            LogMsg
        ),
        design!(program reference_in_child, None, Publisher, Book),
        design!(chapter two_way, two_way, Some(("designs/two-way", 0)), Person, Task),
        design!(chapter many_to_many, many_to_many, Some(("designs/many-to-many", 0)), Author, Book, Category),
        design!(program copies, Some(("copies", 0)), Supplier, Part, Product),
        design!(
            program extended_reference,
            Some(("designs/extended-reference", 0)),
            Customer,
            Order
        ),
        design!(chapter subset, subset, Some(("designs/subset", 0)), Product, Review),
        design!(program computed, Some(("designs/computed", 0)), Product, Review),
        design!(chapter bucket, buckets, Some(("designs/buckets", 0)), Post, CommentBucket),
        design!(program bucket_by_time, Some(("designs/buckets", 1)), Sensor, ReadingBucket),
        design!(program outlier, Some(("designs/outlier", 0)), Book, BuyerBucket),
        design!(program tree, Some(("designs/tree", 0)), Category),
    ]
}

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src")
}

/// Compares a file of the guide with what it should be, or writes it.
fn assert_is(file: &Path, text: &str) {
    if std::env::var_os("ODM_WRITE_BOOK").is_some() {
        std::fs::write(file, text).unwrap();
    }
    let shown = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        shown == text,
        "{} is not what is drawn: `{WRITTEN_BY}`",
        file.display()
    );
}

#[tokio::test]
async fn the_book_shows_every_design() {
    // No server listens on port 1, and no command is sent.
    let client = Client::with_uri_str("mongodb://127.0.0.1:1").await.unwrap();
    for design in designs() {
        let Design { name, .. } = design;
        let edges = Odm::new(client.database("diagrams"), design.models)
            .unwrap()
            .edges();
        let svg = edges.svg();
        canvas::assert_readable(name, &svg);
        assert_is(&book().join("edges").join(format!("{name}.svg")), &svg);
    }
}

/// Every program of a design has its picture, and every picture its program.
#[test]
fn no_design_is_left_out() {
    let mut shown: Vec<&str> = designs().iter().map(|design| design.name).collect();
    shown.sort_unstable();
    assert_eq!(shown, odm_examples::start::DESIGNS);
}

/// A picture stands beside the structs of its chapter, so it has to show these.
#[test]
fn pictures_show_the_structs_of_their_chapters() {
    let mut compared = 0;
    for design in designs() {
        let Some((chapter, sample)) = design.chapter else {
            continue;
        };
        let page = std::fs::read_to_string(book().join(format!("{chapter}.md")))
            .unwrap_or_else(|error| panic!("{chapter}: {error}"));
        // With the lines that mdBook hides.
        let page = page.replace("\n# ", "\n").replace("\n#\n", "\n\n");
        let samples = page.split("\n```rust\n").skip(1);
        let samples = samples.filter_map(|rest| rest.split("\n```").next());
        let structs = samples.map(|sample| sample.split_once("\n\n").map_or(sample, |(_, models)| models));
        let structs = structs.collect::<Vec<_>>();
        let structs = structs
            .get(sample)
            .unwrap_or_else(|| panic!("{chapter} has no sample {sample}"));
        assert!(
            design.source.contains(structs.trim()),
            "the source of the picture {} has other structs than its chapter {chapter}:\n{structs}",
            design.name
        );
        compared += 1;
    }
    assert_eq!(compared, 15);
}

#[test]
fn the_book_shows_what_is_sent() {
    for (name, sequence) in sequences::all() {
        let svg = sequence.draw();
        canvas::assert_readable(name, &svg);
        assert_is(&book().join("edges").join(format!("sequence_{name}.svg")), &svg);
    }
}

#[test]
fn the_book_shows_what_was_measured() {
    let page = std::fs::read_to_string(book().join("benchmark.md")).unwrap();
    let rows = bars::measured(&page);
    assert!(rows.len() > 10, "{rows:?}");
    let svg = bars::draw(&rows);
    canvas::assert_readable("bench", &svg);
    assert_is(&book().join("edges/bench.svg"), &svg);
}

#[test]
fn the_book_shows_how_costs_grow() {
    let page = std::fs::read_to_string(book().join("benchmark.md")).unwrap();
    let curves = curves::measured(&page);
    assert!(curves.len() > 10, "{curves:?}");
    let svg = curves::draw(&curves);
    canvas::assert_readable("growth", &svg);
    assert_is(&book().join("edges/growth.svg"), &svg);
}

#[test]
fn the_table_of_growth_is_read() {
    let page = "x\n| operation | 1,000 | 10,000 |\n| --- | --- | --- |\n\
                | find | 1.50 ms, 0.1 MiB | 2.00 s |\n| audit | – | 250.0 µs, 1.0 MiB |\n\n";
    let curve = |operation: &str, points: &[(&str, f64)]| curves::Curve {
        operation: operation.into(),
        points: points
            .iter()
            .map(|(text, time)| ((*text).to_owned(), *time))
            .collect(),
    };
    assert_eq!(
        curves::measured(page),
        [
            curve("find", &[("1.50 ms", 0.0015), ("2.00 s", 2.0)]),
            curve("audit", &[("250.0 µs", 250.0 * 1e-6)])
        ]
    );
}

#[test]
fn the_table_of_measurements_is_read() {
    let page = "x\n\n| scenario | by hand | ratio | 95 % interval | one statement | ratio |\n\
                | --- | --- | --- | --- | --- | --- |\n| `get` | `find_one` | 1.02 | 1.01 to 1.03 | the same | 1.02 |\n\
                | the same [`by_queries`](joins.md#x) | `a`, `b` | 4.3 | not measured | `c` | not measured |\n\
                | `get` | two | 1 | 0.90 to 1.10 | – | – |\n\nnot this\n";
    let all = |ratios: &[(&str, Option<f64>)]| -> Vec<bars::Ratio> {
        let ratios = ratios.iter();
        ratios.map(|(text, ratio)| ((*text).to_owned(), *ratio)).collect()
    };
    let row = |operation: &str, ratios, statement| bars::Measured {
        operation: operation.into(),
        ratios: all(ratios),
        statement: all(statement),
    };
    assert_eq!(
        bars::measured(page),
        [
            row("get", &[("1.02", Some(1.02))], &[]),
            row(
                "the same by_queries",
                &[("4.3", Some(4.3))],
                &[("not measured", None)]
            ),
            row("get: two", &[("1", Some(1.0))], &[("–", None)])
        ]
    );
}
