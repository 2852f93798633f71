//! What stands under a name of an object: the same question for stored documents and for JSON.

use crate::model::shape::{Body, EnumShape, FieldMeta, ShapeFn, StructShape, Tagging, VariantMeta, inner};
use crate::model::shape::{Bounds, Shape};
use mongodb::bson::RawDocument;
use serde_json::{Map, Value};

/// Maximum depth of flattened structs within each other.
const DEEPEST: u32 = 32;

/// The name of a field in JSON: `_id` is `id`, where no other field has that name.
pub(super) fn json_name(of: &StructShape, field: &FieldMeta) -> &'static str {
    let name_of = |field: &FieldMeta| field.json.unwrap_or(field.name);
    let is_id = |other: &FieldMeta| name_of(other) == "id" || other.aliases.contains(&"id");
    match name_of(field) {
        "_id" if !of.fields.iter().any(is_id) => "id",
        name => name,
    }
}

/// Whether the field stands under this name in an object.
fn is_called(of: &StructShape, field: &FieldMeta, name: &str, object: &dyn Object) -> bool {
    let has_stored_name = field.name == name && (field.json.is_none() || !object.is_json());
    has_stored_name || field.aliases.contains(&name) || object.is_json() && json_name(of, field) == name
}

/// The variant with this name.
pub(super) fn variant_named(of: &EnumShape, name: &str, is_json: bool) -> Option<&'static VariantMeta> {
    let name_of = |variant: &VariantMeta| {
        if is_json {
            variant.json_name()
        } else {
            variant.name
        }
    };
    of.variants.iter().find(|variant| name_of(variant) == name)
}

/// The other names of an object: which variant a flattened enum is, is said by other fields.
pub(super) trait Object {
    /// Whether its names are those of JSON, and not those that are stored.
    fn is_json(&self) -> bool;
    /// The text under a name.
    fn text(&self, name: &str) -> Option<&str>;
    /// Whether there is a value under a name.
    fn has(&self, name: &str) -> bool;
}

impl Object for &RawDocument {
    fn is_json(&self) -> bool {
        false
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.get_str(name).ok()
    }

    fn has(&self, name: &str) -> bool {
        RawDocument::get(self, name).is_ok_and(|value| value.is_some())
    }
}

