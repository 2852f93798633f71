//! From the shape of a collection to the fields of its design.

use super::maps;
use crate::design::{Field, Map};
use crate::kind::{Kind, TextForm};
use crate::shape::{Keys, Shape, Value};

/// An enumeration has at most this many different texts.
const TEXTS: usize = 100;
/// The texts of an enumeration are at most this long.
const LENGTH: u64 = 80;
/// Each text of an enumeration occurs so often, on the average.
const REPEATED: f64 = 2.5;
/// Fewer texts than this say nothing about their number.
const ENOUGH: u64 = 5;
/// The number of values that are shown.
const SHOWN: usize = 32;

/// The field of a shape.
pub(super) fn field(shape: &Shape, path: &str, name: &str, of: u64, values: bool) -> Field {
    let objects = shape.number(Kind::Object);
    let common = shape.common.all();
    let form = shape.form();
    let enumeration = common
        .as_ref()
        .is_some_and(|texts| is_enumeration(shape, texts, form) && name != "_id");
    let mut field = Field {
        path: path.to_owned(),
        name: name.to_owned(),
        present: shape.present(),
        of,
        kinds: shape.kinds().collect(),
        distinct: shape.distinct.number(),
        exact: shape.distinct.is_whole(),
        unique: is_unique(shape),
        numbers: shape.numbers,
        text: (shape.number(Kind::String) > 0).then(|| shape.texts.spread()),
        form,
        lengths: (shape.number(Kind::Array) > 0).then(|| shape.lengths.spread()),
        enumeration,
        others: shape.others,
        ..Field::default()
    };
    if values
        && let Some(texts) = common
        && (enumeration || texts.len() <= SHOWN)
    {
        field.values = texts
            .into_iter()
            .map(|(text, number)| (text.to_owned(), number))
            .collect();
    }
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match &shape.keys {
        Some(keys) => {
            let per_map = shape.sizes.spread();
            let all = keys.values.present();
            field.map = Some(Map {
                keys: keys.distinct.number(),
                awkward: awkward(keys),
                once: (keys.once() * keys.distinct.number() as f64).round() as u64,
                per_map,
                evidence: keys.evidence.clone(),
                values: Box::new(self::field(&keys.values, &format!("{path}{{}}"), "", all, values)),
                examples: if values {
                    let mut kept: Vec<_> = keys.distinct.kept().map(|(_, kept)| kept).collect();
                    kept.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
                    kept.into_iter().take(5).map(|(key, _)| key.clone()).collect()
                } else {
                    Vec::new()
                },
                ..Map::default()
            });
        }
        None => {
            field.fields = shape
                .fields
                .iter()
                .map(|(name, shape)| self::field(shape, &below(name), name, objects, values))
                .collect();
            field.doubts.extend(maps::doubt(shape));
        }
    }
    if let Some(items) = &shape.items
        && items.present() > 0
    {
        let all = items.present();
        field.items = Some(Box::new(self::field(
            items,
            &format!("{path}[]"),
            "",
            all,
            values,
        )));
    }
    field
}

/// The number of keys that no path can name, estimated by those that were kept.
fn awkward(keys: &Keys) -> u64 {
    let kept = keys.distinct.kept().len();
    let bad = |key: &str| key.contains('.') || key.starts_with('$');
    let found = keys.distinct.kept().filter(|(_, (key, _))| bad(key)).count();
    if found == 0 {
        return 0;
    }
    let share = found as f64 / kept as f64;
    ((share * keys.distinct.number() as f64).round() as u64).max(1)
}

/// Whether no value occurs twice: exactly for few values, by the estimated number of distinct ones for many.
pub(super) fn is_unique(shape: &Shape) -> bool {
    shape.twice.never() && is_nearly_unique(shape)
}

/// Whether hardly a value occurs twice.
pub(super) fn is_nearly_unique(shape: &Shape) -> bool {
    let values = shape.present() - shape.number(Kind::Null) - shape.empty;
    values > 0 && shape.twice.hardly() && shape.distinct.number() as f64 >= 0.9 * values as f64
}

fn is_enumeration(shape: &Shape, texts: &[(&str, u64)], form: Option<TextForm>) -> bool {
    let number = texts.iter().map(|(_, number)| number).sum::<u64>() - shape.empty;
    let different = texts.iter().filter(|(text, _)| !text.is_empty()).count();
    form.is_none()
        && (1..=TEXTS).contains(&different)
        && number >= ENOUGH
        && number as f64 >= REPEATED * different as f64
        && shape.texts.spread().greatest <= LENGTH
        && texts
            .iter()
            .all(|(text, _)| !text.contains(['\n', '/']) || different > 1)
}

/// Some values for an example.
pub(super) fn examples<'a>(values: impl Iterator<Item = &'a Value>, shown: bool) -> Vec<String> {
    if !shown {
        return Vec::new();
    }
    values.take(8).map(Value::text).collect()
}
