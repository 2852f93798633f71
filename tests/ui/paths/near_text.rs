//! Geospatial conditions on a field with another value.

use odm::geo::{Area, Point};
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: i32,
    name: String,
    place: Point,
}

async fn near(people: Collection<Person>, here: Point) {
    let _ = people.find(|p| p.name.near(here, 100.0));
    let _ = people.find(|p| p.name.within(Area::circle(here, 100.0)));
    let _ = people.find(|p| p.place.intersects("here"));
}

fn main() {}
