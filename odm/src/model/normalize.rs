//! `#[field(normalize(trim, lowercase))]`: the strings of a value as they are stored and compared.

use crate::model::meta::value_rules::Normalize;
use crate::model::meta::{Copied, ReferenceMeta};
use crate::model::shape::{
    self, Body, Bounds, EnumShape, FieldMeta, MOST_WRAPPERS, Shape, StructShape, Tagging,
};
use mongodb::bson::{Bson, Document};
#[cfg(all(feature = "__oracle", debug_assertions))]
use mongodb::bson::{RawDocument, RawDocumentBuf, error::Result as BsonResult};

/// How deep a type is looked into for such a field.
const DEEPEST: u32 = 16;

/// Whether the strings of a field are changed: of `bounds` alone.
pub(crate) const fn is_declared(bounds: &Bounds) -> bool {
    match bounds.rules {
        Some(rules) => rules.normalize.trim || rules.normalize.lowercase,
        None => false,
    }
}

/// The document with its strings normalized; `None` where no field declares it.
#[cfg(all(feature = "__oracle", debug_assertions))]
pub(crate) fn document(shape: Shape, document: &RawDocument) -> BsonResult<Option<RawDocumentBuf>> {
    if !is_within(shape, &Bounds::NONE, 0) {
        return Ok(None);
    }
    let mut document = Document::try_from(document)?;
    in_place(shape, &mut document, 0);
    RawDocumentBuf::try_from(&document).map(Some)
}

/// Whether strings of a field may be changed: its own, those of the key that it refers by, or those of the field that it copies.
pub(crate) fn is_possible(field: &FieldMeta) -> bool {
    field.cut || field.copied.is_some()
}

/// Whether a string in a field's value is changed.
pub(crate) fn is_changed(field: &'static FieldMeta) -> bool {
    is_within(shape::of_field(field), bounds_of(field), 0)
}

/// A value of this field, or where `of_item` an item of its array.
pub(crate) fn value(field: &'static FieldMeta, of_item: bool, value: &mut Bson) {
    let (shape, bounds) = (shape::of_field(field), bounds_of(field));
    if !is_within(shape, bounds, 0) {
        return;
    }
    match (of_item, item_of(shape, bounds)) {
        (true, Some((items, bounds))) => walk(items, bounds, value, 0),
        _ => walk(shape, bounds, value, 0),
    }
}

/// The bounds by which the strings of a field are changed: a reference holds what the key of its target is, and a copy what its source
/// is.
pub(crate) fn bounds_of(mut field: &'static FieldMeta) -> &'static Bounds {
    // A copy may be taken of another one.
    for _ in 0..DEEPEST {
        let source = field.copied.and_then(source_of);
        match source.or_else(|| field.reference.and_then(key_of)) {
            Some(source) => field = source,
            None => break,
        }
    }
    &field.bounds
}

/// The field whose values are stored in one that is derived from other documents.
fn source_of(copied: &'static Copied) -> Option<&'static FieldMeta> {
    match copied {
        Copied::Field(copy) => (copy.field)(),
        Copied::Computed(computed) => (computed.child)().field((computed.of?)()),
        Copied::Subset(subset) => match (subset.fields)() {
            [value] if subset.single => (subset.child)().field(value.source),
            _ => None,
        },
    }
}

/// The field by whose values a reference names its target; of a reference to several types it is the id.
fn key_of(reference: &ReferenceMeta) -> Option<&'static FieldMeta> {
    let [target] = reference.targets else { return None };
    (target.document)().field((reference.by)())
}

/// A string under these bounds, as it is stored.
#[cfg(feature = "json")]
pub(crate) fn text(bounds: &Bounds, value: &mut Bson) {
    if let (Bson::String(text), Some(rules)) = (value, bounds.rules) {
        normalize(rules.normalize, text);
    }
}

/// The value behind an operator of a condition: of some operators a list of values.
pub(crate) fn operand(field: &'static FieldMeta, of_item: bool, operator: &str, operand: &mut Bson) {
    match (operator, operand) {
        ("$in" | "$nin" | "$all", Bson::Array(values)) => {
            for one in values {
                value(field, of_item, one);
            }
        }
        (_, operand) => value(field, of_item, operand),
    }
}

fn item_of(mut shape: Shape, bounds: &'static Bounds) -> Option<(Shape, &'static Bounds)> {
    let mut bounds = bounds;
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Optional(inner) => shape = inner(),
            Shape::Bounded(inner) => (shape, bounds) = (shape::of_field(inner), bounds_of(inner)),
            Shape::Array(items) | Shape::Map(items) | Shape::Fixed { items, .. } => {
                return Some((items(), bounds));
            }
            _ => return None,
        }
    }
    None
}

