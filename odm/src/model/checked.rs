//! The rules of a field's value by its type, and the functions of the application that check values and documents.

use crate::model::encode::{StoredValue, owned};
use crate::model::meta::value_rules::ValueRules;
use crate::model::shape::{self, FieldMeta, Shape};
use crate::model::stored::{self, Row, Stored};
use mongodb::bson::{RawBsonRef, RawDocument};
use std::fmt;

/// The rules of a field's value, and of the newtypes in it; of an array those of its items, where `of_item`.
pub(crate) fn of_field(field: &'static FieldMeta, of_item: bool) -> Vec<&'static ValueRules> {
    let mut all: Vec<&'static ValueRules> = Vec::new();
    let (mut shape, mut in_array) = (shape::of_field(field), !of_item);
    let mut bounds = &field.bounds;
    for _ in 0..shape::MOST_WRAPPERS {
        if let Some(rules) = bounds.rules.filter(|rules| !all.contains(rules)) {
            all.push(rules);
        }
        match shape {
            Shape::Optional(inner) => shape = inner(),
            Shape::Bounded(inner) => {
                bounds = &inner.bounds;
                shape = shape::of_field(inner);
            }
            Shape::Array(items) | Shape::Map(items) if !in_array => (shape, in_array) = (items(), true),
            // The rules of an array are its items'.
            Shape::Array(_) | Shape::Map(_) => return Vec::new(),
            _ => break,
        }
    }
    all
}

/// Whether no item of the field's array equals another one.
pub(crate) fn has_unique_items(field: &'static FieldMeta) -> bool {
    let mut field = field;
    for _ in 0..shape::MOST_WRAPPERS {
        if field.bounds.unique_items {
            return true;
        }
        let mut shape = shape::of_field(field);
        if let Shape::Optional(inner) = shape {
            shape = inner();
        }
        match shape {
            Shape::Bounded(inner) => field = inner,
            _ => return false,
        }
    }
    false
}

/// The verdict of a function of `check_with` on a value.
#[diagnostic::on_unimplemented(
    message = "a function of `check_with` returns `Result<(), E>` with an `E` that is `Display`, and this one returns `{Self}`",
    label = "returns `{Self}`",
    note = "`fn is_valid(value: &T) -> Result<(), &'static str>`, with the reason of a refusal in `Err`"
)]
pub trait Checked {
    /// The reason of a refusal.
    fn refusal(self) -> Option<String>;
}

#[diagnostic::do_not_recommend]
impl<E: fmt::Display> Checked for Result<(), E> {
    fn refusal(self) -> Option<String> {
        self.err().map(|message| message.to_string())
    }
}

/// Calls a function of the application with a value of this type. One that can't be read breaks another rule.
pub fn value<T: Stored, V: Checked>(stored: RawBsonRef<'_>, check: impl FnOnce(&T) -> V) -> Option<String> {
    let stored = StoredValue::of_bson(owned(stored).ok()?).ok()?;
    let value = stored.read(T::read).ok()?;
    check(&value).refusal()
}

/// Calls a function of the application with a whole document.
pub fn whole_document<T: Row, V: Checked>(
    stored: &RawDocument,
    check: impl FnOnce(&T) -> V,
) -> Option<String> {
    let document: T = stored::read(stored.as_bytes()).ok()?;
    check(&document).refusal()
}
