//! Enums of all four taggings, as a derive will write them.

use super::agree_document;
use super::generated::fields;
use crate::model::stored::{
    Bound, Done, Fault, Field, Fields, Input, Name, Out, Read, Reader, Row, Stored, Untagged, embedded_type,
    external, read, unit,
};
use mongodb::bson::{Bson, Document, RawDocumentBuf, bson, deserialize_from_slice, doc};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Card {
    number: String,
    code: Option<i32>,
}
fields!(Card {
    number: String = Field::value("number\0", None),
    code: Option<i32> = Field::value("code\0", None),
});

/// The same variants with each tagging.
macro_rules! variants {
    ($name:ident, [$($tag:tt)*] { $($more:tt)* }) => {
        #[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
        $($tag)*
        enum $name {
            #[serde(rename = "cash")]
            Cash,
            Card(Card),
            Named { at: i64, by: Option<String> },
            $($more)*
        }
    };
}

const CARD: Field<Card> = Field::stored("Card\0", None);
const AT: Field<i64> = Field::value("at\0", None);
const BY: Field<Option<String>> = Field::value("by\0", None);
const FIRST: Field<i32> = Field::value("0\0", None);
const SECOND: Field<Option<String>> = Field::value("1\0", None);
const NAMES: &[&str] = &["cash", "Card", "Named", "Pair"];

variants!(External, [] { Pair(i32, Option<String>) });

impl Stored for External {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        match self {
            External::Cash => out.tag(name, "cash"),
            _ => {
                let begin = out.begin_document(name);
                self.write_fields(out)?;
                out.end(begin);
            }
        }
        out.check_parts(bound);
        Ok(())
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
        let variant = external(kind, input)?;
        match variant.name() {
            "cash" => variant.unit().map(|()| External::Cash),
            "Card" => variant.value(const { &CARD }).map(External::Card),
            "Named" => variant.fields("Named", |fields| {
                Ok(External::Named {
                    at: fields.by(const { &AT })?,
                    by: fields.by(const { &BY })?,
                })
            }),
            "Pair" => variant.items("Pair", |items| {
                Ok(External::Pair(
                    items.by(const { &FIRST })?,
                    items.by(const { &SECOND })?,
                ))
            }),
            _ => Err(Fault::unknown_variant(NAMES)),
        }
    }
}

/// Where it is flattened: the variant with its content among other fields.
impl Fields for External {
    fn write_fields(&self, out: &mut Out) -> Done {
        match self {
            External::Cash => ().write(const { &Name::of("cash") }, None, out),
            External::Card(card) => out.by(card, const { &CARD }),
            External::Named { at, by } => {
                let begin = out.begin_document(const { &Name::of("Named") });
                out.by(at, const { &AT })?;
                out.by(by, const { &BY })?;
                out.end(begin);
                Ok(())
            }
            External::Pair(first, second) => {
                let begin = out.begin_array(const { &Name::of("Pair") });
                out.by(first, const { &FIRST })?;
                out.by(second, const { &SECOND })?;
                out.end(begin);
                Ok(())
            }
        }
    }
}

impl Row for External {
    fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
        let variant = fields.variant(NAMES)?;
        match variant.name() {
            "cash" => variant.unit().map(|()| External::Cash),
            "Card" => variant.value(const { &CARD }).map(External::Card),
            "Named" => variant.fields("Named", |fields| {
                Ok(External::Named {
                    at: fields.by(const { &AT })?,
                    by: fields.by(const { &BY })?,
                })
            }),
            _ => variant.items("Pair", |items| {
                Ok(External::Pair(
                    items.by(const { &FIRST })?,
                    items.by(const { &SECOND })?,
                ))
            }),
        }
    }
}

variants!(Internal, [#[serde(tag = "kind")]] {
    #[serde(other)]
    Other,
});

const KIND: Name<'static> = Name::of("kind");

