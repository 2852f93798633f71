//! The rules of patches: `#[document(patch)]`, and `#[embed(patch)]` on a type and on a field.

use super::message::{error, label};
use crate::ast::{Container, Data, Style};
use crate::attr::document::Document;
use crate::attr::embed::Container as Embed;
use crate::ctxt::Ctxt;
use crate::ty;
use proc_macro2::Span;

/// The patch of a document, which is a struct with named fields.
pub fn of_document(cx: &Ctxt, container: &Container, document: &Document) {
    let Some(span) = document.patch else {
        return has_no_use(cx, container, "#[document(…)]");
    };
    if document.append_only.is_some() {
        error(
            cx,
            span,
            format!(
                "`{}` is `append_only`: it never changes, so a patch of it has no use. Leave out `patch`, or `append_only`",
                container.ident
            ),
        );
    }
    of_struct(cx, container, span);
}

/// The patch of an embedded struct.
pub fn of_embedded(cx: &Ctxt, container: &Container, embed: &Embed) {
    let Some(span) = embed.patch else {
        return has_no_use(cx, container, "#[embed(…)]");
    };
    if !matches!(container.data, Data::Struct(Style::Named, _)) || container.serde.transparent {
        error(
            cx,
            span,
            format!(
                "`{}` is no struct with named fields, so there is nothing in it that a patch could name. Leave out `patch`: a patch \
                 of the document sets the whole value",
                container.ident
            ),
        );
        return;
    }
    of_struct(cx, container, span);
}

/// `#[embed(patch)]` on a field, where nothing has a patch.
fn has_no_use(cx: &Ctxt, container: &Container, attribute: &str) {
    for field in container.all_fields() {
        if let Some(span) = field.embed.patch {
            error(
                cx,
                span,
                format!(
                    "`{}`: `{}` has no patch that could set the fields of the value one by one. Write `patch` in the `{attribute}` of \
                     `{}`, or leave it out here",
                    label(container, field),
                    container.ident,
                    container.ident
                ),
            );
        }
    }
}

fn of_struct(cx: &Ctxt, container: &Container, span: Span) {
    if !container.generics.params.is_empty() {
        error(
            cx,
            span,
            format!(
                "`{}` has parameters, and a patch is made for a struct without any. Leave out `patch`, and name the fields in the \
                 update: `.set(|p| p.name, name)`",
                container.ident
            ),
        );
    }
    for field in container.fields() {
        if !field.in_patch(&container.roles) {
            if let Some(span) = field.embed.patch {
                error(
                    cx,
                    span,
                    format!(
                        "`{}` is in no patch: the library writes it, or `private` or `read_only` leaves it out. Leave out `patch`",
                        label(container, field)
                    ),
                );
            }
            continue;
        }
        let inner = ty::option(field.ty).unwrap_or(field.ty);
        match field.embed.patch {
            None if field.serde.flatten.is_some() => cx.error(
                field.ty,
                format!(
                    "`{}` is flattened, so a patch sets its fields one by one. Write `#[embed(patch)]` above this field and above \
                     `struct {}`, or leave `patch` out of the `{}` of `{}`",
                    label(container, field),
                    ty::text(inner),
                    if container.roles.id.is_some() { "#[document(…)]" } else { "#[embed(…)]" },
                    container.ident
                ),
            ),
            Some(span) if ty::many(inner).is_some() || field.converted().is_some() || field.field.opaque => error(
                cx,
                span,
                format!(
                    "`{}`: a patch sets the fields of an embedded struct one by one, and replaces an array, a map, an opaque value and one \
                     in another form as a whole. Leave out `patch` here",
                    label(container, field)
                ),
            ),
            _ => {}
        }
    }
}
