//! The types of the crate `bson`: each from its own type alone, and those that hold any value.

use super::bound::Bound;
use super::fault::{Done, Fault, Read};
use super::input::{Input, kind};
use super::map::read_entries;
use super::name::Name;
use super::out::Out;
use super::reader::Reader;
use super::row::{Fields, Row};
use super::value::Stored;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{
    Binary, Bson, DateTime, Decimal128, Document, RawBinaryRef, RawBson, RawBsonRef, RawDocumentBuf, Regex,
    Timestamp, Uuid, doc,
};

/// Types with a fixed number of bytes.
macro_rules! fixed {
    ($($ty:ty: $kind:ident, $name:literal, $to:expr, $of:expr, $raw:ident;)*) => {$(
        impl Stored for $ty {
            #[inline]
            fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
                out.fixed(kind::$kind, name, $to(*self));
                out.check(bound, |limit| limit.allows(RawBsonRef::$raw(*self)));
                Ok(())
            }

            #[inline]
            fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
                if kind == kind::$kind {
                    Ok($of(input.take()?))
                } else {
                    Err(Fault::wrong_type(kind, $name))
                }
            }
        }
    )*};
}

fixed! {
    DateTime: DATE, "date", |date: DateTime| date.timestamp_millis().to_le_bytes(),
        |bytes| DateTime::from_millis(i64::from_le_bytes(bytes)), DateTime;
    Timestamp: TIMESTAMP, "timestamp", timestamp_bytes, timestamp, Timestamp;
}

fn timestamp_bytes(timestamp: Timestamp) -> [u8; 8] {
    let [time, increment] = [timestamp.time, timestamp.increment];
    ((u64::from(time) << 32) | u64::from(increment)).to_le_bytes()
}

fn timestamp(bytes: [u8; 8]) -> Timestamp {
    let both = u64::from_le_bytes(bytes);
    Timestamp {
        time: (both >> 32) as u32,
        increment: both as u32,
    }
}

impl Stored for ObjectId {
    #[inline]
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        out.fixed(kind::OBJECT_ID, name, self.bytes());
        out.check(bound, |limit| limit.allows(RawBsonRef::ObjectId(*self)));
        Ok(())
    }

    #[inline]
    fn read(kind: u8, input: &mut Input<'_>) -> Read<ObjectId> {
        if kind == kind::OBJECT_ID {
            input.take().map(ObjectId::from_bytes)
        } else {
            hexadecimal(kind, input)
        }
    }
}

/// An id that was stored as a text.
#[cold]
fn hexadecimal(kind: u8, input: &mut Input<'_>) -> Read<ObjectId> {
    if kind != kind::STRING || input.is_exact() {
        return Err(Fault::wrong_type(kind, "objectId"));
    }
    ObjectId::parse_str(input.text()?).map_err(|_| Fault::wrong_type(kind, "objectId"))
}

impl Stored for Decimal128 {
    #[inline]
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        out.fixed(kind::DECIMAL, name, self.bytes());
        out.check(bound, |limit| limit.allows_decimal(RawBsonRef::Decimal128(*self)));
        Ok(())
    }

    #[inline]
    fn read(kind: u8, input: &mut Input<'_>) -> Read<Decimal128> {
        if kind != kind::DECIMAL {
            return Err(Fault::wrong_type(kind, "decimal"));
        }
        input.take().map(Decimal128::from_bytes)
    }
}

impl Stored for Binary {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        write_binary(self.as_raw_binary(), name, bound, out)
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<Binary> {
        let (subtype, bytes) = binary(kind, input)?;
        Ok(Binary {
            subtype: BinarySubtype::from(subtype),
            bytes: bytes.to_owned(),
        })
    }
}

fn write_binary(binary: RawBinaryRef<'_>, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
    let RawBinaryRef { subtype, bytes } = binary;
    out.binary(name, u8::from(subtype), bytes);
    out.check(bound, |limit| {
        limit.allows_binary(bytes.len(), RawBsonRef::Binary(binary))
    });
    Ok(())
}

