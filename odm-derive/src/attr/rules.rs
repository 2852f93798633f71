//! The rules of a value in `#[field(…)]`: `pattern`, `email`, `url`, `one_of`, `multiple_of`, `unique_items`, `normalize` and
//! `check_with`.

use super::{At, Count, count, once, pattern, string, word};
use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Lit, LitStr, Path, Token};

#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub pattern: Option<At<Pattern>>,
    pub one_of: Option<At<OneOf>>,
    pub multiple_of: Option<Count>,
    pub unique_items: Option<Span>,
    pub normalize: Option<At<Normalize>>,
    pub check_with: Option<Path>,
}

/// The expression that a string has to match.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Rewritten in the syntax that the server and the library have in common.
    Text(String),
    Email,
    Url,
}

/// The values that a field may have.
#[derive(Clone, Debug)]
pub enum OneOf {
    Texts(Vec<String>),
    Numbers(Vec<i64>),
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Normalize {
    pub trim: bool,
    pub lowercase: bool,
}

impl Rules {
    /// Reads one of its options; `None` where it is none of them.
    pub fn parse(&mut self, meta: &ParseNestedMeta) -> Option<syn::Result<()>> {
        Some(match word(&meta.path).as_str() {
            "pattern" => self.text(meta),
            "email" => self.format(meta, Pattern::Email),
            "url" => self.format(meta, Pattern::Url),
            "one_of" => one_of(meta).and_then(|values| once(&mut self.one_of, values, meta)),
            "multiple_of" => count(meta).and_then(|number| once(&mut self.multiple_of, number, meta)),
            "unique_items" => once(&mut self.unique_items, meta.path.span(), meta),
            "normalize" => normalize(meta).and_then(|how| once(&mut self.normalize, how, meta)),
            "check_with" => function(meta).and_then(|path| once(&mut self.check_with, path, meta)),
            _ => return None,
        })
    }

    pub fn are_declared(&self) -> bool {
        self.of_values() || self.unique_items.is_some()
    }

    /// Whether there is a rule of a single value: of an array, of its items.
    pub fn of_values(&self) -> bool {
        self.pattern.is_some()
            || self.one_of.is_some()
            || self.multiple_of.is_some()
            || self.normalize.is_some()
            || self.check_with.is_some()
    }

    fn text(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        let text = string(meta, "[a-z]+")?;
        let rewritten = pattern::rewritten(&text.value())
            .map_err(|why| syn::Error::new(text.span(), format!("`pattern = {}`: {why}", shown(&text))))?;
        self.one(meta, At::new(Pattern::Text(rewritten), text.span()))
    }

    fn format(&mut self, meta: &ParseNestedMeta, format: Pattern) -> syn::Result<()> {
        self.one(meta, At::new(format, meta.path.span()))
    }

    fn one(&mut self, meta: &ParseNestedMeta, pattern: At<Pattern>) -> syn::Result<()> {
        if self.pattern.is_some() {
            return Err(meta.error(
                "a field has one of `pattern`, `email` and `url`. Keep one of them, or write one expression that says both",
            ));
        }
        self.pattern = Some(pattern);
        Ok(())
    }
}

fn shown(text: &LitStr) -> String {
    format!("{:?}", text.value())
}

/// `("a", "b")` or `(1, 2, 3)`.
fn one_of(meta: &ParseNestedMeta) -> syn::Result<At<OneOf>> {
    let advice = "`one_of` lists strings or whole numbers: `one_of(\"new\", \"open\")`, `one_of(1, 2, 5)`";
    if !meta.input.peek(syn::token::Paren) {
        return Err(meta.error(advice));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    while !content.is_empty() {
        let minus: Option<Token![-]> = content.parse()?;
        let literal: Lit = content
            .parse()
            .map_err(|error| syn::Error::new(error.span(), advice))?;
        let span = literal.span();
        let wrong = || syn::Error::new(span, advice);
        let is_new = match (literal, minus.is_some()) {
            (Lit::Str(text), false) => listed(&mut texts, text.value()),
            (Lit::Int(number), negative) => {
                let sign = if negative { "-" } else { "" };
                let number: i64 = format!("{sign}{}", number.base10_digits())
                    .parse()
                    .map_err(|_| wrong())?;
                listed(&mut numbers, number)
            }
            _ => return Err(wrong()),
        };
        if !is_new {
            return Err(syn::Error::new(
                span,
                "`one_of` lists this value twice. Leave one out",
            ));
        }
        if !texts.is_empty() && !numbers.is_empty() {
            return Err(syn::Error::new(
                span,
                "`one_of` lists strings or numbers, and a field stores one kind. Leave the other one out",
            ));
        }
        if !content.is_empty() {
            content
                .parse::<Token![,]>()
                .map_err(|error| syn::Error::new(error.span(), advice))?;
        }
    }
    let span = meta.path.span();
    match (texts.is_empty(), numbers.is_empty()) {
        (false, _) => Ok(At::new(OneOf::Texts(texts), span)),
        (true, false) => Ok(At::new(OneOf::Numbers(numbers), span)),
        (true, true) => Err(meta.error(advice)),
    }
}

/// Adds a value to a list; whether it is new.
fn listed<T: PartialEq>(list: &mut Vec<T>, value: T) -> bool {
    let is_new = !list.contains(&value);
    list.push(value);
    is_new
}

/// `(trim, lowercase)`.
fn normalize(meta: &ParseNestedMeta) -> syn::Result<At<Normalize>> {
    let advice = "`normalize` takes `trim`, `lowercase` or both: `normalize(trim, lowercase)`";
    let mut how = Normalize::default();
    if !meta.input.peek(syn::token::Paren) {
        return Err(meta.error(advice));
    }
    meta.parse_nested_meta(|inner| {
        let slot = match word(&inner.path).as_str() {
            "trim" => &mut how.trim,
            "lowercase" => &mut how.lowercase,
            _ => return Err(inner.error(advice)),
        };
        super::flag(slot, &inner)
    })?;
    if !how.trim && !how.lowercase {
        return Err(meta.error(advice));
    }
    Ok(At::new(how, meta.path.span()))
}

/// `= path::to::function`.
pub fn function(meta: &ParseNestedMeta) -> syn::Result<Path> {
    let advice = "`check_with` names a function: `check_with = is_valid`, or `check_with = checks::is_valid`";
    let value = meta.value().map_err(|_| meta.error(advice))?;
    let span = value.span();
    value
        .call(Path::parse_mod_style)
        .map_err(|_| syn::Error::new(span, advice))
}
