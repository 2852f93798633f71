//! How long documents take to be written and read, by the codec of their models with its bounds checked, by serde on `bson`, and for one
//! of them by code for this struct alone: the ratios, of time and (with `valgrind` on the PATH) of instructions.
//!
//! `cargo bench -p odm-tests --bench codec`
#![allow(missing_docs)]

use chrono::{DateTime as ChronoDate, Utc};
use odm::__private::stored::{Fields, Out, Row, read, write};
use odm::bson::spec::BinarySubtype;
use odm::bson::{self, Binary, Decimal128, RawBsonRef, RawDocument};
use odm::prelude::*;
use rust_decimal::Decimal;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

/// Twelve fields of several types.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "flat")]
struct Flat {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[field(max_len = 50)]
    name: String,
    #[field(max_len = 80)]
    email: String,
    #[field(min = 0, max = 150)]
    age: i32,
    active: bool,
    score: f64,
    visits: i64,
    nick: Option<String>,
    created: DateTime,
    level: u8,
    rank: u32,
    last_seen_at: Option<DateTime>,
}

fn flat() -> Flat {
    Flat {
        id: ObjectId::from_bytes([7; 12]),
        name: "Kate Monster".into(),
        email: "kate@example.com".into(),
        age: 30,
        active: true,
        score: 0.5,
        visits: 1_234_567,
        nick: Some("katie".into()),
        created: DateTime::from_millis(1_700_000_000_000),
        level: 3,
        rank: 99,
        last_seen_at: None,
    }
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Part {
    #[field(max_len = 50)]
    name: String,
    qty: i32,
    price: f64,
    place: Option<Place>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Place {
    city: String,
    street: String,
    zip: i32,
}

/// Embedded structs, some of them in each other, and texts.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "nested")]
struct Nested {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
    #[embed(max = 20)]
    parts: Vec<Part>,
    #[embed(max = 20)]
    #[field(max_len = 30)]
    tags: Vec<String>,
    place: Place,
}

fn nested() -> Nested {
    let place = Place {
        city: "Bern".into(),
        street: "Bundesplatz".into(),
        zip: 3000,
    };
    let part = |n: i32| Part {
        name: format!("part number {n}"),
        qty: n,
        price: 0.5,
        place: (n % 2 == 0).then(|| place.clone()),
    };
    Nested {
        id: ObjectId::from_bytes([7; 12]),
        name: "smoke shifter".into(),
        parts: (0..8).map(part).collect(),
        tags: (0..5).map(|n| format!("tag {n}")).collect(),
        place: place.clone(),
    }
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "dates")]
struct Dates {
    #[serde(rename = "_id")]
    id: i64,
    #[serde(with = "odm::native")]
    made: ChronoDate<Utc>,
    #[serde(default, with = "odm::native")]
    changed: Option<ChronoDate<Utc>>,
    #[serde(with = "odm::native")]
    price: Decimal,
    amount: Decimal128,
    #[field(max_len = 100)]
    bytes: Binary,
    key: bson::Uuid,
    #[serde(with = "odm::native")]
    #[embed(max = 9)]
    days: Vec<ChronoDate<Utc>>,
    #[serde(with = "odm::native")]
    #[embed(max = 9)]
    prices: Vec<Decimal>,
    x: f64,
}

fn dates() -> Dates {
    let date = |n: i64| ChronoDate::from_timestamp_millis(1_700_000_000_000 + n).expect("is in its range");
    Dates {
        id: 7,
        made: date(0),
        changed: Some(date(1)),
        price: Decimal::new(1250, 2),
        amount: "12.50".parse().expect("is a number"),
        bytes: Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![7; 32],
        },
        key: bson::Uuid::from_bytes([5; 16]),
        days: (0..5).map(date).collect(),
        prices: (0..5).map(|n| Decimal::new(n * 99, 2)).collect(),
        x: 0.5,
    }
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "numbers")]
struct Numbers {
    #[serde(rename = "_id")]
    id: i32,
    b: i64,
    c: f64,
    d: u8,
    e: u32,
    f: DateTime,
    g: DateTime,
    h: i64,
    i: Option<i32>,
    j: bool,
}

fn numbers() -> Numbers {
    let date = DateTime::from_millis(1_700_000_000_000);
    Numbers {
        id: 1,
        b: 2,
        c: 3.5,
        d: 4,
        e: 5,
        f: date,
        g: date,
        h: -1,
        i: Some(7),
        j: true,
    }
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "texts")]
struct Texts {
    #[serde(rename = "_id")]
    id: String,
    b: String,
    c: String,
    d: String,
    e: String,
    f: String,
    g: String,
    h: String,
    #[embed(max = 20)]
    #[field(max_len = 30)]
    more: Vec<String>,
}

fn texts() -> Texts {
    let text = |n: usize| "a text of some length and more"[..n + 12].to_string();
    Texts {
        id: text(0),
        b: text(1),
        c: text(2),
        d: text(3),
        e: text(4),
        f: text(5),
        g: text(6),
        h: text(7),
        more: (0..9).map(text).collect(),
    }
}

