//! The rules of `any(Photo, Video)`, of which the type of the field is made.

use super::message::label;
use super::rules::Rules;
use crate::ast::Field;
use crate::case::Case;
use crate::ty;
use syn::ext::IdentExt;

impl Rules<'_> {
    /// `any(Photo, Video)`: the field's type is made of the list, so it has a name for it.
    pub fn union(&self) {
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
                        "Two documents of `{}` are called `{}`, and this name (in the stored `type`) distinguishes the \
                         references. Leave one of them out, or import it under another name: `use videos::Clip as VideoClip`",
                        self.label(),
                        name(document).unwrap_or_default()
                    ),
                );
            }
        }
        let Some(own) = ty::union(field.ty) else {
            let documents: Vec<_> = any.documents.iter().map(ty::text).collect();
            self.cx.error(
                field.ty,
                format!(
                    "`{}` has a type that `any({})` makes, an enum with a name of your choice that ends in `Ref`; what a join gives \
                     for it is called the same without `Ref`. Write `{}: {}Ref`, or an `Option` or an array of it",
                    self.label(),
                    documents.join(", "),
                    field.rust,
                    Case::Pascal.of_field(&field.rust)
                ),
            );
            return;
        };
        let loaded = own.unraw().to_string();
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
                ty::union(other.ty) == Some(own)
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
}

/// The documents that a field lists.
fn lists<'a>(field: &'a Field) -> Option<&'a [syn::Path]> {
    let any = field.reference.as_ref()?.any.as_ref()?;
    (!any.documents.is_empty()).then_some(&any.documents)
}
