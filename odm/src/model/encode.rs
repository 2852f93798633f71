//! Values as BSON: what a field stores of them.

use crate::model::path::Codec;
use crate::model::stored::{self, Fault, Fields, Out};
use crate::model::value::Value;
use crate::{Error, Result};
use mongodb::bson::{self, Bson, RawBsonRef, RawDocumentBuf, doc, error::Result as BsonResult};
use serde::{Serialize, Serializer};
use std::marker::PhantomData;

/// A value as a field stores it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Stored {
    /// The value alone in a document.
    raw: RawDocumentBuf,
}

impl Stored {
    /// By the serializer that writes whole documents.
    ///
    /// The other one of `bson`, `serialize_to_bson`, is human readable in serde's terms: it stores an `IpAddr` as a text, while
    /// a document stores bytes, and it turns a map with the key `$regularExpression` into a pattern, also from user input.
    pub(crate) fn of<T: Serialize + ?Sized>(value: &T) -> BsonResult<Stored> {
        #[derive(Serialize)]
        struct Alone<'a, T: ?Sized> {
            v: &'a T,
        }
        // A buffer that grows from nothing is moved again and again.
        let mut bytes = Vec::with_capacity(128);
        bson::serialize_to_buffer(&Alone { v: value }, &mut bytes)?;
        let raw = RawDocumentBuf::from_bytes(bytes)?;
        Ok(Stored { raw })
    }

    pub(crate) fn of_bson(value: Bson) -> BsonResult<Stored> {
        let raw = RawDocumentBuf::try_from(&doc! { "v": value })?;
        Ok(Stored { raw })
    }

    /// `None` for what serde stores nothing of.
    pub(crate) fn raw(&self) -> BsonResult<Option<RawBsonRef<'_>>> {
        self.raw.iter().next().map(|alone| Ok(alone?.1)).transpose()
    }

    pub(crate) fn bson(&self) -> BsonResult<Bson> {
        self.raw()?.map_or(Ok(Bson::Null), owned)
    }
}

/// The same value for itself. The conversion of `bson` first copies a document or an array as bytes.
pub(crate) fn owned(value: RawBsonRef<'_>) -> BsonResult<Bson> {
    Ok(match value {
        RawBsonRef::Document(fields) => Bson::Document(fields.try_into()?),
        RawBsonRef::Array(items) => Bson::Array(items.try_into()?),
        other => other.try_into()?,
    })
}

/// The BSON of a value as a document holds it: by the serializer that writes whole documents.
pub fn stored<T: Serialize + ?Sized>(value: &T) -> BsonResult<Bson> {
    Stored::of(value)?.bson()
}

/// What has fields, as a document. `of` is its name.
pub(crate) fn stored_document(of: &str, value: &impl Fields) -> Result<RawDocumentBuf> {
    let mut bytes = Vec::with_capacity(512);
    write_behind(of, value, &mut bytes)?;
    raw_document(of, bytes)
}

/// Writes what has fields as a document behind what is there. `true` where it may break a bound.
pub(crate) fn write_behind(of: &str, value: &impl Fields, bytes: &mut Vec<u8>) -> Result<bool> {
    let mut out = Out::new(std::mem::take(bytes));
    let written = stored::write(value, &mut out);
    let may_be_broken = out.broken();
    *bytes = out.into_bytes();
    match written {
        Ok(()) => Ok(may_be_broken),
        Err(fault) => Err(not_written(of, &fault)),
    }
}

/// A document of these bytes.
pub(crate) fn raw_document(of: &str, bytes: Vec<u8>) -> Result<RawDocumentBuf> {
    RawDocumentBuf::from_bytes(bytes).map_err(|source| refused(of, source))
}

/// The error of a value that BSON can't hold. It names the field, or where it is no part of one, `of`.
#[cold]
pub(crate) fn not_written(of: &str, fault: &Fault) -> Error {
    let path = fault.path();
    let field = if path.is_empty() { of } else { &path };
    refused(field, serde::ser::Error::custom(fault.message()))
}

/// A value of a field that is stored as `C` says.
pub(crate) fn coded<T, C: Codec<T>>(value: &T) -> BsonResult<Stored> {
    Stored::of(&Coded::<T, C>(value, PhantomData))
}

