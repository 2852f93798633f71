//! The rule beside the `$jsonSchema`: a field that is declared as a UUID takes no other binary data.
//!
//! `$jsonSchema` knows no subtypes. MongoDB compares binary data by length, then by subtype, then by bytes, and a comparison by
//! operator meets values of its own type alone; so what is neither below the least UUID nor above the greatest one is a UUID, of
//! subtype 4, as `bson::Uuid` reads it.

use crate::model::document::DocumentMeta;
use crate::model::level::StructLevel;
use crate::model::shape::{FieldMeta, Shape, of_field};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, Document, doc};

fn limit(byte: u8) -> Bson {
    Bson::Binary(Binary {
        subtype: BinarySubtype::Uuid,
        bytes: vec![byte; 16],
    })
}

/// The condition that all UUIDs of a document are ones that can be read; `None` where it has none. Those below maps, enums and
/// tuples have no path of their own.
pub(super) fn of(meta: &DocumentMeta) -> Option<Document> {
    let Shape::Struct(of) = (meta.shape)() else {
        return None;
    };
    let mut paths = Vec::new();
    fields(of.fields, "", &mut vec![of.identity()], &mut paths);
    let others = paths.iter().flat_map(|path| {
        [
            doc! { path: { "$lt": limit(0) } },
            doc! { path: { "$gt": limit(u8::MAX) } },
        ]
    });
    let others: Vec<Document> = others.collect();
    (!others.is_empty()).then(|| doc! { "$nor": others })
}

/// The fields that the `$nor` of such a condition is about; `None` of another one.
pub(super) fn paths(others: &Bson) -> Option<Vec<&str>> {
    let others = others.as_array()?;
    let mut paths: Vec<&str> = Vec::new();
    for other in others {
        let [(path, Bson::Document(comparison))] = *pairs(other.as_document()?).as_slice() else {
            return None;
        };
        let [(operator, value)] = *pairs(comparison).as_slice() else {
            return None;
        };
        let is_limit =
            operator == "$lt" && *value == limit(0) || operator == "$gt" && *value == limit(u8::MAX);
        if !is_limit {
            return None;
        }
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    (!paths.is_empty()).then_some(paths)
}

fn pairs(document: &Document) -> Vec<(&str, &Bson)> {
    document
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect()
}

fn fields(of: &'static [FieldMeta], above: &str, open: &mut Vec<&'static str>, paths: &mut Vec<String>) {
    for field in StructLevel::of(of).fields {
        for name in std::iter::once(&field.name).chain(field.aliases) {
            let path = match above {
                "" => (*name).to_owned(),
                above => format!("{above}.{name}"),
            };
            value(of_field(field), &path, false, open, paths);
        }
    }
}

fn value(shape: Shape, path: &str, in_array: bool, open: &mut Vec<&'static str>, paths: &mut Vec<String>) {
    match crate::model::shape::inner(shape) {
        Shape::Uuid => paths.push(path.to_owned()),
        // A path leads through one array, and not through another one in it.
        Shape::Array(items) | Shape::Fixed { items, .. } if !in_array => {
            value(items(), path, true, open, paths);
        }
        // A type inside itself has paths without end.
        Shape::Struct(of) if !open.contains(&of.identity()) => {
            open.push(of.identity());
            fields(of.fields, path, open, paths);
            open.pop();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::Person;
    use crate::model::shape::{Bounds, StructShape};
    use mongodb::bson::Uuid;

    const INNER: StructShape = StructShape {
        ty: None,
        name: "Inner",
        fields: &[FieldMeta::value::<Option<Uuid>>(
            "key",
            "key",
            "Option<Uuid>",
            Bounds::NONE,
        )],
        deny_unknown: false,
    };
    const OUTER: StructShape = StructShape {
        ty: None,
        name: "Outer",
        fields: &[
            FieldMeta::value::<Uuid>("id", "_id", "Uuid", Bounds::NONE),
            FieldMeta::value::<Binary>("bytes", "bytes", "Binary", Bounds::NONE),
            FieldMeta::items::<Vec<Uuid>>("all", "all", "Vec<Uuid>", Bounds::NONE),
            FieldMeta {
                shape: || Shape::Array(|| Shape::Struct(&INNER)),
                aliases: &["old"],
                ..FieldMeta::value::<i32>("inner", "inner", "Vec<Inner>", Bounds::NONE)
            },
        ],
        deny_unknown: false,
    };

    #[test]
    fn uuids_are_between_the_least_and_the_greatest() {
        let person = <Person as crate::Document>::META;
        assert_eq!(of(person), None);
        let meta = DocumentMeta {
            shape: || Shape::Struct(&OUTER),
            ..*person
        };
        let condition = of(&meta).expect("it has UUIDs");
        let first = [
            doc! { "_id": { "$lt": limit(0) } },
            doc! { "_id": { "$gt": limit(255) } },
        ];
        let others = condition.get_array("$nor").expect("is one");
        assert_eq!(others[..2], first.map(Bson::from));
        assert_eq!(
            condition.get("$nor").and_then(paths),
            Some(vec!["_id", "all", "inner.key", "old.key"])
        );
        for other in [
            doc! { "$nor": {} },
            doc! { "$nor": [] },
            doc! { "$nor": [{ "a": { "$lt": 1 } }] },
            doc! { "$nor": [{ "a": { "$gt": limit(0) } }] },
        ] {
            assert_eq!(other.get("$nor").and_then(paths), None, "{other}");
        }
    }
}
