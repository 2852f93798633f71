//! The attributes, one file each: from tokens to plain data, with errors that say what to write.

use crate::ctxt::Ctxt;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitInt, LitStr, Meta, Path, Token, UnOp};

pub mod access;
pub mod bucket;
pub mod copy;
pub mod document;
pub mod embed;
pub mod field;
pub mod index;
pub mod keys;
pub mod pattern;
pub mod projection;
pub mod reference;
pub mod request;
pub mod row;
pub mod rules;
pub mod search;
pub mod serde;
pub mod shard_key;
pub mod storage;

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

/// Reads every attribute called `name` with `each` for one entry of those in `keys`. Behind an entry with an error the next one is
/// read.
pub fn read(
    cx: &Ctxt,
    attrs: &[Attribute],
    name: &str,
    keys: &keys::Attribute,
    mut each: impl FnMut(&ParseNestedMeta) -> syn::Result<()>,
) {
    read_all(cx, attrs, name, keys, |meta| {
        allowed(meta, keys)?;
        each(meta)
    });
}

/// The same, where `each` judges entries that are not in `keys`.
pub fn read_all(
    cx: &Ctxt,
    attrs: &[Attribute],
    name: &str,
    keys: &keys::Attribute,
    mut each: impl FnMut(&ParseNestedMeta) -> syn::Result<()>,
) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident(name)) {
        entries(cx, attr, keys, &mut each);
    }
}

/// Reads the entries of one attribute, and says whether all could be read.
pub fn entries(
    cx: &Ctxt,
    attr: &Attribute,
    keys: &keys::Attribute,
    mut each: impl FnMut(&ParseNestedMeta) -> syn::Result<()>,
) -> bool {
    let list = match &attr.meta {
        Meta::Path(_) => return true,
        Meta::List(list) => list,
        Meta::NameValue(pair) => {
            let message = format!("The options of `{}` stand in parentheses", keys.shown);
            cx.unreadable(attr, syn::Error::new_spanned(pair, message));
            return false;
        }
    };
    let begins = list.parse_args_with(|input: ParseStream| {
        begins_with_a_name(input, keys)?;
        input.parse::<TokenStream>()
    });
    if cx.keep(attr, begins).is_none() {
        return false;
    }
    let mut is_read = true;
    let read = attr.parse_nested_meta(|meta| {
        entry(&meta, keys, &mut each).or_else(|error| {
            is_read = false;
            cx.unreadable(attr, error);
            skip_entry(meta.input)
        })
    });
    // Behind an entry with an error, what is said of the rest may be said because of it.
    is_read && cx.keep(attr, read).is_some()
}

/// Reads the entries in the parentheses behind the name of another one.
pub fn nested(
    meta: &ParseNestedMeta,
    keys: &keys::Attribute,
    mut each: impl FnMut(&ParseNestedMeta) -> syn::Result<()>,
) -> syn::Result<()> {
    let ahead = meta.input.fork();
    let content;
    syn::parenthesized!(content in ahead);
    begins_with_a_name(&content, keys)?;
    meta.parse_nested_meta(|meta| {
        allowed(&meta, keys)?;
        entry(&meta, keys, &mut each)
    })
}

/// Reads one entry, behind which a comma or nothing stands.
fn entry(
    meta: &ParseNestedMeta,
    keys: &keys::Attribute,
    each: &mut impl FnMut(&ParseNestedMeta) -> syn::Result<()>,
) -> syn::Result<()> {
    in_words(meta, keys, &mut *each)?;
    if meta.input.is_empty() {
        return Ok(());
    }
    if !meta.input.peek(Token![,]) {
        let place = meta.input.span();
        return Err(if meta.input.peek(Ident::peek_any) {
            syn::Error::new(
                place,
                "A comma stands between two options. Add it before this one",
            )
        } else {
            written(meta, keys, place, meta.input.peek(syn::token::Paren))
        });
    }
    let ahead = meta.input.fork();
    ahead.parse::<Token![,]>()?;
    begins_with_a_name(&ahead, keys)
}

/// Reads an entry with `each`, and says how it is written in the place of what the parser missed.
pub fn in_words(
    meta: &ParseNestedMeta,
    keys: &keys::Attribute,
    mut each: impl FnMut(&ParseNestedMeta) -> syn::Result<()>,
) -> syn::Result<()> {
    let is_quoted = meta.input.peek(Token![=]) && meta.input.peek2(LitStr);
    each(meta).map_err(|error| {
        let text = error.to_string();
        // So begin the messages of `syn`, and no others.
        if !text.starts_with("expected") && !text.starts_with("unexpected") {
            return error;
        }
        let mut own = written(meta, keys, error.span(), false).to_string();
        if is_quoted && !own.contains('"') {
            own.push_str(", without quotes");
        }
        syn::Error::new(error.span(), own)
    })
}

