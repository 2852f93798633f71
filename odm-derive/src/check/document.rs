//! The rules of a whole document: its collection, its id and the fields that the library writes.

use super::message::{error, label, type_span};
use crate::ast::{Container, Data, Field, Style};
use crate::attr::document::Document;
use crate::ctxt::Ctxt;
use crate::ty;
use proc_macro2::Span;
use syn::Ident;

/// The greatest length of a collection's name in bytes: MongoDB allows 255 together with the database's name.
const LONGEST_NAME: usize = 200;

/// A document is a struct with named fields.
pub fn is_struct_with_names(cx: &Ctxt, container: &Container) -> bool {
    let (what, advice) = match &container.data {
        Data::Struct(Style::Named, _) => return true,
        Data::Struct(_, _) => (
            "a struct without names of fields",
            format!("Name them: `struct {} {{ id: ObjectId, … }}`", container.ident),
        ),
        Data::Enum(_) => (
            "an enum",
            format!(
                "Put it into a struct: derive `Embed` for `{0}`, and write `struct {0}Document {{ id: \
                 ObjectId, value: {0} }}`",
                container.ident
            ),
        ),
        Data::Union => ("a union", "Write a struct with named fields".into()),
    };
    cx.error(
        container.ident,
        format!(
            "`{}` is {what}, and a document of a collection is a struct with named fields. {advice}",
            container.ident
        ),
    );
    false
}

/// `#[document(collection = "people")]`, with a name that MongoDB takes.
pub fn collection_is_named(cx: &Ctxt, container: &Container, document: &Document) {
    let Some(literal) = &document.collection else {
        if !cx.is_read("document") {
            return;
        }
        let example = format!("{}s", container.name().to_lowercase());
        cx.error(
            container.ident,
            format!(
                "The document `{}` does not name its collection. Write `#[document(collection = \"{example}\")]` above the struct",
                container.ident
            ),
        );
        return;
    };
    let name = literal.value();
    let wrong = if name.is_empty() {
        "is empty"
    } else if name.contains('$') {
        "contains a `$`"
    } else if name.contains('\0') {
        "contains a NUL"
    } else if name.starts_with("system.") {
        "starts with `system.`, which MongoDB keeps for itself"
    } else if name.starts_with('.') || name.ends_with('.') || name.contains("..") {
        "has an empty part before, between or behind dots"
    } else if name.len() > LONGEST_NAME {
        "is longer than 200 bytes, and MongoDB allows 255 together with the database's name"
    } else {
        return;
    };
    cx.error(
        literal,
        format!("The collection's name `{name}` {wrong}. Write a name such as `people` or `sensor_readings`"),
    );
}

/// `#[document(builder)]`: of a struct without parameters, and without a field that is called like a method of the builder.
pub fn builder_is_possible(cx: &Ctxt, container: &Container, document: &Document) {
    let Some(span) = document.builder else { return };
    if !container.generics.params.is_empty() {
        error(
            cx,
            span,
            format!(
                "`{}` has parameters, and a builder is made for a struct without any. Leave out `builder`, and write `New{0} {{ … }}`",
                container.ident
            ),
        );
    }
    if let Some(field) = container.fields().iter().find(|field| field.rust == "build") {
        error(
            cx,
            type_span(field),
            format!(
                "`{}` is called like the method that ends the builder. Leave out `builder`, or rename the field: `#[field(name = \
                 \"build\")]` keeps its name in the database",
                label(container, field)
            ),
        );
    }
}