/// Whether a string in such a value is normalized.
fn is_within(shape: Shape, bounds: &Bounds, depth: u32) -> bool {
    if is_declared(bounds) {
        return true;
    }
    if depth > DEEPEST {
        return false;
    }
    let of_field = |field: &'static FieldMeta| is_within(shape::of_field(field), bounds_of(field), depth + 1);
    match shape {
        Shape::Optional(inner) => is_within(inner(), &Bounds::NONE, depth + 1),
        Shape::Array(items) | Shape::Map(items) | Shape::Fixed { items, .. } => {
            is_within(items(), &Bounds::NONE, depth + 1)
        }
        Shape::Tuple(items) => items
            .iter()
            .any(|item| is_within(item(), &Bounds::NONE, depth + 1)),
        Shape::Bounded(inner) => of_field(inner),
        Shape::Struct(of) => of.fields.iter().any(of_field),
        Shape::Enum(of) => of.variants.iter().any(|variant| match variant.body {
            Body::Unit => false,
            Body::Newtype(field) => of_field(field),
            Body::Tuple(fields) => fields.iter().any(of_field),
            Body::Struct(of) => of.fields.iter().any(of_field),
        }),
        _ => false,
    }
}

fn walk(shape: Shape, bounds: &Bounds, value: &mut Bson, depth: u32) {
    if bounds.opaque || depth > 4 * DEEPEST {
        return;
    }
    let deeper = depth + 1;
    match (shape, value) {
        (Shape::Optional(inner), value) => walk(inner(), bounds, value, deeper),
        (Shape::Bounded(inner), value) => {
            if let (Bson::String(text), Some(rules)) = (&mut *value, bounds.rules) {
                normalize(rules.normalize, text);
            }
            walk(shape::of_field(inner), bounds_of(inner), value, deeper);
        }
        (Shape::String | Shape::Char, Bson::String(text)) => {
            if let Some(rules) = bounds.rules {
                normalize(rules.normalize, text);
            }
        }
        (Shape::Array(items) | Shape::Fixed { items, .. }, Bson::Array(values)) => {
            for value in values {
                walk(items(), bounds, value, deeper);
            }
        }
        (Shape::Tuple(items), Bson::Array(values)) => {
            for (item, value) in items.iter().zip(values) {
                walk(item(), bounds, value, deeper);
            }
        }
        (Shape::Map(values), Bson::Document(entries)) => {
            for (_, value) in entries.iter_mut() {
                walk(values(), bounds, value, deeper);
            }
        }
        (Shape::Struct(of), Bson::Document(document)) => fields(of, document, deeper),
        (Shape::Enum(of), value) => variant(of, value, deeper),
        _ => {}
    }
}

fn fields(of: &StructShape, document: &mut Document, depth: u32) {
    for field in of.fields {
        if field.flatten {
            in_place(shape::of_field(field), document, depth + 1);
        } else if let Some(value) = document.get_mut(field.name) {
            walk(shape::of_field(field), bounds_of(field), value, depth + 1);
        }
    }
}

/// Of a value whose fields stand among others.
fn in_place(shape: Shape, document: &mut Document, depth: u32) {
    if depth > 4 * DEEPEST {
        return;
    }
    match shape {
        Shape::Optional(inner) => in_place(inner(), document, depth + 1),
        Shape::Bounded(inner) => in_place(shape::of_field(inner), document, depth + 1),
        Shape::Struct(of) => fields(of, document, depth + 1),
        Shape::Enum(of) => beside(of, document, depth + 1),
        _ => {}
    }
}

fn variant(of: &EnumShape, value: &mut Bson, depth: u32) {
    match (of.tagging, value) {
        (_, Bson::Document(document)) => beside(of, document, depth),
        // Without a mark, of each variant that it may be.
        (Tagging::Untagged, value) => {
            for variant in of.variants {
                body(&variant.body, value, depth + 1);
            }
        }
        _ => {}
    }
}

fn beside(of: &EnumShape, document: &mut Document, depth: u32) {
    let named = |document: &Document, tag: &str| {
        let name = document.get_str(tag).ok()?.to_owned();
        of.variants.iter().find(|variant| variant.name == name)
    };
    match of.tagging {
        Tagging::External => {
            for variant in of.variants {
                if let Some(value) = document.get_mut(variant.name) {
                    body(&variant.body, value, depth + 1);
                }
            }
        }
        Tagging::Internal(tag) => match named(document, tag).map(|variant| &variant.body) {
            Some(Body::Struct(of)) => fields(of, document, depth + 1),
            Some(Body::Newtype(field)) => in_place(shape::of_field(field), document, depth + 1),
            _ => {}
        },
        Tagging::Adjacent(tag, content) => {
            if let (Some(variant), Some(value)) = (named(document, tag), document.get_mut(content)) {
                body(&variant.body, value, depth + 1);
            }
        }
        Tagging::Untagged => {
            for variant in of.variants {
                match &variant.body {
                    Body::Struct(of) => fields(of, document, depth + 1),
                    Body::Newtype(field) => in_place(shape::of_field(field), document, depth + 1),
                    _ => {}
                }
            }
        }
    }
}

fn body(body: &Body, value: &mut Bson, depth: u32) {
    match (body, value) {
        (Body::Newtype(field), value) => walk(shape::of_field(field), bounds_of(field), value, depth),
        (Body::Tuple(fields), Bson::Array(values)) => {
            for (field, value) in fields.iter().zip(values) {
                walk(shape::of_field(field), bounds_of(field), value, depth);
            }
        }
        (Body::Struct(of), Bson::Document(document)) => fields(of, document, depth),
        _ => {}
    }
}

fn normalize(how: Normalize, text: &mut String) {
    if how.trim && text.trim().len() != text.len() {
        *text = text.trim().to_owned();
    }
    if how.lowercase {
        *text = text.to_lowercase();
    }
}
