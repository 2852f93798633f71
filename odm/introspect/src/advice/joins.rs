//! Joins that a copy would save.

use super::declared::declared;
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::{Remedy, field, holder};
use super::words::{bytes, count, counted, list, place, share};
use crate::design::{Copied, Design, Reference};
use crate::kind::Kind;
use std::collections::BTreeMap;

/// Of this many values a join costs more than a copy of each.
const JOINED: u64 = 50;

/// Longer texts are read where they are shown.
const SMALL: u64 = 64;

/// Below, a reference may be none.
const EVIDENT: f64 = 0.5;
/// The bytes that a copy takes beside its text: its name and frame.
const COPIED: f64 = 12.0;
/// A copy that is seldom stale is one that is kept.
const KEPT: f64 = 0.02;

/// Joins of a small field that other collections copy: the copies there show that pages need it. One advice names all references
/// that have none.
pub fn joins_of_copied(design: &Design) -> Vec<Advice> {
    // By the target and its field: the copies.
    let mut hot: BTreeMap<(&str, &str), Vec<(&Copied, &Reference)>> = BTreeMap::new();
    for copy in design.copies.iter().filter(|copy| !copy.weak) {
        let compared = copy.equal + copy.stale;
        if compared < JOINED || share(copy.stale, compared) > KEPT {
            continue;
        }
        if let Some(by) = design.reference(copy.by) {
            hot.entry((&by.to.collection, &copy.from))
                .or_default()
                .push((copy, by));
        }
    }
    let mut all = Vec::new();
    for ((target, from), copies) in hot {
        if is_label(design, target, from) {
            all.extend(join(design, target, from, &copies));
        }
    }
    all
}

/// Whether a field is short text that all documents have, and no key by which others refer to it.
fn is_label(design: &Design, target: &str, from: &str) -> bool {
    let field = design
        .collection(target)
        .and_then(|collection| collection.root.at(from));
    let is_short = field.is_some_and(|field| {
        field.only_kind() == Some(Kind::String)
            && !field.is_optional()
            && field.text.as_ref().is_some_and(|text| text.greatest <= SMALL)
    });
    let is_key = design.references.iter().any(|reference| {
        reference.to.collection == target && reference.to.paths.iter().any(|path| path == from)
    });
    is_short && !is_key
}

fn join(design: &Design, target: &str, from: &str, copies: &[(&Copied, &Reference)]) -> Option<Advice> {
    let without: Vec<&Reference> = design
        .references
        .iter()
        .filter(|reference| {
            let copied = |copy: &Copied| {
                design
                    .reference(copy.by)
                    .is_some_and(|by| by.from == reference.from)
            };
            reference.to.collection == target
                && reference.values >= JOINED
                && reference.confidence >= EVIDENT
                // A copy of another field shows that a page of this collection does without.
                && !design.copies.iter().any(copied)
                && declared(design, reference, &[], None).is_some()
        })
        .collect();
    let first = without.iter().max_by_key(|reference| reference.values)?;
    let (copy, by) = copies.iter().max_by_key(|(copy, _)| copy.equal)?;
    let field = design
        .collection(target)
        .and_then(|collection| collection.root.at(from));
    let length = field
        .and_then(|field| field.text.as_ref())
        .map_or(0.0, |text| text.mean);
    let values: u64 = without.iter().map(|reference| reference.values).sum();
    let places: Vec<String> = without
        .iter()
        .map(|reference| place(&reference.from.collection, &reference.from.paths.join(", ")))
        .collect();
    let mut advice = Advice::new(
        Rule::JoinOfCopied,
        Severity::Hint,
        &first.from.collection,
        &first.from.paths.join(", "),
    )
    .finding(format!(
        "{} {} to `{target}` {} without a copy of `{from}`, which has {length:.0} characters on average and is copied in `{}` {}, {} of \
         them stale.",
        list(&places),
        if places.len() == 1 { "refers" } else { "refer" },
        counted(values, "time", "times"),
        place(&by.from.collection, &copy.path),
        counted(copy.equal + copy.stale, "time", "times"),
        count(copy.stale),
    ))
    .cost(format!(
        "A page that shows it takes one query more; the copies would take about {}.",
        bytes(values as f64 * (length + COPIED)),
    ))
    .remedy(copy_it(design, first, from))
    .figure("affected", values as f64)
    .figure("values", values as f64)
    .figure("copiesElsewhere", (copy.equal + copy.stale) as f64)
    .figure("staleElsewhere", copy.stale as f64);
    advice.also = places
        .into_iter()
        .filter(|other| *other != place(&advice.collection, &advice.path))
        .collect();
    Some(advice)
}

fn copy_it(design: &Design, reference: &Reference, from: &str) -> Remedy {
    let path = reference.from.paths.first().map_or("", String::as_str);
    let name = names::field_name(from);
    let remedy = Remedy::new(
        "Where a page shows it beside the document, store a copy, which each change of the source writes.",
    );
    // An array of ids becomes one of entries.
    if let Some(array) = path.strip_suffix("[]") {
        let target = names::type_name(&reference.to.collection);
        let entries = format!("#[denormalize(from = {target}, fields({name}: String))]");
        let rust = format!("Vec<{target}Entry>");
        return remedy.rust(holder(
            &reference.from.collection,
            array,
            &field(array, &["#[reference(many)]".to_owned(), entries], &rust),
        ));
    }
    let parent = names::parent(path);
    let beside = if parent.is_empty() {
        format!("{}_{name}", names::stored_name(path))
    } else {
        format!("{parent}.{name}")
    };
    let copy = Copied {
        path: beside,
        from: from.to_owned(),
        ..Default::default()
    };
    match declared(design, reference, &[&copy], None) {
        Some(declared) => remedy.rust(declared).step(&[
            "step.backfill().await?;".to_owned(),
            "step.declare().await".to_owned(),
        ]),
        None => remedy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

    #[test]
    fn a_field_that_another_collection_copies_is_worth_a_copy() {
        let mut design = orders();
        assert!(joins_of_copied(&design).is_empty());
        let held = vec![id("customer", 500)];
        design.collections.push(collection("invoices", 500, held));
        let mut invoices = reference(1, "invoices", "customer", "customers");
        invoices.values = 500;
        design.references.push(invoices);
        let all = joins_of_copied(&design);
        assert_eq!((all.len(), all[0].place().as_str()), (1, "invoices.customer"));
        assert!(
            all[0].remedy.code[0].text.contains("pub customer_name: String,"),
            "{:?}",
            all[0].remedy
        );
        // Copies that are often stale are no example.
        design.copies[0].stale = 30;
        assert!(joins_of_copied(&design).is_empty());
    }
}
