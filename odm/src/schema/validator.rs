//! A collection's validator: the part that is ours, beside a part that is somebody else's.
//!
//! Ours is a `$jsonSchema` whose title begins with [`MARK`], and beside it in an `$and` the condition of its
//! [UUIDs](super::uuids). Where a collection has another validator, that one stays, and the collection gets
//! `{ $and: [theirs, { $jsonSchema: ours }] }`; only our part is replaced later.

use super::json_schema::MARK;
use super::{plural, same_document, uuids, words};
use crate::document::{Action, Level, Validation};
use mongodb::bson::{Bson, Document, doc};

/// What `listCollections` says of a collection.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Current {
    /// `collection`, `view` or `timeseries`.
    pub kind: String,
    pub validator: Option<Document>,
    pub level: Level,
    pub action: Action,
    /// The collation that its indexes inherit.
    pub collation: Option<Document>,
}

impl Current {
    pub fn read(listed: &Document) -> Current {
        let none = Document::new();
        let options = listed.get_document("options").unwrap_or(&none);
        let document = |name| options.get_document(name).ok().filter(|d| !d.is_empty()).cloned();
        Current {
            kind: listed.get_str("type").unwrap_or("collection").to_owned(),
            validator: document("validator"),
            level: match options.get_str("validationLevel") {
                Ok("off") => Level::Off,
                Ok("moderate") => Level::Moderate,
                _ => Level::Strict,
            },
            action: match options.get_str("validationAction") {
                Ok("warn") => Action::Warn,
                _ => Action::Error,
            },
            collation: document("collation"),
        }
    }

    /// Whether nothing of the validation has changed since.
    pub fn validates_like(&self, other: &Current) -> bool {
        self.validates(other.validator.as_ref(), other.level, other.action)
    }

