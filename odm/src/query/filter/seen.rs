//! Conditions on what a reader sees, made of those on what is stored: a document that lacks a field is found by a condition
//! that the default of the field meets.

use crate::model::compare::{compare, same};
use crate::model::default::{Absent, absences, goes_by_stored_values, split};
use crate::model::path::Way;
use crate::query::filter::condition::condition;
use mongodb::bson::{Bson, Document, doc};
use std::cmp::Ordering;

/// How a condition on a path has to change, so that it holds of what a reader sees.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The innermost array on the path, and the name behind it.
    array: Option<(String, String)>,
    /// The documents or items that lack a value which meets the condition, and that it does not find.
    more: Vec<Absent>,
    /// Those that lack a value which does not meet it, and that it finds.
    but: Vec<Absent>,
    /// The comparison of one item, where there is an array, and whether no item may meet it.
    of_item: Option<(&'static str, Bson)>,
    is_none: bool,
}

/// The question that a condition asks of a value.
#[derive(Clone, Copy)]
pub(crate) enum AskedValue<'a> {
    /// A comparison by an operator of MongoDB's.
    Operator(&'static str, &'a Bson),
    /// To hold this text: at its beginning, or anywhere.
    Text {
        text: &'a str,
        at_start: bool,
        ignores_case: bool,
    },
}

impl Seen {
    /// `None` where the condition says the same of what is stored.
    pub(crate) fn of(way: Option<&'static Way>, asked: AskedValue<'_>) -> Option<Seen> {
        let way = way?;
        if !way.has_default() || goes_by_stored_values() {
            return None;
        }
        let (array, fields) = split(way);
        // No item is this: it is not so that one is.
        let (asked, is_none) = match (&array, asked) {
            (Some(_), AskedValue::Operator("$ne", value)) => (AskedValue::Operator("$eq", value), true),
            (Some(_), AskedValue::Operator("$nin", value)) => (AskedValue::Operator("$in", value), true),
            (_, asked) => (asked, false),
        };
        // To the server a missing field is `null`.
        let is_found = asked.holds(&Bson::Null);
        let absent = absences(&fields).into_iter();
        let wrong = absent.filter(|absent| asked.holds(absent.value) != is_found);
        let (more, but) = if is_found {
            (Vec::new(), wrong.collect::<Vec<_>>())
        } else {
            (wrong.collect::<Vec<_>>(), Vec::new())
        };
        let of_item = match (&array, asked) {
            (Some(_), AskedValue::Operator(operator, value)) => Some((operator, value.clone())),
            _ => None,
        };
        (!more.is_empty() || !but.is_empty()).then_some(Seen {
            array,
            more,
            but,
            of_item,
            is_none,
        })
    }

    /// The condition on what a reader sees, made of that on what is stored.
    pub(crate) fn apply(mut self, name: &str, stored: Document) -> Document {
        let Some((array, rest)) = self.array.take() else {
            return self.joined(name, stored);
        };
        // Another item may meet the other part of the condition, so all of it is of one item.
        let inner = match (self.of_item.take(), by_value(&array, &stored)) {
            (Some(_), Some(by_value)) => by_value,
            (Some((operator, value)), None) => condition(&rest, operator, value),
            (None, _) => match stored.get(name) {
                Some(condition) => doc! { &rest: condition.clone() },
                None => return stored,
            },
        };
        let is_none = self.is_none;
        let found = doc! { array: { "$elemMatch": self.joined(&rest, inner) } };
        if is_none {
            doc! { "$nor": [found] }
        } else {
            found
        }
    }

    fn joined(self, name: &str, stored: Document) -> Document {
        if let ([absent], []) | ([], [absent]) = (self.more.as_slice(), self.but.as_slice())
            && absent.is_null
            && let Some(short) = with_null(name, &stored)
        {
            return short;
        }
        let conditions =
            |absent: Vec<Absent>| absent.into_iter().map(|absent| Bson::Document(absent.condition));
        if !self.but.is_empty() {
            let none: Vec<Bson> = conditions(self.but).collect();
            doc! { "$and": [stored, { "$nor": none }] }
        } else {
            let more = conditions(self.more);
            let all: Vec<Bson> = std::iter::once(Bson::Document(stored)).chain(more).collect();
            doc! { "$or": all }
        }
    }
}

/// The condition on one item of an array, where the stored condition compares values with several parts: also within `$nor`.
fn by_value(array: &str, stored: &Document) -> Option<Document> {
    let found = match stored.get_array("$nor").map(Vec::as_slice) {
        Ok([one]) => one.as_document()?,
        _ => stored,
    };
    let item = found.get_document(array).ok()?.get_document("$elemMatch").ok()?;
    (found.len() == 1).then(|| item.clone())
}

