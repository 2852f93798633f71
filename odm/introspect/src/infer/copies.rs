//! Copies: fields beside a reference that equal a field of the document that it names.

use super::Collected;
use super::path::{Found, Path, Step};
use super::targets::{Lookup, Targets};
use crate::design::{Copied, Reference};
use crate::shape::Value;
use bson::{RawBsonRef, RawDocument};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The pairs of a holder and its target by which candidates are chosen.
const TRIED: usize = 400;
/// The fields of a document that are compared.
const FIELDS: usize = 150;
/// Below this number of distinct values equality proves little.
const FEW: usize = 20;
/// Values of the same name are copies from this share of equal ones on.
const SAME_NAME: f64 = 0.5;
/// Values of another name are copies from this share on.
const OTHER_NAME: f64 = 0.9;

/// Null, as a value that is compared.
const NULL: Value = Value::Other(0);

/// The copies beside a reference.
pub(super) fn find(
    by: usize,
    lookup: &Lookup,
    targets: &Targets,
    collected: &[Collected],
    shown: bool,
) -> Vec<Copied> {
    let Some(parent) = lookup.parent() else {
        return Vec::new();
    };
    let own: Vec<String> = lookup
        .paths()
        .iter()
        .filter_map(|path| path.names().next_back().map(str::to_owned))
        .collect();
    let mut pairs: Vec<(&RawDocument, &RawDocument, &RawDocument)> = Vec::new();
    for document in collected[lookup.from].kept.all() {
        lookup.each(document, &mut |holding| {
            if let Some(target) = holding.key.and_then(|key| targets.documents.get(&key)) {
                pairs.push((document, holding.parent, target));
            }
        });
    }
    let tried = tried(&pairs, &own);
    let is_root = parent == Path::default();
    let counted: Vec<Copied> = tried
        .into_iter()
        .filter_map(|(copy, from)| counted(by, &parent, &pairs, &copy, &from, shown))
        .collect();
    // An embedded document with several copies is a copy as a whole: also where most of a field that changes often are stale.
    let is_whole = !is_root
        && counted
            .iter()
            .filter(|copied| is_same_name(copied) && is_copy(copied, is_root))
            .count()
            >= 3;
    let mut copies: Vec<Copied> = counted
        .into_iter()
        .filter(|copied| is_copy(copied, is_root) || (is_whole && is_same_name(copied)))
        .collect();
    // One source for each copy: the one of the same name, or the one that is equal most often.
    copies.sort_by(|a, b| {
        (&a.path, !is_same_name(a), b.equal, a.from.len()).cmp(&(
            &b.path,
            !is_same_name(b),
            a.equal,
            b.from.len(),
        ))
    });
    copies.dedup_by(|a, b| a.path == b.path);
    copies
}

/// The candidates: paths below the holder and below the target that are equal often enough, in the first pairs.
fn tried(pairs: &[(&RawDocument, &RawDocument, &RawDocument)], own: &[String]) -> Vec<(Path, Path)> {
    let mut equal: BTreeMap<(String, String), (usize, Path, Path)> = BTreeMap::new();
    let mut there: HashMap<String, usize> = HashMap::new();
    // Spread over all pairs: the first ones may have one target.
    let step = pairs.len().div_ceil(TRIED).max(1);
    for (_, holder, target) in pairs.iter().step_by(step) {
        let mut sources: HashMap<Value, Vec<Path>> = HashMap::new();
        for (path, value) in leaves(target, true) {
            sources.entry(value).or_default().push(path);
        }
        for (path, value) in leaves(holder, false) {
            let text = path.to_string();
            if own.contains(&text) || text == "_id" {
                continue;
            }
            *there.entry(text.clone()).or_default() += 1;
            for source in sources.get(&value).into_iter().flatten() {
                let at = (text.clone(), source.to_string());
                equal
                    .entry(at)
                    .or_insert_with(|| (0, path.clone(), source.clone()))
                    .0 += 1;
            }
        }
    }
    equal
        .into_iter()
        .filter(|((copy, from), (number, ..))| {
            let least = if last(copy) == last(from) { 0.1 } else { 0.4 };
            *number as f64 >= least * there[copy] as f64
        })
        .map(|(_, (_, copy, from))| (copy, from))
        .collect()
}

