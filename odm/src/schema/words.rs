//! A schema, and the difference between two, in words.

use super::json_schema::MARK;
use super::values::{plural, same};
use crate::error::violation::described;
use crate::model::meta::value_rules::Pattern;
use mongodb::bson::{Bson, Document};

/// How many fields a schema declares, without those that it refuses.
pub(super) fn fields(schema: &Document) -> u64 {
    let is_refused = |field: &Bson| matches!(field, Bson::Document(rules) if rules.contains_key("not"));
    let declared = |fields: &Document| fields.values().filter(|field| !is_refused(field)).count();
    schema.get_document("properties").map_or(0, declared) as u64
}

/// The differences between two schemas, a line each.
pub(crate) fn diff(old: &Document, new: &Document) -> Vec<String> {
    let (before, after) = (ruled(old), ruled(new));
    let mut lines = Vec::new();
    let (was, is) = (declared_by(old), declared_by(new));
    if was != is {
        lines.push(format!("declared by `{is}` (was `{was}`)"));
    }
    let find = |ruled: &[RuledValue], path: &str| ruled.iter().position(|one| one.path == path);
    for one in &after {
        match find(&before, &one.path) {
            Some(i) => changed(&before[i], one, &mut lines),
            // Of a field with fields of its own, one line is enough.
            None if find(&before, &one.parent).is_some() => {
                let mut texts: Vec<&str> = one.rules.iter().map(|rule| rule.text.as_str()).collect();
                let inner = after
                    .iter()
                    .filter(|other| other.parent == one.path && other.is_field)
                    .count();
                let inner = format!("with {}", plural(inner as u64, "field"));
                if inner != "with 0 fields" {
                    texts.push(&inner);
                }
                let rules = if texts.is_empty() {
                    "anything".to_owned()
                } else {
                    texts.join(", ")
                };
                lines.push(format!("{}: new: {rules}", one.shown()));
            }
            None => {}
        }
    }
    for one in &before {
        if find(&after, &one.path).is_none() && find(&after, &one.parent).is_some() {
            lines.push(format!("{}: no longer declared", one.shown()));
        }
    }
    if lines.is_empty() {
        lines.push("the validator is replaced".to_owned());
    }
    lines
}

fn declared_by(schema: &Document) -> &str {
    let title = schema.get_str("title").unwrap_or_default();
    title.strip_prefix(MARK).unwrap_or(title)
}

fn changed(old: &RuledValue, new: &RuledValue, lines: &mut Vec<String>) {
    let path = new.shown();
    for rule in &new.rules {
        match old.rules.iter().find(|other| other.kind == rule.kind) {
            Some(other) if same(&other.raw, &rule.raw) => {}
            Some(other) => lines.push(format!("{path}: {} (was {})", rule.text, other.value)),
            None if rule.kind == "required" => lines.push(format!("{path}: required (was optional)")),
            None => lines.push(format!("{path}: {} (new)", rule.text)),
        }
    }
    for rule in &old.rules {
        if !new.rules.iter().any(|other| other.kind == rule.kind) {
            lines.push(format!("{path}: no longer {}", rule.text));
        }
    }
}

/// A value in a document, and the rules for it.
struct RuledValue {
    path: String,
    parent: String,
    is_field: bool,
    rules: Vec<ValueRule>,
}

impl RuledValue {
    fn shown(&self) -> &str {
        if self.path.is_empty() {
            "the document"
        } else {
            &self.path
        }
    }
}

struct ValueRule {
    kind: &'static str,
    /// The whole of it: `at most 5 items`.
    text: String,
    /// The part that differs between two of a kind: `5`.
    value: String,
    raw: Bson,
}

fn ruled(schema: &Document) -> Vec<RuledValue> {
    let mut ruled = Vec::new();
    visit(&mut ruled, "", "", schema, false);
    ruled
}

