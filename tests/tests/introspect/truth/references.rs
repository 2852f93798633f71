//! References, and the copies that are made by them.

use super::{Score, measured, part, paths, text};
use odm_introspect::design::{Compared, Copied, Design, Reference};
use odm_introspect::kind::Kind;
use odm_introspect::sketch::Spread;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The references of the truth by their ids, with those of the design.
pub type Matched<'a> = HashMap<&'a str, &'a Reference>;

/// Below this number of distinct values a copy is not told from chance.
const FEW: u64 = 20;

pub fn compare<'a>(design: &'a Design, truth: &'a Value) -> (Vec<Score>, Matched<'a>) {
    let (ids, keys, matched) = references(design, truth);
    let (copies, weak) = copies(design, truth, &matched);
    (vec![ids, keys, lookalikes(design, truth), copies, weak], matched)
}

fn references<'a>(design: &'a Design, truth: &'a Value) -> (Score, Score, Matched<'a>) {
    let (mut ids, mut keys) = (
        Score::new("references, ids"),
        Score::new("references, other keys"),
    );
    let (mut matched, mut taken) = (Matched::new(), HashSet::new());
    for entry in part(truth, "references").filter(|entry| entry.get("outside").is_none()) {
        let id = text(entry, "id");
        let score = if is_by_id(entry) { &mut ids } else { &mut keys };
        let found = design
            .references
            .iter()
            .enumerate()
            .find(|(at, reference)| !taken.contains(at) && says(reference, entry));
        let Some((at, found)) = found else {
            let of = format!(
                "{id}: {}.{} → {}.{} ({} of {} found, {} distinct)",
                text(entry, "collection"),
                paths(&entry["path"]).join(" + "),
                text(&entry["to"], "collection"),
                paths(&entry["to"]["path"]).join(" + "),
                entry["measured"]["found"],
                entry["measured"]["values"],
                entry["measured"]["distinct"],
            );
            score.miss(of);
            continue;
        };
        taken.insert(at);
        matched.insert(id, found);
        score.hit();
        score.figure(&format!("{id}: found"), found.found, measured(entry, "found"));
        score.figure(
            &format!("{id}: dangling"),
            found.dangling,
            measured(entry, "dangling"),
        );
        score.figure(&format!("{id}: unset"), found.unset, measured(entry, "unset"));
        spread(
            score,
            &format!("{id}: per document"),
            &found.per_document,
            &entry["measured"]["per_document"],
        );
        spread(
            score,
            &format!("{id}: per target"),
            &found.per_target,
            &entry["measured"]["holders_per_target"],
        );
        let unique = entry["measured"]["target_unique"].as_bool().map(u64::from);
        score.figure(&format!("{id}: target unique"), found.unique.into(), unique);
    }
    for (at, reference) in design.references.iter().enumerate() {
        if !taken.contains(&at) {
            let score = if holds_ids(design, reference) {
                &mut ids
            } else {
                &mut keys
            };
            score.wrong.push(shown(reference));
        }
    }
    (ids, keys, matched)
}

/// A distribution: its ends are exact, its middle is so where it is small.
fn spread(score: &mut Score, what: &str, found: &Spread, truth: &Value) {
    score.figure(&format!("{what}, number"), found.number, truth["n"].as_u64());
    if found.number > 0 {
        score.figure(&format!("{what}, least"), found.least, truth["min"].as_u64());
        score.figure(
            &format!("{what}, greatest"),
            found.greatest,
            truth["max"].as_u64(),
        );
        let median = truth["median"].as_u64().filter(|median| *median < 16);
        score.figure(&format!("{what}, median"), found.median, median);
    }
}

/// A copy by the publisher's schemas that the truth leaves out: it lists eight other fields of the same embedded repository.
const UNLISTED: [(&str, &str); 1] = [("deliveries", "repository.created_at")];

/// Whether a reference of the truth is one by an ObjectId, a UUID or the text of one.
fn is_by_id(entry: &Value) -> bool {
    let key = text(entry, "key");
    ["ObjectId", "UUID", "hex"].iter().any(|word| key.contains(word))
}

fn holds_ids(design: &Design, reference: &Reference) -> bool {
    if reference.compared != Compared::Same {
        return true;
    }
    let collection = design.collection(&reference.from.collection);
    reference.from.paths.iter().any(|path| {
        let field = collection.and_then(|collection| collection.root.at(path));
        field.is_some_and(|field| {
            field
                .kinds
                .keys()
                .any(|kind| matches!(kind, Kind::ObjectId | Kind::Uuid))
        })
    })
}

