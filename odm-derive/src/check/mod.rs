//! The rules across fields and attributes, one small function each. A message names the field and its type, states the
//! rule and offers what to write.

pub mod bucket;
mod collection;
mod copy;
mod document;
mod field;
mod index;
mod message;
mod misplaced;
mod patch;
mod place;
mod reference;
pub mod request;
mod rules;
mod search;
mod several;
mod shard_key;
mod union;
pub mod value_rules;

use crate::ast::{Container, Data, Field, Style};
use crate::attr::access::Access;
use crate::attr::copy::Copy;
use crate::attr::document::Document;
use crate::attr::embed::Container as Embed;
use crate::attr::projection::Projection;
use crate::attr::serde::Default_;
use crate::ctxt::Ctxt;
use crate::ty;
use message::{error, label};
use misplaced::Derived;
use rules::Place;
use syn::spanned::Spanned;

/// The rules of `#[derive(Document)]` on an enum. `common` is the struct of the fields that all variants have.
pub fn several(cx: &Ctxt, container: &Container, common: &Container, declared: &Document) {
    owns_its_values(cx, container);
    misplaced::all(cx, container, Derived::Document);
    misplaced::on_fields(cx, common);
    stored_names_differ(cx, container);
    several::of_enum(cx, container, common, declared);
    document::collection_is_named(cx, container, declared);
    // Without a variant that is a document nothing is known of the fields.
    if !common.fields().is_empty() {
        fields_of_document(cx, common, declared);
        shard_key::of_enum(cx, common, declared);
    }
}

/// The rules of `#[derive(Document)]` on a struct.
pub fn document(cx: &Ctxt, container: &Container, document: &Document) {
    owns_its_values(cx, container);
    misplaced::all(cx, container, Derived::Document);
    bucket::not_on_document(cx, container);
    if !document::is_struct_with_names(cx, container) {
        return;
    }
    match &document.variant_of {
        Some(_) => several::of_variant(cx, container, document),
        None => {
            document::collection_is_named(cx, container, document);
            several::of_struct(cx, container, document);
            shard_key::of_struct(cx, container, document);
        }
    }
    fields_of_document(cx, container, document);
}

fn fields_of_document(cx: &Ctxt, container: &Container, document: &Document) {
    document::id_is_there(cx, container);
    document::builder_is_possible(cx, container, document);
    document::timestamps_are_there(cx, container, document);
    document::version_is_there(cx, container, document);
    document::deletion_is_there(cx, container, document);
    document::expires_by_a_field(cx, container, document);
    document::shared_is_missing(cx, container, document);
    document::is_no_copy(cx, container);
    not_transparent(cx, container);
    stored_names_differ(cx, container);
    no_tag_on_struct(cx, container);
    let roles = &container.roles;
    for field in container.fields().iter().filter(|field| field.is_read) {
        if roles.is_id(field) {
            field::of_id(cx, container, field)
        } else {
            field::all(cx, container, field, false)
        }
        written_under_one_name(cx, container, field);
        refers_as_stored(cx, container, field);
        let place = Place::in_document(field, roles);
        if !field.skipped() {
            reference::all(cx, container, field, place);
        }
        copy::all(cx, container, field, place, roles.made(field));
        document::never_changes(cx, container, document, field);
        document::scope_is_plain(cx, container, field);
    }
    index::all(cx, container, document);
    search::all(cx, container, document);
    patch::of_document(cx, container, document);
    collection::all(cx, container, document);
}

/// Two derives that make the same names for one type can't be told from one another by the compiler's errors.
pub fn not_a_document(input: &syn::DeriveInput) -> Option<syn::Error> {
    let attr = crate::attr::find(&input.attrs, "document")?;
    let ident = &input.ident;
    let message = format!(
        "`{ident}` derives `Embed`, and `#[document(…)]` is for what derives `Document`. Derive one of them: `Document` for what has a \
         collection, `Embed` for what is stored in a field of a document"
    );
    Some(syn::Error::new_spanned(attr.path(), message))
}

