//! Hosts, and what they log.

use mongodb::bson::DateTime;
use odm::prelude::*;

/// A machine, known by its name.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    #[field(name = "_id")]
    pub name: String,
    /// Where the name says it.
    #[index]
    pub address: Option<String>,
}

/// A line of the log.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "messages")]
pub struct LogMsg {
    /// The number of the line.
    #[field(name = "_id")]
    pub line: i32,
    #[parent_ref(order(-time, -line), on_delete = cascade)]
    pub host: Ref<Host>,
    pub time: DateTime,
    #[field(min_len = 1, max_len = 100)]
    pub process: String,
    pub pid: Option<i32>,
    #[field(max_len = 2000)]
    pub text: String,
}
