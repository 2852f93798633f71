//! The generated code, one file an output. It is thin: it names constants and calls functions of `odm::__private`.

pub mod asserts;
pub mod bucket;
pub mod codec;
pub mod copy;
pub mod document;
pub mod embed;
pub mod enums;
pub mod fielded;
pub mod generics;
pub mod index;
mod names;
pub mod new;
pub mod paths;
pub mod projection;
pub mod reference;
pub mod union;

use crate::ast::{Container, Field};
use crate::attr::reference::Reference;
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Ident, Path, Type, parse_quote};

/// The facts about a type that all outputs need.
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

/// `impl Compared`: how values of the type are compared.
pub fn compared(target: &Target, as_: TokenStream) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let mut generics = generics::owned(target.container.generics);
    let parameters = generics::parameters(target.container.generics);
    // A struct of one field is compared as that field is.
    let alone = matches!(&target.container.data, crate::ast::Data::Struct(_, fields) if fields.len() == 1);
    for field in target.fields.iter().filter(|field| alone && !field.field.opaque) {
        let ty = field.stored();
        if crate::ty::mentions(ty, &parameters) {
            let bound = syn::parse_quote!(#ty: #odm::Compared);
            generics.make_where_clause().predicates.push(bound);
        }
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Compared for #this #where_clause {
            type As = #as_;
        }
    }
}

pub fn default_crate() -> Path {
    parse_quote!(::odm)
}
