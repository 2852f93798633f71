//! The rules of documents of several types in one collection: an enum, and the structs that are its variants.

use super::message::{error, label};
use crate::ast::{Container, Data, Field, Style};
use crate::attr::document::Document;
use crate::ctxt::Ctxt;
use crate::ty;
use syn::spanned::Spanned;

/// The way out of what an enum of documents and its variants can't have yet.
const OWN_COLLECTION: &str = "give these documents a collection of their own";

/// `#[document(…)]` of a struct that has its collection for itself.
pub fn of_struct(cx: &Ctxt, container: &Container, document: &Document) {
    let tag = document.tag.as_ref().map(Spanned::span);
    let common = document.common.as_ref().map(|common| common.span);
    for (span, word) in [(tag, "tag"), (common, "common")] {
        if let Some(span) = span {
            error(
                cx,
                span,
                format!(
                    "`{}` is a struct, and `{word}` is for an enum that lists the types of documents in a collection. Write it there, \
                     and `#[document(variant_of = …)]` on the struct",
                    container.ident
                ),
            );
        }
    }
}

/// An enum is marked by a field of its documents, and each variant is a struct of its own.
pub fn of_enum(cx: &Ctxt, container: &Container, common: &Container, document: &Document) {
    if !container.generics.params.is_empty() {
        cx.error(
            container.generics,
            format!(
                "`{}` has parameters, and an enum of documents has none. Write it for one type",
                container.ident
            ),
        );
    }
    is_tagged(cx, container);
    not_yet(
        cx,
        container,
        document,
        "an enum of documents",
        Some(document.variant_of.as_ref()),
    );
    let Data::Enum(variants) = &container.data else {
        return;
    };
    if variants.is_empty() {
        cx.error(
            container.ident,
            format!(
                "`{0}` has no variant, so no document could be stored. List the types: `enum {0} {{ Login(Login), … }}`",
                container.ident
            ),
        );
    }
    let mut types: Vec<String> = Vec::new();
    for variant in variants {
        let ident = variant.ident;
        let field = match (variant.style, variant.fields.as_slice()) {
            (Style::Newtype, [field]) if !variant.serde.skip && !field.skipped() => field,
            _ => {
                cx.error(
                    ident,
                    format!(
                        "`{0}::{ident}` is no document of its own. Write its fields in a struct, `#[derive(Document, …)] \
                         #[document(variant_of = {0})] struct {ident} {{ … }}`, and here `{ident}({ident})`",
                        container.ident
                    ),
                );
                continue;
            }
        };
        if ty::is_known(field.ty) {
            cx.error(
                field.ty,
                format!(
                    "`{0}::{ident}` holds a `{1}`, and each variant of an enum of documents holds a document. Write a struct: \
                     `#[derive(Document, …)] #[document(variant_of = {0})] struct {ident} {{ … }}`, and here `{ident}({ident})`",
                    container.ident,
                    ty::name(field.ty)
                ),
            );
            continue;
        }
        if !variant.serde.aliases.is_empty() {
            cx.error(
                ident,
                format!(
                    "`{0}::{ident}` is also read from other names, under which no query of a `{1}` would find it. Leave \
                     `#[serde(alias)]` out, and rename the variant in the stored documents",
                    container.ident,
                    ty::name(field.ty)
                ),
            );
        }
        if is_declared(field) {
            cx.error(
                field.ty,
                format!(
                    "`{}::{ident}` is a document, and what is declared about its fields stands in `{}`. Leave the attribute out",
                    container.ident,
                    ty::name(field.ty)
                ),
            );
        }
        let path = variant.path();
        if let Some(field) = common.fields().iter().find(|field| field.rust == path) {
            cx.error(
                ident,
                format!(
                    "The paths of `{0}::{ident}` are called `{path}`, and so is the field of all variants `{1}`. Give one of them another \
                     name; `#[document(name = \"…\")]` on the variant keeps that in the database",
                    container.ident,
                    label(common, field)
                ),
            );
        }
        let text = ty::name(field.ty);
        if types.contains(&text) {
            cx.error(
                field.ty,
                format!(
                    "Two variants of `{0}` are a `{text}`, so a `{text}` would not tell which one it is. Write a struct for each",
                    container.ident
                ),
            );
        }
        types.push(text);
    }
    for field in common.fields() {
        common_is_plain(cx, common, field);
    }
}

/// Whether a field has an attribute of this library.
fn is_declared(field: &Field) -> bool {
    field.embed.present.is_some()
        || field.reference.is_some()
        || field.copy.is_some()
        || !field.indexes.is_empty()
        || field.field.opaque
}

/// The name of the variant stands in a field beside those of the document.
fn is_tagged(cx: &Ctxt, container: &Container) {
    let serde = &container.serde;
    match &serde.tag {
        _ if serde.untagged || serde.content.is_some() => cx.error(
            container.ident,
            format!(
                "The documents of `{}` would be stored without a field that names the variant beside their own fields. Leave out \
                 `content` and `untagged`; the field is `type`, or what `#[document(tag = \"…\")]` says",
                container.ident
            ),
        ),
        None => {}
        Some(tag) => {
            let name = tag.value();
            if name == "_id" || name.is_empty() || name.starts_with("_odm") || name.contains(['.', '$', '\0']) {
                cx.error(
                    tag,
                    format!("The name of the variant can't be stored in `{name}`. Write a name such as `type` or `kind`"),
                );
            }
        }
    }
}