fn ruled_value<'a>(
    ruled: &'a mut Vec<RuledValue>,
    path: &str,
    parent: &str,
    is_field: bool,
) -> &'a mut RuledValue {
    let at = match ruled.iter().position(|one| one.path == path) {
        Some(at) => at,
        None => {
            ruled.push(RuledValue {
                path: path.into(),
                parent: parent.into(),
                is_field,
                rules: Vec::new(),
            });
            ruled.len() - 1
        }
    };
    &mut ruled[at]
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn visit(ruled: &mut Vec<RuledValue>, path: &str, parent: &str, schema: &Document, is_field: bool) {
    let here = ruled_value(ruled, path, parent, is_field);
    let exactly = match (schema.get("minItems"), schema.get("maxItems")) {
        (Some(min), Some(max)) => same(min, max),
        _ => false,
    };
    for (keyword, raw) in schema {
        let (kind, text, value) = match keyword.as_str() {
            "bsonType" => ("type", types(raw), types(raw)),
            "enum" => ("enum", format!("one of {}", listed(raw)), listed(raw)),
            "pattern" => {
                let whole = raw.as_str().unwrap_or_default();
                let value = described(Pattern::of_whole(whole).unwrap_or(whole));
                ("pattern", value.clone(), value)
            }
            "uniqueItems" if *raw == Bson::Boolean(true) => {
                ("uniqueItems", "no item twice".to_owned(), "any items".to_owned())
            }
            "minItems" if exactly => continue,
            "maxItems" if exactly => ("maxItems", format!("exactly {raw} items"), raw.to_string()),
            "minItems" => ("minItems", format!("at least {raw} items"), raw.to_string()),
            "maxItems" => ("maxItems", format!("at most {raw} items"), raw.to_string()),
            "minLength" => ("minLength", format!("at least {raw} characters"), raw.to_string()),
            "maxLength" => ("maxLength", format!("at most {raw} characters"), raw.to_string()),
            "minimum" => ("minimum", format!("at least {raw}"), raw.to_string()),
            "maximum" => ("maximum", format!("at most {raw}"), raw.to_string()),
            "multipleOf" => ("multipleOf", format!("multiples of {raw}"), raw.to_string()),
            "minProperties" => (
                "minProperties",
                format!("at least {raw} entries"),
                raw.to_string(),
            ),
            "maxProperties" => ("maxProperties", format!("at most {raw} entries"), raw.to_string()),
            "additionalProperties" if *raw == Bson::Boolean(false) => {
                ("others", "no other fields".to_owned(), "none".to_owned())
            }
            "not" => ("not", "absent".to_owned(), "absent".to_owned()),
            _ => continue,
        };
        here.rules.push(ValueRule {
            kind,
            text,
            value,
            raw: raw.clone(),
        });
    }
    let none = Document::new();
    let properties = schema.get_document("properties").unwrap_or(&none);
    for (name, field) in properties {
        if let Bson::Document(field) = field {
            visit(ruled, &join(path, name), path, field, true);
        }
    }
    for name in schema
        .get_array("required")
        .into_iter()
        .flatten()
        .filter_map(Bson::as_str)
    {
        ruled_value(ruled, &join(path, name), path, true)
            .rules
            .push(ValueRule {
                kind: "required",
                text: "required".to_owned(),
                value: "optional".to_owned(),
                raw: true.into(),
            });
    }
    if let Ok(others) = schema.get_document("additionalProperties") {
        visit(ruled, &join(path, "*"), path, others, false);
    }
    match schema.get("items") {
        Some(Bson::Document(items)) => visit(ruled, &format!("{path}[]"), path, items, false),
        Some(Bson::Array(items)) => {
            for (i, item) in items.iter().enumerate() {
                if let Bson::Document(item) = item {
                    visit(ruled, &format!("{path}[{i}]"), path, item, false);
                }
            }
        }
        _ => {}
    }
    for (i, form) in schema.get_array("anyOf").into_iter().flatten().enumerate() {
        if let Bson::Document(form) = form {
            let name = match form.get_str("title") {
                Ok(title) => title.to_owned(),
                Err(_) if form.get_str("bsonType").is_ok_and(|t| t == "null") => "null".to_owned(),
                Err(_) if form.contains_key("enum") => "names".to_owned(),
                Err(_) => i.to_string(),
            };
            visit(ruled, &format!("{path}<{name}>"), path, form, false);
        }
    }
    for part in schema.get_array("allOf").into_iter().flatten() {
        if let Bson::Document(part) = part {
            visit(ruled, path, parent, part, is_field);
        }
    }
}