/// The error for an entry that is written in another way.
fn written(meta: &ParseNestedMeta, keys: &keys::Attribute, place: Span, is_called: bool) -> syn::Error {
    let name = word(&meta.path);
    let forms = keys.get(&name).map_or(&[][..], |key| key.syntax);
    let how = match forms {
        [form] if *form == name => format!("takes no value. Write `{name}`"),
        [form] if is_called && form.ends_with("= function") => {
            format!("names a function without its arguments: `{form}`")
        }
        forms => format!("is written `{}`", forms.join("` or `")),
    };
    syn::Error::new(place, format!("`{name}` {how}"))
}

/// An entry begins with its name, and not with a value: `collection = "users"`, and not `"users"`.
fn begins_with_a_name(input: ParseStream, keys: &keys::Attribute) -> syn::Result<()> {
    if input.is_empty() || input.peek(Ident::peek_any) {
        return Ok(());
    }
    let text = input.fork().parse::<LitStr>().map(|text| text.value());
    let text = text.unwrap_or_default();
    let (problem, example) = match (keys.get(&text), keys.options.first()) {
        (Some(meant), _) => ("is written without quotes", meant.syntax[0].to_owned()),
        (None, Some(first)) if text.is_empty() => ("begins with its name", first.syntax[0].to_owned()),
        (None, first) => {
            let example = first.map_or("", |first| first.syntax[0]);
            (
                "begins with its name",
                example.replace("\"…\"", &format!("{text:?}")),
            )
        }
    };
    Err(input.error(format!("An option of `{}` {problem}: `{example}`", keys.shown)))
}

/// Leaves out what is left of an entry.
fn skip_entry(input: ParseStream) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
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

/// A whole number that is not negative. A literal is checked by the derive; a constant, whose value only the compiler knows,
/// by an assertion in the generated code.
#[derive(Clone, Debug)]
pub enum Count {
    Literal(u64, Span),
    Constant(Box<Expr>),
}

impl Count {
    /// The value of a literal.
    pub fn known(&self) -> Option<u64> {
        match self {
            Count::Literal(number, _) => Some(*number),
            Count::Constant(_) => None,
        }
    }

    pub fn constant(&self) -> Option<&Expr> {
        match self {
            Count::Literal(..) => None,
            Count::Constant(constant) => Some(constant),
        }
    }

    pub fn span(&self) -> Span {
        match self {
            Count::Literal(_, span) => *span,
            Count::Constant(constant) => constant.span(),
        }
    }

    /// As it was written, for messages.
    pub fn text(&self) -> String {
        match self {
            Count::Literal(number, _) => number.to_string(),
            Count::Constant(constant) => crate::ty::text(constant),
        }
    }

    /// The value as a `u64`.
    pub fn value(&self, odm: &TokenStream) -> TokenStream {
        match self {
            Count::Literal(number, _) => quote::quote!(#number),
            Count::Constant(_) => {
                let signed = self.signed(odm);
                quote_spanned!(self.span()=> #odm::check::unsigned(#signed))
            }
        }
    }

    /// The value as an `i128`, in which a negative constant is still one.
    pub fn signed(&self, odm: &TokenStream) -> TokenStream {
        match self {
            Count::Literal(number, _) => quote::quote!(#number as i128),
            Count::Constant(constant) => {
                quote_spanned!(self.span()=> #odm::check::whole(#constant) as i128)
            }
        }
    }
}

/// `= N` or `= CONSTANT`, not negative.
pub fn count(meta: &ParseNestedMeta) -> syn::Result<Count> {
    let name = word(&meta.path);
    let advice = || {
        format!(
            "`{name}` takes a whole number that is not negative, such as `{name} = 20`, or a constant: `{name} = limits::MOST`"
        )
    };
    let value = meta.value().map_err(|_| meta.error(advice()))?;
    let span = value.span();
    let expr: Expr = value.parse().map_err(|_| syn::Error::new(span, advice()))?;
    match ungrouped(expr) {
        Expr::Lit(ExprLit {
            lit: Lit::Int(literal),
            ..
        }) => match literal.base10_parse() {
            Ok(number) => Ok(Count::Literal(number, literal.span())),
            Err(_) => Err(syn::Error::new(literal.span(), advice())),
        },
        constant if is_constant(&constant) => Ok(Count::Constant(Box::new(constant))),
        _ => Err(syn::Error::new(span, advice())),
    }
}

/// Without the invisible delimiters around what a macro has put in.
fn ungrouped(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => ungrouped(*group.expr),
        expr => expr,
    }
}

/// An expression that may be a number which the compiler computes.
fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)))
        || matches!(
            expr,
            Expr::Path(_)
                | Expr::Binary(_)
                | Expr::Block(_)
                | Expr::Call(_)
                | Expr::Cast(_)
                | Expr::Const(_)
                | Expr::Field(_)
                | Expr::Index(_)
                | Expr::Macro(_)
                | Expr::MethodCall(_)
                | Expr::Paren(_)
        )
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

