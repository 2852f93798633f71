//! A collection's validator: the library's part, beside a part that the application added.
//!
//! Ours is a `$jsonSchema` whose title begins with [`MARK`], and beside it what a schema can't say: where the `_id` is a struct,
//! the order of its fields as an `$expr`, and of [UUIDs](super::uuids) their subtype as a `$nor`. Where a collection has another validator, that one stays, and the collection gets
//! `{ $and: [theirs, { $jsonSchema: ours }] }`; only our part is replaced later. While documents of a previous shape are there, it may be
//! `{ $or: [ours, previous] }`: see [`Plan::replace`](super::Plan::replace).

use super::json_schema::MARK;
use super::values::{plural, same_document};
use super::{checks, id_order, json_schema, uuids, words};
use crate::model::document::{Action, DocumentMeta, Level, Validation};
use mongodb::bson::{Bson, Document, doc};

/// The option of a collection by which the server keeps its documents before and after each change.
pub(super) const IMAGES: &str = "changeStreamPreAndPostImages";

/// The options of `create` that make a collection another one than a plain one.
const OPTIONS: [&str; 7] = [
    "capped",
    "size",
    "max",
    "timeseries",
    "expireAfterSeconds",
    "viewOn",
    "pipeline",
];

/// The rules of ours that a validator has.
const RULES: [&str; 3] = ["$jsonSchema", "$expr", "$nor"];

/// By which a validator allows the shapes of several versions.
const EITHER: &str = "$or";

