//! Reads the `errInfo.details` of a failed validation: a tree along the validator, with the operators that did not hold.

use crate::error::{Rule, Violation};
use crate::model::document::DocumentMeta;
use crate::model::meta::value_rules::Pattern;
use crate::model::shape::{Bounds, Number, Shape};
use mongodb::bson::{Bson, Document};

/// How many violations are read.
const MOST: usize = 100;

/// One violation for each rule that the details name.
pub(super) fn violations(details: &Document, meta: Option<&DocumentMeta>) -> Vec<Violation> {
    let mut reader = RefusalReader {
        meta,
        found: Vec::new(),
    };
    reader.rule(details, "");
    reader.found.truncate(MOST);
    reader.found
}

struct RefusalReader<'a> {
    meta: Option<&'a DocumentMeta>,
    found: Vec<Violation>,
}

impl RefusalReader<'_> {
    fn add(&mut self, path: &str, rule: Rule, value: Option<&Bson>) {
        self.found.push(Violation::new(path, rule, value.cloned()));
    }

    fn rules(&mut self, rules: &[Bson], path: &str) {
        for rule in rules.iter().filter_map(Bson::as_document) {
            self.rule(rule, path);
        }
    }

    /// One operator that did not hold.
    fn rule(&mut self, rule: &Document, path: &str) {
        if self.found.len() >= MOST {
            return;
        }
        let before = self.found.len();
        let operator = rule.get_str("operatorName").unwrap_or_default();
        let bound = rule
            .get_document("specifiedAs")
            .ok()
            .and_then(|bounds| bounds.get(operator));
        let value = rule.get("consideredValue");
        match operator {
            "$jsonSchema" => self.rules(list(rule, "schemaRulesNotSatisfied"), path),
            // Which of several, the server does not say: the document has to satisfy all of them.
            "$expr" => {
                let checks = self.meta.map(|meta| meta.checks).unwrap_or_default();
                let compared = checks.iter().filter(|check| check.expression().is_some());
                let texts: Vec<String> = compared.map(|check| format!("`{}`", check.text)).collect();
                if !texts.is_empty() {
                    let rule = Rule::Check(format!("must satisfy {}", texts.join(" and ")));
                    self.add("", rule, None);
                }
            }
            "$and" | "$or" | "$nor" => {
                // A clause that holds is what breaks `$nor`: it has no path to a wrong value.
                for clause in documents(rule, "clausesNotSatisfied") {
                    if let Ok(details) = clause.get_document("details") {
                        self.rule(details, path);
                    }
                }
            }
            "properties" => {
                for property in documents(rule, "propertiesNotSatisfied") {
                    let path = below(path, property.get_str("propertyName").unwrap_or_default());
                    self.rules(list(property, "details"), &path);
                }
            }
            "patternProperties" => {
                for property in documents(rule, "details") {
                    let path = below(path, property.get_str("propertyName").unwrap_or_default());
                    self.rules(list(property, "details"), &path);
                }
            }
            "items" | "additionalItems" => match index(rule) {
                Some(at) => self.rules(list(rule, "details"), &below(path, &at)),
                None => {
                    for item in documents(rule, "details") {
                        match index(item) {
                            Some(at) => self.rules(list(item, "details"), &below(path, &at)),
                            None => self.rule(item, path),
                        }
                    }
                }
            },
            "additionalProperties" => {
                if let Ok(name) = rule.get_str("failingProperty") {
                    self.rules(list(rule, "details"), &below(path, name));
                }
                for name in list(rule, "additionalProperties").iter().filter_map(Bson::as_str) {
                    match self.key_len(path) {
                        Some(max) => self.add(path, Rule::KeyLength(max), Some(&Bson::from(name))),
                        None => self.add(&below(path, name), Rule::Unknown, None),
                    }
                }
            }
            "required" => {
                for name in list(rule, "missingProperties").iter().filter_map(Bson::as_str) {
                    self.add(&below(path, name), Rule::Required, None);
                }
            }
            "maxItems" | "minItems" if self.exact(path).is_some() => {
                let rule = Rule::Items(self.exact(path).unwrap_or_default());
                self.add(path, rule, None);
            }
            "maxItems" | "maxProperties" => {
                if let Some(n) = bound.and_then(count) {
                    self.add(path, Rule::MaxItems(n), None);
                }
            }
            "maxLength" | "minLength" => {
                if let Some(n) = bound.and_then(count) {
                    let made: fn(u64) -> Rule = match operator {
                        "maxLength" => Rule::MaxLength,
                        _ => Rule::MinLength,
                    };
                    self.add(path, made(n), value);
                }
            }
            "minimum" | "maximum" if !exclusive(rule) => {
                if let Some(n) = bound.and_then(number) {
                    let made: fn(Number) -> Rule = match operator {
                        "minimum" => Rule::Min,
                        _ => Rule::Max,
                    };
                    self.add(path, made(n), value);
                }
            }
            "bsonType" | "type" => {
                if let Some(types) = bound.map(names) {
                    self.add(path, Rule::Type(types), value);
                }
            }
            // A double that is no whole number, where an integer is declared.
            "multipleOf" if bound.and_then(count) == Some(1) => {
                let types = ["int", "long"].map(str::to_owned);
                self.add(path, Rule::Type(types.to_vec()), value);
            }
            "multipleOf" => {
                if let Some(n) = bound.and_then(count).and_then(|n| i64::try_from(n).ok()) {
                    self.add(path, Rule::MultipleOf(n), value);
                }
            }
            "pattern" => {
                if let Some(text) = bound.and_then(Bson::as_str).and_then(Pattern::of_whole) {
                    self.add(path, Rule::Pattern(text.to_owned()), value);
                }
            }
            "uniqueItems" => self.add(path, Rule::UniqueItems, rule.get("duplicatedValue")),
            "enum" => {
                if let Some(Bson::Array(values)) = bound {
                    self.add(path, Rule::OneOf(values.clone()), value);
                }
            }
            "anyOf" | "oneOf" | "allOf" => self.branches(rule, operator, path),
            _ => {}
        }
        if self.found.len() == before {
            self.other(rule, operator, path);
        }
    }

    /// A rule that has no name here: its operator and the server's reason.
    fn other(&mut self, rule: &Document, operator: &str, path: &str) {
        let specified = rule.get_document("specifiedAs").ok();
        let reason = match (rule.get_str("reason"), specified) {
            (Ok(reason), _) => format!("{operator}: {reason}"),
            (Err(_), Some(specified)) => format!("{operator}: {specified}"),
            (Err(_), None) => operator.to_owned(),
        };
        // A query operator names its field in what was specified: `{ n: { $gt: 0 } }`.
        let field = specified.and_then(|specified| specified.keys().next());
        let path = match field.filter(|field| operator.starts_with('$') && !field.starts_with('$')) {
            Some(field) => below(path, field),
            None => path.to_owned(),
        };
        let operator = if operator.is_empty() {
            "unknown".to_owned()
        } else {
            reason
        };
        self.add(&path, Rule::Other(operator), rule.get("consideredValue"));
    }

    /// Alternatives, none of which held: those of the one that was meant, if that can be told.
    fn branches(&mut self, rule: &Document, operator: &str, path: &str) {
        let branches: Vec<&[Bson]> = documents(rule, "schemasNotSatisfied")
            .map(|schema| list(schema, "details"))
            .collect();
        if operator == "allOf" {
            return branches.into_iter().for_each(|rules| self.rules(rules, path));
        }
        let best = branches
            .iter()
            .map(|rules| meant(rules))
            .max()
            .unwrap_or(Meant::No);
        let mut closest = branches.iter().filter(|rules| meant(rules) == best);
        match (best, closest.next(), closest.next()) {
            (Meant::Maybe | Meant::Yes, Some(rules), None) => self.rules(rules, path),
            (Meant::No, Some(_), _) => self.alternatives(&branches, path),
            _ => {}
        }
    }

    /// Alternatives that differ by type or by value only: all that would have been right.
    fn alternatives(&mut self, branches: &[&[Bson]], path: &str) {
        let (mut types, mut values, mut value) = (Vec::new(), Vec::new(), None);
        for rules in branches {
            let [Bson::Document(rule)] = rules else { return };
            let Ok(specified) = rule.get_document("specifiedAs") else {
                return;
            };
            value = rule.get("consideredValue");
            match (rule.get_str("operatorName").unwrap_or_default(), specified) {
                (name @ ("bsonType" | "type"), specified) => {
                    types.extend(specified.get(name).map(names).unwrap_or_default());
                }
                ("enum", specified) => {
                    values.extend(specified.get_array("enum").into_iter().flatten().cloned());
                }
                _ => return,
            }
        }
        match (types.is_empty(), values.is_empty()) {
            (false, true) => self.add(path, Rule::Type(types), value),
            (true, false) => self.add(path, Rule::OneOf(values), value),
            _ => {}
        }
    }

    /// How many items a fixed array or tuple has.
    fn exact(&self, path: &str) -> Option<u64> {
        match self.declared(path)?.0 {
            Shape::Fixed { len, .. } => Some(len as u64),
            Shape::Tuple(items) => Some(items.len() as u64),
            _ => None,
        }
    }

    /// The declared length of a map's keys.
    fn key_len(&self, path: &str) -> Option<u64> {
        match self.declared(path)? {
            (Shape::Map(_), bounds) => bounds.key_len,
            _ => None,
        }
    }

    /// The declaration at a path. Enums are not searched: their parts depend on the variant.
    fn declared(&self, path: &str) -> Option<(Shape, Bounds)> {
        let mut at = (unwrapped((self.meta?.shape)(), Bounds::NONE), path);
        while !at.1.is_empty() {
            let ((shape, bounds), rest) = at;
            let (name, rest) = rest.split_once('.').unwrap_or((rest, ""));
            let next = match shape {
                Shape::Struct(shape) => {
                    let field = shape
                        .fields
                        .iter()
                        .find(|field| field.name == name && !field.flatten)?;
                    ((field.shape)(), field.bounds)
                }
                Shape::Array(items) | Shape::Map(items) | Shape::Fixed { items, .. } => (items(), bounds),
                Shape::Tuple(items) => (items.get(name.parse::<usize>().ok()?)?(), bounds),
                _ => return None,
            };
            at = (unwrapped(next.0, next.1), rest);
        }
        Some(at.0)
    }
}

