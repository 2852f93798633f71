//! Stored values as JSON, by their shapes: written as they are read, without a document in between.

use super::names::{NameSlot, in_enum, in_struct, json_name};
use super::opaque::OpaqueValue;
use super::text::{self, DEEPEST, SAFE};
use crate::bounds::{may_be, named};
use crate::model::own_fields::is_own;
use crate::model::shape::{Body, EnumShape, FieldMeta, Shape, ShapeFn, Tagging};
use mongodb::bson::{RawArray, RawBsonRef, RawDocument, Uuid};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// A value, with what its field says of it.
#[derive(Clone, Copy)]
pub(super) struct OutNode<'a> {
    pub(super) shape: Shape,
    /// Its integers are texts.
    pub(super) text: bool,
    pub(super) value: RawBsonRef<'a>,
    pub(super) depth: u32,
}

impl<'a> OutNode<'a> {
    fn with(&self, shape: Shape, value: RawBsonRef<'a>) -> OutNode<'a> {
        OutNode {
            shape,
            text: self.text,
            value,
            depth: self.depth + 1,
        }
    }

    /// The value of a field; of an opaque one as it is.
    fn of(field: &FieldMeta, value: RawBsonRef<'a>, depth: u32) -> OutNode<'a> {
        OutNode {
            shape: if field.bounds.opaque {
                Shape::Any
            } else {
                (field.shape)()
            },
            text: field.json_text,
            value,
            depth,
        }
    }
}

impl Serialize for OutNode<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.depth > DEEPEST {
            return Err(S::Error::custom("a value is nested too deep for JSON"));
        }
        match (self.shape, self.value) {
            (Shape::Any, value) => OpaqueValue(value).serialize(serializer),
            (_, RawBsonRef::Null) => serializer.serialize_unit(),
            (Shape::Optional(some), value) => self.with(some(), value).serialize(serializer),
            (Shape::Bounded(field), value) => {
                let mut node = OutNode::of(field, value, self.depth + 1);
                node.text |= self.text;
                node.serialize(serializer)
            }
            (Shape::Bool, RawBsonRef::Boolean(value)) => serializer.serialize_bool(value),
            // As a number of the field's type: a text would not be taken.
            (Shape::Double, RawBsonRef::Int64(value)) if value.unsigned_abs() > SAFE.unsigned_abs() => {
                serializer.serialize_f64(value as f64)
            }
            (Shape::Int { .. } | Shape::Long { .. } | Shape::Double, RawBsonRef::Int32(value)) => {
                integer(value.into(), self.text, serializer)
            }
            (Shape::Int { .. } | Shape::Long { .. } | Shape::Double, RawBsonRef::Int64(value)) => {
                integer(value, self.text, serializer)
            }
            (Shape::Double, RawBsonRef::Double(value)) if value.is_finite() => {
                serializer.serialize_f64(value)
            }
            (Shape::Double, RawBsonRef::Double(value)) => serializer.serialize_str(text::special(value)),
            (Shape::Decimal, RawBsonRef::Decimal128(value)) => serializer.collect_str(&value),
            (Shape::String | Shape::Char, RawBsonRef::String(value)) => serializer.serialize_str(value),
            (Shape::ObjectId, RawBsonRef::ObjectId(value)) => serializer.serialize_str(&value.to_hex()),
            (Shape::Date, RawBsonRef::DateTime(value)) => serializer.serialize_str(&text::date(value)),
            (Shape::Uuid, RawBsonRef::Binary(value)) => match <[u8; 16]>::try_from(value.bytes) {
                Ok(bytes) => serializer.collect_str(&Uuid::from_bytes(bytes)),
                Err(_) => serializer.serialize_str(&text::base64(value.bytes)),
            },
            (Shape::Binary, RawBsonRef::Binary(value)) => {
                serializer.serialize_str(&text::base64(value.bytes))
            }
            (Shape::Timestamp, RawBsonRef::Timestamp(value)) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("t", &value.time)?;
                map.serialize_entry("i", &value.increment)?;
                map.end()
            }
            (Shape::Regex, RawBsonRef::RegularExpression(value)) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("pattern", value.pattern.as_str())?;
                map.serialize_entry("options", value.options.as_str())?;
                map.end()
            }
            (Shape::Array(items) | Shape::Fixed { items, .. }, RawBsonRef::Array(array)) => {
                self.items(array, |_| Some(items()), serializer)
            }
            (Shape::Tuple(items), RawBsonRef::Array(array)) => {
                self.items(array, |i| Some(items.get(i)?()), serializer)
            }
            (Shape::Map(values), RawBsonRef::Document(entries)) => self.entries(values, entries, serializer),
            (Shape::Struct(of), RawBsonRef::Document(document)) => {
                self.fields(document, |name| in_struct(of, name, &document), serializer)
            }
            (Shape::Enum(of), value) => self.variant(of, value, serializer),
            // Not as it is declared: what it is.
            (_, value) => OpaqueValue(value).serialize(serializer),
        }
    }
}

