//! The tasks by mongodm.

use crate::Result;
use crate::data::{Named, number, text, word};
use mongodb::Client;
use mongodb::bson::doc;
use mongodb::bson::oid::ObjectId;
use mongodm::{CollectionConfig, Indexes, Model, Repository, ToRepository};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Small {
    #[serde(skip_serializing_if = "Option::is_none")]
    _id: Option<ObjectId>,
    field1: String,
    field2: String,
    field3: String,
    field4: String,
    field5: String,
    field6: String,
    field7: String,
    field8: i32,
    field9: i32,
    field10: i32,
    field11: i32,
    field12: i32,
    field13: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    field_fk: Option<ObjectId>,
}

#[derive(Serialize, Deserialize)]
struct Nested {
    #[serde(skip_serializing_if = "Option::is_none")]
    _id: Option<ObjectId>,
    embedded_str_doc_1: Texts,
    embedded_str_doc_2: Texts,
    embedded_str_doc_3: Texts,
    embedded_str_doc_4: Texts,
    embedded_str_doc_5: Texts,
    embedded_str_doc_array: Vec<Texts>,
    embedded_int_doc_8: Numbers,
    embedded_int_doc_9: Numbers,
    embedded_int_doc_10: Numbers,
    embedded_int_doc_11: Numbers,
    embedded_int_doc_12: Numbers,
    embedded_int_doc_13: Numbers,
    embedded_int_doc_14: Numbers,
}

#[derive(Serialize, Deserialize)]
struct Texts {
    unique_id: i64,
    field1: String,
    field2: String,
    field3: String,
    field4: String,
    field5: String,
    field6: String,
    field7: String,
    field8: String,
    field9: String,
    field10: String,
    field11: String,
    field12: String,
    field13: String,
    field14: String,
    field15: String,
}

#[derive(Serialize, Deserialize)]
struct Numbers {
    field1: i32,
    field2: i32,
    field3: i32,
    field4: i32,
    field5: i32,
    field6: i32,
    field7: i32,
    field8: i32,
    field9: i32,
    field10: i32,
    field11: i32,
    field12: i32,
    field13: i32,
    field14: i32,
    field15: i32,
}

fn small(n: i64) -> Small {
    Small {
        _id: None,
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

fn nested(n: i64) -> Nested {
    Nested {
        _id: None,
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

struct OfSmall;
struct OfNested;

impl CollectionConfig for OfSmall {
    fn collection_name() -> &'static str {
        "small"
    }

    fn indexes() -> Indexes {
        Indexes::new()
    }
}

impl CollectionConfig for OfNested {
    fn collection_name() -> &'static str {
        "nested"
    }

    fn indexes() -> Indexes {
        Indexes::new()
    }
}

impl Model for Small {
    type CollConf = OfSmall;
}

impl Model for Nested {
    type CollConf = OfNested;
}

pub struct Tasks {
    small: Repository<Small>,
    nested: Repository<Nested>,
}

impl Tasks {
    pub async fn new(uri: &str, database: &str) -> Result<Tasks> {
        let db = Client::with_uri_str(uri).await?.database(database);
        Ok(Tasks {
            small: db.repository(),
            nested: db.repository(),
        })
    }

    /// One operation of a task; gives a number of the document that it finds.
    pub async fn once(&self, task: &str, round: usize, at: usize, named: &Named) -> Result<i64> {
        let n = at as i64;
        let missing = "a document is missing";
        let updated = || format!("updated_value{round}");
        Ok(match task {
            "small insert" => {
                self.small.insert_one(small(n)).await?;
                0
            }
            "small update" => {
                let update = doc! { "$set": { "field1": updated() } };
                self.small
                    .update_one(doc! { "_id": named.small[at] }, update)
                    .await?;
                0
            }
            "small find" => {
                let found = self.small.find_one(doc! { "_id": named.small[at] }).await?;
                found.ok_or(missing)?.field8.into()
            }
            "small find by foreign key" => {
                let found = self.small.find_one(doc! { "field_fk": named.keys[at] }).await?;
                found.ok_or(missing)?.field8.into()
            }
            "nested insert" => {
                self.nested.insert_one(nested(n)).await?;
                0
            }
            "nested update" => {
                let update = doc! { "$set": { "embedded_str_doc_1.field1": updated() } };
                self.nested
                    .update_one(doc! { "_id": named.nested[at] }, update)
                    .await?;
                0
            }
            "nested find" => {
                let found = self
                    .nested
                    .find_one(doc! { "embedded_str_doc_1.unique_id": 100 * n + 1 });
                found.await?.ok_or(missing)?.embedded_int_doc_8.field1.into()
            }
            _ => {
                let found = self
                    .nested
                    .find_one(doc! { "embedded_str_doc_array.unique_id": 100 * n + 6 });
                found.await?.ok_or(missing)?.embedded_int_doc_8.field1.into()
            }
        })
    }
}