/// Whether a branch of alternatives is the one that the value was meant for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meant {
    /// The type or the tag differs.
    No,
    /// Something is missing, or there is too much.
    Maybe,
    /// Only values inside it are wrong.
    Yes,
}

fn meant(rules: &[Bson]) -> Meant {
    let operator = |rule: &Document| rule.get_str("operatorName").unwrap_or_default().to_owned();
    let mut worst = Meant::Yes;
    for rule in rules.iter().filter_map(Bson::as_document) {
        let this = match operator(rule).as_str() {
            "bsonType" | "type" | "enum" => Meant::No,
            "required" | "additionalProperties" | "minProperties" | "maxProperties" => Meant::Maybe,
            "properties" => {
                let mut details =
                    documents(rule, "propertiesNotSatisfied").flat_map(|p| documents(p, "details"));
                if details.any(|rule| operator(rule) == "enum") {
                    Meant::No
                } else {
                    Meant::Yes
                }
            }
            _ => Meant::Yes,
        };
        worst = worst.min(this);
    }
    worst
}

fn unwrapped(mut shape: Shape, mut bounds: Bounds) -> (Shape, Bounds) {
    for _ in 0..64 {
        (shape, bounds) = match shape {
            Shape::Optional(inner) => (inner(), bounds),
            Shape::Bounded(meta) => ((meta.shape)(), meta.bounds),
            other => return (other, bounds),
        };
    }
    (Shape::Any, bounds)
}

