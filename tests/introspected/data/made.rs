//! Documents with everything that BSON has and that is no name of Rust, made up for the written models.

use super::bson::oid::ObjectId;
use super::bson::spec::BinarySubtype;
use super::bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, Regex, Timestamp, Uuid, cstr, doc,
};

/// A collection: its name, its documents, and its indexes as `createIndexes` takes them.
pub type Made = (&'static str, Vec<Document>, Vec<Document>);

/// All of them.
pub fn collections() -> Vec<Made> {
    vec![
        names(),
        kinds(),
        absent(),
        arrays(),
        maps(),
        readers(),
        loans(),
        numbers(),
        composed(),
        mixed_ids(),
        products(),
        reviews(),
        writers(),
        works(),
    ]
}

fn id(n: u8) -> ObjectId {
    let mut bytes = [0x66; 12];
    if let Some(last) = bytes.last_mut() {
        *last = n;
    }
    ObjectId::from_bytes(bytes)
}

/// Stored names that are no names of Rust.
fn names() -> Made {
    let one = |n: u8, state: &str| {
        doc! {
            "_id": id(n),
            "id": i32::from(n),
            "type": "a",
            "self": true,
            "Self": 1,
            "fn": doc! { "crate": 1, "super": 2, "2d": 3 },
            "in-shape": 1,
            "in_shape": 2,
            "inShape": 3,
            "+1": i32::from(n),
            "-1": 0,
            "ümlaut": "ü",
            "日本": "日",
            "🦀": 1,
            "a b\"c": "quoted",
            "others": 1,
            "state": state,
            "a.b": 1,
            "$set": 1,
            "": 1,
        }
    };
    let states = ["Self", "+1", "-1", "in review", "in_review", "type", "1st", "🦀"];
    let documents = (0..48)
        .map(|n| one(n, states[usize::from(n) % states.len()]))
        .collect();
    let indexes = vec![
        doc! { "key": { "type": 1, "in-shape": -1 }, "name": "by type" },
        doc! { "key": { "fn.crate": 1 }, "name": "fn.crate_1", "sparse": true },
        doc! { "key": { "state": 1 }, "name": "state_1", "partialFilterExpression": { "id": { "$gt": 3 } } },
        doc! { "key": { "ümlaut": 1 }, "name": "ümlaut_1", "collation": { "locale": "de", "strength": 1 } },
        doc! { "key": { "a.b": 1 }, "name": "a.b_1" },
    ];
    ("type", documents, indexes)
}

/// Every type of BSON, alone and beside others.
fn kinds() -> Made {
    let binary = |subtype| Binary {
        subtype,
        bytes: vec![7; 16],
    };
    let all: Vec<Bson> = vec![
        Bson::Null,
        true.into(),
        7.into(),
        (1_i64 << 40).into(),
        7.5.into(),
        "text".into(),
        id(1).into(),
        Uuid::from_bytes([1; 16]).into(),
        DateTime::from_millis(1_700_000_000_000).into(),
        Decimal128::from_bytes([1; 16]).into(),
        doc! { "a": 1, "b": 2 }.into(),
    ];
    let documents = all.into_iter().enumerate().map(|(at, any)| {
        let n = at as u8;
        doc! {
            "_id": Uuid::from_bytes([n; 16]),
            "bool": n.is_multiple_of(2),
            "int": i32::from(n),
            "long": (1_i64 << 40) + i64::from(n),
            "double": f64::from(n) + 0.5,
            "decimal": Decimal128::from_bytes([n; 16]),
            "text": "7",
            "uuid": Uuid::from_bytes([n; 16]),
            "old": Bson::Binary(binary(BinarySubtype::UuidOld)),
            "binary": Bson::Binary(binary(BinarySubtype::Generic)),
            "date": DateTime::from_millis(1_700_000_000_000 + i64::from(n)),
            "timestamp": Timestamp { time: 7, increment: n.into() },
            "regex": Bson::RegularExpression(Regex { pattern: cstr!("^a").into(), options: cstr!("i").into() }),
            "code": Bson::JavaScriptCode("1".to_owned()),
            "scoped": Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code: "1".to_owned(), scope: doc! {} }),
            "least": Bson::MinKey,
            "any": any,
            "text_or_number": if n.is_multiple_of(3) { Bson::from("x") } else { Bson::from(f64::from(n) + 0.25) },
            "id_or_text": if n.is_multiple_of(2) { Bson::from(id(n)) } else { Bson::from(id(n).to_hex()) },
        }
    });
    let indexes = vec![
        doc! { "key": { "date": 1 }, "name": "date_1", "expireAfterSeconds": 2_000_000_000 },
        doc! { "key": { "double": 1, "date": -1 }, "name": "double_1_date_-1", "unique": true },
    ];
    ("kinds", documents.collect(), indexes)
}

