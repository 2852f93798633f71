//! Maps: embedded documents whose keys are data.

use crate::kind::{Kind, TextForm};
use crate::shape::{Budget, Shape, Value};
use std::collections::HashSet;

/// Keys that look like names of fields have to be this many, and still grow, to be data.
const NAMES: usize = 50;
/// Codes of one length have to be this many, and still grow, to be data.
const GROWING_CODES: usize = 10;
/// Codes of one length are data without growth from this number on.
const MANY_CODES: usize = 15;

/// Reads as maps what is one, in the shape of a collection. `codes` are hashes of keys that are known to be data, of all collections:
/// it is complemented, and a second call finds what the first one could not know.
pub(super) fn find(root: &mut Shape, codes: &mut HashSet<u64>, budget: &mut Budget) {
    let mut names = Vec::new();
    field_names(root, &mut names);
    visit(root, codes, &names, budget, true);
}

/// The names of the fields of each embedded document of several fields.
fn field_names(shape: &Shape, names: &mut Vec<HashSet<String>>) {
    if !shape.fields.is_empty() {
        names.push(shape.fields.keys().cloned().collect());
    }
    for below in below(shape) {
        field_names(below, names);
    }
}

fn below(shape: &Shape) -> impl Iterator<Item = &Shape> {
    shape
        .fields
        .values()
        .chain(shape.items.as_deref())
        .chain(shape.keys.as_ref().map(|keys| &*keys.values))
}

fn visit(
    shape: &mut Shape,
    codes: &mut HashSet<u64>,
    names: &[HashSet<String>],
    budget: &mut Budget,
    is_root: bool,
) {
    if !is_root && let Some(evidence) = evidence(shape, codes, names) {
        shape.fold(evidence, budget);
    }
    if let Some(keys) = &mut shape.keys {
        codes.extend(keys.distinct.kept().map(|(hash, _)| hash));
        visit(&mut keys.values, codes, names, budget, false);
    }
    for field in shape.fields.values_mut() {
        visit(field, codes, names, budget, false);
    }
    if let Some(items) = &mut shape.items {
        visit(items, codes, names, budget, false);
    }
}

/// The sentence that says why the keys are data; `None` for a struct.
fn evidence(shape: &Shape, codes: &HashSet<u64>, names: &[HashSet<String>]) -> Option<String> {
    let number = shape.fields.len();
    let objects = shape.number(Kind::Object);
    if number == 0 || !values_agree(shape) {
        return None;
    }
    let keys = || shape.fields.keys().map(String::as_str);
    let all = |is: &dyn Fn(&str) -> bool| keys().all(is);
    if all(&|key| TextForm::of(key) == Some(TextForm::Hex)) {
        return Some(format!("its {number} keys are ObjectIds as text"));
    }
    if all(&|key| TextForm::of(key) == Some(TextForm::Uuid)) {
        return Some(format!("its {number} keys are UUIDs"));
    }
    if number > 1 && all(&|key| matches!(TextForm::of(key), Some(TextForm::Number | TextForm::Flag01))) {
        return Some(format!("its {number} keys are numbers"));
    }
    if number > 1 && all(&|key| matches!(TextForm::of(key), Some(TextForm::Date | TextForm::Datetime))) {
        return Some(format!("its {number} keys are dates"));
    }
    let foreign = keys().filter(|key| !is_name(key)).count();
    let rare = shape.fields.values().any(|field| field.present() < objects);
    let texts = keys().any(|key| key.contains(['.', ' ', '/', ':', '@']));
    if number > 2 && foreign * 2 >= number && (rare || texts) {
        return Some(format!("{foreign} of its {number} keys are no names of fields"));
    }
    let once = shape.fields.values().filter(|field| field.present() == 1).count();
    let grows = once as f64 >= 0.15 * number as f64;
    if let Some(length) = code_length(shape) {
        if number >= GROWING_CODES && grows {
            return Some(format!(
                "its {number} keys are codes of {length} letters, {once} of which occur once in {objects} documents"
            ));
        }
        if number >= MANY_CODES {
            return Some(format!(
                "its {number} keys are codes of {length} letters, with values of one shape"
            ));
        }
        let known = keys().all(|key| codes.contains(&Value::Text(key.to_owned()).hash()));
        if number > 1 && known {
            return Some(format!(
                "its {number} keys are codes of {length} letters, which are keys of another map"
            ));
        }
    }
    let per_object = shape.sizes.spread().mean;
    let elsewhere = names
        .iter()
        .filter(|others| !keys().all(|key| others.contains(key)))
        .map(|others| keys().filter(|key| others.contains(*key)).count())
        .max()
        .unwrap_or(0);
    if number >= NAMES
        && once * 5 >= number
        && per_object < 0.2 * number as f64
        && elsewhere * 10 < number * 3
    {
        return Some(format!(
            "it has {number} distinct keys, {once} of which occur once, and {per_object:.1} in a document"
        ));
    }
    None
}