impl Fields for Internal {
    fn write_fields(&self, out: &mut Out) -> Done {
        match self {
            Internal::Cash => out.tag(&KIND, "cash"),
            Internal::Other => out.tag(&KIND, "Other"),
            Internal::Card(card) => {
                out.tag(&KIND, "Card");
                card.write_fields(out)?;
            }
            Internal::Named { at, by } => {
                out.tag(&KIND, "Named");
                out.by(at, const { &AT })?;
                out.by(by, const { &BY })?;
            }
        }
        Ok(())
    }
}

impl Row for Internal {
    fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
        Ok(match fields.tag("kind")? {
            "cash" => Internal::Cash,
            "Card" => Internal::Card(Row::read_row(fields)?),
            "Named" => Internal::Named {
                at: fields.by(const { &AT })?,
                by: fields.by(const { &BY })?,
            },
            _ => Internal::Other,
        })
    }
}

embedded_type!(Internal);

variants!(Adjacent, [#[serde(tag = "kind", content = "what")]] {
    Pair(i32, Option<String>),
    May(Option<i32>),
});

const WHAT: Name<'static> = Name::of("what");
const WHAT_CARD: Field<Card> = Field::stored("what\0", None);
const WHAT_MAY: Field<Option<i32>> = Field::stored("what\0", None);

impl Fields for Adjacent {
    fn write_fields(&self, out: &mut Out) -> Done {
        match self {
            Adjacent::Cash => out.tag(&KIND, "cash"),
            Adjacent::Card(card) => {
                out.tag(&KIND, "Card");
                out.by(card, const { &WHAT_CARD })?;
            }
            Adjacent::May(may) => {
                out.tag(&KIND, "May");
                out.by(may, const { &WHAT_MAY })?;
            }
            Adjacent::Named { at, by } => {
                out.tag(&KIND, "Named");
                let begin = out.begin_document(&WHAT);
                out.by(at, const { &AT })?;
                out.by(by, const { &BY })?;
                out.end(begin);
            }
            Adjacent::Pair(first, second) => {
                out.tag(&KIND, "Pair");
                let begin = out.begin_array(&WHAT);
                out.by(first, const { &FIRST })?;
                out.by(second, const { &SECOND })?;
                out.end(begin);
            }
        }
        Ok(())
    }
}

impl Row for Adjacent {
    fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
        let variant = fields.adjacent("kind", "what")?;
        match variant.name() {
            "cash" => variant.unit().map(|()| Adjacent::Cash),
            "Card" => variant.value(const { &CARD }).map(Adjacent::Card),
            "May" => variant.value(const { &WHAT_MAY }).map(Adjacent::May),
            "Named" => variant.fields("Named", |fields| {
                Ok(Adjacent::Named {
                    at: fields.by(const { &AT })?,
                    by: fields.by(const { &BY })?,
                })
            }),
            "Pair" => variant.items("Pair", |items| {
                Ok(Adjacent::Pair(
                    items.by(const { &FIRST })?,
                    items.by(const { &SECOND })?,
                ))
            }),
            _ => Err(Fault::unknown_variant(NAMES)),
        }
    }
}

embedded_type!(Adjacent);

variants!(Bare, [#[serde(untagged)]] {
    Pair(i32, Option<String>),
    Text(String),
});

const TEXT: Field<String> = Field::value("Text\0", None);