/// A decoder by hand, for this struct alone: the names in the order of the fields, each value by its type.
fn flat_by_hand(bytes: &[u8]) -> Option<Flat> {
    let document = RawDocument::from_bytes(bytes).ok()?;
    let mut elements = document.iter();
    let mut next = |name: &str| -> Option<RawBsonRef<'_>> {
        let (key, value) = elements.next()?.ok()?;
        (key.as_str() == name).then_some(value)
    };
    let text = |value: RawBsonRef<'_>| value.as_str().map(str::to_owned);
    Some(Flat {
        id: next("_id")?.as_object_id()?,
        name: text(next("name")?)?,
        email: text(next("email")?)?,
        age: next("age")?.as_i32()?,
        active: next("active")?.as_bool()?,
        score: next("score")?.as_f64()?,
        visits: next("visits")?.as_i64()?,
        nick: text(next("nick")?),
        created: next("created")?.as_datetime()?,
        level: u8::try_from(next("level")?.as_i32()?).ok()?,
        rank: u32::try_from(next("rank")?.as_i64()?).ok()?,
        last_seen_at: next("last_seen_at")?.as_datetime(),
    })
}

const WAYS: [&str; 5] = [
    "none",
    "serde reads",
    "codec reads",
    "serde writes",
    "codec writes",
];

/// Does one thing `n` times.
fn times<T: Fields + Row + Serialize + DeserializeOwned>(way: &str, value: &T, n: usize) {
    let bytes = bson::serialize_to_vec(value).expect("BSON holds it");
    for _ in 0..n {
        match way {
            "serde reads" => drop(black_box(bson::deserialize_from_slice::<T>(black_box(&bytes)))),
            "codec reads" => drop(black_box(read::<T>(black_box(&bytes)))),
            "serde writes" => drop(black_box(bson::serialize_to_vec(black_box(value)))),
            "codec writes" => {
                let mut out = Out::new(Vec::with_capacity(512));
                let written = write(black_box(value), &mut out);
                assert!(written.is_ok() && !out.broken());
                black_box(out.into_bytes());
            }
            "hand reads" => drop(black_box(flat_by_hand(black_box(&bytes)))),
            _ => {}
        }
    }
}

/// Nanoseconds of one, in the median of many rounds in which each way has its turn.
fn nanoseconds<T: Fields + Row + Serialize + DeserializeOwned>(ways: &[&str], value: &T) -> Vec<f64> {
    const ROUNDS: usize = 401;
    const N: usize = 64;
    let mut all = vec![Vec::new(); ways.len()];
    for _ in 0..ROUNDS {
        for (way, times_of) in ways.iter().zip(&mut all) {
            let begin = Instant::now();
            times(way, value, N);
            times_of.push(begin.elapsed().as_nanos() as f64 / N as f64);
        }
    }
    let median = |mut of: Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of[of.len() / 2]
    };
    all.into_iter().map(median).collect()
}

/// Instructions of one, as `valgrind` counts them in a process of its own. `None` without it.
fn instructions(model: &str, way: &str) -> Option<f64> {
    let counted = |n: usize| -> Option<f64> {
        let out = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(std::env::current_exe().ok()?)
            .args(["--one", model, way, &n.to_string()])
            .output()
            .ok()?;
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let line = said.lines().find(|line| line.contains("Collected"))?;
        line.rsplit(':').next()?.trim().parse().ok()
    };
    Some((counted(2_200)? - counted(200)?) / 2_000.0)
}

fn show<T: Fields + Row + Serialize + DeserializeOwned + PartialEq + Debug>(
    model: &str,
    value: &T,
    counts: bool,
) {
    let bytes = bson::serialize_to_vec(value).expect("BSON holds it");
    assert_eq!(&read::<T>(&bytes).expect("is read"), value);
    let ns = nanoseconds(&WAYS, value);
    let own = |i: usize| ns[i] - ns[0];
    println!(
        "{model:8} {:4} bytes  reads {:6.0} ns by serde, {:5.0} by the codec: {:5.1} x   writes {:6.0}, {:5.0}: {:5.1} x",
        bytes.len(),
        own(1),
        own(2),
        own(1) / own(2),
        own(3),
        own(4),
        own(3) / own(4),
    );
    let of = |way| counts.then(|| instructions(model, way)).flatten();
    if let (Some(sr), Some(cr), Some(sw), Some(cw)) = (of(WAYS[1]), of(WAYS[2]), of(WAYS[3]), of(WAYS[4])) {
        println!(
            "                     instructions {sr:6.0}, {cr:5.0}: {:5.1} x   writes {sw:6.0}, {cw:5.0}: {:5.1} x",
            sr / cr,
            sw / cw
        );
    }
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if let [one, model, way, n] = given.as_slice()
        && one == "--one"
    {
        let n = n.parse().expect("a number");
        match model.as_str() {
            "flat" => times(way, &flat(), n),
            "nested" => times(way, &nested(), n),
            "dates" => times(way, &dates(), n),
            "numbers" => times(way, &numbers(), n),
            _ => times(way, &texts(), n),
        }
        return;
    }
    let counts = Command::new("valgrind").arg("--version").output().is_ok();
    show("flat", &flat(), counts);
    show("nested", &nested(), counts);
    show("dates", &dates(), counts);
    show("numbers", &numbers(), counts);
    show("texts", &texts(), counts);
    let ns = nanoseconds(&["none", "hand reads", "codec reads"], &flat());
    let (hand, codec) = (ns[1] - ns[0], ns[2] - ns[0]);
    println!(
        "flat     by hand {hand:.0} ns, by the codec {codec:.0}: {:.2} x",
        codec / hand
    );
    if let (true, Some(hand), Some(codec)) = (
        counts,
        instructions("flat", "hand reads"),
        instructions("flat", "codec reads"),
    ) {
        println!(
            "         instructions {hand:.0}, {codec:.0}: {:.2} x",
            codec / hand
        );
    }
}