/// Missing, null, and both.
fn absent() -> Made {
    let documents = (0..12_i32).map(|n| {
        let mut one = doc! { "_id": n, "always": n, "null": if n % 2 == 0 { Bson::Null } else { n.into() } };
        if n % 2 == 0 {
            one.insert("missing", n);
        }
        match n % 3 {
            0 => {}
            1 => {
                one.insert("both", Bson::Null);
                one.insert("both_list", Bson::Null);
                one.insert("both_document", Bson::Null);
                one.insert("only_null", Bson::Null);
            }
            _ => {
                one.insert("both", "text");
                one.insert("both_list", vec![1, 2]);
                one.insert("both_document", doc! { "x": 1, "y": n });
            }
        }
        one.insert("nothing", Bson::Null);
        one.insert("empty", doc! {});
        one.insert("none", Bson::Array(Vec::new()));
        one
    });
    ("absent-values", documents.collect(), Vec::new())
}

/// Arrays of all kinds.
fn arrays() -> Made {
    let documents = (0..6_i32).map(|n| {
        doc! {
            "_id": format!("a{n}"),
            "texts": ["a", "b"],
            "with_null": [1, Bson::Null, n],
            "mixed": [1, "a", 2.5],
            "matrix": [[1, 2], [3, n], []],
            "cube": [[[1.5]], [[2.5], []]],
            "documents": [{ "a": 1, "b": "x" }, { "a": 2, "b": "y", "c": true }],
            "nested": [[{ "p": 1, "q": 2 }], []],
            "maybe": [{ "p": 1 }, Bson::Null],
            "points": (0..300).map(|at| doc! { "x": at, "y": f64::from(at) + 0.5, "label": "p" }).collect::<Vec<_>>(),
            "sizes": if n == 0 { Bson::from(vec![1, 2]) } else { Bson::from(n) },
        }
    });
    (
        "arrays",
        documents.collect(),
        vec![doc! { "key": { "documents.a": 1 }, "name": "documents.a_1" }],
    )
}

/// Maps, by ids and by dates, of values, of arrays and of maps.
fn maps() -> Made {
    let documents = (0..40_u8).map(|n| {
        let keys = (0..4_u8).map(|at| id(n.wrapping_mul(4).wrapping_add(at)).to_hex());
        let scores: Document = keys.clone().map(|key| (key, Bson::from(i32::from(n)))).collect();
        let lists: Document = keys.clone().map(|key| (key, Bson::from(vec![1, 2]))).collect();
        let documents: Document =
            keys.clone().map(|key| (key, doc! { "at": DateTime::from_millis(n.into()), "by": "me" }.into())).collect();
        let hosts: Document = (0..3).map(|at| (format!("host{n}.{at}.example"), Bson::from(at))).collect();
        doc! { "_id": i64::from(n) + (1 << 40), "scores": scores, "lists": lists, "documents": documents, "hosts": hosts }
    });
    ("maps", documents.collect(), Vec::new())
}

/// What loans refer to.
fn readers() -> Made {
    let documents = (0..60_u8).map(|n| {
        doc! {
            "_id": id(n),
            "card": format!("card-{:03}", u32::from(n) * 7),
            "name": format!("Reader {n}"),
            "friends": [id(n.wrapping_add(1) % 60), id(n.wrapping_add(2) % 60)],
        }
    });
    (
        "readers",
        documents.collect(),
        vec![doc! { "key": { "card": 1 }, "name": "card_1", "unique": true }],
    )
}

/// References by `_id`, by a natural key and in arrays, with copies, some of them stale.
fn loans() -> Made {
    let documents = (0..120_u8).map(|n| {
        let reader = n / 2 % 60;
        let name = if n % 10 == 9 { "An old name".to_owned() } else { format!("Reader {reader}") };
        let mut one = doc! {
            "_id": id(200_u8.wrapping_add(n)),
            "reader": id(reader),
            "reader_name": name,
            "by_card": { "card": format!("card-{:03}", u32::from(reader) * 7), "name": format!("Reader {reader}") },
            "witnesses": [id(reader), id(reader.wrapping_add(3) % 60)],
        };
        if n % 4 == 0 {
            one.insert("returned_to", id(reader));
        }
        one
    });
    let documents: Vec<Document> = documents.collect();
    let indexes = vec![
        doc! { "key": { "reader": 1 }, "name": "reader_1" },
        doc! { "key": { "witnesses": 1 }, "name": "witnesses_1" },
        doc! { "key": { "by_card.card": 1 }, "name": "by_card.card_1" },
    ];
    ("new_readers", documents, indexes)
}

