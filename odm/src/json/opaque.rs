//! Values of no declared shape: extended JSON, in its relaxed form.
//!
//! On the way in, a key that begins with `$` is the type of a value or refused, so that no text of a client becomes an operator.

use super::faults::{Faults, JsonPlace};
use super::text::{self, SAFE};
use crate::error::ValueProblem;
use crate::model::numeric;
use crate::model::shape::Bounds;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, Document, RawBsonRef, Timestamp};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// A value as it goes out.
pub(super) struct OpaqueValue<'a>(pub(super) RawBsonRef<'a>);

/// One key with its value.
fn typed<S: Serializer>(serializer: S, name: &str, value: &impl Serialize) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(name, value)?;
    map.end()
}

#[derive(Serialize)]
struct OpaqueBytes {
    base64: String,
    #[serde(rename = "subType")]
    sub_type: String,
}

#[derive(Serialize)]
struct OpaquePattern<'a> {
    pattern: &'a str,
    options: &'a str,
}

#[derive(Serialize)]
struct Time {
    t: u32,
    i: u32,
}

impl Serialize for OpaqueValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            RawBsonRef::Null => serializer.serialize_unit(),
            RawBsonRef::Boolean(value) => serializer.serialize_bool(value),
            RawBsonRef::String(value) => serializer.serialize_str(value),
            RawBsonRef::Int32(value) => serializer.serialize_i32(value),
            RawBsonRef::Int64(value) if value.unsigned_abs() <= SAFE.unsigned_abs() => {
                serializer.serialize_i64(value)
            }
            RawBsonRef::Int64(value) => typed(serializer, "$numberLong", &value.to_string()),
            RawBsonRef::Double(value) if value.is_finite() => serializer.serialize_f64(value),
            RawBsonRef::Double(value) => typed(serializer, "$numberDouble", &text::special(value)),
            RawBsonRef::Decimal128(value) => typed(serializer, "$numberDecimal", &value.to_string()),
            RawBsonRef::ObjectId(value) => typed(serializer, "$oid", &value.to_hex()),
            RawBsonRef::DateTime(value) => typed(serializer, "$date", &text::date(value)),
            RawBsonRef::Binary(value) => {
                let bytes = OpaqueBytes {
                    base64: text::base64(value.bytes),
                    sub_type: format!("{:02x}", u8::from(value.subtype)),
                };
                typed(serializer, "$binary", &bytes)
            }
            RawBsonRef::Timestamp(Timestamp { time, increment }) => typed(
                serializer,
                "$timestamp",
                &Time {
                    t: time,
                    i: increment,
                },
            ),
            RawBsonRef::RegularExpression(value) => {
                let pattern = OpaquePattern {
                    pattern: value.pattern.as_str(),
                    options: value.options.as_str(),
                };
                typed(serializer, "$regularExpression", &pattern)
            }
            RawBsonRef::Array(items) => {
                let mut seq = serializer.serialize_seq(None)?;
                for item in items {
                    seq.serialize_element(&OpaqueValue(item.map_err(S::Error::custom)?))?;
                }
                seq.end()
            }
            RawBsonRef::Document(fields) => {
                let mut map = serializer.serialize_map(None)?;
                for field in fields {
                    let (name, value) = field.map_err(S::Error::custom)?;
                    map.serialize_entry(name.as_str(), &OpaqueValue(value))?;
                }
                map.end()
            }
            RawBsonRef::JavaScriptCode(code) => typed(serializer, "$code", &code),
            RawBsonRef::Symbol(symbol) => typed(serializer, "$symbol", &symbol),
            RawBsonRef::Undefined => typed(serializer, "$undefined", &true),
            RawBsonRef::MinKey => typed(serializer, "$minKey", &1),
            RawBsonRef::MaxKey => typed(serializer, "$maxKey", &1),
            other => Err(S::Error::custom(format!(
                "{:?} has no JSON",
                other.element_type()
            ))),
        }
    }
}