/// The values of a document that are in no array; of a target the first of an array and the first key of a map, too.
fn leaves(document: &RawDocument, is_target: bool) -> Vec<(Path, Value)> {
    let mut leaves = Vec::new();
    into(document, &Path::default(), is_target, 0, &mut leaves);
    leaves
}

fn into(document: &RawDocument, path: &Path, is_target: bool, depth: usize, leaves: &mut Vec<(Path, Value)>) {
    for (at, (name, value)) in document.iter().flatten().enumerate() {
        if leaves.len() >= FIELDS {
            return;
        }
        let name: &str = name.as_ref();
        if is_target && depth > 0 && at == 0 && !name.is_empty() {
            let is_code = name.len() <= 3
                || !name
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || letter == '_');
            if is_code && let Some(key) = Value::of(&RawBsonRef::String(name)) {
                leaves.push((path.then(Step::Key), key));
            }
        }
        let path = path.then(Step::Field(name.to_owned()));
        match value {
            RawBsonRef::Document(below) if depth < 3 => into(below, &path, is_target, depth + 1, leaves),
            RawBsonRef::Array(array) if is_target => {
                if let Some(Ok(first)) = array.into_iter().next()
                    && let Some(value) = of(&first)
                {
                    leaves.push((path.then(Step::Items), value));
                }
            }
            value => leaves.extend(of(&value).map(|value| (path, value))),
        }
    }
}

/// A value that is compared: null is one, too.
fn of(value: &RawBsonRef<'_>) -> Option<Value> {
    match value {
        RawBsonRef::Null => Some(NULL),
        value => Value::of(value),
    }
}

fn first(document: &RawDocument, path: &Path) -> Option<Value> {
    match path.first(document)? {
        Found::Value(value) => of(&value),
        Found::Key(key) => Value::of(&RawBsonRef::String(key)),
    }
}

/// The figures of a copy, over all pairs.
fn counted(
    by: usize,
    parent: &Path,
    pairs: &[(&RawDocument, &RawDocument, &RawDocument)],
    copy: &Path,
    from: &Path,
    shown: bool,
) -> Option<Copied> {
    let before = match parent.to_string() {
        parent if parent.is_empty() => String::new(),
        parent => format!("{parent}."),
    };
    let mut copied = Copied {
        path: format!("{before}{copy}"),
        by,
        from: from.to_string(),
        ..Copied::default()
    };
    let mut values: HashMap<Value, u64> = HashMap::new();
    let mut sources: HashSet<Value> = HashSet::new();
    for (document, holder, target) in pairs {
        let Some(value) = first(holder, copy) else {
            continue;
        };
        *values.entry(value.clone()).or_default() += 1;
        let Some(source) = first(target, from) else {
            copied.lacking += 1;
            continue;
        };
        if source == value {
            copied.equal += 1;
        } else {
            copied.stale += 1;
            if shown && copied.examples.len() < 5 {
                let id = document.get("_id").ok().flatten().and_then(|id| Value::of(&id));
                let id = id.map_or_else(|| "…".to_owned(), |id| id.text());
                copied
                    .examples
                    .push(format!("{id}: {}, {}", value.text(), source.text()));
            }
        }
        sources.insert(source);
    }
    let all: u64 = values.values().sum();
    copied.distinct = values.len() as u64;
    copied.commonest = *values.values().max()? as f64 / all as f64;
    copied.weak = sources.len() < 3 || (sources.len() < FEW && copied.commonest > 0.8);
    let compared = copied.equal + copied.stale;
    copied.evidence = format!(
        "{} of {compared} are equal; {} distinct values, the commonest has {:.0} %",
        copied.equal,
        copied.distinct,
        100.0 * copied.commonest
    );
    Some(copied)
}

fn is_copy(copied: &Copied, is_root: bool) -> bool {
    let compared = copied.equal + copied.stale;
    if compared == 0 {
        return false;
    }
    let share = copied.equal as f64 / compared as f64;
    let is_many = copied.distinct as usize >= FEW && copied.commonest < 0.2;
    if is_same_name(copied) {
        // In a document itself fields of one name may be equal by chance: as often as the commonest value.
        let by_chance = is_root && share < 1.0 && share < copied.commonest + 0.05;
        return share >= SAME_NAME && !by_chance;
    }
    let is_told = copied.distinct >= 4 && copied.commonest <= 0.6;
    (share >= OTHER_NAME && is_told) || (share >= SAME_NAME && is_many)
}

