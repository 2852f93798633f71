//! References by a key of several fields that have the same names on both sides.

use super::Collected;
use super::path::Path;
use super::targets;
use crate::design::{Place, Reference};
use crate::kind::Kind;
use std::collections::HashSet;

/// The share of the keys that are found.
const SHARE: f64 = 0.8;
/// Fewer distinct keys prove nothing.
const KEYS: usize = 10;

/// References by unique indexes of several fields, and by two fields that are unique together.
pub(super) fn find(collected: &[Collected]) -> Vec<Reference> {
    let mut references = Vec::new();
    for to in collected {
        for names in keys(to) {
            for from in collected {
                references.extend(reference(from, to, &names));
            }
        }
    }
    references
}

/// The keys of several fields that a collection has.
fn keys(to: &Collected) -> Vec<Vec<String>> {
    let of_indexes = to
        .facts
        .indexes
        .iter()
        .filter(|index| index.unique && index.keys.len() > 1);
    let mut keys: Vec<Vec<String>> = of_indexes
        .map(|index| index.keys.keys().cloned().collect())
        .collect();
    if keys.is_empty() && to.whole && to.kept.is_whole() && to.kept.all().len() >= 2 * KEYS {
        keys.extend(by_data(to));
    }
    keys
}

/// Two fields that are unique together, and neither alone.
fn by_data(to: &Collected) -> Option<Vec<String>> {
    let may_be = |name: &str| {
        let shape = &to.shape.fields[name];
        let in_each = shape.present() - shape.number(Kind::Null) == to.shape.present();
        let is_key = [Kind::String, Kind::Date, Kind::Int, Kind::ObjectId]
            .iter()
            .any(|kind| shape.number(*kind) == shape.present());
        name != "_id" && in_each && is_key && !shape.twice.never() && shape.distinct.number() > 1
    };
    let names: Vec<&String> = to
        .shape
        .fields
        .keys()
        .filter(|name| may_be(name))
        .take(24)
        .collect();
    for (at, first) in names.iter().enumerate() {
        for second in &names[at + 1..] {
            let paths = [Path::parse(first), Path::parse(second)];
            let mut seen = HashSet::new();
            let is_unique = to
                .kept
                .all()
                .all(|document| key(document, &paths).is_some_and(|key| seen.insert(key)));
            if is_unique {
                return Some(vec![(*first).clone(), (*second).clone()]);
            }
        }
    }
    None
}

fn key(document: &bson::RawDocument, paths: &[Path]) -> Option<u64> {
    let values: Vec<_> = paths
        .iter()
        .filter_map(|path| targets::value_at(document, path))
        .collect();
    (values.len() == paths.len()).then(|| targets::together(&values))
}

fn reference(from: &Collected, to: &Collected, names: &[String]) -> Option<Reference> {
    if from.facts.name == to.facts.name {
        return None;
    }
    let has_all = names.iter().all(|name| {
        let (mine, other) = (from.facts.root.at(name), to.facts.root.at(name));
        mine.zip(other)
            .is_some_and(|(mine, other)| mine.only_kind() == other.only_kind())
    });
    if !has_all || !to.whole || !to.kept.is_whole() {
        return None;
    }
    let paths: Vec<_> = names.iter().map(|name| Path::parse(name)).collect();
    let there: HashSet<u64> = to
        .kept
        .all()
        .filter_map(|document| key(document, &paths))
        .collect();
    let asked: HashSet<u64> = from
        .kept
        .all()
        .filter_map(|document| key(document, &paths))
        .collect();
    let found = asked.iter().filter(|key| there.contains(key)).count();
    let share = found as f64 / asked.len().max(1) as f64;
    if found < KEYS || share < SHARE {
        return None;
    }
    let place = |collected: &Collected| Place {
        collection: collected.facts.name.clone(),
        paths: names.to_vec(),
    };
    let is_indexed = to
        .facts
        .indexes
        .iter()
        .any(|index| index.keys.keys().take(names.len()).eq(names.iter()));
    Some(Reference {
        from: place(from),
        to: place(to),
        distinct: asked.len() as u64,
        unique: true,
        indexed: is_indexed,
        evidence: format!(
            "{found} of {} distinct pairs were found, and the fields have the same names",
            asked.len()
        ),
        confidence: share,
        ..Reference::default()
    })
}
