//! A book catalogue: books, their authors and their subjects, read from a real file.
//!
//! The page of a book shows the names of its authors, so the book stores copies of them; a subject has any number of books,
//! so the book names its subjects, and no subject lists its books.
use crate::books::model::BookId;
use crate::books::{file, names, sample};
use crate::data;
use crate::program::{self, Options, Run};
use clap::Parser;
use mongodb::Database;
use odm::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
pub struct Author {
    pub id: i32,
    #[index(unique)]
    #[field(min_len = 1, max_len = 60)]
    pub name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "subjects")]
pub struct Subject {
    pub id: i32,
    #[index(unique)]
    #[field(min_len = 1, max_len = 40)]
    pub name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "books", index(fields(title, id)))]
pub struct Book {
    pub id: BookId,
    #[field(min_len = 1, max_len = 100)]
    pub title: String,
    pub published: Option<DateTime>,
    #[reference(many, max = 12)]
    #[denormalize(from = Author, fields(name: String))]
    // generates AuthorEntry { id: Ref<Author>, name: String }
    pub authors: Vec<AuthorEntry>,
    #[reference(many, max = 5)]
    pub subjects: Vec<Ref<Subject>>,
}

#[derive(Parser)]
struct Cli {
    /// The books: MongoDB Extended JSON, one document a line [default: ../shared/data/books.json, else made up]
    path: Option<PathBuf>,
    /// Shows the books whose title contains this
    #[arg(long, default_value = "Action")]
    search: String,
    #[command(flatten)]
    options: Options,
}

pub fn start() -> ExitCode {
    let cli = Cli::parse();
    program::on_a_database(&cli.options, "book_catalogue", |db| -> Run {
        Box::pin(async move {
            let lines = match cli.path.or_else(|| data::beside(file::FILE)) {
                Some(path) => file::read(&path)?,
                None => file::parse(&sample::lines())?,
            };
            Ok(run(db, &entries(&lines)?, &cli.search).await?)
        })
    })
}

/// A book of the file, with the names that are meant.
#[derive(Debug)]
pub struct Entry {
    book: names::Named,
    published: Option<DateTime>,
}

/// Reads the entries of the catalogue. The file has names in several spellings, cut off, twice, empty: `names` cleans them.
pub fn entries(lines: &[file::Line]) -> anyhow::Result<Vec<Entry>> {
    let cleaned = names::clean(lines)?;
    let entries = cleaned.books.into_iter().zip(lines).map(|(book, line)| {
        let published = line.published()?;
        Ok(Entry { book, published })
    });
    entries.collect()
}

pub async fn run(db: Database, entries: &[Entry], search: &str) -> odm::Result<()> {
    let odm = Odm::new(db, models![Author, Subject, Book])?;
    odm.sync().await?;
    load(&odm, entries).await?;
    find(&odm, entries, search).await?;
    list(&odm, entries).await?;
    rename(&odm, entries).await?;
    by_subject(&odm, entries).await?;
    assert!(odm.audit().await?.is_clean());
    Ok(())
}

/// Authors and subjects first, then the books that refer to them: three calls.
async fn load(odm: &Odm, entries: &[Entry]) -> odm::Result<()> {
    let all = |names: fn(&names::Named) -> &Vec<String>| -> BTreeSet<&String> {
        entries.iter().flat_map(|entry| names(&entry.book)).collect()
    };
    let new = (1..).zip(all(|book| &book.authors));
    let new = new.map(|(id, name)| NewAuthor {
        id,
        name: name.clone(),
    });
    let authors = odm.collection::<Author>().insert_many(new).await?;
    let new = (1..).zip(all(|book| &book.categories));
    let new = new.map(|(id, name)| NewSubject {
        id,
        name: name.clone(),
    });
    let subjects = odm.collection::<Subject>().insert_many(new).await?;

    let author: HashMap<&str, Ref<Author>> = authors.iter().map(|a| (a.name.as_str(), a.to_ref())).collect();
    let subject: HashMap<&str, Ref<Subject>> =
        subjects.iter().map(|s| (s.name.as_str(), s.to_ref())).collect();
    let new = entries.iter().map(|entry| NewBook {
        id: entry.book.id.clone(),
        title: entry.book.title.clone(),
        published: entry.published,
        authors: entry
            .book
            .authors
            .iter()
            .map(|name| author[name.as_str()])
            .collect(),
        subjects: entry
            .book
            .categories
            .iter()
            .map(|name| subject[name.as_str()])
            .collect(),
    });
    let books = odm.collection::<Book>().insert_many(new).await?;
    println!(
        "{} books by {} authors on {} subjects",
        books.len(),
        authors.len(),
        subjects.len()
    );
    Ok(())
}