/// Whether a reference is that of the truth: the same place, the same target, and the same neighbour where one tells the target.
fn says(reference: &Reference, entry: &Value) -> bool {
    let to = &entry["to"];
    let pairs = |from: &[String], to: &[String]| -> Vec<(String, String)> {
        let mut pairs: Vec<_> = from.iter().cloned().zip(to.iter().cloned()).collect();
        pairs.sort();
        pairs
    };
    let told = entry["where"]["path"].as_str();
    reference.from.collection == text(entry, "collection")
        && reference.to.collection == text(to, "collection")
        && pairs(&reference.from.paths, &reference.to.paths)
            == pairs(&paths(&entry["path"]), &paths(&to["path"]))
        && (told.is_none() || reference.told.as_ref().map(|told| told.path.as_str()) == told)
}

fn shown(reference: &Reference) -> String {
    let told = reference.told.as_ref();
    format!(
        "{}.{} → {}.{}{} ({} of {} found, {} distinct, {:.2}): {}",
        reference.from.collection,
        reference.from.paths.join(" + "),
        reference.to.collection,
        reference.to.paths.join(" + "),
        told.map_or(String::new(), |told| format!(
            " where {} is {:?}",
            told.path, told.values
        )),
        reference.found,
        reference.values,
        reference.distinct,
        reference.confidence,
        reference.evidence,
    )
}

/// What looks like a reference and is none.
fn lookalikes(design: &Design, truth: &Value) -> Score {
    let mut score = Score::new("lookalikes left alone");
    for entry in part(truth, "lookalikes") {
        match design.references.iter().find(|reference| says(reference, entry)) {
            None => score.hit(),
            Some(_) => score.miss(format!("{}: {}", text(entry, "id"), text(entry, "why_not"))),
        }
    }
    score
}

/// Copies with enough distinct values to be told from chance, and the others.
fn copies<'a>(design: &'a Design, truth: &'a Value, matched: &Matched<'a>) -> (Score, Score) {
    let (mut strong, mut weak) = (Score::new("copies"), Score::new("copies of few values"));
    weak.open = true;
    let mut taken: HashSet<*const Copied> = HashSet::new();
    let references: HashMap<&str, &Value> = part(truth, "references")
        .map(|entry| (text(entry, "id"), entry))
        .collect();
    for entry in part(truth, "copies") {
        let (path, from, by) = (text(entry, "path"), text(entry, "from"), text(entry, "by"));
        let distinct = measured(entry, "distinct").unwrap_or_default();
        // Where the reference leads out of the set there is nothing to compare with.
        if distinct == 0 {
            continue;
        }
        let score = if distinct < FEW { &mut weak } else { &mut strong };
        let what = format!("{}.{path} of {by}.{from}", text(entry, "collection"));
        let is_it = |copy: &&Copied| {
            let of = design.reference(copy.by);
            copy.path == path
                && copy.from == from
                && of.is_some_and(|of| match matched.get(by) {
                    Some(reference) => reference.id == of.id,
                    None => references.get(by).is_some_and(|entry| says(of, entry)),
                })
        };
        let Some(found) = design.copies.iter().find(is_it) else {
            score.miss(format!(
                "{what} (equal {}, stale {}, {distinct} distinct)",
                entry["measured"]["equal"], entry["measured"]["stale"]
            ));
            continue;
        };
        taken.insert(std::ptr::from_ref(found));
        score.hit();
        score.figure(&format!("{what}: equal"), found.equal, measured(entry, "equal"));
        score.figure(&format!("{what}: stale"), found.stale, measured(entry, "stale"));
        score.figure(
            &format!("{what}: lacking"),
            found.lacking,
            measured(entry, "source_lacks_it"),
        );
    }
    for copy in &design.copies {
        let of = design.reference(copy.by);
        let is_unlisted = UNLISTED.contains(&(text(truth, "set"), copy.path.as_str()));
        if taken.contains(&std::ptr::from_ref(copy)) || is_unlisted {
            continue;
        }
        let by = of.map_or_else(String::new, |reference| {
            format!(
                "{} by {}.{}",
                reference.to.collection,
                reference.from.collection,
                reference.from.paths.join(" + ")
            )
        });
        let what = format!(
            "{} of {by}: {} (equal {}, stale {}, {} distinct): {}",
            copy.path, copy.from, copy.equal, copy.stale, copy.distinct, copy.evidence
        );
        // A copy that proves little, as the design says, is no claim.
        if copy.weak || copy.distinct < FEW {
            weak.wrong.push(what);
        } else {
            strong.wrong.push(what);
        }
    }
    (strong, weak)
}
