//! The pictures of the guide: the designs as the library draws them, what is sent in which order, what was measured.
//!
//! `ODM_WRITE_BOOK=1 cargo test -p odm-examples --test diagrams` writes them, and the page that shows all designs. Without it
//! the test compares them with the files.

mod bars;
mod canvas;
mod curves;
mod sequence;
mod sequences;

/// The models of chapters whose programs show more than one design.
#[allow(dead_code)] // they are drawn, not stored
use mongodb::Client;
use odm::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const MARK: &str =
    "<!-- what follows is written by `ODM_WRITE_BOOK=1 cargo test -p odm-examples --test diagrams` -->\n";

struct Design {
    /// The name of the picture, and of the program.
    name: &'static str,
    title: &'static str,
    /// Its page in `designs`, and which of the page's samples has the structs, if it has a page.
    chapter: Option<(&'static str, usize)>,
    /// The source that declares the models.
    source: &'static str,
    models: Vec<odm::Model>,
}

macro_rules! design {
    ($name:ident, $module:ident, $title:literal, $chapter:expr, $source:literal, $at:path, [$($model:ident),*]) => {
        Design {
            name: stringify!($name),
            title: $title,
            chapter: $chapter,
            source: include_str!(concat!("../../", $source, stringify!($module), ".rs")),
            models: {
                use $at::{$($model),*};
                models![$($model),*].to_vec()
            },
        }
    };
    // Of the program.
    (program $name:ident, $title:literal, $chapter:expr, $($model:ident),*) => {
        design!($name, $name, $title, $chapter, "src/", odm_examples::$name, [$($model),*])
    };
    // Of the chapter, whose models are a module of the guide.
    (chapter $name:ident, $module:ident, $title:literal, $chapter:expr, $($model:ident),*) => {
        design!($name, $module, $title, $chapter, "../book/designs/", odm_book::designs::$module, [$($model),*])
    };
}

fn designs() -> Vec<Design> {
    vec![
        design!(program one_to_one, "One-to-one: embed or link", Some(("one-to-one", 0)), User, Membership),
        design!(chapter one_to_one_split, split, "One-to-one, split", Some(("split", 0)), Movie, MovieDetails),
        design!(chapter one_to_few, one_to_few, "One-to-few: an embedded array", Some(("one-to-few", 0)), Person),
        design!(chapter one_to_many, one_to_many, "One-to-many: an array of references", Some(("one-to-many", 0)), Part, Product),
        design!(
            chapter one_to_squillions, squillions,
            "One-to-squillions: the child refers to its parent",
            Some(("squillions", 0)),
            Host,
            LogMsg
        ),
        design!(program reference_in_child, "A reference in the child, with bounds", None, Publisher, Book),
        design!(chapter two_way, two_way, "Two-way references", Some(("two-way", 0)), Person, Task),
        design!(chapter many_to_many, many_to_many, "Many-to-many", Some(("many-to-many", 0)), Author, Book, Category),
        design!(program copies, "Copies", Some(("copies", 0)), Supplier, Part, Product),
        design!(
            program extended_reference,
            "Extended reference",
            Some(("extended-reference", 0)),
            Customer,
            Order
        ),
        design!(chapter subset, subset, "Subset", Some(("subset", 0)), Product, Review),
        design!(program computed, "Computed fields", Some(("computed", 0)), Product, Review),
        design!(chapter bucket, buckets, "Buckets by count", Some(("buckets", 0)), Post, CommentBucket),
        design!(program bucket_by_time, "Buckets by time", Some(("buckets", 1)), Sensor, ReadingBucket),
        design!(program outlier, "Outlier", Some(("outlier", 0)), Book, BuyerBucket),
        design!(program tree, "Tree", Some(("tree", 0)), Category),
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
        "{} is not what is drawn: {}",
        file.display(),
        MARK.trim()
    );
}

#[tokio::test]
async fn the_book_shows_every_design() {
    // No server listens on port 1, and no command is sent.
    let client = Client::with_uri_str("mongodb://127.0.0.1:1").await.unwrap();
    let mut page = String::new();
    for design in designs() {
        let Design { name, title, .. } = design;
        let edges = Odm::new(client.database("diagrams"), design.models)
            .unwrap()
            .edges();
        let svg = edges.svg();
        canvas::assert_readable(name, &svg);
        assert_is(&book().join("edges").join(format!("{name}.svg")), &svg);
        let chapter = design.chapter.map(|(chapter, _)| format!("designs/{chapter}.md"));
        let chapter = chapter.filter(|chapter| book().join(chapter).is_file());
        let chapter = chapter.map_or(String::new(), |chapter| {
            format!("[Structs, operations and costs of this design]({chapter})\n\n")
        });
        write!(
            page,
            "\n## {title}\n\n![{title}](edges/{name}.svg)\n\n{chapter}<details><summary>In words, and in Mermaid</summary>\n\n\
             ```text\n{}\n```\n\n```mermaid\n{}```\n\n</details>\n",
            wrapped(&edges.to_string()),
            edges.mermaid()
        )
        .unwrap();
    }
    let file = book().join("edges.md");
    let shown = std::fs::read_to_string(&file).unwrap();
    let (above, _) = shown.split_once(MARK).expect("the mark of what is drawn");
    assert_is(&file, &format!("{above}{MARK}{page}"));
}

/// Lines of at most 84 columns, the further ones indented.
fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len() + 4;
        let mut rest = line.to_owned();
        while rest.chars().count() > 84 {
            let end = rest.char_indices().nth(84).map_or(rest.len(), |(at, _)| at);
            let at = rest[..end].rfind(' ').filter(|at| *at > indent).unwrap_or(end);
            let below = rest.split_off(at);
            lines.push(rest);
            rest = format!("{}{}", " ".repeat(indent), below.trim_start());
        }
        lines.push(rest);
    }
    lines.join("\n")
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
    let chapters = book().join("designs");
    let mut compared = 0;
    for design in designs() {
        let Some((chapter, sample)) = design.chapter else {
            continue;
        };
        let page = match std::fs::read_to_string(chapters.join(format!("{chapter}.md"))) {
            Ok(page) => page,
            // A guide without chapters has no structs that could differ.
            Err(_) if !chapters.is_dir() => continue,
            Err(error) => panic!("{chapter}: {error}"),
        };
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
    assert!(compared == 15 || !chapters.is_dir(), "{compared} chapters");
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
    let page = std::fs::read_to_string(book().join("cost.md")).unwrap();
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
    let page = "x\n\n| operation | by hand, with the same guarantee | ratio | one statement | ratio |\n\
                | --- | --- | --- | --- | --- |\n| `get` | `find_one` | 1.02 | the same | 1.02 |\n\
                | the same [`by_queries`](joins.md#x) | `a`, `b` | 0.90 and 4.3 | `c` | not measured and 2 |\n\
                | `get` | two | 1 | – | – |\n\nnot this\n";
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
                &[("0.90", Some(0.9)), ("4.3", Some(4.3))],
                &[("not measured", None), ("2", Some(2.0))]
            ),
            row("get: two", &[("1", Some(1.0))], &[("–", None)])
        ]
    );
}
