//! The rules of one field, of a document or an embedded type.

use super::message::{error, item_text, label, type_span};
use crate::ast::{Container, Data, Field, Style};
use crate::attr::access::Access;
use crate::attr::serde::Default_;
use crate::ctxt::Ctxt;
use crate::ty::{self, Many};

pub fn all(cx: &Ctxt, container: &Container, field: &Field, embedded: bool) {
    if !is_shared_between_threads(cx, container, field) {
        return;
    }
    if !deferred_is_alone(cx, container, field, embedded) {
        return;
    }
    written_is_read(cx, container, field);
    access_has_a_use(cx, container, field);
    texts_are_integers(cx, container, field);
    if field.skipped() {
        skipped_declares_nothing(cx, container, field);
        return;
    }
    if field.field.extra {
        return extra_stands_alone(cx, container, field);
    }
    name_is_reachable(cx, container, field);
    only_an_id_is_generated(cx, container, field);
    stored_has_a_default(cx, container, field);
    if field.reference.is_some() {
        return; // an id is stored, for which there are rules of its own
    }
    flattened_has_names(cx, container, field);
    embed_numbers(cx, container, field);
    ranges_are_in_order(cx, container, field);
    super::value_rules::of_field(cx, container, field);
    is_the_only_default(cx, container, field);
    none_is_no_default(cx, container, field);
    unique_is_stored(cx, container, field);
    opaque_declares_nothing_else(cx, container, field);
    // Of what is missing, one message is enough.
    let _ = custom_form_is_declared(cx, container, field)
        && (!embedded || recursion_has_depth(cx, container, field))
        && shape_is_known(cx, container, field)
        && array_is_bounded(cx, container, field);
}

/// A document is shared between threads, and so is all that is in it.
fn is_shared_between_threads(cx: &Ctxt, container: &Container, field: &Field) -> bool {
    let Some(name) = ty::in_one_thread(field.ty) else {
        return true;
    };
    let instead = match name {
        "Rc" => {
            let text = ty::name(field.ty)
                .replace("Rc<str>", "String")
                .replace("Rc<", "Arc<");
            format!("`{}: {text}`", field.rust)
        }
        _ => "the value without it: a document is changed by an update, or in a `mut` variable".to_owned(),
    };
    cx.error(
        field.ty,
        format!(
            "`{}` can't be shared between threads because of `{name}`, and documents are. Write {instead}",
            label(container, field)
        ),
    );
    false
}

/// `Option<Deferred<T>>` and the like.
fn deferred_is_outside(cx: &Ctxt, container: &Container, field: &Field) -> bool {
    let text = ty::text(field.ty);
    let Some((before, _)) = text.split_once("Deferred<") else {
        return true;
    };
    if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return true;
    }
    let without = text.replacen("Deferred<", "", 1).replacen('>', "", 1);
    cx.error(
        field.ty,
        format!(
            "`{}` has a `Deferred` within another type, and a field is read as a whole or not at all. Write `{}: Deferred<{without}>`",
            label(container, field),
            field.rust
        ),
    );
    false
}

/// `Deferred<T>`: a plain field of a document.
fn deferred_is_alone(cx: &Ctxt, container: &Container, field: &Field, embedded: bool) -> bool {
    if !field.is_deferred {
        return deferred_is_outside(cx, container, field);
    }
    let (roles, inner) = (&container.roles, ty::text(field.ty));
    let problem = if embedded {
        format!(
            "it stands in an embedded value, which is read as a whole. Write `{inner}`, and make the whole field of the document a \
             `Deferred`"
        )
    } else if roles.made(field) || field.is_derived() || field.field.scope {
        format!("the library writes it, and reads it when it does. Write `{inner}`")
    } else if field.reference.is_some() || field.copy.is_some() {
        format!("the library reads references to check them. Write `{inner}`")
    } else if field.serde.flatten.is_some() || field.field.extra || field.skipped() {
        format!("it is no field of its own in the database. Write `{inner}`")
    } else if field.serde.default.is_some() || field.serde.skip_serializing_if.is_some() {
        "a field that was not read has no default. Leave the default or `skip_serializing_if` out; a document without the field is read \
         as one whose field was not read"
            .to_owned()
    } else {
        return true;
    };
    cx.error(
        &field.original.ty,
        format!("`{}` can't be a `Deferred`: {problem}", label(container, field)),
    );
    false
}

