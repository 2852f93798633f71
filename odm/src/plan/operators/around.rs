//! The structs around what an update writes: nothing can be written within `null`, and what is written within a struct that
//! is missing would be all of it.

use crate::model::shape;
use crate::model::shape::{MOST_WRAPPERS, Shape, ShapeWithin, StructShape};
use mongodb::bson::{Bson, Document};

/// A struct that need not be there, around something that is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Around {
    /// Its dotted name.
    pub(crate) name: String,
    /// Whether it has to be there: what is written is not all that it is read by.
    pub(crate) there: bool,
}

/// Those of a value of this shape, the outer ones first.
pub(crate) fn all(shape: Shape, operators: &Document) -> Vec<Around> {
    let mut all = None;
    let mut found: Vec<Around> = Vec::new();
    for name in written(operators) {
        let mut at = shape;
        for (dot, _) in name.match_indices('.') {
            let (above, _) = name.split_at(dot);
            let part = above.rsplit('.').next().unwrap_or(above);
            let Some(ShapeWithin { shape, may_miss }) = shape::within(at, part) else {
                break;
            };
            at = shape;
            if !may_miss || found.iter().any(|around| around.name == above) {
                continue;
            }
            let all = all.get_or_insert_with(|| written(operators).collect::<Vec<&str>>());
            let there = !is_whole(shape, above, all);
            if there || shape::may_be_null(shape) {
                found.push(Around {
                    name: above.to_owned(),
                    there,
                });
            }
        }
    }
    found
}

/// The structs that may be stored as `null` around what is taken out of an array: the server refuses an array operator within
/// `null`, where there is nothing to take.
pub(crate) fn around_taken(shape: Shape, operators: &Document) -> Vec<String> {
    let fields = operators
        .iter()
        .filter(|(operator, _)| matches!(operator.as_str(), "$pull" | "$pullAll" | "$pop"))
        .filter_map(|(_, fields)| fields.as_document())
        .flat_map(Document::keys);
    let mut found: Vec<String> = Vec::new();
    for name in fields {
        let mut at = shape;
        for (dot, _) in name.match_indices('.') {
            let (above, _) = name.split_at(dot);
            let part = above.rsplit('.').next().unwrap_or(above);
            let Some(within) = shape::within(at, part) else {
                break;
            };
            at = within.shape;
            if shape::may_be_null(at) && !found.iter().any(|known| known == above) {
                found.push(above.to_owned());
            }
        }
    }
    found
}

/// The names that are written by operators which can't write within `null`: the others take something away, or do nothing to
/// a document that is there.
fn written(operators: &Document) -> impl Iterator<Item = &str> {
    let takes = |operator: &str| {
        matches!(
            operator,
            "$unset" | "$pull" | "$pullAll" | "$pop" | "$setOnInsert"
        )
    };
    operators
        .iter()
        .filter(move |(operator, _)| !takes(operator))
        .filter_map(|(_, fields)| Bson::as_document(fields))
        .flat_map(|fields| fields.keys().map(String::as_str))
}

/// Whether what is written would be all that a struct of this name is read by.
fn is_whole(shape: Shape, name: &str, written: &[&str]) -> bool {
    let Some(of) = structure(shape) else { return true };
    of.fields.iter().all(|field| {
        let within = ShapeWithin::from(field);
        if field.flatten {
            return within.may_miss || is_whole(within.shape, name, written);
        }
        let name = format!("{name}.{}", field.name);
        let below = |written: &&str| {
            written
                .strip_prefix(&name)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        written.contains(&name.as_str())
            || if written.iter().any(below) {
                is_whole(within.shape, &name, written)
            } else {
                within.may_miss || field.copied.is_some()
            }
    })
}

fn structure(shape: Shape) -> Option<&'static StructShape> {
    let mut shape = shape;
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Bounded(inner) => shape = shape::of_field(inner),
            Shape::Optional(inner) => shape = inner(),
            Shape::Struct(of) => return Some(of),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::expansion_fixture::FIELD;
    use crate::model::shape::FieldMeta;
    use crate::plan::operators::around::*;
    use mongodb::bson::doc;

    const INT: Shape = Shape::Int { min: 0, max: 9 };

    const fn named(name: &'static str, shape: fn() -> Shape, required: bool) -> FieldMeta {
        FieldMeta {
            name,
            shape,
            required,
            ..FIELD
        }
    }

    const STEP: &StructShape = &StructShape {
        ty: None,
        name: "Step",
        fields: &[named("by", || INT, true), named("of", || INT, false)],
        deny_unknown: false,
    };

    const FLAT: &StructShape = &StructShape {
        ty: None,
        name: "Flat",
        fields: &[
            named("min", || INT, true),
            named("note", || Shape::Optional(|| Shape::String), true),
        ],
        deny_unknown: false,
    };

    const RANGE: &StructShape = &StructShape {
        ty: None,
        name: "Range",
        fields: &[
            FieldMeta {
                flatten: true,
                ..named("flat", || Shape::Struct(FLAT), true)
            },
            named("step", || Shape::Struct(STEP), true),
            named("last", || Shape::Optional(|| Shape::Struct(STEP)), true),
        ],
        deny_unknown: false,
    };

    const SENSOR: &StructShape = &StructShape {
        ty: None,
        name: "Sensor",
        fields: &[
            named("n", || INT, true),
            named("always", || Shape::Struct(RANGE), true),
            named("maybe", || Shape::Optional(|| Shape::Struct(RANGE)), true),
            named("since", || Shape::Struct(STEP), false),
        ],
        deny_unknown: false,
    };

    #[test]
    fn structs_that_may_be_missing_are_found() {
        for (update, expected) in [
            (doc! { "$set": { "n": 1, "always.step.by": 2 } }, vec![]),
            (
                doc! { "$unset": { "maybe.step.of": "" }, "$pull": { "maybe.x": 1 } },
                vec![],
            ),
            (doc! { "$set": { "maybe.min": 1 } }, vec![("maybe", true)]),
            (
                doc! { "$set": { "maybe.min": 1 }, "$inc": { "maybe.step.by": 1 } },
                vec![("maybe", false)],
            ),
            (
                doc! { "$set": { "maybe.min": 1, "maybe.step.of": 1 } },
                vec![("maybe", true)],
            ),
            (
                doc! { "$max": { "maybe.last.of": 1, "maybe.last.by": 1 } },
                vec![("maybe", true), ("maybe.last", false)],
            ),
            (
                doc! { "$inc": { "always.last.of": 1 } },
                vec![("always.last", true)],
            ),
            // It is not null, and all of it is written.
            (doc! { "$inc": { "since.by": 1 } }, vec![]),
            (doc! { "$inc": { "since.of": 1 } }, vec![("since", true)]),
            (doc! { "$set": { "nothing.known": 1 } }, vec![]),
        ] {
            let found = all(Shape::Struct(SENSOR), &update);
            let found: Vec<(&str, bool)> = found
                .iter()
                .map(|around| (around.name.as_str(), around.there))
                .collect();
            assert_eq!(found, expected, "{update}");
        }
    }
}
