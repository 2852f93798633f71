//! Numbers, dates and flags as text.

use super::fields::{TOGETHER, VALUES, fields};
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::Remedy;
use super::words::{bytes, capital, counted, list, place};
use crate::design::{Collection, Design, Field, Place};
use crate::kind::{Kind, TextForm};
use std::collections::BTreeMap;

/// Numbers, dates and flags as text.
pub fn typed_text(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for (collection, fields) in fields(design) {
        let mut forms: BTreeMap<TextForm, Vec<&Field>> = BTreeMap::new();
        for field in fields {
            if let Some(form) = field
                .form
                .filter(|form| is_typed(design, collection, field, *form))
            {
                forms.entry(form).or_default().push(field);
            }
        }
        for (form, fields) in forms {
            if fields.len() > TOGETHER {
                all.extend(as_text(collection, form, &fields));
            } else {
                for field in fields {
                    all.extend(as_text(collection, form, &[field]));
                }
            }
        }
    }
    all
}

fn is_typed(design: &Design, collection: &Collection, field: &Field, form: TextForm) -> bool {
    if field.only_kind() != Some(Kind::String) || texts(field) < VALUES {
        return false;
    }
    let references = |side: &Place| side.collection == collection.name && side.paths.contains(&field.path);
    let is_key = field.unique || field.path == "_id" || {
        let mut all = design.references.iter();
        all.any(|reference| references(&reference.from) || references(&reference.to))
    };
    match form {
        TextForm::Url | TextForm::Email | TextForm::Uuid => false,
        TextForm::Hex => false,
        // Codes have digits as others have letters: all have one length, or name a document.
        TextForm::Number => !is_key && field.text.as_ref().is_some_and(|text| text.least < text.greatest),
        _ => !is_key,
    }
}

fn texts(field: &Field) -> u64 {
    field.kinds.get(&Kind::String).copied().unwrap_or_default()
}

/// The type of a form, the expression that makes it, its bytes, and what text is worse for.
fn typed(form: TextForm, fields: &[&Field]) -> Option<(&'static str, &'static str, f64, &'static str)> {
    let numbers = "`\"10\"` sorts before `\"9\"`, a range of numbers finds nothing, and no sum can be made by the server";
    Some(match form {
        TextForm::Number => {
            let known = fields.iter().flat_map(|field| &field.values);
            let short = fields
                .iter()
                .all(|field| field.text.as_ref().is_some_and(|text| text.greatest <= 9));
            let whole = fields.iter().all(|field| !field.values.is_empty())
                && known.into_iter().all(|(value, _)| value.parse::<i64>().is_ok());
            if whole && short {
                ("int", "{ \"$toInt\": \"$$value\" }", 4.0, numbers)
            } else {
                ("double", "{ \"$toDouble\": \"$$value\" }", 8.0, numbers)
            }
        }
        TextForm::Date | TextForm::Datetime => (
            "date",
            "{ \"$toDate\": \"$$value\" }",
            8.0,
            "a range of dates finds nothing, times of several zones sort wrong, and no index on it can expire documents",
        ),
        TextForm::Flag01 => (
            "bool",
            "{ \"$eq\": [\"$$value\", \"1\"] }",
            1.0,
            "a condition on `true` finds nothing",
        ),
        TextForm::YesNo => (
            "bool",
            "{ \"$eq\": [{ \"$toLower\": \"$$value\" }, \"yes\"] }",
            1.0,
            "a condition on `true` finds nothing, and each way to write it is a value of its own",
        ),
        TextForm::Boolean => (
            "bool",
            "{ \"$eq\": [{ \"$toLower\": \"$$value\" }, \"true\"] }",
            1.0,
            "a condition on `true` finds nothing",
        ),
        TextForm::Hex | TextForm::Uuid | TextForm::Url | TextForm::Email => return None,
    })
}

fn as_text(collection: &Collection, form: TextForm, fields: &[&Field]) -> Option<Advice> {
    let (to, expression, size, worse) = typed(form, fields)?;
    let number: u64 = fields.iter().map(|field| texts(field)).sum();
    let saved: f64 = fields
        .iter()
        .map(|field| {
            let length = field.text.as_ref().map_or(0.0, |text| text.mean);
            texts(field) as f64 * (5.0 + length - size)
        })
        .sum::<f64>()
        .max(0.0);
    let first = fields.first()?;
    let places: Vec<String> = fields.iter().map(|field| field.path.clone()).collect();
    let finding = if let [one] = fields {
        format!(
            "All {} of `{}` are {}.",
            counted(number, "text", "texts"),
            place(&collection.name, &one.path),
            form.name(),
        )
    } else {
        format!(
            "{} fields of `{}` have {}: {}, {}.",
            fields.len(),
            collection.name,
            form.name(),
            list(&places),
            counted(number, "value", "values"),
        )
    };
    let lines: Vec<String> = fields
        .iter()
        .filter_map(|field| names::written(&field.path))
        .map(|path| {
            format!(
                "step.collection({:?}).retype({path:?}, {to:?}, typed.clone()).await?;",
                collection.name
            )
        })
        .collect();
    let remedy = Remedy::new(format!(
        "Change the type to `{to}` by a step, after the programs can read both."
    ));
    let remedy = if lines.is_empty() {
        remedy
    } else {
        let mut all = vec![format!("let typed = doc! {expression};")];
        all.extend(lines);
        all.push("Ok(())".to_owned());
        remedy.step(&all)
    };
    let cost = if saved >= 1.0 {
        format!("{} more than the type needs; {worse}.", bytes(saved))
    } else {
        format!("{}.", capital(worse))
    };
    let mut advice = Advice::new(Rule::TypedText, Severity::Risk, &collection.name, &first.path)
        .finding(finding)
        .cost(cost)
        .remedy(remedy)
        .figure("affected", number as f64)
        .figure("values", number as f64)
        .figure("fields", fields.len() as f64)
        .figure("bytes", saved);
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
    fn numbers_and_dates_as_text_are_typed() {
        let mut amount = text("amount", 300, 4);
        amount.form = Some(TextForm::Number);
        amount.text = Some(spread(&[(2, 100), (5, 200)]));
        let all = typed_text(&one(amount.clone()));
        assert_eq!(all.len(), 1);
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("retype(\"amount\", \"double\""),
            "{all:?}"
        );
        amount.values = vec![("12".to_owned(), 300)];
        assert!(
            typed_text(&one(amount.clone()))[0].remedy.code[0]
                .text
                .contains("\"int\"")
        );
        // Codes of one length, and keys, stay.
        amount.text = Some(spread(&[(5, 300)]));
        assert!(typed_text(&one(amount.clone())).is_empty());
        amount.text = Some(spread(&[(2, 100), (5, 200)]));
        amount.unique = true;
        assert!(typed_text(&one(amount)).is_empty());
    }

    #[test]
    fn many_fields_of_one_form_are_one_advice() {
        let dates = ["a_at", "b_at", "c_at", "d_at"].map(|name| {
            let mut date = text(name, 300, 20);
            date.form = Some(TextForm::Datetime);
            date
        });
        let all = typed_text(&database(vec![collection("orders", 300, dates.to_vec())]));
        assert_eq!((all.len(), all[0].also.len()), (1, 3));
    }
}
