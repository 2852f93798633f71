//! The rules of what is derived from other documents. What needs the other document's types is asserted by
//! [`crate::expand::copy`].

use super::message::{error, item_text, label, thousands};
use super::rules::{Place, Rules};
use crate::ast::{Container, Data, Field, Style};
use crate::attr::copy::{Computed, Consistency, Copy, Entry, FieldCopy, Fields, Source, Subset};
use crate::attr::reference::{DEFAULT_MAX, GREATEST_MAX, OnDelete};
use crate::ctxt::Ctxt;
use crate::ty::{self, Many};
use syn::spanned::Spanned;

/// The rules of one field; `made` says that the library makes its value for another reason.
pub fn all(cx: &Ctxt, container: &Container, field: &Field, place: Place, made: bool) {
    if let Some(span) = field.volatile
        && place == Place::Id
    {
        error(
            cx,
            span,
            format!(
                "`{}` is the id of the document, which never changes. Leave out `#[volatile]`",
                label(container, field)
            ),
        );
    }
    let Some(copy) = &field.copy else { return };
    if container.copies.is_some() && !matches!(place, Place::Embed { .. }) {
        return; // said of the whole document
    }
    let what = match copy {
        Copy::Field(_) => "a copy",
        Copy::Entry(_) => "a reference with copies",
        Copy::Subset(_) => "a subset",
        Copy::Computed(_) => "computed",
    };
    let label = label(container, field);
    let say = |span, message: String| error(cx, span, message);
    if !matches!(container.data, Data::Struct(Style::Named, _)) || container.serde.transparent {
        return say(
            copy.span(),
            format!(
                "`{label}` is {what}, which is found by the names of the fields of a struct. Put it into a struct with named fields"
            ),
        );
    }
    if !container.generics.params.is_empty() {
        return say(
            copy.span(),
            format!(
                "`{label}` is {what}, and its struct has parameters, so that it would be {what} of another document for each. Write \
                 a struct without parameters"
            ),
        );
    }
    if let Some(span) = field.serde.skip {
        return say(
            span,
            format!("`{label}` is {what}, and is not stored (`skip`). Leave out one of the attributes"),
        );
    }
    if let Some(span) = field.serde.flatten {
        return say(
            span,
            format!(
                "`{label}` is {what}, which is stored under its own name. Leave out `flatten`, and declare a field for each \
                 copy"
            ),
        );
    }
    if place == Place::Id || matches!(place, Place::Embed { id: true }) {
        return say(
            copy.span(),
            format!(
                "`{label}` is the id of the document, or in it, which never changes, and {what} does. Give it a field of its own"
            ),
        );
    }
    if let (Some(default), true) = (&field.field.default, field.is_derived()) {
        cx.error(
            default,
            format!(
                "`{label}` is {what}, and the library writes its value: this default would be read in the place of it. Leave it out; \
                 documents that lack the field are read by `#[field(default)]`"
            ),
        );
    }
    if made {
        return say(
            copy.span(),
            format!(
                "`{label}` is {what}, and is set by `#[document(timestamps)]` or `#[document(version)]` too. Give it a field of its \
                 own"
            ),
        );
    }
    if !matches!(copy, Copy::Entry(_))
        && let Some(reference) = &field.reference
    {
        return say(
            reference.span,
            format!(
                "`{label}` is {what}, which the library alone writes, and a reference is written by the application. Give each a \
                 field of its own"
            ),
        );
    }
    if matches!(copy, Copy::Subset(_) | Copy::Computed(_)) && matches!(place, Place::Embed { .. }) {
        return say(
            copy.span(),
            format!(
                "`{label}` is derived from the children of a document, and this type is embedded, so it has none. Move the field into \
                 the document itself"
            ),
        );
    }
    match copy {
        Copy::Field(copy) => of_field(cx, container, field, copy),
        Copy::Entry(entry) => of_entry(cx, container, field, entry, place),
        Copy::Subset(subset) => of_subset(cx, container, field, subset),
        Copy::Computed(computed) => of_computed(cx, container, field, computed),
    }
}