/// Every document has one field that is stored as `_id`, and that is always there.
pub fn id_is_there(cx: &Ctxt, container: &Container) {
    let Some(field) = container
        .fields()
        .iter()
        .find(|field| container.roles.is_id(field))
    else {
        // One of them may be declared as the id.
        if !container.fields().iter().all(|field| field.is_read) {
            return;
        }
        let like = container
            .fields()
            .iter()
            .find(|field| field.rust == "id" || field.rust == "_id");
        match like {
            Some(field) => cx.error(
                field.ident(),
                format!(
                    "`{}` is stored as `{}`, and no field of the document `{}` is stored as `_id`. Write \
                     `#[field(name = \"_id\")]` above this one, without `skip`",
                    label(container, field),
                    field.name,
                    container.ident
                ),
            ),
            None => cx.error(
                container.ident,
                format!(
                    "No field of the document `{}` is stored as `_id`. Add `pub id: ObjectId`, whose \
                     value is made at the insert, or a field of another type with that name, whose value you supply",
                    container.ident
                ),
            ),
        }
        return;
    };
    let what = if ty::is_option(field.ty) {
        Some((
            "is an `Option`, and two documents without an id would be the same one",
            "the type inside the `Option`",
        ))
    } else if ty::many(field.ty).is_some() {
        Some((
            "is an array or a map, which MongoDB does not take as `_id`",
            "one of its values, or a struct with `#[derive(Embed)]` and `#[embed(id)]`",
        ))
    } else {
        None
    };
    if let Some((what, instead)) = what {
        cx.error(field.ty,
            format!(
                "`{}` {what}. Write {instead}; an `ObjectId` needs no value in advance, since it is made at the insert",
                label(container, field)
            ),
        );
    }
    let unusual = [
        (field.serde.flatten, "flatten"),
        (field.converted(), "with"),
        (
            field.serde.skip_serializing_if,
            "skip_none` or `skip_serializing_if",
        ),
        (field.serde.skip_serializing, "skip_serializing"),
        (field.serde.skip_deserializing, "skip_deserializing"),
        (field.field.opaque.then(|| type_span(field)), "#[field(opaque)]"),
        (field.embed.present, "#[embed]"),
    ];
    for (span, attribute) in unusual {
        if let Some(span) = span {
            error(
                cx,
                span,
                format!(
                    "`{}` is the id, which is always stored as its type says. Leave out `{attribute}`",
                    label(container, field)
                ),
            );
        }
    }
}

/// The field that a role names.
fn find<'a>(container: &'a Container<'a>, name: Option<&String>) -> Option<&'a Field<'a>> {
    container.fields().iter().find(|field| Some(&field.rust) == name)
}

/// A name in an attribute is that of a field.
pub(super) fn field_exists(cx: &Ctxt, container: &Container, given: &Ident, role: &str, ty: &str) {
    let exists = container
        .fields()
        .iter()
        .any(|field| field.ident() == Some(given));
    if !exists {
        cx.error(
            given,
            format!(
                "`{}` has no field `{given}` for {role}. Add it: `pub {given}: {ty}`",
                container.ident
            ),
        );
    }
}

/// A field that the library writes has one type, and no other use.
fn is_managed_field(cx: &Ctxt, container: &Container, field: &Field, role: &str, wanted: &str) {
    // Of a type of another crate, the compiler says whether it is a date.
    let is_wanted = match wanted {
        // Of an alias too.
        "Option<DateTime>" => match ty::option(field.ty) {
            Some(inner) => ty::exactly(inner, "DateTime") || ty::may_be_alias(inner),
            None => ty::may_be_alias(field.ty),
        },
        "DateTime" => {
            ty::exactly(field.ty, wanted) || !ty::is_scalar(field.ty) && ty::option(field.ty).is_none()
        }
        _ => ty::exactly(field.ty, wanted),
    };
    if !is_wanted {
        let full = match wanted {
            "DateTime" => "bson::DateTime",
            "Option<DateTime>" => "Option<bson::DateTime>",
            _ => wanted,
        };
        let or = match wanted {
            "DateTime" => ", or a date of `chrono`, `jiff` or `time` with the feature of that name",
            _ => "",
        };
        cx.error(
            field.ty,
            format!(
                "`{}` is the field of {role}, which the library writes as `{full}`. Write `{}: {wanted}`{or}",
                label(container, field),
                field.rust
            ),
        );
    }
    if !field.serde.aliases.is_empty() {
        cx.error(
            field.ty,
            format!(
                "`{}` is the field of {role}, which every update writes under this name: a document that has it under another one \
                 could not be read then. Leave `alias` out, and rename the field in the stored documents",
                label(container, field)
            ),
        );
    }
    let used = field.serde.skip.or(field.serde.flatten).or(field.converted());
    if let Some(span) = used {
        let or = match (wanted, field.converted()) {
            ("DateTime", Some(_)) => {
                ": dates of `chrono`, `jiff` and `time` are stored without it, or by `odm::native`"
            }
            _ => "",
        };
        error(
            cx,
            span,
            format!(
                "`{}` is the field of {role}, which the library stores as `{wanted}`. Leave this attribute out{or}",
                label(container, field)
            ),
        );
    }
}

