//! A look at a document that can only say yes.
//!
//! Nearly all documents fit, and serde writes their fields in declared order. Then the bytes can be compared with the shape
//! as they come: no name is searched for, and no value is read that its length answers for. Whatever is not so simple (a
//! violation, another order, a flattened part, a limited depth, bytes that are no BSON) is left to [`Walk`], which also says
//! what is wrong.
//!
//! [`Walk`]: super::walk::Walk

use super::shapes::{longer, named, shorter, tightened};
use super::walk::MAX_LEVELS;
use super::{MAX_WRAPPERS, key_rule, number};
use crate::shape::{Body, Bounds, EnumShape, FieldMeta, Number, Shape, ShapeFn, StructShape, Tagging};
use mongodb::bson::RawDocument;
use mongodb::bson::spec::{BinarySubtype, ElementType};

/// `Some` where the walk would find nothing; `None` says nothing.
type Fits = Option<()>;

/// Whether a whole document surely fits.
pub(super) fn document(shape: &StructShape, doc: &RawDocument) -> bool {
    let look = || fields(shape, Elements::of(doc.as_bytes())?, 0);
    look().is_some()
}

/// The elements of a document or of an array, one after the other.
struct Elements<'a>(&'a [u8]);

#[derive(Clone, Copy)]
struct Value<'a> {
    kind: ElementType,
    bytes: &'a [u8],
}

/// How many values are around one.
#[derive(Clone, Copy, Default)]
struct Depth {
    level: u32,
    wrappers: u32,
}

impl<'a> Elements<'a> {
    fn of(doc: &'a [u8]) -> Option<Self> {
        let (_, rest) = doc.split_first_chunk::<4>()?;
        let (end, elements) = rest.split_last()?;
        (length(doc)? == doc.len() && *end == 0).then_some(Elements(elements))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next value, if this is its name.
    #[inline]
    fn named(&mut self, name: &str) -> Option<Value<'a>> {
        let (kind, rest) = self.0.split_first()?;
        let (end, rest) = rest.strip_prefix(name.as_bytes())?.split_first()?;
        match end {
            0 => self.value(*kind, rest),
            _ => None,
        }
    }

    /// The next value with the bytes of its name.
    #[inline]
    fn next(&mut self) -> Option<(&'a [u8], Value<'a>)> {
        let (kind, rest) = self.0.split_first()?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (name, rest) = rest.split_at_checked(end)?;
        let value = self.value(*kind, rest.get(1..)?)?;
        Some((name, value))
    }