/// The same as BSON.
pub(crate) fn coded_bson<T, C: Codec<T>>(value: &T) -> BsonResult<Bson> {
    coded::<T, C>(value)?.bson()
}

struct Coded<'a, T, C>(&'a T, PhantomData<C>);

impl<T, C: Codec<T>> Serialize for Coded<'_, T, C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        C::serialize(self.0, serializer)
    }
}

/// The BSON of an id.
pub fn id<T: Value + Serialize>(id: &T) -> Result<Bson> {
    // Without a way through the serializer.
    if let Some(id) = (id as &dyn std::any::Any).downcast_ref::<bson::oid::ObjectId>() {
        return Ok(Bson::ObjectId(*id));
    }
    let stored = id.to_native().unwrap_or_else(|| stored(id));
    stored.map_err(|source| refused("_id", source))
}

/// The BSON of an option of a command.
pub(crate) fn option<T: Serialize>(name: &str, value: &T) -> Result<Bson> {
    stored(value).map_err(|source| refused(name, source))
}

fn refused(field: &str, source: bson::error::Error) -> Error {
    Error::Encode {
        field: field.to_owned(),
        source: Box::new(source),
    }
}

/// The BSON of an id that is a text.
pub fn text_id(id: &str) -> Result<Bson> {
    Ok(Bson::String(id.to_owned()))
}

