//! Columns: the paths whose values may be keys, with samples of their values.

use super::path::{Path, Step};
use super::{Collected, fields, names};
use crate::kind::{Kind, TextForm};
use crate::shape::{Shape, Value};
use std::collections::BTreeSet;

/// The values of a column, by what is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// ObjectIds, or their texts.
    Id,
    /// UUIDs, or their texts.
    Uuid,
    /// Integers.
    Int,
    /// Texts.
    Text,
}

/// A path whose values may be keys.
#[derive(Debug)]
pub(super) struct Column<'a> {
    /// The position of its collection.
    pub(super) collection: usize,
    /// Its path.
    pub(super) path: Path,
    /// Its path as it is written.
    pub(super) text: String,
    /// What its values are compared with.
    pub(super) class: Class,
    /// Whether its ObjectIds are texts.
    pub(super) is_hex: bool,
    /// A sample of its distinct values with their hashes, the least first.
    pub(super) values: Vec<(u64, Value)>,
    /// Whether these are all.
    pub(super) is_whole: bool,
    /// The estimated number of its distinct values.
    pub(super) distinct: u64,
    /// The least and greatest integer.
    pub(super) numbers: Option<(f64, f64)>,
    /// The average length of its texts.
    pub(super) length: f64,
    /// Its shape; `None` for keys of a map.
    pub(super) shape: Option<&'a Shape>,
    /// Whether it may be referred to: unique, or nearly, and there in each document.
    pub(super) is_target: bool,
    /// Whether an index has it as its first field.
    pub(super) is_indexed: bool,
    /// Whether it is unique: `_id`, by an index, or as far as was read.
    pub(super) is_unique: bool,
    /// Whether it is `_id`, or has a unique index.
    pub(super) is_declared_unique: bool,
    /// The words of its name that say of what it is a key.
    pub(super) words: BTreeSet<String>,
}

impl Column<'_> {
    /// Whether it is the `_id` of its documents.
    pub(super) fn is_id(&self) -> bool {
        self.text == "_id"
    }
}

/// The columns of all collections.
pub(super) fn all(collected: &[Collected]) -> Vec<Column<'_>> {
    let mut columns = Vec::new();
    for (at, collected) in collected.iter().enumerate() {
        visit(&mut columns, at, collected, &collected.shape, &Path::default());
    }
    columns
}

fn visit<'a>(
    columns: &mut Vec<Column<'a>>,
    at: usize,
    collected: &'a Collected,
    shape: &'a Shape,
    path: &Path,
) {
    if *path != Path::default() {
        columns.extend(of_values(at, collected, shape, path));
    }
    for (name, field) in &shape.fields {
        visit(
            columns,
            at,
            collected,
            field,
            &path.then(Step::Field(name.clone())),
        );
    }
    if let Some(items) = &shape.items {
        visit(columns, at, collected, items, &path.then(Step::Items));
    }
    if let Some(keys) = &shape.keys {
        visit(columns, at, collected, &keys.values, &path.then(Step::Values));
        columns.extend(of_keys(at, shape, path));
    }
}

fn of_values<'a>(at: usize, collected: &Collected, shape: &'a Shape, path: &Path) -> Option<Column<'a>> {
    // Programs that know one kind of number store integers as such.
    let has_integers = shape
        .distinct
        .kept()
        .all(|(_, value)| matches!(value, Value::Int(_)));
    let doubles = if has_integers {
        shape.number(Kind::Double)
    } else {
        0
    };
    let numbers = [
        (Class::Id, shape.number(Kind::ObjectId)),
        (Class::Uuid, shape.number(Kind::Uuid)),
        (
            Class::Int,
            shape.number(Kind::Int) + shape.number(Kind::Long) + doubles,
        ),
        (Class::Text, shape.number(Kind::String) - shape.empty),
    ];
    let (mut class, number) = numbers.into_iter().max_by_key(|(_, number)| *number)?;
    if number == 0 {
        return None;
    }
    let form = shape.form();
    let is_hex = class == Class::Text && form == Some(TextForm::Hex);
    if is_hex {
        class = Class::Id;
    }
    // Dates, decisions and addresses as text are no keys.
    if class == Class::Text
        && matches!(
            form,
            Some(
                TextForm::Date | TextForm::Datetime | TextForm::YesNo | TextForm::Boolean | TextForm::Flag01
            )
        )
    {
        return None;
    }
    let fits = |value: &Value| match (class, value) {
        (Class::Id, Value::Id(_)) | (Class::Uuid, Value::Uuid(_)) | (Class::Int, Value::Int(_)) => true,
        (Class::Text, Value::Text(_)) => true,
        (Class::Id, Value::Text(_)) => is_hex,
        _ => false,
    };
    let values: Vec<_> = shape
        .distinct
        .kept()
        .filter(|(_, value)| fits(value))
        .filter_map(|(hash, value)| match class {
            Class::Id if is_hex => value.as_id().map(|value| (value.hash(), value)),
            _ => Some((hash, value.clone())),
        })
        .collect();
    if values.is_empty() {
        return None;
    }
    let text = path.to_string();
    let indexes = &collected.facts.indexes;
    let first_of = |keys: &bson::Document| keys.keys().next().is_some_and(|first| *first == text);
    let is_declared_unique = text == "_id"
        || indexes
            .iter()
            .any(|index| index.unique && index.keys.len() == 1 && first_of(&index.keys));
    let is_unique = is_declared_unique || fields::is_unique(shape);
    let in_each = shape.present() - shape.number(Kind::Null) - shape.empty == collected.shape.present();
    let short = shape.texts.spread().greatest <= 80;
    Some(Column {
        collection: at,
        class,
        is_hex,
        is_whole: shape.distinct.is_whole(),
        distinct: shape.distinct.number(),
        numbers: shape.numbers,
        length: shape.texts.spread().mean,
        is_target: path.is_single()
            && (is_declared_unique
                || (fields::is_nearly_unique(shape) && in_each && short && shape.distinct.number() >= 3)),
        is_indexed: text == "_id" || indexes.iter().any(|index| first_of(&index.keys)),
        is_unique,
        is_declared_unique,
        words: names::of_path(path.names()),
        shape: Some(shape),
        path: path.clone(),
        text,
        values,
    })
}

fn of_keys<'a>(at: usize, shape: &Shape, path: &Path) -> Option<Column<'a>> {
    let keys = shape.keys.as_ref()?;
    let texts: Vec<_> = keys.distinct.kept().map(|(_, (key, _))| key).collect();
    let is_hex = texts.iter().all(|key| TextForm::of(key) == Some(TextForm::Hex));
    // Numbers are keys of anything.
    if texts
        .iter()
        .all(|key| matches!(TextForm::of(key), Some(TextForm::Number | TextForm::Flag01)))
    {
        return None;
    }
    let values: Vec<_> = texts
        .iter()
        .filter_map(|key| {
            let text = Value::Text((*key).clone());
            let value = if is_hex { text.as_id()? } else { text };
            Some((value.hash(), value))
        })
        .collect();
    let length = texts.iter().map(|key| key.len()).sum::<usize>() as f64 / texts.len().max(1) as f64;
    let path = path.then(Step::Key);
    Some(Column {
        collection: at,
        class: if is_hex { Class::Id } else { Class::Text },
        is_hex,
        is_whole: keys.distinct.is_whole(),
        distinct: keys.distinct.number(),
        numbers: None,
        length,
        shape: None,
        is_target: false,
        is_indexed: false,
        is_unique: false,
        is_declared_unique: false,
        words: names::of_path(path.names()),
        text: path.to_string(),
        path,
        values,
    })
}
