//! Documents of every kind of value that has parts, random values of them, and another client.

use odm::bson::{Bson, Document, doc};
use odm::mongodb::Database;
use odm::prelude::*;
pub use odm_tests::random::Random;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "houses", index(fields(home.city)))]
pub struct House {
    #[serde(rename = "_id")]
    pub id: i32,
    #[embed]
    pub home: Home,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Home>,
    #[embed(max = 6)]
    pub tags: BTreeSet<String>,
    #[embed(max = 6, key_len = 10)]
    pub hours: BTreeMap<String, i32>,
    #[embed(max = 6)]
    pub owners: BTreeSet<Door>,
    #[embed(max = 6)]
    pub rooms: Vec<Room>,
    pub state: State,
    pub form: Form,
    pub note: Note,
    pub pair: (i32, Door),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Home {
    #[field(max_len = 20)]
    pub city: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[field(max_len = 20)]
    pub zip: Option<String>,
    #[embed]
    pub place: Place,
    #[embed(max = 6)]
    pub marks: BTreeSet<i32>,
    #[embed(max = 6, key_len = 10)]
    pub names: BTreeMap<String, Option<i32>>,
    #[embed(max = 4)]
    pub doors: Vec<Door>,
    #[serde(flatten)]
    pub sold: Sold,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Place {
    pub x: Option<i32>,
    pub y: Option<i32>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Sold {
    pub price: Option<i64>,
    pub by: Door,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Door {
    pub width: i32,
    #[field(max_len = 10)]
    pub lock: Option<String>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Room {
    #[field(max_len = 10)]
    pub name: String,
    pub door: Door,
    #[embed(max = 9, key_len = 10)]
    pub keys: BTreeMap<String, i32>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "is")]
pub enum State {
    Draft,
    Built { year: i32, by: Option<i32> },
    Sold(Door),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum Form {
    New,
    Round(Option<i32>),
    Square { door: Door },
    Two(i32, Door),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "kind", content = "of")]
pub enum Note {
    None,
    Text(#[field(max_len = 10)] String),
    Door(Door),
    May(Option<i32>),
}

/// Small values, so that many of them are equal.
trait Values {
    fn small(&mut self, n: u64) -> i32;
    fn maybe<T>(&mut self, make: impl FnOnce(&mut Random) -> T) -> Option<T>;
    fn text(&mut self, n: u64) -> String;
    fn some<T, C: FromIterator<T>>(&mut self, most: u64, make: fn(&mut Random) -> T) -> C;
}

impl Values for Random {
    fn small(&mut self, n: u64) -> i32 {
        i32::try_from(self.below(n)).unwrap()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| make(self))
    }

    fn text(&mut self, n: u64) -> String {
        ["a", "b", "c", "$d"][usize::try_from(self.below(n)).unwrap()].to_owned()
    }

    fn some<T, C: FromIterator<T>>(&mut self, most: u64, make: fn(&mut Random) -> T) -> C {
        let n = self.below(most + 1);
        (0..n).map(|_| make(self)).collect()
    }
}

impl Door {
    pub fn random(random: &mut Random) -> Door {
        Door {
            width: random.small(2),
            lock: random.maybe(|random| random.text(2)),
        }
    }
}

impl Room {
    pub fn random(random: &mut Random) -> Room {
        Room {
            name: random.text(2),
            door: Door::random(random),
            keys: random.some(3, |random| (random.text(3), random.small(2))),
        }
    }
}

impl Home {
    fn random(random: &mut Random) -> Home {
        Home {
            city: random.text(3),
            zip: random.maybe(|random| random.text(2)),
            place: Place {
                x: random.maybe(|random| random.small(2)),
                y: random.maybe(|random| random.small(2)),
            },
            marks: random.some(2, |random| random.small(2)),
            names: random.some(2, |random| {
                (random.text(3), random.maybe(|random| random.small(2)))
            }),
            doors: random.some(1, Door::random),
            sold: Sold {
                price: random.maybe(|_| 5),
                by: Door { width: 1, lock: None },
            },
        }
    }
}

/// A number of them, of which some are alike.
pub fn houses(random: &mut Random, n: usize) -> Vec<House> {
    let mut all: Vec<House> = Vec::new();
    for id in 0..i32::try_from(n).unwrap() {
        let house = House {
            id,
            home: Home::random(random),
            work: random.maybe(Home::random),
            tags: random.some(3, |random| random.text(4)),
            hours: random.some(3, |random| (random.text(3), random.small(2))),
            owners: random.some(3, Door::random),
            rooms: random.some(3, Room::random),
            state: match random.below(4) {
                0 => State::Draft,
                1 => State::Built {
                    year: 1,
                    by: random.maybe(|random| random.small(2)),
                },
                _ => State::Sold(Door::random(random)),
            },
            form: match random.below(5) {
                0 => Form::New,
                1 => Form::Round(random.maybe(|random| random.small(2))),
                2 => Form::Square {
                    door: Door::random(random),
                },
                _ => Form::Two(random.small(2), Door::random(random)),
            },
            note: match random.below(5) {
                0 => Note::None,
                1 => Note::Text(random.text(2)),
                2 => Note::Door(Door::random(random)),
                _ => Note::May(random.maybe(|random| random.small(2))),
            },
            pair: (random.small(2), Door::random(random)),
        };
        all.push(match all.first() {
            Some(first) if random.below(4) == 0 => House { id, ..first.clone() },
            _ => house,
        });
    }
    all
}

/// The kind of value behind a name.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Struct,
    Map,
    Set,
    /// A variant whose name is a key.
    Variant,
    Other,
}

fn kind(name: &str) -> Kind {
    match name {
        "hours" | "names" | "keys" => Kind::Map,
        "tags" | "owners" | "marks" => Kind::Set,
        "form" => Kind::Variant,
        _ => Kind::Struct,
    }
}

/// The same value to a reader: keys in another order, without what is `null`, with more fields, with items of sets twice.
fn disturbed(kind_of: Kind, value: Bson, random: &mut Random) -> Bson {
    match value {
        Bson::Document(fields) => {
            let mut all: Vec<(String, Bson)> = fields
                .into_iter()
                .filter(|(_, value)| kind_of != Kind::Struct || *value != Bson::Null || random.below(2) == 0)
                .collect();
            for at in 1..all.len() {
                let other = usize::try_from(random.below(at as u64 + 1)).unwrap();
                all.swap(at, other);
            }
            let mut fields: Document = all
                .into_iter()
                .map(|(name, value)| {
                    let inner = match kind_of {
                        Kind::Map => Kind::Other,
                        Kind::Variant => Kind::Struct,
                        _ => kind(&name),
                    };
                    let value = disturbed(inner, value, random);
                    (name, value)
                })
                .collect();
            if kind_of == Kind::Struct && random.below(2) == 0 {
                fields.insert("unknown", random.small(3));
            }
            fields.into()
        }
        Bson::Array(items) => {
            let mut all: Vec<Bson> = items
                .into_iter()
                .map(|item| disturbed(Kind::Struct, item, random))
                .collect();
            if kind_of == Kind::Set {
                all.reverse();
                if let Some(first) = all.first().cloned()
                    && all.len() < 6
                {
                    let twin = disturbed(Kind::Struct, first, random);
                    all.push(twin);
                }
            }
            all.into()
        }
        other => other,
    }
}

/// Writes every document anew, as another program might have stored it.
pub async fn another_client(db: &Database, random: &mut Random) {
    let raw = db.collection::<Document>("houses");
    let mut cursor = raw.find(doc! {}).await.unwrap();
    let mut all = Vec::new();
    while cursor.advance().await.unwrap() {
        all.push(cursor.deserialize_current().unwrap());
    }
    for document in all {
        let id = document.get("_id").cloned().unwrap();
        let Bson::Document(other) = disturbed(Kind::Struct, document.into(), random) else {
            panic!("a document stays one")
        };
        raw.replace_one(doc! { "_id": id }, other).await.unwrap();
    }
}
