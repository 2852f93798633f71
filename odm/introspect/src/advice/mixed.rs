//! Fields with values of several types.

use super::fields::{VALUES, fields};
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::Remedy;
use super::words::{count, counted, percent, place, share};
use crate::design::{Collection, Design, Field};
use crate::kind::{Kind, TextForm};
use std::collections::BTreeMap;

/// A kind with a smaller share was written by an exception, not by design.
const EXCEPTION: f64 = 0.25;

/// The kinds of a field as they are compared: numbers of all kinds are numbers.
fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Int | Kind::Long | Kind::Double => "number",
        Kind::Decimal => "decimal number",
        Kind::String => "text",
        Kind::Bool => "flag",
        Kind::Date | Kind::Timestamp => "date",
        Kind::Object => "document",
        Kind::Array => "array",
        Kind::ObjectId => "ObjectId",
        Kind::Uuid => "UUID",
        Kind::BinData => "binary value",
        Kind::Regex => "regular expression",
        Kind::Null | Kind::Other => "other value",
    }
}

/// Types that differ for one field.
pub fn mixed_types(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for (collection, fields) in fields(design) {
        for field in fields {
            let mut classes: BTreeMap<&'static str, u64> = BTreeMap::new();
            for (kind, number) in field.kinds.iter().filter(|(kind, _)| **kind != Kind::Null) {
                *classes.entry(class(*kind)).or_default() += number;
            }
            let values: u64 = classes.values().sum();
            if classes.len() < 2 || values < VALUES {
                continue;
            }
            let mut classes: Vec<_> = classes.into_iter().collect();
            classes.sort_by_key(|class| std::cmp::Reverse(class.1));
            let others = values - classes[0].1;
            let part = share(others, values);
            let severity = if part <= EXCEPTION {
                Severity::Fault
            } else {
                Severity::Risk
            };
            let words: Vec<String> = classes
                .iter()
                .map(|(class, number)| {
                    let many = match *class {
                        "text" => "texts".to_owned(),
                        class => format!("{class}s"),
                    };
                    counted(*number, class, &many)
                })
                .collect();
            all.push(
                Advice::new(Rule::MixedTypes, severity, &collection.name, &field.path)
                    .finding(format!(
                        "`{}` has several types: {}.",
                        place(&collection.name, &field.path),
                        words.join(", "),
                    ))
                    .cost(format!(
                        "A condition on {} finds none of the others, {} of {}, {}; a sort puts them apart, and a struct with one type \
                         reads none of them.",
                        article(classes[0].0),
                        count(others),
                        count(values),
                        percent(others, values),
                    ))
                    .remedy(one_type(collection, field, &classes))
                    .figure("affected", others as f64)
                    .figure("others", others as f64)
                    .figure("values", values as f64)
                    .figure("share", part),
            );
        }
    }
    all
}

fn article(class: &str) -> String {
    match class {
        "text" => class.to_owned(),
        "array" | "ObjectId" | "other value" => format!("an {class}"),
        class => format!("a {class}"),
    }
}

