//! Goes through the values of a document whose shapes are declared.

use crate::model::level::StructLevel;
use crate::model::shape::{Body, EnumShape, FieldMeta, Shape, Tagging, inner, of_field};
use mongodb::bson::{Bson, Document};

/// Maximum depth of values within each other.
const DEEPEST: u32 = 200;

/// Shows each value to `look`, with its shape within options and newtypes, before those that it holds.
pub(crate) fn values(shape: Shape, value: &mut Bson, look: &mut dyn FnMut(Shape, &mut Bson)) {
    below(shape, value, look, 0);
}

fn below(shape: Shape, value: &mut Bson, look: &mut dyn FnMut(Shape, &mut Bson), depth: u32) {
    if depth > DEEPEST {
        return;
    }
    let shape = inner(shape);
    look(shape, value);
    let depth = depth + 1;
    match (shape, value) {
        (Shape::Struct(of), Bson::Document(document)) => fields(of.fields, document, look, depth),
        (Shape::Array(items) | Shape::Fixed { items, .. }, Bson::Array(values)) => {
            values
                .iter_mut()
                .for_each(|value| below(items(), value, look, depth));
        }
        (Shape::Tuple(items), Bson::Array(values)) => {
            for (item, value) in items.iter().zip(values) {
                below(item(), value, look, depth);
            }
        }
        (Shape::Map(of), Bson::Document(entries)) => {
            entries
                .iter_mut()
                .for_each(|(_, value)| below(of(), value, look, depth));
        }
        (Shape::Enum(of), value) => variant(of, value, look, depth),
        _ => {}
    }
}

fn fields(
    fields: &'static [FieldMeta],
    document: &mut Document,
    look: &mut dyn FnMut(Shape, &mut Bson),
    depth: u32,
) {
    for field in StructLevel::of(fields).fields {
        for name in std::iter::once(&field.name).chain(field.aliases) {
            if let Some(value) = document.get_mut(name) {
                below(of_field(field), value, look, depth);
            }
        }
    }
}

fn variant(of: &'static EnumShape, value: &mut Bson, look: &mut dyn FnMut(Shape, &mut Bson), depth: u32) {
    let named = |name: &str| of.variants.iter().find(|variant| variant.name == name);
    match (of.tagging, value) {
        (Tagging::Untagged, value) => {
            for variant in of.variants {
                body(&variant.body, value, look, depth);
            }
        }
        (Tagging::External, Bson::Document(document)) => {
            for (name, value) in document.iter_mut() {
                if let Some(variant) = named(name) {
                    body(&variant.body, value, look, depth);
                }
            }
        }
        (Tagging::Internal(tag), value @ Bson::Document(_)) => {
            let name = value
                .as_document()
                .and_then(|document| document.get_str(tag).ok());
            if let Some(variant) = name.and_then(named) {
                body(&variant.body, value, look, depth);
            }
        }
        (Tagging::Adjacent(tag, content), Bson::Document(document)) => {
            let variant = document.get_str(tag).ok().and_then(named);
            if let (Some(variant), Some(value)) = (variant, document.get_mut(content)) {
                body(&variant.body, value, look, depth);
            }
        }
        _ => {}
    }
}

fn body(of: &'static Body, value: &mut Bson, look: &mut dyn FnMut(Shape, &mut Bson), depth: u32) {
    match (of, value) {
        (Body::Newtype(field), value) => below(of_field(field), value, look, depth),
        (Body::Struct(of), value) => below(Shape::Struct(of), value, look, depth),
        (Body::Tuple(fields), Bson::Array(values)) => {
            for (field, value) in fields.iter().zip(values) {
                below(of_field(field), value, look, depth);
            }
        }
        _ => {}
    }
}
