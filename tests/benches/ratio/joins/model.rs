//! Products with their parts and their makers, hosts with their log messages.

use mongodb::bson::DateTime;
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

/// A part of products.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[field(max_len = 20)]
    pub partno: String,
    #[field(max_len = 100)]
    pub name: String,
    pub qty: i32,
    pub price: f64,
}

/// A maker of products.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "makers")]
pub struct Maker {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[field(max_len = 100)]
    pub city: String,
    pub since: i32,
}

/// A product.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    pub catalog_number: i32,
    #[reference]
    pub maker: Ref<Maker>,
    #[reference(many, max = 100)]
    pub parts: Vec<Ref<Part>>,
}

/// What writes log messages.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[field(max_len = 15)]
    pub ipaddr: String,
}

/// A log message.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "logmsg")]
pub struct LogMsg {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub time: DateTime,
    pub pid: i32,
    #[field(max_len = 1000)]
    pub message: String,
    #[parent_ref(order(-time))]
    pub host: Ref<Host>,
}

/// A product as a `$lookup` of its parts by hand gives it.
#[derive(Deserialize)]
pub struct WithParts {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    pub catalog_number: i32,
    pub maker: Ref<Maker>,
    pub parts: Vec<Ref<Part>>,
    pub joined: Vec<Part>,
}

/// A product as a `$lookup` of its maker by hand gives it.
#[derive(Deserialize)]
pub struct WithMaker {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    pub catalog_number: i32,
    pub maker: Ref<Maker>,
    pub parts: Vec<Ref<Part>>,
    pub joined: [Maker; 1],
}

/// A host as a `$lookup` of its newest messages by hand gives it.
#[derive(Deserialize)]
pub struct WithMessages {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    pub ipaddr: String,
    pub joined: Vec<LogMsg>,
}

/// Numbers that look like chance and are the same in every run.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// Below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        // The constants are Knuth's; the lower bits of such a sequence are poor.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

pub fn part(n: usize) -> Part {
    Part {
        id: ObjectId::new(),
        partno: format!("123-aff-{n:06}"),
        name: format!("fan blade assembly, number {n}"),
        qty: (n % 997) as i32,
        price: 0.99 + (n % 500) as f64,
    }
}

pub fn maker(n: usize) -> Maker {
    Maker {
        id: ObjectId::new(),
        name: format!("Acme Corporation {n}"),
        city: ["Anytown", "New York", "São Paulo", "Springfield"][n % 4].to_owned(),
        since: 1900 + (n % 100) as i32,
    }
}

pub fn product(n: usize, maker: &Maker, parts: Vec<Ref<Part>>) -> Product {
    Product {
        id: ObjectId::new(),
        name: format!("left-handed smoke shifter, model {n}"),
        catalog_number: n as i32,
        maker: maker.to_ref(),
        parts,
    }
}

pub fn host(n: usize) -> Host {
    Host {
        id: ObjectId::new(),
        name: format!("goofy{n:03}.example.com"),
        ipaddr: format!("127.66.{n}.66"),
    }
}

/// The message with this number: later ones are newer.
pub fn message(n: usize, host: &Host) -> LogMsg {
    LogMsg {
        id: ObjectId::new(),
        time: DateTime::from_millis(1_700_000_000_000 + n as i64 * 250),
        pid: (n % 32_768) as i32,
        message: format!("com.apple.cts[{n}]: cpu is on fire, the fan blade assembly does not turn"),
        host: host.to_ref(),
    }
}
