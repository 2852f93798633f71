//! A flattened struct has no place of its own: its fields have.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "houses")]
struct House {
    id: i32,
    #[embed]
    outer: Outer,
    #[field(flatten)]
    place: Place,
}

#[derive(Embed)]
struct Outer {
    owner: String,
    #[field(flatten)]
    inner: Option<Place>,
}

#[derive(Embed)]
struct Place {
    city: String,
}

fn fields(houses: &odm::Collection<House>) {
    // The fields themselves have paths.
    let _ = houses.find(|h| h.place.city.eq("Bonn") & h.outer.inner.city.eq("Bonn"));
    let _ = houses.update(&1).set(|h| h.outer.inner.city, "Bonn");
}

fn compared(houses: &odm::Collection<House>, place: Place) {
    let _ = houses.find(|h| h.place.eq(place));
}

fn sorted(houses: &odm::Collection<House>) {
    let _ = houses.find_all().sort(|h| h.place.asc());
}

fn set(houses: &odm::Collection<House>, place: Place) {
    let _ = houses.update(&1).set(|h| h.place, place);
}

fn removed(houses: &odm::Collection<House>) {
    let _ = houses.update(&1).unset(|h| h.outer.inner);
}

fn main() {}
