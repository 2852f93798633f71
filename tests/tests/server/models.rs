//! The documents that most tests share.

use odm::bson::{DateTime, oid::ObjectId};
use odm::geo::Point;
use odm::prelude::*;
use odm_tests::TestDb;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "shops", index(fields(-stars, name)))]
pub struct Shop {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[field(max_len = 40)]
    #[index(unique)]
    pub name: String,
    #[field(min = 0, max = 5)]
    pub stars: i32,
    pub revenue: f64,
    pub note: Option<String>,
    #[embed(max = 5)]
    pub tags: Vec<String>,
    #[embed(max = 4)]
    pub items: Vec<Item>,
    #[embed]
    pub owner: Option<Owner>,
    #[embed(max = 3, key_len = 10)]
    pub hours: BTreeMap<String, i32>,
    #[serde(rename = "loc")]
    #[index(geo)]
    pub place: Option<Point>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pub sku_code: String,
    #[field(min = 0)]
    pub quantity: i32,
    pub price: Option<f64>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Owner {
    pub name: String,
    pub since: i32,
}

pub fn item(sku: &str, quantity: i32) -> Item {
    Item {
        sku_code: sku.into(),
        quantity,
        price: None,
    }
}

pub fn shop(name: &str, stars: i32) -> NewShop {
    NewShop {
        name: name.into(),
        stars,
        revenue: 10.5,
        note: None,
        tags: vec!["food".into()],
        items: vec![item("a", 1), item("b", 2)],
        owner: Some(Owner {
            name: "Ann".into(),
            since: 2001,
        }),
        hours: BTreeMap::from([("mon".into(), 8)]),
        place: Some(Point::new(13.4, 52.5)),
    }
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "notes", timestamps, version)]
pub struct Note {
    #[serde(rename = "_id")]
    pub id: i64,
    pub text: String,
    #[embed(max = 2)]
    pub lines: Vec<String>,
    pub created_at: DateTime,
    pub updated_at: DateTime,
    pub version: i64,
}

pub fn note(id: i64) -> NewNote {
    NewNote {
        id,
        text: "t".into(),
        lines: vec![],
    }
}

#[derive(Projection, Deserialize, Debug, PartialEq)]
#[projection(of = Shop)]
pub struct ShopName {
    pub name: String,
}

/// A handle on the test's database, with the collections made and the record of commands empty.
pub async fn odm(test: &TestDb) -> Odm {
    let odm = Odm::new(test.db.clone(), models![Shop, Note]).expect("sound models");
    odm.sync().await.expect("the schema is made");
    odm.server().await.expect("the server answers");
    test.commands.clear();
    odm
}