/// The rules of `#[derive(Embed)]`.
pub fn embed(cx: &Ctxt, container: &Container, embed: &Embed) {
    owns_its_values(cx, container);
    if let Data::Union = container.data {
        cx.error(
            container.ident,
            format!(
                "`{0}` is a union, whose stored form nothing can tell. Write an enum: `enum {0} {{ … }}`",
                container.ident
            ),
        );
        return;
    }
    misplaced::all(cx, container, Derived::Embed);
    stored_names_differ(cx, container);
    no_tag_on_struct(cx, container);
    variants_have_forms_of_their_own(cx, container);
    variants_beside_a_tag_have_fields(cx, container);
    transparent_has_one_field(cx, container);
    tags_are_free(cx, container);
    tags_are_names(cx, container);
    has_variants(cx, container);
    variants_have_one_name(cx, container);
    names_of_variants_are_stored(cx, container);
    derives_have_a_struct(cx, container, embed);
    id_is_no_array(cx, container, embed);
    numbers_are_of_plain_variants(cx, container, embed);
    place::variants_differ(cx, container);
    copy::container(cx, container);
    takes_versions(cx, container);
    for field in container.all_fields().into_iter().filter(|field| field.is_read) {
        document::no_scope_in_embedded(cx, container, field);
        field::all(cx, container, field, true);
        written_under_one_name(cx, container, field);
        refers_as_stored(cx, container, field);
        if !field.skipped() {
            reference::all(cx, container, field, Place::Embed { id: embed.id });
        }
        copy::all(cx, container, field, Place::Embed { id: embed.id }, false);
        index::not_in_embedded(cx, container, field);
        positions_stay(cx, container, field);
    }
    patch::of_embedded(cx, container, embed);
}

/// The rules of `#[derive(Projection)]`.
pub fn projection(cx: &Ctxt, container: &Container, projection: &Projection) {
    owns_its_values(cx, container);
    if projection.of.is_none() && cx.is_read("projection") {
        cx.error(
            container.ident,
            format!(
                "The projection `{}` does not say which document it is a part of. Write `#[projection(of = Movie)]` with the \
                 document's type",
                container.ident
            ),
        );
    }
    if !matches!(container.data, Data::Struct(Style::Named, _)) {
        cx.error(
            container.ident,
            format!(
                "`{0}` is no struct with named fields, and a projection names the fields that it reads. Write \
                 `struct {0} {{ title: String }}`",
                container.ident
            ),
        );
        return;
    }
    misplaced::all(cx, container, Derived::Read);
    reads_fields_alone(cx, container, "the fields of the document");
    reads_more_than_its_fields(cx, container);
    if container.fields().iter().all(Field::skipped) {
        cx.error(
            container.ident,
            format!(
                "The projection `{}` has no field, so it would read nothing. Name at least one field of the document",
                container.ident
            ),
        );
    }
    for field in container.fields() {
        field::read_alone(cx, container, field);
        if let Some(span) = field.serde.flatten {
            cx.push(syn::Error::new(
                span,
                format!(
                    "`{}` is flattened, so the fields that it reads have no names here. Write the fields themselves into the \
                     projection",
                    label(container, field)
                ),
            ));
        }
    }
}

/// A join needs the references that it follows, and a page the fields of its order, so these are read besides.
fn reads_more_than_its_fields(cx: &Ctxt, container: &Container) {
    if container.serde.deny_unknown_fields {
        cx.error(
            container.ident,
            format!(
                "`#[serde(deny_unknown_fields)]` would have the projection `{}` refuse fields that a query reads besides its own: \
                 those that `include` joins by, and those that a page is sorted by. Leave the attribute out: without them, the \
                 query reads no field that the projection does not name",
                container.ident
            ),
        );
    }
}

