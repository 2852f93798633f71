//! How messages name a field, a type and a number.

use crate::ast::{Container, Field};
use crate::ctxt::Ctxt;
use crate::ty;
use proc_macro2::Span;
use syn::spanned::Spanned;

/// `Person.addresses: Vec<Address>`, as every message names a field.
pub fn label(container: &Container, field: &Field) -> String {
    format!("{}.{}", container.ident, field.label())
}

pub fn error(cx: &Ctxt, span: Span, message: impl std::fmt::Display) {
    cx.push(syn::Error::new(span, message));
}

/// The span of the type as it was written.
pub fn type_span(field: &Field) -> Span {
    field.ty.span()
}

/// The item of a list as it was written, for advice.
pub fn item_text(field: &Field) -> String {
    match ty::many(field.ty) {
        Some(ty::Many::List { item: Some(item), .. }) => ty::text(item),
        _ => "T".into(),
    }
}

/// A number as people read it: `50,000`.
pub fn thousands(number: u64) -> String {
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
