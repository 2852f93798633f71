//! Documents of several types in one collection: the variants of an enum, each a document of its own.

use crate::model::document::{Document, Fresh, FromNew};
use crate::model::meta::DocumentMeta;
use crate::model::shape::{FieldMeta, Managed, same};
use crate::model::size::Message;
use mongodb::bson::DateTime;
use mongodb::bson::raw::CString;

/// A struct with `#[document(variant_of = E)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` stands in the collection of `{E}`, and does not declare it",
    label = "not declared as a variant of `{E}`",
    note = "write `#[document(variant_of = {E})]` on `{Self}`, in the place of `#[document(collection = \"…\")]`",
    note = "each variant holds a struct that derives `Document`"
)]
#[allow(missing_docs)]
pub trait StoredWith<E>: Document + FromNew {
    // The functions of the enum, under names of this trait: of a type that is no variant, the compiler says nothing else.
    const VARIANT_META: &'static DocumentMeta = Self::META;
    const VARIANT_FIELDS: &'static [FieldMeta] = Self::FIELDS;
    const VARIANT_SIZE: Option<u64> = Self::MAX_BSON_SIZE;
    fn variant_id(document: &Self) -> &Self::Id {
        document.id()
    }
    fn variant_touch(document: &mut Self, now: DateTime) {
        document.touch(now);
    }
    fn variant_version(document: &Self) -> Option<i64> {
        document.version()
    }
    fn variant_set_version(document: &mut Self, version: i64) {
        document.set_version(version);
    }
    fn variant_fresh(new: Self::New, now: DateTime) -> Fresh<Self> {
        Self::fresh(new, now)
    }
    fn variant_from_new(new: Self::New, now: DateTime) -> Self {
        Self::from_new(new, now)
    }
}

/// A struct that an enum lists.
#[diagnostic::on_unimplemented(
    message = "`{E}` has no variant with a `{Self}`",
    label = "not among the variants of `{E}`",
    note = "add it to the enum: `{Self}({Self})`; or give `{Self}` a collection of its own: `#[document(collection = \"…\")]`"
)]
pub trait VariantOf<E> {
    /// The field with the name of the variant.
    const TAG: &'static str;
    /// The name of the variant, as it is stored.
    const NAME: &'static str;
}

/// A new document of a variant, as one of the enum.
pub fn fresh<T: VariantOf<E>, E: Document>(new: Fresh<T>, of: fn(T) -> E) -> Fresh<E> {
    match new {
        Fresh::Whole(document) => Fresh::Whole(of(document)),
        Fresh::Partial(raw) => Fresh::Partial(raw.map(|mut raw| {
            if let Ok(tag) = CString::try_from(T::TAG) {
                raw.append(tag, T::NAME);
            }
            raw
        })),
    }
}

/// The size of a document with the name of its variant.
pub const fn tagged(size: Option<u64>, tag: &str, name: &str) -> Option<u64> {
    match size {
        // The type and the name of the element, and a string with its length.
        Some(size) => Some(size + (tag.len() + name.len()) as u64 + 7),
        None => None,
    }
}

/// The greatest of these sizes, if all of them have a bound.
pub const fn greatest(sizes: &[Option<u64>]) -> Option<u64> {
    let (mut greatest, mut i) = (0, 0);
    while i < sizes.len() {
        match sizes[i] {
            Some(size) if size > greatest => greatest = size,
            Some(_) => {}
            None => return None,
        }
        i += 1;
    }
    Some(greatest)
}

const fn find(fields: &[FieldMeta], name: &str) -> Option<usize> {
    let mut i = 0;
    while i < fields.len() {
        if same(fields[i].name, name) {
            return Some(i);
        }
        i += 1;
    }
    None
}

const fn begin(name: &str, field: &FieldMeta) -> Message {
    Message::new()
        .text("`")
        .text(name)
        .text(".")
        .text(field.rust)
        .text(": ")
        .text(field.ty)
        .text("` ")
}