/// The struct of a result has named fields.
pub fn row(cx: &Ctxt, container: &Container) {
    owns_its_values(cx, container);
    let ident = container.ident;
    if !matches!(container.data, Data::Struct(Style::Named, _)) {
        cx.error(
            ident,
            format!(
                "`{ident}` is no struct with named fields, and a result is read by the names of its fields. Write \
                 `struct {ident} {{ total: i64 }}`; an enum or a struct around one value, as a field of it, derives `Embed`"
            ),
        );
    }
    misplaced::all(cx, container, Derived::Read);
    reads_fields_alone(cx, container, "the fields of a result");
    for field in container.fields() {
        field::read_alone(cx, container, field);
    }
    stored_names_differ(cx, container);
}

/// A projection and a row have no other form than their fields.
fn reads_fields_alone(cx: &Ctxt, container: &Container, fields: &str) {
    let serde = &container.serde;
    let wrapped = [
        (serde.transparent, "transparent"),
        (serde.tag.is_some(), "tag"),
        (serde.untagged, "untagged"),
    ];
    for (_, attribute) in wrapped.iter().filter(|(is_there, _)| *is_there) {
        cx.error(
            container.ident,
            format!(
                "`{attribute}` would have `{}` read from something else than {fields}. Leave it out",
                container.ident
            ),
        );
    }
}

/// The same of the names in JSON, of the fields that are there.
fn json_names_differ(cx: &Ctxt, container: &Container, fields: &[&Field]) {
    let is_private = |field: &Field| {
        let access = field.field.access.as_ref();
        access.is_some_and(|access| access.value == Access::Private)
    };
    let shown: Vec<&Field> = fields
        .iter()
        .copied()
        .filter(|field| !is_private(field))
        .collect();
    let name = |field: &Field| field.json.clone().unwrap_or_else(|| field.name.clone());
    for (i, field) in shown.iter().enumerate() {
        let is_twin = |other: &&&Field| name(other) == name(field) && other.name != field.name;
        if let Some(twin) = shown[..i].iter().find(is_twin) {
            cx.error(
                field.ident(),
                format!(
                    "`{}` and `{}` have the same name in JSON, `{}`. Give one of them another name: `#[serde(rename = \"…\")]`",
                    label(container, twin),
                    label(container, field),
                    name(field)
                ),
            );
        }
    }
}

/// The names of the fields in which an enum stores the name of its variant, and what the variant carries.
fn tags_are_names(cx: &Ctxt, container: &Container) {
    let (tag, content) = (&container.serde.tag, &container.serde.content);
    for (option, name) in [("tag", tag), ("content", content)] {
        let Some(name) = name else { continue };
        if let Some(wrong) = field::wrong_in_name(&name.value()) {
            cx.error(
                name,
                format!(
                    "`{option}` is the name of a field, and `{}` {wrong}. Write another one",
                    name.value()
                ),
            );
        }
    }
    if let (Some(tag), Some(content)) = (tag, content)
        && tag.value() == content.value()
    {
        cx.error(
            content,
            format!(
                "`tag` and `content` are both `{}`, so one would replace the other. Give one of them another name",
                tag.value()
            ),
        );
    }
}

/// A stored type has no lifetime: it outlives the answer of the server that it was read from.
fn owns_its_values(cx: &Ctxt, container: &Container) {
    for lifetime in container.generics.lifetimes() {
        cx.error(
            lifetime,
            format!(
                "`{}` has the lifetime `{}`, and a stored type owns its values, since it outlives the answer of the server. \
                 Write `String` instead of `&str`, and `Vec<T>` instead of `&[T]`",
                container.ident, lifetime.lifetime
            ),
        );
    }
}

