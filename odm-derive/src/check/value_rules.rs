//! The rules of values in `#[field(…)]`, as far as the field's syntax shows them.

use super::message::{error, label};
use crate::ast::{Container, Field};
use crate::attr::rules::{OneOf, Pattern};
use crate::attr::serde::Default_;
use crate::attr::{Number, pattern};
use crate::ctxt::Ctxt;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, Lit, Token, Type, UnOp};

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
    if field.field.default.is_none()
        && let Some(Default_::Trait) = field.serde.default
        && let Some(wrong) = of_type(field.ty).and_then(|value| refused(field, &value))
    {
        cx.error(
            field.ty,
            format!(
                "`{label}`: the default of `{}` is refused, since {wrong}. Write one that the rules of the field allow: \
                 `#[field(default = …)]`",
                crate::ty::name(field.ty)
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
#[derive(PartialEq)]
enum Literal {
    Number(f64),
    Text(String),
    /// The items of an array, as far as they are written out.
    List(Vec<Option<Literal>>),
}

/// The value of a literal, also of one that is made a `String`, or stands in `Some(…)`.
fn literal(expr: &Expr) -> Option<Literal> {
    match expr {
        Expr::Group(group) => literal(&group.expr),
        Expr::Paren(inner) => literal(&inner.expr),
        Expr::Reference(inner) => literal(&inner.expr),
        Expr::Lit(of) => match &of.lit {
            Lit::Int(number) => number.base10_parse().ok().map(Literal::Number),
            Lit::Float(number) => number.base10_parse().ok().map(Literal::Number),
            Lit::Str(text) => Some(Literal::Text(text.value())),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => match literal(&unary.expr)? {
            Literal::Number(number) => Some(Literal::Number(-number)),
            _ => None,
        },
        Expr::Array(array) => Some(Literal::List(array.elems.iter().map(literal).collect())),
        Expr::Macro(call)
            if call
                .mac
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == "vec") =>
        {
            let items = call
                .mac
                .parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
            Some(Literal::List(items.ok()?.iter().map(literal).collect()))
        }
        Expr::MethodCall(call) if call.args.is_empty() => literal(&call.receiver).filter(|_| {
            ["to_owned", "to_string", "to_vec", "into"]
                .iter()
                .any(|name| call.method == name)
        }),
        Expr::Call(call) if call.args.len() == 1 => {
            let function = crate::ty::text(&call.func);
            let keeps = ["String::from", "Vec::from", "Some"]
                .iter()
                .any(|name| function.ends_with(name));
            call.args.first().filter(|_| keeps).and_then(literal)
        }
        _ => None,
    }
}

/// The value of `Default`, of a type that everybody knows.
fn of_type(ty: &Type) -> Option<Literal> {
    const NUMBERS: [&str; 12] = [
        "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "isize", "usize", "f32", "f64",
    ];
    if NUMBERS.iter().any(|name| crate::ty::exactly(ty, name)) {
        Some(Literal::Number(0.0))
    } else if crate::ty::exactly(ty, "String") {
        Some(Literal::Text(String::new()))
    } else {
        None
    }
}

/// The number that a default is, where a constant stands in it or in the range of the field: what the compiler has to compare.
pub fn number(field: &Field) -> Option<Number> {
    let default = field.field.default.as_ref()?;
    let inner = match default {
        Expr::Call(call) if crate::ty::text(&call.func).ends_with("Some") => call.args.first()?,
        other => other,
    };
    of_type(crate::ty::single(field.ty)).filter(|of| matches!(of, Literal::Number(_)))?;
    let is_constant = |path: &syn::ExprPath| {
        let last = path.path.segments.last().map(|last| last.ident.to_string());
        last.is_some_and(|name| {
            name.chars().all(|c| !c.is_lowercase()) && name.chars().any(char::is_uppercase)
        })
    };
    match (literal(inner), inner) {
        (Some(Literal::Number(number)), _) => Some(Number::Float(number)),
        (None, Expr::Path(path)) if is_constant(path) => Some(Number::Constant(Box::new(inner.clone()))),
        _ => None,
    }
}

/// The number of characters of a default that is a text.
pub fn length(field: &Field) -> Option<u64> {
    match literal(field.field.default.as_ref()?)? {
        Literal::Text(text) => Some(text.chars().count() as u64),
        _ => None,
    }
}

/// Why the rules of the field don't allow a value.
fn refused(field: &Field, value: &Literal) -> Option<String> {
    match value {
        Literal::Number(number) => number_is_refused(field, *number),
        Literal::Text(text) => text_is_refused(field, text),
        Literal::List(items) => list_is_refused(field, items),
    }
}

fn list_is_refused(field: &Field, items: &[Option<Literal>]) -> Option<String> {
    let count = items.len() as u64;
    let max = field.embed.max.as_ref().and_then(crate::attr::Count::known);
    if let Some(max) = max.filter(|max| count > *max) {
        return Some(format!("has {count} items, more than `max = {max}`"));
    }
    let is_twice = |(i, item): (usize, &Option<Literal>)| item.is_some() && items[..i].contains(item);
    if field.field.rules.unique_items.is_some() && items.iter().enumerate().any(is_twice) {
        return Some("has two items that are equal, which `unique_items` refuses".to_owned());
    }
    items
        .iter()
        .flatten()
        .find_map(|item| refused(field, item))
        .map(|wrong| format!("has an item, and {wrong}"))
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
    let (pattern, what) = match declared.rules.pattern.as_ref().map(|at| &at.value) {
        Some(Pattern::Text(own)) => (own.as_str(), "no match of `pattern`"),
        Some(Pattern::Email) => (pattern::EMAIL, "no e-mail address"),
        Some(Pattern::Url) => (pattern::URL, "no address of the web"),
        None => ("", ""),
    };
    if !pattern.is_empty() && !pattern::matches(pattern, &text) {
        return Some(format!("`{text}` is {what}"));
    }
    match declared.rules.one_of.as_ref().map(|at| &at.value) {
        Some(OneOf::Texts(known)) if !known.contains(&text) => {
            Some(format!("`{text}` is none of those in `one_of`"))
        }
        _ => None,
    }
}
