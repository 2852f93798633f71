//! Text that is compared without a collation.

use super::estimate;
use super::indexes::{at, indexed, keys};
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::{Remedy, field, holder};
use super::words::{bytes, count, counted, documents, place};
use crate::design::{Collection, Design, Field, Index};
use crate::kind::Kind;
use std::collections::BTreeMap;

/// The ends and beginnings of names of fields with text in lower case.
const LOWER: [&str; 6] = ["lower", "lowercase", "lc", "ci", "normalized", "folded"];

/// Text that is stored a second time for comparisons, or indexed with values that differ in case alone.
pub fn case_without_collation(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for collection in indexed(design) {
        if collection.options.contains_key("collation") {
            continue;
        }
        collection.root.walk(&mut |parent| {
            for folded in &parent.fields {
                if let Some(original) = original(parent, folded) {
                    all.extend(second_time(collection, original, folded));
                }
            }
        });
        for index in &collection.indexes {
            let Some((key, _)) = index.keys.iter().next() else {
                continue;
            };
            if keys(index).is_some() && !index.options.contains_key("collation") {
                all.extend(at(collection, key).and_then(|field| differ_in_case(collection, index, field)));
            }
        }
    }
    all
}

/// The field of which another one is the text in lower case, by its name and lengths.
fn original<'a>(parent: &'a Field, folded: &Field) -> Option<&'a Field> {
    let words = names::parts(&folded.name);
    let rest = match words.as_slice() {
        [rest @ .., last] if !rest.is_empty() && LOWER.contains(&last.as_str()) => rest,
        [first, rest @ ..] if !rest.is_empty() && LOWER.contains(&first.as_str()) => rest,
        _ => return None,
    };
    parent.fields.iter().find(|field| {
        names::parts(&field.name) == rest
            && field.only_kind() == Some(Kind::String)
            && folded.only_kind() == Some(Kind::String)
            && field.text == folded.text
            && field.text.is_some()
    })
}

fn collated(collection: &Collection, path: &str, unique: bool) -> Remedy {
    let unique = if unique { "unique, " } else { "" };
    Remedy::new(
        "Give the index a collation that ignores case, and the queries the same one; `collation` of `#[document]` does it for all.",
    )
    .rust(holder(
        &collection.name,
        path,
        &field(
            path,
            &[format!("#[index({unique}collation(locale = \"en\", strength = 2))]")],
            "String",
        ),
    ))
}

fn second_time(collection: &Collection, original: &Field, folded: &Field) -> Option<Advice> {
    let index = |path: &str| {
        collection
            .indexes
            .iter()
            .find(|index| index.keys.keys().next().is_some_and(|key| key == path))
    };
    let written = names::written(&folded.path)?;
    let taken = collection.documents as f64 * estimate::share(folded);
    let mut advice = Advice::new(
        Rule::CaseWithoutCollation,
        Severity::Hint,
        &collection.name,
        &folded.path,
    )
    .finding(format!(
        "`{}` has the lengths of `{}` in all {}: it is the same text in one case.",
        place(&collection.name, &folded.path),
        original.path,
        documents(folded.present),
    ))
    .cost(format!(
        "{} of copies, which each change of `{}` has to write.",
        bytes(taken),
        original.path
    ))
    .remedy(
        collated(
            collection,
            &original.path,
            index(&written).is_some_and(|index| index.unique),
        )
        .step(&[format!(
            "step.collection({:?}).remove({written:?}).await",
            collection.name
        )]),
    )
    .figure("affected", folded.present as f64)
    .figure("bytes", taken);
    advice.also.push(place(&collection.name, &original.path));
    Some(advice)
}

fn differ_in_case(collection: &Collection, index: &Index, field: &Field) -> Option<Advice> {
    let mut lower: BTreeMap<String, Vec<&(String, u64)>> = BTreeMap::new();
    for value in &field.values {
        lower.entry(value.0.to_lowercase()).or_default().push(value);
    }
    let differ: Vec<_> = lower.values().filter(|values| values.len() > 1).collect();
    let places: u64 = differ
        .iter()
        .flat_map(|values| values.iter().map(|value| value.1))
        .sum();
    if differ.is_empty() {
        return None;
    }
    let examples: Vec<String> = differ
        .iter()
        .map(|values| {
            let values: Vec<String> = values.iter().map(|value| format!("{:?}", value.0)).collect();
            values.join(", ")
        })
        .collect();
    let severity = if index.unique {
        Severity::Fault
    } else {
        Severity::Risk
    };
    Some(
        Advice::new(
            Rule::CaseWithoutCollation,
            severity,
            &collection.name,
            &field.path,
        )
        .finding(format!(
            "The index `{}` of `{}` tells {} apart that differ in case alone, in {}.",
            index.name,
            collection.name,
            counted(differ.len() as u64, "value", "values"),
            counted(places, "place", "places"),
        ))
        .cost(format!(
            "A query for one way to write it misses the others, up to {}; one that ignores case by `$regex` reads all {} keys.",
            counted(places, "place", "places"),
            count(collection.documents),
        ))
        .remedy(collated(collection, &field.path, index.unique))
        .figure("affected", places as f64)
        .figure("values", differ.len() as f64)
        .examples(&examples),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;
    use bson::doc;

    fn of(indexes: Vec<Index>) -> Design {
        let mut orders = collection(
            "orders",
            5_000,
            vec![text("state", 5_000, 8), text("name", 5_000, 12)],
        );
        orders.indexes.extend(indexes);
        database(vec![orders])
    }

    #[test]
    fn text_in_lower_case_beside_itself_wants_a_collation() {
        let mut design = of(vec![]);
        assert!(case_without_collation(&design).is_empty());
        design.collections[0]
            .root
            .fields
            .push(text("name_lower", 5_000, 12));
        let all = case_without_collation(&design);
        assert_eq!((all.len(), all[0].path.as_str()), (1, "name_lower"));
        design.collections[0].options = doc! { "collation": { "locale": "en", "strength": 2 } };
        assert!(case_without_collation(&design).is_empty());
    }

    #[test]
    fn values_of_an_index_that_differ_in_case_want_a_collation() {
        let mut design = of(vec![index(doc! { "state": 1 })]);
        let values = [("Open", 10), ("open", 4_000), ("done", 990)];
        design.collections[0].root.fields[1].values =
            values.map(|(value, number)| (value.to_owned(), number)).to_vec();
        let all = case_without_collation(&design);
        assert_eq!((all.len(), all[0].path.as_str()), (1, "state"));
        design.collections[0].indexes[1].options = doc! { "collation": { "locale": "en", "strength": 2 } };
        assert!(case_without_collation(&design).is_empty());
    }
}
