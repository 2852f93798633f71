//! Each type, in both directions.

use super::{agree, agree_native, encode};
use crate::model::average::Average;
use crate::model::geo::{LineString, Point, Polygon};
use crate::model::stored::tests::Alone;
use crate::model::stored::{Stored, read};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{
    self, Binary, Bson, DateTime, Decimal128, Document, RawBson, RawDocumentBuf, Regex, Timestamp, Uuid,
    bson, doc,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn integers() {
    macro_rules! ends {
        ($($ty:ident)*) => {$(
            for n in [$ty::MIN, $ty::MAX, 0, 1, 100] {
                agree(n);
                agree(Some(n));
                agree(vec![n, 7]);
            }
        )*};
    }
    ends!(i8 u8 i16 u16 i32 u32 i64 isize);
    for n in [0, 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        agree(n);
        agree(n as usize);
    }
}

#[test]
fn other_numbers() {
    for n in [
        0.0,
        -0.0,
        1.5,
        f64::NAN,
        f64::INFINITY,
        f64::MIN,
        f64::MAX,
        f64::EPSILON,
    ] {
        agree(n);
        agree(n as f32);
    }
    agree(true);
    agree(false);
    agree(());
}

#[test]
fn texts() {
    for text in [
        "",
        "a",
        "ä€𝄞",
        "a text of more than sixteen bytes",
        "\0",
        "$where",
    ] {
        agree(text.to_owned());
        agree::<Box<str>>(text.into());
        agree(Cow::<'static, str>::Owned(text.to_owned()));
        let alone = Alone(Arc::<str>::from(text));
        let (bytes, _) = encode(&alone).unwrap();
        assert_eq!(bytes, bson::serialize_to_vec(&doc! { "v": text }).unwrap());
        assert_eq!(read::<Alone<Arc<str>>>(&bytes).unwrap().0, alone.0);
    }
    for char in ['a', 'ä', '𝄞', '\0'] {
        agree(char);
    }
}

fn regex(pattern: &str, options: &str) -> Regex {
    Regex {
        pattern: pattern.try_into().unwrap(),
        options: options.try_into().unwrap(),
    }
}

fn bsons() -> Vec<Bson> {
    let regex = regex("a.b", "im");
    let binary = |subtype: u8| {
        Bson::Binary(Binary {
            subtype: subtype.into(),
            bytes: vec![1, 0, 255],
        })
    };
    vec![
        bson!(1.5),
        bson!("text"),
        bson!([1, "a", [], [{ "b": null }]]),
        bson!({ "a": 1, "b": { "c": [true] } }),
        true.into(),
        Bson::Null,
        Bson::RegularExpression(regex),
        Bson::JavaScriptCode("x".to_owned()),
        Bson::JavaScriptCodeWithScope(bson::JavaScriptCodeWithScope {
            code: "x".to_owned(),
            scope: doc! { "x": 1 },
        }),
        7.into(),
        7_i64.into(),
        Bson::Timestamp(Timestamp {
            time: 5,
            increment: u32::MAX,
        }),
        binary(0),
        binary(2),
        binary(4),
        binary(0x80),
        ObjectId::from_bytes([7; 12]).into(),
        DateTime::from_millis(-7).into(),
        Bson::Symbol("s".to_owned()),
        Bson::Decimal128("1.50".parse().unwrap()),
        Bson::Undefined,
        Bson::MaxKey,
        Bson::MinKey,
    ]
}

#[test]
fn types_of_bson() {
    agree(ObjectId::from_bytes([7; 12]));
    for millis in [0, -7, i64::MIN, i64::MAX] {
        agree(DateTime::from_millis(millis));
    }
    agree(Timestamp {
        time: u32::MAX,
        increment: 3,
    });
    for text in ["0", "-1.50", "NaN", "Infinity", "1E+6000"] {
        agree(text.parse::<Decimal128>().unwrap());
    }
    agree(Uuid::from_bytes([9; 16]));
    for subtype in [
        BinarySubtype::Generic,
        BinarySubtype::BinaryOld,
        BinarySubtype::Md5,
    ] {
        for bytes in [vec![], vec![0, 255]] {
            agree(Binary { subtype, bytes });
        }
    }
    agree(regex("a.b", "ix"));
}

#[test]
fn any_value() {
    let mut all = Document::new();
    for (position, value) in bsons().into_iter().enumerate() {
        agree(value.clone());
        let raw = RawDocumentBuf::try_from(&doc! { "v": value.clone() }).unwrap();
        agree(RawBson::from(raw.iter().next().unwrap().unwrap().1));
        all.insert(format!("a name of field {position}"), value);
    }
    agree(all.clone());
    agree(RawDocumentBuf::try_from(&all).unwrap());
    agree(vec![all.clone(), doc! {}]);
    let (bytes, _) = encode(&all).unwrap();
    assert_eq!(bytes, bson::serialize_to_vec(&all).unwrap());
    assert_eq!(read::<Document>(&bytes).unwrap(), all);
    assert_eq!(read::<RawDocumentBuf>(&bytes).unwrap().as_bytes(), bytes);
}

#[test]
fn a_map_that_looks_like_extended_json_stays_a_map() {
    let map = doc! { "$oid": "507f1f77bcf86cd799439011" };
    let (bytes, _) = encode(&Alone(map.clone())).unwrap();
    assert_eq!(read::<Alone<Document>>(&bytes).unwrap().0, map);
}

#[test]
fn around_others() {
    agree(Some(Some(3)));
    agree(None::<Option<i32>>);
    agree(Box::new(Some("a".to_owned())));
    agree(vec![None, Some(1)]);
    agree(VecDeque::from([1_i64, 2]));
    agree::<Box<[String]>>(vec!["a".to_owned(), String::new()].into());
    agree(BTreeSet::from(["b".to_owned(), "a".to_owned()]));
    agree(HashSet::from([7]));
    agree([1.5, -2.5]);
    agree([[1, 2], [3, 4]]);
    agree([0; 0]);
    agree([7_u8; 32]);
    agree((1,));
    agree((1, "b".to_owned(), Some(2.5), [1, 2], (), true, 'c', 8_u64));
    agree(BTreeMap::from([
        ("a".to_owned(), 1),
        ("a key of more than sixteen".to_owned(), 2),
    ]));
    agree(BTreeMap::from([("a\0".to_owned(), 1)]));
    agree::<HashMap<Box<str>, Vec<u8>>>(HashMap::from([("a".into(), vec![1])]));
    agree(BTreeMap::from([(
        String::new(),
        BTreeMap::from([("$x".to_owned(), [1])]),
    )]));
    agree(std::marker::PhantomData::<String>);
    // Positions of one, two and three digits.
    agree((0..1_200).collect::<Vec<i32>>().split_off(1_190));
    let many: Vec<i32> = (0..1_200).collect();
    let (bytes, _) = encode(&Alone(many.clone())).unwrap();
    assert_eq!(bytes, bson::serialize_to_vec(&doc! { "v": &many }).unwrap());
    assert_eq!(read::<Alone<Vec<i32>>>(&bytes).unwrap().0, many);
}

/// By serde's own form: the library's own types.
#[test]
fn types_of_the_library() {
    let points = [
        Point::new(13.0, 52.3),
        Point::new(13.8, 52.3),
        Point::new(13.4, 52.7),
    ];
    agree(points[0]);
    agree(LineString::<10>::new(points).unwrap());
    let inner = [
        Point::new(13.3, 52.4),
        Point::new(13.4, 52.4),
        Point::new(13.4, 52.5),
    ];
    agree(Polygon::<10, 1>::new(points).unwrap().with_hole(inner).unwrap());
    agree(Average::default());
    let owner = crate::Ref::<crate::expansion_fixture::Person>::new(ObjectId::from_bytes([1; 12]));
    agree(owner);
    agree(vec![Some(owner), None]);
    agree(crate::Ref::<crate::expansion_fixture::Person, String>::new(
        "k".to_owned(),
    ));
}

#[test]
fn standard_types() {
    agree_native(Duration::from_micros(1_999));
    agree_native(Duration::MAX);
    agree_native(vec![Some(Duration::ZERO), None]);
    for text in ["::1", "127.0.0.1", "2001:db8::8a2e:370:7334"] {
        agree_native(text.parse::<IpAddr>().unwrap());
    }
    agree_native(Ipv4Addr::LOCALHOST);
    agree_native(Ipv6Addr::LOCALHOST);
    agree_native::<SocketAddr>("[::1]:80".parse().unwrap());
    agree_native(BTreeMap::from([("a".to_owned(), Duration::from_secs(1))]));
    agree_native(BTreeSet::from([Duration::from_secs(1)]));
    agree_native(Box::new(Arc::new(Duration::from_secs(1))));
}

/// Those of a feature in options and arrays, where the field says nothing more.
#[allow(dead_code)]
fn agree_anywhere<T: Stored + crate::model::native::Native + Debug + Clone>(value: T) {
    agree_native(value.clone());
    agree_native(Some(value.clone()));
    agree_native(vec![Some(value), None]);
}

#[cfg(feature = "chrono")]
#[test]
fn chrono() {
    use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
    for micros in [0, 1_999, -1, -1_999] {
        let date = DateTime::<Utc>::from_timestamp_micros(micros).unwrap();
        agree_anywhere(date);
        for seconds in [0, 7_200, -86_399] {
            agree_anywhere(date.with_timezone(&FixedOffset::east_opt(seconds).unwrap()));
        }
        agree_anywhere(TimeDelta::microseconds(micros));
    }
    agree_anywhere(DateTime::<Utc>::MAX_UTC);
}

#[cfg(feature = "jiff")]
#[test]
fn jiff() {
    use jiff::{SignedDuration, Timestamp, tz::TimeZone};
    for micros in [0, 1_999, -1] {
        let date = Timestamp::from_microsecond(micros).unwrap();
        agree_anywhere(date);
        agree_anywhere(jiff::ZonedDateTime::new(
            date,
            TimeZone::fixed(jiff::tz::offset(2)),
        ));
        agree_anywhere(SignedDuration::from_micros(micros));
    }
    agree_anywhere(SignedDuration::MAX);
}

#[cfg(feature = "time")]
#[test]
fn time() {
    use time::{Duration, OffsetDateTime, UtcDateTime};
    for nanos in [0, 1_999_999, -1] {
        agree_anywhere(OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap());
        agree_anywhere(UtcDateTime::from_unix_timestamp_nanos(nanos).unwrap());
        agree_anywhere(Duration::nanoseconds(nanos as i64));
    }
}

#[cfg(feature = "uuid")]
#[test]
fn uuid() {
    agree_anywhere(uuid::Uuid::from_bytes([3; 16]));
}

#[cfg(feature = "url")]
#[test]
fn url() {
    agree_anywhere::<url::Url>("https://example.com/a?b".parse().unwrap());
}

#[cfg(feature = "rust_decimal")]
#[test]
fn rust_decimal() {
    use rust_decimal::Decimal;
    for text in [
        "0",
        "0.00",
        "-0.0",
        "1.50",
        "-79228162514264337593543950335",
        "0.0000000000000000000000000001",
    ] {
        agree_anywhere::<Decimal>(text.parse().unwrap());
    }
}

/// Values of types around each other.
fn any_bson() -> impl Strategy<Value = Bson> {
    let leaf =
        (0..bsons().len(), any::<i32>(), any::<f64>(), ".{0,12}").prop_map(|(kind, int, double, text)| {
            match kind {
                0 => int.into(),
                1 => double.into(),
                2 => text.into(),
                kind => bsons()[kind].clone(),
            }
        });
    leaf.prop_recursive(4, 32, 6, |inner| {
        let name = "[a-z]{0,20}";
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Bson::Array),
            btree_map(name, inner, 0..6).prop_map(|map| Bson::Document(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn generated_values(
        ints in vec(any::<(i8, u8, i16, u16, i32, u32, i64)>(), 0..4),
        more in any::<(u64, isize, f32, f64, bool, char, String)>(),
        set in btree_set(any::<i64>(), 0..4),
        map in btree_map(".{0,20}", vec(any::<Option<i64>>(), 0..3), 0..4),
        arrays in any::<([Option<String>; 3], [[f64; 2]; 2])>(),
        value in any_bson(),
    ) {
        agree(ints);
        agree(more.0);
        agree((more.1, more.2, more.3, more.4, more.5, more.6));
        agree(set);
        agree(map);
        agree(arrays);
        agree(value);
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in vec(any::<u8>(), 0..64)) {
        let mut bytes = bytes;
        if bytes.len() >= 5 {
            let length = (bytes.len() as i32).to_le_bytes();
            bytes[..4].copy_from_slice(&length);
            *bytes.last_mut().unwrap() = 0;
        }
        let _ = read::<Document>(&bytes);
        let _ = read::<Alone<BTreeMap<String, Vec<Option<String>>>>>(&bytes);
        let _ = read::<RawDocumentBuf>(&bytes);
    }
}

#[test]
fn what_is_nested_without_end_is_refused() {
    let mut bytes = vec![5, 0, 0, 0, 0];
    for _ in 0..100_000 {
        let len = (bytes.len() + 8) as i32;
        let mut outer = Vec::with_capacity(bytes.len() + 8);
        outer.extend_from_slice(&len.to_le_bytes());
        outer.extend_from_slice(&[3, b'v', 0]);
        if outer.len() + bytes.len() > 40_000 {
            break;
        }
        outer.extend_from_slice(&bytes);
        outer.push(0);
        bytes = outer;
    }
    let error = read::<Document>(&bytes).unwrap_err();
    assert!(error.message().contains("256"), "{error}");
}

#[test]
fn whole_doubles_are_integers() {
    let alone = |value: Bson| RawDocumentBuf::try_from(&doc! { "v": value }).unwrap();
    for (value, expected) in [
        (bson!(5.0), Some(5)),
        (bson!(-5.0), Some(-5)),
        (bson!(5.5), None),
        (bson!(5e12), None),
        (Bson::Double(f64::NAN), None),
        (bson!(1e300), None),
        (bson!(5_i64), Some(5)),
        (bson!("5"), None),
    ] {
        let read = read::<Alone<i32>>(alone(value.clone()).as_bytes());
        assert_eq!(read.ok().map(|alone| alone.0), expected, "{value}");
    }
}

#[test]
fn an_id_is_read_of_its_hexadecimal_text() {
    let id = ObjectId::new();
    for (text, expected) in [(id.to_hex(), Some(id)), ("not an id".to_owned(), None)] {
        let raw = RawDocumentBuf::try_from(&doc! { "v": text }).unwrap();
        let read = read::<Alone<ObjectId>>(raw.as_bytes());
        assert_eq!(read.ok().map(|alone| alone.0), expected);
    }
}
