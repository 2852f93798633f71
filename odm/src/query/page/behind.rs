//! What sorts behind a value. `$gt` and `$lt` compare values of one type only, while a sort puts one type behind the
//! other.

use crate::model::shape::{Shape, inner, may_be_null, shape_at};
use crate::model::types::{Type, TypeSet, types};
use crate::query::filter::condition::both;
use crate::store::filter::all;
use mongodb::bson::{Bson, doc};

/// A field by which pages are sorted.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeysetKey {
    pub(super) name: &'static str,
    pub(super) descending: bool,
    types: TypeSet,
    /// Whether its numbers are integers, so that none of them is NaN.
    is_integer: bool,
    /// Whether a document may have `null` there, or nothing. Of an id only its type says so: the one of a group, read by a view, may be `null`.
    may_be_null: bool,
}

impl KeysetKey {
    /// The field of this name in a document of this shape. One that is not declared may hold anything.
    pub(super) fn of(shape: Shape, name: &'static str, descending: bool) -> KeysetKey {
        let field = shape_at(shape, name);
        KeysetKey {
            name,
            descending,
            types: field.map_or(TypeSet::ALL, |field| types(field, 0)),
            may_be_null: name != "_id"
                || field.is_none_or(|field| may_be_null(field) || types(field, 0).are_several()),
            is_integer: matches!(field.map(inner), Some(Shape::Int { .. } | Shape::Long { .. })),
        }
    }

    /// Turns the direction round.
    pub(super) fn turn(&mut self) {
        self.descending = !self.descending;
    }

    /// As MongoDB writes it.
    pub(super) fn direction(&self) -> i32 {
        if self.descending { -1 } else { 1 }
    }

    /// Whether it may hold what no page can be sorted by: an array, which stands in several places, or a regular expression,
    /// which nothing is compared with. An id is neither.
    pub(super) fn may_be_refused(&self) -> bool {
        self.may_be_array() || self.types.has(Type::Regex) && self.name != "_id"
    }

    /// Whether it holds an array in every document that has it.
    pub(super) fn is_array(&self) -> bool {
        self.types == TypeSet::one(Type::Array)
    }

    fn may_be_array(&self) -> bool {
        self.types.has(Type::Array) && self.name != "_id"
    }
}

/// What sorts where these values do.
pub(super) fn at(keys: &[KeysetKey], values: &[Bson]) -> mongodb::bson::Document {
    let equal = keys.iter().zip(values);
    all(equal.map(|(key, value)| doc! { key.name: { "$eq": value } }))
}

/// Everything that sorts behind these values: by the first key, or equal there and behind by the second, and so on.
pub(super) fn behind(keys: &[KeysetKey], values: &[Bson]) -> mongodb::bson::Document {
    let mut alternatives = Vec::new();
    for (at, (key, value)) in keys.iter().zip(values).enumerate() {
        let equal = keys
            .iter()
            .zip(values)
            .take(at)
            .map(|(key, value)| doc! { key.name: { "$eq": value } });
        for further in further(key, value) {
            let conditions = equal.clone().chain([further]);
            alternatives.extend(conditions.reduce(both).map(Bson::Document));
        }
    }
    if alternatives.is_empty() {
        doc! { "$nor": [{}] }
    } else {
        doc! { "$or": alternatives }
    }
}

