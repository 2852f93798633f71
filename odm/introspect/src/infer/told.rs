//! References of one path to several collections, told apart by a neighbour: a type, or the beginning of an address.

use super::Collected;
use super::columns::Column;
use super::probe::{self, Probes};
use super::references::Candidate;
use crate::design::Told;
use bson::RawBsonRef;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// All targets together have this share of the values.
const TOGETHER: f64 = 0.9;
/// A neighbour tells this share of the values right.
const RIGHT: f64 = 0.98;
/// A neighbour has at most this many values.
const VALUES: usize = 32;

/// The collections that the values of one path refer to, if there are several and a neighbour tells them apart.
pub(super) fn apart(
    candidates: &[Candidate],
    columns: &[Column<'_>],
    collected: &[Collected],
    probes: &Probes,
) -> Option<Vec<Candidate>> {
    let holder = &columns[candidates.first()?.holder];
    let has: Vec<(usize, HashSet<u64>)> = candidates
        .iter()
        .enumerate()
        .map(|(at, candidate)| {
            let found = probe::asked(holder)
                .map(|(hash, _)| *hash)
                .filter(|hash| probes.is_there(*hash, candidate.target, columns, collected))
                .collect();
            (at, found)
        })
        .collect();
    // One target a collection, the one that has most of what the others lack.
    let number = probe::asked(holder).count();
    let mut left: HashSet<u64> = probe::asked(holder).map(|(hash, _)| *hash).collect();
    let mut chosen: Vec<usize> = Vec::new();
    while let Some((at, found)) = has
        .iter()
        .filter(|(at, _)| {
            let collection = columns[candidates[*at].target].collection;
            chosen
                .iter()
                .all(|other| columns[candidates[*other].target].collection != collection)
        })
        .max_by_key(|(at, found)| {
            let more = found.iter().filter(|hash| left.contains(*hash)).count();
            (more, std::cmp::Reverse(*at))
        })
    {
        if found.iter().all(|hash| !left.contains(hash)) {
            break;
        }
        left.retain(|hash| !found.contains(hash));
        chosen.push(*at);
    }
    if chosen.len() < 2 || (left.len() as f64) > (1.0 - TOGETHER) * number as f64 {
        return None;
    }
    let found: Vec<&HashSet<u64>> = chosen.iter().map(|at| &has[*at].1).collect();
    let told = neighbour(holder, &found, collected)?;
    let mut several = Vec::new();
    for (of_target, at) in chosen.iter().enumerate() {
        let Some(values) = told.values.get(&of_target) else {
            continue;
        };
        let mut candidate = candidates[*at].clone();
        candidate.told = Some(Told {
            path: told.path.clone(),
            values: values.iter().cloned().collect(),
            prefix: told.prefix,
        });
        several.push(candidate);
    }
    (several.len() > 1).then_some(several)
}

/// A neighbour that tells targets apart.
struct Neighbour {
    path: String,
    prefix: bool,
    /// The values that say each target.
    values: BTreeMap<usize, BTreeSet<String>>,
}

fn neighbour(holder: &Column<'_>, found: &[&HashSet<u64>], collected: &[Collected]) -> Option<Neighbour> {
    let parent = holder.path.parent()?;
    let own = holder.path.names().next_back()?;
    // For each neighbour and each way to read it, how often a value of it goes with each target.
    let mut counts: BTreeMap<(String, bool), BTreeMap<String, HashMap<usize, u64>>> = BTreeMap::new();
    let mut all = 0_u64;
    for document in collected[holder.collection].kept.all() {
        holder.path.each(document, &mut |object, value| {
            let Some(key) = probe::key_of(&value, holder.class, holder.is_hex) else {
                return;
            };
            let hash = key.hash();
            let in_targets: Vec<usize> = (0..found.len())
                .filter(|target| found[*target].contains(&hash))
                .collect();
            // A value that several have says nothing about the neighbour.
            let [target] = in_targets[..] else { return };
            all += 1;
            for (name, value) in object.iter().flatten() {
                let name: &str = name.as_ref();
                let (RawBsonRef::String(text), true) = (value, name != own) else {
                    continue;
                };
                for (prefix, told) in readings(text) {
                    let of_neighbour = counts.entry((name.to_owned(), prefix)).or_default();
                    *of_neighbour.entry(told).or_default().entry(target).or_default() += 1;
                }
            }
        });
    }
    // The beginning of an address before a text, and few values before many.
    let mut best: Option<((bool, usize), Neighbour)> = None;
    for ((name, prefix), of_values) in counts {
        // A value a document tells nothing.
        if of_values.len() > VALUES || of_values.len() < 2 || of_values.len() as u64 * 2 > all {
            continue;
        }
        let rank = (!prefix, of_values.len());
        let mut right = 0;
        let mut values: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for (value, targets) in of_values {
            let Some((target, number)) = targets
                .into_iter()
                .max_by_key(|(target, number)| (*number, *target))
            else {
                continue;
            };
            right += number;
            values.entry(target).or_default().insert(value);
        }
        if (right as f64) < RIGHT * all as f64 || values.len() < 2 {
            continue;
        }
        let path = parent.then(super::path::Step::Field(name)).to_string();
        if best.as_ref().is_none_or(|(other, _)| rank < *other) {
            best = Some((rank, Neighbour { path, prefix, values }));
        }
    }
    best.map(|(_, neighbour)| neighbour)
}

/// A text as it is, and the beginning of an address: all but its last part, or its first parts.
fn readings(text: &str) -> Vec<(bool, String)> {
    let mut readings = vec![(false, text.to_owned())];
    if let Some((before, _)) = text.rsplit_once('/')
        && !before.is_empty()
    {
        readings.push((true, format!("{before}/")));
    }
    readings
}
