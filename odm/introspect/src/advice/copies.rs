//! Copies that differ from what they come from.

use super::declared::declared;
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::{Remedy, field, model, quoted, shell_collection};
use super::words::{count, counted, documents, percent, place, share};
use crate::design::{Copied, Design, Field, Reference};
use crate::kind::Kind;

/// Where a third of the copies differ, nobody keeps them: the field changes faster than they are written.
const VOLATILE: f64 = 1.0 / 3.0;

/// Numbers, dates and flags change by themselves: of them a smaller share tells it.
const VOLATILE_NUMBER: f64 = 0.1;

/// Fewer copies show no share.
const COMPARED: u64 = 10;

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
        if copy.weak {
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

/// A copy with the others that the same reference brings into its struct.
fn beside<'d>(design: &'d Design, copy: &'d Copied, reference: &Reference) -> Vec<&'d Copied> {
    let mut all = vec![copy];
    all.extend(design.copies.iter().filter(|other| {
        other.by == reference.id
            && !other.weak
            && other.path != copy.path
            && !other.path.ends_with([']', '}'])
            && !other.from.contains(['.', '[', '{'])
            && names::parent(&other.path) == names::parent(&copy.path)
    }));
    all
}

fn mend_stale(design: &Design, copy: &Copied, reference: &Reference) -> Remedy {
    if let Some(declared) = declared(design, reference, &beside(design, copy, reference), None) {
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
    fn a_copy_is_declared_in_the_struct_of_its_reference() {
        let mut design = orders();
        design.references[0].from.paths = vec!["buyer.id".to_owned()];
        design.copies[0].path = "buyer.name".to_owned();
        design.copies[0].stale = 30;
        let mut more = design.copies[0].clone();
        more.path = "buyer.town".to_owned();
        more.from = "city".to_owned();
        more.stale = 0;
        design.copies.push(more);
        let rust = &stale_copies(&design)[0].remedy.code[0].text;
        assert_eq!(
            rust,
            "/// `buyer` of `orders`.\n#[derive(Embed, Clone, Debug, PartialEq)]\npub struct OrderBuyer {\n    #[reference]\n    pub id: \
             Ref<Customer>,\n    #[denormalize(from = id.name)]\n    pub name: String,\n    #[denormalize(from = id.city)]\n    pub town: \
             String,\n    // the other fields\n}"
        );
        design.references[0].from.paths = vec!["lines[].id".to_owned()];
        design.copies[0].path = "lines[].name".to_owned();
        let rust = &stale_copies(&design)[0].remedy.code[0].text;
        assert!(rust.contains("pub struct OrderLine {"), "{rust}");
        // Elsewhere: a pipeline, where no array is on the way.
        design.references[0].from.paths = vec!["customer".to_owned()];
        design.copies[0].path = "shown.name".to_owned();
        let code = &stale_copies(&design)[0].remedy.code;
        assert!(code[0].text.contains("$first: \"$source.name\""), "{code:?}");
    }
}
