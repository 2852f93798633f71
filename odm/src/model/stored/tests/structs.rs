//! Structs: fields that are missing, that stand elsewhere, that are unknown, with defaults and other names.

use super::generated::{bound, fields};
use super::{agree_document, encode};
use crate::model::path::OwnSerde;
use crate::model::shape::{Names, Number};
use crate::model::stored::{
    BySerde, Done, Field, Fields, Limit, Out, Read, Reader, Row, embedded_type, read,
};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{
    Binary, Bson, DateTime, Decimal128, Document, RawDocumentBuf, deserialize_from_slice, doc,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Flat {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
    a_name_of_more_than_sixteen_bytes: i32,
    nick: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    age: Option<u8>,
    #[serde(default = "seven")]
    points: i64,
    #[serde(alias = "old", alias = "older")]
    active: bool,
    score: f64,
}

fn seven() -> i64 {
    7
}

fields!(Flat {
    id: ObjectId = Field::value("_id\0", None),
    name: String = Field::value("name\0", Some(bound!(max_len: 50))),
    a_name_of_more_than_sixteen_bytes: i32 =
        Field::value("a_name_of_more_than_sixteen_bytes\0", None),
    nick: Option<String> = Field::value("nick\0", None),
    age: Option<u8> = Field::value("age\0", None).unless(Option::is_none),
    points: i64 = Field::value("points\0", Some(bound!(min: Number::Int(0)))).or(seven),
    active: bool = Field::value("active\0", None).aliases(&["old", "older"]),
    score: f64 = Field::value("score\0", None),
});

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Nested {
    #[serde(rename = "_id")]
    id: i32,
    parts: Vec<Part>,
    main: Option<Box<Part>>,
    tags: Vec<String>,
    by_name: BTreeMap<String, Part>,
    #[serde(flatten)]
    place: Place,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Part {
    name: String,
    qty: i32,
    size: Option<[f64; 2]>,
    inner: Vec<Part>,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Place {
    city: String,
    zip: Option<i32>,
}

fields!(Nested {
    id: i32 = Field::value("_id\0", None),
    parts: Vec<Part> = Field::stored("parts\0", Some(bound!(max_items: 3))),
    main: Option<Box<Part>> = Field::stored("main\0", None),
    tags: Vec<String> = Field::items("tags\0", bound!(max_items: 5, max_len: 10)),
    by_name: BTreeMap<String, Part> = Field::stored("by_name\0", Some(bound!(max_items: 5))),
    ..place,
});
fields!(Part {
    name: String = Field::value("name\0", None),
    qty: i32 = Field::value("qty\0", None),
    size: Option<[f64; 2]> = Field::value("size\0", None),
    inner: Vec<Part> = Field::stored("inner\0", Some(bound!(max_items: 3))),
});
fields!(Place {
    city: String = Field::value("city\0", None),
    zip: Option<i32> = Field::value("zip\0", None),
});

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Kinds {
    made: DateTime,
    changed: Option<DateTime>,
    price: Decimal128,
    bytes: Binary,
    key: mongodb::bson::Uuid,
    days: Vec<DateTime>,
    any: Bson,
}

fields!(Kinds {
    made: DateTime = Field::value("made\0", None),
    changed: Option<DateTime> = Field::value("changed\0", None),
    price: Decimal128 = Field::value("price\0", None),
    bytes: Binary = Field::value("bytes\0", Some(bound!(max_len: 4))),
    key: mongodb::bson::Uuid = Field::value("key\0", None),
    days: Vec<DateTime> = Field::items("days\0", bound!(max_items: 9)),
    any: Bson = Field::new("any\0", None, BySerde::<OwnSerde>::functions()),
});

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Numbers {
    a: i8,
    b: u16,
    c: i32,
    d: u32,
    e: i64,
    f: f32,
    g: f64,
    h: Vec<i64>,
    i: (i32, u8),
}

fields!(Numbers {
    a: i8 = Field::value("a\0", None),
    b: u16 = Field::value("b\0", None),
    c: i32 = Field::value("c\0", Some(bound!(min: Number::Int(-5), max: Number::Float(5.5)))),
    d: u32 = Field::value("d\0", None),
    e: i64 = Field::value("e\0", None),
    f: f32 = Field::value("f\0", None),
    g: f64 = Field::value("g\0", None),
    h: Vec<i64> = Field::items("h\0", bound!(max_items: 9)),
    i: (i32, u8) = Field::value("i\0", None),
});

fn flat() -> Flat {
    Flat {
        id: ObjectId::from_bytes([7; 12]),
        name: "Kate".to_owned(),
        a_name_of_more_than_sixteen_bytes: 3,
        nick: None,
        age: Some(30),
        points: 12,
        active: true,
        score: 0.5,
    }
}

fn nested() -> Nested {
    let part = |name: &str, inner: Vec<Part>| Part {
        name: name.to_owned(),
        qty: 2,
        size: Some([1.0, 2.0]),
        inner,
    };
    Nested {
        id: 1,
        parts: vec![part("bolt", vec![part("thread", vec![])]), part("nut", vec![])],
        main: Some(Box::new(part("plate", vec![]))),
        tags: vec!["a".to_owned(), "bc".to_owned()],
        by_name: BTreeMap::from([("x".to_owned(), part("x", vec![]))]),
        place: Place {
            city: "Bern".to_owned(),
            zip: Some(3000),
        },
    }
}

fn kinds() -> Kinds {
    Kinds {
        made: DateTime::from_millis(1_700_000_000_000),
        changed: None,
        price: "12.50".parse().unwrap(),
        bytes: Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![1, 2, 3],
        },
        key: mongodb::bson::Uuid::from_bytes([5; 16]),
        days: vec![DateTime::from_millis(0), DateTime::from_millis(-1)],
        any: Bson::Array(vec![Bson::Null, doc! { "a": 1 }.into()]),
    }
}

fn numbers() -> Numbers {
    Numbers {
        a: -1,
        b: 2,
        c: 3,
        d: u32::MAX,
        e: i64::MIN,
        f: 0.5,
        g: -0.25,
        h: vec![1, -1],
        i: (5, 6),
    }
}

#[test]
fn structs_are_what_serde_makes_of_them() {
    agree_document(&flat());
    agree_document(&Flat { age: None, ..flat() });
    agree_document(&nested());
    agree_document(&kinds());
    agree_document(&numbers());
}

/// Reads a document in both ways; `None` where both refuse it.
fn both<T>(document: &Document) -> Option<T>
where
    T: Row + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let raw = RawDocumentBuf::try_from(document).unwrap();
    let ours = read::<T>(raw.as_bytes());
    let theirs = deserialize_from_slice::<T>(raw.as_bytes());
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, theirs, "{document}");
            Some(ours)
        }
        (Err(_), Err(_)) => None,
        (ours, theirs) => panic!("{document}: {ours:?} and {theirs:?}"),
    }
}