/// The rules of an `_id`, which has others of its own.
pub fn of_id(cx: &Ctxt, container: &Container, field: &Field) {
    if field.is_deferred {
        cx.error(
            &field.original.ty,
            format!(
                "`{}` can't be a `Deferred`: every document is read with its id. Write `{}`",
                label(container, field),
                ty::text(field.ty)
            ),
        );
        return;
    }
    if !is_shared_between_threads(cx, container, field) {
        return;
    }
    access_has_a_use(cx, container, field);
    texts_are_integers(cx, container, field);
    super::value_rules::of_field(cx, container, field);
    ranges_are_in_order(cx, container, field);
    if field.serde.with.is_none() {
        custom_form_is_declared(cx, container, field);
    }
}

/// A written value must be found by the next read: `#[serde(skip_serializing)]` alone loses the value.
fn written_is_read(cx: &Ctxt, container: &Container, field: &Field) {
    let serde = &field.serde;
    if serde.skip.is_some() {
        return;
    }
    if let Some(span) = serde.skip_serializing {
        error(
            cx,
            span,
            format!(
                "`{}` would never be stored, and a write of the whole document would lose its value. Write `#[field(skip)]` for a \
                 field that is not in the database, or leave the attribute out",
                label(container, field)
            ),
        );
    }
    if let Some(span) = serde.skip_deserializing {
        error(
            cx,
            span,
            format!(
                "`{}` would be stored and never read back. Write `#[field(skip)]` for a field that is not in the database, or \
                 leave the attribute out",
                label(container, field)
            ),
        );
    }
    let absent_is_read = serde.default.is_some()
        || container.serde.default.is_some()
        || ty::is_option(field.ty) && !serde.deserialize_with;
    if let (Some(span), false) = (serde.skip_serializing_if, absent_is_read) {
        error(
            cx,
            span,
            format!(
                "`{}` is left out of some documents, which could then not be read back. Add `#[field(default)]`, or make it an \
                 `Option<{}>`",
                label(container, field),
                ty::name(field.ty)
            ),
        );
    }
}

/// `#[field(private)]`, `read_only` and `write_only`: of a field with a name of its own, and of one that the application writes.
fn access_has_a_use(cx: &Ctxt, container: &Container, field: &Field) {
    let Some(access) = &field.field.access else { return };
    if field.field.access_by_serde {
        return;
    }
    let (roles, word) = (&container.roles, access.value.word());
    let by_library = roles.made(field) || field.is_derived() || field.field.scope;
    let problem = if field.skipped() {
        format!(
            "it is not stored (`skip`), so it is in no JSON either. Leave out `skip` if the database has it, or else `{word}`"
        )
    } else if field.ident().is_none() {
        format!("it has no name of its own in JSON. Write `{word}` on the fields that have this type")
    } else if field.serde.flatten.is_some() && !field.field.extra {
        format!(
            "its own fields stand in the place of it. Write `{word}` on the fields of the flattened struct"
        )
    } else if by_library && access.value == Access::WriteOnly {
        "the library writes it, so no JSON sets it. Write `private` for a value that JSON does not show either".to_owned()
    } else if by_library && access.value == Access::ReadOnly {
        "the library writes it, so it is read-only without the word. Leave out `read_only`".to_owned()
    } else {
        return;
    };
    error(
        cx,
        access.span,
        format!("`{}`: {problem}", label(container, field)),
    );
}

/// `#[field(json = text)]`: other values than integers have one form in JSON.
fn texts_are_integers(cx: &Ctxt, container: &Container, field: &Field) {
    let Some(span) = field.field.json_text else { return };
    let is_other = [
        "String",
        "bool",
        "char",
        "f32",
        "f64",
        "ObjectId",
        "DateTime",
        "Decimal128",
        "Uuid",
        "Binary",
    ]
    .iter()
    .any(|name| ty::exactly(ty::single(field.ty), name));
    if is_other || field.field.opaque || field.skipped() {
        error(
            cx,
            span,
            format!(
                "`{}` holds no integers, and `json = text` is for these: those beyond 2^53 lose digits in JavaScript. Leave it out",
                label(container, field)
            ),
        );
    }
}

