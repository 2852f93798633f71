//! Every stored value can be read, also those that other clients store, and what they may not store.

use odm::bson::{Bson, DateTime, Decimal128, Document as Raw, Uuid, doc, oid::ObjectId};
use odm::prelude::*;
use odm::{Error, Model};
use odm_tests::{TestDb, is_the_stand_in, with_db};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "shops", version)]
struct Shop {
    #[serde(rename = "_id")]
    id: i64,
    small: i8,
    count: i32,
    #[field(min = 0, max = 100)]
    share: u32,
    total: Option<i64>,
    rate: f64,
    #[embed(max = 3)]
    days: Vec<u16>,
    #[embed(max = 3)]
    by_day: BTreeMap<String, i32>,
    place: Place,
    size: Size,
    unit: Unit,
    version: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Place {
    x: i32,
    pair: (i32, String),
    #[serde(flatten)]
    more: More,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct More {
    z: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "kind")]
enum Size {
    Area { metres: i32 },
    None,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(untagged)]
enum Unit {
    Number(i64),
    Text(String),
}

#[derive(Projection, Deserialize, Debug, PartialEq)]
#[projection(of = Shop)]
struct Counted {
    count: i32,
    total: Option<i64>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "visits")]
struct Visit {
    #[serde(rename = "_id")]
    id: i64,
    #[parent_ref]
    shop: Ref<Shop>,
    minutes: i32,
}

fn shop() -> Shop {
    Shop {
        id: 1,
        small: -3,
        count: 5,
        share: 7,
        total: Some(1 << 40),
        rate: 2.0,
        days: vec![1, 2],
        by_day: BTreeMap::from([("mon".into(), 4)]),
        place: Place {
            x: 1,
            pair: (2, "a".into()),
            more: More { z: 3 },
        },
        size: Size::Area { metres: 9 },
        unit: Unit::Number(8),
        version: 1,
    }
}

/// The same as JavaScript stores it.
fn of_javascript() -> Raw {
    doc! {
        "_id": 1.0, "small": -3.0, "count": 5.0, "share": 7.0, "total": (1_i64 << 40) as f64, "rate": 2.0,
        "days": [1.0, 2.0], "by_day": { "mon": 4.0 }, "place": { "x": 1.0, "pair": [2.0, "a"], "z": 3.0 },
        "size": { "kind": "Area", "metres": 9.0 }, "unit": 8.0, "version": 1.0,
    }
}

async fn shops(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), [Model::of::<Shop>(), Model::of::<Visit>()]).unwrap();
    odm.sync().await.unwrap();
    let raw = t.db.collection::<Raw>("shops");
    raw.insert_one(of_javascript()).await.unwrap();
    let visit = doc! { "_id": 1.0, "shop": 1.0, "minutes": 5.0 };
    t.db.collection::<Raw>("visits").insert_one(visit).await.unwrap();
    odm
}

