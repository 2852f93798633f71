//! The facts about a type that all outputs need.

use crate::ast::{Container, Field};
use crate::attr::reference::Reference;
use proc_macro2::TokenStream;
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
    /// The document is the one that `#[bucket(…)]` makes.
    pub is_bucket: bool,
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
            is_bucket: false,
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

/// The runtime crate, where no attribute names another one.
pub fn default_crate() -> Path {
    parse_quote!(::odm)
}
