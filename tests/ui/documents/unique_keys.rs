//! A document is found by the fields of a unique key, each with a value of its own type; a scope is by fields of the document itself.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "rooms", index(fields(house, number), unique))]
struct Room {
    id: i32,
    house: String,
    number: i32,
    #[index(unique)]
    code: String,
    #[index]
    beds: i32,
    place: Place,
}

#[derive(Embed)]
struct Place {
    city: String,
}

fn no_key(rooms: Collection<Room>) {
    let _ = rooms.get_by(|r| r.beds, 2);
}

fn a_part_of_a_key(rooms: Collection<Room>) {
    let _ = rooms.update_by(|r| r.number, 12);
}

fn a_key_and_more(rooms: Collection<Room>) {
    let _ = rooms.delete_by(|r| (r.code, r.beds), ("a", 2));
}

fn a_field_within(rooms: Collection<Room>) {
    let _ = rooms.get_by(|r| r.place.city, "Bonn");
}

fn inserted_by_no_key(rooms: Collection<Room>, room: Room) {
    let _ = rooms.insert(room).or_get_by(|r| r.beds);
}

fn a_value_of_another_type(rooms: Collection<Room>) {
    let _ = rooms.get_by(|r| r.code, 12);
}

fn one_value_for_two_fields(rooms: Collection<Room>) {
    let _ = rooms.get_by(|r| (r.house, r.number), "a");
}

fn a_condition(rooms: Collection<Room>) {
    let _ = rooms.get_by(|r| r.code.eq("a"), "a");
}

fn a_scope_within(odm: Odm) {
    let _ = odm.scoped(Room::paths().place.city, "Bonn");
}

fn main() {}