#[odm_tests::test]
fn whole_doubles_are_read_as_integers() {
    with_db(async |t| {
        let odm = shops(&t).await;
        let shops = odm.collection::<Shop>();
        let visits = odm.collection::<Visit>();
        let one = || shops.find(|s| s.count.eq(5));
        t.commands.clear();
        assert_eq!(shops.get(1).await.unwrap().unwrap(), shop());
        assert_eq!(t.commands.take(), ["find"]);
        assert_eq!(one().all().await.unwrap(), [shop()]);
        assert_eq!(one().one().await.unwrap(), Some(shop()));
        let mut stream = one().stream().await.unwrap();
        assert_eq!(
            futures::TryStreamExt::try_next(&mut stream).await.unwrap(),
            Some(shop())
        );
        let page = shops.find_all().sort(|s| s.total.desc()).page(10).await.unwrap();
        assert_eq!(page.items, [shop()]);
        let counted = one().select::<Counted>().all().await.unwrap();
        let expected = Counted {
            count: 5,
            total: Some(1 << 40),
        };
        assert_eq!(counted, [expected]);
        let aggregated: Vec<Shop> = shops.aggregate().filter(|s| s.count.eq(5)).all().await.unwrap();
        assert_eq!(aggregated, [shop()]);
        let visit = Visit {
            id: 1,
            shop: Ref::new(1),
            minutes: 5,
        };
        let joined = visits.find_all().include(|v| v.shop).all().await.unwrap();
        assert_eq!(joined, [(visit.clone(), shop())]);
        let joined = shops
            .find_all()
            .include(|s| s.children::<Visit>())
            .all()
            .await
            .unwrap();
        assert_eq!(joined, [(shop(), vec![visit])]);

        let seen = shops.get(1).await.unwrap().unwrap();
        let changed = shops.update(&seen).inc(|s| s.count, 1).returning().await.unwrap();
        let expected = Shop {
            count: 6,
            version: 2,
            ..shop()
        };
        assert_eq!(changed, expected);
        let stale = shops.replace(seen).await;
        assert!(
            matches!(
                stale,
                Err(Error::Conflict {
                    seen: 1,
                    found: Some(2),
                    ..
                })
            ),
            "{stale:?}"
        );
        let whole = shops.replace(changed).await.unwrap();
        assert_eq!(shops.get(1).await.unwrap(), Some(whole));
    });
}

#[odm_tests::test]
fn the_validator_takes_whole_doubles_alone() {
    with_db(async |t| {
        let odm = shops(&t).await;
        assert!(odm.plan().await.unwrap().is_empty());
        let raw = t.db.collection::<Raw>("shops");
        for (name, value) in [
            ("count", Bson::from(5.5)),
            ("count", (i64::from(i32::MAX) + 1).into()),
            ("count", 2_147_483_648.0.into()),
            ("count", f64::INFINITY.into()),
            ("small", 128.0.into()),
            ("share", (-1.0).into()),
            ("total", 1e300.into()),
            ("place.x", 0.5.into()),
            ("days", vec![0.5].into()),
            ("count", "5".into()),
        ] {
            let set = doc! { "$set": { name: value.clone() } };
            let refused = raw.update_one(doc! {}, set).await;
            assert!(refused.is_err(), "{name}: {value}");
        }
        let taken =
            doc! { "$set": { "count": 2_147_483_647.0, "small": -128.0, "total": null, "place.x": 7_i64 } };
        raw.update_one(doc! {}, taken).await.unwrap();
        let shop = odm.collection::<Shop>().get(1).await.unwrap().unwrap();
        assert_eq!(
            (shop.count, shop.small, shop.total, shop.place.x),
            (i32::MAX, -128, None, 7)
        );
    });
}

#[odm_tests::test]
fn a_stored_double_that_is_no_integer_is_named() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), [Model::of::<Shop>()]).unwrap();
        let mut wrong = of_javascript();
        wrong.insert("days", vec![1.0, 2.5]);
        t.db.collection::<Raw>("shops").insert_one(wrong).await.unwrap();
        let read = odm.collection::<Shop>().get(1).await;
        let Err(Error::Decode { path, message, .. }) = read else {
            panic!("{read:?}")
        };
        assert_eq!(path, "days.1", "{message}");
        assert_eq!(message, "the number is out of the range of `u16`");
    });
}

/// All kinds of values below containers that serde reads through a buffer.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "held")]
struct Held {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(flatten)]
    flat: Values,
    tagged: Tagged,
    beside: Beside,
    untagged: Untagged,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Values {
    object_id: ObjectId,
    date: DateTime,
    decimal: Decimal128,
    uuid: Uuid,
    binary: odm::bson::Binary,
    byte: i8,
    unsigned: u64,
    float: f32,
    letter: char,
    unit: (),
    #[embed(max = 2)]
    map: BTreeMap<String, i64>,
    #[field(opaque)]
    any: Bson,
    #[field(opaque)]
    free: Option<Raw>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "t")]