impl Stored for Bare {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        match self {
            Bare::Cash => ().write(name, bound, out),
            Bare::Card(card) => card.write(name, bound, out),
            Bare::Named { at, by } => {
                let begin = out.begin_document(name);
                out.by(at, const { &AT })?;
                out.by(by, const { &BY })?;
                out.end(begin);
                Ok(())
            }
            Bare::Pair(first, second) => {
                let begin = out.begin_array(name);
                out.by(first, const { &FIRST })?;
                out.by(second, const { &SECOND })?;
                out.end(begin);
                Ok(())
            }
            Bare::Text(text) => text.write(name, bound, out),
        }
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
        let mut variants = Untagged::of(kind, input)?;
        if let Some(read) = variants.attempt(|kind, input| unit(kind, input).map(|()| Bare::Cash)) {
            return Ok(read);
        }
        if let Some(read) = variants.attempt(|kind, input| Card::read(kind, input).map(Bare::Card)) {
            return Ok(read);
        }
        if let Some(read) = variants.attempt(|kind, input| {
            crate::model::stored::named(kind, input, |fields| {
                Ok(Bare::Named {
                    at: fields.by(const { &AT })?,
                    by: fields.by(const { &BY })?,
                })
            })
        }) {
            return Ok(read);
        }
        if let Some(read) = variants.attempt(|kind, input| {
            let mut items = crate::model::stored::Items::of(kind, input)?;
            Ok(Bare::Pair(
                items.by(const { &FIRST })?,
                items.by(const { &SECOND })?,
            ))
        }) {
            return Ok(read);
        }
        if let Some(read) = variants.attempt(|kind, input| TEXT.value_of(kind, input).map(Bare::Text)) {
            return Ok(read);
        }
        Err(variants.fault())
    }
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct All {
    external: Vec<External>,
    internal: Vec<Internal>,
    adjacent: Vec<Adjacent>,
    untagged: Vec<Bare>,
}
fields!(All {
    external: Vec<External> = Field::stored("external\0", None),
    internal: Vec<Internal> = Field::stored("internal\0", None),
    adjacent: Vec<Adjacent> = Field::stored("adjacent\0", None),
    untagged: Vec<Bare> = Field::stored("untagged\0", None),
});

fn all() -> All {
    let card = Card {
        number: "1".to_owned(),
        code: Some(7),
    };
    let by = Some("Kate".to_owned());
    All {
        external: vec![
            External::Cash,
            External::Card(card.clone()),
            External::Named {
                at: 5,
                by: by.clone(),
            },
            External::Pair(1, by.clone()),
        ],
        internal: vec![
            Internal::Cash,
            Internal::Card(card.clone()),
            Internal::Named {
                at: 5,
                by: by.clone(),
            },
            Internal::Other,
        ],
        adjacent: vec![
            Adjacent::Cash,
            Adjacent::Card(card.clone()),
            Adjacent::Named { at: 5, by: None },
            Adjacent::Pair(1, by.clone()),
            Adjacent::May(None),
        ],
        untagged: vec![
            Bare::Cash,
            Bare::Card(card),
            Bare::Named {
                at: 5,
                by: by.clone(),
            },
            Bare::Pair(1, by),
            Bare::Text("a".to_owned()),
        ],
    }
}

#[test]
fn variants_are_what_serde_makes_of_them() {
    agree_document(&all());
}

/// Reads each value as one of the enums, in both ways.
fn both(name: &str, value: Bson) -> Option<All> {
    let mut document = mongodb::bson::serialize_to_document(&all()).unwrap();
    document.insert(name, Bson::Array(vec![value.clone()]));
    let raw = RawDocumentBuf::try_from(&document).unwrap();
    let (ours, theirs) = (
        read::<All>(raw.as_bytes()),
        deserialize_from_slice::<All>(raw.as_bytes()),
    );
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, theirs, "{value}");
            Some(ours)
        }
        (Err(_), Err(_)) => None,
        (ours, theirs) => panic!("{name}: {value}: {ours:?} and {theirs:?}"),
    }
}

#[test]
fn what_is_no_variant_is_refused() {
    for (name, value, fits) in [
        ("external", bson!("cash"), true),
        ("external", bson!("Card"), false),
        ("external", bson!("Cash"), false),
        ("external", bson!({ "cash": null }), false),
        ("external", bson!({ "Pair": [1] }), false),
        ("external", bson!({ "Pair": [1, null] }), true),
        ("external", bson!({ "Named": { "at": 1 } }), true),
        ("external", bson!({ "Named": { "by": "x" } }), false),
        ("external", bson!({}), false),
        ("external", bson!(5), false),
        ("internal", bson!({ "by": "x", "at": 1, "kind": "Named" }), true),
        ("internal", bson!({ "at": 1, "kind": "Named", "x": 1 }), true),
        (
            "internal",
            bson!({ "kind": "Card", "code": 1, "number": "x" }),
            true,
        ),
        ("internal", bson!({ "kind": "Card", "code": 1 }), false),
        ("internal", bson!({ "kind": "unheard of" }), true),
        ("internal", bson!({ "kind": 5 }), false),
        ("internal", bson!({ "at": 1 }), false),
        ("adjacent", bson!({ "what": { "at": 1 }, "kind": "Named" }), true),
        ("adjacent", bson!({ "kind": "cash", "what": null }), true),
        ("adjacent", bson!({ "kind": "cash" }), true),
        ("adjacent", bson!({ "kind": "Card" }), false),
        ("adjacent", bson!({ "kind": "May" }), true),
        (
            "adjacent",
            bson!({ "x": 1, "kind": "Pair", "y": 2, "what": [1, "a"] }),
            true,
        ),
        ("untagged", bson!({ "at": 1 }), true),
        ("untagged", bson!({ "number": "1" }), true),
        ("untagged", bson!([1, null]), true),
        ("untagged", bson!([1]), false),
        ("untagged", bson!(true), false),
    ] {
        assert_eq!(both(name, value.clone()).is_some(), fits, "{name}: {value}");
    }
}

