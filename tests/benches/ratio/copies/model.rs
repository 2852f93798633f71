//! Hosts with their log messages, devices with their events, products with their parts and reviews: all with copies.

use mongodb::bson::DateTime;
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

/// What writes log messages. It keeps the newest of them.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
    #[field(max_len = 15)]
    pub ipaddr: String,
    #[subset(of = LogMsg, limit = 10, order(-time), fields(time: DateTime, message: String))]
    pub newest: Vec<NewestEntry>,
}

/// A log message, with the address of its host.
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
    #[denormalize(from = host.ipaddr)]
    #[field(max_len = 15)]
    pub ipaddr: String,
}

/// What events come from.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "devices")]
pub struct Device {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
}

/// An event, with the name of its device.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "events")]
pub struct Event {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(max_len = 1000)]
    pub what: String,
    #[reference]
    pub device: Ref<Device>,
    #[denormalize(from = device.name)]
    #[field(max_len = 100)]
    pub name: String,
}

/// A part of products.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
    #[field(max_len = 2000)]
    pub description: String,
    pub price: f64,
}

/// A product, with all that its page shows.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
    #[reference(many, max = 100)]
    #[denormalize(from = Part, fields(name: String, price: f64))]
    pub parts: Vec<PartEntry>,
    #[subset(of = Review, limit = 10, order(-at), fields(at: DateTime, author: String, text: String))]
    pub reviews: Vec<ReviewEntry>,
    #[computed(count = Review)]
    pub review_count: i64,
    #[computed(avg = Review.stars)]
    pub rating: Average,
}

/// A review of a product.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref(order(-at))]
    pub product: Ref<Product>,
    pub at: DateTime,
    #[field(max_len = 100)]
    pub author: String,
    #[field(max_len = 1000)]
    pub text: String,
    #[field(min = 1, max = 5)]
    pub stars: i32,
}

pub fn message(n: usize, host: i32) -> NewLogMsg {
    NewLogMsg {
        time: DateTime::from_millis(1_700_000_000_000 + n as i64 * 250),
        pid: (n % 32_768) as i32,
        message: format!("com.apple.cts[{n}]: cpu is on fire, the fan blade assembly does not turn"),
        host: Ref::new(host),
    }
}

pub fn part(id: i32) -> NewPart {
    NewPart {
        id,
        name: format!("fan blade assembly, number {id}"),
        description: format!("The fan blade assembly number {id} turns. ").repeat(20),
        price: 0.99 + f64::from(id % 500),
    }
}

pub fn review(id: i32, product: i32) -> NewReview {
    NewReview {
        id,
        product: Ref::new(product),
        at: DateTime::from_millis(1_700_000_000_000 + i64::from(id) * 60_000),
        author: format!("Customer Number {id}"),
        text: format!("It does what it says, for the {id}th time. ").repeat(5),
        stars: 1 + id % 5,
    }
}
