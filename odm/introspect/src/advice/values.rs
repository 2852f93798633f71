//! Values of one field that are stored in several ways.

use super::remedy::{Remedy, embedded, field, holder};
use super::words::{bytes, count, counted, list, percent, place, share};
use super::{Advice, Rule, Severity, names};
use crate::design::{Collection, Design, Field};
use crate::kind::{Kind, TextForm};
use std::collections::BTreeMap;

/// A kind with a smaller share was written by an exception, not by design.
const EXCEPTION: f64 = 0.25;
/// Fewer values don't show how a field is stored.
const VALUES: u64 = 10;
/// From this number of paths on, one advice names all of a collection.
const TOGETHER: usize = 3;
/// An enumeration repeats its values; others, such as names, may differ in case on purpose.
const REPEATED: u64 = 4;

/// Each field of stored documents, with its collection.
fn fields(design: &Design) -> Vec<(&Collection, Vec<&Field>)> {
    let stored = design
        .collections
        .iter()
        .filter(|collection| collection.kind != crate::design::CollectionKind::View);
    stored
        .map(|collection| {
            let mut all = Vec::new();
            collection.root.walk(&mut |field| {
                if !field.path.is_empty() {
                    all.push(field);
                }
            });
            (collection, all)
        })
        .collect()
}

/// What the kinds of a field are taken for: numbers of all kinds are numbers.
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
                        "A condition on {} finds none of the {} others, {}, a sort puts them apart, and a struct with one type reads \
                         none of them.",
                        article(classes[0].0),
                        count(others),
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
    let retype = if only(&["number", "text"]) && classes[0].0 == "text" {
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

/// Values that differ in case or in spaces alone.
pub fn near_duplicates(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for (collection, fields) in fields(design) {
        for field in fields {
            let number: u64 = field.values.iter().map(|(_, number)| number).sum();
            let repeats = number >= REPEATED * field.values.len() as u64;
            if field.kinds.contains_key(&Kind::String) && (field.enumeration || repeats) {
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
            "`{}` has {} that differ from a commoner one in case, spaces, `_` or `-` alone, in {}.",
            place(&collection.name, &field.path),
            counted(variants.len() as u64, "value", "values"),
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
    let references = |side: &crate::design::Place| {
        side.collection == collection.name && side.paths.iter().any(|path| *path == field.path)
    };
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
    let mut advice = Advice::new(Rule::TypedText, Severity::Risk, &collection.name, &first.path)
        .finding(finding)
        .cost(format!("{} more than the type needs; {worse}.", bytes(saved)))
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

/// Keys with a dot, or that begin with `$`.
pub fn awkward_keys(design: &Design) -> Vec<Advice> {
    let is_awkward = |key: &str| key.contains('.') || key.starts_with('$');
    let mut all = Vec::new();
    for (collection, fields) in fields(design) {
        for field in fields {
            let (number, whole, examples) = match &field.map {
                Some(map) => {
                    let known: Vec<String> = map
                        .examples
                        .iter()
                        .filter(|key| is_awkward(key))
                        .cloned()
                        .collect();
                    (map.awkward.max(known.len() as u64), map.keys, known)
                }
                None => {
                    // A name is part of the shape, and no value.
                    let named: Vec<String> = field
                        .fields
                        .iter()
                        .map(|field| field.name.clone())
                        .filter(|name| is_awkward(name))
                        .collect();
                    (named.len() as u64, field.fields.len() as u64, Vec::new())
                }
            };
            if number == 0 {
                continue;
            }
            all.push(awkward(collection, field, number, whole, &examples));
        }
    }
    all
}

fn awkward(collection: &Collection, map: &Field, number: u64, whole: u64, examples: &[String]) -> Advice {
    let entry = names::embedded_name(&collection.name, &format!("{}[]", map.path));
    let value = map.map.as_ref().map(|map| map.values.as_ref());
    let value = match value.and_then(Field::only_kind) {
        Some(Kind::Object | Kind::Array) | None => {
            names::embedded_name(&collection.name, &map.path) + "Value"
        }
        _ => names::rust_type(value).to_owned(),
    };
    let most = map.map.as_ref().map_or(whole, |map| map.per_map.greatest);
    let remedy = Remedy::new(
        "Store an array of entries with the key as a field, which an index and a condition can name.",
    )
    .rust(embedded(
        &entry,
        &[],
        &format!("pub key: String,\npub value: {value},"),
    ))
    .rust(holder(
        &collection.name,
        &map.path,
        &field(
            &map.path,
            &[format!("#[embed(max = {})]", super::remedy::bound(most))],
            &format!("Vec<{entry}>"),
        ),
    ));
    let remedy = match names::written(&map.path).filter(|_| !map.path.contains('[')) {
        Some(path) => remedy.step(&[
            format!("let map = doc! {{ {path:?}: {{ \"$type\": \"object\", \"$not\": {{ \"$type\": \"array\" }} }} }};"),
            format!("let pairs = doc! {{ \"$objectToArray\": {:?} }};", format!("${path}")),
            "let entry = doc! { \"key\": \"$$this.k\", \"value\": \"$$this.v\" };".to_owned(),
            "let entries = doc! { \"$map\": { \"input\": pairs, \"in\": entry } };".to_owned(),
            format!("let array = doc! {{ \"$set\": {{ {path:?}: entries }} }};"),
            format!("step.collection({:?}).update(map, [array]).await", collection.name),
        ]),
        None => remedy,
    };
    Advice::new(Rule::AwkwardKeys, Severity::Risk, &collection.name, &map.path)
        .finding(format!(
            "{} of {} of `{}` {} a dot or begin with `$`.",
            count(number),
            counted(whole, "key", "keys"),
            place(&collection.name, &map.path),
            if number == 1 { "has" } else { "have" },
        ))
        .cost(format!(
            "No path, condition, update or index can name the values of {}; a change of one sends the whole map.",
            counted(number, "key", "keys"),
        ))
        .remedy(remedy)
        .figure("affected", number as f64)
        .figure("awkward", number as f64)
        .figure("keys", whole as f64)
        .examples(examples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;
    use crate::design::Map;

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

    #[test]
    fn variants_of_a_value_are_found() {
        let mut state = text("state", 300, 6);
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
        // Values that occur once are names.
        state.values = [("open", 1), ("Open", 1)]
            .map(|(value, number)| (value.to_owned(), number))
            .to_vec();
        assert!(near_duplicates(&one(state.clone())).is_empty());
        // No values, no advice.
        state.enumeration = true;
        state.values.clear();
        assert!(near_duplicates(&one(state)).is_empty());
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

    #[test]
    fn keys_with_dots_are_found() {
        let mut by_host = object("hosts", 300, Vec::new());
        by_host.map = Some(Map {
            keys: 40,
            awkward: 3,
            per_map: spread(&[(4, 300)]),
            values: Box::new(number("hosts{}", 1_200)),
            ..Default::default()
        });
        let all = awkward_keys(&one(by_host.clone()));
        assert_eq!((all.len(), all[0].place().as_str()), (1, "orders.hosts"));
        if let Some(map) = &mut by_host.map {
            map.awkward = 0;
        }
        assert!(awkward_keys(&one(by_host)).is_empty());
    }
}
