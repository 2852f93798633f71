//! Changes of the books: within the bounds, beyond them, and by another program.

use super::expect::Expected;
use super::model::Book;
use crate::show::{Show, plural};
use anyhow::{Context, Result, bail, ensure};
use futures::future::join_all;
use mongodb::bson::{Document, doc};
use mongodb::error::{ErrorKind, WriteFailure};
use odm::update::Change;
use odm::{Collection, Error};

pub async fn run(show: &mut Show, books: &Collection<Book>, expected: &Expected) -> Result<()> {
    show.part("Changes");
    full(show, books, expected).await?;
    invalid(show, books).await?;
    repair(show, books, expected).await?;
    race(show, books).await?;
    show.part("Another program writes");
    past(show, books, expected).await
}

async fn full(show: &mut Show, books: &Collection<Book>, expected: &Expected) -> Result<()> {
    let find = books.find(|b| b.authors.size(6)).sort(|b| b.title.asc());
    let full = show
        .step("A book with six authors, as many as may be", find.one())
        .await?;
    ensure!(
        expected.count(|line| line.authors.len() == 6) > 0,
        "no book of the file has six authors"
    );
    let full = full.context("no book has six authors")?;
    show.got(format!("{:?} by {}", full.title, names(&full.authors)));
    let push = books.update(&full.id).push(|b| b.authors, "A Seventh");
    match show.step("Push a seventh", push).await {
        Err(error @ Error::ArrayFull { .. }) => show.got(error.to_string()),
        other => bail!("a seventh author should be refused: {other:?}"),
    }
    let stored = books.get(&full.id).await?.context("the book has gone")?;
    show.check("nothing was written", stored, full)
}

async fn invalid(show: &mut Show, books: &Collection<Book>) -> Result<()> {
    let book = books
        .find_all()
        .sort(|b| b.title.asc())
        .one()
        .await?
        .context("there are no books")?;
    let update = books
        .update(&book.id)
        .set(|b| b.title, "")
        .set(|b| b.page_count, -1);
    match show.step("Set an empty title and -1 pages", update).await {
        Err(error @ Error::Invalid { .. }) => show.got(error.to_string()),
        other => bail!("two broken bounds should be refused: {other:?}"),
    }
    let update = books.update(&book.id).set(|b| b.page_count, 512).returning();
    let update = show.step("Set 512 pages", update).await?;
    show.check("512 pages are stored", update.page_count, 512)
}

async fn repair(show: &mut Show, books: &Collection<Book>, expected: &Expected) -> Result<()> {
    let update = books
        .update_where(|b| b.authors.contains(String::new()))
        .pull(|b| b.authors, "");
    let updated = show
        .step("Remove the empty names among the authors, of all books", update)
        .await?;
    let in_file = expected.count(|line| line.authors.iter().any(String::is_empty));
    show.check(
        &format!(
            "{} corrected, as many as the file has",
            plural(updated.modified, "book")
        ),
        updated.modified,
        in_file,
    )?;

    let update = books
        .update_where(|b| b.categories.contains("java".to_owned()))
        .replace_item(|b| b.categories, "java", "Java");
    let updated = show.step("Spell the category java as Java", update).await?;
    let in_file = expected.count(|line| line.categories.iter().any(|name| name == "java"));
    show.check(
        &format!(
            "{} changed, as many as the file has",
            plural(updated.modified, "book")
        ),
        updated.modified,
        in_file,
    )
}

async fn race(show: &mut Show, books: &Collection<Book>) -> Result<()> {
    let find = books.find(|b| b.authors.size(4)).sort(|b| b.title.asc());
    let book = find.one().await?.context("no book has four authors")?;
    let clients = (0..10).map(|n| {
        let (books, id) = (books.clone(), book.id.clone());
        tokio::spawn(async move { books.update(&id).push(|b| b.authors, format!("Author {n}")).await })
    });
    let what = format!("Ten clients push an author to {:?}, which has four", book.title);
    let (mut pushed, mut refused) = (0, 0);
    for outcome in show.step(what, async { join_all(clients).await }).await {
        match outcome? {
            Ok(_) => pushed += 1,
            Err(Error::ArrayFull { .. }) => refused += 1,
            Err(error) => return Err(error.into()),
        }
    }
    show.check("two went in, eight found it full", (pushed, refused), (2, 8))
}

async fn past(show: &mut Show, books: &Collection<Book>, expected: &Expected) -> Result<()> {
    let victim = books
        .find_all()
        .sort(|b| b.title.desc())
        .one()
        .await?
        .context("there are no books")?;
    let id = odm::to_bson(&victim.id)?;
    let plain = books.driver::<Document>();
    let wrong = doc! { "$set": { "pageCount": "about 300" } };
    let update = plain.update_one(doc! { "_id": id.clone() }, wrong.clone());
    match show
        .step("A script without odm sets pageCount to \"about 300\"", update)
        .await
    {
        Err(error) => show.got(format!("the server refuses it: {}", said(&error))),
        Ok(_) => show.got("it is stored: this server does not enforce the validator"),
    }
    let update = plain
        .update_one(doc! { "_id": id }, wrong)
        .bypass_document_validation(true);
    show.step("The script again, bypassing the validator", update)
        .await?;

    let total = expected.kept.len();
    match show.step("Read all books", books.find_all().all()).await {
        Err(error @ Error::Decode { .. }) => show.got(error.to_string()),
        other => bail!(
            "a book that does not fit should be an error: {:?}",
            other.map(|books| books.len())
        ),
    }
    let lossy = show
        .step(
            "Read those that fit, and what is wrong with the others",
            books.find_all().lossy().all(),
        )
        .await?;
    show.got(format!(
        "{} books, and {} that does not fit:",
        lossy.items.len(),
        lossy.bad.len()
    ));
    show.list(lossy.bad.iter().map(ToString::to_string));
    show.check(
        "none is lost silently",
        (lossy.items.len(), lossy.bad.len()),
        (total - 1, 1),
    )
}

/// The names of a list, an empty one in quotes.
fn names(names: &[String]) -> String {
    let shown = names
        .iter()
        .map(|name| if name.is_empty() { "\"\"" } else { name });
    shown.collect::<Vec<_>>().join(", ")
}

/// The server's own words.
fn said(error: &mongodb::error::Error) -> &str {
    match &*error.kind {
        ErrorKind::Write(WriteFailure::WriteError(error)) => &error.message,
        _ => "for another reason than the validator",
    }
}