/// `timestamps` needs the fields that it writes.
pub fn timestamps_are_there(cx: &Ctxt, container: &Container, document: &Document) {
    let Some(timestamps) = &document.timestamps else {
        return;
    };
    for (given, role) in [
        (&timestamps.created, "the time of the insert"),
        (&timestamps.updated, "the time of the last write"),
    ] {
        if let Some(given) = given {
            field_exists(cx, container, given, role, "DateTime");
        }
    }
    let (created, updated) = (
        find(container, container.roles.created.as_ref()),
        find(container, container.roles.updated.as_ref()),
    );
    if created.is_none() && updated.is_none() && timestamps.created.is_none() && timestamps.updated.is_none()
    {
        missing(
            cx,
            timestamps.span,
            format!(
                "`timestamps` writes the fields `created_at` and `updated_at`, and `{}` has neither. Add `pub created_at: DateTime, \
                 pub updated_at: DateTime`, or name yours: `timestamps(created = since, updated = changed)`",
                container.ident
            ),
        );
    }
    if let (Some(created), Some(updated)) = (created, updated)
        && created.rust == updated.rust
    {
        missing(
            cx,
            timestamps.span,
            format!(
                "`{}` can't be both the time of the insert and that of the last write. Name two fields: \
                 `timestamps(created = created_at, updated = updated_at)`",
                label(container, created)
            ),
        );
    }
    if let Some(field) = created {
        is_managed_field(cx, container, field, "the time of the insert", "DateTime");
    }
    if let Some(field) = updated {
        is_managed_field(cx, container, field, "the time of the last write", "DateTime");
    }
}

/// `expire` needs the field that it goes by.
pub fn expires_by_a_field(cx: &Ctxt, container: &Container, document: &Document) {
    if let Some(expire) = &document.expire {
        field_exists(
            cx,
            container,
            &expire.field,
            "the time at which a document expires",
            "DateTime",
        );
    }
}

/// `version` needs the field that it counts in.
pub fn version_is_there(cx: &Ctxt, container: &Container, document: &Document) {
    let Some(version) = &document.version else { return };
    if let Some(given) = &version.value {
        field_exists(cx, container, given, "the version", "i64");
    }
    match find(container, container.roles.version.as_ref()) {
        Some(field) => is_managed_field(cx, container, field, "the version", "i64"),
        None if version.value.is_none() => missing(
            cx,
            version.span,
            format!(
                "`version` counts the writes in the field `version`, and `{}` has none. Add `pub version: i64`, or name yours: \
                 `version(revision)`",
                container.ident
            ),
        ),
        None => {}
    }
}

/// `soft_delete` needs the field with the time, and a document that changes.
pub fn deletion_is_there(cx: &Ctxt, container: &Container, document: &Document) {
    let Some(declared) = &document.soft_delete else {
        return;
    };
    let (role, wanted) = ("the time of the deletion", "Option<DateTime>");
    if let Some(given) = &declared.value {
        field_exists(cx, container, given, role, wanted);
    }
    match find(container, container.roles.deleted.as_ref()) {
        Some(field) => is_managed_field(cx, container, field, role, wanted),
        None if declared.value.is_none() => missing(
            cx,
            declared.span,
            format!(
                "`soft_delete` stores the time of a deletion in the field `deleted_at`, and `{}` has none. Add `pub deleted_at: \
                 Option<DateTime>`, or name yours: `soft_delete(removed_at)`",
                container.ident
            ),
        ),
        None => {}
    }
    let instead = if document.append_only.is_some() {
        "is `append_only`, and its deletion would change it: leave out `append_only`, or `soft_delete`"
    } else if document.items.is_some() {
        "holds the items of a bucket, which are deleted by themselves: leave out `soft_delete`"
    } else {
        return;
    };
    missing(cx, declared.span, format!("`{}` {instead}", container.ident));
}