fn binary<'a>(kind: u8, input: &mut Input<'a>) -> Read<(u8, &'a [u8])> {
    if kind != kind::BINARY {
        return Err(Fault::wrong_type(kind, "binData"));
    }
    input.binary()
}

impl Stored for Uuid {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        let binary = RawBinaryRef {
            subtype: BinarySubtype::Uuid,
            bytes: &self.bytes(),
        };
        write_binary(binary, name, bound, out)
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<Uuid> {
        const UUID: u8 = 4;
        match binary(kind, input)? {
            (UUID, bytes) => match bytes.try_into() {
                Ok(bytes) => Ok(Uuid::from_bytes(bytes)),
                Err(_) => Err(Fault::other("a UUID has 16 bytes")),
            },
            _ => Err(Fault::other("expected binary data of subtype 4")),
        }
    }
}

impl Stored for Regex {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        any(Bson::RegularExpression(self.clone()), name, out)?;
        out.check_parts(bound);
        Ok(())
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<Regex> {
        if kind != kind::REGEX {
            return Err(Fault::wrong_type(kind, "regex"));
        }
        match seldom(kind, input)? {
            Bson::RegularExpression(regex) => Ok(regex),
            _ => Err(Fault::malformed()),
        }
    }
}

impl Stored for Bson {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        match self {
            Bson::Double(n) => n.write(name, None, out),
            Bson::String(text) => text.write(name, None, out),
            Bson::Array(items) => items.write(name, None, out),
            Bson::Document(document) => document.write(name, bound, out),
            Bson::Boolean(value) => value.write(name, None, out),
            Bson::Null => {
                out.null(name);
                Ok(())
            }
            Bson::Int32(n) => n.write(name, None, out),
            Bson::Int64(n) => n.write(name, None, out),
            Bson::Timestamp(timestamp) => timestamp.write(name, None, out),
            Bson::Binary(binary) => binary.write(name, None, out),
            Bson::ObjectId(id) => id.write(name, None, out),
            Bson::DateTime(date) => date.write(name, None, out),
            Bson::Decimal128(n) => n.write(name, None, out),
            other => any(other.clone(), name, out),
        }
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<Bson> {
        Ok(match kind {
            kind::DOUBLE => Bson::Double(f64::read(kind, input)?),
            kind::STRING => Bson::String(String::read(kind, input)?),
            kind::DOCUMENT => Bson::Document(read_entries(kind, input)?),
            kind::ARRAY => Bson::Array(Vec::read(kind, input)?),
            kind::BINARY => Bson::Binary(Binary::read(kind, input)?),
            kind::OBJECT_ID => Bson::ObjectId(ObjectId::read(kind, input)?),
            kind::BOOL => Bson::Boolean(bool::read(kind, input)?),
            kind::DATE => Bson::DateTime(DateTime::read(kind, input)?),
            kind::NULL => Bson::Null,
            kind::INT32 => Bson::Int32(i32::read(kind, input)?),
            kind::INT64 => Bson::Int64(i64::read(kind, input)?),
            kind::TIMESTAMP => Bson::Timestamp(Timestamp::read(kind, input)?),
            kind::DECIMAL => Bson::Decimal128(Decimal128::read(kind, input)?),
            _ => seldom(kind, input)?,
        })
    }
}

/// Writes a value of a type that is seldom stored, as the crate `bson` does.
#[cold]
fn any(value: Bson, name: &Name<'_>, out: &mut Out) -> Done {
    let unfit = |error: mongodb::bson::error::Error| Fault::other(error.to_string());
    let alone = RawDocumentBuf::try_from(&doc! { "v": value }).map_err(unfit)?;
    let mut elements = Reader::of(alone.as_bytes())?.next;
    match elements.element()? {
        Some((kind, _)) => {
            out.raw(kind, name, elements.rest());
            Ok(())
        }
        None => Err(Fault::malformed()),
    }
}

/// Reads a value of a type that is seldom stored, as the crate `bson` does.
#[cold]
fn seldom(kind: u8, input: &mut Input<'_>) -> Read<Bson> {
    let alone = alone(kind, input.value(kind)?)?;
    let value = match alone.iter().next() {
        Some(Ok((_, value))) => Bson::try_from(value),
        _ => return Err(Fault::malformed()),
    };
    value.map_err(|_| Fault::malformed())
}

