//! A look at a document that can only say yes.
//!
//! Nearly all documents fit, and their fields are written in declared order. Then the bytes can be compared with the shape
//! as they come: no name is searched for, and no value is read that its length answers for. Whatever is not so simple (a
//! violation, another order, a flattened part, a limited depth, bytes that are no BSON) is left to [`Walk`], which also says
//! what is wrong. `agreement_tests` compares the two on generated models.
//!
//! [`Walk`]: super::walk::Walk

use super::at::key_rule;
use super::number;
use super::plan::{self, Field, Spec, Test};
use super::shapes::{longer, shorter};
use super::value_rules;
use super::walk::MAX_LEVELS;
use crate::model::elements::{ElementValue, Elements};
use crate::model::shape::{Bounds, EnumShape, Number, StructShape};
use mongodb::bson::spec::{BinarySubtype, ElementType};
use mongodb::bson::{RawBsonRef, RawDocument};

/// `Some` where the walk would find nothing; `None` says nothing.
type Fits = Option<()>;

/// Whether a whole document surely fits.
pub(super) fn document(shape: &'static StructShape, doc: &RawDocument) -> bool {
    let look = || fields(plan::of(shape)?, Elements::of(doc.as_bytes())?, 0);
    look().is_some()
}

/// The fields of a struct in their order.
fn fields(fields: &[Field], mut elements: Elements<'_>, level: u32) -> Fits {
    let mut fields = fields.iter();
    while !elements.is_empty() {
        let (field, value) = loop {
            let field = fields.next()?;
            match elements.named(|bytes| field.name.strip(bytes)) {
                Some(value) => break (field, value?),
                None if field.required => return None,
                None => {}
            }
        };
        if field.is_id && matches!(value.kind, ElementType::EmbeddedDocument | ElementType::Array) {
            return None;
        }
        one(&field.spec, value, level)?;
    }
    fields.all(|field| !field.required).then_some(())
}

#[inline(always)]
fn one(spec: &Spec, value: ElementValue<'_>, level: u32) -> Fits {
    if value.kind == ElementType::Null && spec.nullable {
        return Some(());
    }
    typed(&spec.test, value, level)
}

#[inline(always)]
fn typed(test: &Test, ElementValue { kind, bytes }: ElementValue<'_>, level: u32) -> Fits {
    match (test, kind) {
        (Test::Null, ElementType::Null)
        | (Test::Bool, ElementType::Boolean)
        | (Test::ObjectId, ElementType::ObjectId)
        | (Test::Date, ElementType::DateTime)
        | (Test::Timestamp, ElementType::Timestamp)
        | (Test::Decimal, ElementType::Decimal128) => Some(()),
        (Test::Text { min: None, max: None }, ElementType::String) => Some(()),
        // There are no more code points than bytes, so a short one need not be decoded.
        (
            Test::Text {
                min: None,
                max: Some(max),
            },
            ElementType::String,
        ) if bytes.len() as u64 <= max.saturating_add(5) => Some(()),
        (Test::Text { min, max }, ElementType::String) => text(bytes, *min, *max),
        (Test::Int { min, max } | Test::Long { min, max }, ElementType::Int32) => {
            let n = i32::from_le_bytes(*bytes.first_chunk()?).into();
            (*min <= n && n <= *max).then_some(())
        }
        (Test::Long { min, max }, ElementType::Int64) => {
            let n = i64::from_le_bytes(*bytes.first_chunk()?);
            (*min <= n && n <= *max).then_some(())
        }
        (Test::Double { min: None, max: None }, ElementType::Double) => Some(()),
        _ => other(test, kind, bytes, level),
    }
}

/// Values that are larger than a few bytes, or rarer.
fn other(test: &Test, kind: ElementType, bytes: &[u8], level: u32) -> Fits {
    match (test, kind) {
        (Test::Opaque, _) => opaque(kind, bytes, level),
        (Test::Double { min, max }, ElementType::Double | ElementType::Int32 | ElementType::Int64) => {
            let n = match kind {
                ElementType::Int32 => Number::Int(i32::from_le_bytes(*bytes.first_chunk()?).into()),
                ElementType::Int64 => Number::Int(i64::from_le_bytes(*bytes.first_chunk()?)),
                _ => Number::Float(f64::from_le_bytes(*bytes.first_chunk()?)),
            };
            let fits = min.is_none_or(|min| number::at_least(n, min))
                && max.is_none_or(|max| number::at_least(max, n));
            fits.then_some(())
        }
        (Test::Binary { min, max }, ElementType::Binary) => binary(bytes, *min, *max),
        (Test::Array { items, max }, ElementType::Array) => {
            let count = each(bytes, level, |_, value, level| one(items, value, level))?;
            max.is_none_or(|max| count as u64 <= max).then_some(())
        }
        (Test::Ruled(test, rules), _) => {
            if !value_rules::fit(rules, whole(kind, bytes)?) {
                return None;
            }
            typed(test, ElementValue { kind, bytes }, level)
        }
        (Test::Fixed { items, len }, ElementType::Array) => {
            let count = each(bytes, level, |_, value, level| one(items, value, level))?;
            (count == *len).then_some(())
        }
        (Test::Tuple(items), ElementType::Array) => {
            let count = each(bytes, level, |i, value, level| one(items.get(i)?, value, level))?;
            (count == items.len()).then_some(())
        }
        (Test::Map { values, bounds }, ElementType::EmbeddedDocument) => {
            entries(values, bounds, bytes, level)
        }
        (Test::Struct(inner), ElementType::EmbeddedDocument) => {
            let (elements, level) = below(bytes, level)?;
            fields(inner, elements, level)
        }
        (Test::External(..), ElementType::String) => Some(()),
        (Test::External(shape, bodies), ElementType::EmbeddedDocument) => {
            let (mut elements, level) = below(bytes, level)?;
            let (name, value) = elements.next()?;
            one(bodies.get(variant(shape, name)?)?, value, level)
        }
        (Test::Internal { tag, shape, bodies }, ElementType::EmbeddedDocument) => {
            let (mut elements, level) = below(bytes, level)?;
            let (first, name) = elements.next()?;
            if first != tag.as_bytes() || name.kind != ElementType::String {
                return None;
            }
            let name = name.bytes.get(4..name.bytes.len().checked_sub(1)?)?;
            fields(bodies.get(variant(shape, name)?)?.as_ref()?, elements, level)
        }
        _ => None,
    }
}