fn of_field(cx: &Ctxt, container: &Container, field: &Field, copy: &FieldCopy) {
    let Source::Through(through) = &copy.from else {
        return;
    };
    let label = label(container, field);
    let rust = syn::ext::IdentExt::unraw(through).to_string();
    let Some(reference) = container.fields().iter().find(|other| other.rust == rust) else {
        let references: Vec<String> = container
            .fields()
            .iter()
            .filter(|other| other.reference.is_some())
            .map(|other| format!("`{}`", other.rust))
            .collect();
        let known = match references.as_slice() {
            [] => "it has no reference".to_owned(),
            some => format!("its references are {}", some.join(", ")),
        };
        return error(
            cx,
            through.span(),
            format!(
                "`{label}` is copied through `{rust}`, which is no field of `{}`: {known}. A copy stands beside the reference to \
                 what it is a copy of",
                container.name()
            ),
        );
    };
    let message = match (&reference.reference, &reference.copy) {
        (_, Some(Copy::Entry(_))) => format!(
            "`{label}` is copied through `{}`, which has its copies in a struct of its own. Add the field there: \
             `fields({}: …)`",
            reference.label(),
            copy.field
        ),
        (None, _) => format!(
            "`{label}` is copied through `{}`, which is no reference. Declare it as one: `#[reference] {rust}: Ref<…>`",
            reference.label()
        ),
        (Some(declared), _) if declared.many.is_some() || ty::many(reference.ty).is_some() => format!(
            "`{label}` is copied through `{}`, which names several documents, and a field holds a copy of one. For copies of each, \
             write above the array: `#[denormalize(from = {}, fields({}: …))] {rust}: Vec<Entry>`",
            reference.label(),
            ty::referred(reference.ty).map_or_else(|| "Document".to_owned(), ty::text),
            copy.field
        ),
        (Some(declared), _) if declared.any.is_some() => format!(
            "`{label}` is copied through `{}`, which refers to documents of several types, so that it has no one source. Give each \
             type a reference of its own",
            reference.label()
        ),
        (Some(declared), _) if declared.inverse.is_some() => format!(
            "`{label}` is copied through `{}`, a two-way reference, which a write of the other side sets too. Leave out `inverse` \
             there: the documents that refer to one are found by an index",
            reference.label()
        ),
        _ => return,
    };
    error(cx, through.span(), message);
}