fn integer<S: Serializer>(value: i64, text: bool, serializer: S) -> Result<S::Ok, S::Error> {
    if text || value.unsigned_abs() > SAFE.unsigned_abs() {
        serializer.collect_str(&value)
    } else {
        serializer.serialize_i64(value)
    }
}

impl OutNode<'_> {
    fn items<S: Serializer>(
        &self,
        array: &RawArray,
        shape: impl Fn(usize) -> Option<Shape>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        for (i, item) in array.into_iter().enumerate() {
            let item = item.map_err(S::Error::custom)?;
            let shape = shape(i).unwrap_or(Shape::Any);
            seq.serialize_element(&self.with(shape, item))?;
        }
        seq.end()
    }

    fn entries<S: Serializer>(
        &self,
        values: ShapeFn,
        entries: &RawDocument,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for entry in entries {
            let (name, value) = entry.map_err(S::Error::custom)?;
            map.serialize_entry(name.as_str(), &self.with(values(), value))?;
        }
        map.end()
    }

    /// The declared fields of an object that go out.
    fn fields<S: Serializer>(
        &self,
        document: &RawDocument,
        slot: impl Fn(&str) -> Option<NameSlot>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let depth = self.depth + 1;
        for field in document {
            let (name, value) = field.map_err(S::Error::custom)?;
            let name = name.as_str();
            match slot(name) {
                Some(NameSlot::Field(of, field)) if field.goes_out() => {
                    map.serialize_entry(json_name(of, field), &OutNode::of(field, value, depth))?;
                }
                Some(NameSlot::Extra(field)) if field.goes_out() && !is_own(name) => {
                    map.serialize_entry(name, &OpaqueValue(value))?;
                }
                Some(NameSlot::Content(body, variant)) => {
                    let name = variant.map_or(name, |variant| variant.json_name());
                    map.serialize_entry(name, &Content { body, value, depth })?
                }
                Some(NameSlot::Tag(of)) => match value.as_str().and_then(|value| named(of, value)) {
                    Some(variant) => map.serialize_entry(name, variant.json_name())?,
                    None => map.serialize_entry(name, &OpaqueValue(value))?,
                },
                Some(NameSlot::Entry(values, bounds, text)) => {
                    let shape = if bounds.opaque { Shape::Any } else { values() };
                    let node = OutNode {
                        shape,
                        text,
                        value,
                        depth,
                    };
                    map.serialize_entry(name, &node)?;
                }
                _ => {}
            }
        }
        map.end()
    }

    fn variant<S: Serializer>(
        &self,
        of: &'static EnumShape,
        value: RawBsonRef<'_>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let depth = self.depth + 1;
        match (of.tagging, value) {
            (Tagging::Untagged, _) => match of.variants.iter().find(|variant| may_be(&variant.body, value)) {
                Some(variant) => Content {
                    body: &variant.body,
                    value,
                    depth,
                }
                .serialize(serializer),
                None => Err(S::Error::custom(format!(
                    "no variant of `{}` looks like this",
                    of.name
                ))),
            },
            (Tagging::External, RawBsonRef::String(name)) => {
                let name = named(of, name).map_or(name, |variant| variant.json_name());
                serializer.serialize_str(name)
            }
            (_, RawBsonRef::Document(document)) => {
                self.fields(document, |name| in_enum(of, name, &document), serializer)
            }
            _ => OpaqueValue(value).serialize(serializer),
        }
    }
}

/// The content of a variant.
struct Content<'a> {
    body: &'static Body,
    value: RawBsonRef<'a>,
    depth: u32,
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let node = |shape| OutNode {
            shape,
            text: false,
            value: self.value,
            depth: self.depth,
        };
        match (self.body, self.value) {
            (Body::Newtype(field), value) => OutNode::of(field, value, self.depth).serialize(serializer),
            (Body::Struct(of), _) => node(Shape::Struct(of)).serialize(serializer),
            (Body::Tuple(fields), RawBsonRef::Array(array)) => {
                let mut seq = serializer.serialize_seq(Some(fields.len()))?;
                for (i, item) in array.into_iter().enumerate() {
                    let item = item.map_err(S::Error::custom)?;
                    match fields.get(i) {
                        Some(field) => seq.serialize_element(&OutNode::of(field, item, self.depth))?,
                        None => seq.serialize_element(&OpaqueValue(item))?,
                    }
                }
                seq.end()
            }
            (Body::Unit | Body::Tuple(_), value) => OpaqueValue(value).serialize(serializer),
        }
    }
}
