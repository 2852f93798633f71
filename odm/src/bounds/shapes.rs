//! Questions about shapes and values.

use super::number;
use crate::model::shape::{
    Body, Bounds, EnumShape, FieldMeta, Number, Shape, StructShape, Tagging, VariantMeta,
};
use mongodb::bson::{Bson, RawBsonRef, RawDocument};

/// How many wrappers (options, newtypes) may stand around one value: more is a shape that refers to nothing but itself.
pub(super) const MAX_WRAPPERS: u32 = 64;

/// Whether a string has more than `max` code points. The bytes answer first: a code point takes one to four.
pub(super) fn longer(text: &str, max: u64) -> bool {
    text.len() as u64 > max
        && (text.len() as u64 > max.saturating_mul(4) || text.chars().count() as u64 > max)
}

/// Whether a string has fewer than `min` code points.
pub(super) fn shorter(text: &str, min: u64) -> bool {
    (text.len() as u64) < min || min > 0 && !longer(text, min - 1)
}

/// A value to show in a message; `None` for those that may be large.
pub(super) fn small(value: RawBsonRef<'_>) -> Option<Bson> {
    match value {
        RawBsonRef::Document(_) | RawBsonRef::Array(_) | RawBsonRef::Binary(_) => None,
        RawBsonRef::String(text) if text.len() > 200 => None,
        _ => Bson::try_from(value).ok(),
    }
}

pub(super) fn get<'a>(doc: &'a RawDocument, name: &str) -> Option<RawBsonRef<'a>> {
    doc.get(name).ok().flatten()
}

pub(super) fn position(fields: &[FieldMeta], name: &str) -> Option<usize> {
    let by_name = |field: &FieldMeta| !field.flatten && field.name == name;
    let by_alias = |field: &FieldMeta| !field.flatten && field.aliases.contains(&name);
    fields
        .iter()
        .position(by_name)
        .or_else(|| fields.iter().position(by_alias))
}

pub(crate) fn named<'a>(shape: &'a EnumShape, name: &str) -> Option<&'a VariantMeta> {
    shape.variants.iter().find(|variant| variant.name == name)
}

pub(super) fn tagged<'a>(shape: &'a EnumShape, doc: &RawDocument, tag: &str) -> Option<&'a VariantMeta> {
    named(shape, get(doc, tag)?.as_str()?)
}

/// The shape inside options and newtypes.
pub(super) fn inner(mut shape: Shape) -> Shape {
    for _ in 0..MAX_WRAPPERS {
        shape = match shape {
            Shape::Optional(inner) => inner(),
            Shape::Bounded(meta) => (meta.shape)(),
            other => return other,
        };
    }
    Shape::Any
}

/// The declared type that a field holds, or its items.
pub(super) fn target(mut shape: Shape) -> Option<(&'static str, usize)> {
    for _ in 0..MAX_WRAPPERS {
        shape = match inner(shape) {
            Shape::Array(items) | Shape::Map(items) | Shape::Fixed { items, .. } => items(),
            Shape::Struct(shape) => return Some((shape.identity(), shape.fields.len())),
            Shape::Enum(shape) => return Some((shape.identity(), shape.variants.len())),
            _ => return None,
        };
    }
    None
}

pub(super) fn holds_enum(field: &FieldMeta) -> bool {
    field.flatten && matches!(inner((field.shape)()), Shape::Enum(_))
}

/// Whether a struct, or one that is flattened into it, has a field of this name.
pub(super) fn claims(shape: &StructShape, name: &str, depth: u32) -> bool {
    shape.fields.iter().any(|field| {
        if !field.flatten {
            field.name == name || field.aliases.contains(&name)
        } else {
            match inner((field.shape)()) {
                Shape::Struct(inner) => depth < MAX_WRAPPERS && claims(inner, name, depth + 1),
                _ => false,
            }
        }
    })
}