/// Two fields of one struct can't have one stored name: `#[serde(rename = "a")]` twice.
fn stored_names_differ(cx: &Ctxt, container: &Container) {
    let structs: Vec<Vec<&Field>> = match &container.data {
        Data::Struct(Style::Named, fields) => vec![fields.iter().collect()],
        Data::Enum(variants) => variants
            .iter()
            .filter(|variant| variant.style == Style::Named)
            .map(|variant| variant.fields.iter().collect())
            .collect(),
        _ => Vec::new(),
    };
    for fields in structs {
        let stored: Vec<_> = fields
            .into_iter()
            .filter(|field| !field.skipped() && field.serde.flatten.is_none())
            .collect();
        json_names_differ(cx, container, &stored);
        for (i, field) in stored.iter().enumerate() {
            let twin = stored[..i].iter().find(|other| {
                other.name == field.name
                    || other.serde.aliases.contains(&field.name)
                    || field.serde.aliases.contains(&other.name)
            });
            let shared = field.serde.aliases.iter().find_map(|alias| {
                let twin = stored[..i]
                    .iter()
                    .find(|other| other.serde.aliases.contains(alias));
                twin.map(|twin| (alias, twin))
            });
            if let Some((alias, twin)) = shared {
                cx.error(
                    field.ident(),
                    format!(
                        "`{}` and `{}` have the same alias `{alias}`, so a stored field of this name would be read as both. Leave out \
                         one of them",
                        label(container, twin),
                        label(container, field),
                    ),
                );
            }
            if let Some(twin) = twin {
                cx.error(
                    field.ident(),
                    format!(
                        "`{}` and `{}` have the same stored name `{}`, so one would replace the other. Give one of them \
                         another name: `#[field(name = \"…\")]`",
                        label(container, twin),
                        label(container, field),
                        field.name
                    ),
                );
            }
        }
    }
    if let Data::Enum(variants) = &container.data {
        for (i, variant) in variants.iter().enumerate() {
            let same = |other: &crate::ast::Variant| other.name == variant.name && !other.serde.skip;
            if !container.serde.untagged && !variant.serde.skip && variants[..i].iter().any(same) {
                cx.error(
                    variant.ident,
                    format!(
                        "Two variants of `{}` are stored as `{}`, so one would be read as the other. Give one of them another \
                         name: `#[embed(name = \"…\")]`",
                        container.ident, variant.name
                    ),
                );
            }
            let same_path = |other: &crate::ast::Variant| other.path() == variant.path() && !other.serde.skip;
            if !variant.serde.skip && variants[..i].iter().any(same_path) {
                cx.error(
                    variant.ident,
                    format!(
                        "Two variants of `{}` have the path `{1}` and the question `is_{1}`. Give one of them another name in Rust; \
                         `#[embed(name = \"…\")]` keeps the stored one",
                        container.ident,
                        variant.path()
                    ),
                );
            }
        }
    }
}

/// A variant without a tag is read as the first one that has its form, so one that is never the first can't be read.
fn variants_have_forms_of_their_own(cx: &Ctxt, container: &Container) {
    let (Data::Enum(variants), true) = (&container.data, container.serde.untagged) else {
        return;
    };
    let read: Vec<&crate::ast::Variant> = variants.iter().filter(|variant| !variant.serde.skip).collect();
    for (i, variant) in read.iter().enumerate() {
        let is_strict = container.serde.deny_unknown_fields;
        let taken = read[..i].iter().find(|before| takes(before, variant, is_strict));
        if let Some(before) = taken {
            let advice = if takes(variant, before, is_strict) {
                "Give the enum a tag: `#[embed(tag = \"type\")]`"
            } else {
                "Put it before that variant, or give the enum a tag: `#[embed(tag = \"type\")]`"
            };
            cx.error(
                variant.ident,
                format!(
                    "`{}` is read as `{}`, which stands before it: nothing in a document tells them apart. {advice}",
                    variant.ident, before.ident,
                ),
            );
        }
    }
}

/// Beside a tag stand the fields of a struct, and `None` has none.
fn variants_beside_a_tag_have_fields(cx: &Ctxt, container: &Container) {
    let serde = &container.serde;
    let (Data::Enum(variants), true, None) = (&container.data, serde.tag.is_some(), &serde.content) else {
        return;
    };
    for variant in variants.iter().filter(|variant| variant.style == Style::Newtype) {
        for field in variant.fields.iter().filter(|field| ty::is_optional(field.ty)) {
            cx.error(
                field.ty,
                format!(
                    "`{}::{}` holds an `Option` beside the tag, where `None` stores no field. Leave out the `Option`, or store the value \
                     in a field of its own: `#[embed(tag = \"{}\", content = \"value\")]`",
                    container.ident,
                    variant.ident,
                    serde.tag.as_ref().map(syn::LitStr::value).unwrap_or_default()
                ),
            );
        }
    }
}

