//! The documents of MongoDB's benchmark for ODMs, in the shapes of its data: a flat one of 13 fields with 250 bytes, one that another
//! names, and a nested one with 14 documents of 15 fields.
//!
//! The values are made here. Those of the specification have a licence that this repository can't pass on:
//! <https://github.com/mongodb/specifications/blob/master/source/benchmarking/odm-benchmarking.md>

use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "foreign_keys", new(derive(Clone)))]
pub struct ForeignKey {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "small", new(derive(Clone)))]
pub struct Small {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub field1: String,
    pub field2: String,
    pub field3: String,
    pub field4: String,
    pub field5: String,
    pub field6: String,
    pub field7: String,
    pub field8: i32,
    pub field9: i32,
    pub field10: i32,
    pub field11: i32,
    pub field12: i32,
    pub field13: i32,
    #[reference]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_fk: Option<Ref<ForeignKey>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "nested", new(derive(Clone)))]
pub struct Nested {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub embedded_str_doc_1: Texts,
    pub embedded_str_doc_2: Texts,
    pub embedded_str_doc_3: Texts,
    pub embedded_str_doc_4: Texts,
    pub embedded_str_doc_5: Texts,
    #[embed(max = 10)]
    pub embedded_str_doc_array: Vec<Texts>,
    pub embedded_int_doc_8: Numbers,
    pub embedded_int_doc_9: Numbers,
    pub embedded_int_doc_10: Numbers,
    pub embedded_int_doc_11: Numbers,
    pub embedded_int_doc_12: Numbers,
    pub embedded_int_doc_13: Numbers,
    pub embedded_int_doc_14: Numbers,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Texts {
    pub unique_id: i64,
    pub field1: String,
    pub field2: String,
    pub field3: String,
    pub field4: String,
    pub field5: String,
    pub field6: String,
    pub field7: String,
    pub field8: String,
    pub field9: String,
    pub field10: String,
    pub field11: String,
    pub field12: String,
    pub field13: String,
    pub field14: String,
    pub field15: String,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Numbers {
    pub field1: i32,
    pub field2: i32,
    pub field3: i32,
    pub field4: i32,
    pub field5: i32,
    pub field6: i32,
    pub field7: i32,
    pub field8: i32,
    pub field9: i32,
    pub field10: i32,
    pub field11: i32,
    pub field12: i32,
    pub field13: i32,
    pub field14: i32,
    pub field15: i32,
}

fn word(n: i64, k: i64) -> String {
    format!("{:08}", (n * 7_919 + k * 104_729) % 100_000_000)
}

fn text(n: i64, k: i64) -> String {
    format!("abcdefghijklmnopqrstuv{}", word(n, k))
}

fn number(n: i64, k: i64) -> i32 {
    ((n * 7_919 + k * 104_729) % 100_000_000) as i32
}

pub fn small(n: i64) -> NewSmall {
    NewSmall {
        field1: word(n, 1),
        field2: word(n, 2),
        field3: word(n, 3),
        field4: word(n, 4),
        field5: word(n, 5),
        field6: word(n, 6),
        field7: word(n, 7),
        field8: number(n, 8),
        field9: number(n, 9),
        field10: number(n, 10),
        field11: number(n, 11),
        field12: number(n, 12),
        field13: number(n, 13),
        field_fk: None,
    }
}

fn texts(n: i64, at: i64) -> Texts {
    let k = 100 * at;
    Texts {
        unique_id: 100 * n + at,
        field1: text(n, k + 1),
        field2: text(n, k + 2),
        field3: text(n, k + 3),
        field4: text(n, k + 4),
        field5: text(n, k + 5),
        field6: text(n, k + 6),
        field7: text(n, k + 7),
        field8: text(n, k + 8),
        field9: text(n, k + 9),
        field10: text(n, k + 10),
        field11: text(n, k + 11),
        field12: text(n, k + 12),
        field13: text(n, k + 13),
        field14: text(n, k + 14),
        field15: text(n, k + 15),
    }
}

fn numbers(n: i64, at: i64) -> Numbers {
    let k = 100 * at;
    Numbers {
        field1: number(n, k + 1),
        field2: number(n, k + 2),
        field3: number(n, k + 3),
        field4: number(n, k + 4),
        field5: number(n, k + 5),
        field6: number(n, k + 6),
        field7: number(n, k + 7),
        field8: number(n, k + 8),
        field9: number(n, k + 9),
        field10: number(n, k + 10),
        field11: number(n, k + 11),
        field12: number(n, k + 12),
        field13: number(n, k + 13),
        field14: number(n, k + 14),
        field15: number(n, k + 15),
    }
}

pub fn nested(n: i64) -> NewNested {
    NewNested {
        embedded_str_doc_1: texts(n, 1),
        embedded_str_doc_2: texts(n, 2),
        embedded_str_doc_3: texts(n, 3),
        embedded_str_doc_4: texts(n, 4),
        embedded_str_doc_5: texts(n, 5),
        embedded_str_doc_array: vec![texts(n, 6), texts(n, 7)],
        embedded_int_doc_8: numbers(n, 8),
        embedded_int_doc_9: numbers(n, 9),
        embedded_int_doc_10: numbers(n, 10),
        embedded_int_doc_11: numbers(n, 11),
        embedded_int_doc_12: numbers(n, 12),
        embedded_int_doc_13: numbers(n, 13),
        embedded_int_doc_14: numbers(n, 14),
    }
}
