//! Derives of the [`odm`](https://docs.rs/odm) crate; use them through it.
//!
//! The way of a type through this crate: [`ast`] reads what was written, with the attributes of [`attr`]; [`check`] holds
//! the rules across fields and attributes; [`expand`] writes the code, which is thin: it names constants and calls
//! functions of `odm::__private`. Errors are collected in a [`ctxt::Ctxt`], so that one compilation shows all of them, and
//! [`fallback`] stands in for the code of a type with errors, so that nothing else is reported.
#![warn(missing_docs)]

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod ast;
mod attr;
mod case;
mod check;
mod ctxt;
mod expand;
mod fallback;
mod ty;

#[cfg(test)]
mod tests;

/// Makes a struct a document of a MongoDB collection.
#[proc_macro_derive(Document, attributes(document, field, embed, index))]
pub fn document(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::document::derive(&input).into()
}

/// Makes a struct or an enum a value that documents store inside them.
#[proc_macro_derive(Embed, attributes(embed, field, index))]
pub fn embed(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::embed::derive(&input).into()
}

/// Makes a struct a part of a document's fields, which a query returns instead of the whole document.
#[proc_macro_derive(Projection, attributes(projection))]
pub fn projection(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::projection::derive(&input).into()
}