/// `#[field(default = …)]`: the only default of a field, which serde may name by the function that is generated here.
fn is_the_only_default(cx: &Ctxt, container: &Container, field: &Field) {
    let Some(default) = &field.field.default else {
        return;
    };
    let function = format!("{}::default_{}", container.name(), field.rust);
    let named = match &field.serde.default {
        Some(Default_::Function(path)) => path
            .segments
            .last()
            .is_some_and(|last| path.segments.len() > 1 && last.ident == format!("default_{}", field.rust)),
        _ => false,
    };
    let problem = if !container.generics.params.is_empty() || matches!(container.data, Data::Enum(_)) {
        "`#[field(default = …)]` is for a struct without parameters. Write a function, and `#[serde(default = \"…\")]`".to_owned()
    } else if field.ident().is_none() {
        "`#[field(default = …)]` is for a field with a name: this one can't be missing".to_owned()
    } else if !named {
        format!(
            "it has two defaults, this one and that of `#[serde(default)]`. Keep one of them; so that serde reads this one from JSON, \
             write `#[serde(default = \"{function}\")]`, which is the function that `#[field(default = …)]` makes"
        )
    } else {
        return;
    };
    error(
        cx,
        syn::spanned::Spanned::span(default),
        format!("`{}`: {problem}", label(container, field)),
    );
}

/// `#[field(default = …, skip_none)]`: `None` would be read as the default.
fn none_is_no_default(cx: &Ctxt, container: &Container, field: &Field) {
    let (Some(default), Some(left_out_by)) = (&field.field.default, &field.serde.left_out_by) else {
        return;
    };
    let leaves_out_none = left_out_by
        .path
        .segments
        .last()
        .is_some_and(|last| last.ident == "is_none");
    let is_none = ty::text(default).ends_with("None");
    if ty::is_option(field.ty) && leaves_out_none && !is_none {
        error(
            cx,
            syn::spanned::Spanned::span(default),
            format!(
                "`{}` is left out where it is `None`, and a document without it is read with this default. Leave out `skip_none`, so \
                 that `None` is stored as `null`, or the default",
                label(container, field)
            ),
        );
    }
}

/// `#[field(generate = …)]`: no other field of a new document is left to a function.
fn only_an_id_is_generated(cx: &Ctxt, container: &Container, field: &Field) {
    if let Some(function) = &field.field.generate {
        error(
            cx,
            syn::spanned::Spanned::span(function),
            format!(
                "`{}` is not the `_id` of a document, and `generate` makes an id alone. Supply its value at the insert{}",
                label(container, field),
                if field.reference.is_some() {
                    ""
                } else {
                    ", or write a constant: `#[field(default = …)]`"
                }
            ),
        );
    }
}

/// `#[field(stored)]`: a field that could be missing, and never is.
fn stored_has_a_default(cx: &Ctxt, container: &Container, field: &Field) {
    if !field.field.always {
        return;
    }
    let has_default = field.serde.default.is_some() || container.serde.default.is_some();
    let problem = match (has_default, field.serde.skip_serializing_if) {
        (false, _) => {
            "a document without it can't be read, so the validator requires it in any case. Leave out `stored`"
        }
        (true, Some(_)) => {
            "`skip_serializing_if` leaves it out of some documents, and `stored` says that all have it. Leave out one of the two"
        }
        (true, None) => return,
    };
    error(
        cx,
        syn::spanned::Spanned::span(field.ty),
        format!("`{}`: {problem}", label(container, field)),
    );
}

/// A unique index sees what is stored, and several documents that lack the field as one value.
fn unique_is_stored(cx: &Ctxt, container: &Container, field: &Field) {
    let has_default = field.serde.default.is_some() || container.serde.default.is_some();
    let reads_none = ty::is_option(field.ty)
        && container.serde.default.is_none()
        && !matches!(field.serde.default, Some(Default_::Function(_)));
    let mut of_shard = field.indexes.iter().filter(|index| index.global.is_none());
    let unique = of_shard.find_map(|index| index.unique);
    if let (Some(unique), true, false, false) = (unique, has_default, field.field.always, reads_none) {
        error(
            cx,
            unique,
            format!(
                "`{}` has a default, and a document that lacks it is `null` to a unique index, not its default. Have every document \
                 store it, `#[field(stored)]`, or leave out `unique` or the default",
                label(container, field)
            ),
        );
    }
}