/// The time of a write, in the milliseconds that BSON keeps.
pub(crate) fn now() -> bson::DateTime {
    bson::DateTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{
        Binary, DateTime, Decimal128, Timestamp, Uuid, bson, oid::ObjectId, spec::BinarySubtype,
    };
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use std::collections::BTreeMap;
    use std::fmt::Debug;
    use std::net::{IpAddr, Ipv6Addr};

    /// A value alone is what it is in a document, and is read back from there.
    fn as_inserted<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) -> Bson {
        #[derive(Serialize, Deserialize, PartialEq, Debug)]
        struct Whole<T> {
            first: i32,
            value: T,
        }
        let alone = stored(&value).expect("encodes");
        let whole = Whole { first: 1, value };
        let raw = bson::serialize_to_raw_document_buf(&whole).expect("encodes");
        let document = Document::try_from(&raw).expect("is valid");
        assert_eq!(document, doc! { "first": 1, "value": alone.clone() });
        assert_eq!(stored_document(&whole).expect("encodes"), document);
        // The same by way of the document that a command is made of.
        let sent = bson::RawDocumentBuf::try_from(&document).expect("encodes");
        assert_eq!(sent, raw);
        let read: Whole<T> = bson::deserialize_from_slice(sent.as_bytes()).expect("is read");
        assert_eq!(read, whole);
        alone
    }

    #[test]
    fn types_of_bson_stay_what_they_are() {
        let id = ObjectId::new();
        assert_eq!(as_inserted(id), Bson::ObjectId(id));
        let date = DateTime::from_millis(-7);
        assert_eq!(as_inserted(date), Bson::DateTime(date));
        let decimal: Decimal128 = "1.50".parse().expect("is a number");
        assert_eq!(as_inserted(decimal), Bson::Decimal128(decimal));
        let uuid = Uuid::from_bytes([7; 16]);
        assert_eq!(as_inserted(uuid), Bson::Binary(uuid.into()));
        for subtype in [
            BinarySubtype::Generic,
            BinarySubtype::Md5,
            BinarySubtype::UserDefined(0x85),
        ] {
            let binary = Binary {
                subtype,
                bytes: vec![0, 255],
            };
            assert_eq!(as_inserted(binary.clone()), Bson::Binary(binary));
        }
        let time = Timestamp {
            time: 5,
            increment: 6,
        };
        assert_eq!(as_inserted(time), Bson::Timestamp(time));
        let regex = Bson::RegularExpression(bson::Regex {
            pattern: "a.b".try_into().expect("has no zero"),
            options: "i".try_into().expect("has no zero"),
        });
        assert_eq!(as_inserted(regex.clone()), regex);
        assert_eq!(as_inserted(Bson::MinKey), Bson::MinKey);
        let nested = doc! { "a": [id, { "b": date }], "$where": "x" };
        assert_eq!(as_inserted(nested.clone()), Bson::Document(nested));
    }

    #[test]
    fn plain_values_are_stored_as_in_a_document() {
        assert_eq!(as_inserted(7_i32), Bson::Int32(7));
        assert_eq!(as_inserted(7_u32), Bson::Int64(7));
        assert_eq!(as_inserted(7_i64), Bson::Int64(7));
        assert_eq!(as_inserted(7_u64), Bson::Int64(7));
        assert!(stored(&u64::MAX).is_err());
        assert_eq!(as_inserted(0.5_f64), Bson::Double(0.5));
        assert_eq!(as_inserted("$where".to_owned()), bson!("$where"));
        assert_eq!(as_inserted(true), Bson::Boolean(true));
        assert_eq!(as_inserted('c'), bson!("c"));
        assert_eq!(as_inserted(None::<i32>), Bson::Null);
        assert_eq!(as_inserted(Some(1)), Bson::Int32(1));
        assert_eq!(as_inserted(()), Bson::Null);
        assert_eq!(as_inserted((1, "b".to_owned())), bson!([1, "b"]));
        assert_eq!(as_inserted(vec![[1_i64; 2]]), bson!([[1_i64, 1_i64]]));
    }

    #[test]
    fn structs_and_enums_are_stored_as_in_a_document() {
        #[derive(Serialize, Deserialize, PartialEq, Debug)]
        enum Form {
            Unit,
            New(i32),
            Pair(i32, String),
            Named { id: ObjectId, at: Option<DateTime> },
        }
        #[derive(Serialize, Deserialize, PartialEq, Debug)]
        struct Outer {
            form: Form,
            more: BTreeMap<String, Form>,
        }
        let id = ObjectId::new();
        assert_eq!(as_inserted(Form::Unit), bson!("Unit"));
        assert_eq!(as_inserted(Form::New(1)), bson!({ "New": 1 }));
        assert_eq!(
            as_inserted(Form::Pair(1, "x".to_owned())),
            bson!({ "Pair": [1, "x"] })
        );
        assert_eq!(
            as_inserted(Outer {
                form: Form::Named { id, at: None },
                more: [("$a".to_owned(), Form::Unit)].into(),
            }),
            bson!({ "form": { "Named": { "id": id, "at": null } }, "more": { "$a": "Unit" } })
        );
    }

    #[test]
    fn a_map_that_looks_like_extended_json_stays_a_map() {
        for json in [
            r#"{"$oid":"507f1f77bcf86cd799439011"}"#,
            r#"{"$date":{"$numberLong":"0"}}"#,
            r#"{"$regularExpression":{"pattern":".*","options":""}}"#,
            r#"{"$numberDecimal":"1"}"#,
            r#"{"$uuid":"00000000-0000-0000-0000-000000000000"}"#,
            r#"{"$minKey":1}"#,
            r#"{"a":[{"$symbol":"x"}]}"#,
        ] {
            let sent: serde_json::Value = serde_json::from_str(json).expect("is JSON");
            let Bson::Document(map) = as_inserted(sent.clone()) else {
                panic!("{json} became another type")
            };
            assert_eq!(
                map.keys().collect::<Vec<_>>(),
                sent.as_object().unwrap().keys().collect::<Vec<_>>()
            );
            assert!(map.values().all(|value| matches!(
                value,
                Bson::String(_) | Bson::Document(_) | Bson::Array(_) | Bson::Int64(_)
            )));
        }
        let map: BTreeMap<String, i32> = [("$oid".to_owned(), 1)].into();
        assert_eq!(as_inserted(map), bson!({ "$oid": 1 }));
    }

    #[test]
    fn a_type_with_two_forms_is_stored_in_one() {
        assert_eq!(
            as_inserted(IpAddr::from([127, 0, 0, 1])),
            bson!({ "V4": [127, 0, 0, 1] })
        );
        assert_eq!(
            as_inserted(Ipv6Addr::LOCALHOST),
            bson!([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        );
    }
}
