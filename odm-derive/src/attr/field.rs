//! `#[field(…)]`: the bounds of a value.

use super::access::Access;
use super::rules::Rules;
use super::{At, Count, Number, count, flag, keys, once, read, signed, unknown, word};
use crate::ctxt::Ctxt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Type};

#[derive(Clone, Debug, Default)]
pub struct Field {
    pub max_len: Option<Count>,
    pub min_len: Option<Count>,
    pub min: Option<At<Number>>,
    pub max: Option<At<Number>>,
    /// The rules that are neither a length nor a range.
    pub rules: Rules,
    pub opaque: bool,
    /// It shows the fields that the struct does not declare; it is opaque too.
    pub extra: bool,
    /// The type whose shape a value has in the database, where a function of `#[serde(with)]` makes it.
    pub stored: Option<Type>,
    /// The value that is read where the field is missing, and that a new document gets.
    pub default: Option<syn::Expr>,
    /// The function that makes the value of a new document.
    pub generate: Option<syn::Path>,
    /// Every document has it, though one without it could be read: `stored` alone.
    pub always: bool,
    /// New documents have the value of the handle's scope.
    pub scope: bool,
    /// No error and no log shows its value.
    pub sensitive: bool,
    /// Which way it goes in JSON: both where nothing is said.
    pub access: Option<At<Access>>,
    /// It is an attribute of serde, beside `serde = json`, that says so.
    pub access_by_serde: bool,
    /// How it is stored, where that is said here and not by serde.
    pub form: super::serde::Field,
    /// Whether any of that is said.
    pub has_form: bool,
    /// Integers of it are texts in JSON: `json = text`.
    pub json_text: Option<proc_macro2::Span>,
}

impl Field {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Field {
        let mut field = Field::default();
        read(cx, attrs, "field", &keys::FIELD, |meta| {
            if meta.path.is_ident("max_len") {
                once(&mut field.max_len, count(meta)?, meta)
            } else if meta.path.is_ident("min_len") {
                once(&mut field.min_len, count(meta)?, meta)
            } else if meta.path.is_ident("min") {
                once(&mut field.min, signed(meta)?, meta)
            } else if meta.path.is_ident("max") {
                once(&mut field.max, signed(meta)?, meta)
            } else if let Some(read) = field.rules.parse(meta) {
                read
            } else if let Some(read) = super::storage::of_field(&mut field.form, meta) {
                field.has_form = true;
                read
            } else if meta.path.is_ident("default") {
                once(&mut field.default, meta.value()?.parse()?, meta)
            } else if meta.path.is_ident("generate") {
                once(&mut field.generate, meta.value()?.parse()?, meta)
            } else if meta.path.is_ident("opaque") {
                flag(&mut field.opaque, meta)
            } else if meta.path.is_ident("stored") && !meta.input.peek(syn::Token![=]) {
                flag(&mut field.always, meta)
            } else if meta.path.is_ident("extra") {
                flag(&mut field.extra, meta)
            } else if meta.path.is_ident("scope") {
                flag(&mut field.scope, meta)
            } else if meta.path.is_ident("sensitive") {
                flag(&mut field.sensitive, meta)
            } else if meta.path.is_ident("json") {
                let form: syn::Ident = meta.value()?.parse()?;
                if form != "text" {
                    return Err(meta.error("`json = text` writes the integers of the field as texts in JSON: there is no other form"));
                }
                once(&mut field.json_text, form.span(), meta)
            } else if meta.path.is_ident("private") {
                access(&mut field.access, Access::Private, meta)
            } else if meta.path.is_ident("read_only") {
                access(&mut field.access, Access::ReadOnly, meta)
            } else if meta.path.is_ident("write_only") {
                access(&mut field.access, Access::WriteOnly, meta)
            } else if meta.path.is_ident("stored") {
                once(&mut field.stored, meta.value()?.parse()?, meta)
            } else {
                Err(unknown(meta, &keys::FIELD))
            }
        });
        field.opaque |= field.extra;
        field
    }

    /// Whether it says anything of the value's size or range.
    pub fn has_bounds(&self) -> bool {
        self.max_len.is_some() || self.min_len.is_some() || self.has_range() || self.rules.are_declared()
    }

    pub fn has_range(&self) -> bool {
        self.min.is_some() || self.max.is_some()
    }
}

/// One of the three words, of which a field has one at most.
fn access(slot: &mut Option<At<Access>>, access: Access, meta: &ParseNestedMeta) -> syn::Result<()> {
    match slot {
        Some(other) if other.value != access => Err(meta.error(format!(
            "A field is `{}` or `{}`: a value that neither goes out nor comes in by JSON is `private`. Keep one of them",
            other.value.word(),
            word(&meta.path)
        ))),
        _ => once(slot, At::new(access, meta.path.span()), meta),
    }
}