/// Integers of both widths: where 32 bits are enough, and where they were not taken.
fn numbers() -> Made {
    let documents = (0..9_i32).map(|n| {
        let long = 1_i64 << 40;
        let fits = |is: bool| {
            if is {
                Bson::from(n)
            } else {
                Bson::from(long + i64::from(n))
            }
        };
        doc! {
            "_id": fits(n % 2 == 0),
            "narrow": fits(n % 3 == 0),
            "wide": if n % 2 == 0 { Bson::from(n) } else { Bson::from(i64::from(n)) },
            "number": if n % 2 == 0 { Bson::from(n) } else { Bson::from(f64::from(n)) },
            "all": match n % 3 { 0 => Bson::from(n), 1 => Bson::from(long), _ => Bson::from(0.1) },
            "flag": if n % 2 == 0 { "0" } else { "1" },
            "day": "2024-05-17",
        }
    });
    (
        "numbers",
        documents.collect(),
        vec![doc! { "key": { "wide": 1 }, "name": "wide_1" }],
    )
}

/// A document in `_id`.
fn composed() -> Made {
    let documents = (0..5_i32).map(|n| doc! { "_id": { "tenant": "t", "number": n }, "value": n });
    ("composed", documents.collect(), Vec::new())
}

/// Values of several types in `_id`.
fn mixed_ids() -> Made {
    let documents = vec![
        doc! { "_id": 1, "a": 1 },
        doc! { "_id": "one", "a": 2 },
        doc! { "_id": id(1), "a": 3 },
    ];
    ("mixed ids", documents, Vec::new())
}

/// An id of another kind of documents.
fn of(kind: u8, n: u8) -> ObjectId {
    ObjectId::from_bytes([0x66, 0x20, kind, n, 0, 0, 0, 0, 0, 0, kind, n])
}

/// The reviews of a product, by their numbers: the newest first.
fn reviews_of(product: u8) -> Vec<u8> {
    (0..120)
        .rev()
        .filter(|n| u32::from(*n) * 7 % 31 % 20 == u32::from(product))
        .collect()
}

fn stars(review: u8) -> i32 {
    i32::from(review) * 11 % 5 + 1
}

/// Products with values of their reviews, and with parts of several kinds.
fn products() -> Made {
    let documents = (0..20_u8).map(|n| {
        let own = reviews_of(n);
        let newest: Vec<Document> = own
            .iter()
            .take(3)
            .map(|at| doc! { "_id": of(2, *at), "title": format!("Review {at}") })
            .collect();
        let parts: Vec<Document> = (0..3_u8)
            .map(|at| match (n + at) % 3 {
                0 => doc! { "type": "plate", "width": i32::from(n), "height": i32::from(at) },
                1 => doc! { "type": "screw-m4", "length": f64::from(at) + 0.5 },
                _ => doc! { "type": "screw_m4", "length": f64::from(at) + 0.5, "head": "flat" },
            })
            .collect();
        let total: i64 = own.iter().map(|at| i64::from(stars(*at))).sum();
        doc! {
            "_id": of(1, n), "name": format!("Product {n}"), "reviews": own.len() as i32, "stars": total,
            "newest": newest, "parts": parts,
        }
    });
    ("products", documents.collect(), Vec::new())
}

fn reviews() -> Made {
    let documents = (0..20_u8).flat_map(|product| {
        reviews_of(product).into_iter().map(move |n| {
            doc! {
                "_id": of(2, n), "product": of(1, product), "title": format!("Review {n}"), "stars": stars(n),
                "at": DateTime::from_millis(1_700_000_000_000 + i64::from(n) * 60_000),
            }
        })
    });
    let indexes = vec![doc! { "key": { "product": 1 }, "name": "product_1" }];
    ("reviews", documents.collect(), indexes)
}

/// The works of a writer.
fn works_of(writer: u8) -> impl Iterator<Item = u8> {
    (0..50).filter(move |work| [work % 15, work * 3 % 14].contains(&writer))
}

/// Writers and their works, which name each other.
fn writers() -> Made {
    let documents = (0..15_u8).map(|n| {
        let works: Vec<ObjectId> = works_of(n).map(|work| of(4, work)).collect();
        doc! { "_id": of(3, n), "name": format!("Writer {n}"), "works": works }
    });
    ("writers", documents.collect(), Vec::new())
}

fn works() -> Made {
    let documents = (0..50_u8).map(|n| {
        let writers: Vec<ObjectId> = (0..15_u8)
            .filter(|writer| works_of(*writer).any(|work| work == n))
            .map(|writer| of(3, writer))
            .collect();
        doc! { "_id": of(4, n), "title": format!("Work {n}"), "writers": writers }
    });
    ("works", documents.collect(), Vec::new())
}