fn is_same_name(copied: &Copied) -> bool {
    last(&copied.path) == last(&copied.from)
}

fn last(path: &str) -> &str {
    let name = path.rsplit('.').next().unwrap_or(path);
    name.trim_end_matches("[]").trim_end_matches("{key}")
}

/// References by a field that another reference of the same document brings along: `shipAddress.street` of the customer that
/// `customerId` names. They are copies, unless their target is declared to be unique.
pub(super) fn references_that_are_copied(
    copies: &[Copied],
    references: &[Reference],
    collected: &[Collected],
) -> BTreeSet<usize> {
    let is_declared = |reference: &Reference| {
        let to = collected
            .iter()
            .find(|collected| collected.facts.name == reference.to.collection);
        let of = |index: &crate::design::Index| index.unique && index.keys.keys().eq(&reference.to.paths);
        reference.to.paths == ["_id"] || to.is_some_and(|to| to.facts.indexes.iter().any(of))
    };
    let is_of_id = |reference: &Reference| super::names::is_of_id(last(&reference.from.paths[0]));
    let brings = |copied: &Copied, reference: &Reference| {
        reference.from.paths == [copied.path.as_str()] && reference.to.paths == [copied.from.as_str()]
    };
    let by = |copied: &Copied| references.iter().find(|reference| reference.id == copied.by);
    let is_copied = |reference: &&Reference| {
        copies.iter().any(|copied| {
            let Some(other) = by(copied) else { return false };
            let is_same = !other.to.paths[0].ends_with("{key}")
                && other.from.collection == reference.from.collection
                && other.to.collection == reference.to.collection
                && brings(copied, reference);
            // Of two that bring each other along, the one with the better key is the reference.
            let both = copies
                .iter()
                .any(|back| back.by == reference.id && brings(back, other));
            let rank = |reference: &Reference| (is_declared(reference), is_of_id(reference));
            is_same && (!both || (rank(other), reference.id) > (rank(reference), other.id))
        })
    };
    references
        .iter()
        .filter(|reference| !is_declared(reference) && !reference.to.paths[0].ends_with("{key}"))
        .filter(is_copied)
        .map(|reference| reference.id)
        .collect()
}

/// One reference for each copy: the one that is in the same document, and is equal most often.
pub(super) fn keep_best(copies: &mut Vec<Copied>, references: &[Reference]) {
    let collection = |copied: &Copied| {
        references
            .iter()
            .find(|reference| reference.id == copied.by)
            .map(|reference| reference.from.collection.clone())
            .unwrap_or_default()
    };
    let depth = |copied: &Copied| {
        references
            .iter()
            .find(|reference| reference.id == copied.by)
            .and_then(|reference| reference.from.paths.first())
            .map_or(0, |path| path.matches('.').count())
    };
    // A path that refers to a field itself is no copy of it.
    copies.retain(|copied| {
        references.iter().all(|reference| {
            reference.from.collection != collection(copied)
                || reference.from.paths != [copied.path.as_str()]
                || reference.to.paths != [copied.from.as_str()]
                || copied.from.ends_with("{key}")
        })
    });
    copies.sort_by_key(|copied| {
        let is_other_name = !is_same_name(copied);
        let depth = std::cmp::Reverse(depth(copied));
        (
            collection(copied),
            copied.path.clone(),
            depth,
            is_other_name,
            std::cmp::Reverse(copied.equal),
            copied.by,
        )
    });
    // Values of one path may refer to several collections: each has its own source.
    let mut seen: HashMap<(String, String), (String, Vec<usize>)> = HashMap::new();
    copies.retain(|copied| {
        let reference = references.iter().find(|reference| reference.id == copied.by);
        let path = reference
            .and_then(|reference| reference.from.paths.first())
            .cloned()
            .unwrap_or_default();
        let first = seen
            .entry((collection(copied), copied.path.clone()))
            .or_insert_with(|| (path.clone(), Vec::new()));
        let is_kept = first.1.is_empty()
            || (first.0 == path && reference.is_some_and(|reference| reference.told.is_some()));
        if is_kept {
            first.1.push(copied.by);
        }
        is_kept
    });
    copies.sort_by(|a, b| (a.by, &a.path).cmp(&(b.by, &b.path)));
}
