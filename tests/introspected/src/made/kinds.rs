//! The collection `kinds`.

use super::Integer;
use odm::bson::{Binary, Bson, Decimal128, Regex, Timestamp, Uuid};
use odm::prelude::*;

/// A document of `kinds`: 11 were counted. Half of them have up to 374 bytes, the largest has 374.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "kinds")]
#[document(index(fields(date), expire_after = 2_000_000_000))]
#[document(index(fields(double, -date), unique))]
pub struct Kind {
    pub id: Uuid,
    pub bool: bool,
    pub int: i32,
    pub long: i64,
    pub double: f64,
    pub decimal: Decimal128,
    // Its texts are numbers as text: `retype` in a migration makes each a number.
    // Perhaps a copy: 11 equal `kinds.text`. `old` is not declared as a reference. 11 of 11 are equal;
    // 1 distinct values, the commonest has 100 %.
    pub text: String,
    pub uuid: Uuid,
    // UUIDs of the older subtype 3 are among its values.
    // Refers to `kinds._id`: 11 of 11 were found. The types of the two fields differ. 1 of 1 distinct
    // values were found.
    pub old: Binary,
    // Perhaps a copy: 11 equal `kinds.binary`. `old` is not declared as a reference. 11 of 11 are
    // equal; 1 distinct values, the commonest has 100 %.
    pub binary: Binary,
    pub date: DateTime,
    pub timestamp: Timestamp,
    // Perhaps a copy: 11 equal `kinds.regex`. `old` is not declared as a reference. 11 of 11 are equal;
    // 1 distinct values, the commonest has 100 %.
    pub regex: Regex,
    // Perhaps a copy: 11 equal `kinds.code`. `old` is not declared as a reference. 11 of 11 are equal;
    // 1 distinct values, the commonest has 100 %.
    #[field(opaque)]
    pub code: Bson,
    // Perhaps a copy: 11 equal `kinds.scoped`. `old` is not declared as a reference. 11 of 11 are
    // equal; 1 distinct values, the commonest has 100 %.
    #[field(opaque)]
    pub scoped: Bson,
    // Perhaps a copy: 11 equal `kinds.least`. `old` is not declared as a reference. 11 of 11 are equal;
    // 1 distinct values, the commonest has 100 %.
    #[field(opaque)]
    pub least: Bson,
    // Null in 1 of 11.
    // Its types differ: 1 bool, 1 int, 1 long, 1 double, 1 decimal, 1 string, 1 objectId, 1 uuid, 1
    // date, 1 object. `retype` in a migration makes them one.
    pub any: Option<KindAnyValue>,
    // Its types differ: 7 double, 4 string. `retype` in a migration makes them one.
    pub text_or_number: KindTextOrNumberValue,
    // Its types differ: 5 string, 6 objectId. `retype` in a migration makes them one.
    // Its texts are numbers as text: `retype` in a migration makes each a number.
    // Refers to `new_readers._id`: 6 of 11 were found, 5 refer to nothing. Its values have several
    // types. 6 of 6 distinct values were found.
    pub id_or_text: KindIdOrTextValue,
}

/// `any` of `kinds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct KindAny {
    pub a: i32,
    pub b: i32,
}

/// `any` of `kinds`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
pub enum KindAnyValue {
    Integer(Integer),
    Bool(bool),
    Double(f64),
    Decimal(Decimal128),
    Text(String),
    Id(ObjectId),
    Uuid(Uuid),
    Date(DateTime),
    Document(KindAny),
}

/// `text_or_number` of `kinds`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
pub enum KindTextOrNumberValue {
    Double(f64),
    Text(String),
}

/// `id_or_text` of `kinds`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
pub enum KindIdOrTextValue {
    Text(String),
    Id(ObjectId),
}