/// What sorts behind one value: more of its own type, and the types that sort behind that. Missing and `null` sort
/// before everything else but MinKey, and among numbers NaN before all others.
fn further(key: &KeysetKey, value: &Bson) -> Vec<mongodb::bson::Document> {
    let name = key.name;
    let own = Type::of(value);
    let is_nan = match value {
        Bson::Double(n) => n.is_nan(),
        Bson::Decimal128(n) => n.to_string().ends_with("NaN"),
        _ => false,
    };
    let is_behind = |of: Type| if key.descending { of < own } else { of > own };
    // One of several values stands for an array, which the comparisons find; but an empty array sorts before `null`, and one
    // of arrays among the arrays.
    let array = key.may_be_array() && (key.descending || is_behind(Type::Array));
    let array = array.then(|| doc! { name: { "$type": ["array"] } });
    let mut all = match (own, key.descending) {
        (Type::MinKey | Type::Null | Type::MaxKey, _) => vec![],
        (_, false) if is_nan => vec![doc! { name: { "$gte": f64::NEG_INFINITY } }],
        (_, false) => vec![doc! { name: { "$gt": value } }],
        (_, true) if is_nan => vec![],
        (Type::Number, true) if !key.is_integer => vec![
            doc! { name: { "$lt": value } },
            doc! { name: { "$eq": f64::NAN } },
        ],
        (_, true) => vec![doc! { name: { "$lt": value } }],
    };
    all.extend(array);
    if own == Type::Null && !key.descending && key.types != TypeSet::ALL {
        // All types that the field may have.
        all.push(doc! { name: { "$ne": null } });
        return all;
    }
    let others = Type::ALL.into_iter().filter(|of| {
        let possible = key.types.are_several() && key.types.has(*of);
        possible && *of != Type::Null && is_behind(*of)
    });
    let others: Vec<Bson> = others
        .flat_map(Type::names)
        .map(|name| Bson::from(*name))
        .collect();
    if !others.is_empty() {
        all.push(doc! { name: { "$type": others } });
    }
    if is_behind(Type::Null) && key.may_be_null {
        all.push(doc! { name: { "$eq": null } });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::FIELD;
    use crate::model::shape::{Body, EnumShape, FieldMeta, Tagging};
    use crate::model::shape::{Bounds, StructShape, VariantMeta};
    use crate::model::types::holds_text;
    use mongodb::bson::{DateTime, oid::ObjectId};

    const PUBLISHED: &FieldMeta = &FieldMeta::recursive::<i64>("", "", "i64", Bounds::NONE);

    const fn either(tagging: Tagging) -> EnumShape {
        EnumShape {
            ty: None,
            name: "Status",
            tagging,
            variants: &[
                VariantMeta {
                    name: "Draft",
                    json: None,
                    body: Body::Unit,
                },
                VariantMeta {
                    name: "Published",
                    json: None,
                    body: Body::Newtype(PUBLISHED),
                },
            ],
        }
    }

    const EXTERNAL: &EnumShape = &either(Tagging::External);
    const INTERNAL: &EnumShape = &either(Tagging::Internal("is"));
    const UNTAGGED: &EnumShape = &either(Tagging::Untagged);

    const INT: Shape = Shape::Int {
        min: i32::MIN,
        max: i32::MAX,
    };

    fn filter(shape: Shape, descending: bool, value: impl Into<Bson>) -> Vec<mongodb::bson::Document> {
        let key = KeysetKey {
            name: "a",
            ..KeysetKey::of(shape, "", descending)
        };
        further(&key, &value.into())
    }

    #[test]
    fn the_types_of_a_field() {
        let of = |shape| types(shape, 0);
        let two = |a, b| TypeSet::one(a).and(TypeSet::one(b));
        assert_eq!(of(Shape::Enum(EXTERNAL)), two(Type::String, Type::Object));
        assert_eq!(of(Shape::Enum(INTERNAL)), TypeSet::one(Type::Object));
        assert_eq!(of(Shape::Enum(UNTAGGED)), TypeSet::one(Type::Number));
        assert_eq!(
            of(Shape::Optional(|| Shape::Enum(EXTERNAL))),
            two(Type::String, Type::Object)
        );
        assert_eq!(of(Shape::Any), TypeSet::ALL);
        for one in Type::ALL {
            assert!(TypeSet::ALL.has(one));
        }
    }

    #[test]
    fn a_field_is_found_by_its_dotted_name() {
        const INNER: &StructShape = &StructShape {
            ty: None,
            name: "Inner",
            fields: &[FieldMeta::recursive::<i64>("n", "n", "i64", Bounds::NONE)],
            deny_unknown: false,
        };
        const OUTER: &StructShape = &StructShape {
            ty: None,
            name: "Outer",
            fields: &[
                FieldMeta {
                    shape: || Shape::Optional(|| Shape::Struct(INNER)),
                    ..FieldMeta::recursive::<i64>("inner", "inner", "Option<Inner>", Bounds::NONE)
                },
                FieldMeta {
                    shape: || Shape::Struct(INNER),
                    flatten: true,
                    ..FieldMeta::recursive::<i64>("flat", "flat", "Inner", Bounds::NONE)
                },
                FieldMeta::opaque("any", "any", "Bson"),
            ],
            deny_unknown: false,
        };
        let of = |name| KeysetKey::of(Shape::Struct(OUTER), name, false).types;
        assert_eq!(of("inner.n"), TypeSet::one(Type::Number));
        assert_eq!(of("n"), TypeSet::one(Type::Number));
        assert_eq!(of("inner"), TypeSet::one(Type::Object));
        for anything in ["any", "flat", "any.n", "else", "n.n"] {
            assert_eq!(of(anything), TypeSet::ALL, "{anything}");
        }
        assert!(holds_text(Shape::Struct(OUTER), "any"));
        assert!(!holds_text(Shape::Struct(OUTER), "inner"));
        assert!(holds_text(Shape::Enum(EXTERNAL), ""));
    }

    #[test]
    fn a_field_of_one_type_is_compared_alone() {
        let null = doc! { "a": { "$eq": null } };
        assert_eq!(filter(Shape::String, false, "x"), [doc! { "a": { "$gt": "x" } }]);
        assert_eq!(
            filter(Shape::String, true, "x"),
            [doc! { "a": { "$lt": "x" } }, null.clone()]
        );
        assert_eq!(
            filter(Shape::String, false, Bson::Null),
            [doc! { "a": { "$ne": null } }]
        );
        assert!(filter(Shape::String, true, Bson::Null).is_empty());
        // NaN equals nothing, itself neither.
        let expected = [
            doc! { "a": { "$lt": 1.5 } },
            doc! { "a": { "$eq": f64::NAN } },
            null,
        ];
        let found = filter(Shape::Double, true, 1.5);
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        let null = doc! { "a": { "$eq": null } };
        assert_eq!(filter(INT, true, 1), [doc! { "a": { "$lt": 1 } }, null]);
    }

    #[test]
    fn the_other_types_come_behind() {
        assert_eq!(
            filter(Shape::Enum(EXTERNAL), false, "Draft"),
            [
                doc! { "a": { "$gt": "Draft" } },
                doc! { "a": { "$type": ["object"] } }
            ]
        );
        let published = doc! { "Published": 1 };
        assert_eq!(
            filter(Shape::Enum(EXTERNAL), true, published.clone()),
            [
                doc! { "a": { "$lt": published.clone() } },
                doc! { "a": { "$type": ["string", "symbol"] } },
                doc! { "a": { "$eq": null } },
            ]
        );
        assert_eq!(
            filter(Shape::Enum(EXTERNAL), false, published.clone()),
            [doc! { "a": { "$gt": published } }]
        );
    }

    /// Whether a value fits one of the conditions, as MongoDB says: by type, and by value within one.
    fn fits(conditions: &[mongodb::bson::Document], value: &Bson) -> bool {
        let number = |value: &Bson| match value {
            Bson::Double(n) => *n,
            Bson::Int32(n) => f64::from(*n),
            _ => f64::NAN,
        };
        conditions.iter().any(|condition| {
            let (operator, operand) = condition.get_document("a").unwrap().iter().next().unwrap();
            let (left, right) = (number(value), number(operand));
            let alike = Type::of(value) == Type::of(operand);
            match operator.as_str() {
                "$type" => {
                    let names = operand.as_array().unwrap();
                    Type::of(value)
                        .names()
                        .iter()
                        .any(|name| names.contains(&(*name).into()))
                }
                "$ne" => value != operand,
                "$eq" => value == operand || left.is_nan() && right.is_nan() && alike,
                "$gt" => alike && left > right,
                "$gte" => alike && left >= right,
                "$lt" => alike && left < right,
                other => panic!("{other}"),
            }
        })
    }

    #[test]
    fn of_mixed_values_exactly_those_behind_are_found() {
        let sorted: Vec<Bson> = vec![
            Bson::MinKey,
            Bson::Null,
            f64::NAN.into(),
            f64::NEG_INFINITY.into(),
            1.into(),
            2.5.into(),
            "x".into(),
            doc! { "x": 1 }.into(),
            Bson::Binary(mongodb::bson::Binary {
                subtype: mongodb::bson::spec::BinarySubtype::Generic,
                bytes: vec![],
            }),
            ObjectId::from_bytes([1; 12]).into(),
            true.into(),
            DateTime::from_millis(1).into(),
            Bson::Timestamp(mongodb::bson::Timestamp {
                time: 1,
                increment: 1,
            }),
            Bson::JavaScriptCode("x".into()),
            Bson::MaxKey,
        ];
        for (at, mark) in sorted.iter().enumerate() {
            let (later, earlier) = (
                filter(Shape::Any, false, mark.clone()),
                filter(Shape::Any, true, mark.clone()),
            );
            for (place, value) in sorted.iter().enumerate() {
                assert_eq!(fits(&later, value), place > at, "{value} behind {mark}");
                assert_eq!(fits(&earlier, value), place < at, "{value} before {mark}");
            }
        }
    }

    /// They are refused where they are met, so none is passed over.
    #[test]
    fn arrays_that_no_comparison_finds_are_met() {
        let list = Shape::Array(|| INT);
        let arrays = doc! { "a": { "$type": ["array"] } };
        for shape in [Shape::Any, list] {
            // `[]` sorts before `null`, `[[1]]` behind objects and before binary data.
            for (value, ascending) in [(Bson::Null, true), (7.into(), true), (Bson::Boolean(true), false)] {
                let met = |descending| filter(shape, descending, value.clone()).contains(&arrays);
                assert_eq!((met(false), met(true)), (ascending, true), "{value} in {shape:?}");
            }
        }
        assert!(!filter(Shape::Enum(EXTERNAL), true, "Draft").contains(&arrays));
        assert!(
            KeysetKey::of(list, "", false).is_array() && !KeysetKey::of(Shape::Any, "", false).is_array()
        );
    }

    #[test]
    fn behind_the_last_value_of_all_is_nothing() {
        let id = KeysetKey {
            name: "_id",
            ..KeysetKey::of(Shape::Any, "", false)
        };
        assert_eq!(behind(&[id], &[Bson::MaxKey]), doc! { "$nor": [{}] });
    }

    /// The id of a group, which a view shows, may be `null`; that of a document has a value.
    #[test]
    fn an_id_is_null_where_its_type_says_so() {
        const fn of_id(shape: crate::model::meta::ShapeFn) -> FieldMeta {
            FieldMeta {
                name: "_id",
                shape,
                ..FIELD
            }
        }
        const fn document(fields: &'static [FieldMeta]) -> StructShape {
            StructShape {
                ty: None,
                name: "Test",
                fields,
                deny_unknown: false,
            }
        }
        const PLAIN: &StructShape = &document(&[of_id(|| INT)]);
        const GROUP: &StructShape = &document(&[of_id(|| Shape::Optional(|| INT))]);
        const ANY: &StructShape = &document(&[of_id(|| Shape::Any)]);
        let before = |of| further(&KeysetKey::of(Shape::Struct(of), "_id", true), &1.into());
        let null = doc! { "_id": { "$eq": null } };
        assert_eq!(before(PLAIN), [doc! { "_id": { "$lt": 1 } }]);
        assert_eq!(before(GROUP), [doc! { "_id": { "$lt": 1 } }, null.clone()]);
        assert!(before(ANY).contains(&null));
    }
}