/// A collection as `listCollections` describes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Current {
    /// `collection`, `view` or `timeseries`.
    pub kind: String,
    pub validator: Option<Document>,
    pub level: Level,
    pub action: Action,
    /// The collation that its indexes inherit.
    pub collation: Option<Document>,
    /// Whether it has a fixed size, and loses its oldest documents to new ones.
    pub capped: bool,
    /// What makes it another collection than a plain one, as `create` takes it.
    pub kind_options: Document,
    /// Whether the server keeps its documents before and after each change.
    pub images: bool,
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
            capped: options.get_bool("capped").unwrap_or(false),
            kind_options: {
                let known = options
                    .iter()
                    .filter(|(name, _)| OPTIONS.contains(&name.as_str()));
                known.map(|(name, value)| (name.clone(), value.clone())).collect()
            },
            images: options
                .get_document(IMAGES)
                .is_ok_and(|images| images.get_bool("enabled").unwrap_or(false)),
        }
    }

    /// Whether it compares strings as it is declared.
    pub fn collates(&self, declared: Option<&Document>) -> bool {
        match (&self.collation, declared) {
            (Some(there), Some(declared)) => super::index::collates_like(there, declared),
            (there, declared) => there.is_none() && declared.is_none(),
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

/// The validator that a collection should have.
#[derive(Debug, PartialEq)]
pub(super) struct WantedValidator {
    pub validator: Document,
    pub level: Level,
    pub action: Action,
    /// The changes, a line each.
    pub words: Vec<String>,
}

/// The rules for the documents of a collection.
pub(crate) fn declared(meta: &DocumentMeta) -> Document {
    let mut rules = doc! { "$jsonSchema": json_schema::of(meta) };
    if let Some(expression) = checks::beside(meta, id_order::of(meta)) {
        rules.insert("$expr", expression);
    }
    rules.extend(uuids::of(meta).unwrap_or_default());
    rules
}

/// Puts a rule beside our schema in the place of the one that is there. Gives whether that changes something.
fn put(ours: &mut Document, name: &str, rule: Option<&Bson>) -> bool {
    let with_name = |value: &Bson| doc! { name: value.clone() };
    match (ours.get(name), rule) {
        (Some(before), Some(rule)) if same_document(&with_name(before), &with_name(rule)) => false,
        (None, None) => false,
        (_, Some(rule)) => {
            ours.insert(name, rule.clone());
            true
        }
        (Some(_), None) => {
            ours.remove(name);
            true
        }
    }
}

/// The changes by which `current` comes to demand `rules`; `None` where it does.
pub(super) fn wanted(current: &Current, rules: &Document, declared: Validation) -> Option<WantedValidator> {
    let none = Document::new();
    let schema = rules.get_document("$jsonSchema").unwrap_or(&none);
    let mut words = Vec::new();
    let mut validator = current.validator.clone().unwrap_or_default();
    let foreign = is_foreign(&validator);
    let fields = || plural(words::fields(schema), "field");
    match ours(&mut validator) {
        // Programs of both versions find their rules there.
        Some(part) if shapes(part).is_some_and(|all| all.iter().any(|one| same_document(one, rules))) => {}
        Some(part) if shapes(part).is_some() => {
            let previous = take_rules(part);
            let before = previous
                .first()
                .and_then(|previous| previous.get_document("$jsonSchema").ok());
            words = words::diff(before.unwrap_or(&none), schema);
            words.push("the previous shapes are not allowed any more".to_owned());
            part.extend(rules.clone());
        }
        Some(old) => {
            if let Ok(before) = old.get_document("$jsonSchema")
                && !same_document(before, schema)
            {
                words = words::diff(before, schema);
                old.insert("$jsonSchema", schema.clone());
            }
            let before = old.get("$expr").cloned();
            if put(old, "$expr", rules.get("$expr")) {
                words.extend(checks::words(before.as_ref(), rules.get("$expr")));
            }
            if put(old, "$nor", rules.get("$nor")) {
                let paths = rules.get("$nor").and_then(uuids::paths).unwrap_or_default();
                words.push(match paths.as_slice() {
                    [] => "no condition of UUIDs any more".to_owned(),
                    paths => format!(
                        "only UUIDs that can be read (subtype 4) in `{}`",
                        paths.join("`, `")
                    ),
                });
            }
        }
        None if foreign => {
            words.push(format!(
                "add a validator of {} beside the existing one, which stays",
                fields()
            ));
            validator = doc! { "$and": [validator, rules.clone()] };
        }
        None => {
            words.push(format!("set a validator of {}", fields()));
            validator = rules.clone();
        }
    }
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
        Some(WantedValidator {
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

fn is_our_expression(rule: &Bson) -> bool {
    id_order::is_ours(rule) || checks::is_ours(rule)
}

/// The fields that our part of a validator knows; where it allows several shapes, those of the oldest.
pub(super) fn properties(validator: &Document) -> Option<Document> {
    let mut validator = validator.clone();
    let part = ours(&mut validator)?;
    let rules = shapes(part).and_then(|shapes| shapes.last().cloned());
    let schema = rules.as_ref().unwrap_or(part).get_document("$jsonSchema").ok()?;
    schema.get_document("properties").ok().cloned()
}

/// The rules of several versions, which are alternatives: those of the newest first.
fn shapes(part: &Document) -> Option<Vec<Document>> {
    let alternatives = part.get_array(EITHER).ok()?.iter();
    let rules: Option<Vec<Document>> = alternatives
        .map(|rules| {
            let rules = rules.as_document()?;
            let known = |name: &String| RULES.contains(&name.as_str());
            (rules.keys().all(known) && !is_foreign(rules)).then(|| rules.clone())
        })
        .collect();
    rules.filter(|rules| !rules.is_empty())
}

/// Takes our rules out of our part of a validator.
fn take_rules(part: &mut Document) -> Vec<Document> {
    if let Some(shapes) = shapes(part) {
        part.remove(EITHER);
        return shapes;
    }
    let names = RULES.iter();
    let rules = names.filter_map(|name| part.remove(name).map(|rule| ((*name).to_owned(), rule)));
    vec![rules.collect()]
}

/// The validator that allows the declared rules, or those that are there; and these rules alone. `None` where there are none of ours.
pub(super) fn both_shapes(current: &Current, rules: &Document) -> Option<(Document, Document)> {
    let mut validator = current.validator.clone()?;
    let part = ours(&mut validator)?;
    let mut either = take_rules(part);
    if either.iter().any(|previous| same_document(previous, rules)) || part.contains_key(EITHER) {
        return None;
    }
    either.insert(0, rules.clone());
    let either = doc! { EITHER: either };
    part.extend(either.clone());
    Some((validator, either))
}

/// Of a validator that allows the declared rules and earlier ones: the one that allows the declared rules alone. `None` for any other,
/// such as one that a newer program has set.
pub(super) fn narrowed(current: &Current, rules: &Document) -> Option<Document> {
    let mut validator = current.validator.clone()?;
    let part = ours(&mut validator)?;
    if !same_document(shapes(part)?.first()?, rules) {
        return None;
    }
    take_rules(part);
    part.extend(rules.clone());
    Some(validator)
}

/// The part of a validator that holds our schema: it itself, or one of its `$and`. An `$expr` and a `$nor` beside it are ours if
/// they say what ours do. Where it allows several shapes, it has an `$or` in place of these.
fn ours(validator: &mut Document) -> Option<&mut Document> {
    if shapes(validator).is_some() {
        return Some(validator);
    }
    let order_is_ours = validator.get("$expr").is_none_or(is_our_expression);
    let uuids_are_ours = validator
        .get("$nor")
        .is_none_or(|rule| uuids::paths(rule).is_some());
    if order_is_ours && uuids_are_ours && validator.get("$jsonSchema").is_some_and(is_ours) {
        return Some(validator);
    }
    let parts = validator.get_array_mut("$and").ok()?;
    parts.iter_mut().filter_map(Bson::as_document_mut).find_map(ours)
}

/// Whether a validator demands anything that is not of our making.
fn is_foreign(validator: &Document) -> bool {
    validator
        .iter()
        .any(|(name, value)| match (name.as_str(), value) {
            ("$jsonSchema", schema) => !is_ours(schema),
            ("$expr", rule) => !is_our_expression(rule),
            ("$nor", rule) => uuids::paths(rule).is_none(),
            (EITHER, _) => shapes(validator).is_none(),
            ("$and", Bson::Array(parts)) => {
                parts.iter().any(|part| part.as_document().is_none_or(is_foreign))
            }
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
            capped: false,
            kind_options: Document::new(),
            images: false,
        }
    }

    fn schema(max: i32) -> Document {
        doc! { "title": "odm: A", "bsonType": "object", "properties": { "a": { "maxItems": max } } }
    }

    fn rules(max: i32) -> Document {
        doc! { "$jsonSchema": schema(max) }
    }

    #[test]
    fn the_condition_of_uuids_stands_beside_the_schema() {
        let limit = |byte: u8| {
            Bson::Binary(mongodb::bson::Binary {
                subtype: 4.into(),
                bytes: vec![byte; 16],
            })
        };
        let of_field = |name: &str| -> Bson {
            vec![
                doc! { name: { "$lt": limit(0) } },
                doc! { name: { "$gt": limit(255) } },
            ]
            .into()
        };
        let with = |name: &str| doc! { "$jsonSchema": schema(1), "$nor": of_field(name) };
        let set = |validator: Option<Document>, rules: &Document| {
            wanted(&current(validator), rules, Validation::STRICT)
        };
        assert_eq!(set(None, &with("a")).unwrap().validator, with("a"));
        assert_eq!(set(Some(with("a")), &with("a")), None);
        let added = set(Some(rules(1)), &with("a")).unwrap();
        assert_eq!(added.validator, with("a"));
        assert_eq!(added.words, ["only UUIDs that can be read (subtype 4) in `a`"]);
        assert_eq!(set(Some(with("a")), &with("b")).unwrap().validator, with("b"));
        assert_eq!(set(Some(with("a")), &rules(1)).unwrap().validator, rules(1));
        // Beside a validator of another program, which has a `$nor` too.
        let theirs = doc! { "$nor": [{ "a": { "$lt": 1 } }] };
        let both = set(Some(theirs.clone()), &with("a")).unwrap().validator;
        assert_eq!(both, doc! { "$and": [theirs.clone(), with("a")] });
        assert_eq!(set(Some(both.clone()), &with("a")), None);
        let without = set(Some(both), &rules(1)).unwrap();
        assert_eq!(without.validator, doc! { "$and": [theirs, rules(1)] });
    }

    #[test]
    fn nothing_is_set_twice() {
        let none = wanted(&current(None), &rules(1), Validation::STRICT).unwrap();
        assert_eq!(none.validator, doc! { "$jsonSchema": schema(1) });
        assert_eq!(none.words, ["set a validator of 1 field"]);
        assert_eq!(
            wanted(&current(Some(none.validator)), &rules(1), Validation::STRICT),
            None
        );
        // The server may have converted the numbers.
        let longs = doc! { "$jsonSchema": { "properties": { "a": { "maxItems": 1i64 } }, "bsonType": "object", "title": "odm: A" } };
        assert_eq!(wanted(&current(Some(longs)), &rules(1), Validation::STRICT), None);
    }

    #[test]
    fn a_foreign_validator_stays() {
        for theirs in [
            doc! { "$jsonSchema": { "required": ["b"] } },
            doc! { "b": { "$gt": 1 } },
            doc! { "$and": [{ "b": 1 }, { "c": 2 }] },
        ] {
            let first = wanted(&current(Some(theirs.clone())), &rules(1), Validation::STRICT).unwrap();
            assert_eq!(
                first.validator,
                doc! { "$and": [theirs.clone(), { "$jsonSchema": schema(1) }] }
            );
            let now = current(Some(first.validator));
            assert_eq!(wanted(&now, &rules(1), Validation::STRICT), None);
            let next = wanted(&now, &rules(2), Validation::STRICT).unwrap();
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
        let next = wanted(&now, &rules(2), Validation::STRICT).unwrap();
        assert_eq!(next.validator, doc! { "$jsonSchema": schema(2), "b": 1 });
    }

    #[test]
    fn level_and_action_are_never_lowered_for_others() {
        let lax = Validation {
            level: Level::Moderate,
            action: Action::Warn,
        };
        let theirs = wanted(&current(Some(doc! { "b": 1 })), &rules(1), lax).unwrap();
        assert_eq!((theirs.level, theirs.action), (Level::Strict, Action::Error));
        let alone = wanted(&current(Some(doc! { "$jsonSchema": schema(1) })), &rules(1), lax).unwrap();
        assert_eq!((alone.level, alone.action), (Level::Moderate, Action::Warn));
        assert_eq!(
            alone.words,
            [
                "validation level moderate (was strict)",
                "validation action warn (was error)"
            ]
        );
    }

    #[test]
    fn both_shapes_stand_side_by_side_until_one_is_left() {
        let order = |of: &[i32]| doc! { "$or": of.iter().map(|max| rules(*max)).collect::<Vec<_>>() };
        for beside in [None, Some(doc! { "b": 1 })] {
            let whole = |ours: Document| match &beside {
                Some(theirs) => doc! { "$and": [theirs.clone(), ours] },
                None => ours,
            };
            let now = |ours: Document| current(Some(whole(ours)));
            // Nothing is to be allowed beside what is there already.
            assert_eq!(both_shapes(&now(rules(1)), &rules(1)), None);
            let (both, either) = both_shapes(&now(rules(1)), &rules(2)).unwrap();
            assert_eq!((both.clone(), either), (whole(order(&[2, 1])), order(&[2, 1])));
            // Programs of both versions find it as they declare it.
            let widened = now(order(&[2, 1]));
            assert_eq!(wanted(&widened, &rules(1), Validation::STRICT), None);
            assert_eq!(wanted(&widened, &rules(2), Validation::STRICT), None);
            // The server may have converted the numbers.
            let longs = doc! { "$or": [
                { "$jsonSchema": { "properties": { "a": { "maxItems": 2i64 } }, "bsonType": "object", "title": "odm: A" } },
                rules(1),
            ] };
            assert_eq!(wanted(&now(longs), &rules(2), Validation::STRICT), None);
            // The newer one narrows it.
            assert_eq!(narrowed(&widened, &rules(2)), Some(whole(rules(2))));
            assert_eq!(narrowed(&widened, &rules(1)), None);
            assert_eq!(narrowed(&now(rules(2)), &rules(2)), None);
            // A third one.
            let (three, _) = both_shapes(&widened, &rules(3)).unwrap();
            assert_eq!(three, whole(order(&[3, 2, 1])));
            let set = wanted(&widened, &rules(3), Validation::STRICT).unwrap();
            assert_eq!(set.validator, whole(rules(3)));
            assert_eq!(
                set.words,
                [
                    "a: at most 3 items (was 2)",
                    "the previous shapes are not allowed any more"
                ]
            );
            // Fields that were renamed are looked for by the names of before.
            assert!(properties(&both).unwrap().contains_key("a"));
        }
        // Rules that other programs have put beside it stay.
        let beside = current(Some(doc! { "$jsonSchema": schema(1), "b": 1 }));
        let (both, _) = both_shapes(&beside, &rules(2)).unwrap();
        assert_eq!(both, doc! { "b": 1, "$or": [rules(2), rules(1)] });
        let narrow = narrowed(&current(Some(both)), &rules(2)).unwrap();
        assert_eq!(narrow, doc! { "b": 1, "$jsonSchema": schema(2) });
        // An `$or` of theirs is theirs.
        let theirs = doc! { "$or": [{ "a": 1 }, rules(1)] };
        let set = wanted(&current(Some(theirs.clone())), &rules(1), Validation::STRICT).unwrap();
        assert_eq!(set.validator, doc! { "$and": [theirs.clone(), rules(1)] });
        assert_eq!(both_shapes(&current(Some(theirs)), &rules(1)), None);
        assert_eq!(both_shapes(&current(None), &rules(1)), None);
    }
}
