//! Copies and computed values: those that differ from what they come from, and those that would save a join.

use super::links::SURE;
use super::remedy::{
    Remedy, embedded, field, model, quoted, reference_attribute, reference_type, shell_collection,
};
use super::words::{count, counted, documents, percent, place, share};
use super::{Advice, Rule, Severity, names};
use crate::design::{Computed, ComputedKind, Copied, Design, Field, Reference, Subset};
use crate::kind::Kind;
use std::collections::BTreeSet;

/// Where a third of the copies differ, nobody keeps them: the field changes faster than they are written.
const VOLATILE: f64 = 1.0 / 3.0;
/// Numbers, dates and flags change by themselves: of them a smaller share tells it.
const VOLATILE_NUMBER: f64 = 0.1;
/// Fewer copies show no share.
const COMPARED: u64 = 10;

/// Of this many values a join costs more than a copy of each.
const JOINED: u64 = 50;
/// What is longer is read where it is shown.
const SMALL: u64 = 64;
/// A copy that is seldom stale is one that is kept.
const KEPT: f64 = 0.02;

/// Copies that differ from their source: those of a field that changes often are told from those that some write forgot.
pub fn stale_copies(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for copy in design.copies.iter().filter(|copy| copy.stale > 0) {
        let Some(reference) = design.reference(copy.by) else {
            continue;
        };
        let compared = copy.equal + copy.stale;
        let part = share(copy.stale, compared);
        // Of few different values, some are equal by chance.
        if copy.weak || reference.confidence < SURE {
            continue;
        }
        let source = design.collection(&reference.to.collection);
        let source = source.and_then(|collection| collection.root.at(&copy.from));
        let changes = source.and_then(Field::only_kind).is_some_and(|kind| {
            kind.is_number() || matches!(kind, Kind::Date | Kind::Bool | Kind::Timestamp)
        });
        let volatile = compared >= COMPARED && (part >= VOLATILE || changes && part >= VOLATILE_NUMBER);
        let holder = &reference.from.collection;
        let from = place(&reference.to.collection, &copy.from);
        let finding = format!(
            "{} of {} of `{from}` in `{}` {} from the source, {}.",
            count(copy.stale),
            counted(compared, "copy", "copies"),
            place(holder, &copy.path),
            if copy.stale == 1 { "differs" } else { "differ" },
            percent(copy.stale, compared),
        );
        let advice = if volatile {
            Advice::new(Rule::VolatileCopy, Severity::Risk, holder, &copy.path)
                .cost(format!(
                    "A reader sees an old value in {} of 100 documents; to keep them, each change of the source writes about {}.",
                    ((part * 100.0).round() as u64).max(1),
                    documents(reference.per_target.mean.round().max(1.0) as u64),
                ))
                .remedy(mend_volatile(design, copy, reference))
        } else {
            Advice::new(Rule::StaleCopy, Severity::Fault, holder, &copy.path)
                .cost(format!(
                    "A reader sees an old value in {}, and a query by the new one misses them.",
                    counted(copy.stale, "place", "places"),
                ))
                .remedy(mend_stale(design, copy, reference))
        };
        all.push(
            advice
                .finding(finding)
                .figure("affected", copy.stale as f64)
                .figure("stale", copy.stale as f64)
                .figure("equal", copy.equal as f64)
                .figure("share", part)
                .figure("distinct", copy.distinct as f64)
                .examples(&copy.examples),
        );
    }
    all
}

/// The type of a copy in Rust.
fn copied_type(design: &Design, copy: &Copied, reference: &Reference) -> String {
    let holder = design.collection(&reference.from.collection);
    let field = holder.and_then(|collection| collection.root.at(&copy.path));
    let rust = names::rust_type(field);
    match field {
        Some(field) if field.is_optional() => format!("Option<{rust}>"),
        _ => rust.to_owned(),
    }
}

