//! The schema, then the books: what is refused, by which rule, and who it is.

use super::expect::Expected;
use super::file::Line;
use super::model::Book;
use crate::show::{Show, shorten};
use anyhow::{Context, Result, bail, ensure};
use mongodb::bson::Bson;
use odm::error::Violation;
use odm::{Collection, Error, Odm};
use std::collections::{BTreeMap, BTreeSet};

pub async fn schema(show: &mut Show, odm: &Odm) -> Result<()> {
    show.part("The schema: what would change, then the change");
    let plan = show.step("What would `sync` do?", odm.plan()).await?;
    show.block(&plan.to_string());
    show.step("Do it", odm.apply(&plan)).await?;
    let again = show.step("And now?", odm.plan()).await?;
    show.check("the database is as the models declare it", again.is_empty(), true)
}

pub async fn insert(
    show: &mut Show,
    books: &Collection<Book>,
    lines: &[Line],
    expected: &Expected,
) -> Result<()> {
    show.part("All books in one call");
    let documents: Vec<Book> = lines.iter().map(Line::book).collect::<Result<_>>()?;
    let what = format!("insert_many of {} books, unordered", lines.len());
    let errors = match show.step(what, books.insert_many(documents).unordered()).await {
        Ok(_) => Vec::new(),
        Err(Error::InsertMany { errors, .. }) => errors,
        Err(other) => return Err(other.into()),
    };
    show.got(format!(
        "{} are stored, {} were refused",
        lines.len() - errors.len(),
        errors.len()
    ));
    refused(show, lines, &errors)?;
    compare(show, &errors, expected)?;
    let stored = show
        .step("How many are in the collection?", books.find_all().count())
        .await?;
    show.check(
        &format!("{stored} books, as counted in the file"),
        stored,
        expected.kept.len() as u64,
    )
}

/// Names every refused book, by the rule that it breaks.
fn refused(show: &Show, lines: &[Line], errors: &[(usize, Error)]) -> Result<()> {
    let mut rules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (at, error) in errors {
        let line = lines.get(*at).with_context(|| format!("there is no line {at}"))?;
        let book = format!("{} {:?}", line.id()?, shorten(&line.title, 44));
        match error {
            Error::Invalid { violations, .. } => {
                for violation in violations {
                    let rule = format!("`{}` {}", violation.path, violation.rule);
                    rules
                        .entry(rule)
                        .or_default()
                        .push(format!("{book}: {}", measure(line, violation)));
                }
            }
            Error::DuplicateKey { value, index, .. } => {
                let isbn = value.get_str("isbn").unwrap_or("?");
                let rule = format!("the unique index `{index}` allows a number once");
                let first = first_with(lines, isbn, *at)?;
                rules
                    .entry(rule)
                    .or_default()
                    .push(format!("{book}: {isbn} belongs to {first}"));
            }
            other => bail!("{book} was refused for a reason that no rule declares: {other}"),
        }
    }
    for (rule, books) in rules {
        show.got(format!("{} × {rule}", books.len()));
        show.list(books);
    }
    Ok(())
}

/// The first line with this ISBN.
fn first_with(lines: &[Line], isbn: &str, before: usize) -> Result<String> {
    let mut earlier = lines.iter().take(before);
    let first = earlier.find(|line| line.isbn.as_deref() == Some(isbn));
    let first = first.with_context(|| format!("no earlier book has the ISBN {isbn}"))?;
    Ok(format!("{} {:?}", first.id()?, shorten(&first.title, 40)))
}

/// How much of it there is.
fn measure(line: &Line, violation: &Violation) -> String {
    let characters =
        |text: Option<&String>| format!("{} characters", text.map_or(0, |text| text.chars().count()));
    match violation.path.as_str() {
        "title" => characters(Some(&line.title)),
        "isbn" => characters(line.isbn.as_ref()),
        "thumbnailUrl" => characters(line.thumbnail_url.as_ref()),
        "shortDescription" => characters(line.short_description.as_ref()),
        "longDescription" => characters(line.long_description.as_ref()),
        "pageCount" => format!("{} pages", line.page_count),
        "authors" => format!("{} authors", line.authors.len()),
        "categories" => format!("{} categories", line.categories.len()),
        // An item of an array.
        _ => match &violation.value {
            Some(Bson::String(name)) => format!("{} characters, {name:?}", name.chars().count()),
            _ => "an item that is too long".to_owned(),
        },
    }
}

/// The same books, and for the same fields, as the count in the file says.
fn compare(show: &mut Show, errors: &[(usize, Error)], expected: &Expected) -> Result<()> {
    let mut broken: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    let mut doubled = BTreeSet::new();
    for (at, error) in errors {
        match error {
            Error::Invalid { violations, .. } => {
                let fields = violations
                    .iter()
                    .map(|violation| violation.path.split('.').next().unwrap_or_default());
                broken.entry(*at).or_default().extend(fields);
            }
            _ => ensure!(doubled.insert(*at), "line {at} was refused twice"),
        }
    }
    let what = format!(
        "{} break a bound: the same books and fields as a count in the file finds",
        broken.len()
    );
    show.check(&what, &broken, &expected.broken)?;
    let what = format!(
        "{} have the ISBN of another book: the same as in the file",
        doubled.len()
    );
    show.check(&what, doubled, expected.doubled.keys().copied().collect())
}