fn bson<T: Serialize>(document: &T) -> Document {
    mongodb::bson::serialize_to_document(document).unwrap()
}

#[test]
fn fields_may_be_missing() {
    let whole = bson(&flat());
    for (name, may_miss) in [
        ("_id", false),
        ("name", false),
        ("a_name_of_more_than_sixteen_bytes", false),
        ("nick", true),
        ("age", true),
        ("points", true),
        ("active", false),
        ("score", false),
    ] {
        let mut document = whole.clone();
        document.remove(name);
        assert_eq!(both::<Flat>(&document).is_some(), may_miss, "{name}");
        if !may_miss {
            let raw = RawDocumentBuf::try_from(&document).unwrap();
            let error = read::<Flat>(raw.as_bytes()).unwrap_err();
            assert_eq!(
                (error.path(), error.message()),
                (name.to_owned(), format!("missing field `{name}`"))
            );
        }
    }
}

#[test]
fn null_is_a_value() {
    for name in ["name", "points", "nick", "age", "score"] {
        let mut document = bson(&flat());
        document.insert(name, Bson::Null);
        assert_eq!(
            both::<Flat>(&document).is_some(),
            ["nick", "age"].contains(&name),
            "{name}"
        );
    }
}

#[test]
fn other_names_are_tried_where_there_is_no_own() {
    for alias in ["old", "older"] {
        let mut document = bson(&flat());
        let active = document.remove("active").unwrap();
        document.insert(alias, active);
        assert!(both::<Flat>(&document).unwrap().active);
    }
}

#[test]
fn a_field_that_stands_twice_is_read_once() {
    let mut raw = RawDocumentBuf::try_from(&bson(&flat())).unwrap();
    raw.append(mongodb::bson::raw::cstr!("name"), "again");
    assert_eq!(read::<Flat>(raw.as_bytes()).unwrap().name, "Kate");
    assert!(deserialize_from_slice::<Flat>(raw.as_bytes()).is_err());
}

#[test]
fn unknown_fields_are_left_out() {
    let mut document = doc! { "_odm": { "version": 1_i64 } };
    for (name, value) in bson(&nested()) {
        document.insert(format!("before {name}"), vec![doc! { "name": 1 }]);
        document.insert(name, value);
    }
    document.insert("_copied", doc! {});
    assert_eq!(both::<Nested>(&document).unwrap(), nested());
}

