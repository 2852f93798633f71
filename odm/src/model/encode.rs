//! Values as BSON: what a field stores of them.

use crate::model::path::Codec;
use crate::model::stored::{self, Done, Fault, Fields, Input, Name, Out, Read, Stored};
use crate::{Error, Result};
use mongodb::bson::{self, Bson, RawBsonRef, RawDocumentBuf, doc, error::Result as BsonResult};
use serde::Serialize;
use serde::ser::Error as _;

/// A value as a field stores it.
#[doc(hidden)]
#[derive(Debug)]
pub struct StoredValue {
    /// The value alone in a document.
    raw: RawDocumentBuf,
}

impl StoredValue {
    pub(crate) fn of<T: Stored>(value: &T) -> BsonResult<StoredValue> {
        StoredValue::by(|name, out| value.write(name, None, out))
    }

    fn by(write: impl FnOnce(&Name<'_>, &mut Out) -> Done) -> BsonResult<StoredValue> {
        let bytes = stored::write_alone(write).map_err(bson::error::Error::custom)?;
        let raw = RawDocumentBuf::from_bytes(bytes)?;
        Ok(StoredValue { raw })
    }

    pub(crate) fn of_bson(value: Bson) -> BsonResult<StoredValue> {
        let raw = RawDocumentBuf::try_from(&doc! { "v": value })?;
        Ok(StoredValue { raw })
    }

    pub(crate) fn raw(&self) -> BsonResult<RawBsonRef<'_>> {
        let alone = self.raw.iter().next().transpose()?;
        Ok(alone.map_or(RawBsonRef::Null, |(_, value)| value))
    }

    pub(crate) fn bson(&self) -> BsonResult<Bson> {
        owned(self.raw()?)
    }

    /// Reads the value.
    pub(crate) fn read<T>(&self, read: impl FnOnce(u8, &mut Input<'_>) -> Read<T>) -> Read<T> {
        stored::read_alone(self.raw.as_bytes(), read)
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

/// The BSON of a value as a document holds it.
pub fn stored<T: Stored>(value: &T) -> BsonResult<Bson> {
    StoredValue::of(value)?.bson()
}

/// Writes a value with fields as a document. `of` is the name of its type, for errors.
pub(crate) fn stored_document(of: &str, value: &impl Fields) -> Result<RawDocumentBuf> {
    let mut bytes = Vec::with_capacity(512);
    write_behind(of, value, &mut bytes)?;
    raw_document(of, bytes)
}

/// Writes a value with fields as a document behind what is there. `true` where it may break a bound.
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
pub(crate) fn coded<T, C: Codec<T>>(value: &T) -> BsonResult<StoredValue> {
    StoredValue::by(|name, out| C::write(value, name, None, out))
}

/// The same as BSON.
pub(crate) fn coded_bson<T, C: Codec<T>>(value: &T) -> BsonResult<Bson> {
    coded::<T, C>(value)?.bson()
}

/// The BSON of an id.
pub fn id<T: Stored>(id: &T) -> Result<Bson> {
    // Without a way through bytes.
    if let Some(id) = (id as &dyn std::any::Any).downcast_ref::<bson::oid::ObjectId>() {
        return Ok(Bson::ObjectId(*id));
    }
    stored(id).map_err(|source| refused("_id", source))
}

/// The BSON of an option of a command, which is a document.
pub(crate) fn option<T: Serialize>(name: &str, value: &T) -> Result<Bson> {
    let raw = bson::serialize_to_raw_document_buf(value);
    let document = raw.and_then(bson::Document::try_from);
    document
        .map(Bson::Document)
        .map_err(|source| refused(name, source))
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
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    /// A value alone is what it is by way of the document that a command is made of, and is read back from there.
    fn as_inserted<T: Stored + PartialEq + Debug>(value: T) -> Bson {
        let alone = stored(&value).expect("encodes");
        let sent = StoredValue::of_bson(alone.clone()).expect("encodes");
        assert_eq!(sent.raw, StoredValue::of(&value).expect("encodes").raw);
        assert_eq!(sent.read(T::read).expect("is read"), value);
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
    fn a_map_that_looks_like_extended_json_stays_a_map() {
        for key in [
            "$oid",
            "$date",
            "$regularExpression",
            "$numberDecimal",
            "$uuid",
            "$minKey",
        ] {
            let map: BTreeMap<String, String> = [(key.to_owned(), "1".to_owned())].into();
            assert_eq!(as_inserted(map), Bson::Document(doc! { key: "1" }));
        }
    }
}