/// The declaration of a copy, where the data are laid out as odm lays out copies: beside the reference, or with it in one embedded
/// document.
fn declared(design: &Design, copy: &Copied, reference: &Reference) -> Option<String> {
    let [path] = reference.from.paths.as_slice() else {
        return None;
    };
    let (by, rust) = reference_type(design, reference);
    if path.contains('{') || names::parent(path) != names::parent(&copy.path) || copy.from.contains('.') {
        return None;
    }
    let target = names::type_name(&reference.to.collection);
    let copied = copied_type(design, copy, reference);
    let holder = &reference.from.collection;
    let parent = names::parent(path);
    if parent.is_empty() {
        if path.ends_with("[]") {
            return None;
        }
        let options: Vec<String> = by.into_iter().collect();
        let from = format!(
            "#[denormalize(from = {}.{})]",
            names::field_name(path),
            names::field_name(&copy.from)
        );
        let fields = format!(
            "{}\n{}",
            field(path, &[reference_attribute(&options)], &rust),
            field(&copy.path, &[from], &copied)
        );
        return Some(model(holder, &[], &fields));
    }
    let outer = parent.trim_end_matches("[]");
    if outer.contains("[]") || parent.matches("[]").count() > 1 {
        return None;
    }
    let entry = names::embedded_name(holder, parent);
    let mut options = Vec::new();
    let is_many = parent.ends_with("[]");
    if is_many {
        options.push("many".to_owned());
    }
    let inner: Vec<String> = by.iter().map(|by| format!("#[reference({by})]")).collect();
    let own = embedded(
        &entry,
        &[format!("#[denormalize(from = {target})]")],
        &format!(
            "{}\n{}",
            field(path, &inner, &rust),
            field(&copy.path, &[], &copied)
        ),
    );
    if outer.contains('.') {
        return Some(own);
    }
    let of = if is_many { format!("Vec<{entry}>") } else { entry };
    let attributes = [
        reference_attribute(&options),
        format!("#[denormalize(from = {target})]"),
    ];
    Some(format!(
        "{}\n\n{own}",
        model(holder, &[], &field(outer, &attributes, &of))
    ))
}

/// A pipeline that writes copies anew, for paths that lead through no array.
fn written_anew(copy: &Copied, reference: &Reference) -> Option<String> {
    let ([path], [target]) = (reference.from.paths.as_slice(), reference.to.paths.as_slice()) else {
        return None;
    };
    if [path, target, &copy.path]
        .iter()
        .any(|path| path.contains(['[', '{']))
    {
        return None;
    }
    let from = names::written(&copy.from)?;
    Some(format!(
        "{}.aggregate([\n  {{ $lookup: {{ from: {}, localField: {}, foreignField: {}, as: \"source\" }} }},\n  {{ $match: {{ \"source.0\": {{ $exists: true }} }} \
         }},\n  {{ $set: {{ {}: {{ $first: {} }} }} }},\n  {{ $unset: \"source\" }},\n  {{ $merge: {} }},\n])",
        shell_collection(&reference.from.collection),
        quoted(&reference.to.collection),
        quoted(path),
        quoted(target),
        quoted(&copy.path),
        quoted(&format!("$source.{from}")),
        quoted(&reference.from.collection),
    ))
}

fn mend_stale(design: &Design, copy: &Copied, reference: &Reference) -> Remedy {
    if let Some(declared) = declared(design, copy, reference) {
        return Remedy::new("Declare the copy: each change of the source then writes it, and `repair` corrects those that differ.")
            .rust(declared)
            .terminal(format!("cargo run -- repair --only {}", reference.from.collection));
    }
    let remedy = Remedy::new(format!(
        "Write the copies anew, and move each next to its reference: there `#[denormalize(from = …)]` keeps it equal to `{}`.",
        place(&reference.to.collection, &copy.from),
    ));
    match written_anew(copy, reference) {
        Some(pipeline) => remedy.shell(pipeline),
        None => remedy,
    }
}