fn of_entry(cx: &Ctxt, container: &Container, field: &Field, entry: &Entry, place: Place) {
    let label = label(container, field);
    let reference = &entry.reference;
    let of = ty::text(&entry.of);
    let say = |span, message: String| error(cx, span, message);
    let rules = Rules {
        cx,
        container,
        field,
        reference,
        place,
    };
    if reference.parent {
        rules.other_side();
    } else if let Some(inverse) = &reference.inverse {
        say(
            inverse.span(),
            format!(
                "`{label}` has copies, and a two-way reference is written from the other side too, which knows nothing of them. Leave \
                 out `inverse`: the documents that refer to one are found by an index, `.find(|x| x.{}.contains(id))`",
                field.rust
            ),
        );
    }
    if let Some(by) = &reference.by {
        say(
            by.span(),
            format!("`{label}` has copies, which are found by the `_id` of their document. Leave out `by`"),
        );
    }
    if let Some(any) = &reference.any {
        say(
            any.span,
            format!(
                "`{label}` has copies of one type of document, and `any` is for a reference to several. Leave it out, or give each \
                 type a field of its own"
            ),
        );
    }
    if let Some(span) = field.embed.present {
        let advice = match &field.embed.max {
            Some(max) => format!("write `#[reference(many, max = {})]` alone", max.text()),
            None => "leave out `#[embed]`".to_owned(),
        };
        say(
            span,
            format!(
                "`{label}` is declared as a reference with copies, which says how many there are: {advice}"
            ),
        );
    }
    if field.field.has_bounds()
        || field.field.opaque
        || field.field.stored.is_some()
        || field.serde.with.is_some()
    {
        cx.error(
            field.ty,
            format!(
                "`{label}` is stored as the reference and its copies, which have their own declarations. Leave out `#[field(…)]` and \
                 `#[serde(with)]`"
            ),
        );
    }
    let vec = matches!(ty::many(field.ty), Some(Many::List { ref name, .. }) if name == "Vec")
        && !ty::is_option(field.ty);
    let message = match (reference.many.is_some(), vec, ty::many(field.ty).is_some()) {
        (true, false, true) => Some(format!(
            "`{label}` is an array of references with copies, which is a `Vec`: write `Vec<{}Entry>`",
            of
        )),
        (true, false, false) => Some(format!(
            "`{label}` is a single reference, and `many` is for an array of them. Write `#[reference]`, or `{}: Vec<{}>`",
            field.rust,
            ty::text(ty::inside(field.ty))
        )),
        (false, _, true) if reference.parent => Some(format!(
            "`{label}` is an array, and `#[parent_ref]` is for the one document that this one belongs to. Write \
             `#[reference(many, max = {DEFAULT_MAX})]`"
        )),
        _ => None,
    };
    if let Some(message) = message {
        return cx.error(field.ty, message);
    }
    rules.numbers();
    rules.children();
    let item = ty::single(field.ty);
    if ty::referred(field.ty).is_some() {
        let name = of.rsplit("::").next().unwrap_or("Document");
        return cx.error(
            field.ty,
            format!(
                "`{label}` has copies beside the reference, so its type is the struct of both{}. Write `{}`",
                if entry.fields.is_some() {
                    ", which is made by this name"
                } else {
                    ""
                },
                ty::name(field.ty).replace(&ty::text(item), &format!("{name}Entry"))
            ),
        );
    }
    match &entry.fields {
        Some(fields) => {
            generated(cx, container, field, fields, &of);
            removal(cx, &label, field, reference);
            made_alike(cx, container, field, entry);
        }
        None => {
            let own = ty::text(item);
            let options = [
                reference
                    .on_delete
                    .as_ref()
                    .map(|at| (at.span, format!("on_delete = {}", at.value.name()))),
                reference
                    .check
                    .as_ref()
                    .map(|at| (at.span, format!("check = {}", at.value))),
                reference
                    .index
                    .as_ref()
                    .map(|at| (at.span, format!("index = {}", at.value))),
            ];
            for (span, text) in options.into_iter().flatten() {
                say(
                    span,
                    format!(
                        "The reference itself stands in `{own}`, which is a struct of your own. Write it there: `#[reference({text})] \
                         id: Ref<{of}>`"
                    ),
                );
            }
            if let Some(consistency) = &entry.consistency {
                say(
                    consistency.span,
                    format!(
                        "The copies themselves stand in `{own}`, which is a struct of your own. Write it there: \
                         `#[denormalize(from = {of}, consistency = …)]`"
                    ),
                );
            }
        }
    }
}

/// Two fields that hold one struct have it made once, with one rule for its reference.
fn made_alike(cx: &Ctxt, container: &Container, field: &Field, entry: &Entry) {
    let name = |field: &Field| ty::text(ty::plain(ty::single(field.ty)));
    let all = container.all_fields();
    let mut before = all.into_iter().take_while(|other| !std::ptr::eq(*other, field));
    let first = before.find(|other| {
        let makes = other.entry().is_some_and(|entry| entry.fields.is_some());
        makes && name(other) == name(field)
    });
    let Some((first, made)) = first.and_then(|first| Some((first, first.entry()?))) else {
        return;
    };
    let said = |entry: &Entry| {
        let fields = entry.fields.iter().flat_map(|fields| &fields.list);
        let fields: Vec<String> = fields.map(ty::text).collect();
        let reference = &entry.reference;
        let (on_delete, check) = (reference.on_delete.as_ref(), reference.check.as_ref());
        (
            (
                ty::text(&entry.of),
                fields,
                entry.consistency.as_ref().map(|at| at.value),
            ),
            (
                on_delete.map_or(OnDelete::Restrict, |at| at.value),
                check.is_none_or(|at| at.value),
                reference.index.as_ref().is_none_or(|at| at.value),
            ),
        )
    };
    if said(made) != said(entry) {
        cx.error(
            field.ty,
            format!(
                "`{}` and `{}` hold one struct, `{}`, whose copies and whose reference are declared once: `from`, `fields`, `consistency`, \
                 `on_delete`, `check` and `index` are the same in both. Write them alike, or give the struct of one another name",
                label(container, first),
                label(container, field),
                name(field)
            ),
        );
    }
}

