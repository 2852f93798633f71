//! The rules of references: which relationships there are, and where a reference can be found again.

use super::{error, label};
use crate::ast::{Container, Data, Field, Style};
use crate::attr::reference::{DEFAULT_MAX, OnDelete, Reference};
use crate::ctxt::Ctxt;
use crate::expand::document::Roles;
use crate::expand::union;
use crate::ty::{self, Many};
use proc_macro2::Span;

/// More references than this in one array are a relationship for the other side to declare.
const GREATEST_MAX: u64 = 5_000;

/// Where a field stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a document.
    Document,
    /// In the `_id` of a document.
    Id,
    /// In an embedded type.
    Embed {
        /// `#[embed(id)]`: the type may stand in `_id`.
        id: bool,
    },
}

impl Place {
    pub fn in_document(field: &Field, roles: &Roles) -> Place {
        if roles.is_id(field) {
            Place::Id
        } else {
            Place::Document
        }
    }
}

/// The rules of one field.
pub fn all(cx: &Ctxt, container: &Container, field: &Field, place: Place) {
    let Some(reference) = &field.reference else {
        tuple_hides_reference(cx, container, field);
        return;
    };
    let rules = Rules {
        cx,
        container,
        field,
        reference,
        place,
    };
    rules.stored_as_the_id_alone();
    // Of what does not fit the type, one message is enough.
    let _ = rules.reached_by_a_path() && rules.type_fits();
    rules.numbers();
    rules.deletion();
    rules.other_side();
    rules.key();
    rules.children();
    rules.union();
    rules.in_id();
}

/// `(Ref<Person>, i32)` and `[Ref<Person>; 2]` without an attribute.
fn tuple_hides_reference(cx: &Ctxt, container: &Container, field: &Field) {
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

struct Rules<'a> {
    cx: &'a Ctxt,
    container: &'a Container<'a>,
    field: &'a Field<'a>,
    reference: &'a Reference,
    place: Place,
}

