//! References: columns whose values are found in a unique column of a collection.
//!
//! For ObjectIds and UUIDs it is enough that they are found. Integers and texts are found by chance, too: there the evidence is how
//! unlikely chance is ([`surprise`]), the names, and the neighbours that are found in the same collection.

use super::Collected;
use super::columns::{Class, Column};
use super::names;
use super::probe::{self, Probes};
use super::told;
use crate::design::{Compared, Place, Reference, Told};
use crate::kind::Kind;
use crate::read::Source;
use crate::shape::Value;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The least share of ids that are found in a target.
const IDS: f64 = 0.3;
/// The least share of texts and integers that are found.
const SHARE: f64 = 0.8;
/// The same where the name says what is referred to.
const SHARE_BY_NAME: f64 = 0.5;
/// How unlikely it is that texts or integers are found by chance: the negative logarithm of the probability.
const SURPRISE: f64 = 7.0;
/// The same where half of the values are enough.
const CERTAIN: f64 = 40.0;
/// Integers are dense where a target has one in this many of its range.
const DENSE: f64 = 1e-3;

/// A column whose values are found in another.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) holder: usize,
    pub(super) target: usize,
    /// The share of the distinct values that were looked up and found.
    pub(super) share: f64,
    /// The number of those.
    pub(super) found: usize,
    /// How much of the target's name is in the holder's: of its collection's, or of its own.
    name: f64,
    /// How much of the name of the target's collection is in the holder's.
    of_collection: f64,
    surprise: f64,
    score: f64,
    pub(super) told: Option<Told>,
    /// Whether the holder's name is that of the collection, and no more.
    is_exact: bool,
    /// Whether no other target has all of the values.
    is_only: bool,
    /// Whether other fields of the same embedded document are found in the same collection.
    has_neighbours: bool,
}

/// Finds the references, with what was read a second time for them.
pub(super) async fn find(
    source: &Source,
    columns: &[Column<'_>],
    collected: &[Collected],
) -> Result<(Vec<Reference>, Vec<String>)> {
    let pairs = pairs(columns, collected);
    let unknown: Vec<_> = pairs
        .iter()
        .copied()
        .filter(|(holder, target)| probe::known(&columns[*holder], &columns[*target], collected).is_none())
        .collect();
    let (probes, notes) = Probes::run(source, columns, collected, &unknown).await?;
    let mut of_holder: BTreeMap<usize, Vec<Candidate>> = BTreeMap::new();
    for (holder, target) in pairs {
        let (share, found) = probes.share(&columns[holder], target, columns, collected);
        if found > 0 && !is_itself(&columns[holder], &columns[target], collected) {
            let is_there = |hash| probes.is_there(hash, target, columns, collected);
            let surprise = surprise(&columns[holder], &columns[target], &is_there);
            let candidate = candidate(columns, collected, (holder, target), (share, found), surprise);
            of_holder.entry(holder).or_default().push(candidate);
        }
    }
    keep_one_direction(&mut of_holder, columns);
    forget_targets_that_refer(&mut of_holder, columns);
    let mut chosen = Vec::new();
    for candidates in of_holder.values_mut() {
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
        chosen.extend(choose(candidates, columns, collected, &probes));
    }
    let chosen = of_neighbours(chosen, columns);
    let references = chosen
        .into_iter()
        .map(|candidate| reference(&candidate, columns, collected))
        .collect();
    Ok((references, notes))
}

/// The pairs of a holder and a target that are worth a look.
fn pairs(columns: &[Column<'_>], collected: &[Collected]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (target, to) in columns.iter().enumerate() {
        let named = if to.is_target {
            None
        } else {
            NamedTarget::of(to, collected)
        };
        if !to.is_target && named.is_none() {
            continue;
        }
        for (holder, from) in columns.iter().enumerate() {
            let is_same = holder == target || from.class != to.class;
            if !is_same
                && named.as_ref().is_none_or(|named| named.is_meant_by(from))
                && may_refer(from, to, collected)
            {
                pairs.push((holder, target));
            }
        }
    }
    pairs
}

fn may_refer(from: &Column<'_>, to: &Column<'_>, collected: &[Collected]) -> bool {
    match from.class {
        Class::Id | Class::Uuid => !(from.is_id() && from.collection == to.collection),
        // The numbers of documents are those of any collection.
        Class::Int => !from.is_id() && overlap(from, to),
        Class::Text => {
            let is_prose = from.length > 80.0;
            let few = from.is_id() && collected[from.collection].facts.read < 10;
            !is_prose && !few
        }
    }
}

fn overlap(from: &Column<'_>, to: &Column<'_>) -> bool {
    match (from.numbers, to.numbers) {
        (Some(from), Some(to)) => from.0 <= to.1 && to.0 <= from.1,
        _ => true,
    }
}

/// A column that is not unique, and may be referred to by a holder that is named after it: the keys of a map, and, by the name of its
/// collection as well, an enumeration.
struct NamedTarget<'a> {
    column: &'a Column<'a>,
    collection: Option<BTreeSet<String>>,
}