/// The effect of a deletion of the other document on the whole entry.
fn removal(cx: &Ctxt, label: &str, field: &Field, reference: &crate::attr::reference::Reference) {
    let Some(on_delete) = &reference.on_delete else {
        return;
    };
    let many = reference.many.is_some();
    let message = match on_delete.value {
        OnDelete::Nullify if many => format!(
            "`nullify` empties a single reference, and `{label}` is an array, out of which one is pulled. Write `on_delete = pull`"
        ),
        OnDelete::Nullify if !ty::is_option(field.ty) => format!(
            "`nullify` leaves a document without the reference, and `{label}` is required. Write `{}: Option<{}>`, or `on_delete = \
             cascade`, which deletes this document too, or `on_delete = restrict`",
            field.rust,
            ty::name(field.ty)
        ),
        OnDelete::Pull if !many => format!(
            "`pull` takes a reference out of an array, and `{label}` is a single one. Write `on_delete = nullify` for an `Option`, \
             `on_delete = cascade`, which deletes this document too, or `on_delete = restrict`"
        ),
        _ => return,
    };
    error(cx, on_delete.span, message);
}

/// A struct that is made of `fields(…)`.
fn generated(cx: &Ctxt, container: &Container, field: &Field, fields: &Fields, of: &str) {
    let label = label(container, field);
    let item = ty::single(field.ty);
    let simple = matches!(ty::plain(item), syn::Type::Path(path) if path.path.get_ident().is_some());
    if !simple {
        cx.error(
            field.ty,
            format!(
                "`fields(…)` makes the struct of the copies, and `{label}` does not name it: write a plain name, such as \
                 `{}Entry`; for a struct of your own leave out `fields`",
                of.rsplit("::").next().unwrap_or("Document")
            ),
        );
        return;
    }
    for (i, one) in fields.list.iter().enumerate() {
        let Some(name) = &one.ident else { continue };
        if name == "id" {
            cx.error(
                name,
                format!("The struct of the copies has a field `id` already: the reference to the `{of}`. Leave it out"),
            );
        }
        if fields.list[..i]
            .iter()
            .any(|other| other.ident.as_ref() == Some(name))
        {
            cx.error(name, format!("`{name}` is listed twice. Keep one of them"));
        }
    }
}

/// A field whose value the library makes. One that `copies` a value of another document may have the bounds of that.
fn plain(cx: &Ctxt, container: &Container, field: &Field, what: &str, copies: bool) {
    let label = label(container, field);
    if let Some(span) = field.embed.present.filter(|_| !copies) {
        error(
            cx,
            span,
            format!("`{label}` is {what}, which says what is stored. Leave out `#[embed]`"),
        );
    }
    if field.field.has_bounds() && !copies
        || field.field.opaque
        || field.field.stored.is_some()
        || field.converted().is_some()
    {
        cx.error(
            field.ty,
            format!(
                "`{label}` is {what}, which the library writes. Leave out `#[field(…)]` and `#[serde(with)]`"
            ),
        );
    }
}

fn no_snapshot(
    cx: &Ctxt,
    container: &Container,
    field: &Field,
    consistency: Option<&crate::attr::At<Consistency>>,
) {
    if let Some(consistency) = consistency.filter(|consistency| consistency.value == Consistency::Snapshot) {
        error(
            cx,
            consistency.span,
            format!(
                "`{}` is derived from the children, of which there are none when the document is inserted, so a snapshot would stay \
                 empty. Write `atomic` or `eventual`, or leave out `consistency`",
                label(container, field)
            ),
        );
    }
}

fn of_subset(cx: &Ctxt, container: &Container, field: &Field, subset: &Subset) {
    let label = label(container, field);
    let of = ty::text(&subset.of);
    plain(cx, container, field, "a subset", false);
    no_snapshot(cx, container, field, subset.consistency.as_ref());
    if subset.limit.known() == Some(0) {
        error(
            cx,
            subset.limit.span(),
            format!(
                "`{label}` could hold nothing with `limit = 0`. Write how many are kept, such as `limit = 10`"
            ),
        );
    } else if let Some(limit) = subset.limit.known().filter(|limit| *limit > GREATEST_MAX) {
        error(
            cx,
            subset.limit.span(),
            format!(
                "`{label}` would hold {} of the children. Rule three: arrays do not grow without end; every write of a child \
                 rewrites this array. Write at most {}, and read the others by `.children::<{of}>()`; or group all of them in \
                 documents of a fixed size, a bucket",
                thousands(limit),
                thousands(GREATEST_MAX)
            ),
        );
    }
    match ty::many(field.ty) {
        Some(Many::List { name, .. }) if name == "Vec" && !ty::is_option(field.ty) => {}
        Some(_) => cx.error(
            field.ty,
            format!(
                "`{label}` is a subset, which is always there and has an order: it is a `Vec`. Write `Vec<{}>`",
                item_text(field)
            ),
        ),
        // An alias: the types decide.
        None if subset.fields.is_none() => {}
        None => cx.error(
            field.ty,
            format!(
                "`{label}` is a subset, which is a `Vec`. Write `Vec<{}>`",
                ty::text(ty::inside(field.ty))
            ),
        ),
    }
    if let Some(fields) = &subset.fields {
        generated(cx, container, field, fields, &of);
    }
}

