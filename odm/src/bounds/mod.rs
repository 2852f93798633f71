//! Finds broken rules before the network: walks the encoded document along its shape, after a look that most documents
//! pass.
//!
//! A value that fits costs no allocation: the walk reads the raw bytes and keeps its path on the stack. All violations are
//! collected, so that a form can show them together.

#[cfg(test)]
mod agreement_tests;
mod at;
mod checks;
mod number;
mod parts;
mod plan;
mod quick;
mod shapes;
#[cfg(test)]
mod tests;
mod value_rules;
mod walk;
#[cfg(test)]
mod written_tests;

use crate::model::document::DocumentMeta;
use crate::model::encode::stored_document;
use crate::model::sensitive;
#[cfg(feature = "json")]
use crate::model::shape::Bounds;
use crate::model::shape::{FieldMeta, Shape};
use crate::model::size::MAX_DOCUMENT_SIZE;
use crate::{Error, Result, Rule, Violation};
use at::{At, Owned, key_rule};
#[cfg(feature = "json")]
use mongodb::bson::{Bson, RawArrayBuf};
use mongodb::bson::{RawBsonRef, RawDocument};
use shapes::MAX_WRAPPERS;
#[cfg(feature = "json")]
pub(crate) use shapes::{may_be, named, tightened};
pub(crate) use value_rules::broken;
pub(crate) use walk::MOST;
use walk::Walk;

/// Refuses a whole document that MongoDB or one of its declared rules would refuse.
pub(crate) fn document(meta: &DocumentMeta, doc: &RawDocument) -> Result<()> {
    written(meta, doc, true)
}

/// The same of a document whose bounds were compared while it was written: it is looked at where one may be broken.
pub(crate) fn written(meta: &DocumentMeta, doc: &RawDocument, may_be_broken: bool) -> Result<()> {
    let size = doc.as_bytes().len() as u64;
    if size > MAX_DOCUMENT_SIZE {
        return Err(Error::TooLarge {
            collection: meta.collection.to_owned(),
            what: crate::error::DOCUMENT,
            size: Some(size),
            largest: largest(doc),
            brought: Vec::new(),
            source: None,
        });
    }
    let mut violations = match meta.whole() {
        _ if !may_be_broken => Vec::new(),
        Shape::Struct(shape) if quick::document(shape, doc) => Vec::new(),
        shape => violations(shape, doc),
    };
    // A value that can't be right is not compared with others.
    if violations.is_empty() && !meta.checks.is_empty() {
        violations = checks::broken(meta.checks, doc);
    }
    if violations.is_empty() {
        return Ok(());
    }
    let error = Error::Invalid {
        collection: meta.collection.to_owned(),
        violations,
        source: None,
    };
    Err(sensitive::concealed(meta, error))
}

/// The verdict on a document that is not sent.
///
/// # Errors
/// [`Error::Invalid`] where a write of it would be refused, [`Error::Encode`] where BSON can't hold it.
#[doc(hidden)]
pub fn verdict<T: crate::Document>(document: &T) -> Result<()> {
    let raw = stored_document(T::META.name, document)?;
    self::document(T::META, &raw)
}

/// The violations of a whole document.
pub(crate) fn violations(shape: Shape, doc: &RawDocument) -> Vec<Violation> {
    let mut walk = Walk::default();
    let root = At::Root("");
    walk.id(doc, &root);
    match shape {
        Shape::Struct(shape) => walk.fields(shape, doc, Owned::All, &root),
        Shape::Enum(shape) => walk.variant(shape, false, RawBsonRef::Document(doc), &root),
        _ => walk.elements(doc, &root),
    }
    walk.violations
}

/// Checks a value that an update stores in a field at `path`; `level` is the number of documents and arrays around it.
pub(crate) fn value(
    (path, level): (&str, u32),
    field: &FieldMeta,
    value: RawBsonRef<'_>,
    violations: &mut Vec<Violation>,
) {
    let mut walk = Walk::below(level, violations);
    walk.bounded(field.shape, &field.bounds, false, value, &At::Root(path));
    *violations = walk.violations;
}

/// The rule that a key of a map with these bounds breaks.
#[cfg(feature = "json")]
pub(crate) fn key_of(bounds: &Bounds, key: &str) -> Option<Rule> {
    key_rule(bounds, key)
}

/// The rules that one value breaks, of those that concern it alone.
#[cfg(feature = "json")]
pub(crate) fn rules(shape: Shape, bounds: &Bounds, value: RawBsonRef<'_>) -> impl Iterator<Item = Rule> {
    let mut walk = Walk::default();
    walk.value(shape, bounds, false, value, &At::Root(""));
    walk.violations.into_iter().map(|violation| violation.rule)
}

/// Whether an array holds an item twice.
#[cfg(feature = "json")]
pub(crate) fn has_twice(array: &Bson) -> bool {
    let Bson::Array(items) = array else { return false };
    let array = RawArrayBuf::try_from(items.clone());
    array.is_ok_and(|array| value_rules::twice(&array).is_some())
}

/// Checks one item that an update adds to the array at `path`, or the value of one entry of the map there.
pub(crate) fn item(
    (path, level): (&str, u32),
    field: &FieldMeta,
    value: RawBsonRef<'_>,
    violations: &mut Vec<Violation>,
) {
    let mut walk = Walk::below(level + 1, violations);
    walk.item(field.shape, &field.bounds, value, &At::Root(path));
    *violations = walk.violations;
}

/// Whether an item of the field's array may hold something behind a number: a map's key, a field of that name, an item of
/// its own.
pub(crate) fn has_numbered_items(field: &FieldMeta) -> bool {
    if field.bounds.opaque {
        return true;
    }
    let mut shape = (field.shape)();
    let mut outer = true;
    for _ in 0..MAX_WRAPPERS {
        match shape {
            Shape::Optional(inner) => shape = inner(),
            Shape::Bounded(meta) if meta.bounds.opaque => return true,
            Shape::Bounded(meta) => shape = (meta.shape)(),
            Shape::Array(items) if outer => (shape, outer) = (items(), false),
            Shape::Struct(item) => {
                let digits = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
                return item
                    .fields
                    .iter()
                    .any(|field| field.flatten || digits(field.name));
            }
            Shape::Enum(item) => {
                let unit = |variant: &crate::model::shape::VariantMeta| {
                    matches!(variant.body, crate::model::shape::Body::Unit)
                };
                return !item.variants.iter().all(unit);
            }
            Shape::Any | Shape::Array(_) | Shape::Fixed { .. } | Shape::Tuple(_) | Shape::Map(_) => {
                return true;
            }
            _ => return false,
        }
    }
    true
}

/// The rule that a key of the field's map breaks.
pub(crate) fn key(field: &FieldMeta, key: &str) -> Option<Rule> {
    let mut shape = (field.shape)();
    let mut bounds = &field.bounds;
    for _ in 0..MAX_WRAPPERS {
        match shape {
            Shape::Optional(inner) => shape = inner(),
            Shape::Bounded(meta) => (shape, bounds) = ((meta.shape)(), &meta.bounds),
            _ => break,
        }
    }
    key_rule(bounds, key)
}

/// Up to five fields of a document with their sizes, the largest first.
pub(crate) fn largest(doc: &RawDocument) -> Vec<(String, u64)> {
    let mut sizes: Vec<_> = doc
        .iter_elements()
        .map_while(|element| element.ok())
        .map(|element| {
            let name = element.key().as_str();
            (name.to_owned(), (2 + name.len() + element.size()) as u64)
        })
        .collect();
    sizes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    sizes.truncate(5);
    sizes
}