impl<'a> NamedTarget<'a> {
    fn of(column: &'a Column<'a>, collected: &[Collected]) -> Option<Self> {
        let of_column = &collected[column.collection];
        let is_key_of_map = column.shape.is_none();
        let is_enumeration = || {
            let field = of_column.facts.root.at(&column.text);
            column.path.is_single() && field.is_some_and(|field| field.enumeration)
        };
        if column.class != Class::Text || !(is_key_of_map || is_enumeration()) {
            return None;
        }
        Some(Self {
            column,
            collection: (!is_key_of_map).then(|| names::words(&of_column.facts.name)),
        })
    }

    fn is_meant_by(&self, from: &Column<'_>) -> bool {
        let has = |words: &BTreeSet<String>| names::share(&from.words, words) >= 1.0;
        from.collection != self.column.collection
            && !from.words.is_empty()
            && has(&self.column.words)
            && self.collection.as_ref().is_none_or(has)
    }
}

/// Whether a field of the same collection is equal to the target within one document: then it is another name of it, and refers to
/// nothing.
fn is_itself(from: &Column<'_>, to: &Column<'_>, collected: &[Collected]) -> bool {
    if from.collection != to.collection || !to.path.is_single() {
        return false;
    }
    let (mut same, mut all) = (0_u64, 0_u64);
    for document in collected[from.collection].kept.all().take(500) {
        let Some(own) = to
            .path
            .first(document)
            .and_then(|own| probe::key_of(&own, to.class, to.is_hex))
        else {
            continue;
        };
        from.path.each(document, &mut |_, found| {
            if let Some(value) = probe::key_of(&found, from.class, from.is_hex) {
                all += 1;
                same += u64::from(value == own);
            }
        });
    }
    same * 2 > all
}

