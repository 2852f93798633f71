//! Questions that lead from one collection to another, each answer compared with the file.

use super::{Library, largest};
use crate::books::describe_plan;
use crate::show::{Show, shorten};
use anyhow::{Context, Result};
use odm::Odm;
use odm::prelude::*;
use odm_examples::books::library::{Author, Book, BookFields, Category};
use std::collections::BTreeSet;

/// The documents that are joined to a book.
type AroundBook = (Vec<Author>, Vec<Category>);

pub async fn run(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    show.part("From one to the other: two queries for one hop, however many documents");
    books_of_an_author(show, odm, library).await?;
    authors_of_a_book(show, odm, library).await?;
    shelf(show, odm).await?;
    everything(show, odm, library).await?;
    colleagues(show, odm, library).await?;
    show.part("By the index of a one-way reference");
    by_category(show, odm, library).await
}

async fn books_of_an_author(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    let (name, shelf) = largest(&library.authors).context("no book has an author")?;
    let authors = odm.collection::<Author>();
    let find = authors
        .find(|a| a.name.eq(name.clone()))
        .include(|a| a.books)
        .one();
    let found = show.step(format!("{name} with all books"), find).await?;
    let (_, books) = found.context("the author has gone")?;
    let mut titles: Vec<&str> = books.iter().map(|book| book.title.as_str()).collect();
    show.got(shown(&titles));
    titles.sort_unstable();
    show.check(
        &format!("{} books, those of the file", titles.len()),
        titles,
        library.titles(shelf),
    )?;
    show.check("2 commands", show.last_sent(), 2)
}

async fn authors_of_a_book(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    let most = library.books.iter().max_by_key(|book| book.authors.len());
    let most = most.context("there are no books")?;
    let books = odm.collection::<Book>();
    let find = books
        .find(|b| b.id.eq(most.id.clone()))
        .include(|b| b.authors)
        .one();
    let what = format!("{:?} with its authors", shorten(&most.title, 40));
    let (_, authors) = show.step(what, find).await?.context("the book has gone")?;
    let names: Vec<&str> = authors.iter().map(|author| author.name.as_str()).collect();
    show.got(names.join(", "));
    show.check(
        "in the order of the title page, as in the file",
        names,
        most.authors.iter().map(String::as_str).collect(),
    )?;
    show.check("2 commands", show.last_sent(), 2)
}

async fn shelf(show: &mut Show, odm: &Odm) -> Result<()> {
    let books = odm.collection::<Book>();
    let find = books
        .find(|b| b.authors.size(2) & b.categories.size(2))
        .sort(|b| b.title.asc())
        .limit(4)
        .include(|b| (b.authors, b.categories))
        .all();
    let shelf = show
        .step(
            "A shelf: four books by two about two subjects, both at once",
            find,
        )
        .await?;
    show.list(shelf.iter().map(|(book, (authors, categories))| {
        let authors: Vec<&str> = authors.iter().map(|a| a.name.as_str()).collect();
        let categories: Vec<&str> = categories.iter().map(|c| c.name.as_str()).collect();
        format!(
            "{}: {} [{}]",
            book.title,
            authors.join(", "),
            categories.join(", ")
        )
    }));
    show.check("3 commands: one for each collection", show.last_sent(), 3)
}

async fn everything(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    let books = odm.collection::<Book>();
    let find = books.find_all().include(|b| (b.authors, b.categories)).all();
    let all: Vec<(Book, AroundBook)> = show.step("The same of all books at once", find).await?;
    let found: BTreeSet<(String, Vec<&str>, Vec<&str>)> = all
        .iter()
        .map(|(book, (authors, categories))| {
            let authors = authors.iter().map(|a| a.name.as_str());
            let categories = categories.iter().map(|c| c.name.as_str());
            (book.id.to_string(), authors.collect(), categories.collect())
        })
        .collect();
    let expected = library
        .books
        .iter()
        .map(|book| {
            let authors = book.authors.iter().map(String::as_str);
            let categories = book.categories.iter().map(String::as_str);
            (book.id.to_string(), authors.collect(), categories.collect())
        })
        .collect();
    show.check(
        &format!("{} books, each with the names of the file", all.len()),
        found,
        expected,
    )
}

async fn colleagues(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    let others = |name: &str| -> BTreeSet<&str> {
        let books = library.authors.get(name).into_iter().flatten();
        books
            .filter_map(|at| library.books.get(*at))
            .flat_map(|book| book.authors.iter().map(String::as_str))
            .filter(|other| *other != name)
            .collect()
    };
    let name = library.authors.keys().max_by_key(|name| others(name).len());
    let name = name.context("no book has an author")?;
    let authors = odm.collection::<Author>();
    let find = authors
        .find(|a| a.name.eq(name.clone()))
        .include(|a| a.books.include(|b| (b.authors, b.categories)))
        .one();
    let what = format!("{name}, the books, and their authors and categories: two hops");
    let (_, books) = show.step(what, find).await?.context("the author has gone")?;
    let found: BTreeSet<&str> = books
        .iter()
        .flat_map(|(_, (authors, _))| authors.iter().map(|a| a.name.as_str()))
        .filter(|other| other != name)
        .collect();
    show.got(format!(
        "with {}",
        found.iter().copied().collect::<Vec<_>>().join(", ")
    ));
    show.check("the same people as in the file", found, others(name))?;
    show.check("4 commands", show.last_sent(), 4)
}

async fn by_category(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    let (name, shelf) = largest(&library.categories).context("no book has a category")?;
    let categories = odm.collection::<Category>();
    let category = show
        .step(
            format!("The category {name}"),
            categories.find(|c| c.name.eq(name.clone())).one(),
        )
        .await?
        .context("the category has gone")?;
    let books = odm.collection::<Book>();
    let find = books.find(|b| b.categories.contains(category.to_ref()));
    let count = show.step("How many books name it?", find.count()).await?;
    show.check(&format!("{count}, as in the file"), count, shelf.len() as u64)?;
    let find = books.find(|b| b.categories.contains(category.to_ref()));
    let explain = show
        .step("How does the server find them?", find.explain())
        .await?;
    show.got(describe_plan(&explain));
    show.check(
        "by the index that the reference declares",
        (explain.is_collection_scan(), explain.returned),
        (false, shelf.len() as u64),
    )?;
    let find = categories
        .find_all()
        .include(|c| c.children_by(|b: BookFields| b.categories).limit(2))
        .explain();
    let explain = show
        .step("And two books of every category, from the other side?", find)
        .await?;
    show.list(explain.joins.iter().map(|join| {
        format!(
            "{} by {}: {} on {}",
            join.collection,
            join.field,
            join.stages.join(" ← "),
            join.indexes.join(", ")
        )
    }));
    show.check(
        "by the same index",
        explain.joins.iter().all(|join| !join.is_collection_scan()),
        true,
    )
}

/// Titles in one line, the last ones left out where there are too many.
fn shown(titles: &[&str]) -> String {
    let mut shown: Vec<String> = titles.iter().take(6).map(|title| shorten(title, 40)).collect();
    if titles.len() > shown.len() {
        shown.push(format!("and {} more", titles.len() - shown.len()));
    }
    shown.join("; ")
}
