//! The attributes, one file each: from tokens to plain data, with errors that say what to write.

use crate::ctxt::Ctxt;
use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, ExprLit, Lit, LitInt, LitStr, Path, Token};

pub mod bucket;
pub mod copy;
pub mod document;
pub mod embed;
pub mod field;
pub mod index;
pub mod projection;
pub mod reference;
pub mod serde;

/// A value with the place where it was written.
#[derive(Clone, Debug)]
pub struct At<T> {
    pub value: T,
    pub span: Span,
}

impl<T> At<T> {
    pub fn new(value: T, span: Span) -> At<T> {
        At { value, span }
    }
}

/// Reads every attribute called `name` with `each` for one entry; an error ends that attribute only.
pub fn read(
    cx: &Ctxt,
    attrs: &[Attribute],
    name: &str,
    mut each: impl FnMut(&ParseNestedMeta) -> syn::Result<()>,
) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident(name)) {
        if matches!(attr.meta, syn::Meta::Path(_)) {
            continue;
        }
        cx.keep(attr.parse_nested_meta(|meta| each(&meta)));
    }
}

/// Whether there is an attribute called `name`, and where the first is.
pub fn find<'a>(attrs: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attrs.iter().find(|attr| attr.path().is_ident(name))
}

/// Fills a slot that may be filled once.
pub fn once<T>(slot: &mut Option<T>, value: T, meta: &ParseNestedMeta) -> syn::Result<()> {
    if slot.is_some() {
        return Err(meta.error(format!("`{}` is given twice. Keep one of them", word(&meta.path))));
    }
    *slot = Some(value);
    Ok(())
}

/// Sets a flag that may be set once.
pub fn flag(slot: &mut bool, meta: &ParseNestedMeta) -> syn::Result<()> {
    if *slot {
        return Err(meta.error(format!("`{}` is given twice. Keep one of them", word(&meta.path))));
    }
    *slot = true;
    Ok(())
}

/// `= N`, not negative.
pub fn number(meta: &ParseNestedMeta) -> syn::Result<At<u64>> {
    let name = word(&meta.path);
    let advice = || format!("`{name}` takes a whole number that is not negative, such as `{name} = 20`");
    let value = meta.value().map_err(|_| meta.error(advice()))?;
    let span = value.span();
    let literal: LitInt = value.parse().map_err(|_| syn::Error::new(span, advice()))?;
    match literal.base10_parse() {
        Ok(number) => Ok(At::new(number, literal.span())),
        Err(_) => Err(syn::Error::new(literal.span(), advice())),
    }
}

/// `= "text"`.
pub fn string(meta: &ParseNestedMeta, example: &str) -> syn::Result<LitStr> {
    let name = word(&meta.path);
    let advice = || format!("`{name}` takes a string, such as `{name} = \"{example}\"`");
    let value = meta.value().map_err(|_| meta.error(advice()))?;
    let span = value.span();
    value.parse().map_err(|_| syn::Error::new(span, advice()))
}

/// `crate = "path"` or `crate = path`.
pub fn krate(meta: &ParseNestedMeta) -> syn::Result<Path> {
    let value = meta.value()?;
    if value.peek(LitStr) {
        value.parse::<LitStr>()?.parse_with(Path::parse_mod_style)
    } else {
        value.call(Path::parse_mod_style)
    }
}

/// The last word of an entry's path.
pub fn word(path: &Path) -> String {
    path.segments
        .last()
        .map(|segment| segment.ident.to_string())
        .unwrap_or_default()
}

/// The error for an entry that does not exist, with those that do.
pub fn unknown(meta: &ParseNestedMeta, attribute: &str, known: &str) -> syn::Error {
    meta.error(format!(
        "`{}` is not an option of `#[{attribute}(…)]`. There are {known}",
        word(&meta.path)
    ))
}

/// Passes over the rest of an entry whose value does not matter: `= value`, `(…)` or nothing.
pub fn skip(meta: &ParseNestedMeta) -> syn::Result<()> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        let content;
        syn::parenthesized!(content in meta.input);
        content.parse::<proc_macro2::TokenStream>()?;
    }
    Ok(())
}

/// A number of either kind, also negative.
pub fn signed(meta: &ParseNestedMeta) -> syn::Result<At<Number>> {
    let name = word(&meta.path);
    let advice = || format!("`{name}` takes a number, such as `{name} = 0` or `{name} = -1.5`");
    let value = meta.value().map_err(|_| meta.error(advice()))?;
    let span = value.span();
    let negative = value.parse::<Option<Token![-]>>()?.is_some();
    let wrong = || syn::Error::new(span, advice());
    let expr: ExprLit = value.parse().map_err(|_| wrong())?;
    let number = match &expr.lit {
        Lit::Int(int) => {
            let digits = int.base10_digits();
            let text = if negative {
                format!("-{digits}")
            } else {
                digits.to_owned()
            };
            Number::Int(text.parse().map_err(|_| {
                syn::Error::new(
                    int.span(),
                    format!("`{name}` is compared as a 64-bit integer, and {text} is none"),
                )
            })?)
        }
        Lit::Float(float) => {
            let number: f64 = float.base10_parse().map_err(|_| wrong())?;
            if !number.is_finite() {
                return Err(wrong());
            }
            Number::Float(if negative { -number } else { number })
        }
        _ => return Err(wrong()),
    };
    Ok(At::new(number, expr.lit.span()))
}

/// A bound of `min` or `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(n) => n,
        }
    }
}