/// Whether each value of the other variant can be read as this one.
fn takes(variant: &crate::ast::Variant, other: &crate::ast::Variant, is_strict: bool) -> bool {
    fn same(one: &Field, other: &Field) -> bool {
        ty::text(one.ty) == ty::text(other.ty) && one.serde.with.is_none() && other.serde.with.is_none()
    }
    let (own, others) = (&variant.fields, &other.fields);
    match (variant.style, other.style) {
        (Style::Unit, Style::Unit) => true,
        (Style::Newtype, Style::Newtype) | (Style::Tuple, Style::Tuple) => {
            own.len() == others.len() && own.iter().zip(others).all(|(one, other)| same(one, other))
        }
        (Style::Named, Style::Named) => {
            let is_there = |field: &Field| {
                let named = others.iter().find(|other| other.name == field.name);
                match named {
                    Some(other) => same(field, other),
                    None => ty::is_option(field.ty) || field.serde.default.is_some(),
                }
            };
            let is_plain = |field: &Field| field.serde.flatten.is_none() && !field.skipped();
            own.iter().chain(others).all(is_plain)
                && own.iter().all(is_there)
                && (!is_strict || own.len() == others.len())
        }
        _ => false,
    }
}

/// `#[serde(tag = "…")]` on a struct stores a field that the struct does not have.
fn no_tag_on_struct(cx: &Ctxt, container: &Container) {
    if let (Data::Struct(..), Some(tag)) = (&container.data, &container.serde.tag) {
        cx.error(
            tag,
            format!(
                "`tag = \"{0}\"` on a struct stores a field `{0}` that `{1}` does not declare, so no path and no \
                 validator would know it. Declare the field in the struct, or leave the attribute out",
                tag.value(),
                container.ident
            ),
        );
    }
}

/// A document is a BSON document, never the value of its only field.
fn not_transparent(cx: &Ctxt, container: &Container) {
    if container.serde.transparent {
        cx.error(
            container.ident,
            format!(
                "`transparent` would store `{}` as its only field, and a collection holds documents. Leave the \
                 attribute out",
                container.ident
            ),
        );
    }
}

/// Whether the library writes it by itself, as the application may do too.
fn is_written(field: &Field) -> bool {
    let both = |reference: &crate::attr::reference::Reference| reference.inverse.is_some();
    field.copy.is_some() || field.reference.as_ref().is_some_and(both)
}

/// The library writes its own fields under one name, and a document with two of them can't be read.
fn written_under_one_name(cx: &Ctxt, container: &Container, field: &Field) {
    if is_written(field) && !field.serde.aliases.is_empty() {
        cx.error(
            field.ty,
            format!(
                "`{}` is written by the library too, under this name: a document that has it under another one could not be read \
                 then. Leave `alias` out, and rename the field in the stored documents",
                label(container, field)
            ),
        );
    }
}

/// A reference is what is stored under its name, by which the server looks for it: not what serde reads in its place.
fn refers_as_stored(cx: &Ctxt, container: &Container, field: &Field) {
    if field.skipped() || field.reference.is_none() && field.entry().is_none() {
        return;
    }
    if !field.serde.aliases.is_empty() && !is_written(field) {
        cx.error(
            field.ty,
            format!(
                "`{}` is a reference, which joins, checks, `on_delete` and `audit` look for under its stored name `{}` alone: they \
                 would pass over a document that has it under another one. Leave `alias` out, and rename the field in the \
                 stored documents first",
                label(container, field),
                field.name
            ),
        );
    }
    if let Some(Default_::Function(function)) = &field.serde.default {
        let (span, made_by) = match &field.field.default {
            Some(default) => (
                default.span(),
                format!("`#[field(default = {})]`", ty::text(default)),
            ),
            None => (
                function.span(),
                format!("`#[serde(default = \"{}\")]`", ty::text(function)),
            ),
        };
        error(
            cx,
            span,
            format!(
                "`{}` is a reference, and one that {made_by} makes is stored nowhere, so joins, checks, \
                 `on_delete` and `audit` would not know it. {}, or store the reference in the documents that lack it first",
                label(container, field),
                if ty::many(field.ty).is_some() || ty::is_option(field.ty) {
                    "Write `#[field(default)]`, which reads none".to_owned()
                } else {
                    format!("Make it an `Option<{}>`", ty::name(field.ty))
                }
            ),
        );
    }
}