/// The error for a word that is none of those that an option takes: with the one that was meant where it is near, else with all.
pub fn unknown_word(given: &syn::Ident, option: &str, known: &[&str], advice: &str) -> syn::Error {
    let written = given.to_string();
    let message = match keys::near(&written, known.iter().copied()) {
        Some(near) => format!("`{option}` takes no `{written}`. Did you mean `{near}`?"),
        None => advice.to_owned(),
    };
    syn::Error::new(given.span(), message)
}

/// The name of an entry, if it is one of the attribute's. Entries of generated code begin with two underscores.
pub fn allowed(meta: &ParseNestedMeta, attribute: &keys::Attribute) -> syn::Result<String> {
    let name = word(&meta.path);
    if attribute.has(&name) || name.starts_with("__") {
        Ok(name)
    } else {
        Err(unknown(meta, attribute))
    }
}

/// The error for an entry that does not exist, with those that do.
pub fn unknown(meta: &ParseNestedMeta, attribute: &keys::Attribute) -> syn::Error {
    let name = word(&meta.path);
    let own = match name.as_str() {
        "rename" => "name",
        "skip_serializing_if" => "skip_none",
        _ => "",
    };
    if attribute.has(own) {
        return meta.error(format!("`{name}` of serde is `{own}` in `{}`", attribute.shown));
    }
    if ["deny_unknown_fields", "default"].contains(&name.as_str()) {
        return meta.error(format!(
            "`{name}` is not an option of `{}`. Write serde's attribute, `#[serde({name})]`, which needs none of its derives",
            attribute.shown
        ));
    }
    if let Some(near) = attribute.near(&name) {
        return meta.error(format!(
            "`{name}` is not an option of `{}`. Did you mean `{}`?",
            attribute.shown,
            near.syntax.join("` or `")
        ));
    }
    let known: Vec<String> = attribute
        .options
        .iter()
        .flat_map(|key| {
            key.syntax
                .iter()
                .map(move |syntax| format!("`{syntax}`{}", key.note))
        })
        .collect();
    let known = match known.as_slice() {
        [] => "are none".to_owned(),
        [one] => format!("is {one}"),
        [others @ .., last] => format!("are {} and {last}", others.join(", ")),
    };
    meta.error(format!(
        "`{name}` is not an option of `{}`. There {known}{}",
        attribute.shown, attribute.advice
    ))
}

/// `(Clone, Debug)`.
pub fn derives(list: &mut Vec<Path>, meta: &ParseNestedMeta) -> syn::Result<()> {
    if !meta.input.peek(syn::token::Paren) {
        return Err(
            meta.error("`derive` lists derives of the structs that are made: `derive(PartialEq, Eq, Hash)`")
        );
    }
    meta.parse_nested_meta(|meta| {
        list.push(meta.path.clone());
        Ok(())
    })
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
    let advice =
        || format!("`{name}` takes a number, such as `{name} = 0` or `{name} = -1.5`, or a constant");
    let value = meta.value().map_err(|_| meta.error(advice()))?;
    let span = value.span();
    let is_literal = value.peek(Lit) || value.peek(Token![-]) && value.peek2(Lit);
    if !is_literal {
        let expr = value.parse().map_err(|_| syn::Error::new(span, advice()))?;
        let number = ungrouped(expr);
        let inner = match &number {
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => &unary.expr,
            number => number,
        };
        if !is_constant(inner) {
            return Err(syn::Error::new(span, advice()));
        }
        return Ok(At::new(Number::Constant(Box::new(number)), span));
    }
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
#[derive(Clone, Debug)]
pub enum Number {
    Int(i64),
    Float(f64),
    /// A constant, whose type and value only the compiler knows.
    Constant(Box<Expr>),
}

impl Number {
    /// The value of a literal.
    pub fn known(&self) -> Option<f64> {
        match self {
            Number::Int(n) => Some(*n as f64),
            Number::Float(n) => Some(*n),
            Number::Constant(_) => None,
        }
    }

    pub fn constant(&self) -> Option<&Expr> {
        match self {
            Number::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// Whether a constant is a float, and its value as a float and as an integer.
    pub fn parts(constant: &Expr, odm: &TokenStream) -> TokenStream {
        quote_spanned! {constant.span()=>
            {
                #[allow(clippy::unnecessary_cast)]
                let parts = (#odm::check::is_float(#constant), (#constant) as f64, (#constant) as i128);
                parts
            }
        }
    }

    /// The `Number` of the runtime crate.
    pub fn value(&self, odm: &TokenStream) -> TokenStream {
        match self {
            Number::Int(n) => quote::quote!(#odm::Number::Int(#n)),
            Number::Float(n) => quote::quote!(#odm::Number::Float(#n)),
            Number::Constant(constant) => {
                let value = Number::parts(constant, odm);
                quote_spanned!(constant.span()=> { let value = #value; #odm::check::bound(value.0, value.1, value.2) })
            }
        }
    }
}