/// A field of all variants is one that the application writes, or the id, a time or the version.
fn common_is_plain(cx: &Ctxt, common: &Container, field: &Field) {
    let what = if field.serde.flatten.is_some() || field.skipped() || field.field.extra {
        "is no field of its own in the database"
    } else if field.copy.is_some() {
        "is derived from other documents, which no field of all variants can be yet"
    } else if field
        .reference
        .as_ref()
        .is_some_and(|one| one.parent || one.inverse.is_some() || one.any.is_some())
    {
        "is more than a reference to one type of document, which no field of all variants can be yet"
    } else if field.field.scope || field.field.default.is_some() || field.serde.default.is_some() {
        "has a default or the value of a scope, which no field of all variants can have yet"
    } else {
        return;
    };
    cx.error(
        field.ty,
        format!(
            "`{}` {what}. Leave it out of `common(…)`: the variants may have it",
            label(common, field)
        ),
    );
}

/// A struct in the collection of its enum.
pub fn of_variant(cx: &Ctxt, container: &Container, document: &Document) {
    let of = document.variant_of.as_ref().map(ty::text).unwrap_or_default();
    let of_enum = [
        (document.collection.as_ref().map(Spanned::span), "collection"),
        (
            document.validation.as_ref().map(|_| container.ident.span()),
            "validation",
        ),
        (
            document.collation.as_ref().map(|_| container.ident.span()),
            "collation",
        ),
        (document.shared.first().map(syn::LitStr::span), "shared"),
        (super::shard_key::span(document), "shard_key"),
        (document.pre_and_post_images, "pre_and_post_images"),
        (document.sole_writer, "sole_writer"),
    ];
    for (span, word) in of_enum {
        if let Some(span) = span {
            error(
                cx,
                span,
                format!(
                    "`{}` stands in the collection of `{of}`, which declares `{word}` for all of them. Move it there",
                    container.ident
                ),
            );
        }
    }
    of_struct(cx, container, document);
    not_yet(cx, container, document, "a variant of an enum of documents", None);
    if !container.generics.params.is_empty() {
        cx.error(
            container.generics,
            format!(
                "`{}` has parameters, and a variant of an enum of documents has none. Write it for one type",
                container.ident
            ),
        );
    }
    if container.serde.deny_unknown_fields {
        cx.error(
            container.ident,
            format!(
                "`#[serde(deny_unknown_fields)]` would refuse to read a `{}`, in which the name of the variant stands too. Leave it out",
                container.ident
            ),
        );
    }
    for field in container.fields() {
        holds_nothing_of_others(cx, container, field);
    }
}

/// A variant has references, and nothing that is written for them elsewhere.
fn holds_nothing_of_others(cx: &Ctxt, container: &Container, field: &Field) {
    let reference = field.reference.as_ref();
    let entry = field.entry().map(|entry| &entry.reference);
    let is_parent = reference.or(entry).is_some_and(|reference| reference.parent);
    let (what, advice) = if is_parent {
        (
            "names a parent, which derives nothing from the variants of an enum yet",
            "Write `#[reference]`, and find the documents by `.find(|x| x.field.eq(id))`",
        )
    } else if field.copy.is_some() {
        (
            "is derived from other documents, which the variants of an enum hold nothing of yet",
            "Store the reference alone, and read the document by a join: `.include(|x| x.reference)`",
        )
    } else if reference.is_some_and(|reference| reference.inverse.is_some()) {
        (
            "is one side of a two-way reference, which the variants of an enum have none of yet",
            "Leave `inverse` out, and find the documents by the index of the reference",
        )
    } else if field.field.scope {
        (
            "has the value of a scope, which the variants of an enum have none of yet",
            "Write a field of the application's own",
        )
    } else if field.field.extra {
        (
            "shows the fields that the struct does not declare, and the name of the variant would be one of them",
            "Declare the fields",
        )
    } else {
        return;
    };
    cx.error(
        field.ty,
        format!(
            "`{}` {what}. {advice}; or {OWN_COLLECTION}",
            label(container, field)
        ),
    );
}

/// What documents of several types in one collection can't have yet.
fn not_yet(
    cx: &Ctxt,
    container: &Container,
    document: &Document,
    what: &str,
    variant_of: Option<Option<&syn::Path>>,
) {
    let hook = [
        &document.hooks.before_write,
        &document.hooks.in_transaction,
        &document.hooks.after_commit,
    ];
    let hook = hook.into_iter().flatten().next().map(Spanned::span);
    let here = |is_there: bool| is_there.then(|| container.ident.span());
    let is_enum = variant_of.is_some();
    let checks = document.checks.first().map(Spanned::span);
    let function = document.check_with.as_ref().map(Spanned::span);
    let refused = [
        (document.capped.as_ref().map(|at| at.span), "`capped`"),
        (document.time_series.as_ref().map(|at| at.span), "`time_series`"),
        (document.view.as_ref().map(|at| at.span), "`view`"),
        (document.patch.filter(|_| is_enum), "`patch`"),
        (checks.filter(|_| !is_enum), "`check`"),
        (function.filter(|_| !is_enum), "`check_with`"),
        (document.soft_delete.as_ref().map(|at| at.span), "`soft_delete`"),
        (
            document.expire.as_ref().map(|expire| expire.field.span()),
            "`expire`",
        ),
        (hook, "functions that its writes call"),
        (here(is_enum && document.builder.is_some()), "`builder`"),
    ];
    for (span, word) in refused {
        if let Some(span) = span {
            error(
                cx,
                span,
                format!(
                    "`{}` is {what}, which has no {word} yet. Leave it out, or {OWN_COLLECTION}",
                    container.ident
                ),
            );
        }
    }
    if let Some(Some(of)) = variant_of {
        cx.error(
            of,
            format!(
                "`{}` is an enum, and `variant_of` is for a struct that it lists. Leave it out",
                container.ident
            ),
        );
    }
}