impl Rules<'_> {
    fn error(&self, span: Span, message: impl std::fmt::Display) {
        error(self.cx, span, message);
    }

    fn label(&self) -> String {
        label(self.container, self.field)
    }

    fn attribute(&self) -> &'static str {
        self.reference.attribute()
    }

    /// The document on the other side, as the type names it.
    fn target(&self) -> String {
        ty::referred(self.field.ty).map_or_else(|| "T".to_owned(), ty::text)
    }

    /// A reference is stored as the id of the other document, and in no other form: no `#[embed]`, no bound, no codec.
    fn stored_as_the_id_alone(&self) {
        if self.place == Place::Id {
            return; // said of every id
        }
        let (field, label, attribute) = (self.field, self.label(), self.attribute());
        if let Some(span) = field.embed.present {
            let advice = match &field.embed.max {
                Some(max) => format!(
                    "The number of references is a part of their declaration: write `#[reference(many, max = {})]` alone",
                    max.value
                ),
                None => format!(
                    "Leave out `#[embed]`, or `#[{attribute}]` where the other document is no document of its own"
                ),
            };
            self.error(
                span,
                format!("`{label}` refers to another document, so nothing is embedded. {advice}"),
            );
        }
        if field.field.has_bounds() {
            self.cx.error(
                field.ty,
                format!(
                    "`{label}` is stored as the id of the other document, whose bounds are declared there, on its own field. Leave \
                     out `#[field(…)]`{}",
                    if field.field.max.is_some() {
                        "; the number of references is declared with `#[reference(many, max = N)]`"
                    } else {
                        ""
                    }
                ),
            );
        }
        let unusual = [
            (
                field.field.opaque.then(|| ty_span(field)),
                "#[field(opaque)]",
                "odm does not look into an opaque field, and a reference is checked and followed",
            ),
            (
                field
                    .field
                    .stored
                    .as_ref()
                    .map(syn::spanned::Spanned::span)
                    .or(field.serde.with),
                "#[serde(with)]",
                "a reference is stored as nothing but the id of the other document",
            ),
            (
                field.serde.flatten,
                "#[serde(flatten)]",
                "a reference has no fields that could stand in the parent",
            ),
        ];
        for (span, attribute, reason) in unusual {
            if let Some(span) = span {
                self.error(
                    span,
                    format!("`{label}` can't have `{attribute}`: {reason}. Leave out one of the attributes"),
                );
            }
        }
    }

    /// A reference in a tuple, or in a type that is nested in itself, has no path that names it.
    fn reached_by_a_path(&self) -> bool {
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
                    ty::text(field.ty)
                ),
                _ => format!(
                    "Give it a name: `struct {name} {{ #[{}] other: {} }}`, or an alias in the place of the struct: `type {name} = \
                     {1};`",
                    self.attribute(),
                    ty::text(field.ty)
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

    /// One reference or an array of them, as the attribute says: what is visible of the type; the rest is asserted of it.
    fn type_fits(&self) -> bool {
        let (field, reference) = (self.field, self.reference);
        let array = match ty::many(field.ty) {
            Some(Many::List { .. }) => true,
            _ if ty::referred(field.ty).is_some() => false,
            _ => return true,
        };
        let message = match (array, reference.many) {
            (true, None) if reference.parent => format!(
                "`{}` is an array, and `#[parent_ref]` is for the one document that this one belongs to. Write \
                 `#[reference(many, max = {DEFAULT_MAX})]`",
                self.label()
            ),
            (true, None) => format!(
                "`{}` is an array, and `#[reference]` is for a single one. Write `#[reference(many, max = {DEFAULT_MAX})]` with \
                 the greatest number of references",
                self.label()
            ),
            (false, Some(_)) => format!(
                "`{}` is a single reference, and `many` is for an array of them. Write `#[reference]`, or `{}: Vec<{}>`",
                self.label(),
                field.rust,
                ty::text(ty::inside(field.ty))
            ),
            _ => return true,
        };
        self.cx.error(field.ty, message);
        false
    }

    /// `max` and `expected` say something of an array, which has an end.
    fn numbers(&self) {
        let (reference, label) = (self.reference, self.label());
        if reference.many.is_none() {
            for (at, name) in [(&reference.max, "max"), (&reference.expected, "expected")] {
                if let Some(at) = at {
                    self.error(
                        at.span,
                        format!(
                            "`{name}` of `{label}` says how many references an array holds. Write `#[reference(many, {name} = {})]` for \
                             an array, or leave it out",
                            at.value
                        ),
                    );
                }
            }
            return;
        }
        let rule_three = || {
            let (this, target) = (self.container.name(), self.target());
            format!(
                "Rule three: arrays do not grow without end; above some thousands, not even ids. Instead, each `{target}` names its \
                 `{this}`: write `#[parent_ref] pub {}: Ref<{this}>` there, which makes the index for it, and read them with \
                 `.children::<{target}>()`. At most 5,000 here, such as `max = {DEFAULT_MAX}`",
                crate::case::Case::Snake.of_variant(&this)
            )
        };
        if let Some(max) = &reference.max {
            if max.value == 0 {
                self.error(
                    max.span,
                    format!(
                        "`{label}` could hold nothing with `max = 0`. Write the greatest number of references, such as `max = \
                         {DEFAULT_MAX}`"
                    ),
                );
            } else if max.value > GREATEST_MAX {
                self.error(
                    max.span,
                    format!(
                        "`{label}` could hold {} references. {}",
                        thousands(max.value),
                        rule_three()
                    ),
                );
            }
        }
        // Of the two sides of a two-way reference the types decide, which know both.
        let (Some(expected), None) = (&reference.expected, &reference.inverse) else {
            return;
        };
        let max = self.reference.max_items().unwrap_or(DEFAULT_MAX);
        if expected.value > GREATEST_MAX {
            self.error(
                expected.span,
                format!(
                    "`{label}` is expected to hold {} references. {}",
                    thousands(expected.value),
                    rule_three()
                ),
            );
        } else if expected.value > max {
            self.error(
                expected.span,
                format!(
                    "`{label}` is expected to hold {} references, and at most {} fit into it. Write such as `max = {}`",
                    thousands(expected.value),
                    thousands(max),
                    expected.value
                ),
            );
        }
    }

    /// What a deletion of the other document can do to this field.
    fn deletion(&self) {
        let (reference, label) = (self.reference, self.label());
        let Some(on_delete) = &reference.on_delete else {
            return;
        };
        let many = reference.many.is_some();
        let message = match on_delete.value {
            OnDelete::Nullify if many => format!(
                "`nullify` empties a single reference, and `{label}` is an array, out of which one is pulled. Write \
                 `on_delete = pull`"
            ),
            OnDelete::Nullify if ty::referred(self.field.ty).is_some() && !ty::is_option(self.field.ty) => {
                format!(
                    "`nullify` leaves a document without the reference, and `{label}` is required. Write `{}: Option<{}>`, or \
                     `on_delete = cascade`, which deletes this document too, or `on_delete = restrict`",
                    self.field.rust,
                    ty::text(self.field.ty)
                )
            }
            OnDelete::Pull if !many => format!(
                "`pull` takes a reference out of an array, and `{label}` is a single one. Write `on_delete = nullify` for an \
                 `Option`, `on_delete = cascade`, which deletes this document too, or `on_delete = restrict`"
            ),
            OnDelete::Keep if reference.inverse.is_some() => format!(
                "`keep` would leave one side of a two-way reference alone, and the two sides of `{label}` always agree. Write \
                 `on_delete = {}`, `cascade` or `restrict`",
                if many { "pull" } else { "nullify" }
            ),
            OnDelete::Nullify | OnDelete::Pull
                if self.place == Place::Id || self.place == (Place::Embed { id: true }) =>
            {
                format!(
                    "An id never changes, so `{label}` can't be taken out of it. Write `on_delete = cascade`, which deletes the \
                     document, or `on_delete = restrict`"
                )
            }
            _ => return,
        };
        self.error(on_delete.span, message);
    }

    /// `inverse = field`: the field of the other document that refers back.
    fn other_side(&self) {
        let reference = self.reference;
        let Some(inverse) = &reference.inverse else {
            return;
        };
        let (label, span) = (self.label(), inverse.span());
        if reference.parent {
            self.error(
                span,
                format!(
                    "`{label}` names its parent, and the parent holds nothing of it: the children are found by an index, with \
                     `.children::<{0}>()`. Leave out `inverse`, or, for a list of them on the other side, write \
                     `#[reference(inverse = {inverse})]`",
                    self.container.name()
                ),
            );
            return;
        }
        if let Place::Embed { .. } = self.place {
            self.error(
                span,
                format!(
                    "`{label}` stands in an embedded type, which can be embedded in several places, so the other side could not name \
                     it. Leave out `inverse`, or move the reference into the document itself",
                ),
            );
        }
        if !self.container.generics.params.is_empty() {
            self.error(
                span,
                format!(
                    "`{label}` stands in a document with parameters, and the other side refers to one type. Leave out `inverse`"
                ),
            );
        }
        if let Some(by) = &reference.by {
            self.error(
                by.span(),
                format!(
                    "The two sides of `{label}` hold each other's `_id`. Leave out `by`, or `inverse = {inverse}` for a reference \
                     in one direction"
                ),
            );
        }
        if let Some(any) = &reference.any {
            self.error(
                any.span,
                format!(
                    "`{label}` refers to documents of several types, and a two-way reference has one on its other side. Leave out \
                     `inverse`: the documents that refer to one are found by an index"
                ),
            );
        }
        if let Some(check) = reference.check.as_ref().filter(|check| !check.value) {
            self.error(
                check.span,
                format!(
                    "A write of `{label}` writes the other side too, so that side has to be there. Leave out `check = false`, or \
                     `inverse = {inverse}`"
                ),
            );
        }
    }

    /// `by = field`: another field of the other document than its `_id`.
    fn key(&self) {
        if let (Some(by), Some(_)) = (&self.reference.by, &self.reference.any) {
            self.error(
                by.span(),
                format!(
                    "`{}` refers to documents of several types, each of which has an `_id`, and perhaps no `{by}`. Leave out `by`",
                    self.label()
                ),
            );
        }
    }

    /// `one` and `order(…)`: the children of one parent.
    fn children(&self) {
        let reference = self.reference;
        let Some(order) = &reference.order else { return };
        if reference.one.is_some() {
            self.error(
                order.span,
                format!(
                    "`{}` belongs to one document at most (`one`), so there is nothing to sort. Leave out `order`",
                    self.label()
                ),
            );
        }
        if let Place::Embed { .. } = self.place {
            self.error(
                order.span,
                format!(
                    "`{}` stands in an embedded type, which does not know the other fields of its document. Leave out `order`, and \
                     declare the index on the document: `#[document(index(fields(path.to.{}, -time)))]`",
                    self.label(),
                    self.field.rust
                ),
            );
        }
    }

    /// `any(Photo, Video)`: the field's type is made of the list, so it has a name for it.
    fn union(&self) {
        let Some(any) = &self.reference.any else { return };
        let (field, attribute) = (self.field, self.attribute());
        if any.documents.is_empty() {
            return;
        }
        if let [one] = any.documents.as_slice() {
            self.error(
                any.span,
                format!(
                    "`{}` refers to documents of one type. Write `#[{attribute}] {}: Ref<{}>`",
                    self.label(),
                    field.rust,
                    ty::text(one)
                ),
            );
        }
        let name = |path: &syn::Path| path.segments.last().map(|last| last.ident.to_string());
        for (i, document) in any.documents.iter().enumerate() {
            if any.documents[..i]
                .iter()
                .any(|other| name(other) == name(document))
            {
                self.cx.error(
                    document,
                    format!(
                        "Two documents of `{}` are called `{}`, and by this name (in the stored `type`) the references are told apart. \
                         Leave one of them out, or import it under another name: `use videos::Clip as VideoClip`",
                        self.label(),
                        name(document).unwrap_or_default()
                    ),
                );
            }
        }
        let Some(own) = union::name(field.ty) else {
            let documents: Vec<_> = any.documents.iter().map(ty::text).collect();
            self.cx.error(
                field.ty,
                format!(
                    "`{}` has a type that `any({})` makes, an enum with a name of your choice that ends in `Ref`; what a join gives \
                     for it is called the same without `Ref`. Write `{}: {}Ref`, or an `Option` or an array of it",
                    self.label(),
                    documents.join(", "),
                    field.rust,
                    crate::case::Case::Pascal.of_field(&field.rust)
                ),
            );
            return;
        };
        let loaded = own.to_string();
        let loaded = loaded.strip_suffix("Ref").unwrap_or_default();
        let taken = any
            .documents
            .iter()
            .filter_map(&name)
            .chain([self.container.name()]);
        if taken.into_iter().any(|name| name == loaded) {
            self.cx.error(
                field.ty,
                format!(
                    "What a join gives for `{}` would be called `{loaded}`, which is another type already. Give the field's type \
                     another name that ends in `Ref`",
                    self.label()
                ),
            );
        }
        // Another field of this type may use the same list.
        let other = self
            .container
            .all_fields()
            .into_iter()
            .take_while(|other| !std::ptr::eq(*other, field))
            .find(|other| {
                union::name(other.ty) == Some(own)
                    && lists(other).is_some_and(|documents| {
                        let texts =
                            |documents: &[syn::Path]| documents.iter().map(ty::text).collect::<Vec<_>>();
                        texts(documents) != texts(&any.documents)
                    })
            });
        if let Some(other) = other {
            self.cx.error(
                field.ty,
                format!(
                    "`{}` and `{}` have one type with two lists of documents. Give one of them another type, whose name ends in \
                     `Ref`, or the same list: `any` alone",
                    self.label(),
                    label(self.container, other)
                ),
            );
        }
    }

    /// A document may share the id of its parent.
    fn in_id(&self) {
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
        let this = ty::referred(field.ty)
            .is_some_and(|target| ty::exactly(target, &self.container.name()) || ty::exactly(target, "Self"));
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

/// A number as people read it: `50,000`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The documents that a field lists.
fn lists<'a>(field: &'a Field) -> Option<&'a [syn::Path]> {
    let any = field.reference.as_ref()?.any.as_ref()?;
    (!any.documents.is_empty()).then_some(&any.documents)
}

fn ty_span(field: &Field) -> Span {
    super::type_span(field)
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
                    || field.reference.is_some() && ty::text(other.ty) != ty::text(field.ty))
        };
        if let Some(other) = fields[..i].iter().find(differs) {
            cx.error(
                field.ty,
                format!(
                    "`{}` and `{}` are stored under one path in different variants, so nothing tells which documents are referred to \
                     there. Give one of them another name, or its own stored one: `#[serde(rename = \"…\")]`",
                    label(container, other),
                    label(container, field)
                ),
            );
        }
    }
}