fn candidate(
    columns: &[Column<'_>],
    collected: &[Collected],
    (holder, target): (usize, usize),
    (share, found): (f64, usize),
    surprise: f64,
) -> Candidate {
    let (from, to) = (&columns[holder], &columns[target]);
    let of_target = names::words(&collected[to.collection].facts.name);
    let of_collection = names::share(&from.words, &of_target);
    let of_path = names::share(&from.words, &to.words);
    let name = of_collection.max(of_path);
    let declared = if to.is_id() {
        0.15
    } else if to.is_declared_unique {
        0.12
    } else {
        0.0
    };
    // Of two targets with the same values, the one whose documents are mostly referred to is meant.
    let covered = 0.05 * (found as f64 / to.distinct.max(1) as f64).min(1.0);
    Candidate {
        holder,
        target,
        share,
        found,
        name,
        of_collection,
        surprise,
        score: share + 0.3 * of_collection.max(0.7 * of_path) + declared + covered,
        told: None,
        is_exact: !from.words.is_empty() && from.words == of_target,
        is_only: false,
        has_neighbours: false,
    }
}

/// How unlikely it is that these values are found by chance: the negative logarithm of the probability.
fn surprise(from: &Column<'_>, to: &Column<'_>, is_there: &dyn Fn(u64) -> bool) -> f64 {
    let found = || probe::asked(from).filter(|(hash, _)| is_there(*hash));
    match from.class {
        Class::Id | Class::Uuid => 40.0 * found().count() as f64,
        Class::Int => {
            let (least, greatest) = to.numbers.unwrap_or_default();
            let range = (greatest - least + 1.0).max(1.0);
            let by_density = -((to.distinct as f64 / range).clamp(1e-9, 0.9)).ln();
            // Small numbers are common in any field.
            let by_size = |value: &Value| match value {
                Value::Int(number) => (number.unsigned_abs() as f64 + 1.0).ln(),
                _ => 0.0,
            };
            found().map(|(_, value)| by_size(value).min(by_density)).sum()
        }
        Class::Text => {
            let lengths = from.shape.map(|shape| shape.texts.spread());
            let is_code =
                lengths.is_none_or(|lengths| lengths.least == lengths.greatest) && from.length <= 4.0;
            let each = if is_code {
                let possible = 26_f64.powf(from.length.max(1.0));
                -((to.distinct as f64 / possible).clamp(1e-6, 0.9)).ln()
            } else {
                // Words are chosen from a vocabulary, not at random: each letter more makes the same word less likely.
                (from.length * 0.35).clamp(1.0, 8.0)
            };
            each * found().count() as f64
        }
    }
}

/// A target that refers to a third collection is no target of others, but they refer to that, too.
fn forget_targets_that_refer(of_holder: &mut BTreeMap<usize, Vec<Candidate>>, columns: &[Column<'_>]) {
    let refers: HashSet<usize> = of_holder
        .iter()
        .filter(|(holder, candidates)| {
            candidates.iter().any(|candidate| {
                let to = &columns[candidate.target];
                let is_more = to.distinct > columns[**holder].distinct;
                is_accepted(candidate, columns)
                    && (candidate.name >= 1.0 || (to.is_declared_unique && is_more))
            })
        })
        .map(|(holder, _)| *holder)
        .collect();
    for candidates in of_holder.values_mut() {
        let has_other = candidates
            .iter()
            .any(|candidate| !refers.contains(&candidate.target) && is_accepted(candidate, columns));
        if has_other {
            candidates.retain(|candidate| !refers.contains(&candidate.target));
        }
    }
}

/// Whether the evidence of one column alone is enough.
fn is_accepted(candidate: &Candidate, columns: &[Column<'_>]) -> bool {
    is_accepted_with(candidate, columns, alone(candidate, columns))
}

/// How unlikely chance is for a candidate alone. Within one collection many fields have the same words.
fn alone(candidate: &Candidate, columns: &[Column<'_>]) -> f64 {
    let (from, to) = (&columns[candidate.holder], &columns[candidate.target]);
    let is_near = from.class == Class::Text && from.collection == to.collection;
    candidate.surprise / if is_near { 3.0 } else { 1.0 }
}

fn is_accepted_with(candidate: &Candidate, columns: &[Column<'_>], surprise: f64) -> bool {
    let (from, to) = (&columns[candidate.holder], &columns[candidate.target]);
    if from.is_id() {
        let is_same = candidate.share >= 0.95 && (from.class != Class::Text || candidate.found >= 10);
        if !is_same || to.distinct < from.distinct {
            return false;
        }
    }
    match from.class {
        Class::Id | Class::Uuid => candidate.share >= IDS || (candidate.found >= 5 && candidate.share >= 0.1),
        Class::Text => {
            let is_named = candidate.name >= 0.99;
            (candidate.share >= SHARE && (surprise >= SURPRISE || candidate.name >= 0.5))
                || (candidate.share >= SHARE_BY_NAME && is_named && surprise >= SURPRISE)
        }
        Class::Int => {
            let (least, greatest) = to.numbers.unwrap_or_default();
            let is_sparse = (to.distinct as f64) < DENSE * (greatest - least + 1.0);
            if is_sparse {
                return (candidate.share >= SHARE && surprise >= SURPRISE)
                    || (candidate.share >= SHARE_BY_NAME && surprise >= CERTAIN);
            }
            let (from_least, from_greatest) = from.numbers.unwrap_or_default();
            let spread = (from_greatest - from_least) / (greatest - least).max(1.0);
            let last = from.path.names().next_back().unwrap_or_default();
            let is_key = names::is_of_key(last) || names::words(last) == from.words;
            let is_told = candidate.name >= 0.5 && is_key && candidate.found >= 3;
            // `language_id` of `languages` says it also where all documents have the same one.
            let is_named = (is_told && (0.2..=1.0).contains(&spread)) || (candidate.is_exact && is_key);
            // A list of many of the numbers of one collection, and of no other.
            let covered = candidate.found as f64 / to.distinct.max(1) as f64;
            let is_list =
                from.path.parent().is_none() && candidate.is_only && candidate.found >= 20 && covered >= 0.6;
            candidate.share >= 0.95 && (is_named || is_list)
        }
    }
}

/// The references of one holder: the best target, or several whose values are told apart by a neighbour.
fn choose(
    candidates: &[Candidate],
    columns: &[Column<'_>],
    collected: &[Collected],
    probes: &Probes,
) -> Vec<Candidate> {
    let Some(best) = candidates.first() else {
        return Vec::new();
    };
    let is_whole = best.share >= 0.98 && best.surprise >= SURPRISE;
    if !is_whole && let Some(several) = told::apart(candidates, columns, collected, probes) {
        return several;
    }
    // Without the evidence of its neighbours: these are looked at together.
    let with_all = candidates
        .iter()
        .filter(|candidate| candidate.share >= 0.98)
        .count();
    vec![Candidate {
        is_only: with_all == 1 && best.share >= 0.98,
        ..best.clone()
    }]
}

/// Of several fields of one document that are found in one collection, one is the reference, and the others may be copies. Together they
/// are evidence where each alone is not.
fn of_neighbours(chosen: Vec<Candidate>, columns: &[Column<'_>]) -> Vec<Candidate> {
    let mut groups: BTreeMap<(usize, String, usize), Vec<Candidate>> = BTreeMap::new();
    for candidate in chosen {
        let from = &columns[candidate.holder];
        let parent = match from.path.parent() {
            Some(parent) => parent.to_string(),
            // Each array of values is by itself.
            None => format!("{} itself", from.text),
        };
        let key = (from.collection, parent, columns[candidate.target].collection);
        groups.entry(key).or_default().push(candidate);
    }
    let mut all = Vec::new();
    for ((_, parent, _), group) in groups {
        let targets: HashSet<usize> = group.iter().map(|candidate| candidate.target).collect();
        // In an embedded document they are one thing; in a document itself each may be something else.
        let together: f64 = if parent.is_empty() || targets.len() == 1 {
            0.0
        } else {
            group
                .iter()
                .filter(|candidate| candidate.share >= SHARE_BY_NAME)
                .map(|one| one.surprise)
                .sum()
        };
        let is_enough = |candidate: &Candidate| {
            candidate.told.is_some()
                || is_accepted_with(candidate, columns, alone(candidate, columns).max(together))
        };
        // The neighbours of one that is accepted are found in the same document, also where more of them dangle.
        let enough: HashSet<usize> = group
            .iter()
            .filter(|candidate| is_enough(candidate))
            .map(|candidate| candidate.target)
            .collect();
        let is_beside = |candidate: &Candidate| {
            let is_other = !enough.is_empty() && !enough.contains(&candidate.target);
            !parent.is_empty() && is_other && candidate.share >= SHARE_BY_NAME
        };
        let accepted: Vec<_> = group
            .into_iter()
            .filter(|candidate| is_enough(candidate) || is_beside(candidate))
            .collect();
        let Some(best) = accepted
            .iter()
            .max_by(|a, b| rank(a, columns).total_cmp(&rank(b, columns)))
        else {
            continue;
        };
        let target = best.target;
        let has_neighbours = !parent.is_empty() && targets.len() > 1;
        all.extend(
            accepted
                .into_iter()
                .filter(|candidate| {
                    let is_key_of_map = columns[candidate.target].shape.is_none();
                    candidate.target == target || (parent.is_empty() && is_key_of_map)
                })
                .map(|candidate| Candidate {
                    has_neighbours,
                    ..candidate
                }),
        );
    }
    // What embedded documents repeat of the document that they refer to is no target of others.
    let holders: HashSet<(usize, String)> = all
        .iter()
        .filter_map(|candidate| {
            let from = &columns[candidate.holder];
            let parent = from.path.parent()?.to_string();
            (!parent.is_empty()).then_some((from.collection, parent))
        })
        .collect();
    all.retain(|candidate| {
        let to = &columns[candidate.target];
        to.is_declared_unique
            || !to
                .path
                .parent()
                .is_some_and(|parent| holders.contains(&(to.collection, parent.to_string())))
    });
    all
}

/// How good a candidate is as the one reference of its neighbours.
fn rank(candidate: &Candidate, columns: &[Column<'_>]) -> f64 {
    let (from, to) = (&columns[candidate.holder], &columns[candidate.target]);
    let last = from.path.names().next_back().unwrap_or_default();
    let own = names::words(last);
    // Named after the collection, and not after one of its fields alone.
    let is_named = f64::from(candidate.of_collection >= 0.99 && from.words.is_subset(&own));
    let by_last = match last.to_ascii_lowercase().as_str() {
        "url" | "href" => -0.2,
        _ if names::is_of_id(last) => 0.3,
        _ => 0.0,
    };
    let declared = if to.is_id() {
        1.0
    } else if to.is_declared_unique {
        0.6
    } else {
        0.0
    };
    2.0 * is_named + declared + by_last + candidate.share
}

/// Of two columns that may refer to each other, one does: to the column that is declared unique, or the better one.
fn keep_one_direction(of_holder: &mut BTreeMap<usize, Vec<Candidate>>, columns: &[Column<'_>]) {
    let pairs: BTreeMap<(usize, usize), (bool, f64)> = of_holder
        .values()
        .flatten()
        .map(|candidate| {
            let to = &columns[candidate.target];
            (
                (candidate.holder, candidate.target),
                (to.is_declared_unique, rank(candidate, columns)),
            )
        })
        .collect();
    for candidates in of_holder.values_mut() {
        candidates.retain(|candidate| {
            let (holder, target) = (candidate.holder, candidate.target);
            match (pairs.get(&(holder, target)), pairs.get(&(target, holder))) {
                (Some(own), Some(other)) if own == other => holder < target,
                (Some(own), Some(other)) => own > other,
                _ => true,
            }
        });
    }
}

fn reference(candidate: &Candidate, columns: &[Column<'_>], collected: &[Collected]) -> Reference {
    let (from, to) = (&columns[candidate.holder], &columns[candidate.target]);
    let place = |column: &Column<'_>| Place {
        collection: collected[column.collection].facts.name.clone(),
        paths: vec![column.text.clone()],
    };
    let compared = match (from.is_hex, to.is_hex) {
        (true, false) => Compared::Hex,
        _ if from.text.ends_with(".$id") => Compared::DbRef,
        _ => Compared::Same,
    };
    let looked_up = probe::asked(from).count();
    // Where chance is likely, it is as sure as the name.
    let by_name = match candidate.found {
        3.. if candidate.is_exact => 0.9,
        3.. if candidate.name >= 0.99 => 0.7,
        _ => 0.5,
    };
    let confidence = match from.class {
        Class::Id | Class::Uuid => 0.5 + 0.5 * candidate.share,
        _ => candidate.share * (1.0 - (-candidate.surprise / 10.0).exp()).max(by_name),
    };
    Reference {
        id: 0,
        from: place(from),
        to: place(to),
        compared,
        told: candidate.told.clone(),
        many: !from.path.is_single(),
        distinct: from.distinct,
        unique: to.is_unique,
        indexed: to.is_indexed,
        evidence: evidence(candidate, looked_up, from),
        confidence,
        ..Reference::default()
    }
}

/// Whether enough values show a reference. Of an integer that was found fewer times than this, one in three could dangle unseen; of texts
/// the name may say it, too.
pub(super) fn is_sure(reference: &Reference, collected: &[Collected]) -> bool {
    const SEEN: u64 = 8;
    let field = collected
        .iter()
        .find(|collected| collected.facts.name == reference.from.collection)
        .zip(reference.from.paths.first())
        .and_then(|(collected, path)| collected.facts.root.at(path));
    let Some(field) = field else { return true };
    let number = |kind: Kind| field.kinds.get(&kind).copied().unwrap_or_default();
    let integers = number(Kind::Int) + number(Kind::Long);
    let texts = number(Kind::String);
    let ids = number(Kind::ObjectId) + number(Kind::Uuid);
    if ids >= integers + texts || reference.from.paths.len() > 1 {
        return true;
    }
    let says = [BY_NAME, BY_NEIGHBOURS]
        .iter()
        .any(|says| reference.evidence.contains(says));
    integers + texts >= SEEN || (says && texts > integers)
}

/// What evidence says of a name.
const BY_NAME: &str = ", and the name says it";
/// What evidence says of other fields of an embedded document.
const BY_NEIGHBOURS: &str = ", and so were the fields beside it";

fn evidence(candidate: &Candidate, looked_up: usize, from: &Column<'_>) -> String {
    let mut evidence = format!("{} of {looked_up} distinct values were found", candidate.found);
    if candidate.name >= 0.5 {
        evidence.push_str(BY_NAME);
    }
    if candidate.has_neighbours {
        evidence.push_str(BY_NEIGHBOURS);
    }
    if let Some(told) = &candidate.told {
        evidence.push_str(&format!("; `{}` says which ones", told.path));
    }
    if matches!(from.class, Class::Int | Class::Text) && candidate.surprise < SURPRISE {
        evidence.push_str("; so few may be found by chance");
    }
    evidence
}
