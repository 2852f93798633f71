//! Attributes that messages offer, and that no other program here has.
use odm::prelude::*;

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(id)]
struct Key {
    country: String,
    number: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parts", validation(level = off), sole_writer)]
struct Part {
    id: Key,
    event: Event,
    #[field(write_only)]
    password: Option<String>,
    #[field(default, with = "secret")]
    #[field(stored = String)]
    secret: String,
    #[field(with = "seconds", stored = DateTime)]
    at: Seconds,
    #[field(extra, flatten)]
    others: odm::bson::Document,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(tag = "kind", content = "value")]
enum Event {
    Named(String),
    Counted(i32),
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Seconds(i64);

mod secret {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[allow(clippy::ptr_arg)]
    pub fn serialize<S: Serializer>(text: &String, serializer: S) -> Result<S::Ok, S::Error> {
        text.chars().rev().collect::<String>().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        Ok(String::deserialize(deserializer)?.chars().rev().collect())
    }
}

mod seconds {
    use super::Seconds;
    use odm::bson::DateTime;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(seconds: &Seconds, serializer: S) -> Result<S::Ok, S::Error> {
        DateTime::from_millis(seconds.0 * 1000).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Seconds, D::Error> {
        Ok(Seconds(DateTime::deserialize(deserializer)?.timestamp_millis() / 1000))
    }
}

#[derive(odm::Row, Debug, PartialEq)]
#[row(rename_all = "camelCase")]
struct Total {
    total_amount: i64,
}

pub(crate) fn main() {
    let part = Part {
        id: Key { country: "DE".into(), number: 1 },
        event: Event::Counted(2),
        password: None,
        secret: "abc".into(),
        at: Seconds(3),
        others: odm::bson::doc! { "color": "red" },
    };
    let stored = odm::to_document(&part).unwrap();
    assert_eq!(stored.get_str("secret").unwrap(), "cba");
    assert_eq!(stored.get_datetime("at").unwrap(), &DateTime::from_millis(3_000));
    assert_eq!(stored.get_document("event").unwrap(), &odm::bson::doc! { "kind": "Counted", "value": 2 });
    assert_eq!(odm::from_document::<Part>(&stored).unwrap(), part);
    let total: Total = odm::from_document(&odm::bson::doc! { "totalAmount": 4_i64 }).unwrap();
    assert_eq!(total, Total { total_amount: 4 });
}