/// The version of what is copied stands beside the copies, in a field that the struct does not declare.
fn takes_versions(cx: &Ctxt, container: &Container) {
    let copies = |field: &&&Field| match &container.copies {
        Some(_) => field.reference.is_none(),
        // Those of the documents that a reference names stand in its own value, and what is derived from children has none.
        None => matches!(field.copy, Some(Copy::Field(_))),
    };
    if let (true, Some(field)) = (
        container.serde.deny_unknown_fields,
        container.all_fields().iter().find(copies),
    ) {
        cx.error(
            container.ident,
            format!(
                "`{}` is a copy, or has copies beside it, whose version the library stores in a field `_copied` of the struct, which \
                 `#[serde(deny_unknown_fields)]` on `{}` would refuse to read. Leave the attribute out",
                label(container, field),
                container.ident
            ),
        );
    }
}

/// `#[serde(transparent)]` stores the one field that there is.
fn transparent_has_one_field(cx: &Ctxt, container: &Container) {
    if !container.serde.transparent {
        return;
    }
    let what = match &container.data {
        Data::Struct(_, fields) => match fields.iter().filter(|field| !field.skipped()).count() {
            1 => return,
            stored => format!("stores {stored}"),
        },
        _ => "is an enum".to_owned(),
    };
    cx.error(
        container.ident,
        format!(
            "`transparent` is for a struct with one field, and `{}` {what}. Leave the attribute out",
            container.ident
        ),
    );
}

/// The tag of an enum stands beside the fields of its variants, so none of them may have its name.
fn tags_are_free(cx: &Ctxt, container: &Container) {
    let (Data::Enum(variants), Some(tag), None) =
        (&container.data, &container.serde.tag, &container.serde.content)
    else {
        return;
    };
    let tag = tag.value();
    for variant in variants {
        if variant.style == Style::Tuple && !variant.serde.skip {
            cx.error(
                variant.ident,
                format!(
                    "`{}::{}` carries values without names, beside which the tag `{tag}` can't stand. Give them names, or write \
                     `tag = \"{tag}\", content = \"value\"`",
                    container.ident, variant.ident
                ),
            );
        }
        for field in &variant.fields {
            if variant.style == Style::Named && field.name == tag {
                cx.error(
                    field.ident(),
                    format!(
                        "`{}` is stored under the name `{tag}`, which is the tag of the enum. Rename the field: \
                         `#[field(name = \"…\")]`, or the tag",
                        label(container, field)
                    ),
                );
            }
        }
    }
}

/// A variant has one stored name: a condition, a group and an index know no others.
fn variants_have_one_name(cx: &Ctxt, container: &Container) {
    let Data::Enum(variants) = &container.data else {
        return;
    };
    for variant in variants {
        if let Some(alias) = variant.serde.aliases.first() {
            cx.error(
                variant.ident,
                format!(
                    "`{}::{1}` is also read from `{alias}`, under which no condition, group or index would find it. Leave \
                     `alias` out. Keep the stored name: `#[embed(name = \"{alias}\")] {1}`; or rename the variant in \
                     the stored documents",
                    container.ident, variant.ident
                ),
            );
        }
    }
}

/// Without a tag, no name of a variant is stored.
fn names_of_variants_are_stored(cx: &Ctxt, container: &Container) {
    let (Data::Enum(variants), true) = (&container.data, container.serde.untagged) else {
        return;
    };
    for variant in variants.iter().filter(|variant| variant.serde.rename.is_some()) {
        cx.error(
            variant.ident,
            format!(
                "`{}::{}` has a name for storage, and `untagged` stores none. Leave out one of them",
                container.ident, variant.ident
            ),
        );
    }
}