fn in_order(document: &Document, order: &[usize]) -> Document {
    let all: Vec<_> = document.clone().into_iter().collect();
    order.iter().filter_map(|at| all.get(*at).cloned()).collect()
}

proptest! {
    #[test]
    fn any_order_is_read(
        order in Just((0..9).collect::<Vec<usize>>()).prop_shuffle(),
        left_out in proptest::collection::vec(0..9_usize, 0..4),
        unknown in 0..9_usize,
    ) {
        let kept: Vec<usize> = order.iter().copied().filter(|at| !left_out.contains(at)).collect();
        let mut document = in_order(&bson(&flat()), &kept);
        if unknown < 4 {
            document = doc! { "x": 1 }.into_iter().chain(document).collect();
        }
        both::<Flat>(&document);
        both::<Nested>(&in_order(&bson(&nested()), &kept));
        both::<Kinds>(&in_order(&bson(&kinds()), &kept));
        both::<Numbers>(&in_order(&bson(&numbers()), &kept));
        both::<Numbers>(&in_order(&bson(&numbers()), &order)).unwrap();
    }
}

#[test]
fn a_flattened_option_is_there_where_it_can_be_read() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct House {
        name: String,
        #[serde(flatten)]
        place: Option<Place>,
    }
    fields!(House {
        name: String = Field::value("name\0", None),
        ..place,
    });
    for document in [
        doc! { "name": "a", "city": "b", "zip": 1 },
        doc! { "name": "a", "city": "b" },
        doc! { "zip": 1, "city": "b", "name": "a" },
        doc! { "name": "a" },
        doc! { "name": "a", "city": 5 },
        doc! { "zip": 5, "name": "a" },
    ] {
        let house = both::<House>(&document).unwrap();
        agree_document(&house);
    }
}

#[test]
fn a_struct_shows_what_it_does_not_declare() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Open {
        name: String,
        #[serde(flatten)]
        extra: BTreeMap<String, Bson>,
    }
    const NAME: Field<String> = Field::value("name\0", None);
    const NAMES: &Names = &Names {
        own: &["name"],
        within: &[],
    };
    impl Fields for Open {
        fn write_fields(&self, out: &mut Out) -> Done {
            out.by(&self.name, const { &NAME })?;
            self.extra.write_fields(out)
        }
    }
    impl Row for Open {
        fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
            Ok(Open {
                name: fields.by(const { &NAME })?,
                extra: fields.extra(NAMES)?,
            })
        }
    }
    let open = both::<Open>(&doc! { "a": 1, "name": "b", "c": { "d": [1] } }).unwrap();
    assert_eq!(open.extra.len(), 2);
    agree_document(&open);
    let with_own = doc! { "_odm": 1, "name": "b", "_copied": {}, "__odm_join": 1, "c": 1 };
    let raw = RawDocumentBuf::try_from(&with_own).unwrap();
    let open = read::<Open>(raw.as_bytes()).unwrap();
    assert_eq!(open.extra.keys().collect::<Vec<_>>(), ["c"]);
}

#[test]
fn a_struct_may_refuse_what_it_does_not_declare() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Closed {
        a: i32,
        #[serde(alias = "c")]
        b: Option<i32>,
    }
    const A: Field<i32> = Field::value("a\0", None);
    const B: Field<Option<i32>> = Field::value("b\0", None).aliases(&["c"]);
    const NAMES: &Names = &Names {
        own: &["a", "b", "c"],
        within: &[],
    };
    impl Row for Closed {
        fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
            let read = Closed {
                a: fields.by(const { &A })?,
                b: fields.by(const { &B })?,
            };
            fields.finish(NAMES)?;
            Ok(read)
        }
    }
    for (document, fits) in [
        (doc! { "a": 1, "b": 2 }, true),
        (doc! { "c": 2, "a": 1 }, true),
        (doc! { "a": 1 }, true),
        (doc! { "a": 1, "b": 2, "d": 3 }, false),
        (doc! { "d": 1, "a": 1, "b": 2 }, false),
    ] {
        assert_eq!(both::<Closed>(&document).is_some(), fits, "{document}");
    }
}

