//! The rules of values in `#[field(…)]`, as far as the field's syntax shows them.

use super::message::{error, label};
use crate::ast::{Container, Field};
use crate::attr::Number;
use crate::attr::rules::OneOf;
use crate::ctxt::Ctxt;
use syn::spanned::Spanned;
use syn::{Expr, Lit, UnOp};

pub fn of_field(cx: &Ctxt, container: &Container, field: &Field) {
    let rules = &field.field.rules;
    let label = label(container, field);
    if let Some(default) = &field.field.default
        && let Some(wrong) = literal(default).and_then(|value| refused(field, &value))
    {
        cx.error(
            default,
            format!(
                "`{label}`: the default {wrong}, so no document with it could be written. Write a default that the rules of the field \
                 allow"
            ),
        );
    }
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

/// A value that is written out.
enum Literal {
    Number(f64),
    Text(String),
}

/// The value of a literal, also of one that is made a `String`, or stands in `Some(…)`.
fn literal(expr: &Expr) -> Option<Literal> {
    match expr {
        Expr::Group(group) => literal(&group.expr),
        Expr::Paren(inner) => literal(&inner.expr),
        Expr::Lit(of) => match &of.lit {
            Lit::Int(number) => number.base10_parse().ok().map(Literal::Number),
            Lit::Float(number) => number.base10_parse().ok().map(Literal::Number),
            Lit::Str(text) => Some(Literal::Text(text.value())),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => match literal(&unary.expr)? {
            Literal::Number(number) => Some(Literal::Number(-number)),
            Literal::Text(_) => None,
        },
        Expr::MethodCall(call) if call.args.is_empty() => literal(&call.receiver).filter(|_| {
            ["to_owned", "to_string", "into"]
                .iter()
                .any(|name| call.method == name)
        }),
        Expr::Call(call) if call.args.len() == 1 => {
            let function = crate::ty::text(&call.func);
            let keeps = ["String::from", "Some"]
                .iter()
                .any(|name| function.ends_with(name));
            call.args.first().filter(|_| keeps).and_then(literal)
        }
        _ => None,
    }
}

/// Why the rules of the field don't allow a value.
fn refused(field: &Field, value: &Literal) -> Option<String> {
    match value {
        Literal::Number(number) => number_is_refused(field, *number),
        Literal::Text(text) => text_is_refused(field, text),
    }
}

fn number_is_refused(field: &Field, number: f64) -> Option<String> {
    let declared = &field.field;
    let bound = |of: &Option<crate::attr::At<Number>>| of.as_ref().and_then(|at| at.value.known());
    if let Some(min) = bound(&declared.min).filter(|min| number < *min) {
        return Some(format!("{number} is below `min = {min}`"));
    }
    if let Some(max) = bound(&declared.max).filter(|max| number > *max) {
        return Some(format!("{number} is above `max = {max}`"));
    }
    let factor = declared
        .rules
        .multiple_of
        .as_ref()
        .and_then(crate::attr::Count::known);
    if let Some(factor) = factor.filter(|factor| *factor > 0 && number % *factor as f64 != 0.0) {
        return Some(format!(
            "{number} is no multiple of {factor}, as `multiple_of` demands"
        ));
    }
    match declared.rules.one_of.as_ref().map(|at| &at.value) {
        Some(OneOf::Numbers(known)) if !known.iter().any(|one| *one as f64 == number) => {
            Some(format!("{number} is none of those in `one_of`"))
        }
        _ => None,
    }
}

fn text_is_refused(field: &Field, text: &str) -> Option<String> {
    let declared = &field.field;
    let normalize = declared
        .rules
        .normalize
        .as_ref()
        .map(|at| at.value)
        .unwrap_or_default();
    let text = if normalize.trim { text.trim() } else { text };
    let text = if normalize.lowercase {
        text.to_lowercase()
    } else {
        text.to_owned()
    };
    let length = text.chars().count() as u64;
    let bound = |of: &Option<crate::attr::Count>| of.as_ref().and_then(crate::attr::Count::known);
    if let Some(max) = bound(&declared.max_len).filter(|max| length > *max) {
        return Some(format!("`{text}` is longer than `max_len = {max}`"));
    }
    if let Some(min) = bound(&declared.min_len).filter(|min| length < *min) {
        return Some(format!("`{text}` is shorter than `min_len = {min}`"));
    }
    match declared.rules.one_of.as_ref().map(|at| &at.value) {
        Some(OneOf::Texts(known)) if !known.contains(&text) => {
            Some(format!("`{text}` is none of those in `one_of`"))
        }
        _ => None,
    }
}
