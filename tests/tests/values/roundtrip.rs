//! For generated values of a dozen and more models: what is inserted is what is found, byte for byte what serde would have
//! stored, and the server's validator, made of the same declarations, lets it pass.

use odm::Model;
use odm::bson::{self, Binary, DateTime, Decimal128, RawDocumentBuf, Timestamp, Uuid, doc, oid::ObjectId};
use odm::prelude::*;
use odm::write::Insertable;
use odm_tests::with_db;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "numbers")]
struct Numbers {
    #[serde(rename = "_id")]
    id: ObjectId,
    a: i8,
    b: u8,
    c: i16,
    d: u16,
    e: i32,
    f: u32,
    g: i64,
    #[field(min = 0)]
    h: u64,
    i: f32,
    j: f64,
    k: bool,
    #[field(min = -5, max = 5)]
    l: i32,
    #[field(min = -0.5, max = 0.5)]
    m: f64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "texts")]
struct Texts {
    #[serde(rename = "_id")]
    id: String,
    #[field(max_len = 6)]
    short: String,
    #[field(min_len = 1)]
    some: Option<String>,
    letter: char,
    boxed: Box<str>,
    #[serde(default)]
    missing: String,
    unit: (),
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "arrays")]
struct Arrays {
    #[serde(rename = "_id")]
    id: i64,
    #[embed(max = 4)]
    #[field(max_len = 3)]
    words: Vec<String>,
    #[embed(max = 4)]
    queue: VecDeque<i32>,
    #[embed(max = 4)]
    set: BTreeSet<i64>,
    #[embed(max = 4)]
    maybe: Option<Vec<Option<i32>>>,
    pair: (i32, String),
    fixed: [f64; 3],
    #[embed(max = 2)]
    rows: Vec<Row>,
}

/// An array inside an array.
#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Row(#[embed(max = 3)] Vec<f64>);

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "maps")]
struct Maps {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(max = 3, key_len = 4)]
    sorted: BTreeMap<String, i32>,
    #[embed(max = 3)]
    structs: HashMap<String, Leaf>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
struct Leaf {
    first_name: String,
    #[serde(rename = "x")]
    last_name: Option<String>,
    r#type: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "nested")]
#[serde(rename_all = "camelCase")]
struct Nested {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed]
    one_leaf: Leaf,
    #[embed]
    maybe_leaf: Option<Leaf>,
    #[embed(max = 3)]
    many_leaves: Vec<Leaf>,
    #[serde(flatten)]
    #[embed]
    flat: Flat,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<i32>,
    #[serde(skip)]
    #[expect(dead_code, reason = "it is not stored")]
    never: i32,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Flat {
    #[serde(alias = "old")]
    flat_a: i32,
    #[embed(max = 2)]
    flat_b: Vec<String>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "lowercase")]
enum Plain {
    Red,
    #[serde(rename = "GREEN")]
    Green,
    Blue,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
enum External {
    Unit,
    New(Leaf),
    Pair(i32, String),
    Named {
        #[field(max_len = 5)]
        name: String,
        #[embed(max = 2)]
        list: Vec<i32>,
    },
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Internal {
    Empty,
    OneLeaf(Leaf),
    Named { a: i32 },
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Unit,
    New(i32),
    Pair(i32, i32),
    Named { a: String },
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[serde(untagged)]
enum Untagged {
    Number(i32),
    Text(String),
    Named { only: bool },
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "enums")]
struct Enums {
    #[serde(rename = "_id")]
    id: ObjectId,
    plain: Plain,
    external: External,
    internal: Internal,
    adjacent: Adjacent,
    untagged: Untagged,
    #[embed(max = 3)]
    several: Vec<External>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[embed(id)]
struct Key(String);

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Wrapper<T> {
    inner: T,
    maybe: Option<T>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "generics")]
struct Generics {
    #[serde(rename = "_id")]
    id: Key,
    a: Wrapper<i32>,
    b: Wrapper<Leaf>,
    c: Box<Wrapper<Wrapper<bool>>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "bsons")]
struct Bsons {
    #[serde(rename = "_id")]
    id: Uuid,
    oid: ObjectId,
    date: DateTime,
    time_of_write: Timestamp,
    decimal: Decimal128,
    #[field(max_len = 8)]
    bytes: Binary,
    #[field(opaque)]
    anything: bson::Document,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "trees")]