#[test]
fn the_error_of_the_variant_that_got_furthest_is_told() {
    let document = doc! { "external": [], "internal": [], "adjacent": [], "untagged": [{ "number": 5 }] };
    let raw = RawDocumentBuf::try_from(&document).unwrap();
    let error = read::<All>(raw.as_bytes()).unwrap_err();
    assert_eq!(error.path(), "untagged.0.number");
}

#[test]
fn enums_are_flattened() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Order {
        no: i32,
        #[serde(flatten)]
        external: External,
        #[serde(flatten)]
        internal: Internal,
    }
    fields!(Order {
        no: i32 = Field::value("no\0", None),
        ..external,
        ..internal,
    });
    for (external, internal) in all().external.into_iter().zip(all().internal) {
        let order = Order {
            no: 1,
            external,
            internal,
        };
        let (bytes, _) = super::encode(&order).unwrap();
        assert_eq!(bytes, mongodb::bson::serialize_to_vec(&order).unwrap());
        let document: Document = mongodb::bson::deserialize_from_slice(&bytes).unwrap();
        assert_eq!(read::<Order>(&bytes).unwrap(), order);
        assert_eq!(deserialize_from_slice::<Order>(&bytes).unwrap(), order);
        let reversed: Document = document
            .into_iter()
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        let raw = RawDocumentBuf::try_from(&reversed).unwrap();
        assert_eq!(read::<Order>(raw.as_bytes()).unwrap(), order);
    }
}

/// `#[embed(repr = i32)]`.
#[test]
fn numbered_enums_are_their_numbers() {
    use crate::model::numbered::{self, Numbered};
    #[derive(Debug, PartialEq)]
    enum Level {
        Low = 1,
        High = 9,
    }
    impl Numbered for Level {
        const NUMBERS: &'static [i64] = &[1, 9];
        const NAME: &'static str = "Level";
        fn number(&self) -> i64 {
            match self {
                Level::Low => 1,
                Level::High => 9,
            }
        }
        fn of(number: i64) -> Option<Level> {
            [Level::Low, Level::High]
                .into_iter()
                .find(|level| level.number() == number)
        }
    }
    const LEVEL: Field<Level> = Field::with("level\0", None, numbered::write_int, numbered::read, || {
        Err(Fault::missing())
    });
    struct Leveled(Level);
    impl Fields for Leveled {
        fn write_fields(&self, out: &mut Out) -> Done {
            out.by(&self.0, const { &LEVEL })
        }
    }
    impl Row for Leveled {
        fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
            Ok(Leveled(fields.by(const { &LEVEL })?))
        }
    }
    let (bytes, _) = super::encode(&Leveled(Level::High)).unwrap();
    assert_eq!(
        bytes,
        mongodb::bson::serialize_to_vec(&doc! { "level": 9 }).unwrap()
    );
    assert_eq!(read::<Leveled>(&bytes).unwrap().0, Level::High);
    let raw = RawDocumentBuf::try_from(&doc! { "level": 2 }).unwrap();
    let error = read::<Leveled>(raw.as_bytes())
        .map(|leveled| leveled.0)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`level`: the number is no `Level`: it is one of 1, 9"
    );
}
