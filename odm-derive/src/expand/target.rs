//! The facts about a type that all outputs need.

use crate::ast::{Container, Field};
use crate::attr::reference::Reference;
use proc_macro_crate::FoundCrate;
use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::quote;
use syn::ext::IdentExt;
use syn::{Ident, Path, Type, parse_quote};

/// A type, and how the generated code names it.
pub struct Target<'a> {
    pub container: &'a Container<'a>,
    /// The runtime crate.
    pub krate: Path,
    /// Its `__private` module.
    pub odm: TokenStream,
    /// The type with its parameters.
    pub this: TokenStream,
    pub fields: Vec<&'a Field<'a>>,
    /// Those whose values differ in all documents.
    pub unique: Vec<String>,
    /// It has a collection.
    pub is_document: bool,
    /// The document is the one that `#[bucket(…)]` makes.
    pub is_bucket: bool,
    /// Of an enum of documents: the field with the name of the variant.
    pub tag: Option<String>,
}

impl<'a> Target<'a> {
    pub fn new(container: &'a Container<'a>, krate: Option<Path>) -> Target<'a> {
        let krate = krate.unwrap_or_else(default_crate);
        let odm = quote!(#krate::__private);
        let ident = container.ident;
        let (_, arguments, _) = container.generics.split_for_impl();
        Target {
            container,
            krate,
            odm,
            this: quote!(#ident #arguments),
            fields: container
                .fields()
                .iter()
                .filter(|field| !field.skipped())
                .collect(),
            unique: Vec::new(),
            is_document: false,
            is_bucket: false,
            tag: None,
        }
    }

    /// A name that is made of the type's: `PersonFields`.
    pub fn name(&self, make: impl FnOnce(&str) -> String) -> Ident {
        let ident = self.container.ident;
        Ident::new(&make(&ident.unraw().to_string()), ident.span())
    }

    /// The name of the struct of what the application supplies: `NewPerson`.
    pub fn new_ident(&self) -> Ident {
        self.name(|name| format!("New{name}"))
    }

    /// The references among its fields, with their types.
    pub fn references(&self) -> Vec<(&'a Type, &'a Reference)> {
        self.container
            .all_fields()
            .into_iter()
            .filter_map(|field| Some((field.ty, field.reference.as_ref()?)))
            .collect()
    }

    pub fn is_generic(&self) -> bool {
        !self.container.generics.params.is_empty()
    }
}

/// The package of the runtime crate. Its library is called `odm`.
const PACKAGE: &str = "mongodb-odm";

/// The runtime crate where no attribute names another one: by the name that the manifest of the application gives it.
///
/// A crate that gets it through another one has no such line. Its derives say `crate = "path"`, or have `odm` in scope.
pub fn default_crate() -> Path {
    match proc_macro_crate::crate_name(PACKAGE) {
        // Without a name of its own the dependency has that of the library, which this gives as the package's.
        Ok(FoundCrate::Name(name)) if name != PACKAGE.replace('-', "_") => {
            let name = Ident::new(&name, Span::call_site());
            parse_quote!(::#name)
        }
        _ => parse_quote!(::odm),
    }
}

/// The tokens, all of them at one place.
pub fn at(span: Span, tokens: TokenStream) -> TokenStream {
    let tokens = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), at(span, group.stream()));
            inner.set_span(span);
            TokenTree::Group(inner)
        }
        mut other => {
            other.set_span(other.span().located_at(span));
            other
        }
    });
    tokens.collect()
}
