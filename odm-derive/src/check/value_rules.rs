//! The rules of values in `#[field(…)]`, as far as the field's syntax shows them.

use super::message::{error, label};
use crate::ast::{Container, Field};
use crate::ctxt::Ctxt;
use syn::spanned::Spanned;

pub fn of_field(cx: &Ctxt, container: &Container, field: &Field) {
    let rules = &field.field.rules;
    let label = label(container, field);
    if let (Some(span), false) = (rules.unique_items, field.is_array()) {
        error(
            cx,
            span,
            format!(
                "`{label}` is no array with a bound, and `unique_items` compares the items of one. Declare the array in this field: \
                 `#[embed(max = 20)]`"
            ),
        );
    }
    if let Some(normalize) = rules.normalize.as_ref().filter(|_| field.name == "_id") {
        error(
            cx,
            normalize.span,
            format!(
                "`{label}` is an id, which `get` and references name as it is given, and `normalize` would store another one. Normalize \
                 it where it is made, and demand its form by `pattern`"
            ),
        );
    }
    if let Some(factor) = &rules.multiple_of
        && factor
            .known()
            .is_some_and(|factor| factor == 0 || i64::try_from(factor).is_err())
    {
        error(
            cx,
            factor.span(),
            format!("`multiple_of` of `{label}` takes a number from 1 to {}", i64::MAX),
        );
    }
    if let Some(function) = &rules.check_with
        && field.serde.with.is_some()
        && !field.serde.native
    {
        error(
            cx,
            function.span(),
            format!(
                "`{label}` is stored as a function of `#[serde(with)]` says, so `check_with` has no value of its type to call \
                 `{}` with. Check the whole document: `#[document(check_with = …)]`",
                crate::ty::text(function)
            ),
        );
    }
}