fn below(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

fn list<'a>(rule: &'a Document, name: &str) -> &'a [Bson] {
    rule.get_array(name).map(Vec::as_slice).unwrap_or_default()
}

fn documents<'a>(rule: &'a Document, name: &str) -> impl Iterator<Item = &'a Document> + use<'a> {
    list(rule, name).iter().filter_map(Bson::as_document)
}

fn index(rule: &Document) -> Option<String> {
    rule.get("itemIndex").and_then(count).map(|at| at.to_string())
}

fn exclusive(rule: &Document) -> bool {
    let Ok(specified) = rule.get_document("specifiedAs") else {
        return false;
    };
    ["exclusiveMinimum", "exclusiveMaximum"]
        .iter()
        .any(|name| specified.get_bool(name).unwrap_or(false))
}

fn names(types: &Bson) -> Vec<String> {
    match types {
        Bson::Array(types) => types.iter().filter_map(Bson::as_str).map(str::to_owned).collect(),
        Bson::String(name) => vec![name.clone()],
        other => vec![other.to_string()],
    }
}

fn number(value: &Bson) -> Option<Number> {
    match value {
        Bson::Int32(n) => Some(Number::Int((*n).into())),
        Bson::Int64(n) => Some(Number::Int(*n)),
        Bson::Double(n) => Some(Number::Float(*n)),
        Bson::Decimal128(n) => n.to_string().parse().ok().map(Number::Float),
        _ => None,
    }
}

fn count(value: &Bson) -> Option<u64> {
    match value {
        Bson::Int32(n) => u64::try_from(*n).ok(),
        Bson::Int64(n) => u64::try_from(*n).ok(),
        Bson::Double(n) if *n >= 0.0 && n.fract() == 0.0 => Some(*n as u64),
        _ => None,
    }
}