enum Tagged {
    Named { values: Values },
    Same(Values),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "t", content = "c")]
enum Beside {
    Values(Values),
}

#[allow(clippy::large_enum_variant)] // a variant for each container is what is tested
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Values(Values),
    Any(#[field(opaque)] Bson),
}

fn values() -> Values {
    Values {
        object_id: ObjectId::new(),
        date: DateTime::from_millis(1_234_567),
        decimal: "1.50".parse().unwrap(),
        uuid: Uuid::new(),
        binary: odm::bson::Binary {
            subtype: odm::bson::spec::BinarySubtype::UserDefined(0x80),
            bytes: vec![1, 2],
        },
        byte: -3,
        unsigned: i64::MAX as u64,
        float: 0.5,
        letter: 'ß',
        unit: (),
        map: BTreeMap::from([("a".into(), i64::MIN)]),
        any: doc! { "at": DateTime::from_millis(5), "n": 5_i64, "m": 5, "id": ObjectId::new() }.into(),
        free: Some(doc! { "$add": [1, null, Uuid::new()] }),
    }
}

/// Those of which serde-rs/serde#2172 tells, such as an `IpAddr`, don't compile there: `ui/opaque/buffered.rs`.
#[odm_tests::test]
fn values_are_read_from_flattened_tagged_and_untagged_containers() {
    with_db(async |t| {
        odm_tests::require_names_with_dollar(&t.db).await;
        let odm = Odm::new(t.db.clone(), [Model::of::<Held>()]).unwrap();
        odm.sync().await.unwrap();
        let all = odm.collection::<Held>();
        for (id, tagged, untagged) in [
            (1, Tagged::Named { values: values() }, Untagged::Values(values())),
            (2, Tagged::Same(values()), Untagged::Any(Uuid::new().into())),
        ] {
            let held = Held {
                id,
                flat: values(),
                tagged,
                beside: Beside::Values(values()),
                untagged,
            };
            all.insert(held.clone()).await.unwrap();
            assert_eq!(all.get(id).await.unwrap().unwrap(), held);
        }
        // Another client writes the fields in another order.
        let raw = t.db.collection::<Raw>("held");
        let read = raw.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
        let mut other = read.clone();
        let beside = read.get_document("beside").unwrap();
        let content = beside.get("c").unwrap().clone();
        other.insert("beside", doc! { "c": content, "t": "Values" });
        let before = all.get(1).await.unwrap();
        raw.replace_one(doc! { "_id": 1 }, other).await.unwrap();
        assert_eq!(all.get(1).await.unwrap(), before);
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "keys")]
struct Key {
    #[serde(rename = "_id")]
    id: i32,
    key: Option<Uuid>,
    #[embed(max = 3)]
    more: Vec<Uuid>,
    bytes: odm::bson::Binary,
}

/// A document with ids that can be read.
fn key() -> Key {
    Key {
        id: 1,
        key: Some(Uuid::from_bytes([0; 16])),
        more: vec![Uuid::from_bytes([255; 16]), Uuid::new()],
        bytes: odm::bson::Binary {
            subtype: odm::bson::spec::BinarySubtype::UuidOld,
            bytes: vec![1; 16],
        },
    }
}

fn binary(subtype: u8, length: usize) -> Bson {
    Bson::Binary(odm::bson::Binary {
        subtype: subtype.into(),
        bytes: vec![7; length],
    })
}

#[odm_tests::test]
fn the_validator_takes_uuids_that_can_be_read() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), [Model::of::<Key>()]).unwrap();
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());
        let keys = odm.collection::<Key>();
        let key = key();
        keys.insert(key.clone()).await.unwrap();
        assert_eq!(keys.get(1).await.unwrap(), Some(key));
        let raw = t.db.collection::<Raw>("keys");
        let change = async |set: Raw| raw.update_one(doc! { "_id": 1 }, doc! { "$set": set }).await;
        for set in [
            doc! { "key": binary(4, 16), "more": [binary(4, 16)] },
            doc! { "key": null, "more": [] },
            doc! { "bytes": binary(0, 3) },
        ] {
            change(set).await.unwrap();
            keys.get(1).await.unwrap();
        }
    });
}

