//! Joins that a copy would save.

use super::declared::declared;
use super::kinds::{Advice, Rule, Severity};
use super::links::SURE;
use super::names;
use super::remedy::Remedy;
use super::words::{bytes, count, counted, place, share};
use crate::design::{Copied, Design, Reference};
use crate::kind::Kind;
use std::collections::BTreeSet;

/// Of this many values a join costs more than a copy of each.
const JOINED: u64 = 50;

/// What is longer is read where it is shown.
const SMALL: u64 = 64;

/// A copy that is seldom stale is one that is kept.
const KEPT: f64 = 0.02;

/// Joins of a small field that other collections copy: the copies there show that pages need it.
pub fn joins_of_copied(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for reference in &design.references {
        let holder = &reference.from.collection;
        let is_large = reference.values < JOINED || reference.confidence < SURE;
        if is_large || reference.from.paths.len() != 1 || reference.told.is_some() {
            continue;
        }
        // What is copied through this reference already.
        let mut copied: BTreeSet<&str> = BTreeSet::new();
        let mut elsewhere: Vec<(&Copied, &Reference)> = Vec::new();
        for copy in &design.copies {
            let Some(by) = design.reference(copy.by) else {
                continue;
            };
            if by.to.collection != reference.to.collection {
                continue;
            }
            let same = by.from == reference.from;
            if same {
                copied.insert(&copy.from);
            } else if !copy.weak && share(copy.stale, copy.equal + copy.stale) <= KEPT {
                elsewhere.push((copy, by));
            }
        }
        let target = design.collection(&reference.to.collection);
        let small = |from: &str| {
            let field = target.and_then(|collection| collection.root.at(from));
            field.is_some_and(|field| {
                field.only_kind() == Some(Kind::String)
                    && !field.is_optional()
                    && field.text.as_ref().is_some_and(|text| text.greatest <= SMALL)
            })
        };
        // Another field beside a copied one is one that a page of this collection does without.
        let hot = elsewhere.iter().find(|(copy, _)| {
            copied.is_empty() && !reference.to.paths.contains(&copy.from) && small(&copy.from)
        });
        let Some((copy, by)) = hot else { continue };
        let field = target.and_then(|collection| collection.root.at(&copy.from));
        let length = field
            .and_then(|field| field.text.as_ref())
            .map_or(0.0, |text| text.mean);
        let path = &reference.from.paths[0];
        all.push(
            Advice::new(Rule::JoinOfCopied, Severity::Hint, holder, path)
                .finding(format!(
                    "`{}` refers to `{}` {} without a copy of `{}`, which has {:.0} characters on average and is copied in `{}` \
                     {}, {} of them stale.",
                    place(holder, path),
                    reference.to.collection,
                    counted(reference.values, "time", "times"),
                    copy.from,
                    length,
                    place(&by.from.collection, &copy.path),
                    counted(copy.equal + copy.stale, "time", "times"),
                    count(copy.stale),
                ))
                .cost(format!(
                    "A page that shows it takes one query more; the copies would take about {}.",
                    bytes(reference.values as f64 * (length + 12.0)),
                ))
                .remedy(copy_it(design, reference, &copy.from))
                .figure("affected", reference.values as f64)
                .figure("values", reference.values as f64)
                .figure("copiesElsewhere", (copy.equal + copy.stale) as f64)
                .figure("staleElsewhere", copy.stale as f64),
        );
    }
    all
}

fn copy_it(design: &Design, reference: &Reference, from: &str) -> Remedy {
    let path = reference.from.paths.first().map_or("", String::as_str);
    let base = names::stored_name(path);
    let beside = if names::parent(path).is_empty() && !path.ends_with("[]") {
        format!("{base}_{}", names::field_name(from))
    } else {
        let parent = names::parent(path);
        let name = names::field_name(from);
        if parent.is_empty() {
            name
        } else {
            format!("{parent}.{name}")
        }
    };
    let copy = Copied {
        path: beside,
        from: from.to_owned(),
        ..Default::default()
    };
    let remedy = Remedy::new(
        "Where a page shows it beside the document, store a copy, which each change of the source writes.",
    );
    let Some(declared) = declared(design, &copy, reference) else {
        return remedy;
    };
    remedy.rust(declared).step(&[
        "step.backfill().await?;".to_owned(),
        "step.declare().await".to_owned(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

    #[test]
    fn a_field_that_another_collection_copies_is_worth_a_copy() {
        let mut design = orders();
        assert!(joins_of_copied(&design).is_empty());
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
