//! `Self` in what was written, as serde reads it: the type itself. The structs that are made beside it copy its fields, and
//! there `Self` would be another type.

use crate::ty;
use proc_macro2::{Group, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::DeriveInput;

/// The input with the type in the place of `Self`.
pub fn named(input: &DeriveInput) -> DeriveInput {
    let tokens = input.to_token_stream();
    if !ty::mentions(&tokens, &[&format_ident!("Self")]) {
        return input.clone();
    }
    syn::parse2(replace(tokens, input)).unwrap_or_else(|_| input.clone())
}

fn replace(tokens: TokenStream, input: &DeriveInput) -> TokenStream {
    let mut out = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) if ident == "Self" => {
                // `Self::Id` begins a path, in which arguments would need another form.
                let begins = matches!(
                    tokens.peek(),
                    Some(TokenTree::Punct(punct)) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint
                );
                out.extend(itself(input, begins, ident.span()));
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace(group.stream(), input));
                inner.set_span(group.span());
                out.extend([TokenTree::Group(inner)]);
            }
            token => out.extend([token]),
        }
    }
    out
}

/// The type with its parameters, in the place where `Self` stood.
fn itself(input: &DeriveInput, begins_a_path: bool, span: Span) -> TokenStream {
    let mut ident = input.ident.clone();
    ident.set_span(span);
    let (_, arguments, _) = input.generics.split_for_impl();
    if begins_a_path {
        quote_spanned!(span=> <#ident #arguments>)
    } else {
        quote_spanned!(span=> #ident #arguments)
    }
}