fn types(raw: &Bson) -> String {
    let article = |name: &str| match name {
        "null" => "null".to_owned(),
        "int" | "array" | "object" | "objectId" => format!("an {name}"),
        _ => format!("a {name}"),
    };
    match raw {
        Bson::Array(names) => {
            let names: Vec<String> = names.iter().filter_map(Bson::as_str).map(article).collect();
            names.join(" or ")
        }
        one => article(one.as_str().unwrap_or_default()),
    }
}

fn listed(raw: &Bson) -> String {
    let values: Vec<String> = raw
        .as_array()
        .into_iter()
        .flatten()
        .map(Bson::to_string)
        .collect();
    values.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::doc;

    fn object(properties: Document, required: &[&str]) -> Document {
        doc! { "title": "odm: A", "bsonType": "object", "required": required, "properties": properties }
    }

    #[test]
    fn rules_are_told_apart() {
        let old = object(
            doc! {
                "addresses": { "bsonType": "array", "maxItems": 5, "items": object(doc! { "city": { "bsonType": "string" } }, &[]) },
                "name": { "bsonType": "string", "maxLength": 20 },
                "age": { "bsonType": "int", "minimum": 0 },
                "kind": { "enum": ["a", "b"] },
                "gone": { "bsonType": "bool" },
            },
            &["name"],
        );
        let new = object(
            doc! {
                "addresses": { "bsonType": "array", "maxItems": 10, "items": object(doc! { "city": { "bsonType": "string", "maxLength": 50 } }, &["city"]) },
                "name": { "bsonType": ["string", "null"] },
                "age": { "bsonType": "int", "minimum": 1, "maximum": 150 },
                "kind": { "enum": ["a", "b", "c"] },
                "home": { "bsonType": "object", "properties": { "x": {}, "y": { "bsonType": "int" } } },
            },
            &["age"],
        );
        assert_eq!(
            diff(&old, &new),
            [
                "addresses: at most 10 items (was 5)",
                "addresses[].city: at most 50 characters (new)",
                "addresses[].city: required (was optional)",
                "name: a string or null (was a string)",
                "name: no longer at most 20 characters",
                "name: no longer required",
                "age: at least 1 (was 0)",
                "age: at most 150 (new)",
                "age: required (was optional)",
                "kind: one of \"a\", \"b\", \"c\" (was \"a\", \"b\")",
                "home: new: an object, with 2 fields",
                "gone: no longer declared",
            ]
        );
    }

    #[test]
    fn variants_maps_and_tuples_have_paths() {
        let schema = |max: i32, len: i32| {
            object(
                doc! {
                    "shape": { "anyOf": [{ "title": "Circle", "bsonType": "object", "properties": { "r": { "maximum": max } } }, { "bsonType": "null" }] },
                    "by_day": { "bsonType": "object", "additionalProperties": { "maximum": max } },
                    "pair": { "bsonType": "array", "items": [{ "maximum": max }, {}], "minItems": len, "maxItems": len },
                },
                &[],
            )
        };
        assert_eq!(
            diff(&schema(1, 2), &schema(3, 4)),
            [
                "shape<Circle>.r: at most 3 (was 1)",
                "by_day.*: at most 3 (was 1)",
                "pair: exactly 4 items (was 2)",
                "pair[0]: at most 3 (was 1)",
            ]
        );
    }

    #[test]
    fn something_is_always_said() {
        assert_eq!(
            diff(&doc! { "title": "odm: A" }, &doc! { "title": "odm: B" }),
            ["declared by `B` (was `A`)"]
        );
        assert_eq!(
            diff(
                &doc! { "title": "odm: A", "description": "d" },
                &doc! { "title": "odm: A" }
            ),
            ["the validator is replaced"]
        );
        assert_eq!(
            diff(
                &doc! { "title": "odm: A" },
                &doc! { "title": "odm: A", "additionalProperties": false }
            ),
            ["the document: no other fields (new)"]
        );
    }
}