/// A value as it comes in.
pub(super) fn read(value: &Value, at: &JsonPlace<'_>, faults: &mut Faults) -> Option<Bson> {
    Some(match value {
        Value::Null => Bson::Null,
        Value::Bool(value) => Bson::Boolean(*value),
        Value::String(value) => Bson::String(value.clone()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(n), _) => i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32),
            (None, Some(n)) if !number.is_u64() && n.is_finite() => Bson::Double(n),
            _ => {
                let rule = "must be a number of at most 64 bits";
                return faults.add(at, ValueProblem::WrongType, rule);
            }
        },
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items: Vec<_> = items
                .map(|(i, item)| read(item, &JsonPlace::Item(at, i), faults))
                .collect();
            Bson::Array(items.into_iter().collect::<Option<_>>()?)
        }
        Value::Object(fields) => match fields.keys().next() {
            Some(key) if key.starts_with('$') => match typed_value(fields) {
                Some(value) => value,
                None => {
                    let rule = "must be the type and the text of a date, an id, a number or bytes: no other key begins with `$`";
                    return faults.add(&JsonPlace::Name(at, key), ValueProblem::Refused, rule);
                }
            },
            _ => {
                let mut document = Document::new();
                let mut is_whole = true;
                for (key, value) in fields {
                    let at = JsonPlace::Name(at, key);
                    match read_entry(key, value, &at, faults) {
                        Some(value) => {
                            document.insert(key, value);
                        }
                        None => is_whole = false,
                    }
                }
                return is_whole.then_some(Bson::Document(document));
            }
        },
    })
}

/// A value under a name that the client chose.
pub(super) fn read_entry(key: &str, value: &Value, at: &JsonPlace<'_>, faults: &mut Faults) -> Option<Bson> {
    if is_key(key, &Bounds::NONE, at, faults) {
        read(value, at, faults)
    } else {
        None
    }
}

/// Whether a name can be stored.
pub(super) fn is_key(key: &str, bounds: &Bounds, at: &JsonPlace<'_>, faults: &mut Faults) -> bool {
    match crate::bounds::key_of(bounds, key) {
        Some(rule) => {
            faults.add::<()>(at, ValueProblem::Bound, rule.to_string());
            false
        }
        None => true,
    }
}

/// The value of an object that names its type. Regular expressions and code are not among them: as an operand, they are more
/// than a value.
fn typed_value(fields: &Map<String, Value>) -> Option<Bson> {
    let mut fields = fields.iter();
    let (name, value) = fields.next()?;
    if fields.next().is_some() {
        return None;
    }
    let text = value.as_str();
    Some(match name.as_str() {
        "$oid" => Bson::ObjectId(ObjectId::parse_str(text?).ok()?),
        "$date" => Bson::DateTime(text::read_date(text?)?),
        "$numberInt" => Bson::Int32(text::read_integer(text?)?.try_into().ok()?),
        "$numberLong" => Bson::Int64(text::read_integer(text?)?),
        "$numberDouble" => Bson::Double(text::read_special(text?).or_else(|| numeric::double(text?))?),
        "$numberDecimal" => Bson::Decimal128(text::read_decimal(text?)?),
        "$uuid" => Bson::from(mongodb::bson::Uuid::parse_str(text?).ok()?),
        "$timestamp" => {
            let part = |name: &str| value.get(name)?.as_u64().and_then(|n| u32::try_from(n).ok());
            Bson::Timestamp(Timestamp {
                time: part("t")?,
                increment: part("i")?,
            })
        }
        "$binary" => {
            let part = |name: &str| value.get(name)?.as_str();
            let subtype = u8::from_str_radix(part("subType")?, 16).ok()?;
            Bson::Binary(Binary {
                subtype: BinarySubtype::from(subtype),
                bytes: text::read_base64(part("base64")?)?,
            })
        }
        _ => return None,
    })
}