/// The position of the variant with this name.
fn variant(shape: &EnumShape, name: &[u8]) -> Option<usize> {
    let mut variants = shape.variants.iter();
    variants.position(|variant| variant.name.as_bytes() == name)
}

/// A value that may have rules of its own.
fn whole(kind: ElementType, bytes: &[u8]) -> Option<RawBsonRef<'_>> {
    Some(match kind {
        ElementType::String => {
            let text = bytes.get(4..bytes.len().checked_sub(1)?)?;
            RawBsonRef::String(std::str::from_utf8(text).ok()?)
        }
        ElementType::Int32 => RawBsonRef::Int32(i32::from_le_bytes(*bytes.first_chunk()?)),
        ElementType::Int64 => RawBsonRef::Int64(i64::from_le_bytes(*bytes.first_chunk()?)),
        ElementType::Double => RawBsonRef::Double(f64::from_le_bytes(*bytes.first_chunk()?)),
        ElementType::EmbeddedDocument => RawBsonRef::Document(RawDocument::from_bytes(bytes).ok()?),
        // Seldom one: the walk looks at it.
        _ => return None,
    })
}

fn text(bytes: &[u8], min: Option<u64>, max: Option<u64>) -> Fits {
    let bytes = bytes.get(4..bytes.len().checked_sub(1)?)?;
    let text = std::str::from_utf8(bytes).ok()?;
    let fits = max.is_none_or(|max| !longer(text, max)) && min.is_none_or(|min| !shorter(text, min));
    fits.then_some(())
}

fn binary(bytes: &[u8], min: Option<u64>, max: Option<u64>) -> Fits {
    let (len, subtype) = (bytes.len().checked_sub(5)? as u64, bytes.get(4)?);
    // The old subtype has its length twice.
    let fits = BinarySubtype::from(*subtype) != BinarySubtype::BinaryOld
        && max.is_none_or(|max| len <= max)
        && min.is_none_or(|min| len >= min);
    fits.then_some(())
}

/// The elements of a document or array, and their depth.
fn below(bytes: &[u8], level: u32) -> Option<(Elements<'_>, u32)> {
    if level >= MAX_LEVELS {
        return None;
    }
    Some((Elements::of(bytes)?, level + 1))
}

/// Looks at each item of an array, and says how many there are.
#[inline(always)]
fn each(
    array: &[u8],
    level: u32,
    mut look: impl FnMut(usize, ElementValue<'_>, u32) -> Fits,
) -> Option<usize> {
    let (mut elements, level) = below(array, level)?;
    let mut count = 0;
    while !elements.is_empty() {
        let (position, value) = elements.next()?;
        if !position.is_ascii() {
            return None;
        }
        look(count, value, level)?;
        count += 1;
    }
    Some(count)
}

fn entries(values: &Spec, bounds: &Bounds, map: &[u8], level: u32) -> Fits {
    let (mut elements, level) = below(map, level)?;
    let mut count = 0_u64;
    while !elements.is_empty() {
        let (key, value) = elements.next()?;
        if key_rule(bounds, std::str::from_utf8(key).ok()?).is_some() {
            return None;
        }
        one(values, value, level)?;
        count += 1;
    }
    bounds.max_items.is_none_or(|max| count <= max).then_some(())
}

/// A value of any shape: only its nesting is counted.
fn opaque(kind: ElementType, bytes: &[u8], level: u32) -> Fits {
    if !matches!(kind, ElementType::EmbeddedDocument | ElementType::Array) {
        return Some(());
    }
    let (mut elements, level) = below(bytes, level)?;
    while !elements.is_empty() {
        let (name, value) = elements.next()?;
        std::str::from_utf8(name).ok()?;
        opaque(value.kind, value.bytes, level)?;
    }
    Some(())
}