/// Embedded values belong to the scope of their document.
pub fn no_scope_in_embedded(cx: &Ctxt, container: &Container, field: &Field) {
    if field.field.scope {
        error(
            cx,
            type_span(field),
            format!(
                "`{}` is embedded in documents, and `#[field(scope)]` is for a field of the document itself. Move the field there",
                label(container, field)
            ),
        );
    }
}

/// `#[field(scope)]` is for a field that every document has, and that the application does not supply in another way.
pub fn scope_is_plain(cx: &Ctxt, container: &Container, field: &Field) {
    if !field.field.scope {
        return;
    }
    let roles = &container.roles;
    let instead = if roles.is_id(field) || roles.made(field) {
        "is written by the library"
    } else if field.is_derived() || field.entry().is_some() {
        "is filled in from other documents"
    } else if field.serde.flatten.is_some() || field.skipped() {
        "is no field of its own in the database"
    } else if ty::is_option(field.ty) {
        "is an `Option`, and every document belongs to a scope: write the type inside"
    } else if field.field.default.is_some() {
        "has a default, and its value is that of the scope: leave out `default`"
    } else {
        return;
    };
    error(
        cx,
        type_span(field),
        format!(
            "`{}` {instead}. `#[field(scope)]` is for a field such as `tenant: Ref<Tenant>`",
            label(container, field)
        ),
    );
}

/// A document that has the field of a scope belongs to one scope.
pub fn shared_is_missing(cx: &Ctxt, container: &Container, document: &Document) {
    for name in &document.shared {
        let stored = name.value();
        if container
            .fields()
            .iter()
            .any(|field| !field.skipped() && field.name == stored)
        {
            error(
                cx,
                name.span(),
                format!(
                    "`{0}` has the field `{stored}`, so each `{0}` belongs to one scope by it. `shared` is for documents without the field: \
                     leave it out",
                    container.ident
                ),
            );
        }
    }
}

fn missing(cx: &Ctxt, span: Span, message: String) {
    error(cx, span, message);
}

/// A document stands alone: copies of another one are made in what is embedded.
pub fn is_no_copy(cx: &Ctxt, container: &Container) {
    if let Some(copies) = &container.copies {
        error(
            cx,
            copies.span,
            format!(
                "`{}` is a document of its own, and `#[denormalize(from = …)]` above a struct is for one that is embedded. Write it \
                 above each field that is a copy: `#[denormalize(from = reference.field)]`",
                container.name()
            ),
        );
    }
}

/// `#[document(append_only)]`: nothing about it may need a change.
pub fn never_changes(cx: &Ctxt, container: &Container, document: &Document, field: &Field) {
    let (Some(_), Some(reference)) = (document.append_only, &field.reference) else {
        return;
    };
    if let Some(inverse) = &reference.inverse {
        error(
            cx,
            inverse.span(),
            format!(
                "`{}` is written by writes of the other side too, and the document is `append_only`: it never changes. Leave out \
                 `inverse`, or `append_only`",
                label(container, field)
            ),
        );
    }
    use crate::attr::reference::OnDelete;
    if let Some(rule) = reference
        .on_delete
        .as_ref()
        .filter(|rule| matches!(rule.value, OnDelete::Nullify | OnDelete::Pull))
    {
        error(
            cx,
            rule.span,
            format!(
                "`{}` would be changed by a deletion of the other document, and this one is `append_only`: it never changes. Write \
                 `on_delete = cascade`, `restrict` or `keep`",
                label(container, field)
            ),
        );
    }
}