#[odm_tests::test]
fn the_validator_refuses_uuids_that_can_t_be_read() {
    with_db(async |t| {
        if is_the_stand_in(&t.db).await {
            odm_tests::skip("needs a server that compares the subtype of binary data");
        }
        let odm = Odm::new(t.db.clone(), [Model::of::<Key>()]).unwrap();
        odm.sync().await.unwrap();
        odm.collection::<Key>().insert(key()).await.unwrap();
        let raw = t.db.collection::<Raw>("keys");
        for set in [
            doc! { "key": binary(3, 16) },
            doc! { "key": binary(0, 16) },
            doc! { "key": binary(4, 15) },
            doc! { "key": binary(0x80, 16) },
            doc! { "key": binary(4, 17) },
            doc! { "more": [binary(4, 16), binary(3, 16)] },
        ] {
            let refused = raw
                .update_one(doc! { "_id": 1 }, doc! { "$set": set.clone() })
                .await;
            assert!(refused.is_err(), "{set}");
        }
    });
}

/// A format for people holds hexadecimal digits, and serde's buffer says that it is one, whatever was read into it.
mod strict {
    use odm::bson::{Binary, spec::BinarySubtype};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let (subtype, bytes) = (BinarySubtype::Generic, bytes.to_vec());
        Binary { subtype, bytes }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        if !deserializer.is_human_readable() {
            return Ok(Binary::deserialize(deserializer)?.bytes);
        }
        let text = String::deserialize(deserializer)?;
        let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2).unwrap_or_default(), 16);
        let bytes: Result<_, _> = (0..text.len()).step_by(2).map(byte).collect();
        bytes.map_err(D::Error::custom)
    }
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Bytes {
    #[serde(with = "strict")]
    #[field(stored = odm::bson::Binary, max_len = 10)]
    bytes: Vec<u8>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
enum ByName {
    Held(Bytes),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "t", content = "c")]
enum ByTagAlone {
    Held(Bytes),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "t")]
enum ByTag {
    Held(Bytes),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(untagged)]
enum ByContent {
    Held(Bytes),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Flattened {
    n: i32,
    #[serde(flatten)]
    #[embed]
    bytes: Bytes,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[document(collection = "strict")]
struct Strict {
    #[serde(rename = "_id")]
    id: i32,
    plain: Option<Bytes>,
    by_name: Option<ByName>,
    by_tag_alone: Option<ByTagAlone>,
    by_tag: Option<ByTag>,
    by_content: Option<ByContent>,
    flattened: Option<Flattened>,
}

/// A write of what could not be read again fails before it is sent.
#[odm_tests::test]
fn what_serde_reads_by_functions_is_read_wherever_it_stands() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), [Model::of::<Strict>()]).unwrap();
        odm.sync().await.unwrap();
        let all = odm.collection::<Strict>();
        let bytes = || Bytes { bytes: vec![1, 255] };
        let empty = |id| Strict {
            id,
            ..Strict::default()
        };
        let read = Strict {
            plain: Some(bytes()),
            by_name: Some(ByName::Held(bytes())),
            by_tag_alone: Some(ByTagAlone::Held(bytes())),
            by_tag: Some(ByTag::Held(bytes())),
            by_content: Some(ByContent::Held(bytes())),
            flattened: Some(Flattened { n: 1, bytes: bytes() }),
            ..empty(1)
        };
        assert_eq!(all.insert(read.clone()).await.unwrap(), read);
        assert_eq!(all.get(1).await.unwrap(), Some(read));
        all.insert(empty(2)).await.unwrap();
        assert_eq!(all.get(2).await.unwrap(), Some(empty(2)));
    });
}
