//! Which values of one column are there in another: from what was read where that has all values, else by queries of the target.

use super::Collected;
use super::columns::{Class, Column};
use super::path::{Found, Path};
use crate::read::Source;
use crate::shape::Value;
use anyhow::Result;
use bson::{Bson, RawBsonRef};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The number of values of a holder that are looked up.
const LOOKED_UP: usize = 200;

/// The values of targets that are known.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// For each target, the values that were asked for and are there.
    found: HashMap<usize, HashSet<u64>>,
}

/// The values of a holder that are looked up, with their hashes.
pub(super) fn asked<'a>(holder: &'a Column<'_>) -> impl Iterator<Item = &'a (u64, Value)> {
    holder.values.iter().take(LOOKED_UP)
}

/// The share of a holder's values that are in a target, and their number; `None` where it has to be asked for.
pub(super) fn known(
    holder: &Column<'_>,
    target: &Column<'_>,
    collected: &[Collected],
) -> Option<(f64, usize)> {
    let is_all_read = collected[target.collection].whole;
    let all = target
        .shape
        .and_then(|shape| shape.twice.all())
        .filter(|_| !target.is_hex);
    let is_there: Box<dyn Fn(u64) -> bool> = match all {
        Some(all) if is_all_read => Box::new(|hash| all.contains(&hash)),
        _ if is_all_read && target.is_whole => {
            let all: HashSet<u64> = target.values.iter().map(|(hash, _)| *hash).collect();
            Box::new(move |hash| all.contains(&hash))
        }
        _ => return None,
    };
    let number = asked(holder).count();
    let found = asked(holder).filter(|(hash, _)| is_there(*hash)).count();
    Some((found as f64 / number.max(1) as f64, found))
}

impl Probes {
    /// Asks for the values of the holders of each target, by position: those with an index by queries, the others by one scan of their
    /// collection, which is noted.
    pub(super) async fn run(
        source: &Source,
        columns: &[Column<'_>],
        collected: &[Collected],
        pairs: &[(usize, usize)],
    ) -> Result<(Self, Vec<String>)> {
        let mut wanted: BTreeMap<usize, HashMap<u64, Bson>> = BTreeMap::new();
        for (holder, target) in pairs {
            let of_target = wanted.entry(*target).or_default();
            for (hash, value) in asked(&columns[*holder]) {
                of_target.extend(value.bson().map(|value| (*hash, value)));
            }
        }
        let mut probes = Self::default();
        let mut notes = Vec::new();
        let mut scans: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (target, values) in &wanted {
            let column = &columns[*target];
            if !column.is_indexed || column.is_hex {
                scans.entry(column.collection).or_default().push(*target);
                continue;
            }
            let name = &collected[column.collection].facts.name;
            let values = values.values().cloned().collect();
            let documents = source
                .find(name, &column.text, values, std::slice::from_ref(&column.text))
                .await?;
            let found = probes.found.entry(*target).or_default();
            for document in &documents {
                found.extend(hash_at(document, &column.path, column));
            }
        }
        for (collection, targets) in scans {
            let name = &collected[collection].facts.name;
            let paths: Vec<_> = targets
                .iter()
                .map(|target| columns[*target].text.clone())
                .collect();
            notes.push(format!(
                "`{name}` was read a second time, for values of `{}`, which no index has",
                paths.join("`, `")
            ));
            let mut found: HashMap<usize, HashSet<u64>> = HashMap::new();
            source
                .scan(name, &paths, &mut |document| {
                    for target in &targets {
                        let column = &columns[*target];
                        if let Some(hash) = hash_at(document, &column.path, column)
                            && wanted[target].contains_key(&hash)
                        {
                            found.entry(*target).or_default().insert(hash);
                        }
                    }
                })
                .await?;
            probes.found.extend(found);
        }
        Ok((probes, notes))
    }

    /// The share of a holder's values that are in a target, and their number.
    pub(super) fn share(
        &self,
        holder: &Column<'_>,
        target: usize,
        columns: &[Column<'_>],
        collected: &[Collected],
    ) -> (f64, usize) {
        if let Some(known) = known(holder, &columns[target], collected) {
            return known;
        }
        let number = asked(holder).count();
        let found = asked(holder).filter(|(hash, _)| self.has(target, *hash)).count();
        (found as f64 / number.max(1) as f64, found)
    }

    fn has(&self, target: usize, hash: u64) -> bool {
        self.found.get(&target).is_some_and(|found| found.contains(&hash))
    }

    /// Whether a value that was asked for is in a target.
    pub(super) fn is_there(
        &self,
        hash: u64,
        target: usize,
        columns: &[Column<'_>],
        collected: &[Collected],
    ) -> bool {
        let column = &columns[target];
        if collected[column.collection].whole {
            if let Some(all) = column
                .shape
                .and_then(|shape| shape.twice.all())
                .filter(|_| !column.is_hex)
            {
                return all.contains(&hash);
            }
            if column.is_whole {
                return column.values.iter().any(|(other, _)| *other == hash);
            }
        }
        self.has(target, hash)
    }
}

/// The value at a path as the hash by which it is compared in a column.
fn hash_at(document: &bson::RawDocument, path: &Path, column: &Column<'_>) -> Option<u64> {
    key_of(&path.first(document)?, column.class, column.is_hex).map(|value| value.hash())
}

/// A found value as a key of its class: the text of an ObjectId is one, where the column has such texts.
pub(super) fn key_of(found: &Found<'_>, class: Class, is_hex: bool) -> Option<Value> {
    let value = match found {
        Found::Value(value) => Value::of(value)?,
        Found::Key(key) => Value::of(&RawBsonRef::String(key))?,
    };
    if class == Class::Id && is_hex {
        return value.as_id();
    }
    Some(value)
}