fn mend_volatile(design: &Design, copy: &Copied, reference: &Reference) -> Remedy {
    let source = design.collection(&reference.to.collection);
    let source = source.and_then(|collection| collection.root.at(&copy.from));
    let volatile = model(
        &reference.to.collection,
        &[],
        &field(&copy.from, &["#[volatile]".to_owned()], names::rust_type(source)),
    );
    let remedy = Remedy::new(
        "Read the field by a join, one query more for all documents of a page, and drop the copies; where they are to stay as they \
         were, as the price of an order, say `consistency = snapshot`.",
    );
    let remedy = if copy.from.contains('.') {
        remedy
    } else {
        remedy.rust(volatile)
    };
    match names::written(&copy.path) {
        Some(path) => remedy.step(&[format!(
            "step.collection({:?}).remove({path:?}).await",
            reference.from.collection
        )]),
        None => remedy,
    }
}

/// Computed values that are not what they are computed from.
pub fn wrong_computed(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for computed in design.computed.iter().filter(|computed| computed.different > 0) {
        let values = computed.equal + computed.different;
        let by = computed.by.and_then(|by| design.reference(by));
        // What another field equals is no value of children, and most of it has to hold.
        if computed.different > computed.equal {
            continue;
        }
        all.push(
            Advice::new(Rule::WrongComputed, Severity::Fault, &computed.collection, &computed.path)
                .finding(format!(
                    "`{}` is {} in {} of {}, and another value in {}, {}.",
                    place(&computed.collection, &computed.path),
                    what(computed, by),
                    count(computed.equal),
                    documents(values),
                    count(computed.different),
                    percent(computed.different, values),
                ))
                .cost(format!(
                    "A reader of the stored value sees a wrong one in {}, and an order or a filter by it is wrong there.",
                    documents(computed.different),
                ))
                .remedy(mend_computed(design, computed, by))
                .figure("affected", computed.different as f64)
                .figure("different", computed.different as f64)
                .figure("equal", computed.equal as f64)
                .examples(&computed.examples),
        );
    }
    all
}

/// What a computed value should be, in words.
fn what(computed: &Computed, by: Option<&Reference>) -> String {
    let of = |at: usize| computed.of.get(at).map_or("a field", String::as_str);
    let children = by.map_or("the documents", |reference| reference.from.collection.as_str());
    match computed.kind {
        ComputedKind::Same => format!("equal to `{}`", of(0)),
        ComputedKind::Sum => format!("the sum of `{}` and `{}`", of(0), of(1)),
        ComputedKind::Product => format!("the product of `{}` and `{}`", of(0), of(1)),
        ComputedKind::Length => format!("the length of `{}`", of(0)),
        ComputedKind::Concat => format!("`{}` and `{}` joined", of(0), of(1)),
        ComputedKind::Base100 => format!("100 times `{}` and `{}`", of(0), of(1)),
        ComputedKind::CountOfReferrers => format!("the number of `{children}` that refer to it"),
        ComputedKind::SumOfReferrers => format!("the sum of `{}` of `{children}`", of(0)),
        ComputedKind::AverageOfReferrers => format!("the average of `{}` of `{children}`", of(0)),
    }
}

fn mend_computed(design: &Design, computed: &Computed, by: Option<&Reference>) -> Remedy {
    let target = design.collection(&computed.collection);
    let stored = target.and_then(|collection| collection.root.at(&computed.path));
    let child = by.map(|reference| names::type_name(&reference.from.collection));
    let of = computed
        .of
        .first()
        .map(|of| names::field_name(of))
        .unwrap_or_default();
    let (option, rust) = match (computed.kind, child) {
        (ComputedKind::CountOfReferrers, Some(child)) => (format!("count = {child}"), "i64"),
        (ComputedKind::SumOfReferrers, Some(child)) => {
            (format!("sum = {child}.{of}"), names::rust_type(stored))
        }
        (ComputedKind::AverageOfReferrers, Some(child)) => {
            (format!("avg = {child}.{of}"), "odm::types::Average")
        }
        _ => return mend_own(computed),
    };
    Remedy::new(
        "Declare the value: each write of a child then writes it, and `repair` corrects those that differ.",
    )
    .rust(model(
        &computed.collection,
        &[],
        &field(&computed.path, &[format!("#[computed({option})]")], rust),
    ))
    .terminal(format!("cargo run -- repair --only {}", computed.collection))
}

