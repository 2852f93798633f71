//! Patterns of several documents: arrays with the newest documents of another collection, and buckets.

use super::Collected;
use super::path::Path;
use super::second::Holders;
use super::targets;
use crate::design::{Bucket, Collection, ComputedKind, Design, Field, Reference, Subset, TreePath};
use crate::kind::Kind;
use crate::shape::Value;
use bson::{RawBsonRef, RawDocument};
use std::collections::{BTreeSet, HashMap};

/// The share of the arrays that are as they should be.
const SHARE: f64 = 0.7;
/// Fewer documents with such an array prove nothing.
const DOCUMENTS: u64 = 5;
/// A bucket has at least this many items, somewhere.
const ITEMS: u64 = 5;

/// Arrays of embedded documents that are the newest or greatest of those that refer to their document.
pub(super) fn subsets(collected: &[Collected], references: &[Reference], holders: &Holders) -> Vec<Subset> {
    let at = |name: &str| collected.iter().find(|collected| collected.facts.name == name);
    let mut all = Vec::new();
    for reference in references {
        let (Some(to), Some(from)) = (at(&reference.to.collection), at(&reference.from.collection)) else {
            continue;
        };
        let is_of_children =
            reference.from.paths.len() == 1 && reference.to.paths.len() == 1 && !reference.many;
        if !is_of_children || !from.whole || !from.kept.is_whole() {
            continue;
        }
        let Some(holders) = holders.get(&reference.id) else {
            continue;
        };
        let children: Vec<&RawDocument> = from.kept.all().collect();
        for array in to.facts.root.fields.iter().filter(|field| field.items.is_some()) {
            all.extend(subset(to, from, reference, array, holders, &children));
        }
    }
    all
}

fn subset(
    to: &Collected,
    from: &Collected,
    reference: &Reference,
    array: &Field,
    holders: &HashMap<u64, Vec<usize>>,
    children: &[&RawDocument],
) -> Option<Subset> {
    let items = array.items.as_deref()?;
    // The fields that an item has of a child.
    let shared: Vec<&str> = items
        .fields
        .iter()
        .filter(|field| {
            let own = from.facts.root.fields.iter().find(|own| own.name == field.name);
            own.is_some_and(|own| own.only_kind() == field.only_kind() && field.fields.is_empty())
        })
        .map(|field| field.name.as_str())
        .collect();
    if shared.is_empty() || shared.len() * 2 < items.fields.len() {
        return None;
    }
    let mut orders: Vec<&Field> = from
        .facts
        .root
        .fields
        .iter()
        .filter(|field| {
            let is_order = |kind: Kind| kind.is_number() || matches!(kind, Kind::Date | Kind::ObjectId);
            field.only_kind().is_some_and(is_order) && !field.is_optional()
        })
        .collect();
    // Of orders that say the same, a date is meant, or a number, and not the id.
    orders.sort_by_key(|field| match field.only_kind() {
        Some(Kind::Date) => 0,
        Some(Kind::ObjectId) => 2,
        _ => 1 + u8::from(field.name == "_id"),
    });
    let key = Path::parse(&reference.to.paths[0]);
    let identity = |document: &RawDocument| -> Vec<Option<Value>> {
        let value = |name: &&str| {
            document
                .get(*name)
                .ok()
                .flatten()
                .and_then(|value| Value::of(&value))
        };
        shared.iter().map(value).collect()
    };
    let mut best: Option<Subset> = None;
    for order in orders {
        let (mut equal, mut different, mut greatest) = (0, 0, 0);
        let (mut descending, mut ascending) = (0, 0);
        // An array with all children is the other side of their reference.
        let mut is_part = false;
        for document in to.kept.all() {
            let Some(RawBsonRef::Array(stored)) = document.get(array.name.as_str()).ok().flatten() else {
                continue;
            };
            let stored: Vec<_> = stored
                .into_iter()
                .flatten()
                .filter_map(|item| item.as_document().map(identity))
                .collect();
            let own = targets::value_at(document, &key).and_then(|key| holders.get(&key.hash()));
            let mut own: Vec<&RawDocument> = own.into_iter().flatten().map(|at| children[*at]).collect();
            if stored.is_empty() && own.is_empty() {
                continue;
            }
            own.sort_by(|a, b| by(order, b).total_cmp(&by(order, a)));
            let newest: Vec<_> = own
                .iter()
                .take(stored.len())
                .map(|child| identity(child))
                .collect();
            is_part |= own.len() > stored.len();
            greatest = greatest.max(stored.len() as u64);
            if stored.len() > 1 {
                descending += u64::from(stored == newest);
                ascending += u64::from(stored.iter().eq(newest.iter().rev()));
            }
            let (stored, newest): (BTreeSet<_>, BTreeSet<_>) =
                (stored.into_iter().collect(), newest.into_iter().collect());
            if !stored.is_empty() && stored == newest {
                equal += 1;
            } else {
                different += 1;
            }
        }
        let all = equal + different;
        let is_one = is_part && all >= DOCUMENTS && equal as f64 >= SHARE * all as f64;
        if is_one && best.as_ref().is_none_or(|best| equal > best.equal) {
            best = Some(Subset {
                collection: to.facts.name.clone(),
                path: array.path.clone(),
                by: reference.id,
                order: order.path.clone(),
                descending: descending >= ascending,
                limit: greatest,
                equal,
                different,
            });
        }
    }
    best
}

