//! Computed values that are not what they are computed from.

use super::declared::declared_parent;
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::{Remedy, field, model};
use super::words::{count, documents, percent, place, share};
use crate::design::{Computed, ComputedKind, Design, Reference, Subset};

/// Computed values that are not what they are computed from.
pub fn wrong_computed(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for computed in design.computed.iter().filter(|computed| computed.different > 0) {
        // Of several ways to compute it, the one that explains the most is it.
        let better = |other: &&Computed| {
            other.collection == computed.collection
                && other.path == computed.path
                && share(other.different, other.equal + other.different)
                    < share(computed.different, computed.equal + computed.different)
        };
        if design.computed.iter().any(|other| better(&other)) {
            continue;
        }
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

/// The value that a computed field should have, in words.
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
    // The children have to name their parent.
    let Some(children) = by.and_then(|by| declared_parent(design, by)) else {
        return Remedy::new(
            "Compute it where it is shown, by a query of the documents that refer to it; or give these a reference of their own, a field of \
             the document, by which `#[computed]` keeps it.",
        );
    };
    Remedy::new(
        "Declare the value: each write of a child then writes it, and `repair` corrects those that differ.",
    )
    .rust(format!(
        "{}\n\n{children}",
        model(
            &computed.collection,
            &[],
            &field(&computed.path, &[format!("#[computed({option})]")], rust),
        )
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
            .remedy(mend_subset(design, subset, reference))
            .figure("affected", subset.different as f64)
            .figure("different", subset.different as f64)
            .figure("equal", subset.equal as f64),
        );
    }
    all
}

fn mend_subset(design: &Design, subset: &Subset, reference: &Reference) -> Remedy {
    let child = names::type_name(&reference.from.collection);
    let path = subset.path.trim_end_matches("[]");
    let order = names::field_name(&subset.order);
    let array = design
        .collection(&subset.collection)
        .and_then(|collection| collection.root.at(path));
    let items = array.and_then(|array| array.items.as_deref());
    let source = design.collection(&reference.from.collection);
    // The fields that the elements repeat of the children.
    let fields: Vec<String> = items
        .into_iter()
        .flat_map(|items| &items.fields)
        .filter(|one| {
            source.is_some_and(|source| source.root.fields.iter().any(|field| field.name == one.name))
        })
        .filter(|one| one.name != "_id")
        .map(|one| {
            format!(
                "{}: {}",
                names::field_name(&one.path),
                names::rust_type(Some(one))
            )
        })
        .collect();
    let remedy = Remedy::new(
        "Declare the subset: each write of a child then writes it, and `repair` corrects those that differ.",
    );
    let (Some(children), false) = (declared_parent(design, reference), fields.is_empty()) else {
        return remedy;
    };
    let attribute = format!(
        "#[subset(\n    of = {child}, limit = {}, order(-{order}),\n    fields({})\n)]",
        subset.limit,
        fields.join(", "),
    );
    remedy
        .rust(format!(
            "{}\n\n{children}",
            model(
                &subset.collection,
                &[],
                &field(path, &[attribute], &format!("Vec<{child}Entry>")),
            )
        ))
        .terminal(format!("cargo run -- repair --only {}", subset.collection))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

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
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("#[parent_ref]\n    pub customer: Ref<Customer>,"),
            "{:?}",
            all[0]
        );
        // In a document with a copy, the reference and the copy are the field.
        let mut nested = design.clone();
        nested.references[0].from.paths = vec!["buyer.id".to_owned()];
        nested.copies[0].path = "buyer.name".to_owned();
        let buyer = vec![id("buyer.id", 300), text("buyer.name", 300, 12)];
        nested.collections[0]
            .root
            .fields
            .push(object("buyer", 300, buyer));
        let rust = &wrong_computed(&nested)[0].remedy.code[0].text;
        assert!(
            rust.contains("#[denormalize(from = Customer)]\n    pub buyer: OrderBuyer,"),
            "{rust}"
        );
        // Below an array, nothing is counted by it.
        nested.references[0].from.paths = vec!["buyers[].id".to_owned()];
        assert!(wrong_computed(&nested)[0].remedy.code.is_empty());
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
            descending: true,
            collection: "customers".to_owned(),
            path: "newest".to_owned(),
            by: 0,
            order: "placed".to_owned(),
            limit: 3,
            equal: 45,
            different: 5,
        });
        let entries = object(
            "newest[]",
            150,
            vec![id("newest[].id", 150), date("newest[].placed", 150)],
        );
        let newest = array_of("newest", 50, &[(3, 50)], entries);
        design.collections[1].root.fields.push(newest);
        let all = wrong_subsets(&design);
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("of = Order, limit = 3, order(-placed),\n        fields(placed: DateTime)")
        );
        design.subsets[0].different = 0;
        assert!(wrong_subsets(&design).is_empty());
    }
}
