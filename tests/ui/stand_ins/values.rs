//! Uses of embedded types whose attributes have an error: these errors are all that is reported.
use mongodb::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;
use std::collections::HashMap;

#[derive(Embed, Debug, Clone, PartialEq)]
#[embed(transparent, oops)]
struct Number(i64);

#[derive(Embed, Debug, Clone, PartialEq, Eq, Hash)]
#[embed(oops, transparent)]
struct Key(String);

#[derive(Embed, Debug, Clone, Copy, PartialEq)]
#[embed(repr = i32, oops)]
enum Level {
    Low = 1,
    High = 2,
}

#[derive(Embed, Debug, Clone, PartialEq)]
#[embed(id, oops)]
struct Place {
    row: i32,
    #[embed(max = 3)]
    tags: Vec<String>,
}

#[derive(Embed, Debug, Clone, PartialEq)]
#[embed(oops)]
enum Shape {
    Round { size: i32 },
    Placed(Place),
    None,
}

#[derive(Embed, Debug, Clone, PartialEq)]
#[embed(patch, oops)]
struct Part {
    a: i32,
}

#[derive(Embed, Debug, Clone, PartialEq)]
#[embed(oops)]
struct Page<T> {
    items: T,
}

#[derive(Embed, Debug, Clone, PartialEq)]
#[embed(oops)]
enum Either<T> {
    This(T),
    None,
}

// The names of parameters of the generated code.
#[derive(Embed, Debug, Clone, PartialEq)]
#[embed(oops)]
struct P {
    a: i32,
}

#[derive(Embed, Debug, Clone, PartialEq)]
#[embed(oops)]
struct R {
    a: i32,
}

#[derive(Document, Debug, Clone)]
#[document(
    collection = "d",
    expire = at,
    patch,
    index(fields(place.row)),
    index(fields(level, -number)),
    index(fields(shape.round.size))
)]
struct Holder {
    id: Place,
    at: DateTime,
    #[field(min = 3)]
    number: Number,
    #[field(max_len = 3)]
    key: Key,
    #[embed(max = 4)]
    by: HashMap<Key, i32>,
    level: Level,
    place: Place,
    shape: Shape,
    #[embed(patch)]
    part: Part,
    #[embed(max = 3)]
    parts: Vec<Part>,
    page: Page<i32>,
    either: Either<i32>,
    p: P,
    r: R,
}

#[derive(Document, Debug, Clone)]
#[document(collection = "g", oops)]
struct Generic<T: 'static> {
    id: ObjectId,
    items: T,
}

async fn uses(odm: Odm, holder: Holder) -> odm::Result<()> {
    let holders = odm.collection::<Holder>();
    let place = Place { row: 1, tags: vec![] };
    holders.get(&place).await?;
    holders.find(|h| h.number.gt(Number(3))).sort(|h| h.number.asc()).all().await?;
    holders.find(|h| h.level.eq(Level::High)).all().await?;
    holders.find(|h| h.shape.round.size.eq(3)).all().await?;
    holders.find(|h| h.shape.is_placed()).all().await?;
    holders.find(|h| h.parts.elem(|part| part.a.eq(3))).all().await?;
    holders.find(|h| h.page.items.eq(3)).all().await?;
    holders.find(|h| h.either.this.eq(3)).all().await?;
    holders.find(|h| h.p.a.eq(3)).all().await?;
    holders.update(holder.id).set(|h| h.part.a, 3).set(|h| h.place, place).await?;
    odm.collection::<Generic<i32>>().find(|g| g.items.eq(3)).all().await?;
    odm.collection::<Generic<i32>>().insert(NewGeneric { items: 3 }).await?;
    Ok(())
}

fn main() {}