struct Tree {
    #[serde(rename = "_id")]
    id: DateTime,
    #[embed]
    root: Node,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Node {
    value: i32,
    #[embed(max = 3, depth = 4)]
    children: Vec<Node>,
    #[embed(depth = 4)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<Box<Node>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "strict")]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct Strict {
    #[serde(rename = "_id")]
    id: i32,
    only_this: i32,
    r#struct: Option<bool>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "managed", timestamps, version)]
struct ManagedDoc {
    #[serde(rename = "_id")]
    id: ObjectId,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
    body: Option<Leaf>,
}

/// Numbers and dates that a serde attribute stores as texts.
#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "coded", index(fields(-amount)))]
struct Coded {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(with = "as_text")]
    #[field(stored = String)]
    amount: u64,
    #[serde(with = "as_text")]
    #[field(stored = String, max_len = 20)]
    other: u64,
}

mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(n: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(n)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,8}",
        "\\PC{0,6}",
        Just("$where".to_owned()),
        Just("a.b".to_owned()),
        Just("\0".to_owned())
    ]
}

fn leaf() -> impl Strategy<Value = Leaf> {
    (text(), proptest::option::of(text()), any::<i32>()).prop_map(|(first_name, last_name, r#type)| Leaf {
        first_name,
        last_name,
        r#type,
    })
}

fn external() -> impl Strategy<Value = External> {
    prop_oneof![
        Just(External::Unit),
        leaf().prop_map(External::New),
        (any::<i32>(), text()).prop_map(|(a, b)| External::Pair(a, b)),
        ("\\PC{0,5}", vec(any::<i32>(), 0..=2)).prop_map(|(name, list)| External::Named { name, list }),
    ]
}

fn node() -> impl Strategy<Value = Node> {
    let end = any::<i32>().prop_map(|value| Node {
        value,
        children: vec![],
        next: None,
    });
    // A root and three levels below it: four levels are allowed.
    end.prop_recursive(3, 20, 3, |inner| {
        (
            any::<i32>(),
            vec(inner.clone(), 0..=3),
            proptest::option::of(inner.prop_map(Box::new)),
        )
            .prop_map(|(value, children, next)| Node {
                value,
                children,
                next,
            })
    })
}

/// Inserts generated values, and compares what is found with what serde makes of them.
fn check<T>(values: impl Strategy<Value = T>)
where
    T: Document<Id: serde::Serialize>
        + Insertable<T>
        + odm::write::Deletable
        + serde::Serialize
        + Clone
        + std::fmt::Debug,
{
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), [Model::of::<T>()]).unwrap();
        odm.sync().await.unwrap();
        let collection = odm.collection::<T>();
        let runtime = tokio::runtime::Handle::current();
        let mut runner = TestRunner::new(Config {
            cases: 6,
            failure_persistence: None,
            ..Config::default()
        });
        let outcome = tokio::task::block_in_place(|| {
            runner.run(&vec(&values, 1..40), |values| {
                runtime.block_on(async {
                    // Ids are generated too, so two may be alike: the first of them counts.
                    let mut seen = std::collections::HashSet::new();
                    let bytes = |v: &T| bson::serialize_to_vec(v).expect("serde stores it");
                    let id = |v: &T| {
                        bson::serialize_to_vec(&doc! { "": bson::serialize_to_bson(v.id()).unwrap() })
                            .unwrap()
                    };
                    let values: Vec<T> = values.into_iter().filter(|v| seen.insert(id(v))).collect();
                    let inserted = collection.insert_many(values.clone()).await;
                    prop_assert!(inserted.is_ok(), "{}: {:?}", T::META.collection, inserted.err());
                    let stored: Vec<RawDocumentBuf> = {
                        use futures::TryStreamExt;
                        collection
                            .driver::<RawDocumentBuf>()
                            .find(doc! {})
                            .await
                            .unwrap()
                            .try_collect()
                            .await
                            .unwrap()
                    };
                    let mut want: Vec<Vec<u8>> = values.iter().map(bytes).collect();
                    let mut got: Vec<Vec<u8>> = stored.into_iter().map(|d| d.into_bytes()).collect();
                    want.sort();
                    got.sort();
                    prop_assert_eq!(&want, &got, "stored as serde stores it");
                    let mut found: Vec<Vec<u8>> = collection
                        .find_all()
                        .all()
                        .await
                        .unwrap()
                        .iter()
                        .map(bytes)
                        .collect();
                    found.sort();
                    prop_assert_eq!(&want, &found, "found as it was inserted");
                    collection.delete_all().await.unwrap();
                    Ok(())
                })
            })
        });
        if let Err(error) = outcome {
            panic!("{}: {error}", T::META.collection);
        }
    });
}