impl Object for Map<String, Value> {
    fn is_json(&self) -> bool {
        true
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    fn has(&self, name: &str) -> bool {
        self.contains_key(name)
    }
}

/// The meaning of a name of an object.
#[derive(Clone, Copy)]
pub(super) enum NameSlot {
    /// A field of this struct.
    Field(&'static StructShape, &'static FieldMeta),
    /// The content of a variant: in a field with the name of the variant, or with one for the content.
    Content(&'static Body, Option<&'static VariantMeta>),
    /// The name of the variant.
    Tag(&'static EnumShape),
    /// An entry of a map that is flattened.
    Entry(ShapeFn, Bounds, bool),
    /// One of the fields that are not declared, which this field holds.
    Extra(&'static FieldMeta),
}

/// The meaning of a name of a struct's object. `None`: nothing that is declared.
pub(super) fn in_struct(of: &'static StructShape, name: &str, object: &dyn Object) -> Option<NameSlot> {
    declared(of, name, object, 0).or_else(|| rest(of, 0))
}

fn declared(of: &'static StructShape, name: &str, object: &dyn Object, depth: u32) -> Option<NameSlot> {
    let own = |field: &&FieldMeta| !field.flatten && is_called(of, field, name, object);
    if let Some(field) = of.fields.iter().find(own) {
        return Some(NameSlot::Field(of, field));
    }
    if depth >= DEEPEST {
        return None;
    }
    let mut flattened = of.fields.iter().filter(|field| field.flatten);
    flattened.find_map(|field| match inner((field.shape)()) {
        Shape::Struct(of) => declared(of, name, object, depth + 1),
        Shape::Enum(of) => declared_by_variant(of, name, object, depth + 1),
        _ => None,
    })
}

/// A flattened map takes what the others leave, and so does the field for undeclared fields.
fn rest(of: &'static StructShape, depth: u32) -> Option<NameSlot> {
    let mut flattened = of.fields.iter().filter(|field| field.flatten);
    flattened.find_map(|field| {
        if field.is_extra() {
            return Some(NameSlot::Extra(field));
        }
        match flattened_map(field) {
            Some(slot) => Some(slot),
            None => match inner((field.shape)()) {
                Shape::Struct(of) if depth < DEEPEST => rest(of, depth + 1),
                _ => None,
            },
        }
    })
}

/// The entries of a map in this field, with the bounds that are nearest to it.
fn flattened_map(field: &'static FieldMeta) -> Option<NameSlot> {
    let (mut shape, mut bounds) = ((field.shape)(), field.bounds);
    for _ in 0..DEEPEST {
        match shape {
            Shape::Optional(some) => shape = some(),
            Shape::Bounded(meta) => (shape, bounds) = ((meta.shape)(), meta.bounds),
            Shape::Map(values) => return Some(NameSlot::Entry(values, bounds, field.json_text)),
            _ => return None,
        }
    }
    None
}

/// The meaning of a name of an enum's object.
pub(super) fn in_enum(of: &'static EnumShape, name: &str, object: &dyn Object) -> Option<NameSlot> {
    declared_by_variant(of, name, object, 0).or_else(|| match of.tagging {
        Tagging::Internal(tag) => match &object
            .text(tag)
            .and_then(|text| variant_named(of, text, object.is_json()))?
            .body
        {
            Body::Struct(of) => rest(of, 0),
            Body::Newtype(field) => match inner((field.shape)()) {
                Shape::Struct(of) => rest(of, 0),
                _ => flattened_map(field),
            },
            _ => None,
        },
        _ => None,
    })
}

fn declared_by_variant(
    of: &'static EnumShape,
    name: &str,
    object: &dyn Object,
    depth: u32,
) -> Option<NameSlot> {
    match of.tagging {
        Tagging::External => {
            let variant = variant_named(of, name, object.is_json())?;
            Some(NameSlot::Content(&variant.body, Some(variant)))
        }
        Tagging::Internal(tag) | Tagging::Adjacent(tag, _) if tag == name => Some(NameSlot::Tag(of)),
        Tagging::Internal(tag) => {
            let variant = variant_named(of, object.text(tag)?, object.is_json())?;
            in_body(&variant.body, name, object, depth)
        }
        Tagging::Adjacent(tag, content) if content == name => {
            let variant = variant_named(of, object.text(tag)?, object.is_json())?;
            Some(NameSlot::Content(&variant.body, None))
        }
        Tagging::Adjacent(..) => None,
        Tagging::Untagged => {
            let variant = of.variants.iter().find(|variant| is_whole(variant, object))?;
            in_body(&variant.body, name, object, depth)
        }
    }
}

/// Of a variant whose fields stand beside its tag.
fn in_body(of: &'static Body, name: &str, object: &dyn Object, depth: u32) -> Option<NameSlot> {
    if depth >= DEEPEST {
        return None;
    }
    match of {
        Body::Struct(of) => declared(of, name, object, depth + 1),
        Body::Newtype(field) => match inner((field.shape)()) {
            Shape::Struct(of) => declared(of, name, object, depth + 1),
            Shape::Enum(of) => declared_by_variant(of, name, object, depth + 1),
            _ => None,
        },
        Body::Unit | Body::Tuple(_) => None,
    }
}

/// Whether an object has all fields that a variant needs.
fn is_whole(variant: &VariantMeta, object: &dyn Object) -> bool {
    let has = |of: &StructShape| {
        let mut needed = of.fields.iter().filter(|field| field.required && !field.flatten);
        needed.all(|field| {
            let stands_under = |name: &str| is_called(of, field, name, object) && object.has(name);
            stands_under(json_name(of, field)) || stands_under(field.name)
        })
    };
    match &variant.body {
        Body::Struct(of) => has(of),
        Body::Newtype(field) => match inner((field.shape)()) {
            Shape::Struct(of) => has(of),
            Shape::Enum(_) => true,
            _ => false,
        },
        Body::Unit | Body::Tuple(_) => false,
    }
}