/// A value of the same document: a step writes it, and a comparison keeps it.
fn mend_own(computed: &Computed) -> Remedy {
    let paths: Option<Vec<String>> = computed
        .of
        .iter()
        .map(|path| names::written(path).filter(|_| !path.contains('[')))
        .collect();
    let words = "Compute it where it is shown, and drop the field; or write it anew by a step.";
    let (Some(paths), false) = (paths, computed.path.contains(['[', '{'])) else {
        return Remedy::new(words);
    };
    let value = |path: &String| format!("{:?}", format!("${path}"));
    let of = paths.iter().map(value).collect::<Vec<_>>();
    let expression = match (computed.kind, of.as_slice()) {
        (ComputedKind::Same, [one, ..]) => one.clone(),
        (ComputedKind::Sum, [a, b, ..]) => format!("{{ \"$add\": [{a}, {b}] }}"),
        (ComputedKind::Product, [a, b, ..]) => format!("{{ \"$multiply\": [{a}, {b}] }}"),
        (ComputedKind::Length, [one, ..]) => format!("{{ \"$size\": {one} }}"),
        (ComputedKind::Concat, [a, b, ..]) => {
            format!("{{ \"$concat\": [{a}, {:?}, {b}] }}", computed.separator)
        }
        (ComputedKind::Base100, [a, b, ..]) => {
            format!("{{ \"$add\": [{{ \"$multiply\": [{a}, 100] }}, {b}] }}")
        }
        _ => return Remedy::new(words),
    };
    let path = &computed.path;
    Remedy::new(words).step(&[
        format!("let value = bson!({expression});"),
        format!(
            "let differs = doc! {{ \"$expr\": {{ \"$ne\": [{:?}, value.clone()] }} }};",
            format!("${path}")
        ),
        format!("let right = doc! {{ \"$set\": {{ {path:?}: value }} }};"),
        format!(
            "step.collection({:?}).update(differs, [right]).await",
            computed.collection
        ),
    ])
}

/// Arrays of the first children that have others.
pub fn wrong_subsets(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for subset in design.subsets.iter().filter(|subset| subset.different > 0) {
        let Some(reference) = design.reference(subset.by) else {
            continue;
        };
        let arrays = subset.equal + subset.different;
        if subset.different > subset.equal {
            continue;
        }
        all.push(
            Advice::new(
                Rule::WrongSubset,
                Severity::Fault,
                &subset.collection,
                &subset.path,
            )
            .finding(format!(
                "`{}` has the first {} of `{}` in {} of {}, and others in {}, {}.",
                place(&subset.collection, &subset.path),
                subset.limit,
                reference.from.collection,
                count(subset.equal),
                documents(arrays),
                count(subset.different),
                percent(subset.different, arrays),
            ))
            .cost(format!(
                "The page of {} shows other elements than a query finds.",
                documents(subset.different)
            ))
            .remedy(mend_subset(subset, reference))
            .figure("affected", subset.different as f64)
            .figure("different", subset.different as f64)
            .figure("equal", subset.equal as f64),
        );
    }
    all
}

