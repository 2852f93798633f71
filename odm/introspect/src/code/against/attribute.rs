//! The attributes of types and fields, as far as they say what is stored.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Token};

/// One option: `name = "x"`, `fields(a, b)`, `unique`.
#[derive(Clone, Debug)]
pub struct Word {
    /// Its name.
    pub name: String,
    /// The text behind `=`, where it is one.
    pub text: Option<String>,
    /// The type or path behind `=`.
    pub value: Option<TokenStream>,
    /// What stands in parentheses.
    pub inside: Option<TokenStream>,
}

impl Parse for Word {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        // A descending field of an index.
        let minus = if input.peek(Token![-]) {
            let _: Token![-] = input.parse()?;
            "-"
        } else {
            ""
        };
        let mut names = Vec::new();
        loop {
            let ident = syn::ext::IdentExt::parse_any(input)?;
            names.push(ident_text(&ident));
            if input.peek(Token![.]) {
                let _: Token![.] = input.parse()?;
            } else if input.peek(Token![::]) {
                let _: Token![::] = input.parse()?;
            } else {
                break;
            }
        }
        let mut word = Self {
            name: format!("{minus}{}", names.join(".")),
            text: None,
            value: None,
            inside: None,
        };
        if input.peek(Token![=]) {
            let _: Token![=] = input.parse()?;
            let mut value = TokenStream::new();
            while !input.is_empty() && !input.peek(Token![,]) {
                value.extend(std::iter::once(input.parse::<proc_macro2::TokenTree>()?));
            }
            word.text = syn::parse2::<syn::LitStr>(value.clone())
                .ok()
                .map(|text| text.value());
            word.value = Some(value);
        } else if input.peek(syn::token::Paren) {
            let inside;
            syn::parenthesized!(inside in input);
            word.inside = Some(inside.parse()?);
        }
        Ok(word)
    }
}

/// The name without `r#`.
pub fn ident_text(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}

/// The options of all attributes of a name. What can't be read is left out.
pub fn words(attributes: &[Attribute], name: &str) -> Vec<Word> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident(name))
        .filter_map(|attribute| match &attribute.meta {
            syn::Meta::List(list) => Some(inside(list.tokens.clone())),
            _ => None,
        })
        .flatten()
        .collect()
}

/// The options in parentheses.
pub fn inside(tokens: TokenStream) -> Vec<Word> {
    let parse = |input: ParseStream<'_>| Punctuated::<Word, Token![,]>::parse_terminated(input);
    syn::parse::Parser::parse2(parse, tokens).map_or_else(|_| Vec::new(), |words| words.into_iter().collect())
}

/// Whether there is an attribute of this name.
pub fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

/// The derives of a type, by their last names.
pub fn derives(attributes: &[Attribute]) -> Vec<String> {
    let mut all = Vec::new();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("derive"))
    {
        let parse = |input: ParseStream<'_>| Punctuated::<syn::Path, Token![,]>::parse_terminated(input);
        if let Ok(paths) = attribute.parse_args_with(parse) {
            all.extend(
                paths
                    .iter()
                    .filter_map(|path| Some(ident_text(&path.segments.last()?.ident))),
            );
        }
    }
    all
}

/// A name in the case of `rename_all`: of a field, which is in snake case in Rust, or of a variant, in Pascal case.
pub fn in_case(name: &str, case: &str, is_variant: bool) -> String {
    let words: Vec<String> = if is_variant {
        let mut words = vec![String::new()];
        for (at, c) in name.char_indices() {
            if at > 0 && c.is_uppercase() {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(c.to_ascii_lowercase());
            }
        }
        words
    } else {
        name.split('_').map(str::to_owned).collect()
    };
    let capital = |word: &String| {
        let mut chars = word.chars();
        let first: String = chars.next().map(|c| c.to_ascii_uppercase()).into_iter().collect();
        first + chars.as_str()
    };
    let pascal: String = words.iter().map(capital).collect();
    match case {
        "lowercase" if is_variant => name.to_ascii_lowercase(),
        "UPPERCASE" => name.to_ascii_uppercase(),
        "PascalCase" => pascal,
        "camelCase" => {
            let mut chars = pascal.chars();
            let first: String = chars.next().map(|c| c.to_ascii_lowercase()).into_iter().collect();
            first + chars.as_str()
        }
        "snake_case" => words.join("_"),
        "SCREAMING_SNAKE_CASE" => words.join("_").to_ascii_uppercase(),
        "kebab-case" => words.join("-"),
        "SCREAMING-KEBAB-CASE" => words.join("-").to_ascii_uppercase(),
        _ => name.to_owned(),
    }
}
