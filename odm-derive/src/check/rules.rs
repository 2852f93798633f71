//! A field with its reference, as the rules of references look at it.

use super::message::{error, label};
use crate::ast::{Container, Field, Roles};
use crate::attr::reference::Reference;
use crate::ctxt::Ctxt;
use crate::ty;
use proc_macro2::Span;

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

/// A field with its reference.
pub struct Rules<'a> {
    pub cx: &'a Ctxt,
    pub container: &'a Container<'a>,
    pub field: &'a Field<'a>,
    pub reference: &'a Reference,
    pub place: Place,
}

impl Rules<'_> {
    pub fn error(&self, span: Span, message: impl std::fmt::Display) {
        error(self.cx, span, message);
    }

    pub fn label(&self) -> String {
        label(self.container, self.field)
    }

    pub fn attribute(&self) -> &'static str {
        self.reference.attribute()
    }

    /// The document on the other side, as the type names it.
    pub fn target(&self) -> String {
        match self.field.entry() {
            Some(entry) => ty::text(&entry.of),
            None => ty::referred(self.field.ty).map_or_else(|| "T".to_owned(), ty::text),
        }
    }
}
