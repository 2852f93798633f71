//! What of a value is compared where it is stored as a document: by which of its fields it is the one that is meant.
//!
//! A document is compared as a whole, byte by byte. That is right for a struct that holds what the application wrote and nothing
//! else. Beside copies stands the version that they were taken from, and the copies follow their source; so such a struct is
//! compared by the fields that the application writes. A reference of a union is compared by its two fields, which the index
//! behind it has, and which others may have written in another order.

use crate::shape::{Body, EnumShape, FieldMeta, MOST_WRAPPERS, Shape, StructShape, Tagging};
use mongodb::bson::{Bson, Document, doc};
use std::collections::HashSet;

/// A value, by the names and values that make it the one that is meant.
pub(crate) type Parts = Vec<(String, Bson)>;

/// Why a value can't be compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Incomparable;

/// How the values of a field are compared, those of its items where it is an array: `None` where it is as they are stored.
pub(crate) enum By {
    /// The fields of a reference of a union.
    Union,
    /// The fields of a struct that are not copied.
    Own(&'static StructShape),
    /// There are copies in it, or in some of its variants, in places that have no name.
    Nothing(Shape),
}

impl By {
    pub(crate) fn of(field: &FieldMeta) -> Option<By> {
        if field.reference.is_some_and(|reference| reference.union) {
            return Some(By::Union);
        }
        match unwrapped((field.shape)()) {
            shape if !has_copies(shape) => None,
            Shape::Struct(of) => Some(By::Own(of)),
            shape => Some(By::Nothing(shape)),
        }
    }

    /// The parts of one value. None for `null`, and for what is no such value, which are compared as they are.
    pub(crate) fn parts(&self, value: &Bson) -> Result<Option<Parts>, Incomparable> {
        let mut parts = Parts::new();
        match (self, value) {
            (_, value) if is_plain(value) => return Ok(None),
            (By::Union, Bson::Document(reference)) => {
                for name in ["type", "id"] {
                    let value = reference.get(name).ok_or(Incomparable)?;
                    parts.push((name.to_owned(), value.clone()));
                }
            }
            // A whole array of them.
            (By::Union, _) => return Ok(None),
            (By::Own(of), Bson::Document(value)) => own(of, "", value, &mut parts)?,
            (By::Nothing(Shape::Enum(of)), Bson::Document(value)) if !is_of_copies(of, value) => {
                return Ok(None);
            }
            _ => return Err(Incomparable),
        }
        Ok(Some(parts))
    }
}

/// Whether no struct stands in it.
fn is_plain(value: &Bson) -> bool {
    match value {
        Bson::Document(document) => document.is_empty(),
        Bson::Array(items) => items.iter().all(is_plain),
        _ => true,
    }
}

/// Whether this may be a variant that holds copies.
fn is_of_copies(of: &EnumShape, value: &Document) -> bool {
    of.variants.iter().any(|variant| {
        let is_it = match of.tagging {
            Tagging::External => value.contains_key(variant.name),
            Tagging::Internal(tag) | Tagging::Adjacent(tag, _) => {
                value.get_str(tag).is_ok_and(|tag| tag == variant.name)
            }
            Tagging::Untagged => true,
        };
        is_it
            && body(&variant.body)
                .iter()
                .any(|field| field.copied.is_some() || has_copies((field.shape)()))
    })
}

fn body(body: &Body) -> &'static [FieldMeta] {
    match *body {
        Body::Unit => &[],
        Body::Newtype(field) => std::slice::from_ref(field),
        Body::Tuple(fields) => fields,
        Body::Struct(of) => of.fields,
    }
}

/// These parts as a condition, with the names below this one: empty, or with a dot behind it.
pub(crate) fn below(name: &str, parts: Parts) -> Document {
    let mut all = Document::new();
    // What has none of its fields is not what is not there.
    if let Some(itself) = name.strip_suffix('.')
        && parts.iter().all(|(_, value)| *value == Bson::Null)
    {
        all.insert(itself, doc! { "$type": "object" });
    }
    all.extend(
        parts
            .into_iter()
            .map(|(part, value)| (format!("{name}{part}"), Bson::from(doc! { "$eq": value }))),
    );
    all
}

fn own(of: &StructShape, above: &str, value: &Document, parts: &mut Parts) -> Result<(), Incomparable> {
    for field in of.fields.iter().filter(|field| field.copied.is_none()) {
        let shape = (field.shape)();
        if field.is_extra() {
            continue;
        }
        if field.flatten {
            match unwrapped(shape) {
                Shape::Struct(inner) => own(inner, above, value, parts)?,
                _ => return Err(Incomparable),
            }
            continue;
        }
        let name = format!("{above}{}", field.name);
        let value = value.get(field.name).unwrap_or(&Bson::Null);
        match (has_copies(shape), unwrapped(shape), value) {
            (false, ..) | (true, _, Bson::Null) => parts.push((name, value.clone())),
            (true, Shape::Struct(inner), Bson::Document(value)) => {
                own(inner, &format!("{name}."), value, parts)?;
            }
            _ => return Err(Incomparable),
        }
    }
    Ok(())
}

/// Without the options, the arrays and the newtypes around it.
fn unwrapped(mut shape: Shape) -> Shape {
    for _ in 0..MOST_WRAPPERS {
        shape = match shape {
            Shape::Optional(inner) | Shape::Array(inner) => inner(),
            Shape::Bounded(field) if !field.bounds.opaque => (field.shape)(),
            _ => break,
        };
    }
    shape
}