/// A document with one value, under the name `v`.
pub(super) fn alone(kind: u8, value: &[u8]) -> Read<RawDocumentBuf> {
    let mut out = Out::new(Vec::with_capacity(value.len() + 8));
    let begin = out.begin_bytes();
    out.raw(kind, const { &Name::of("v") }, value);
    out.end_bytes(begin);
    RawDocumentBuf::from_bytes(out.into_bytes()).map_err(|_| Fault::malformed())
}

impl Row for Document {
    fn read_row(fields: &mut Reader<'_>) -> Read<Document> {
        read_entries(kind::DOCUMENT, &mut fields.as_value())
    }
}

impl Row for RawDocumentBuf {
    fn read_row(fields: &mut Reader<'_>) -> Read<RawDocumentBuf> {
        whole(fields.whole())
    }
}

impl Fields for RawDocumentBuf {
    fn write_fields(&self, out: &mut Out) -> Done {
        let elements = Reader::of(self.as_bytes())?.next;
        out.buffer().extend_from_slice(elements.rest());
        if !is_shallow(elements, out.level()) {
            out.leave_to_walk();
        }
        Ok(())
    }
}

fn whole(bytes: &[u8]) -> Read<RawDocumentBuf> {
    RawDocumentBuf::from_bytes(bytes.to_owned()).map_err(|_| Fault::malformed())
}

impl Stored for RawDocumentBuf {
    fn write(&self, name: &Name<'_>, _: Bound<'_>, out: &mut Out) -> Done {
        write_raw(kind::DOCUMENT, self.as_bytes(), name, out);
        Ok(())
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<RawDocumentBuf> {
        if kind != kind::DOCUMENT {
            return Err(Fault::wrong_type(kind, "object"));
        }
        whole(input.whole()?)
    }
}

impl Stored for RawBson {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        match self.as_raw_bson_ref() {
            RawBsonRef::Document(document) => write_raw(kind::DOCUMENT, document.as_bytes(), name, out),
            RawBsonRef::Array(items) => write_raw(kind::ARRAY, items.as_bytes(), name, out),
            other => match Bson::try_from(other) {
                Ok(other) => return other.write(name, bound, out),
                Err(error) => return Err(Fault::other(error.to_string())),
            },
        }
        Ok(())
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<RawBson> {
        let alone = alone(kind, input.value(kind)?)?;
        match alone.iter().next() {
            Some(Ok((_, value))) => Ok(value.into()),
            _ => Err(Fault::malformed()),
        }
    }
}

/// Writes the bytes of a document or an array.
fn write_raw(kind: u8, bytes: &[u8], name: &Name<'_>, out: &mut Out) {
    out.raw(kind, name, bytes);
    check_levels(kind, bytes, out);
}

/// Leaves a value to the walk that may stand too deep.
pub(super) fn check_levels(kind: u8, bytes: &[u8], out: &mut Out) {
    if !matches!(kind, kind::DOCUMENT | kind::ARRAY) {
        return;
    }
    let nested = Input::new(bytes).nested();
    if !nested.is_ok_and(|elements| is_shallow(elements, out.level() + 1)) {
        out.leave_to_walk();
    }
}

/// Whether no document or array among these elements stands too deep. `level` is that of the elements.
fn is_shallow(mut elements: Input<'_>, level: u32) -> bool {
    const MAX_LEVELS: u32 = 100;
    if level > MAX_LEVELS {
        return false;
    }
    loop {
        let kind = match elements.element() {
            Ok(Some((kind, _))) => kind,
            end => return end.is_ok(),
        };
        let is_shallow = match kind {
            kind::DOCUMENT | kind::ARRAY => elements
                .nested()
                .is_ok_and(|elements| is_shallow(elements, level + 1)),
            _ => elements.skip(kind).is_ok(),
        };
        if !is_shallow {
            return false;
        }
    }
}
