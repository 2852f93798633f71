//! Questions about the books, each answer compared with the file.

use super::expect::Expected;
use super::file::Line;
use super::model::{Book, BookId, Shelf, Status};
use crate::show::{Show, shorten};
use anyhow::{Context, Result};
use mongodb::bson::doc;
use odm::Collection;
use odm::query::Pattern;
use std::collections::HashSet;

/// A category with the number of its books.
#[derive(odm::Row, Debug)]
struct Counted {
    #[field(name = "_id")]
    category: String,
    books: u64,
}

/// A category in all its spellings.
#[derive(odm::Row, Debug)]
struct Spelled {
    spellings: Vec<String>,
}

pub async fn run(show: &mut Show, books: &Collection<Book>, expected: &Expected) -> Result<()> {
    show.part("Questions");
    let category = categories(show, books, expected).await?;
    by_category(show, books, expected, &category).await?;
    by_author(show, books, expected).await?;
    by_title(show, books, expected).await?;
    pages(show, books, expected).await?;
    plans(show, books, &category).await
}

async fn categories(show: &mut Show, books: &Collection<Book>, expected: &Expected) -> Result<String> {
    let pipeline = books
        .aggregate()
        .unwind(|b| b.categories)
        .group(|b| b.categories, |group| group.count("books"))
        .stage(doc! { "$sort": { "books": -1, "_id": 1 } })
        .limit(5);
    let top: Vec<Counted> = show
        .step("The five categories with most books", pipeline.all())
        .await?;
    show.list(
        top.iter()
            .map(|counted| format!("{:<24} {:>4}", counted.category, counted.books)),
    );
    let found: Vec<(String, u64)> = top
        .into_iter()
        .map(|counted| (counted.category, counted.books))
        .collect();
    let mut ranking = expected.ranking(|line| &line.categories);
    ranking.truncate(5);
    show.check("the same five in the file", &found, &ranking)?;

    let pipeline = books
        .aggregate()
        .unwind(|b| b.categories)
        .stage(doc! { "$group": {
            "_id": { "$toLower": "$categories" },
            "spellings": { "$addToSet": "$categories" },
        } })
        .stage(doc! { "$match": { "spellings.1": { "$exists": true } } });
    let spelled: Vec<Spelled> = show
        .step("Which differ in capitals only?", pipeline.all())
        .await?;
    let mut variants: Vec<String> = spelled
        .into_iter()
        .map(|mut spelled| {
            spelled.spellings.sort();
            spelled.spellings.join(", ")
        })
        .collect();
    variants.sort();
    show.list(variants);
    found
        .into_iter()
        .next()
        .map(|(category, _)| category)
        .context("no book has a category")
}

async fn by_category(
    show: &mut Show,
    books: &Collection<Book>,
    expected: &Expected,
    category: &str,
) -> Result<()> {
    let find = books
        .find(|b| b.categories.contains(category.to_owned()) & b.status.eq(Status::Publish))
        .sort(|b| b.published_date.desc())
        .limit(3)
        .select::<Shelf>();
    let newest = show
        .step(
            format!("The newest of {category}, title and date only"),
            find.all(),
        )
        .await?;
    show.list(
        newest
            .iter()
            .map(|book| format!("{}  {}", book.day(), book.title)),
    );
    let count = books.find(|b| b.categories.contains(category.to_owned())).count();
    let count = show.step(format!("How many has {category}?"), count).await?;
    let in_file = expected.count(|line| line.categories.iter().any(|name| name == category));
    show.check(&format!("{count}, as in the file"), count, in_file)
}

async fn by_author(show: &mut Show, books: &Collection<Book>, expected: &Expected) -> Result<()> {
    let mut ranking = expected.ranking(|line| &line.authors).into_iter();
    let (author, in_file) = ranking
        .find(|(name, _)| !name.is_empty())
        .context("no book has an author")?;
    let find = books
        .find(|b| b.authors.contains(author.clone()))
        .sort(|b| b.title.asc())
        .all();
    let found = show.step(format!("Everything by {author}"), find).await?;
    let titles: Vec<String> = found.iter().map(|book| shorten(&book.title, 40)).collect();
    show.got(titles.join("; "));
    show.check(
        &format!("{} books, as in the file", found.len()),
        found.len() as u64,
        in_file,
    )
}

async fn by_title(show: &mut Show, books: &Collection<Book>, expected: &Expected) -> Result<()> {
    let find =
        books.find(|b| b.title.regex(Pattern::literal("in action").ignore_case()) & b.isbn.exists(false));
    let found = show
        .step("Books with \"in action\" in the title and no ISBN", find.all())
        .await?;
    show.got(
        found
            .iter()
            .map(|book| book.title.as_str())
            .collect::<Vec<_>>()
            .join("; "),
    );
    let fits = |line: &Line| line.title.to_lowercase().contains("in action") && line.isbn.is_none();
    show.check("as in the file", found.len() as u64, expected.count(fits))
}

async fn pages(show: &mut Show, books: &Collection<Book>, expected: &Expected) -> Result<()> {
    let size = 100;
    let all = async {
        let mut pages: Vec<Vec<Shelf>> = Vec::new();
        let mut token = None;
        loop {
            let mut page = books
                .find_all()
                .sort(|b| b.published_date.desc())
                .select::<Shelf>()
                .page(size);
            if let Some(token) = token {
                page = page.after(token);
            }
            let page = page.await?;
            pages.push(page.items);
            token = page.next;
            if token.is_none() {
                return odm::Result::<_>::Ok(pages);
            }
        }
    };
    let pages = show
        .step(
            format!("All books by date, newest first, in pages of {size}"),
            all,
        )
        .await?;
    show.list(pages.iter().enumerate().filter_map(|(at, page)| {
        let (first, last) = (page.first()?, page.last()?);
        Some(format!(
            "page {}: {:>3} books, {} to {}",
            at + 1,
            page.len(),
            first.day(),
            last.day()
        ))
    }));
    let books: Vec<&Shelf> = pages.iter().flatten().collect();
    let ids: HashSet<&BookId> = books.iter().map(|book| &book.id).collect();
    let ordered = books
        .windows(2)
        .all(|pair| pair[0].published_date >= pair[1].published_date);
    let total = expected.kept.len();
    show.check(
        "every book once, in order, those without a date last",
        (books.len(), ids.len(), ordered),
        (total, total, true),
    )
}

async fn plans(show: &mut Show, books: &Collection<Book>, category: &str) -> Result<()> {
    let find = books.find(|b| b.categories.contains(category.to_owned()));
    let explain = show
        .step(format!("How does the server find {category}?"), find.explain())
        .await?;
    show.got(describe(&explain));
    show.check("by an index", explain.is_collection_scan(), false)?;
    let find = books.find(|b| b.page_count.gt(1000));
    let explain = show
        .step(
            "And the books of more than 1000 pages, which no index serves?",
            find.explain(),
        )
        .await?;
    show.got(describe(&explain));
    show.check(
        "by reading the whole collection",
        explain.is_collection_scan(),
        true,
    )
}

pub fn describe(explain: &odm::query::Explain) -> String {
    format!(
        "{}{}; {} index entries and {} documents read for {}",
        explain.stages.join(" ← "),
        if explain.indexes.is_empty() {
            String::new()
        } else {
            format!(" on {}", explain.indexes.join(", "))
        },
        explain.keys_examined,
        explain.documents_examined,
        explain.returned,
    )
}
