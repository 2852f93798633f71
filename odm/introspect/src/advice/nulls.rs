//! Null and missing in one field.

use super::fields::{TOGETHER, VALUES, fields};
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::{Remedy, field, holder};
use super::words::{bytes, count, counted, list, place};
use crate::design::{Collection, Design, Field};
use crate::kind::Kind;

/// Fields that are null in some documents and missing in others.
pub fn null_and_missing(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for (collection, fields) in fields(design) {
        let mixed = |field: &&Field| {
            !field.name.is_empty()
                && field.of >= VALUES
                && field.present < field.of
                && field.kinds.contains_key(&Kind::Null)
        };
        let fields: Vec<&Field> = fields.into_iter().filter(mixed).collect();
        if fields.len() > TOGETHER {
            all.extend(null_or_missing(collection, &fields));
        } else {
            for field in fields {
                all.extend(null_or_missing(collection, &[field]));
            }
        }
    }
    all
}

fn null_or_missing(collection: &Collection, fields: &[&Field]) -> Option<Advice> {
    let first = fields.first()?;
    let nulls = |field: &Field| field.kinds.get(&Kind::Null).copied().unwrap_or_default();
    let null: u64 = fields.iter().map(|field| nulls(field)).sum();
    let missing: u64 = fields.iter().map(|field| field.of - field.present).sum();
    let taken: f64 = fields
        .iter()
        .map(|field| nulls(field) as f64 * (2.0 + field.name.len() as f64))
        .sum();
    let finding = if let [field] = fields {
        format!(
            "`{}` is null in {} and missing in {} of {}.",
            place(&collection.name, &field.path),
            count(null),
            count(missing),
            counted(field.of, "place", "places"),
        )
    } else {
        let paths: Vec<String> = fields.iter().map(|field| field.path.clone()).collect();
        format!(
            "{} fields of `{}` are null in some places and missing in others: {}, null {} in all.",
            fields.len(),
            collection.name,
            list(&paths),
            counted(null, "time", "times"),
        )
    };
    let plain = |field: &&&Field| !field.path.contains(['[', '{']);
    let lines: Vec<String> = fields
        .iter()
        .filter(plain)
        .flat_map(|field| {
            let path = &field.path;
            [
                format!("let null = doc! {{ {path:?}: {{ \"$type\": \"null\" }} }};"),
                format!(
                    "step.collection({:?}).update(null, [doc! {{ \"$unset\": {path:?} }}]).await?;",
                    collection.name
                ),
            ]
        })
        .collect();
    let remedy = Remedy::new(
        "Let `None` store nothing, and remove the nulls by a step; or give them a value by `replace_null`.",
    )
    .rust(holder(
        &collection.name,
        &first.path,
        &field(
            &first.path,
            &["#[field(skip_none)]".to_owned()],
            &format!("Option<{}>", names::rust_type(Some(first))),
        ),
    ));
    let remedy = if lines.is_empty() {
        remedy
    } else {
        let mut all = lines;
        all.push("Ok(())".to_owned());
        remedy.step(&all)
    };
    let mut advice = Advice::new(
        Rule::NullAndMissing,
        Severity::Hint,
        &collection.name,
        &first.path,
    )
    .finding(finding)
    .cost(format!(
        "{} of nulls; `{{ $exists: true }}` finds {} without a value, and each program has to test for both.",
        bytes(taken),
        counted(null, "place", "places"),
    ))
    .remedy(remedy)
    .figure("affected", null as f64)
    .figure("null", null as f64)
    .figure("missing", missing as f64)
    .figure("fields", fields.len() as f64);
    advice.also = fields
        .iter()
        .skip(1)
        .map(|field| place(&collection.name, &field.path))
        .collect();
    Some(advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

    fn one(field: Field) -> Design {
        database(vec![collection("orders", 300, vec![field])])
    }

    #[test]
    fn null_beside_missing_is_a_hint() {
        let mut note = text("note", 300, 10);
        note.present = 250;
        note.kinds.insert(Kind::Null, 50);
        let all = null_and_missing(&one(note.clone()));
        assert_eq!((all.len(), all[0].severity), (1, Severity::Hint));
        assert_eq!(
            all[0].finding,
            "`orders.note` is null in 50 and missing in 50 of 300 places."
        );
        note.present = 300;
        assert!(null_and_missing(&one(note)).is_empty());
    }
}