/// The sentence that says that a struct may be a map.
pub(super) fn doubt(shape: &Shape) -> Option<String> {
    let number = shape.fields.len();
    let once = shape.fields.values().filter(|field| field.present() == 1).count();
    let per_object = shape.sizes.spread().mean;
    let may_be =
        number >= 10 && once * 10 >= number && per_object < 0.3 * number as f64 && values_agree(shape);
    may_be.then(|| {
        format!(
            "it may be a map: {number} distinct keys with values of one shape, {once} of which occur once, and \
             {per_object:.1} in a document"
        )
    })
}

/// Whether all values have one kind, and one shape where they are documents.
fn values_agree(shape: &Shape) -> bool {
    let mut kinds = HashSet::new();
    for field in shape.fields.values() {
        kinds.extend(
            field
                .kinds()
                .filter(|(kind, _)| *kind != Kind::Null)
                .map(|(kind, _)| if kind.is_number() { Kind::Double } else { kind }),
        );
    }
    match Vec::from_iter(kinds)[..] {
        [Kind::Object] => {
            let shapes = || {
                shape
                    .fields
                    .values()
                    .filter(|field| field.number(Kind::Object) > 0)
            };
            if shapes().any(|field| field.keys.is_some()) {
                return shapes().all(|field| field.keys.is_some());
            }
            let union: HashSet<&str> = shapes()
                .flat_map(|field| field.fields.keys().map(String::as_str))
                .collect();
            let shares: f64 = shapes()
                .map(|field| field.fields.len() as f64 / union.len().max(1) as f64)
                .sum();
            shares >= 0.6 * shapes().count() as f64
        }
        [_] => true,
        _ => false,
    }
}

/// Whether a key could be the name of a field.
fn is_name(key: &str) -> bool {
    key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The one length of keys that are two or three letters of one case.
fn code_length(shape: &Shape) -> Option<usize> {
    let mut keys = shape.fields.keys();
    let first = keys.next()?;
    let fits = |key: &str| {
        key.len() == first.len()
            && (key.bytes().all(|byte| byte.is_ascii_lowercase())
                || key.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    let upper = first.bytes().all(|byte| byte.is_ascii_uppercase());
    ((2..=3).contains(&first.len())
        && fits(first)
        && keys.all(|key| fits(key) && key.bytes().all(|byte| byte.is_ascii_uppercase() == upper)))
    .then_some(first.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Document, doc};

    fn is_map(documents: &[Document]) -> bool {
        let (mut shape, mut budget) = (Shape::default(), Budget::default());
        for document in documents {
            let raw = bson::RawDocumentBuf::try_from(document).unwrap();
            shape.add_document(&raw, &mut budget);
        }
        let mut codes = HashSet::new();
        find(&mut shape, &mut codes, &mut budget);
        find(&mut shape, &mut codes, &mut budget);
        shape.fields["m"].keys.is_some()
    }

    #[test]
    fn keys_that_are_ids_numbers_and_codes_are_data() {
        let id = bson::oid::ObjectId::new().to_hex();
        assert!(is_map(&[doc! { "m": { id: true } }]));
        assert!(is_map(&[doc! { "m": { "1": "a", "2": "b" } }]));
        let codes = |from: u8| {
            doc! { "m": (0..20_u8).map(|at| (format!("{}{}", (b'A' + at) as char, (b'A' + from) as char), "x".into())).collect::<Document>() }
        };
        assert!(is_map(&[codes(0), codes(1)]));
    }

    #[test]
    fn names_of_fields_are_data_only_while_they_grow() {
        let growing: Vec<_> = (0..100)
            .map(|at| doc! { "m": { format!("user{at}"): 1 } })
            .collect();
        assert!(is_map(&growing));
        let few: Vec<_> = (0..100)
            .map(|at| doc! { "m": { format!("kind_{}", at % 12): 1 } })
            .collect();
        assert!(!is_map(&few));
        assert!(!is_map(&[
            doc! { "m": { "a": 1, "b": 2 } },
            doc! { "m": { "a": 3, "b": 4 } }
        ]));
        assert!(!is_map(&[doc! { "m": { "min": 1, "max": 2 } }]));
    }

    #[test]
    fn values_of_several_shapes_are_a_struct() {
        assert!(!is_map(&[doc! { "m": { "1": 1, "2": "x" } }]));
    }
}