    #[inline]
    fn value(&mut self, kind: u8, rest: &'a [u8]) -> Option<Value<'a>> {
        let kind = ElementType::from(kind)?;
        let len = match kind {
            ElementType::Null => 0,
            ElementType::Boolean => 1,
            ElementType::Int32 => 4,
            ElementType::Int64 | ElementType::Double | ElementType::DateTime | ElementType::Timestamp => 8,
            ElementType::ObjectId => 12,
            ElementType::Decimal128 => 16,
            ElementType::String => length(rest)?.checked_add(4)?,
            ElementType::Binary => length(rest)?.checked_add(5)?,
            ElementType::EmbeddedDocument | ElementType::Array => length(rest)?,
            _ => return None,
        };
        let (bytes, rest) = rest.split_at_checked(len)?;
        // What the driver's own reader asks of them.
        let whole = match kind {
            ElementType::String | ElementType::EmbeddedDocument | ElementType::Array => {
                len >= 5 && bytes.last() == Some(&0)
            }
            _ => true,
        };
        if !whole {
            return None;
        }
        self.0 = rest;
        Some(Value { kind, bytes })
    }
}

/// The length that stands before a string, binary data, a document or an array.
#[inline]
fn length(bytes: &[u8]) -> Option<usize> {
    usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok()
}

/// The fields of a struct in their order.
fn fields(shape: &StructShape, mut elements: Elements<'_>, level: u32) -> Fits {
    let mut fields = shape.fields.iter();
    while !elements.is_empty() {
        let (field, value) = loop {
            let field = fields.next()?;
            if field.flatten {
                return None;
            }
            match elements.named(field.name) {
                Some(value) => break (field, value),
                None if field.required && field.copied.is_none() => return None,
                None => {}
            }
        };
        // MongoDB has rules of its own for an `_id` that is no plain value.
        if level == 0
            && matches!(value.kind, ElementType::EmbeddedDocument | ElementType::Array)
            && field.name == "_id"
        {
            return None;
        }
        let depth = Depth { level, wrappers: 0 };
        bounded(field.shape, &field.bounds, false, value, depth)?;
    }
    fields
        .all(|field| !field.flatten && (!field.required || field.copied.is_some()))
        .then_some(())
}

fn bounded(shape: ShapeFn, bounds: &Bounds, nullable: bool, value: Value<'_>, depth: Depth) -> Fits {
    if bounds.opaque {
        return opaque(value, depth.level);
    }
    if bounds.depth.is_some() {
        return None;
    }
    typed(shape(), bounds, nullable, value, depth)
}

fn typed(shape: Shape, bounds: &Bounds, nullable: bool, value: Value<'_>, depth: Depth) -> Fits {
    let level = depth.level;
    let deeper = || {
        let wrappers = depth.wrappers + 1;
        (wrappers < MAX_WRAPPERS).then_some(Depth { level, wrappers })
    };
    match (shape, value.kind) {
        (Shape::Any, _) => opaque(value, level),
        (Shape::Optional(_), ElementType::Null) => Some(()),
        (Shape::Optional(inner), _) => typed(inner(), bounds, true, value, deeper()?),
        (_, ElementType::Null) if nullable => Some(()),
        (Shape::Bounded(meta), _) => match tightened(&meta.bounds, bounds) {
            Some(both) => bounded(meta.shape, &both, nullable, value, deeper()?),
            None => bounded(meta.shape, &meta.bounds, nullable, value, deeper()?),
        },
        (Shape::Null, ElementType::Null)
        | (Shape::Bool, ElementType::Boolean)
        | (Shape::ObjectId, ElementType::ObjectId)
        | (Shape::Date, ElementType::DateTime)
        | (Shape::Timestamp, ElementType::Timestamp) => Some(()),
        (Shape::Int { min, max }, ElementType::Int32) => {
            numeric(value, bounds, Some((min.into(), max.into())))
        }
        (Shape::Long { min, max }, ElementType::Int32 | ElementType::Int64) => {
            numeric(value, bounds, Some((min, max)))
        }
        (Shape::Double, ElementType::Double | ElementType::Int32 | ElementType::Int64) => {
            numeric(value, bounds, None)
        }
        (Shape::Decimal, ElementType::Decimal128) => {
            (bounds.min.is_none() && bounds.max.is_none()).then_some(())
        }
        (Shape::String, ElementType::String) => text(value, bounds.min_len, bounds.max_len),
        (Shape::Char, ElementType::String) => text(value, Some(1), Some(1)),
        (Shape::Binary, ElementType::Binary) => binary(value, bounds),
        (Shape::Array(items), ElementType::Array) => {
            let count = each(value, level, |_, value, depth| {
                typed(items(), bounds, false, value, depth)
            })?;
            bounds
                .max_items
                .is_none_or(|max| count as u64 <= max)
                .then_some(())
        }
        (Shape::Fixed { items, len }, ElementType::Array) => {
            let count = each(value, level, |_, value, depth| {
                typed(items(), bounds, false, value, depth)
            })?;
            (count == len).then_some(())
        }
        (Shape::Tuple(items), ElementType::Array) => {
            let count = each(value, level, |i, value, depth| {
                typed(items.get(i)?(), bounds, false, value, depth)
            })?;
            (count == items.len()).then_some(())
        }
        (Shape::Map(values), ElementType::EmbeddedDocument) => entries(values, bounds, value, level),
        (Shape::Struct(shape), ElementType::EmbeddedDocument) => {
            let (elements, level) = below(value, level)?;
            fields(shape, elements, level)
        }
        (Shape::Enum(shape), _) => variant(shape, value, level),
        _ => None,
    }
}

fn numeric(value: Value<'_>, bounds: &Bounds, of_type: Option<(i64, i64)>) -> Fits {
    let n = match value.kind {
        ElementType::Int32 => Number::Int(i32::from_le_bytes(*value.bytes.first_chunk()?).into()),
        ElementType::Int64 => Number::Int(i64::from_le_bytes(*value.bytes.first_chunk()?)),
        _ => Number::Float(f64::from_le_bytes(*value.bytes.first_chunk()?)),
    };
    let fits = bounds.min.is_none_or(|min| number::at_least(n, min))
        && bounds.max.is_none_or(|max| number::at_least(max, n))
        && match (of_type, n) {
            (Some((min, max)), Number::Int(n)) => (min..=max).contains(&n),
            _ => of_type.is_none(),
        };
    fits.then_some(())
}

#[inline]
fn text(value: Value<'_>, min: Option<u64>, max: Option<u64>) -> Fits {
    let bytes = value.bytes.get(4..value.bytes.len().checked_sub(1)?)?;
    // There are no more code points than bytes, so a short one need not be decoded.
    if min.is_none() && max.is_none_or(|max| bytes.len() as u64 <= max) {
        return Some(());
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let fits = max.is_none_or(|max| !longer(text, max)) && min.is_none_or(|min| !shorter(text, min));
    fits.then_some(())
}

fn binary(value: Value<'_>, bounds: &Bounds) -> Fits {
    let (len, subtype) = (value.bytes.len().checked_sub(5)? as u64, value.bytes.get(4)?);
    // The old subtype has its length twice.
    let fits = BinarySubtype::from(*subtype) != BinarySubtype::BinaryOld
        && bounds.max_len.is_none_or(|max| len <= max)
        && bounds.min_len.is_none_or(|min| len >= min);
    fits.then_some(())
}

/// What is in a document or array, and how deep it is.
fn below(value: Value<'_>, level: u32) -> Option<(Elements<'_>, u32)> {
    if level >= MAX_LEVELS {
        return None;
    }
    Some((Elements::of(value.bytes)?, level + 1))
}

/// Looks at each item of an array, and says how many there are.
#[inline]
fn each(
    array: Value<'_>,
    level: u32,
    mut look: impl FnMut(usize, Value<'_>, Depth) -> Fits,
) -> Option<usize> {
    let (mut elements, level) = below(array, level)?;
    let depth = Depth { level, wrappers: 0 };
    let mut count = 0;
    while !elements.is_empty() {
        let (position, value) = elements.next()?;
        if !position.is_ascii() {
            return None;
        }
        look(count, value, depth)?;
        count += 1;
    }
    Some(count)
}

fn entries(values: ShapeFn, bounds: &Bounds, map: Value<'_>, level: u32) -> Fits {
    let (mut elements, level) = below(map, level)?;
    let depth = Depth { level, wrappers: 0 };
    let mut count = 0_u64;
    while !elements.is_empty() {
        let (key, value) = elements.next()?;
        if key_rule(bounds, std::str::from_utf8(key).ok()?).is_some() {
            return None;
        }
        typed(values(), bounds, false, value, depth)?;
        count += 1;
    }
    bounds.max_items.is_none_or(|max| count <= max).then_some(())
}

fn variant(shape: &EnumShape, value: Value<'_>, level: u32) -> Fits {
    match (shape.tagging, value.kind) {
        (Tagging::External, ElementType::String) => Some(()),
        (Tagging::External, ElementType::EmbeddedDocument) => {
            let (mut elements, level) = below(value, level)?;
            let (name, value) = elements.next()?;
            let variant = named(shape, std::str::from_utf8(name).ok()?)?;
            body(&variant.body, value, level)
        }
        (Tagging::Internal(tag), ElementType::EmbeddedDocument) => {
            let (mut elements, level) = below(value, level)?;
            let name = elements.named(tag)?;
            if name.kind != ElementType::String {
                return None;
            }
            let name = name.bytes.get(4..name.bytes.len().checked_sub(1)?)?;
            match named(shape, std::str::from_utf8(name).ok()?)?.body {
                Body::Unit => Some(()),
                Body::Struct(inner) => {
                    let is_tag = |field: &FieldMeta| field.name == tag || field.aliases.contains(&tag);
                    if inner.fields.iter().any(is_tag) {
                        return None;
                    }
                    fields(inner, elements, level)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn body(body: &Body, value: Value<'_>, level: u32) -> Fits {
    let depth = Depth { level, wrappers: 0 };
    match (body, value.kind) {
        (Body::Unit, _) => Some(()),
        (Body::Newtype(field), _) => bounded(field.shape, &field.bounds, false, value, depth),
        (Body::Tuple(fields), ElementType::Array) => {
            let count = each(value, level, |i, value, depth| {
                let field = fields.get(i)?;
                bounded(field.shape, &field.bounds, false, value, depth)
            })?;
            (count == fields.len()).then_some(())
        }
        (Body::Struct(shape), ElementType::EmbeddedDocument) => {
            let (elements, level) = below(value, level)?;
            fields(shape, elements, level)
        }
        _ => None,
    }
}

/// A value of any shape: only its nesting is counted.
fn opaque(value: Value<'_>, level: u32) -> Fits {
    if !matches!(value.kind, ElementType::EmbeddedDocument | ElementType::Array) {
        return Some(());
    }
    let (mut elements, level) = below(value, level)?;
    while !elements.is_empty() {
        let (name, value) = elements.next()?;
        std::str::from_utf8(name).ok()?;
        opaque(value, level)?;
    }
    Some(())
}