/// Takes out what a subset says already: its elements refer to children by a field that is no key of theirs, and are no other side of
/// the children's reference.
pub(super) fn leave_to_subsets(design: &mut Design) {
    let subsets = std::mem::take(&mut design.subsets);
    let is_within = |reference: &Reference| {
        subsets.iter().any(|subset| {
            let begins = |path: &String| {
                path.strip_prefix(&subset.path)
                    .is_some_and(|rest| rest.starts_with("[]"))
            };
            reference.from.collection == subset.collection && reference.from.paths.iter().any(begins)
        })
    };
    let within: BTreeSet<usize> = design
        .references
        .iter()
        .filter(|reference| is_within(reference))
        .map(|reference| reference.id)
        .collect();
    let is_declared = |reference: &Reference| {
        let to = design
            .collections
            .iter()
            .find(|collection| collection.name == reference.to.collection);
        let is_of = |index: &crate::design::Index| index.unique && index.keys.keys().eq(&reference.to.paths);
        reference.to.paths == ["_id"] || to.is_some_and(|to| to.indexes.iter().any(is_of))
    };
    let kept: BTreeSet<usize> = design
        .references
        .iter()
        .filter(|reference| !within.contains(&reference.id) || is_declared(reference))
        .map(|reference| reference.id)
        .collect();
    design.references.retain(|reference| kept.contains(&reference.id));
    design.copies.retain(|copied| kept.contains(&copied.by));
    design
        .two_way
        .retain(|link| !within.contains(&link.a) && !within.contains(&link.b));
    design
        .computed
        .retain(|computed| computed.by.is_none_or(|by| kept.contains(&by)));
    design.subsets = subsets;
}

/// The place of a document in an order.
fn by(order: &Field, document: &RawDocument) -> f64 {
    match document.get(order.name.as_str()).ok().flatten() {
        Some(RawBsonRef::Int32(number)) => number.into(),
        Some(RawBsonRef::Int64(number)) => number as f64,
        Some(RawBsonRef::Double(number)) => number,
        Some(RawBsonRef::DateTime(date)) => date.timestamp_millis() as f64,
        // The seconds, and behind them the counter.
        Some(RawBsonRef::ObjectId(id)) => {
            let bytes = id.bytes();
            let seconds = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let counter = u32::from_be_bytes([0, bytes[9], bytes[10], bytes[11]]);
            f64::from(seconds) + f64::from(counter) / f64::from(1_u32 << 24)
        }
        _ => f64::NEG_INFINITY,
    }
}