/// A field that is not stored has no bound and no shape.
fn skipped_declares_nothing(cx: &Ctxt, container: &Container, field: &Field) {
    let declared = &field.field;
    let what = if field.reference.is_some() {
        "a relationship"
    } else if field.embed.present.is_some() || declared.has_bounds() || declared.opaque {
        "a bound"
    } else if declared.always || declared.stored.is_some() {
        "`stored`"
    } else if declared.generate.is_some() {
        "`generate`"
    } else if field.volatile.is_some() {
        "`#[volatile]`"
    } else if field.serde.rename.is_some() || !field.serde.aliases.is_empty() {
        "a name"
    } else {
        return;
    };
    if let Some(span) = field.serde.skip {
        error(
            cx,
            span,
            format!(
                "`{}` is not stored (`skip`), so {what} on it means nothing. Leave out one of the attributes",
                label(container, field)
            ),
        );
    }
}

/// Why a field can't have this name.
pub fn wrong_in_name(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.contains('.') {
        Some("contains a dot, which a query takes as the way into an embedded document")
    } else if name.starts_with('$') {
        Some("starts with a `$`, which a query takes as an operator")
    } else if name.contains('\0') {
        Some("contains a NUL, which ends a name in BSON")
    } else {
        None
    }
}

/// A dot or a leading `$` in a stored name means something else in MongoDB's queries and updates.
fn name_is_reachable(cx: &Ctxt, container: &Container, field: &Field) {
    let Some(ident) = field.ident() else { return };
    let Some(wrong) = wrong_in_name(&field.name) else {
        return;
    };
    cx.error(
        ident,
        format!(
            "The stored name `{}` of `{}` {wrong}. Write another one: `#[field(name = \"…\")]`",
            field.name,
            label(container, field)
        ),
    );
}

/// `#[field(extra)]` shows the fields that a struct does not declare, beside those that it does.
fn extra_stands_alone(cx: &Ctxt, container: &Container, field: &Field) {
    let label = label(container, field);
    let wrong = if !matches!(container.data, Data::Struct(Style::Named, _)) || container.serde.transparent {
        "only a struct with named fields has some that it does not declare. Put it into a struct of its own that derives `Embed`"
    } else if container.serde.deny_unknown_fields {
        "`#[serde(deny_unknown_fields)]` refuses to read them. Leave out one of the two"
    } else if container
        .fields()
        .iter()
        .filter(|field| field.field.extra)
        .count()
        > 1
    {
        "another field shows them already. Leave out one of the two"
    } else if field.serde.flatten.is_none() {
        "they stand beside its own fields. Add `#[field(flatten)]`"
    } else if field.field.has_bounds()
        || field.field.stored.is_some()
        || field.embed.present.is_some()
        || field.serde.with.is_some()
        || field.reference.is_some()
        || field.copy.is_some()
        || field.volatile.is_some()
        || !field.indexes.is_empty()
    {
        "nothing else is declared of them. Leave out the other attributes of the field"
    } else {
        return;
    };
    cx.error(
        field.ty,
        format!(
            "`{label}` shows the fields that `{}` does not declare, and {wrong}",
            container.name()
        ),
    );
}

