//! The second pass: what references find, how they are distributed, and which of their neighbours are copies.

use super::Collected;
use super::copies;
use super::fields;
use super::links;
use super::targets::{self, Lookup};
use crate::design::{Copied, Reference, TwoWay};
use crate::read::Source;
use crate::shape::Value;
use crate::sketch::Distribution;
use anyhow::Result;
use std::collections::{BTreeSet, HashMap};

/// For each reference by its number, the positions of the holders of each target, by the hash of its key.
pub(super) type Holders = HashMap<usize, HashMap<u64, Vec<usize>>>;

/// The result of the second pass.
#[derive(Debug, Default)]
pub(super) struct Second {
    pub(super) copies: Vec<Copied>,
    pub(super) two_way: Vec<TwoWay>,
    /// References that are copies beside another reference.
    pub(super) copied: BTreeSet<usize>,
    /// The holders of each reference.
    pub(super) holders: Holders,
}

/// Counts over the documents that were kept, and looks up what they refer to. Only the first `sure` references have copies and links.
pub(super) async fn pass(
    source: &Source,
    collected: &[Collected],
    references: &mut [Reference],
    sure: usize,
) -> Result<Second> {
    let shown = source.options().values;
    let lookups: Vec<(Lookup, bool)> = references
        .iter()
        .enumerate()
        .filter_map(|(at, reference)| Some((Lookup::new(reference, collected)?, at < sure)))
        .collect();
    if lookups.len() != references.len() {
        anyhow::bail!("a reference leads to a collection that was not read");
    }
    let targets = targets::documents(source, collected, &lookups).await?;
    let mut second = Second::default();
    for ((reference, (lookup, is_sure)), targets) in references.iter_mut().zip(&lookups).zip(&targets) {
        let mut per_document = Distribution::default();
        let mut holders: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut per_target: HashMap<u64, u64> = HashMap::new();
        let mut dangling: BTreeSet<Value> = BTreeSet::new();
        for (at, document) in collected[lookup.from].kept.all().enumerate() {
            let mut number = 0;
            lookup.each(document, &mut |holding| {
                let Some(key) = holding.key else {
                    reference.unset += 1;
                    return;
                };
                if !targets.knows(key) {
                    return;
                }
                number += 1;
                reference.values += 1;
                if targets.documents.contains_key(&key) {
                    reference.found += 1;
                    *per_target.entry(key).or_default() += 1;
                    if *is_sure {
                        holders.entry(key).or_default().push(at);
                    }
                } else {
                    reference.dangling += 1;
                    if dangling.len() < 100 {
                        dangling.extend(holding.values.into_iter().next());
                    }
                }
            });
            if number > 0 {
                per_document.add(number);
            }
        }
        let mut of_targets = Distribution::default();
        per_target.values().for_each(|number| of_targets.add(*number));
        reference.per_document = per_document.spread();
        reference.per_target = of_targets.spread();
        reference.examples = fields::examples(dangling.iter(), shown);
        if *is_sure {
            second
                .copies
                .extend(copies::find(reference.id, lookup, targets, collected, shown));
            second.holders.insert(reference.id, holders);
        }
    }
    second.copied = copies::references_that_are_copied(&second.copies, references, collected);
    second.copies.retain(|copied| !second.copied.contains(&copied.by));
    copies::keep_best(&mut second.copies, references);
    second.two_way = links::find(&references[..sure], &lookups, collected, shown);
    Ok(second)
}