/// The first mismatch of a variant with its enum: a field with the name of the tag, a common field that is another one in it, and a
/// field that the library writes in every update and that is not common.
pub const fn unlike(
    (name, common): (&str, &[FieldMeta]),
    (variant, fields): (&str, &[FieldMeta]),
    tag: &str,
) -> Option<Message> {
    // Of a variant that has errors of its own, nothing is known.
    if !fields.is_empty() && fields[0].ty.is_empty() {
        return None;
    }
    let mut i = 0;
    while i < fields.len() {
        let field = &fields[i];
        let mut takes_tag = same(field.name, tag);
        let mut alias = 0;
        while alias < field.aliases.len() {
            takes_tag |= same(field.aliases[alias], tag);
            alias += 1;
        }
        if takes_tag {
            return Some(
                begin(variant, field)
                    .text("is stored as `")
                    .text(tag)
                    .text("`, where `")
                    .text(name)
                    .text("` stores the name of the variant. Give one of them another name: `#[field(name = \"…\")]` on the field, or \
                           `#[document(tag = \"…\")]` on the enum"),
            );
        }
        let written = matches!(field.managed, Managed::UpdatedAt | Managed::Version);
        if written && find(common, field.name).is_none() {
            return Some(
                begin(variant, field)
                    .text("is set by every write, also by those of a `")
                    .text(name)
                    .text("`, which does not know it. Declare it in all variants and in the enum: `#[document(common(")
                    .text(field.rust)
                    .text(": ")
                    .text(field.ty)
                    .text("))]`, with the same `timestamps` or `version`"),
            );
        }
        i += 1;
    }
    let mut i = 0;
    while i < common.len() {
        let field = &common[i];
        let Some(at) = find(fields, field.name) else {
            return Some(
                begin(name, field)
                    .text("is declared as a field of all variants, and `")
                    .text(variant)
                    .text("` has no field that is stored as `")
                    .text(field.name)
                    .text("`. Add it there, with the same attributes, or leave it out of `common(…)`"),
            );
        };
        let own = &fields[at];
        let is_alike = same(own.rust, field.rust)
            && own.managed as u8 == field.managed as u8
            && own.required == field.required
            && own.default.is_some() == field.default.is_some()
            && own.reference.is_some() == field.reference.is_some();
        if !is_alike {
            return Some(
                begin(variant, own)
                    .text("is declared in another way than `")
                    .text(name)
                    .text(".")
                    .text(field.rust)
                    .text("` in `common(…)`. Write the field with the same name and the same attributes in both, and `timestamps` and \
                           `version` in both `#[document(…)]`"),
            );
        }
        if own.default.is_some() {
            return Some(
                begin(name, field).text(
                    "has a default, and a field of all variants has none yet: an update would have to know what each variant reads \
                     where it is missing. Leave it out of `common(…)`, or leave out the default",
                ),
            );
        }
        i += 1;
    }
    None
}

/// The common fields of an enum that have other bounds in a variant, each in a sentence.
pub(crate) fn problems(meta: &DocumentMeta) -> Vec<String> {
    let of_variant = |variant: &'static DocumentMeta| {
        let unlike = move |field: &&FieldMeta| {
            variant
                .field(field.name)
                .is_some_and(|own| own.bounds != field.bounds)
        };
        meta.fields().iter().filter(unlike).map(move |field| {
            format!(
                "`{0}.{1}` has other bounds than `{2}.{1}`: write the same `#[field(…)]` or `#[embed(…)]` on the field and in \
                 `common(…)`",
                variant.name, field.rust, meta.name
            )
        })
    };
    meta.variants().flat_map(of_variant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::FIELD;

    fn message(fields: &[FieldMeta], common: &[FieldMeta]) -> String {
        let found = unlike(("Event", common), ("Login", fields), "type");
        found
            .map(|message| message.as_str().to_owned())
            .unwrap_or_default()
    }

    #[test]
    fn a_variant_has_the_common_fields_and_no_field_with_the_name_of_the_tag() {
        let at = FieldMeta {
            rust: "at",
            name: "at",
            ..FIELD
        };
        assert_eq!(message(&[FIELD, at], &[at]), "");
        assert!(message(&[FIELD], &[at]).contains("`Login` has no field that is stored as `at`"));
        let tag = FieldMeta {
            name: "type",
            ..FIELD
        };
        assert!(message(&[tag], &[]).contains("is stored as `type`"));
        let alias = FieldMeta {
            aliases: &["type"],
            ..FIELD
        };
        assert!(message(&[alias], &[]).contains("is stored as `type`"));
        let version = FieldMeta {
            managed: Managed::Version,
            ..at
        };
        assert!(message(&[version], &[]).contains("is set by every write"));
        assert_eq!(message(&[version], &[version]), "");
        assert!(message(&[version], &[at]).contains("is declared in another way"));
    }

    #[test]
    fn the_size_of_an_enum_is_that_of_its_greatest_variant() {
        assert_eq!(greatest(&[Some(3), Some(9)]), Some(9));
        assert_eq!(greatest(&[Some(3), None]), None);
        let document = mongodb::bson::serialize_to_vec(&mongodb::bson::doc! { "type": "Login" });
        let size = document.map(|bytes| bytes.len() as u64).unwrap_or_default();
        assert_eq!(tagged(Some(5), "type", "Login"), Some(size));
    }
}
