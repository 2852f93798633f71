//! Where a reference may stand: where a path names it, by which joins, checks and indexes find it.

use super::message::label;
use super::rules::{Place, Rules};
use crate::ast::{Container, Data, Field, Style};
use crate::ctxt::Ctxt;
use crate::ty::{self, Many};

/// `(Ref<Person>, i32)` and `[Ref<Person>; 2]` without an attribute.
pub fn tuple_hides_reference(cx: &Ctxt, container: &Container, field: &Field) {
    let inner = ty::inside(field.ty);
    let items: Vec<&syn::Type> = match inner {
        syn::Type::Tuple(tuple) => tuple.elems.iter().collect(),
        syn::Type::Array(array) => vec![&array.elem],
        _ => return,
    };
    if field.skipped() || field.field.opaque || field.field.stored.is_some() {
        return;
    }
    if !items.into_iter().any(|item| ty::referred(item).is_some()) {
        return;
    }
    let advice = match inner {
        syn::Type::Array(array) => format!(
            "Write `#[reference(many, max = {})] {}: Vec<{}>`",
            ty::text(&array.len),
            field.rust,
            ty::text(&array.elem)
        ),
        _ => "Give each a field of its own, in this struct or in one with `#[derive(Embed)]`, with `#[reference]` above it"
            .to_owned(),
    };
    cx.error(
        field.ty,
        format!(
            "`{}` holds references at fixed positions, and a reference is found by the name of its field: joins, checks and \
             indexes go by it. {advice}",
            label(container, field)
        ),
    );
}

impl Rules<'_> {
    /// A reference in a tuple, or in a type that is nested in itself, has no path that names it.
    pub fn reached_by_a_path(&self) -> bool {
        let (cx, field, container) = (self.cx, self.field, self.container);
        if matches!(ty::many(field.ty), Some(Many::Map { .. })) {
            cx.error(
                field.ty,
                format!(
                    "`{}` is a map, and a reference under a key that is only known when it runs is reached by no path, so nothing \
                     could check or find it. Use an array of structs: `#[embed(max = 20)] {}: Vec<Entry>` with `struct Entry {{ \
                     key: String, #[reference] value: Ref<T> }}`",
                    self.label(),
                    field.rust
                ),
            );
            return false;
        }
        if field.ident().is_none() || container.serde.transparent {
            let name = container.name();
            let advice = match container.data {
                Data::Enum(_) => "Give it a name in its variant: `Variant { #[reference] other: Ref<T> }`; a field that refers to \
                                  one of several documents is `#[reference(any(Photo, Video))] media: MediaRef`"
                    .to_owned(),
                Data::Struct(Style::Tuple, _) => format!(
                    "Give each field a name: `struct {name} {{ #[{}] other: {}, … }}`",
                    self.attribute(),
                    ty::name(field.ty)
                ),
                _ => format!(
                    "Give it a name: `struct {name} {{ #[{}] other: {} }}`, or an alias in the place of the struct: `type {name} = \
                     {1};`",
                    self.attribute(),
                    ty::name(field.ty)
                ),
            };
            cx.error(
                field.ty,
                format!(
                    "`{}` is a reference without a name of its own, and a reference is found by the name of its field: joins, \
                     checks and indexes go by it. {advice}",
                    self.label()
                ),
            );
            return false;
        }
        let nested = container
            .all_fields()
            .into_iter()
            .find(|other| other.embed.depth.is_some());
        if let (Some(nested), Place::Embed { .. }) = (nested, self.place) {
            cx.error(
                field.ty,
                format!(
                    "`{}` stands in a type that contains itself (`{}`), so no path names it at every depth, and nothing could check \
                     or find it. Give each level a document of its own that names the one above: `#[parent_ref] above: \
                     Option<Ref<{}>>`, or store a plain id, which nothing checks",
                    self.label(),
                    nested.label(),
                    container.name()
                ),
            );
            return false;
        }
        true
    }

    /// A document may share the id of its parent.
    pub fn in_id(&self) {
        let (field, reference) = (self.field, self.reference);
        if self.place == (Place::Embed { id: true })
            && let Some(many) = reference.many
        {
            self.error(
                many,
                format!(
                    "`{}` stands in a type for an id, which never changes, and an array of references does. Move it into the \
                     document",
                    self.label()
                ),
            );
        }
        if self.place != Place::Id {
            return;
        }
        let this = ty::referred(field.ty).is_some_and(|target| ty::exactly(target, &self.container.name()));
        if this {
            self.cx.error(
                field.ty,
                format!(
                    "`{}` would be the id of the document and refer to another one with the same id, of the same collection. Give \
                     the reference a field of its own",
                    self.label()
                ),
            );
        } else if !reference.parent
            || reference.one.is_none()
            || reference.by.is_some()
            || reference.any.is_some()
        {
            self.error(
                reference.span,
                format!(
                    "`{}` is the id of the document, so at most one document refers to the other one. Write `#[parent_ref(one)]`, \
                     which says so, or give the reference a field of its own",
                    self.label()
                ),
            );
        }
    }
}

/// Two variants of an enum whose tag stands beside their fields store a field of one name at one path, so a reference there
/// would be to one document or another.
pub fn variants_differ(cx: &Ctxt, container: &Container) {
    let Data::Enum(variants) = &container.data else {
        return;
    };
    if container.serde.tag.is_none() && !container.serde.untagged {
        return; // each variant has a name of its own in the path
    }
    let fields: Vec<&Field> = variants
        .iter()
        .filter(|variant| variant.style == Style::Named && !variant.serde.skip)
        .flat_map(|variant| &variant.fields)
        .filter(|field| !field.skipped())
        .collect();
    for (i, field) in fields.iter().enumerate() {
        let differs = |other: &&&Field| {
            other.name == field.name
                && (other.reference.is_some() != field.reference.is_some()
                    || field.reference.is_some() && ty::text(other.ty) != ty::name(field.ty))
        };
        if let Some(other) = fields[..i].iter().find(differs) {
            cx.error(
                field.ty,
                format!(
                    "`{}` and `{}` are stored under one path in different variants, so nothing tells which documents are referred to \
                     there. Give one of them another name, or its own stored one: `#[field(name = \"…\")]`",
                    label(container, other),
                    label(container, field)
                ),
            );
        }
    }
}
