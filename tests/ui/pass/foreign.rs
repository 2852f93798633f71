//! The fixes that the messages on types that odm does not know offer.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::SystemTime;

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "files")]
struct File {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[index]
    #[field(stored = String, max_len = 500)]
    path: PathBuf, // a text, by its own `Serialize`
    #[field(stored = Option<String>)]
    moved_to: Option<PathBuf>,
    #[embed(max = 5)]
    #[field(stored = Vec<String>)]
    links: Vec<PathBuf>,
    #[serde(with = "date")]
    #[field(stored = DateTime)]
    at: SystemTime,
    #[serde(with = "mongodb::bson::serde_helpers::datetime::FromI64")]
    #[field(stored = DateTime)]
    millis: i64,
    read: Read,
}

#[derive(Embed, Serialize, Deserialize)]
struct Read(#[field(stored = String)] values::DateTime);

/// Another one of this name.
mod values {
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(into = "String", from = "String")]
    #[derive(Clone)]
    pub struct DateTime(String);
    impl From<String> for DateTime {
        fn from(text: String) -> Self {
            DateTime(text)
        }
    }
    impl From<DateTime> for String {
        fn from(date: DateTime) -> Self {
            date.0
        }
    }
}

mod date {
    use mongodb::bson::DateTime;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::SystemTime;

    pub fn serialize<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        DateTime::from_system_time(*at).serialize(serializer)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        DateTime::deserialize(deserializer).map(DateTime::to_system_time)
    }
}

pub(crate) fn main() {
    let path = PathBuf::from("/etc/hosts");
    let _ = File::paths().path.eq(&path) & File::paths().at.lt(SystemTime::now()) & File::paths().moved_to.eq(None);
}