/// Whether the library keeps something in such a value.
pub(crate) fn has_copies(shape: Shape) -> bool {
    // A type may contain itself.
    let mut known = HashSet::new();
    let mut open = vec![shape];
    while let Some(shape) = open.pop() {
        let fields: Vec<&FieldMeta> = match shape {
            Shape::Optional(inner) | Shape::Array(inner) | Shape::Map(inner) => {
                open.push(inner());
                continue;
            }
            Shape::Fixed { items, .. } => {
                open.push(items());
                continue;
            }
            Shape::Tuple(items) => {
                open.extend(items.iter().map(|item| item()));
                continue;
            }
            Shape::Bounded(field) => vec![field],
            Shape::Struct(of) if known.insert(std::ptr::from_ref(of) as usize) => of.fields.iter().collect(),
            Shape::Enum(of) if known.insert(std::ptr::from_ref(of) as usize) => of
                .variants
                .iter()
                .flat_map(|variant| body(&variant.body))
                .collect(),
            _ => continue,
        };
        if fields.iter().any(|field| field.copied.is_some()) {
            return true;
        }
        let looked_into = fields.iter().filter(|field| !field.bounds.opaque);
        open.extend(looked_into.map(|field| (field.shape)()));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_hand::FIELD;
    use crate::copy::{Copied, FieldCopy, SyncMode};
    use crate::shape::VariantMeta;

    const fn named(name: &'static str, shape: crate::shape::ShapeFn) -> FieldMeta {
        FieldMeta { name, shape, ..FIELD }
    }

    const NAME: FieldMeta = FieldMeta {
        name: "name",
        copied: Some(&Copied::Field(FieldCopy {
            through: "product",
            source: || "name",
            sync: SyncMode::Auto,
        })),
        ..FIELD
    };
    static PLAIN: StructShape = StructShape {
        name: "Plain",
        fields: &[
            named("product", || Shape::String),
            named("quantity", || Shape::String),
        ],
        deny_unknown: false,
    };
    static LINE: StructShape = StructShape {
        name: "Line",
        fields: &[
            named("product", || Shape::String),
            NAME,
            named("note", || Shape::Optional(|| Shape::String)),
            named("inner", || Shape::Optional(|| Shape::Struct(&INNER))),
            FieldMeta {
                flatten: true,
                ..named("flat", || Shape::Struct(&FLAT))
            },
            named("others", || Shape::Array(|| Shape::Struct(&INNER))),
        ],
        deny_unknown: false,
    };
    static INNER: StructShape = StructShape {
        name: "Inner",
        fields: &[named("product", || Shape::String), NAME],
        deny_unknown: false,
    };
    static FLAT: StructShape = StructShape {
        name: "Flat",
        fields: &[
            named("colour", || Shape::String),
            named("line", || Shape::Optional(|| Shape::Struct(&LINE))),
        ],
        deny_unknown: false,
    };

    fn parts(
        shape: crate::shape::ShapeFn,
        value: impl Into<Bson>,
    ) -> Option<Result<Option<Document>, Incomparable>> {
        let by = By::of(&named("lines", shape))?;
        Some(by.parts(&value.into()).map(|parts| Some(below("e.", parts?))))
    }

    #[test]
    fn a_struct_is_compared_by_what_the_application_writes() {
        assert_eq!(parts(|| Shape::Array(|| Shape::Struct(&PLAIN)), doc! {}), None);
        assert_eq!(parts(|| Shape::String, "a"), None);
        let line = doc! {
            "product": "p", "name": "copied", "inner": { "product": "q", "name": "copied" }, "colour": "red", "line": null,
            "others": null,
        };
        let lines = || Shape::Optional(|| Shape::Array(|| Shape::Optional(|| Shape::Struct(&LINE))));
        let expected = doc! {
            "e.product": { "$eq": "p" },
            "e.note": { "$eq": null },
            "e.inner.product": { "$eq": "q" },
            "e.colour": { "$eq": "red" },
            "e.line": { "$eq": null },
            "e.others": { "$eq": null },
        };
        assert_eq!(parts(lines, line.clone()), Some(Ok(Some(expected))));
        assert_eq!(parts(lines, Bson::Null), Some(Ok(None)));
        // What holds copies in an array within it has no names.
        let mut deep = line;
        deep.insert("others", vec![doc! { "product": "r" }]);
        assert_eq!(parts(lines, deep), Some(Err(Incomparable)));
        assert_eq!(
            parts(lines, vec![doc! { "product": "p" }]),
            Some(Err(Incomparable))
        );
        assert_eq!(parts(lines, Vec::<Bson>::new()), Some(Ok(None)));
        let map = || Shape::Map(|| Shape::Struct(&LINE));
        assert_eq!(
            parts(map, doc! { "a": { "product": "p" } }),
            Some(Err(Incomparable))
        );
        assert_eq!(parts(map, doc! {}), Some(Ok(None)));
        // One that has none of its fields is there all the same.
        let none = doc! { "e": { "$type": "object" }, "e.product": { "$eq": null } };
        let inner = parts(|| Shape::Struct(&INNER), doc! { "name": "copied" });
        assert_eq!(inner, Some(Ok(Some(none))));
    }

    static STATE: EnumShape = EnumShape {
        name: "State",
        tagging: Tagging::Internal("is"),
        variants: &[
            VariantMeta {
                name: "draft",
                aliases: &[],
                body: Body::Struct(&PLAIN),
            },
            VariantMeta {
                name: "sent",
                aliases: &[],
                body: Body::Struct(&INNER),
            },
        ],
    };

    #[test]
    fn a_variant_without_copies_is_compared_as_it_is() {
        let state = || Shape::Enum(&STATE);
        assert_eq!(
            parts(state, doc! { "is": "draft", "product": "p" }),
            Some(Ok(None))
        );
        assert_eq!(
            parts(state, doc! { "is": "sent", "product": "p" }),
            Some(Err(Incomparable))
        );
        assert_eq!(parts(state, "draft"), Some(Ok(None)));
    }
}
