//! A part of a field that is no date.

use odm::prelude::*;
use odm::query::Unit;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: i32,
    name: String,
    born: i64,
}

async fn year(people: Collection<Person>) -> odm::Result<()> {
    let _ = people.aggregate().group(|p| p.born.year(), |g| g.count("people"));
    let _ = people.aggregate().add_fields(|f| f.field("month", |p| p.name.truncated(Unit::Month)));
    Ok(())
}

fn main() {}
