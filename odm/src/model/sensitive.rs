//! Fields whose values no error and no log shows: `#[field(sensitive)]`.

use crate::Error;
use crate::model::meta::{Body, DocumentMeta, FieldMeta, Shape};
use crate::model::shape::{inner, of_field};
use mongodb::bson::{Bson, Document};

/// What stands in the place of a value.
const CONCEALED: &str = "(sensitive)";

/// How many structs and arrays are looked into, one within the other.
const DEEPEST: u32 = 32;

/// Whether documents of a type have such fields.
pub(crate) fn holds(meta: &DocumentMeta) -> bool {
    is_concealed((meta.shape)(), &[], 0)
}

/// Whether the value at this path is concealed: the field, one that it is in, or one in its value.
pub(crate) fn conceals(meta: &DocumentMeta, path: &str) -> bool {
    let parts: Vec<&str> = path.split('.').filter(|part| !part.is_empty()).collect();
    is_concealed((meta.shape)(), &parts, 0)
}

fn is_concealed(shape: Shape, parts: &[&str], depth: u32) -> bool {
    if depth > DEEPEST {
        return false;
    }
    let depth = depth + 1;
    let of_fields = |fields: &'static [FieldMeta]| match parts.split_first() {
        None => fields
            .iter()
            .any(|field| field.sensitive || is_concealed(of_field(field), &[], depth)),
        Some((first, rest)) => fields.iter().any(|field| {
            if field.flatten {
                return field.sensitive || is_concealed(of_field(field), parts, depth);
            }
            let is_named = field.name == *first || field.aliases.contains(first);
            is_named && (field.sensitive || is_concealed(of_field(field), rest, depth))
        }),
    };
    let in_items = |items: Shape| {
        let is_position =
            |part: &&str| part.starts_with('$') || part.bytes().all(|byte| byte.is_ascii_digit());
        match parts.split_first() {
            Some((first, rest)) if is_position(first) => is_concealed(items, rest, depth),
            _ => is_concealed(items, parts, depth),
        }
    };
    match inner(shape) {
        Shape::Struct(of) => of_fields(of.fields),
        Shape::Array(items) => in_items(items()),
        Shape::Fixed { items, .. } => in_items(items()),
        Shape::Map(values) => is_concealed(values(), parts.get(1..).unwrap_or_default(), depth),
        Shape::Enum(of) => of.variants.iter().any(|variant| {
            // The content stands beside the tag, below it, or under a name of its own.
            let in_content = |parts: &[&str]| match variant.body {
                Body::Struct(of) => is_concealed(Shape::Struct(of), parts, depth),
                Body::Newtype(field) => field.sensitive || is_concealed(of_field(field), parts, depth),
                Body::Tuple(fields) => fields
                    .iter()
                    .any(|field| field.sensitive || is_concealed(of_field(field), parts, depth)),
                Body::Unit => false,
            };
            in_content(parts) || in_content(parts.get(1..).unwrap_or_default())
        }),
        _ => false,
    }
}

/// A condition, an update or a key with the values that may be shown.
pub(crate) fn shown(meta: &DocumentMeta, document: &Document) -> Document {
    if !holds(meta) {
        return document.clone();
    }
    shown_below(meta, "", document)
}

fn shown_below(meta: &DocumentMeta, path: &str, document: &Document) -> Document {
    let fields = document.iter().map(|(name, value)| {
        let within = match (name.starts_with('$'), path.is_empty()) {
            (true, _) => path.to_owned(),
            (false, true) => name.clone(),
            (false, false) => format!("{path}.{name}"),
        };
        let value = match value {
            Bson::Document(inner) => shown_below(meta, &within, inner).into(),
            Bson::Array(items) => items.iter().map(|item| shown_item(meta, &within, item)).collect(),
            value => leaf(meta, &within, value),
        };
        (name.clone(), value)
    });
    fields.collect()
}

fn shown_item(meta: &DocumentMeta, path: &str, item: &Bson) -> Bson {
    match item {
        Bson::Document(inner) => shown_below(meta, path, inner).into(),
        Bson::Array(items) => items.iter().map(|item| shown_item(meta, path, item)).collect(),
        item => leaf(meta, path, item),
    }
}

/// A value on its own. That of an expression, which may be a field's name or be compared with a field, belongs to no path.
fn leaf(meta: &DocumentMeta, path: &str, value: &Bson) -> Bson {
    let is_field = matches!(value, Bson::String(text) if text.starts_with('$'));
    if !is_field && (path.is_empty() || conceals(meta, path)) {
        return CONCEALED.into();
    }
    value.clone()
}

/// The error without the values that may not be shown, and without what the server says of the write: that quotes values.
pub(crate) fn concealed(meta: &DocumentMeta, mut error: Error) -> Error {
    if !holds(meta) {
        return error;
    }
    match &mut error {
        Error::NotFound { collection, key, .. } if *collection == meta.collection => **key = shown(meta, key),
        Error::DuplicateKey {
            collection,
            value,
            source,
            ..
        } if *collection == meta.collection => {
            **value = shown(meta, value);
            *source = None;
        }
        Error::Invalid {
            collection,
            violations,
            source,
        } if *collection == meta.collection => {
            for violation in violations {
                if conceals(meta, &violation.path) {
                    violation.value = None;
                }
            }
            *source = None;
        }
        Error::OutOfScope {
            collection,
            field,
            given,
            scope,
        } if *collection == meta.collection && conceals(meta, field) => {
            for value in [given, scope].into_iter().flatten() {
                **value = CONCEALED.into();
            }
        }
        Error::StoredType {
            collection, source, ..
        }
        | Error::Immutable {
            collection, source, ..
        }
        | Error::NotADocument {
            collection, source, ..
        } if *collection == meta.collection => *source = None,
        Error::Refused {
            collection,
            message,
            source,
            ..
        } if *collection == meta.collection => {
            "its message is left out, since documents here have sensitive fields".clone_into(message);
            *source = None;
        }
        Error::Bulk { errors, .. } | Error::InsertMany { errors, .. } => {
            for (_, error) in errors {
                let own = std::mem::replace(error, Error::Models { problems: Vec::new() });
                *error = concealed(meta, own);
            }
        }
        Error::Unfinished { source, .. } => {
            let own = std::mem::replace(&mut **source, Error::Models { problems: Vec::new() });
            **source = concealed(meta, own);
        }
        _ => {}
    }
    error
}