/// Whether a value may have been written by a variant with this body.
pub(crate) fn may_be(body: &Body, value: RawBsonRef<'_>) -> bool {
    let has = |fields: &[FieldMeta], doc: &RawDocument| {
        fields.iter().all(|field| {
            field.flatten || !field.required || field.copied.is_some() || get(doc, field.name).is_some()
        })
    };
    match (body, value) {
        (Body::Unit, RawBsonRef::Null) => true,
        (Body::Tuple(fields), RawBsonRef::Array(array)) => {
            array.iter_elements().map_while(|element| element.ok()).count() == fields.len()
        }
        (Body::Struct(shape), RawBsonRef::Document(doc)) => has(shape.fields, doc),
        (Body::Newtype(field), _) => {
            let mut shape = (field.shape)();
            if field.bounds.opaque {
                return true;
            }
            if let (Shape::Optional(_), RawBsonRef::Null) = (shape, value) {
                return true;
            }
            shape = inner(shape);
            match (shape, value) {
                (Shape::Any | Shape::Enum(_), _) => true,
                (Shape::Struct(shape), RawBsonRef::Document(doc)) => has(shape.fields, doc),
                _ => types(shape).contains(&type_name(value)),
            }
        }
        _ => false,
    }
}

/// The bounds of a newtype's field, with those of the field that holds it where they say more.
pub(crate) fn tightened(inner: &Bounds, outer: &Bounds) -> Option<Bounds> {
    if outer.max_len.is_none() && outer.min_len.is_none() && outer.min.is_none() && outer.max.is_none() {
        return None;
    }
    let greater = |a: Number, b: Number| if number::at_least(a, b) { a } else { b };
    let lesser = |a: Number, b: Number| if number::at_least(a, b) { b } else { a };
    fn both<T>(a: Option<T>, b: Option<T>, choose: impl Fn(T, T) -> T) -> Option<T> {
        match (a, b) {
            (Some(a), Some(b)) => Some(choose(a, b)),
            (a, b) => a.or(b),
        }
    }
    Some(Bounds {
        max_len: both(inner.max_len, outer.max_len, std::cmp::min),
        min_len: both(inner.min_len, outer.min_len, std::cmp::max),
        min: both(inner.min, outer.min, greater),
        max: both(inner.max, outer.max, lesser),
        ..*inner
    })
}

/// The BSON types of a shape, by the names of MongoDB's `bsonType`.
pub(super) fn types(shape: Shape) -> &'static [&'static str] {
    match shape {
        Shape::Any | Shape::Optional(_) | Shape::Bounded(_) => &[],
        Shape::Null => &["null"],
        Shape::Bool => &["bool"],
        Shape::Int { .. } => &["int"],
        Shape::Long { .. } => &["long", "int"],
        Shape::Double => &["double", "int", "long"],
        Shape::Decimal => &["decimal"],
        Shape::String | Shape::Char => &["string"],
        Shape::ObjectId => &["objectId"],
        Shape::Date => &["date"],
        Shape::Binary | Shape::Uuid => &["binData"],
        Shape::Timestamp => &["timestamp"],
        Shape::Regex => &["regex"],
        Shape::Array(_) | Shape::Fixed { .. } | Shape::Tuple(_) => &["array"],
        Shape::Map(_) | Shape::Struct(_) => &["object"],
        Shape::Enum(shape) => match shape.tagging {
            Tagging::Internal(_) | Tagging::Adjacent(..) => &["object"],
            Tagging::Untagged => &[],
            Tagging::External => {
                let units = shape
                    .variants
                    .iter()
                    .filter(|variant| matches!(variant.body, Body::Unit))
                    .count();
                match units {
                    0 => &["object"],
                    n if n == shape.variants.len() => &["string"],
                    _ => &["string", "object"],
                }
            }
        },
    }
}

pub(super) fn type_name(value: RawBsonRef<'_>) -> &'static str {
    match value {
        RawBsonRef::Double(_) => "double",
        RawBsonRef::String(_) => "string",
        RawBsonRef::Array(_) => "array",
        RawBsonRef::Document(_) => "object",
        RawBsonRef::Boolean(_) => "bool",
        RawBsonRef::Null => "null",
        RawBsonRef::RegularExpression(_) => "regex",
        RawBsonRef::Int32(_) => "int",
        RawBsonRef::Int64(_) => "long",
        RawBsonRef::Timestamp(_) => "timestamp",
        RawBsonRef::Binary(_) => "binData",
        RawBsonRef::ObjectId(_) => "objectId",
        RawBsonRef::DateTime(_) => "date",
        RawBsonRef::Decimal128(_) => "decimal",
        _ => "",
    }
}
