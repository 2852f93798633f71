//! The same file as documents that refer to each other: books and their authors know each other, and books know their
//! categories.

mod change;
mod damage;
mod load;
mod walk;

use crate::books;
use crate::books::file::Line;
use crate::show::Show;
use anyhow::Result;
use mongodb::Database;
use names::{Cleaned, Done};
use odm::prelude::*;
use odm_examples::books::library::{Author, Book, Category};
use odm_examples::books::names;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub async fn run(show: &mut Show, db: Database, path: Option<PathBuf>) -> Result<()> {
    show.heading("Real relationships: books, their authors, their categories");
    let lines = books::lines(show, path)?;
    show.text(
        "Now every author and every category is a document of its own. A book and its authors name each other, \
         `#[reference(many, inverse = …, max = N)]` on both sides; a book names its categories, `#[reference(many, max = 5)]`, \
         and no category lists its books, since there may be any number of them.",
    );
    let cleaned = names::clean(&lines)?;
    describe(show, &lines, &cleaned);
    let library = Library::of(cleaned.books);
    let odm = Odm::new(db, models![Author, Book, Category])?;
    load::schema(show, &odm).await?;
    load::insert(show, &odm, &library).await?;
    walk::run(show, &odm, &library).await?;
    change::run(show, &odm, &library).await?;
    damage::run(show, &odm, &library).await
}

/// The numbers of the file, counted by plain code that knows nothing of references.
struct Library {
    books: Vec<names::Named>,
    /// The books of each author. An author's id is the position here, from 1.
    authors: Shelves,
    /// The books of each category, in the same way.
    categories: Shelves,
}

/// The positions of books, by a name.
type Shelves = BTreeMap<String, BTreeSet<usize>>;

impl Library {
    fn of(books: Vec<names::Named>) -> Library {
        let (mut authors, mut categories) = (Shelves::new(), Shelves::new());
        for (at, book) in books.iter().enumerate() {
            for (names, shelves) in [(&book.authors, &mut authors), (&book.categories, &mut categories)] {
                for name in names {
                    shelves.entry(name.clone()).or_default().insert(at);
                }
            }
        }
        Library {
            books,
            authors,
            categories,
        }
    }

    /// The titles of an author's or a category's books, sorted.
    fn titles(&self, shelf: &BTreeSet<usize>) -> Vec<&str> {
        let mut titles: Vec<&str> = shelf
            .iter()
            .filter_map(|at| self.books.get(*at))
            .map(|book| book.title.as_str())
            .collect();
        titles.sort_unstable();
        titles
    }
}

/// The name with the most books; of several the first.
fn largest(shelves: &Shelves) -> Option<(&String, &BTreeSet<usize>)> {
    shelves
        .iter()
        .max_by_key(|(name, books)| (books.len(), std::cmp::Reverse(*name)))
}

/// Says what the names were like.
fn describe(show: &Show, lines: &[Line], cleaned: &Cleaned) {
    show.part("The names, cleaned");
    report(show, "authors", lines, |line| &line.authors, &cleaned.authors);
    report(
        show,
        "categories",
        lines,
        |line| &line.categories,
        &cleaned.categories,
    );
    if !cleaned.alike.is_empty() {
        show.text(&format!(
            "{} groups of authors differ in a middle initial alone, as {}. Each may be one person or several, so they stay.",
            cleaned.alike.len(),
            cleaned.alike.iter().take(2).cloned().collect::<Vec<_>>().join(", "),
        ));
    }
}

fn report(show: &Show, what: &str, lines: &[Line], names: fn(&Line) -> &[String], done: &Done) {
    let all: Vec<&String> = lines.iter().flat_map(names).collect();
    let different: BTreeSet<&&String> = all.iter().collect();
    show.text(&format!(
        "Of {} names of {what}, {} of them different:",
        all.len(),
        different.len()
    ));
    show.list(done.iter().map(|(rule, cases)| {
        let mut seen = BTreeSet::new();
        let mut examples: Vec<&str> = cases.iter().map(String::as_str).collect();
        examples.retain(|example| seen.insert(*example));
        let more = if examples.len() > 3 { ", …" } else { "" };
        examples.truncate(3);
        format!(
            "{} × {} ({}{more})",
            cases.len(),
            rule.text(),
            examples.join("; ")
        )
    }));
}