/// Books by a part of their title, with their subjects: the authors' names are in the books.
async fn find(odm: &Odm, entries: &[Entry], search: &str) -> odm::Result<()> {
    let books = odm.collection::<Book>();
    let found: Vec<(Book, Vec<Subject>)> = books
        .find(|b| b.title.contains_text(search))
        .sort(|b| b.title.asc())
        .include(|b| b.subjects)
        .all()
        .await?;
    println!("{} books with {search:?} in the title:", found.len());
    for (book, subjects) in found.iter().take(5) {
        let subjects: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
        println!("  {}, by {} [{}]", book.title, authors(book), subjects.join(", "));
    }
    let expected = entries.iter().filter(|entry| entry.book.title.contains(search));
    assert_eq!(found.len(), expected.count());
    Ok(())
}

/// The whole catalogue by title, page by page: each page begins where the last one ended, without counting.
async fn list(odm: &Odm, entries: &[Entry]) -> odm::Result<()> {
    let books = odm.collection::<Book>();
    let (mut pages, mut read, mut next) = (0, 0, None);
    loop {
        let mut page = books.find_all().sort(|b| b.title.asc()).page(100);
        if let Some(cursor) = next {
            page = page.after(cursor);
        }
        let page = page.await?;
        pages += 1;
        read += page.items.len();
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    println!("The catalogue in {pages} pages of a hundred: {read} books");
    assert_eq!(read, entries.len());
    Ok(())
}

/// Renames the author with the most books: one call, and all of the books show the new name.
async fn rename(odm: &Odm, entries: &[Entry]) -> odm::Result<()> {
    let mut shelves: BTreeMap<&String, u64> = BTreeMap::new();
    for name in entries.iter().flat_map(|entry| &entry.book.authors) {
        *shelves.entry(name).or_default() += 1;
    }
    let Some((name, written)) = shelves
        .into_iter()
        .max_by_key(|(name, books)| (*books, std::cmp::Reverse(*name)))
    else {
        return Ok(());
    };
    let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
    let author = authors.find(|a| a.name.eq(name.clone())).one().await?;
    let author = author.expect("every name of the file is an author");
    let renamed = format!("{name} (Ed.)");
    let done = authors.update(author.id).set(|a| a.name, renamed.clone()).await?;
    assert_eq!(done.copies_updated, written);
    let found = books.find(|b| b.authors.name.eq(renamed.clone())).count().await?;
    assert_eq!(found, written);
    println!("{name} is now {renamed}, in {written} books");
    Ok(())
}

/// The books on the largest subject, by the index of the reference.
async fn by_subject(odm: &Odm, entries: &[Entry]) -> odm::Result<()> {
    let mut shelves: BTreeMap<&String, u64> = BTreeMap::new();
    for name in entries.iter().flat_map(|entry| &entry.book.categories) {
        *shelves.entry(name).or_default() += 1;
    }
    let Some((name, on_it)) = shelves
        .into_iter()
        .max_by_key(|(name, books)| (*books, std::cmp::Reverse(*name)))
    else {
        return Ok(());
    };
    let subject = odm
        .collection::<Subject>()
        .find(|s| s.name.eq(name.clone()))
        .one()
        .await?;
    let subject = subject.expect("every name of the file is a subject");
    let books = odm.collection::<Book>();
    let found = books
        .find(|b| b.subjects.contains(subject.to_ref()))
        .count()
        .await?;
    assert_eq!(found, on_it);
    println!("{found} books on {name}");
    Ok(())
}

/// `A, B and C`, from the book alone.
fn authors(book: &Book) -> String {
    let names: Vec<&str> = book.authors.iter().map(|author| author.name.as_str()).collect();
    match names.as_slice() {
        [] => "an unknown author".to_owned(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}