/// `#[serde(flatten)]` is for a struct with declared fields; a map would bring names that nothing knows.
fn flattened_has_names(cx: &Ctxt, container: &Container, field: &Field) {
    let Some(span) = field.serde.flatten else { return };
    if let Some(many) = ty::many(field.ty) {
        let name = many.name();
        cx.error(field.ty,
            format!(
                "`{}` is flattened, and a `{name}` has any number of fields with any names, which neither a path nor the \
                 validator can know. Flatten a struct that derives `Embed`, or leave out `flatten` and give it a \
                 bound: `#[embed(max = 20)]`",
                label(container, field)
            ),
        );
    } else if ty::without_shape(field.ty) || field.field.opaque {
        cx.error(field.ty,
            format!(
                "`{}` is flattened, and its fields have no declared names, so neither a path nor the validator can know them. \
                 Flatten a struct that derives `Embed`, or leave out `flatten`. Where it is to show the fields that \
                 the struct does not declare, write `#[field(extra)]` above a field of the type `bson::Document`",
                label(container, field)
            ),
        );
    } else if field.serde.rename.is_some() || !field.serde.aliases.is_empty() {
        error(
            cx,
            span,
            format!(
                "`{}` is flattened, so it has no name of its own. Leave out its name, or declare the names on the fields of the \
                 flattened struct",
                label(container, field)
            ),
        );
    } else if field.embed.has_options() || field.field.has_bounds() || field.serde.with.is_some() {
        error(
            cx,
            span,
            format!(
                "`{}` is flattened, so it is no value of its own that could have a bound or another form. Declare the bounds on the \
                 fields of the flattened struct",
                label(container, field)
            ),
        );
    }
}

/// The numbers of `#[embed(…)]` mean something.
fn embed_numbers(cx: &Ctxt, container: &Container, field: &Field) {
    let label = label(container, field);
    if let Some(max) = &field.embed.max {
        if max.known() == Some(0) {
            error(
                cx,
                max.span(),
                format!(
                    "`{label}` could hold nothing with `max = 0`. Write the greatest number of items, such as `max = 20`"
                ),
            );
        }
        if let Some(items) = max.known().filter(|items| *items > 16_777_216) {
            error(
                cx,
                max.span(),
                format!(
                    "`{label}` could hold {items} items, more than MongoDB's limit of 16777216 bytes for one document. Write less, \
                     or give the items a collection of their own"
                ),
            );
        }
    } else {
        let alone = [
            (
                field.embed.large.as_ref().map(|text| text.span()),
                "large",
                "large = \"reason\"",
            ),
            (
                field.embed.key_len.as_ref().map(|count| count.span()),
                "key_len",
                "key_len = 50",
            ),
        ];
        for (span, name, example) in alone {
            if let Some(span) = span {
                error(
                    cx,
                    span,
                    format!(
                        "`{name}` of `{label}` says something about an array with a bound. Write `#[embed(max = 500, {example})]`"
                    ),
                );
            }
        }
    }
    if let Some(large) = &field.embed.large
        && large.value().trim().is_empty()
    {
        cx.error(
            large,
            format!(
                "`large` of `{label}` takes the reason for a large array. Write it out: `large = \"read as a whole with every \
                 page\"`"
            ),
        );
    }
    if let Some(key_len) = &field.embed.key_len
        && key_len.known() == Some(0)
    {
        error(
            cx,
            key_len.span(),
            format!(
                "`{label}` could only hold the empty key with `key_len = 0`. Write the length of the longest key"
            ),
        );
    }
    if let (Some(depth), true) = (&field.embed.depth, ty::is_scalar(field.ty)) {
        error(
            cx,
            depth.span(),
            format!("`{label}` holds no type inside itself, which `depth` is for. Leave it out"),
        );
    }
    if let Some(depth) = &field.embed.depth
        && depth.known().is_some_and(|depth| !(1..=100).contains(&depth))
    {
        error(
            cx,
            depth.span(),
            format!(
                "`{label}` can be nested from 1 to 100 levels deep, which is MongoDB's limit. Write such as `depth = 10`"
            ),
        );
    }
}

/// The fields of a projection and of a row are read and never written.
pub fn read_alone(cx: &Ctxt, container: &Container, field: &Field) {
    if field.is_deferred {
        cx.error(
            &field.original.ty,
            format!(
                "`{}` can't be a `Deferred`: what is named here is read. Write `{}`",
                label(container, field),
                ty::text(field.ty)
            ),
        );
    }
    let declared = &field.field;
    let what = if declared.has_bounds() {
        "is only read, and a bound is for what is written. Declare it in the document"
    } else if declared.generate.is_some() || declared.scope {
        "is only read, and `generate` and `scope` are for what is written. Declare them in the document"
    } else if declared.always {
        "is only read, and `stored` says what is written. Declare it in the document"
    } else if declared.default.is_some() {
        "is only read, and `default = …` is for what is written too. Write `#[field(default)]`, which reads the default of the type, or \
         a function: `#[serde(default = \"…\")]`"
    } else {
        return;
    };
    error(
        cx,
        type_span(field),
        format!("`{}` {what}", label(container, field)),
    );
}

