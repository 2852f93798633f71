//! The page of the guide that shows the models of every program: it is what the programs draw.

use mongodb::Client;
use odm::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const MARK: &str =
    "<!-- what follows is written by `ODM_WRITE_BOOK=1 cargo test -p odm-examples --test diagrams` -->\n";

struct Design {
    /// The name of the program, which is that of the image.
    name: &'static str,
    title: &'static str,
    models: Vec<odm::Model>,
}

macro_rules! design {
    ($name:ident, $title:literal, $($model:ident),*) => {
        Design {
            name: stringify!($name),
            title: $title,
            models: {
                use odm_examples::$name::{$($model),*};
                models![$($model),*].to_vec()
            },
        }
    };
}

fn designs() -> Vec<Design> {
    vec![
        design!(one_to_few, "One-to-few: embedded", Person),
        design!(one_to_one_split, "One-to-one, split", Movie, MovieDetails),
        design!(one_to_many, "One-to-many: references with a copy", Part, Product),
        design!(
            one_to_squillions,
            "One-to-squillions: the child names its parent",
            Host,
            LogMsg
        ),
        design!(reference_in_child, "A reference in the child", Publisher, Book),
        design!(two_way, "Two-way", Person, Task),
        design!(many_to_many, "Many-to-many", Author, Book, Category),
        design!(subset, "A subset and numbers of the children", Product, Review),
        design!(bucket, "Buckets", Post, CommentBucket),
    ]
}

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src")
}

#[tokio::test]
async fn the_book_shows_every_design() {
    // Nobody listens on port 1, and nobody is asked.
    let client = Client::with_uri_str("mongodb://127.0.0.1:1").await.unwrap();
    let write = std::env::var_os("ODM_WRITE_BOOK").is_some();
    let mut page = String::new();
    for Design { name, title, models } in designs() {
        let edges = Odm::new(client.database("diagrams"), models).unwrap().edges();
        write!(
            page,
            "\n## {title}\n\n```text\n{edges}\n```\n\n![{title}](edges/{name}.svg)\n\n<details><summary>Mermaid</summary>\n\n\
             ```mermaid\n{}```\n\n</details>\n",
            edges.mermaid()
        )
        .unwrap();
        let image = book().join("edges").join(format!("{name}.svg"));
        if write {
            std::fs::write(&image, edges.svg()).unwrap();
        }
        let shown = std::fs::read_to_string(&image).unwrap_or_default();
        assert!(shown == edges.svg(), "{} is not what is drawn", image.display());
    }
    let file = book().join("edges.md");
    let shown = std::fs::read_to_string(&file).unwrap();
    let (above, below) = shown.split_once(MARK).expect("the mark of what is drawn");
    if write {
        std::fs::write(&file, format!("{above}{MARK}{page}")).unwrap();
    } else {
        assert!(below == page, "{}", MARK.trim());
    }
}

/// Every program of this package that has models of its own has a place on the page.
#[test]
fn no_design_is_left_out() {
    let source = include_str!("../src/lib.rs");
    let programs = source.lines().filter_map(|line| line.strip_prefix("pub mod "));
    let mut programs: Vec<&str> = programs.map(|name| name.trim_end_matches(';')).collect();
    let mut shown: Vec<&str> = designs().iter().map(|design| design.name).collect();
    programs.retain(|name| *name != "operations");
    programs.sort_unstable();
    shown.sort_unstable();
    assert_eq!(shown, programs);
}
