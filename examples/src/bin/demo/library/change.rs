//! Changes of what refers to what: through the library both sides change, and nothing is left without its target.

use super::{Library, Shelves, largest};
use crate::books::model::BookId;
use crate::show::{Show, plural, shorten};
use anyhow::{Context, Result, bail};
use odm::Error;
use odm::prelude::*;
use odm_examples::books::library::{Author, Book, Category, NewBook};

pub async fn run(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    links(show, odm).await?;
    show.part("Nothing refers to what is not there");
    missing(show, odm).await?;
    used(show, odm, library).await?;
    author(show, odm, library).await
}

/// A book with its authors, and every author with how many books name whom.
async fn links(show: &mut Show, odm: &Odm) -> Result<()> {
    show.part("One call, both sides");
    let (books, authors) = (odm.collection::<Book>(), odm.collection::<Author>());
    let (book, written_by) = books
        .find(|b| b.authors.size(3))
        .sort(|b| b.title.asc())
        .include(|b| b.authors)
        .one()
        .await?
        .context("no book has three authors")?;
    let [first, second, third] = written_by.as_slice() else {
        bail!(
            "a book with three references was joined to {} authors",
            written_by.len()
        );
    };
    let other = authors
        .find(|a| !a.books.contains(book.to_ref()))
        .sort(|a| a.name.asc())
        .one()
        .await?
        .context("everybody wrote this book")?;
    let people = [first, second, third, &other];
    let title = shorten(&book.title, 40);
    show.text(&format!(
        "{title:?} is by {}, {} and {}. {} has nothing to do with it.",
        first.name, second.name, third.name, other.name
    ));
    println!();

    let unlink = books.update(&book.id).pull(|b| b.authors, third.to_ref());
    show.step(format!("Take {} off the book", third.name), unlink)
        .await?;
    sides(show, odm, &book, &people, &[first, second]).await?;

    let reassign = books
        .update(&book.id)
        .set(|b| b.authors, vec![other.to_ref(), first.to_ref()]);
    let what = format!("Reassign it: by {} and {}", other.name, first.name);
    show.step(what, reassign).await?;
    sides(show, odm, &book, &people, &[&other, first]).await?;

    let link = authors.update(second.id).push(|a| a.books, book.to_ref());
    let what = format!(
        "From the other side: it is one of the books of {} again",
        second.name
    );
    show.step(what, link).await?;
    sides(show, odm, &book, &people, &[&other, first, second]).await
}

/// Reads both sides, and checks that they say the same.
async fn sides(
    show: &mut Show,
    odm: &Odm,
    book: &Book,
    people: &[&Author; 4],
    expected: &[&Author],
) -> Result<()> {
    let books = odm.collection::<Book>();
    let stored = books.get(&book.id).await?.context("the book has gone")?;
    let named = stored.authors.iter();
    let named = named.filter_map(|author| people.iter().find(|a| a.to_ref() == *author));
    let named: Vec<&str> = named.map(|a| a.name.as_str()).collect();
    let found = odm
        .collection::<Author>()
        .find(|a| a.books.contains(book.to_ref()))
        .all()
        .await?;
    show.got(format!("the book names {}", named.join(", ")));
    let mut naming: Vec<&str> = found.iter().map(|a| a.name.as_str()).collect();
    naming.sort_unstable();
    show.got(format!("it is named by {}", naming.join(", ")));
    let mut refs: Vec<Ref<Author>> = found.iter().map(Author::to_ref).collect();
    refs.sort_unstable();
    let mut other_side = expected.iter().map(|a| a.to_ref()).collect::<Vec<_>>();
    show.check("both sides agree", &stored.authors, &other_side)?;
    other_side.sort_unstable();
    show.check("and no other book names it", refs, other_side)
}

async fn missing(show: &mut Show, odm: &Odm) -> Result<()> {
    let books = odm.collection::<Book>();
    let ghost = NewBook {
        id: BookId::Number(99_999),
        title: "By an unknown author".into(),
        authors: vec![Ref::new(99_999)],
        categories: vec![Ref::new(1), Ref::new(77_777)],
    };
    match show
        .step(
            "A book of an author and a category that there are not",
            books.insert(ghost),
        )
        .await
    {
        Err(error @ Error::MissingReference { .. }) => show.got(error.to_string()),
        other => bail!("a book by an unknown author should be refused: {other:?}"),
    }
    let stored = books.get(BookId::Number(99_999)).await?;
    show.check("nothing was written", stored, None)
}

async fn used(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    let (books, categories) = (odm.collection::<Book>(), odm.collection::<Category>());
    let named = |name: String| categories.find(move |c| c.name.eq(name)).one();
    let (name, _) = largest(&library.categories).context("no book has a category")?;
    let category = named(name.clone()).await?.context("the category has gone")?;
    match show
        .step(
            format!("Delete the category {name}"),
            categories.delete(category.id),
        )
        .await
    {
        Err(error @ Error::StillReferenced { .. }) => show.got(error.to_string()),
        other => bail!("a category that books name should not be deleted: {other:?}"),
    }
    let (name, shelf) = smallest(&library.categories).context("no book has a category")?;
    let category = named(name.clone()).await?.context("the category has gone")?;
    let update = books
        .update_where(|b| b.categories.contains(category.to_ref()))
        .pull(|b| b.categories, category.to_ref());
    let what = format!("Take {name} off its {}", plural(shelf.len() as u64, "book"));
    let updated = show.step(what, update).await?;
    show.check(
        &format!("{} changed", plural(updated.modified, "book")),
        updated.modified,
        shelf.len() as u64,
    )?;
    let delete = categories.delete(category.id);
    show.step("And delete it now that nothing refers to it", delete)
        .await?;
    let left = categories.find_all().count().await?;
    show.check(
        &format!("{left} categories are left"),
        left,
        library.categories.len() as u64 - 1,
    )
}

/// The name with the fewest books.
fn smallest(shelves: &Shelves) -> Option<(&String, &std::collections::BTreeSet<usize>)> {
    shelves.iter().min_by_key(|(_, books)| books.len())
}

async fn author(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    let (books, authors) = (odm.collection::<Book>(), odm.collection::<Author>());
    let (name, shelf) = largest(&library.authors).context("no book has an author")?;
    let author = authors.find(|a| a.name.eq(name.clone())).one();
    let author = author.await?.context("the author has gone")?;
    let what = format!(
        "Delete {name}, whose {} know it: of a two-way reference the other side is taken back",
        plural(author.books.len() as u64, "book")
    );
    let deleted = show.step(what, authors.delete(author.id)).await?;
    show.got(format!(
        "{} deleted, and pulled out of {}",
        plural(deleted.deleted, "author"),
        plural(deleted.pulled, "book")
    ));
    let naming = books
        .find(|b| b.authors.contains(author.to_ref()))
        .count()
        .await?;
    let left = books.find_all().count().await?;
    show.check(
        &format!(
            "none of the {} books names the author, and all books are there",
            shelf.len()
        ),
        (naming, left),
        (0, library.books.len() as u64),
    )
}
