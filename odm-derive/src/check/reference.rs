//! The rules of references: which relationships there are. Where one may stand is the matter of [`super::place`], and a list of
//! documents that of [`super::union`].

use super::message::{thousands, type_span};
use super::place::tuple_hides_reference;
use super::rules::{Place, Rules};
use crate::ast::{Container, Field};
use crate::attr::reference::{DEFAULT_MAX, GREATEST_MAX, OnDelete};
use crate::ctxt::Ctxt;
use crate::ty::{self, Many};

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
    rules.same();
    rules.union();
    rules.in_id();
}

impl Rules<'_> {
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
                    max.text()
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
                field.field.opaque.then(|| type_span(field)),
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
    pub fn numbers(&self) {
        let (reference, label) = (self.reference, self.label());
        if reference.many.is_none() {
            for (at, name) in [(&reference.max, "max"), (&reference.expected, "expected")] {
                if let Some(at) = at {
                    self.error(
                        at.span(),
                        format!(
                            "`{name}` of `{label}` says how many references an array holds. Write `#[reference(many, {name} = {})]` for \
                             an array, or leave it out",
                            at.text()
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
                 `.children::<{target}>()`. At most {} here, such as `max = {DEFAULT_MAX}`",
                crate::case::Case::Snake.of_variant(&this),
                thousands(GREATEST_MAX)
            )
        };
        if let Some(max) = &reference.max {
            if max.known() == Some(0) {
                self.error(
                    max.span(),
                    format!(
                        "`{label}` could hold nothing with `max = 0`. Write the greatest number of references, such as `max = \
                         {DEFAULT_MAX}`"
                    ),
                );
            } else if let Some(most) = max.known().filter(|most| *most > GREATEST_MAX) {
                self.error(
                    max.span(),
                    format!(
                        "`{label}` could hold {} references. {}",
                        thousands(most),
                        rule_three()
                    ),
                );
            }
        }
        // Of the two sides of a two-way reference the types decide, which know both.
        let (Some(written), None) = (&reference.expected, &reference.inverse) else {
            return;
        };
        let max = self.reference.max_items().and_then(|max| max.known());
        let Some(expected) = written.known() else { return };
        if expected > GREATEST_MAX {
            self.error(
                written.span(),
                format!(
                    "`{label}` is expected to hold {} references. {}",
                    thousands(expected),
                    rule_three()
                ),
            );
        } else if let Some(max) = max.filter(|max| expected > *max) {
            self.error(
                written.span(),
                format!(
                    "`{label}` is expected to hold {} references, and at most {} fit into it. Write such as `max = {expected}`",
                    thousands(expected),
                    thousands(max),
                ),
            );
        }
    }

    /// The effect of a deletion of the other document on this field.
    fn deletion(&self) {
        let (reference, label) = (self.reference, self.label());
        let Some(on_delete) = &reference.on_delete else {
            return;
        };
        if self.container.copies.is_some() {
            return; // with the copies beside it, it goes out of an array, or is emptied, as a whole
        }
        let many = reference.many.is_some();
        let message = match on_delete.value {
            OnDelete::Nullify if many => format!(
                "`nullify` empties a single reference, and `{label}` is an array, out of which one is pulled. Write \
                 `on_delete = pull`"
            ),
            OnDelete::Nullify if ty::referred(self.field.ty).is_some() && !ty::is_optional(self.field.ty) => {
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
    pub fn other_side(&self) {
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

    /// `same(field)`: fields of this document, which every document of it has.
    pub fn same(&self) {
        let (Some(same), label) = (&self.reference.same, self.label()) else {
            return;
        };
        if let Place::Embed { .. } = self.place {
            return; // of which document it is, is known with all models
        }
        let mut known: Vec<&syn::Ident> = Vec::new();
        for name in &same.value {
            let Some(field) = self.container.fields().iter().find(|field| *name == field.rust) else {
                self.error(
                    name.span(),
                    format!(
                        "`same` of `{label}` names a field of `{}`, whose value the other document has in its field of this name, and \
                         there is no `{name}`. Write the name as in Rust, such as `same(tenant)`",
                        self.container.name()
                    ),
                );
                continue;
            };
            if ty::is_optional(field.ty) {
                self.error(
                    name.span(),
                    format!(
                        "`same` of `{label}` names `{name}`, which is an `Option`: the other document is found by its value, so every \
                         document has to have one. Write the type without `Option`"
                    ),
                );
            }
            if known.contains(&name) {
                self.error(
                    name.span(),
                    format!("`same` of `{label}` names `{name}` twice. Leave out one of them"),
                );
            }
            known.push(name);
        }
    }

    /// `one` and `order(…)`: the children of one parent.
    pub fn children(&self) {
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
                     declare the index on the document: `#[document(index(fields(path.to.{}{}, -time)))]`",
                    self.label(),
                    self.field.rust,
                    if self.field.entry().is_some() { ".id" } else { "" }
                ),
            );
        }
    }
}