/// A range has its least value first.
fn ranges_are_in_order(cx: &Ctxt, container: &Container, field: &Field) {
    let declared = &field.field;
    if let (Some(min), Some(max)) = (&declared.min, &declared.max)
        && let (Some(least), Some(greatest)) = (min.value.known(), max.value.known())
        && least > greatest
    {
        error(
            cx,
            min.span,
            format!(
                "No value of `{}` is both at least `min` and at most `max`: `min` is greater. Exchange them",
                label(container, field)
            ),
        );
    }
    if let (Some(min), Some(max)) = (&declared.min_len, &declared.max_len)
        && let (Some(least), Some(greatest)) = (min.known(), max.known())
        && least > greatest
    {
        error(
            cx,
            min.span(),
            format!(
                "No length of `{}` is both at least `min_len` and at most `max_len`: `min_len` is greater. Exchange them",
                label(container, field)
            ),
        );
    }
    if let Some(max_len) = &declared.max_len
        && max_len.known() == Some(0)
    {
        error(
            cx,
            max_len.span(),
            format!(
                "`{}` could only be empty with `max_len = 0`. Write the greatest length, such as `max_len = 100`",
                label(container, field)
            ),
        );
    }
}

/// An opaque field is not looked into, so nothing inside it can have a bound.
fn opaque_declares_nothing_else(cx: &Ctxt, container: &Container, field: &Field) {
    let more = field.field.has_bounds() || field.field.stored.is_some() || field.embed.present.is_some();
    if field.field.opaque && more {
        cx.error(field.ty,
            format!(
                "`{}` is opaque, so odm does not look into it, and a bound on it can't be checked. Leave out `opaque`, or the \
                 other attributes",
                label(container, field)
            ),
        );
    }
}

/// With `#[serde(with)]`, the type does not tell the stored form.
fn custom_form_is_declared(cx: &Ctxt, container: &Container, field: &Field) -> bool {
    let declared = field.field.opaque || field.field.stored.is_some() || field.serde.native;
    // A function on a field of the library is refused with the document.
    let declared = declared || container.roles.made(field);
    match (field.serde.with, &field.field.stored) {
        (Some(span), _) if !declared && field.serde.flatten.is_none() => {
            error(
                cx,
                span,
                format!(
                    "The stored form of `{}` is what a function makes of it, so its type does not tell the shape. Name the type \
                     that has that shape: `#[field(stored = DateTime)]`, or don't have it checked: `#[field(opaque)]`",
                    label(container, field)
                ),
            );
            false
        }
        // Of a type that odm does not know, `stored` says what serde makes of it.
        (None, Some(stored)) if ty::is_known(field.ty) => {
            cx.error(
                stored,
                format!(
                    "`{}` is stored as its own type says, without `#[serde(with)]`. Leave out `stored`",
                    label(container, field)
                ),
            );
            false
        }
        (None, Some(stored)) if ty::is_option(field.ty) && !may_be_null(field, stored) => {
            cx.error(
                stored,
                format!(
                    "`{}` may be `None`, which is stored as `null`, and `stored` names a type without it. Write \
                     `#[field(stored = Option<{}>)]`",
                    label(container, field),
                    ty::text(stored)
                ),
            );
            false
        }
        _ => true,
    }
}

/// Whether `None` has a place in the declared stored type, or is not stored.
fn may_be_null(field: &Field, stored: &syn::Type) -> bool {
    ty::is_option(stored) || ty::without_shape(stored) || field.serde.skips_none
}