    pub fn validates(&self, validator: Option<&Document>, level: Level, action: Action) -> bool {
        let same = match (&self.validator, validator) {
            (Some(a), Some(b)) => same_document(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        same && self.level == level && self.action == action
    }
}

/// What a collection should have.
#[derive(Debug, PartialEq)]
pub(super) struct Wanted {
    pub validator: Document,
    pub level: Level,
    pub action: Action,
    /// What changes, a line each.
    pub words: Vec<String>,
}

/// Our part alone.
pub(super) fn of(schema: &Document, uuids: Option<&Document>) -> Document {
    let schema = doc! { "$jsonSchema": schema.clone() };
    match uuids {
        Some(uuids) => doc! { "$and": [schema, uuids.clone()] },
        None => schema,
    }
}

/// What has to change so that `current` demands `schema`, and that UUIDs are ones; `None` where it does.
pub(super) fn wanted(
    current: &Current,
    schema: &Document,
    uuids: Option<&Document>,
    declared: Validation,
) -> Option<Wanted> {
    let mut words = Vec::new();
    let mut validator = current.validator.clone().unwrap_or_default();
    let foreign = is_foreign(&validator);
    let fields = || plural(words::fields(schema), "field");
    match ours(&mut validator) {
        Some(old) => {
            if !same_document(old, schema) {
                words = words::diff(old, schema);
                *old = schema.clone();
            }
        }
        None if foreign => {
            words.push(format!(
                "add a validator of {} beside the existing one, which stays",
                fields()
            ));
            validator = doc! { "$and": [validator, { "$jsonSchema": schema.clone() }] };
            if let (Some(uuids), Ok(parts)) = (uuids, validator.get_array_mut("$and")) {
                parts.push(uuids.clone().into());
            }
        }
        None => {
            words.push(format!("set a validator of {}", fields()));
            validator = of(schema, uuids);
        }
    }
    words.extend(put_uuids(&mut validator, uuids));
    let (mut level, mut action) = (declared.level, declared.action);
    if foreign {
        level = level.max(current.level);
        action = action.max(current.action);
    }
    if level != current.level {
        words.push(format!(
            "validation level {} (was {})",
            level.as_str(),
            current.level.as_str()
        ));
    }
    if action != current.action {
        words.push(format!(
            "validation action {} (was {})",
            action.as_str(),
            current.action.as_str()
        ));
    }
    if words.is_empty() {
        None
    } else {
        Some(Wanted {
            validator,
            level,
            action,
            words,
        })
    }
}

fn is_ours(schema: &Bson) -> bool {
    schema
        .as_document()
        .is_some_and(|schema| schema.get_str("title").is_ok_and(|title| title.starts_with(MARK)))
}

/// How many fields our part of a validator is about.
pub(super) fn fields(validator: &Document) -> u64 {
    let mut validator = validator.clone();
    ours(&mut validator).map_or(0, |schema| words::fields(schema))
}

/// Our schema in a validator: its `$jsonSchema`, or one in its `$and`.
fn ours(validator: &mut Document) -> Option<&mut Document> {
    if validator.get("$jsonSchema").is_some_and(is_ours) {
        return validator.get_document_mut("$jsonSchema").ok();
    }
    let parts = validator.get_array_mut("$and").ok()?;
    parts.iter_mut().filter_map(Bson::as_document_mut).find_map(ours)
}

/// Puts the condition of UUIDs in the place of the former one, and says what that changes.
fn put_uuids(validator: &mut Document, wanted: Option<&Document>) -> Option<String> {
    let is = |part: &Bson| {
        part.as_document()
            .is_some_and(|part| uuids::paths(part).is_some())
    };
    let parts = validator.get_array("$and").map(Vec::as_slice).unwrap_or_default();
    let current = parts.iter().find(|part| is(part)).and_then(Bson::as_document);
    let same = match (current, wanted) {
        (Some(current), Some(wanted)) => same_document(current, wanted),
        (current, wanted) => current.is_none() && wanted.is_none(),
    };
    if same {
        return None;
    }
    let mut parts: Vec<Bson> = match validator.get_array("$and") {
        Ok(parts) if validator.len() == 1 => parts.iter().filter(|part| !is(part)).cloned().collect(),
        _ => vec![Bson::Document(std::mem::take(validator))],
    };
    let words = match wanted {
        Some(wanted) => {
            parts.push(wanted.clone().into());
            let paths = uuids::paths(wanted).unwrap_or_default();
            format!(
                "only UUIDs that can be read (subtype 4) in `{}`",
                paths.join("`, `")
            )
        }
        None => "no condition of UUIDs any more".to_owned(),
    };
    *validator = match parts.as_mut_slice() {
        [Bson::Document(one)] => std::mem::take(one),
        _ => doc! { "$and": parts },
    };
    Some(words)
}

/// Whether a validator demands anything that is not of our making.
fn is_foreign(validator: &Document) -> bool {
    validator
        .iter()
        .any(|(name, value)| match (name.as_str(), value) {
            ("$jsonSchema", schema) => !is_ours(schema),
            ("$and", Bson::Array(parts)) => {
                parts.iter().any(|part| part.as_document().is_none_or(is_foreign))
            }
            ("$nor", _) => uuids::paths(validator).is_none(),
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn current(validator: Option<Document>) -> Current {
        Current {
            kind: "collection".into(),
            validator,
            level: Level::Strict,
            action: Action::Error,
            collation: None,
        }
    }

    fn schema(max: i32) -> Document {
        doc! { "title": "odm: A", "bsonType": "object", "properties": { "a": { "maxItems": max } } }
    }

    #[test]
    fn the_condition_of_uuids_stands_beside_the_schema() {
        let limit = |subtype: u8, byte: u8| {
            Bson::Binary(mongodb::bson::Binary {
                subtype: subtype.into(),
                bytes: vec![byte; 16],
            })
        };
        let of_field = |name: &str| {
            doc! { "$nor": [{ name: { "$lt": limit(4, 0) } }, { name: { "$gt": limit(4, 255) } }] }
        };
        let (a, b) = (of_field("a"), of_field("b"));
        let ours = |uuids: &Document| doc! { "$and": [{ "$jsonSchema": schema(1) }, uuids.clone()] };
        let set = |validator: Option<Document>, uuids: Option<&Document>| {
            wanted(&current(validator), &schema(1), uuids, Validation::STRICT)
        };
        let first = set(None, Some(&a)).unwrap();
        assert_eq!(first.validator, ours(&a));
        assert_eq!(set(Some(ours(&a)), Some(&a)), None);
        let alone = doc! { "$jsonSchema": schema(1) };
        let added = set(Some(alone.clone()), Some(&a)).unwrap();
        assert_eq!(added.validator, ours(&a));
        assert_eq!(added.words, ["only UUIDs that can be read (subtype 4) in `a`"]);
        assert_eq!(set(Some(ours(&a)), Some(&b)).unwrap().validator, ours(&b));
        assert_eq!(set(Some(ours(&a)), None).unwrap().validator, alone);
        // Beside a validator of somebody else.
        let theirs = doc! { "$nor": [{ "a": { "$lt": 1 } }] };
        let both = set(Some(theirs.clone()), Some(&a)).unwrap();
        let parts = doc! { "$and": [theirs.clone(), alone.clone(), a.clone()] };
        assert_eq!(both.validator, parts);
        assert_eq!(set(Some(parts.clone()), Some(&a)), None);
        let without = set(Some(parts), None).unwrap();
        assert_eq!(without.validator, doc! { "$and": [theirs, alone] });
    }

    #[test]
    fn nothing_is_set_twice() {
        let none = wanted(&current(None), &schema(1), None, Validation::STRICT).unwrap();
        assert_eq!(none.validator, doc! { "$jsonSchema": schema(1) });
        assert_eq!(none.words, ["set a validator of 1 field"]);
        assert_eq!(
            wanted(
                &current(Some(none.validator)),
                &schema(1),
                None,
                Validation::STRICT
            ),
            None
        );
        // What the server may have made of the numbers.
        let longs = doc! { "$jsonSchema": { "properties": { "a": { "maxItems": 1i64 } }, "bsonType": "object", "title": "odm: A" } };
        assert_eq!(
            wanted(&current(Some(longs)), &schema(1), None, Validation::STRICT),
            None
        );
    }

    #[test]
    fn a_foreign_validator_stays() {
        for theirs in [
            doc! { "$jsonSchema": { "required": ["b"] } },
            doc! { "b": { "$gt": 1 } },
            doc! { "$and": [{ "b": 1 }, { "c": 2 }] },
        ] {
            let first = wanted(
                &current(Some(theirs.clone())),
                &schema(1),
                None,
                Validation::STRICT,
            )
            .unwrap();
            assert_eq!(
                first.validator,
                doc! { "$and": [theirs.clone(), { "$jsonSchema": schema(1) }] }
            );
            let now = current(Some(first.validator));
            assert_eq!(wanted(&now, &schema(1), None, Validation::STRICT), None);
            let next = wanted(&now, &schema(2), None, Validation::STRICT).unwrap();
            assert_eq!(
                next.validator,
                doc! { "$and": [theirs, { "$jsonSchema": schema(2) }] }
            );
            assert_eq!(next.words, ["a: at most 2 items (was 1)"]);
        }
    }

    #[test]
    fn an_operator_beside_our_schema_stays() {
        let now = current(Some(doc! { "$jsonSchema": schema(1), "b": 1 }));
        let next = wanted(&now, &schema(2), None, Validation::STRICT).unwrap();
        assert_eq!(next.validator, doc! { "$jsonSchema": schema(2), "b": 1 });
    }

    #[test]
    fn level_and_action_are_never_lowered_for_others() {
        let lax = Validation {
            level: Level::Moderate,
            action: Action::Warn,
        };
        let theirs = wanted(&current(Some(doc! { "b": 1 })), &schema(1), None, lax).unwrap();
        assert_eq!((theirs.level, theirs.action), (Level::Strict, Action::Error));
        let alone = wanted(
            &current(Some(doc! { "$jsonSchema": schema(1) })),
            &schema(1),
            None,
            lax,
        )
        .unwrap();
        assert_eq!((alone.level, alone.action), (Level::Moderate, Action::Warn));
        assert_eq!(
            alone.words,
            [
                "validation level moderate (was strict)",
                "validation action warn (was error)"
            ]
        );
    }
}