fn oid() -> impl Strategy<Value = ObjectId> {
    any::<[u8; 12]>().prop_map(ObjectId::from_bytes)
}

/// Any date that the server takes: MongoDB takes all, a server written in Python those that Python knows.
fn date() -> impl Strategy<Value = DateTime> {
    static ALL: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let all = *ALL.get_or_init(|| {
        let taken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let told = taken.clone();
        // It may be called within a runtime, and waits for one of its own.
        let ask = std::thread::spawn(move || {
            odm_tests::with_db(async |t| {
                let dates = t.db.collection::<bson::Document>("dates");
                let far = doc! { "date": DateTime::MAX };
                told.store(
                    dates.insert_one(far).await.is_ok(),
                    std::sync::atomic::Ordering::Relaxed,
                );
            });
        });
        ask.join().unwrap();
        taken.load(std::sync::atomic::Ordering::Relaxed)
    });
    let (first, last) = if all {
        (i64::MIN, i64::MAX)
    } else {
        (-62_135_596_800_000, 253_402_300_799_999) // the years 1 to 9999
    };
    (first..=last).prop_map(DateTime::from_millis)
}

#[odm_tests::test]
fn numbers() {
    check(
        (
            (
                any::<i8>(),
                any::<u8>(),
                any::<i16>(),
                any::<u16>(),
                any::<i32>(),
                any::<u32>(),
            ),
            (
                any::<i64>(),
                0..=i64::MAX as u64,
                any::<f32>(),
                any::<f64>(),
                any::<bool>(),
                -5..=5,
            ),
            -0.5..=0.5,
            oid(),
        )
            .prop_map(|((a, b, c, d, e, f), (g, h, i, j, k, l), m, id)| Numbers {
                id,
                a,
                b,
                c,
                d,
                e,
                f,
                g,
                h,
                i,
                j,
                k,
                l,
                m,
            }),
    );
}

#[odm_tests::test]
fn texts() {
    check(
        (
            text(),
            "\\PC{0,6}",
            proptest::option::of("\\PC{1,4}"),
            any::<char>(),
            text(),
            text(),
        )
            .prop_map(|(id, short, some, letter, boxed, missing)| Texts {
                id,
                short,
                some,
                letter,
                boxed: boxed.into(),
                missing,
                unit: (),
            }),
    );
}

#[odm_tests::test]
fn arrays() {
    check(
        (
            any::<i64>(),
            vec("\\PC{0,3}", 0..=4),
            vec(any::<i32>(), 0..=4),
            btree_set(any::<i64>(), 0..=4),
            proptest::option::of(vec(proptest::option::of(any::<i32>()), 0..=4)),
            (any::<i32>(), text()),
            any::<[f64; 3]>(),
            vec(vec(any::<f64>(), 0..=3).prop_map(Row), 0..=2),
        )
            .prop_map(|(id, words, queue, set, maybe, pair, fixed, rows)| Arrays {
                id,
                words,
                queue: queue.into(),
                set,
                maybe,
                pair,
                fixed,
                rows,
            }),
    );
}

#[odm_tests::test]
fn maps() {
    check(
        (
            oid(),
            btree_map("[a-zé]{1,4}", any::<i32>(), 0..=3),
            btree_map("[a-z]{1,12}", leaf(), 0..=1),
        )
            .prop_map(
                // One entry at most in the hash map, whose order is no one's.
                |(id, sorted, structs)| Maps {
                    id,
                    sorted,
                    structs: structs.into_iter().collect(),
                },
            ),
    );
}

#[odm_tests::test]
fn nested() {
    check(
        (
            oid(),
            leaf(),
            proptest::option::of(leaf()),
            vec(leaf(), 0..=3),
            any::<i32>(),
            vec(text(), 0..=2),
            any::<Option<i32>>(),
        )
            .prop_map(
                |(id, one_leaf, maybe_leaf, many_leaves, flat_a, flat_b, skipped)| Nested {
                    id,
                    one_leaf,
                    maybe_leaf,
                    many_leaves,
                    flat: Flat { flat_a, flat_b },
                    skipped,
                    never: 0,
                },
            ),
    );
}