fn of_computed(cx: &Ctxt, container: &Container, field: &Field, computed: &Computed) {
    plain(cx, container, field, "computed", computed.operation.is_ordered());
    no_snapshot(cx, container, field, computed.consistency.as_ref());
}

/// The rules of a struct with `#[denormalize(from = T)]`.
pub fn container(cx: &Ctxt, container: &Container) {
    let Some(copies) = &container.copies else { return };
    let of = ty::text(&copies.of);
    if !matches!(container.data, Data::Struct(Style::Named, _)) {
        return error(
            cx,
            copies.span,
            format!(
                "`{0}` copies fields of `{of}` by their names, so it is a struct with named fields: `struct {0} {{ id: Ref<{of}>, \
                 name: String }}`",
                container.name()
            ),
        );
    }
    let mut references = container
        .fields()
        .iter()
        .filter(|field| field.reference.is_some());
    if let (Some(_), Some(second)) = (references.next(), references.next()) {
        cx.error(
            second.ty,
            format!(
                "`{}` is a second reference, and every field of `{}` but the one reference to its `{of}` is a copy. Leave it out, \
                 or move it into a struct of its own",
                label(container, second),
                container.name()
            ),
        );
    }
    if let Some(id) = container.fields().iter().find(|field| field.reference.is_some()) {
        let referred = ty::referred(id.ty).map(ty::text);
        let single = ty::many(id.ty).is_none() && !ty::is_option(id.ty);
        if let Some(referred) = referred.filter(|_| !single) {
            cx.error(
                id.ty,
                format!(
                    "`{}` is what the copies are of, one document that is always there. Write `{}: Ref<{referred}>`; whether there is \
                     any copy at all, or how many, the field says that holds a `{}`",
                    label(container, id),
                    id.rust,
                    container.name()
                ),
            );
        }
        if let Some(reference) = &id.reference
            && let Some(span) = reference
                .by
                .as_ref()
                .map(|by| by.span())
                .or(reference.any.as_ref().map(|any| any.span))
                .or(reference.parent.then_some(reference.span))
        {
            error(
                cx,
                span,
                format!(
                    "`{}` is what the copies are of: a plain reference to one `{of}`. Write `{}: Ref<{of}>`, with `#[reference(…)]` \
                     for `on_delete`, `check` and `index` alone{}",
                    label(container, id),
                    id.rust,
                    if reference.parent {
                        format!(
                            "; where the `{of}` is the parent, the field says so that holds a `{0}`: `#[parent_ref] \
                         #[denormalize(from = {of})] field: {0}`",
                            container.name()
                        )
                    } else {
                        String::new()
                    }
                ),
            );
        }
    }
    if !container.fields().iter().any(Field::is_derived) {
        error(
            cx,
            copies.of.span(),
            format!(
                "`{}` copies nothing of `{of}`. Add a field with the name and the type of one of its fields, or use a plain \
                 `Ref<{of}>`",
                container.name()
            ),
        );
    }
    for field in container.fields() {
        let attr = ["denormalize", "subset", "computed"]
            .iter()
            .find_map(|name| crate::attr::find(&field.original.attrs, name));
        if let Some(attr) = attr {
            cx.error(
                attr,
                format!(
                    "`{}` is a copy already: every field of `{}` is one of the field with its name in `{of}`. Leave out the \
                     attribute",
                    label(container, field),
                    container.name()
                ),
            );
        }
    }
}