fn mend_subset(subset: &Subset, reference: &Reference) -> Remedy {
    let child = names::type_name(&reference.from.collection);
    let path = subset.path.trim_end_matches("[]");
    let order = names::field_name(&subset.order);
    let attribute = format!(
        "#[subset(of = {child}, limit = {}, order(-{order}))]",
        subset.limit
    );
    Remedy::new(
        "Declare the subset: each write of a child then writes it, and `repair` corrects those that differ.",
    )
    .rust(model(
        &subset.collection,
        &[],
        &field(
            path,
            &[attribute],
            &format!("Vec<{}>", names::embedded_name(&subset.collection, &subset.path)),
        ),
    ))
    .terminal(format!("cargo run -- repair --only {}", subset.collection))
}

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
                    super::bytes(reference.values as f64 * (length + 12.0)),
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
    fn a_tenth_that_is_stale_is_a_fault() {
        let mut design = orders();
        assert!(stale_copies(&design).is_empty());
        design.copies[0].stale = 30;
        design.copies[0].equal = 270;
        let all = stale_copies(&design);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].rule, all[0].severity), (Rule::StaleCopy, Severity::Fault));
        let rust = &all[0].remedy.code[0].text;
        assert!(
            rust.contains("#[denormalize(from = customer.name)]\n    pub customer_name: String,"),
            "{rust}"
        );
        // Chance alone makes few values equal.
        design.copies[0].weak = true;
        assert!(stale_copies(&design).is_empty());
    }

    #[test]
    fn copies_that_are_mostly_stale_are_of_a_field_that_changes() {
        let mut design = orders();
        design.copies[0].stale = 150;
        design.copies[0].equal = 150;
        let all = stale_copies(&design);
        assert_eq!(
            (all[0].rule, all[0].severity),
            (Rule::VolatileCopy, Severity::Risk)
        );
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("#[volatile]\n    pub name: String,")
        );
    }

    #[test]
    fn a_copy_with_its_reference_in_one_document_is_declared_there() {
        let mut design = orders();
        design.references[0].from.paths = vec!["buyer.id".to_owned()];
        design.copies[0].path = "buyer.name".to_owned();
        design.copies[0].stale = 30;
        let rust = &stale_copies(&design)[0].remedy.code[0].text;
        assert!(
            rust.contains("#[denormalize(from = Customer)]\n    pub buyer: OrderBuyer,"),
            "{rust}"
        );
        assert!(
            rust.contains("#[denormalize(from = Customer)]\npub struct OrderBuyer {"),
            "{rust}"
        );
        design.references[0].from.paths = vec!["lines[].id".to_owned()];
        design.copies[0].path = "lines[].name".to_owned();
        let rust = &stale_copies(&design)[0].remedy.code[0].text;
        assert!(rust.contains("#[reference(many)]"), "{rust}");
        assert!(rust.contains("pub lines: Vec<OrderLine>,"), "{rust}");
        // Elsewhere: a pipeline, where no array is on the way.
        design.references[0].from.paths = vec!["customer".to_owned()];
        design.copies[0].path = "shown.name".to_owned();
        let code = &stale_copies(&design)[0].remedy.code;
        assert!(code[0].text.contains("$first: \"$source.name\""), "{code:?}");
    }

    #[test]
    fn a_count_that_is_wrong_is_declared() {
        let mut design = orders();
        design.computed.push(Computed {
            collection: "customers".to_owned(),
            path: "orders".to_owned(),
            kind: ComputedKind::CountOfReferrers,
            by: Some(0),
            equal: 48,
            different: 2,
            ..Default::default()
        });
        let all = wrong_computed(&design);
        assert_eq!(all.len(), 1);
        assert!(
            all[0].remedy.code[0].text.contains("#[computed(count = Order)]"),
            "{:?}",
            all[0]
        );
        design.computed[0].different = 0;
        assert!(wrong_computed(&design).is_empty());
        // What differs more often than not is not computed so.
        design.computed[0].different = 49;
        assert!(wrong_computed(&design).is_empty());
    }

    #[test]
    fn a_product_that_is_wrong_is_written_by_a_step() {
        let mut design = orders();
        design.computed.push(Computed {
            collection: "orders".to_owned(),
            path: "total".to_owned(),
            kind: ComputedKind::Product,
            of: vec!["price".to_owned(), "quantity".to_owned()],
            equal: 290,
            different: 10,
            ..Default::default()
        });
        let step = &wrong_computed(&design)[0].remedy.code[0].text;
        assert!(
            step.contains("\"$multiply\": [\"$price\", \"$quantity\"]"),
            "{step}"
        );
    }

    #[test]
    fn a_subset_with_other_elements_is_a_fault() {
        let mut design = orders();
        design.subsets.push(Subset {
            collection: "customers".to_owned(),
            path: "newest".to_owned(),
            by: 0,
            order: "placed".to_owned(),
            limit: 3,
            equal: 45,
            different: 5,
        });
        let all = wrong_subsets(&design);
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("#[subset(of = Order, limit = 3, order(-placed))]")
        );
        design.subsets[0].different = 0;
        assert!(wrong_subsets(&design).is_empty());
    }

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