/// All values of one type; or an enum that reads each, where no expression makes one of the other.
fn one_type(collection: &Collection, field: &Field, classes: &[(&'static str, u64)]) -> Remedy {
    let has = |kind: Kind| field.kinds.contains_key(&kind);
    let only = |wanted: &[&str]| classes.iter().all(|(class, _)| wanted.contains(class));
    let dated = matches!(field.form, Some(TextForm::Date | TextForm::Datetime));
    let retype = if only(&["number", "text"]) && dated {
        // Numbers of the size of today's seconds.
        let seconds = field
            .numbers
            .is_some_and(|(least, greatest)| least > 1e8 && greatest < 1e11);
        seconds.then_some((
            "date",
            "{ \"$toDate\": { \"$cond\": [\n        { \"$isNumber\": \"$$value\" },\n        { \"$multiply\": [\"$$value\", 1000] },\n        \
             \"$$value\",\n    ] } }",
        ))
    } else if only(&["number", "text"]) && classes[0].0 == "text" {
        Some(("string", "{ \"$toString\": \"$$value\" }"))
    } else if only(&["number", "text"]) && !has(Kind::Double) {
        if has(Kind::Long) {
            Some(("long", "{ \"$toLong\": \"$$value\" }"))
        } else {
            Some(("int", "{ \"$toInt\": \"$$value\" }"))
        }
    } else if only(&["number", "text"]) {
        Some(("double", "{ \"$toDouble\": \"$$value\" }"))
    } else if only(&["number", "text", "decimal number"]) {
        Some(("decimal", "{ \"$toDecimal\": \"$$value\" }"))
    } else if only(&["date", "text"]) && classes[0].0 == "date" && !has(Kind::Timestamp) {
        Some(("date", "{ \"$toDate\": \"$$value\" }"))
    } else if only(&["ObjectId", "text"]) && classes[0].0 == "ObjectId" {
        Some(("objectId", "{ \"$toObjectId\": \"$$value\" }"))
    } else if only(&["number", "flag"]) && classes[0].0 == "flag" {
        Some(("bool", "{ \"$toBool\": \"$$value\" }"))
    } else {
        None
    };
    let written = names::written(&field.path);
    if let (Some((to, expression)), Some(path)) = (retype, &written) {
        return Remedy::new(format!(
            "Change the type of the others to `{to}`; the step ends with the server's error where a value can't be converted."
        ))
        .step(&[
            format!("let typed = doc! {expression};"),
            format!("step.collection({:?}).retype({path:?}, {to:?}, typed).await", collection.name),
        ]);
    }
    // A single value where others have an array.
    if let (true, "array", Some(path)) = (classes.len() == 2, classes[0].0, &written)
        && !field.path.contains('[')
    {
        return Remedy::new("Store an array in each document: a single value becomes an array of one.").step(&[
            format!("let single = doc! {{ {path:?}: {{ \"$exists\": true, \"$not\": {{ \"$type\": \"array\" }} }} }};"),
            format!("let array = doc! {{ \"$set\": {{ {path:?}: [{:?}] }} }};", format!("${path}")),
            format!("step.collection({:?}).update(single, [array]).await", collection.name),
        ]);
    }
    let name = format!("{}Value", names::embedded_name(&collection.name, &field.path));
    let mut variants: Vec<String> = Vec::new();
    for (class, _) in classes {
        variants.push(match *class {
            "number" => "Number(f64),".to_owned(),
            "decimal number" => "Decimal(Decimal128),".to_owned(),
            "text" => "Text(String),".to_owned(),
            "flag" => "Flag(bool),".to_owned(),
            "date" => "Date(DateTime),".to_owned(),
            "ObjectId" => "Id(ObjectId),".to_owned(),
            "UUID" => "Uuid(Uuid),".to_owned(),
            "document" => format!(
                "Document({}),",
                names::embedded_name(&collection.name, &field.path)
            ),
            "array" => "Array(#[field(opaque)] Bson),".to_owned(),
            _ => "Other(#[field(opaque)] Bson),".to_owned(),
        });
    }
    Remedy::new(
        "Keep one of the types and convert the others by `each`; until then, an enum reads all of them.",
    )
    .rust(format!(
        "#[derive(Embed, Clone, Debug, PartialEq)]\n#[embed(untagged)]\npub enum {name} {{\n    {}\n}}",
        variants.join("\n    "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

    fn one(field: Field) -> Design {
        database(vec![collection("orders", 300, vec![field])])
    }

    #[test]
    fn a_number_that_is_text_in_some_documents_is_a_fault() {
        let mut weight = number("weight", 300);
        weight.kinds.insert(Kind::String, 22);
        weight.kinds.insert(Kind::Int, 278);
        let all = mixed_types(&one(weight.clone()));
        assert_eq!((all.len(), all[0].severity), (1, Severity::Fault));
        assert_eq!(
            all[0].finding,
            "`orders.weight` has several types: 278 numbers, 22 texts."
        );
        let step = &all[0].remedy.code[0].text;
        assert!(step.contains(".retype(\"weight\", \"int\", typed)"), "{step}");
        // Several kinds of numbers, and null, are one type.
        weight.kinds.remove(&Kind::String);
        weight.kinds.insert(Kind::Double, 10);
        weight.kinds.insert(Kind::Null, 10);
        assert!(mixed_types(&one(weight)).is_empty());
    }

    #[test]
    fn seconds_beside_dates_as_text_become_dates() {
        let mut at = text("at", 300, 20);
        at.form = Some(TextForm::Datetime);
        at.kinds = [(Kind::String, 290), (Kind::Int, 10)].into();
        at.numbers = Some((1.5e9, 1.6e9));
        let step = |field: &Field| mixed_types(&one(field.clone()))[0].remedy.code[0].text.clone();
        assert!(
            step(&at).contains("retype(\"at\", \"date\", typed)"),
            "{}",
            step(&at)
        );
        // Numbers that are no seconds are read by an enum.
        at.numbers = Some((1.0, 9.0));
        assert!(step(&at).contains("#[embed(untagged)]"), "{}", step(&at));
    }

    #[test]
    fn what_can_not_be_converted_is_read_by_an_enum() {
        let mut owner = text("owner", 300, 10);
        owner.kinds.insert(Kind::Object, 200);
        owner.kinds.insert(Kind::String, 100);
        let all = mixed_types(&one(owner));
        assert_eq!(all[0].severity, Severity::Risk);
        assert!(
            all[0].remedy.code[0].text.contains("#[embed(untagged)]"),
            "{all:?}"
        );
    }
}
