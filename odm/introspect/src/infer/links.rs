//! Links: two references that say the same from both sides, or one that is its own other side.

use super::Collected;
use super::path::Path;
use super::targets::{self, Lookup};
use crate::design::{Reference, TwoWay};
use std::collections::BTreeSet;

/// The share of the pairs of the smaller side that the other has, too, from which on two references are one link.
const AGREE: f64 = 0.3;
/// The pairs that are compared.
const PAIRS: usize = 1_000_000;

type Pairs = BTreeSet<(String, String)>;

/// The links among references.
pub(super) fn find(
    references: &[Reference],
    lookups: &[(Lookup, bool)],
    collected: &[Collected],
    shown: bool,
) -> Vec<TwoWay> {
    let mut found: Vec<(f64, usize, usize, TwoWay)> = Vec::new();
    for (at, a) in references.iter().enumerate() {
        for (other, b) in references.iter().enumerate().skip(at) {
            let is_pair = a.from.collection == b.to.collection && b.from.collection == a.to.collection;
            if !is_pair || a.to.paths.len() > 1 || b.to.paths.len() > 1 || (at == other && !a.many) {
                continue;
            }
            let of_a = pairs(&lookups[at].0, &b.to.paths[0], collected);
            let turned = |pairs: Pairs| {
                pairs
                    .into_iter()
                    .map(|(own, other)| (other, own))
                    .collect::<Pairs>()
            };
            let of_b = turned(pairs(&lookups[other].0, &a.to.paths[0], collected));
            let agree = of_a.intersection(&of_b).count();
            let least = of_a.len().min(of_b.len());
            if agree == 0 || (agree as f64) < AGREE * least as f64 {
                continue;
            }
            let (only_a, only_b) = (of_a.len() - agree, of_b.len() - agree);
            let examples = of_a.symmetric_difference(&of_b).take(if shown { 8 } else { 0 });
            let link = TwoWay {
                a: a.id,
                b: b.id,
                agree: agree as u64,
                only_a: only_a as u64,
                // A pair of a symmetric link that is missing is missing once.
                only_b: if at == other { 0 } else { only_b as u64 },
                examples: examples.map(|(from, to)| format!("{from} → {to}")).collect(),
            };
            let all = of_a.len() + of_b.len() - agree;
            found.push((agree as f64 / all as f64, at, other, link));
        }
    }
    // Each reference has one other side: the one that says most of the same.
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut taken = BTreeSet::new();
    let mut links = Vec::new();
    for (_, a, b, link) in found {
        if !taken.contains(&a) && !taken.contains(&b) {
            taken.extend([a, b]);
            links.push(link);
        }
    }
    links
}

/// The pairs of a document's own key and what it refers to.
fn pairs(lookup: &Lookup, own: &str, collected: &[Collected]) -> Pairs {
    let own = Path::parse(own);
    let mut pairs = Pairs::new();
    for document in collected[lookup.from].kept.all() {
        let Some(key) = targets::value_at(document, &own) else {
            continue;
        };
        lookup.each(document, &mut |holding| {
            if let (Some(value), true) = (holding.values.first(), pairs.len() < PAIRS) {
                pairs.insert((key.text(), value.text()));
            }
        });
    }
    pairs
}
