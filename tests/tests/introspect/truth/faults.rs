//! The faults that were added to a set, each by its figure.

use super::{Score, part, text};
use odm_introspect::design::{ComputedKind, Design};
use odm_introspect::kind::Kind;
use serde_json::Value;

pub fn compare(design: &Design, truth: &Value) -> Vec<Score> {
    let mut score = Score::new("faults");
    for fault in part(truth, "faults") {
        match found(design, fault, truth) {
            Ok(()) => score.hit(),
            Err(instead) => score.miss(format!(
                "{}: {}.{}: {instead}",
                text(fault, "kind"),
                text(fault, "collection"),
                text(fault, "path")
            )),
        }
    }
    vec![score]
}

/// Whether a design has a fault with its figure, and what it has instead.
fn found(design: &Design, fault: &Value, truth: &Value) -> Result<(), String> {
    let (collection, path) = (text(fault, "collection"), text(fault, "path"));
    let figure = |name: &str| fault[name].as_u64().unwrap_or_default();
    let expect = |what: &str, found: u64, truth: u64| {
        if found == truth {
            Ok(())
        } else {
            Err(format!("{what}: {found} instead of {truth}"))
        }
    };
    let field = design
        .collection(collection)
        .and_then(|collection| collection.root.at(path));
    match text(fault, "kind") {
        "stale copy" => {
            // Those of one path by several references are one fault.
            let stale = design.copies.iter().filter(|copy| {
                let of = design.reference(copy.by);
                copy.path == path && of.is_some_and(|of| of.from.collection == collection)
            });
            let stale: u64 = stale.map(|copy| copy.stale).sum();
            let counted: u64 = part(truth, "copies")
                .filter(|copy| text(copy, "collection") == collection && text(copy, "path") == path)
                .filter_map(|copy| copy["measured"]["stale"].as_u64())
                .sum();
            expect("stale", stale, counted)
        }
        "dangling reference" => {
            let dangling = design
                .references
                .iter()
                .filter(|reference| reference.from.collection == collection && reference.from.paths == [path])
                .map(|reference| reference.dangling)
                .max()
                .unwrap_or_default();
            expect("dangling", dangling, figure("dangling"))
        }
        "array that grows" => {
            let greatest = fault["greatest"][0]["length"].as_u64().unwrap_or_default();
            let lengths = field.and_then(|field| field.lengths.as_ref());
            expect(
                "greatest length",
                lengths.map_or(0, |lengths| lengths.greatest),
                greatest,
            )
        }
        "mixed types" => {
            let texts = field.and_then(|field| field.kinds.get(&Kind::String));
            expect("texts", texts.copied().unwrap_or_default(), figure("changed"))
        }
        "two-way link that disagrees" => {
            let link = part(truth, "two_way").find(|link| {
                [text(link, "a"), text(link, "b")].contains(&format!("{collection}:{path}").as_str())
            });
            let counted = link.map_or(0, |link| {
                ["only_a", "only_b"]
                    .iter()
                    .filter_map(|side| link["measured"][side].as_u64())
                    .sum()
            });
            let of = |id| {
                design.reference(id).is_some_and(|of| {
                    let holder = path.trim_end_matches("[]");
                    of.from.collection == collection
                        && of.from.paths.iter().all(|path| path.starts_with(holder))
                })
            };
            let alone = design
                .two_way
                .iter()
                .filter(|link| of(link.a) || of(link.b))
                .map(|link| link.only_a + link.only_b)
                .max();
            expect("pairs on one side", alone.unwrap_or_default(), counted)
        }
        "count that is wrong" => {
            let computed = design.computed.iter().find(|computed| {
                computed.collection == collection
                    && computed.path == path
                    && computed.kind == ComputedKind::CountOfReferrers
            });
            expect(
                "different",
                computed.map_or(0, |computed| computed.different),
                figure("wrong"),
            )
        }
        // It is in the indexes as they were read; the advice is tested with the rules.
        "redundant index" => {
            let there = design.collection(collection).map_or(0, |collection| {
                let indexes = fault["indexes"].as_array().into_iter().flatten();
                let is_there = |keys: &&Value| {
                    let names = keys.as_object().into_iter().flatten().map(|(name, _)| name);
                    let names: Vec<&String> = names.collect();
                    collection
                        .indexes
                        .iter()
                        .any(|index| index.keys.keys().collect::<Vec<_>>() == names)
                };
                indexes.filter(is_there).count() as u64
            });
            expect("indexes", there, 2)
        }
        other => Err(format!("{other} is not compared")),
    }
}
