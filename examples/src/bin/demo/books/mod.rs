//! A real file of books, read as it is: what fits is stored and queried, what does not is refused with its reason.

mod change;
mod expect;
mod load;
mod query;

use crate::show::Show;
use anyhow::Result;
use expect::Expected;
use file::Line;
use model::Book;
use mongodb::Database;
use odm::prelude::*;
pub use odm_examples::books::{file, model};
use odm_examples::{books::sample, data};
pub use query::describe as describe_plan;
use std::path::PathBuf;

pub async fn run(show: &mut Show, db: Database, path: Option<PathBuf>) -> Result<()> {
    show.heading("Real input: a file of books");
    let lines = lines(show, path)?;
    describe(show, &lines);
    let expected = Expected::of(&lines)?;
    let odm = Odm::new(db, models![Book])?;
    let books = odm.collection::<Book>();
    load::schema(show, &odm).await?;
    load::insert(show, &books, &lines, &expected).await?;
    query::run(show, &books, &expected).await?;
    change::run(show, &books, &expected).await
}

/// The lines of the file that was named, of the one beside the workspace, or of one that is made up.
pub fn lines(show: &Show, path: Option<PathBuf>) -> Result<Vec<Line>> {
    if let Some(path) = path.or_else(|| data::beside(file::FILE)) {
        show.text(&format!("From {}.", path.display()));
        return file::read(&path);
    }
    show.text(
        "There is no file of books here (`--books PATH` names one), so the demo makes some up: the same ones every time, \
         in the same format and with the same kinds of flaws.",
    );
    file::parse(&sample::lines())
}

fn describe(show: &Show, lines: &[Line]) {
    let count = |condition: fn(&Line) -> bool| lines.iter().filter(|line| condition(line)).count();
    let made = count(|line| matches!(line.id(), Ok(model::BookId::Made(_))));
    show.text(&format!(
        "{} documents in MongoDB's Extended JSON, one a line, with everything that such a file has: {} ids are numbers and \
         {made} are ObjectIds; {} books have no ISBN, {} no date (the offsets of the rest are written as `-0700`), {} no long and \
         {} no short description, {} no author and {} no category at all; {} have an author whose name is empty.",
        lines.len(),
        lines.len() - made,
        count(|line| line.isbn.is_none()),
        count(|line| !matches!(line.published(), Ok(Some(_)))),
        count(|line| line.long_description.is_none()),
        count(|line| line.short_description.is_none()),
        count(|line| line.authors.is_empty()),
        count(|line| line.categories.is_empty()),
        count(|line| line.authors.iter().any(String::is_empty)),
    ));
}
