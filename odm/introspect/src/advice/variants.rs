//! Values of a field that people write in several ways.

use super::fields::fields;
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::Remedy;
use super::words::{counted, place};
use crate::design::{Collection, Design, Field};
use crate::kind::Kind;
use std::collections::BTreeMap;

/// Values that differ in case or in spaces alone.
pub fn near_duplicates(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for (collection, fields) in fields(design) {
        for field in fields {
            // Names and other texts may differ in case on purpose.
            if field.kinds.contains_key(&Kind::String) && field.enumeration {
                all.extend(near(collection, field));
            }
        }
    }
    all
}

/// A value without what people write in several ways.
fn folded(value: &str) -> String {
    let letters = value
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Text in an expression, where one that begins with `$` would be a path.
fn literal(text: &str) -> String {
    if text.starts_with('$') {
        format!("{{ \"$literal\": {text:?} }}")
    } else {
        format!("{text:?}")
    }
}

fn near(collection: &Collection, field: &Field) -> Option<Advice> {
    let mut groups: BTreeMap<String, Vec<(&str, u64)>> = BTreeMap::new();
    for (value, number) in &field.values {
        let folded = folded(value);
        // Signs alone are no variants of nothing.
        if !folded.is_empty() {
            groups.entry(folded).or_default().push((value, *number));
        }
    }
    let mut variants: Vec<(&str, &str)> = Vec::new();
    let mut affected = 0;
    for group in groups.values().filter(|group| group.len() > 1) {
        let commonest = group.iter().max_by_key(|value| value.1)?;
        for value in group.iter().filter(|value| value.0 != commonest.0) {
            variants.push((value.0, commonest.0));
            affected += value.1;
        }
    }
    if variants.is_empty() {
        return None;
    }
    let branches: Vec<String> = variants
        .iter()
        .map(|(from, to)| {
            let (from, to) = (literal(from), literal(to));
            format!("{{ \"case\": {{ \"$eq\": [\"$$value\", {from}] }}, \"then\": {to} }},")
        })
        .collect();
    let others: Vec<String> = variants.iter().map(|(from, _)| format!("{from:?}")).collect();
    let remedy = Remedy::new(
        "Write the commonest of each in the place of the others; an enum in Rust then refuses new ones.",
    );
    let remedy = match names::written(&field.path).filter(|_| !field.path.contains('[')) {
        Some(path) => remedy.step(&[
            format!("let others = doc! {{ {path:?}: {{ \"$in\": [{}] }} }};", others.join(", ")),
            format!(
                "let right = doc! {{ \"$set\": {{ {path:?}: {{ \"$switch\": {{ \"branches\": [\n        {}\n    ] }} }} }} }};",
                branches.join("\n        ").replace("$$value", &format!("${path}")),
            ),
            format!("step.collection({:?}).update(others, [right]).await", collection.name),
        ]),
        None => remedy,
    };
    let examples: Vec<String> = variants
        .iter()
        .map(|(from, to)| format!("{from:?} beside {to:?}"))
        .collect();
    Some(
        Advice::new(
            Rule::NearDuplicates,
            Severity::Fault,
            &collection.name,
            &field.path,
        )
        .finding(format!(
            "`{}` has {} from a commoner one in case, spaces, `_` or `-` alone, in {}.",
            place(&collection.name, &field.path),
            counted(variants.len() as u64, "value that differs", "values that differ"),
            counted(affected, "place", "places"),
        ))
        .cost(format!(
            "A condition on the commonest misses {}, and a group by the field counts them apart.",
            counted(affected, "value", "values")
        ))
        .remedy(remedy)
        .figure("affected", affected as f64)
        .figure("variants", variants.len() as f64)
        .examples(&examples),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

    fn one(field: Field) -> Design {
        database(vec![collection("orders", 300, vec![field])])
    }

    #[test]
    fn variants_of_a_value_are_found() {
        let mut state = text("state", 300, 6);
        state.enumeration = true;
        state.values = [("open", 200), ("done", 90), ("Open", 8), ("do ne", 2)]
            .map(|(value, number)| (value.to_owned(), number))
            .to_vec();
        let all = near_duplicates(&one(state.clone()));
        assert_eq!((all.len(), all[0].evidence["affected"]), (1, 10.0));
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("\"$in\": [\"do ne\", \"Open\"]"),
            "{all:?}"
        );
        // Names are no enumeration.
        state.enumeration = false;
        assert!(near_duplicates(&one(state.clone())).is_empty());
        // No values, no advice.
        state.enumeration = true;
        state.values.clear();
        assert!(near_duplicates(&one(state)).is_empty());
    }
}
