//! The names of fields in a plan: as they are stored, and as they are declared where that differs.

use crate::model::shape::{FieldMeta, MOST_WRAPPERS, Shape, of_field};

/// Adds the Rust names to lines that begin with a stored path (`addresses[].zip: required`).
pub(super) fn with_rust_names(lines: &mut [String], shape: Shape) {
    for line in lines {
        if let Some((path, rest)) = line.split_once(": ")
            && let Some(declared) = rust_path(shape, path)
            && declared != path
        {
            *line = format!("{path} (`{declared}` in Rust): {rest}");
        }
    }
}

/// The path with the names of the Rust fields; `None` where it leads to no declared field.
fn rust_path(mut shape: Shape, path: &str) -> Option<String> {
    let mut declared = Vec::new();
    for part in path.split('.') {
        let end = part.find(['[', '<']).unwrap_or(part.len());
        let (name, suffix) = part.split_at(end);
        if name == "*" {
            declared.push(part.to_owned());
            shape = match bare(shape)? {
                Shape::Map(values) => values(),
                _ => return None,
            };
        } else {
            let field = match bare(shape)? {
                Shape::Struct(of) => find(of.fields, name, 0)?,
                _ => return None,
            };
            // An id is known by the name that MongoDB gives it.
            let rust = if name == "_id" { name } else { field.rust };
            declared.push(format!("{rust}{suffix}"));
            shape = of_field(field);
        }
        for _ in 0..suffix.matches('[').count() {
            shape = match bare(shape)? {
                Shape::Array(items) | Shape::Fixed { items, .. } => items(),
                _ => return None,
            };
        }
        if suffix.contains('<') {
            // The forms of an enum are not followed.
            return (path.ends_with(part)).then(|| declared.join("."));
        }
    }
    Some(declared.join("."))
}

fn find(fields: &'static [FieldMeta], name: &str, depth: u32) -> Option<&'static FieldMeta> {
    if depth > MOST_WRAPPERS {
        return None;
    }
    let named = fields.iter().find(|field| !field.flatten && field.name == name);
    named.or_else(|| {
        let flat = fields.iter().filter(|field| field.flatten);
        flat.filter_map(|field| match bare(of_field(field)) {
            Some(Shape::Struct(of)) => find(of.fields, name, depth + 1),
            _ => None,
        })
        .next()
    })
}

/// Without what may be around a shape.
fn bare(mut shape: Shape) -> Option<Shape> {
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Optional(inner) => shape = inner(),
            Shape::Bounded(inner) => shape = of_field(inner),
            shape => return Some(shape),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::FIELD;
    use crate::model::shape::StructShape;

    const fn named(name: &'static str, rust: &'static str, shape: fn() -> Shape) -> FieldMeta {
        FieldMeta {
            name,
            rust,
            shape,
            ..FIELD
        }
    }

    const ADDRESS: &StructShape = &StructShape {
        ty: None,
        name: "Address",
        fields: &[
            named("zipCode", "zip_code", || Shape::String),
            named("city", "city", || Shape::String),
        ],
        deny_unknown: false,
    };

    const PERSON: &StructShape = &StructShape {
        ty: None,
        name: "Person",
        fields: &[
            named("_id", "id", || Shape::ObjectId),
            named("city", "city", || Shape::String),
            named("addresses", "addresses", || {
                Shape::Optional(|| Shape::Array(|| Shape::Struct(ADDRESS)))
            }),
            named("byDay", "by_day", || Shape::Map(|| Shape::Struct(ADDRESS))),
        ],
        deny_unknown: false,
    };

    #[test]
    fn a_stored_name_that_differs_stands_beside_its_rust_name() {
        let mut lines = [
            "_id: an objectId (was a string)",
            "city: required (was optional)",
            "addresses[].zipCode: at most 5 characters (new)",
            "addresses[].city: required (was optional)",
            "byDay.*.zipCode: a string (new)",
            "gone: no longer declared",
            "the document: no other fields (new)",
        ]
        .map(str::to_owned);
        with_rust_names(&mut lines, Shape::Struct(PERSON));
        assert_eq!(
            lines,
            [
                "_id: an objectId (was a string)",
                "city: required (was optional)",
                "addresses[].zipCode (`addresses[].zip_code` in Rust): at most 5 characters (new)",
                "addresses[].city: required (was optional)",
                "byDay.*.zipCode (`by_day.*.zip_code` in Rust): a string (new)",
                "gone: no longer declared",
                "the document: no other fields (new)",
            ]
        );
    }
}