/// A type inside itself ends somewhere: `#[embed(depth = 5)]`.
fn recursion_has_depth(cx: &Ctxt, container: &Container, field: &Field) -> bool {
    if field.embed.depth.is_some() || field.field.opaque || !ty::contains(field.ty, container.ident) {
        return true;
    }
    let with = if ty::many(field.ty).is_some() {
        "max = 20, depth = 5"
    } else {
        "depth = 5"
    };
    cx.error(field.ty,
        format!(
            "`{}` contains `{}` again, so a document could be nested without end, and MongoDB takes 100 levels. Say how deep it \
             goes: `#[embed({with})]`, or store each one as a document of its own that names its parent",
            label(container, field),
            container.ident
        ),
    );
    false
}

/// `Bson` and the like can hold anything.
fn shape_is_known(cx: &Ctxt, container: &Container, field: &Field) -> bool {
    if field.field.opaque || field.field.stored.is_some() || !ty::without_shape(field.ty) {
        return true;
    }
    cx.error(field.ty,
        format!(
            "`{}` can hold anything, of any size, so nothing about it can be checked. Declare its fields in a struct with \
             `#[derive(Embed)]`, or say that odm should not look into it: `#[field(opaque)]`",
            label(container, field)
        ),
    );
    false
}

/// A collection that is seen by its name, and for which the library has no implementation.
fn is_unsupported(name: &str) -> bool {
    matches!(
        name,
        "LinkedList" | "BinaryHeap" | "IndexMap" | "IndexSet" | "SmallVec" | "ArrayVec"
    )
}

/// An array, set or map has a bound: `#[embed(max = 20)]`.
fn array_is_bounded(cx: &Ctxt, container: &Container, field: &Field) -> bool {
    let Some(many) = ty::many(field.ty) else {
        return true;
    };
    if is_declared(field) {
        return true;
    }
    let label = label(container, field);
    let message = match many {
        _ if ty::is_bytes(field.ty) => format!(
            "`{label}` is stored as an array of numbers, of eight to twelve bytes each, and has no declared bound. Write `{}: \
             bson::Binary` with `#[field(max_len = 1024)]`, which stores a byte as a byte; or, for a few small numbers, \
             `#[embed(max = 20)]`",
            field.rust
        ),
        Many::Map { name } | Many::List { name, .. } if is_unsupported(&name) => format!(
            "`{label}` is a {name} without a declared bound, and odm does not know the type. Write a `{}` and its bound: `#[embed(max \
             = 20)]`; or, if odm should not look into it, `#[field(opaque)]`",
            match name.as_str() {
                "IndexMap" => "BTreeMap",
                "IndexSet" => "BTreeSet",
                _ => "Vec",
            }
        ),
        Many::Map { name } => format!(
            "`{label}` is a {name} without a declared bound, so its document can grow until it can't be written any more. For few \
             entries write `#[embed(max = 20, key_len = 50)]`; for many, give each entry a document of its own that names this one \
             (rule three); if odm should not look into it, write `#[field(opaque)]`"
        ),
        Many::List { name, .. } if ty::referred(field.ty).is_some() => format!(
            "`{label}` is a {name} of references, and does not say how many there are. Write `#[reference(many, max = 2000)]` with \
             the greatest number; where there is no such number, each `{}` names its `{}` instead: `#[parent_ref]` (rule three)",
            ty::referred(field.ty).map(ty::text).unwrap_or_default(),
            container.name(),
        ),
        Many::List { name, .. } => format!(
            "`{label}` is a {name} without a declared bound, so its document can grow until it can't be written any more. For few \
             items write `#[embed(max = 20)]`; for many, store `{}` as a document of its own that names this one (rule three: \
             high cardinality arrays are not embedded); if odm should not look into it, write `#[field(opaque)]`",
            item_text(field)
        ),
    };
    cx.error(field.ty, message);
    false
}

/// Whether the array that a field visibly is has a bound, or the field is not looked into.
fn is_declared(field: &Field) -> bool {
    // Errors of the declaration have been reported.
    let derived = ["denormalize", "subset", "computed"];
    let wrong = field.copy.is_none()
        && derived
            .iter()
            .any(|name| crate::attr::find(&field.original.attrs, name).is_some());
    wrong
        || field.is_array()
        || field.reference.is_some()
        || field.entry().is_some()
        || field.field.opaque
        || field.field.stored.is_some()
}
