//! The schema, then everything in three calls.

use super::Library;
use crate::show::Show;
use anyhow::{Context, Result};
use odm::prelude::*;
use odm_examples::books::library::{Author, Book, Category, NewAuthor, NewBook, NewCategory};
use std::collections::{BTreeSet, HashMap};

pub async fn schema(show: &mut Show, odm: &Odm) -> Result<()> {
    show.part("The schema: the references declare the indexes that they need");
    let plan = show.step("What would `sync` do?", odm.plan()).await?;
    show.block(&plan.to_string());
    show.step("Do it", odm.apply(&plan)).await?;
    Ok(())
}

pub async fn insert(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    show.part("Everything in three calls");
    let (authors, books, categories) = (
        odm.collection::<Author>(),
        odm.collection::<Book>(),
        odm.collection::<Category>(),
    );
    let new = library.authors.keys().zip(1..).map(|(name, id)| NewAuthor {
        id,
        name: name.clone(),
        books: Vec::new(),
    });
    let what = format!("{} authors, who have no books yet", library.authors.len());
    let stored = show.step(what, authors.insert_many(new)).await?;
    let author: HashMap<&str, Ref<Author>> = stored.iter().map(|a| (a.name.as_str(), a.to_ref())).collect();

    let new = library.categories.keys().zip(1..).map(|(name, id)| NewCategory {
        id,
        name: name.clone(),
    });
    let what = format!("{} categories", library.categories.len());
    let stored = show.step(what, categories.insert_many(new)).await?;
    let category: HashMap<&str, Ref<Category>> =
        stored.iter().map(|c| (c.name.as_str(), c.to_ref())).collect();

    let new = library.books.iter().map(|book| {
        Some(NewBook {
            id: book.id.clone(),
            title: book.title.clone(),
            authors: refs(&book.authors, &author)?,
            categories: refs(&book.categories, &category)?,
        })
    });
    let new: Option<Vec<NewBook>> = new.collect();
    let new = new.context("a book has a name that no document has")?;
    let what = format!(
        "{} books with references to both: the authors and categories have to exist, and the authors' side is written too",
        new.len()
    );
    show.step(what, books.insert_many(new)).await?;
    compare(show, odm, library).await
}

fn refs<T: Copy>(names: &[String], by_name: &HashMap<&str, T>) -> Option<Vec<T>> {
    names
        .iter()
        .map(|name| by_name.get(name.as_str()).copied())
        .collect()
}

/// Both sides are what the file says.
async fn compare(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    let links: usize = library.authors.values().map(BTreeSet::len).sum();
    let expected: BTreeSet<(String, i32)> = library
        .authors
        .values()
        .zip(1..)
        .flat_map(|(books, id)| books.iter().map(move |at| (*at, id)))
        .filter_map(|(at, id)| Some((library.books.get(at)?.id.to_string(), id)))
        .collect();
    let (books, authors) = (odm.collection::<Book>(), odm.collection::<Author>());
    let books = show.step("Read the books' side", books.find_all().all()).await?;
    let of_books: Vec<(String, i32)> = books
        .iter()
        .flat_map(|book| {
            book.authors
                .iter()
                .map(|author| (book.id.to_string(), *author.key()))
        })
        .collect();
    check_side(show, "books name their authors", of_books, &expected)?;
    let authors = show
        .step("Read the authors' side", authors.find_all().all())
        .await?;
    let of_authors: Vec<(String, i32)> = authors
        .iter()
        .flat_map(|author| {
            author
                .books
                .iter()
                .map(|book| (book.key().to_string(), author.id))
        })
        .collect();
    check_side(show, "authors name their books", of_authors, &expected)?;
    show.check(
        &format!("{links} links, as counted in the file"),
        expected.len(),
        links,
    )
}

fn check_side(
    show: &mut Show,
    side: &str,
    links: Vec<(String, i32)>,
    expected: &BTreeSet<(String, i32)>,
) -> Result<()> {
    let count = links.len();
    show.check(
        &format!("{count} times {side}, none twice"),
        count,
        expected.len(),
    )?;
    show.check(
        "and these are the links of the file",
        &links.into_iter().collect(),
        expected,
    )
}