/// The same condition with `null` among its values: it keeps an index and a sort.
fn with_null(name: &str, stored: &Document) -> Option<Document> {
    let condition = match stored.len() {
        1 => stored.get_document(name).ok()?,
        _ => return None,
    };
    let (operator, value) = match condition.len() {
        1 => condition.iter().next()?,
        _ => return None,
    };
    // In a list, the server takes a pattern as a pattern.
    let list = |value: &Bson| match value {
        Bson::RegularExpression(_) => None,
        Bson::Document(_) | Bson::Array(_) => None,
        value => Some(vec![value.clone(), Bson::Null]),
    };
    let more = |values: &Bson| match values {
        Bson::Array(values) => Some(values.iter().cloned().chain([Bson::Null]).collect()),
        _ => None,
    };
    let (operator, values) = match operator.as_str() {
        "$eq" => ("$in", list(value)?),
        "$ne" => ("$nin", list(value)?),
        "$in" => ("$in", more(value)?),
        "$nin" => ("$nin", more(value)?),
        _ => return None,
    };
    Some(doc! { name: { operator: values } })
}

impl AskedValue<'_> {
    /// Whether it holds of this value, as the server has it.
    fn holds(&self, value: &Bson) -> bool {
        let any = |holds: &dyn Fn(&Bson) -> bool| match value {
            Bson::Array(items) => holds(value) || items.iter().any(holds),
            value => holds(value),
        };
        let is_one = |values: &Bson, all: bool| match values {
            Bson::Array(values) if all => {
                !values.is_empty() && values.iter().all(|one| any(&|value| same(value, one)))
            }
            Bson::Array(values) => values.iter().any(|one| any(&|value| same(value, one))),
            _ => false,
        };
        match self {
            AskedValue::Text {
                text,
                at_start,
                ignores_case,
            } => any(&|value| {
                let Bson::String(value) = value else { return false };
                let (value, text) = if *ignores_case {
                    (value.to_lowercase(), text.to_lowercase())
                } else {
                    (value.clone(), (*text).to_owned())
                };
                if *at_start {
                    value.starts_with(&text)
                } else {
                    value.contains(&text)
                }
            }),
            AskedValue::Operator(operator, asked) => match *operator {
                "$eq" => any(&|value| same(value, asked)),
                "$ne" => !any(&|value| same(value, asked)),
                "$in" => is_one(asked, false),
                "$nin" => !is_one(asked, false),
                "$all" => is_one(asked, true),
                "$gt" => any(&|value| compare(value, asked) == Some(Ordering::Greater)),
                "$lt" => any(&|value| compare(value, asked) == Some(Ordering::Less)),
                "$gte" => any(&|value| compare(value, asked).is_some_and(Ordering::is_ge)),
                "$lte" => any(&|value| compare(value, asked).is_some_and(Ordering::is_le)),
                "$size" => match (value, asked.as_i64()) {
                    (Bson::Array(items), Some(size)) => i64::try_from(items.len()) == Ok(size),
                    _ => false,
                },
                _ => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::FIELD;
    use crate::model::default::{DefaultFn, as_stored};
    use crate::model::shape::Bounds;
    use crate::model::shape::{self, FieldMeta, Shape, StructShape};

    const fn with(name: &'static str, shape: shape::ShapeFn, default: Option<DefaultFn>) -> FieldMeta {
        FieldMeta {
            name,
            shape,
            required: default.is_none(),
            default,
            bounds: Bounds::NONE,
            ..FIELD
        }
    }

    const ACTIVE: &FieldMeta = &with("active", || Shape::Bool, Some(|| Ok(Bson::Boolean(false))));
    const POINTS: &FieldMeta = &with(
        "points",
        || Shape::Int { min: 0, max: 9 },
        Some(|| Ok(Bson::Int32(7))),
    );
    const NICK: &FieldMeta = &with(
        "nick",
        || Shape::Optional(|| Shape::String),
        Some(|| Ok(Bson::String("Kat".into()))),
    );
    const TAGS: &FieldMeta = &with(
        "tags",
        || Shape::Array(|| Shape::String),
        Some(|| Ok(Bson::Array(Vec::new()))),
    );
    const HOME: &FieldMeta = &with(
        "home",
        || Shape::Struct(&PLACE),
        Some(|| Ok(Bson::Document(doc! { "city": "Bonn" }))),
    );
    const MAYBE: &FieldMeta = &with("maybe", || Shape::Optional(|| Shape::Struct(&PLACE)), None);
    const ITEMS: &FieldMeta = &with("items", || Shape::Array(|| Shape::Struct(&PLACE)), None);
    static PLACE: StructShape = StructShape {
        ty: None,
        name: "Place",
        fields: &[],
        deny_unknown: false,
    };

    fn way(fields: &[Option<&'static FieldMeta>]) -> Option<&'static Way> {
        fields.iter().fold(None, |above, field| {
            Some(&*Box::leak(Box::new(Way {
                above,
                field: *field,
                variant: None,
            })))
        })
    }

    fn seen(
        fields: &[Option<&'static FieldMeta>],
        operator: &'static str,
        value: impl Into<Bson>,
    ) -> Document {
        let names: Vec<&str> = fields.iter().flatten().map(|field| field.name).collect();
        let (name, value) = (names.join("."), value.into());
        let stored = condition(&name, operator, value.clone());
        match Seen::of(way(fields), AskedValue::Operator(operator, &value)) {
            Some(seen) => seen.apply(&name, stored),
            None => stored,
        }
    }

    #[test]
    fn a_condition_that_the_default_matches_finds_documents_without_the_field() {
        let active = [Some(ACTIVE)];
        assert_eq!(
            seen(&active, "$eq", false),
            doc! { "active": { "$in": [false, null] } }
        );
        assert_eq!(seen(&active, "$eq", true), doc! { "active": { "$eq": true } });
        assert_eq!(
            seen(&active, "$ne", false),
            doc! { "active": { "$nin": [false, null] } }
        );
        assert_eq!(seen(&active, "$ne", true), doc! { "active": { "$ne": true } });
        let both = || Bson::from(vec![Bson::from(true), Bson::from(false)]);
        assert_eq!(
            seen(&active, "$in", both()),
            doc! { "active": { "$in": [true, false, null] } }
        );
        assert_eq!(
            seen(&active, "$nin", both()),
            doc! { "active": { "$nin": [true, false, null] } }
        );
        let points = [Some(POINTS)];
        assert_eq!(
            seen(&points, "$gte", 7),
            doc! { "$or": [{ "points": { "$gte": 7 } }, { "points": null }] }
        );
        assert_eq!(seen(&points, "$gt", 7), doc! { "points": { "$gt": 7 } });
    }

    #[test]
    fn an_option_with_a_default_tells_null_from_missing() {
        let nick = [Some(NICK)];
        let missing = || doc! { "nick": { "$exists": false } };
        assert_eq!(
            seen(&nick, "$eq", "Kat"),
            doc! { "$or": [{ "nick": { "$eq": "Kat" } }, missing()] }
        );
        assert_eq!(
            seen(&nick, "$ne", "Kat"),
            doc! { "$and": [{ "nick": { "$ne": "Kat" } }, { "$nor": [missing()] }] }
        );
        assert_eq!(
            seen(&nick, "$eq", Bson::Null),
            doc! { "$and": [{ "nick": { "$eq": null } }, { "$nor": [missing()] }] }
        );
        assert_eq!(
            seen(&nick, "$ne", Bson::Null),
            doc! { "$or": [{ "nick": { "$ne": null } }, missing()] }
        );
    }

    #[test]
    fn a_missing_array_is_empty() {
        let tags = [Some(TAGS)];
        let missing = doc! { "tags": { "$exists": false } };
        let size = Bson::Int64(0);
        let of = Seen::of(way(&tags), AskedValue::Operator("$size", &size)).expect("differs");
        assert_eq!(
            of.apply("tags", doc! { "tags": { "$size": 0 } }),
            doc! { "$or": [{ "tags": { "$size": 0 } }, missing.clone()] }
        );
        let none = Bson::Array(Vec::new());
        assert_eq!(
            seen(&tags, "$eq", none.clone()),
            doc! { "$or": [{ "tags": { "$eq": none } }, missing] }
        );
        assert_eq!(seen(&tags, "$eq", "a"), doc! { "tags": { "$eq": "a" } });
    }

    #[test]
    fn a_field_in_a_missing_struct_is_read_of_its_default() {
        assert_eq!(
            seen(&[Some(HOME), Some(POINTS)], "$eq", 7),
            doc! { "$or": [
                { "home.points": { "$eq": 7 } },
                { "home": { "$exists": false } },
                { "home": { "$type": "object" }, "home.points": { "$exists": false } },
            ] }
        );
        const CITY: &FieldMeta = &with("city", || Shape::String, None);
        assert_eq!(
            seen(&[Some(HOME), Some(CITY)], "$eq", "Bonn"),
            doc! { "$or": [{ "home.city": { "$eq": "Bonn" } }, { "home": { "$exists": false } }] }
        );
        // Nothing is read in a struct that is `None`.
        assert_eq!(
            seen(&[Some(MAYBE), Some(POINTS)], "$ne", 7),
            doc! { "$and": [
                { "maybe.points": { "$ne": 7 } },
                { "$nor": [{ "maybe": { "$type": "object" }, "maybe.points": { "$exists": false } }] },
            ] }
        );
    }

    #[test]
    fn of_items_all_is_asked_of_one() {
        let points = [Some(ITEMS), None, Some(POINTS)];
        let one = |condition: Document| doc! { "items": { "$elemMatch": condition } };
        let or_missing = || one(doc! { "points": { "$in": [7, null] } });
        assert_eq!(seen(&points, "$eq", 7), or_missing());
        assert_eq!(seen(&points, "$ne", 7), doc! { "$nor": [or_missing()] });
        assert_eq!(
            seen(&points, "$lt", 8),
            one(doc! { "$or": [{ "points": { "$lt": 8 } }, { "points": null }] })
        );
        assert_eq!(seen(&points, "$eq", 8), doc! { "items.points": { "$eq": 8 } });
    }

    #[test]
    fn a_partial_filter_goes_by_stored_values() {
        let stored = as_stored(|| seen(&[Some(ACTIVE)], "$eq", false));
        assert_eq!(stored, doc! { "active": { "$eq": false } });
        assert_eq!(
            seen(&[Some(ACTIVE)], "$eq", false),
            doc! { "active": { "$in": [false, null] } }
        );
    }
}