/// Collections whose documents hold a part of a long list each: an array with its length beside it, and a key that several share.
pub(super) fn buckets(design: &Design) -> Vec<Bucket> {
    let mut buckets = Vec::new();
    for collection in &design.collections {
        let is_many = |field: &&Field| {
            let number = field.kinds.values().sum::<u64>();
            field.name != "_id" && !field.unique && field.distinct > 0 && field.distinct * 3 <= number * 2
        };
        let referred = design.references.iter().filter(|reference| {
            reference.from.collection == collection.name && !reference.many && reference.from.paths.len() == 1
        });
        let indexed = collection
            .indexes
            .iter()
            .filter_map(|index| index.keys.keys().next());
        let keys = referred.map(|reference| &reference.from.paths[0]).chain(indexed);
        let mut keys = keys
            .filter_map(|path| collection.root.at(path))
            .filter(|key| key.name != "_id")
            .peekable();
        let first = keys.peek().copied();
        let shared = keys.find(is_many);
        let lengths = design.computed.iter().filter(|computed| {
            let is_top = !computed.path.contains(['.', '[', '{']);
            computed.collection == collection.name && computed.kind == ComputedKind::Length && is_top
        });
        for computed in lengths {
            let Some(array) = collection.root.at(&computed.of[0]) else {
                continue;
            };
            let limit = array.lengths.as_ref().map_or(0, |lengths| lengths.greatest);
            let Some(key) = shared.or(first.filter(|_| has_bounds(collection, array))) else {
                continue;
            };
            if limit >= ITEMS {
                buckets.push(Bucket {
                    collection: collection.name.clone(),
                    items: array.path.clone(),
                    key: key.path.clone(),
                    count: Some(computed.path.clone()),
                    limit,
                });
            }
        }
    }
    buckets
}

/// The signs between the keys of a materialised path.
const SEPARATORS: [char; 7] = ['/', ',', '|', '>', '.', ':', '#'];
/// The share of the texts of which all keys are found.
const WAYS: f64 = 0.9;

/// A text of each document whose parts are keys of documents of the same collection: the way from the root of a tree.
pub(super) fn tree_path(collected: &Collected) -> Option<TreePath> {
    let root = &collected.facts.root;
    if !collected.whole || !collected.kept.is_whole() {
        return None;
    }
    let documents: Vec<&RawDocument> = collected.kept.all().collect();
    let is_text = |field: &&Field| field.only_kind() == Some(Kind::String);
    let keys: Vec<(&Field, HashMap<String, usize>)> = root
        .fields
        .iter()
        .filter(|field| field.unique && !field.is_optional())
        .map(|field| {
            let values = documents.iter().enumerate();
            let known = values.filter_map(|(at, document)| Some((part(document, &field.name)?, at)));
            (field, known.collect())
        })
        .collect();
    let mut best: Option<TreePath> = None;
    for text in root.fields.iter().filter(is_text) {
        for (separator, (key, known)) in SEPARATORS
            .iter()
            .flat_map(|sign| keys.iter().map(move |key| (*sign, key)))
            .filter(|(_, (key, _))| key.name != text.name)
        {
            let (mut equal, mut different, mut deep, mut own) = (0, 0, 0_u64, 0_u64);
            for (at, document) in documents.iter().enumerate() {
                let Ok(way) = document.get_str(&text.name) else {
                    continue;
                };
                let parts: Vec<&str> = way.split(separator).filter(|part| !part.is_empty()).collect();
                let found: Option<Vec<usize>> = parts.iter().map(|part| known.get(*part).copied()).collect();
                deep += u64::from(parts.len() > 1);
                match found {
                    Some(found) => {
                        equal += u64::from(!found.is_empty());
                        own += u64::from(found.last() == Some(&at));
                    }
                    None => different += 1,
                }
            }
            let all = equal + different;
            let is_one = equal >= DOCUMENTS && deep * 4 >= all && equal as f64 >= WAYS * all as f64;
            if is_one && best.as_ref().is_none_or(|best| equal > best.equal) {
                best = Some(TreePath {
                    collection: collected.facts.name.clone(),
                    path: text.path.clone(),
                    separator: separator.to_string(),
                    key: key.path.clone(),
                    own: own as f64 >= WAYS * equal as f64,
                    equal,
                    different,
                });
            }
        }
    }
    best
}

/// A key as it stands in a materialised path.
fn part(document: &RawDocument, name: &str) -> Option<String> {
    Some(match document.get(name).ok()?? {
        RawBsonRef::String(text) => text.to_owned(),
        RawBsonRef::ObjectId(id) => id.to_hex(),
        RawBsonRef::Int32(number) => number.to_string(),
        RawBsonRef::Int64(number) => number.to_string(),
        _ => return None,
    })
}

/// Whether a document has two dates beside an array of documents with a date: its first and its last.
fn has_bounds(collection: &Collection, array: &Field) -> bool {
    let dates = |fields: &[Field]| {
        fields
            .iter()
            .filter(|field| field.only_kind() == Some(Kind::Date))
            .count()
    };
    let of_items = array.items.as_deref().map_or(0, |items| dates(&items.fields));
    of_items > 0 && dates(&collection.root.fields) >= 2
}