#[test]
fn a_generic_struct_has_constants_for_each_type() {
    #[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
    struct Dated<T> {
        at: DateTime,
        value: T,
    }
    impl<T: crate::model::value::Value + crate::model::stored::Stored> Dated<T> {
        const AT: Field<DateTime> = Field::value("at\0", None);
        const VALUE: Field<T> = Field::value("value\0", None);
    }
    impl<T: crate::model::value::Value + crate::model::stored::Stored> Fields for Dated<T> {
        fn write_fields(&self, out: &mut Out) -> Done {
            out.by(&self.at, const { &Self::AT })?;
            out.by(&self.value, const { &Self::VALUE })
        }
    }
    impl<T: crate::model::value::Value + crate::model::stored::Stored> Row for Dated<T> {
        fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
            Ok(Dated {
                at: fields.by(const { &Self::AT })?,
                value: fields.by(const { &Self::VALUE })?,
            })
        }
    }
    embedded_type!(Dated<T>, [T: crate::model::value::Value + crate::model::stored::Stored]);
    let at = DateTime::from_millis(1);
    agree_document(&Dated { at, value: 5 });
    agree_document(&Dated {
        at,
        value: "a".to_owned(),
    });
}

#[test]
fn broken_bounds_are_noticed_and_kept_ones_are_not() {
    let is_broken = |document: &dyn Fn(&mut Out) -> Done| {
        let mut out = Out::default();
        document(&mut out).unwrap();
        out.broken()
    };
    let flat_is = |flat: Flat| is_broken(&|out| crate::model::stored::write(&flat, out));
    assert!(!flat_is(flat()));
    assert!(flat_is(Flat {
        name: "x".repeat(51),
        ..flat()
    }));
    assert!(!flat_is(Flat {
        name: "ä".repeat(50),
        ..flat()
    }));
    assert!(flat_is(Flat { points: -1, ..flat() }));
    let nested_is = |nested: Nested| is_broken(&|out| crate::model::stored::write(&nested, out));
    assert!(!nested_is(nested()));
    assert!(nested_is(Nested {
        tags: vec!["x".repeat(11)],
        ..nested()
    }));
    assert!(nested_is(Nested {
        tags: vec![String::new(); 6],
        ..nested()
    }));
    for key in ["", "$a", "a.b"] {
        let part = nested().parts.remove(1);
        assert!(nested_is(Nested {
            by_name: BTreeMap::from([(key.to_owned(), part)]),
            ..nested()
        }));
    }
    let numbers_is = |c: i32| is_broken(&|out| crate::model::stored::write(&Numbers { c, ..numbers() }, out));
    assert_eq!([-6, -5, 5, 6].map(numbers_is), [true, false, false, true]);
    let mut long = kinds();
    long.bytes.bytes = vec![0; 5];
    assert!(is_broken(&|out| crate::model::stored::write(&long, out)));
}

#[test]
fn a_newtype_keeps_its_own_bounds_and_those_of_its_field() {
    const OWN: Limit<'static> = Limit::of(&crate::model::shape::Bounds {
        max_len: Some(5),
        ..crate::model::shape::Bounds::NONE
    });
    let outer = bound!(min_len: 2);
    for (text, fits) in [("a", false), ("ab", true), ("abcde", true), ("abcdef", false)] {
        let mut out = Out::default();
        crate::model::stored::within(Some(outer), Some(&OWN), |bound| {
            crate::model::stored::Stored::write(
                &text.to_owned(),
                const { &crate::model::stored::Name::of("v") },
                bound,
                &mut out,
            )
        })
        .unwrap();
        assert_eq!(!out.broken(), fits, "{text}");
    }
}

#[test]
fn ids_that_the_server_may_refuse_are_left_to_the_walk() {
    const ID: Field<Bson> = Field::stored("_id\0", None);
    for (id, is_left) in [
        (Bson::Int32(1), false),
        (doc! { "a": 1 }.into(), true),
        (Bson::Array(vec![]), true),
    ] {
        let mut out = Out::default();
        out.by(&id, const { &ID }).unwrap();
        assert_eq!(out.broken(), is_left, "{id}");
    }
}

#[test]
fn strings_are_normalized_while_they_are_written() {
    use crate::model::meta::value_rules::{Normalize, ValueRules};
    const RULES: &ValueRules = &ValueRules {
        normalize: Normalize {
            trim: true,
            lowercase: true,
        },
        ..ValueRules::NONE
    };
    const TEXT: Field<Vec<String>> = Field::items("v\0", bound!(rules: RULES, max_items: 3, max_len: 2));
    struct Texts(Vec<String>);
    impl Fields for Texts {
        fn write_fields(&self, out: &mut Out) -> Done {
            out.by(&self.0, const { &TEXT })
        }
    }
    let (bytes, broken) = encode(&Texts(vec![" AB ".to_owned(), "x".to_owned()])).unwrap();
    assert_eq!(
        bytes,
        mongodb::bson::serialize_to_vec(&doc! { "v": ["ab", "x"] }).unwrap()
    );
    assert!(!broken);
}