/// `#[embed(derive(…))]` is for the structs that are made: those of copies, and a patch.
fn derives_have_a_struct(cx: &Ctxt, container: &Container, embed: &Embed) {
    let makes = |field: &&Field| match &field.copy {
        Some(Copy::Entry(entry)) => entry.fields.is_some(),
        Some(Copy::Subset(subset)) => subset.fields.is_some(),
        _ => false,
    };
    if let (Some(derive), None, false) = (
        embed.derives.first(),
        embed.patch,
        container.all_fields().iter().any(makes),
    ) {
        cx.error(
            derive,
            format!(
                "`derive` is for the structs that are made for a type, and none is made for `{0}`. Write it above the type: \
                 `#[derive({1})]`",
                container.ident,
                ty::text(derive)
            ),
        );
    }
}

/// An enum that is stored has a variant that can be.
fn has_variants(cx: &Ctxt, container: &Container) {
    if let Data::Enum(variants) = &container.data
        && variants.iter().all(|variant| variant.serde.skip)
    {
        cx.error(
            container.ident,
            format!(
                "`{}` has no variant that can be stored, so a field of it could never be written. Add a variant",
                container.ident
            ),
        );
    }
}

/// `#[embed(repr = i32)]` is for an enum whose variants carry nothing.
fn numbers_are_of_plain_variants(cx: &Ctxt, container: &Container, embed: &Embed) {
    let Some(repr) = &embed.repr else { return };
    let problem = if repr != "i32" && repr != "i64" {
        "stores integers of 32 or of 64 bits: write `repr = i32` or `repr = i64`"
    } else if !container.generics.params.is_empty() {
        "is for an enum without parameters. Leave it out, and the variants are stored by their names"
    } else if container.serde.tag.is_some() || container.serde.untagged {
        "stores numbers, beside which no tag stands. Leave out `tag` and `untagged`"
    } else {
        match &container.data {
            Data::Enum(variants) if variants.iter().any(|variant| variant.serde.rename.is_some()) => {
                "stores numbers, and here a variant has a name for storage. Leave out one of them"
            }
            Data::Enum(variants) if variants.iter().all(|variant| variant.style == Style::Unit) => return,
            Data::Enum(_) => {
                "is for an enum whose variants carry nothing, and here one carries a value. Leave it out, and the variants are \
                 stored by their names"
            }
            _ => "is for an enum. A struct around an integer is stored as that integer without it",
        }
    };
    cx.error(repr, format!("`repr` of `{}` {problem}", container.name()));
}

/// `#[embed(id)]` is for a type that is not stored as an array, which MongoDB refuses in `_id`: `struct Isbn(String)`, a
/// struct with named fields, an enum. Not `struct Pair(i32, i32)`.
fn id_is_no_array(cx: &Ctxt, container: &Container, embed: &Embed) {
    if !embed.id {
        return;
    }
    let array = match &container.data {
        Data::Struct(style, _) => matches!(style, Style::Tuple | Style::Unit),
        Data::Enum(variants) => {
            container.serde.untagged
                && variants
                    .iter()
                    .any(|variant| matches!(variant.style, Style::Tuple | Style::Unit))
        }
        Data::Union => false,
    };
    if array || !container.generics.params.is_empty() {
        cx.error(
            container.ident,
            format!(
                "`#[embed(id)]` is for a type without parameters that is not stored as an array or as `null`, which `_id` can't \
                 hold: a struct around one value, such as `#[embed(id)] struct {}(String);`, a struct with named fields, or an \
                 enum",
                container.ident
            ),
        );
    }
}

/// `#[serde(skip)]` in a tuple moves what stands behind it.
fn positions_stay(cx: &Ctxt, container: &Container, field: &Field) {
    if let (None, Some(span)) = (field.ident(), field.serde.skip) {
        error(
            cx,
            span,
            format!(
                "`{}` has a position instead of a name, and leaving it out would move the values behind it. Give the fields \
                 names, or store it",
                label(container, field)
            ),
        );
    }
}