#[odm_tests::test]
fn enums() {
    let plain = prop_oneof![Just(Plain::Red), Just(Plain::Green), Just(Plain::Blue)];
    let internal = prop_oneof![
        Just(Internal::Empty),
        leaf().prop_map(Internal::OneLeaf),
        any::<i32>().prop_map(|a| Internal::Named { a }),
    ];
    let adjacent = prop_oneof![
        Just(Adjacent::Unit),
        any::<i32>().prop_map(Adjacent::New),
        any::<(i32, i32)>().prop_map(|(a, b)| Adjacent::Pair(a, b)),
        text().prop_map(|a| Adjacent::Named { a }),
    ];
    let untagged = prop_oneof![
        any::<i32>().prop_map(Untagged::Number),
        text().prop_map(Untagged::Text),
        any::<bool>().prop_map(|only| Untagged::Named { only }),
    ];
    check(
        (
            oid(),
            plain,
            external(),
            internal,
            adjacent,
            untagged,
            vec(external(), 0..=3),
        )
            .prop_map(
                |(id, plain, external, internal, adjacent, untagged, several)| Enums {
                    id,
                    plain,
                    external,
                    internal,
                    adjacent,
                    untagged,
                    several,
                },
            ),
    );
}

#[odm_tests::test]
fn generics() {
    check(
        (
            text(),
            any::<i32>(),
            proptest::option::of(leaf()),
            leaf(),
            any::<bool>(),
        )
            .prop_map(|(id, n, maybe, inner, b)| Generics {
                id: Key(id),
                a: Wrapper {
                    inner: n,
                    maybe: Some(n),
                },
                b: Wrapper { inner, maybe },
                c: Box::new(Wrapper {
                    inner: Wrapper {
                        inner: b,
                        maybe: None,
                    },
                    maybe: None,
                }),
            }),
    );
}

#[odm_tests::test]
fn bsons() {
    check(
        (
            any::<[u8; 16]>(),
            oid(),
            date(),
            any::<(u32, u32)>(),
            any::<[u8; 16]>(),
            vec(any::<u8>(), 0..=8),
            text(),
        )
            .prop_map(
                |(id, oid, date, (time, increment), decimal, bytes, anything)| Bsons {
                    id: Uuid::from_bytes(id),
                    oid,
                    date,
                    time_of_write: Timestamp { time, increment },
                    decimal: Decimal128::from_bytes(decimal),
                    bytes: Binary {
                        subtype: bson::spec::BinarySubtype::Generic,
                        bytes,
                    },
                    anything: doc! { "any": anything, "list": [1, "two", null] },
                },
            ),
    );
}

#[odm_tests::test]
fn trees() {
    check((date(), node()).prop_map(|(id, root)| Tree { id, root }));
}

#[odm_tests::test]
fn managed() {
    check(
        (oid(), date(), date(), any::<i64>(), proptest::option::of(leaf())).prop_map(
            |(id, created_at, updated_at, version, body)| ManagedDoc {
                id,
                created_at,
                updated_at,
                version,
                body,
            },
        ),
    );
}

#[odm_tests::test]
fn strict() {
    check(
        (any::<i32>(), any::<i32>(), any::<Option<bool>>()).prop_map(|(id, only_this, r#struct)| Strict {
            id,
            only_this,
            r#struct,
        }),
    );
}

#[odm_tests::test]
fn coded() {
    check(any::<(i32, u64, u64)>().prop_map(|(id, amount, other)| Coded { id, amount, other }));
    // A filter and an update write the value as the document does.
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Coded]).unwrap();
        odm.sync().await.unwrap();
        let coded = odm.collection::<Coded>();
        coded
            .insert(NewCoded {
                id: 1,
                amount: u64::MAX,
                other: 0,
            })
            .await
            .unwrap();
        assert_eq!(coded.find(|c| c.amount.eq(u64::MAX)).count().await.unwrap(), 1);
        coded.update(1).set(|c| c.other, u64::MAX).await.unwrap();
        assert_eq!(coded.get(1).await.unwrap().unwrap().other, u64::MAX);
        let raw = coded
            .driver::<bson::Document>()
            .find_one(doc! {})
            .await
            .unwrap()
            .unwrap();
        assert_eq!(raw.get_str("other").unwrap(), "18446744073709551615");
    });
}
