//! References that say the same from both sides, and fields that are computed.

use super::references::Matched;
use super::{Score, measured, part, paths, text};
use odm_introspect::design::{Computed, ComputedKind, Design};
use serde_json::Value;
use std::collections::HashSet;

pub fn compare(design: &Design, truth: &Value, matched: &Matched<'_>) -> Vec<Score> {
    vec![two_way(design, truth, matched), computed(design, truth, matched)]
}

fn two_way(design: &Design, truth: &Value, matched: &Matched<'_>) -> Score {
    let mut score = Score::new("two-way links");
    let mut taken = HashSet::new();
    for entry in part(truth, "two_way") {
        let (a, b) = (text(entry, "a"), text(entry, "b"));
        let what = format!("{a} ⇄ {b}");
        let (Some(of_a), Some(of_b)) = (matched.get(a), matched.get(b)) else {
            score.miss(format!("{what}: its references were not found"));
            continue;
        };
        let same = |link: &(usize, &odm_introspect::design::TwoWay)| {
            (link.1.a, link.1.b) == (of_a.id, of_b.id) || (link.1.b, link.1.a) == (of_a.id, of_b.id)
        };
        let Some((at, link)) = design.two_way.iter().enumerate().find(same) else {
            score.miss(what);
            continue;
        };
        taken.insert(at);
        score.hit();
        let (only_a, only_b) = if link.a == of_a.id {
            (link.only_a, link.only_b)
        } else {
            (link.only_b, link.only_a)
        };
        score.figure(&format!("{what}: agree"), link.agree, measured(entry, "agree"));
        score.figure(&format!("{what}: only a"), only_a, measured(entry, "only_a"));
        score.figure(&format!("{what}: only b"), only_b, measured(entry, "only_b"));
        // A symmetric link.
        score.figure(&format!("{what}: one way"), only_a, measured(entry, "one_way"));
    }
    for (at, link) in design.two_way.iter().enumerate() {
        if !taken.contains(&at) {
            let of = |id| {
                design.reference(id).map_or_else(String::new, |of| {
                    format!("{}.{}", of.from.collection, of.from.paths.join(" + "))
                })
            };
            score.wrong.push(format!(
                "{} ⇄ {}: {} agree, {} and {} on one side",
                of(link.a),
                of(link.b),
                link.agree,
                link.only_a,
                link.only_b
            ));
        }
    }
    score
}

fn computed(design: &Design, truth: &Value, matched: &Matched<'_>) -> Score {
    let mut score = Score::new("computed fields");
    // Its publishers list some of them.
    score.open = true;
    let mut taken = HashSet::new();
    for entry in part(truth, "derived") {
        let what = format!(
            "{}.{} is {} of {:?}",
            text(entry, "collection"),
            text(entry, "path"),
            text(entry, "kind"),
            paths(&entry["of"])
        );
        let is_it = |found: &(usize, &Computed)| says(found.1, entry, matched);
        let Some((at, found)) = design.computed.iter().enumerate().find(is_it) else {
            // Of three equal fields, two pairs say it.
            if text(entry, "kind") == "same" && are_equal(design, entry) {
                score.hit();
            } else {
                score.miss(what);
            }
            continue;
        };
        taken.insert(at);
        score.hit();
        score.figure(&format!("{what}: equal"), found.equal, measured(entry, "equal"));
        score.figure(
            &format!("{what}: different"),
            found.different,
            measured(entry, "different"),
        );
    }
    for (at, found) in design.computed.iter().enumerate() {
        if !taken.contains(&at) {
            score.wrong.push(format!(
                "{}.{} is {:?} of {:?} ({} equal, {} different)",
                found.collection, found.path, found.kind, found.of, found.equal, found.different
            ));
        }
    }
    score
}

/// Whether pairs of equal fields lead from a field to another.
fn are_equal(design: &Design, entry: &Value) -> bool {
    let mut reached = vec![text(entry, "path")];
    let mut at = 0;
    while let Some(path) = reached.get(at).copied() {
        at += 1;
        for found in &design.computed {
            let [of] = &found.of[..] else {
                continue;
            };
            if found.collection != text(entry, "collection") || found.kind != ComputedKind::Same {
                continue;
            }
            for (from, to) in [(&found.path, of), (of, &found.path)] {
                if from == path && !reached.contains(&to.as_str()) {
                    reached.push(to);
                }
            }
        }
    }
    paths(&entry["of"])
        .iter()
        .all(|of| reached.contains(&of.as_str()))
}

fn says(found: &Computed, entry: &Value, matched: &Matched<'_>) -> bool {
    if found.collection != text(entry, "collection") {
        return false;
    }
    let sorted = |mut paths: Vec<String>| {
        paths.sort();
        paths
    };
    let (path, of) = (text(entry, "path"), paths(&entry["of"]));
    let is_same = found.path == path && sorted(found.of.clone()) == sorted(of.clone());
    match (found.kind, text(entry, "kind")) {
        // Of two equal fields either may be the first.
        (ComputedKind::Same, "same") => is_same || (found.of == [path] && of == [found.path.as_str()]),
        (ComputedKind::Concat, "concat") => {
            found.path == path && found.of == of && found.separator == text(entry, "separator")
        }
        (ComputedKind::Base100, "base100") => found.path == path && found.of == of,
        (ComputedKind::Sum, "sum")
        | (ComputedKind::Product, "product")
        | (ComputedKind::Length, "length") => is_same,
        (ComputedKind::CountOfReferrers, "count_of_referrers") => {
            let by = matched
                .get(text(entry, "reference"))
                .map(|reference| reference.id);
            found.path == path && by.is_some() && found.by == by
        }
        _ => false,
    }
}
