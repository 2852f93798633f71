//! `#[derive(Projection)]`: a struct with some of a document's fields.

use crate::ast::Container;
use crate::attr::projection::Projection;
use crate::ctxt::Ctxt;
use crate::{check, fallback, receiver};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, parse_quote};

pub fn derive(input: &DeriveInput) -> TokenStream {
    let input = &receiver::named(input);
    let cx = Ctxt::new();
    let projection = Projection::parse(&cx, &input.attrs);
    let container = Container::read(&cx, input);
    check::projection(&cx, &container, &projection);
    match cx.check() {
        Ok(()) => expand(&container, &projection),
        Err(error) => fallback::projection(&container, &projection, &error),
    }
}

fn expand(container: &Container, projection: &Projection) -> TokenStream {
    let krate = projection.krate.clone().unwrap_or_else(super::default_crate);
    let odm = quote!(#krate::__private);
    let Some(of) = &projection.of else {
        return TokenStream::new();
    };
    let target = super::Target::new(container, projection.krate.clone());
    let this = &target.this;
    let fields = &target.fields;

    // Each field by the document's own path: that it exists and has this type is for the compiler to say.
    let names = fields.iter().map(|field| {
        let (ident, ty) = (field.ident(), field.ty);
        let path = quote_spanned!(ident.span()=> <#of as #odm::NamedDocument>::paths().#ident);
        let function = if field.serde.with.is_some() {
            quote!(with_codec)
        } else {
            quote!(as_type)
        };
        let field = quote_spanned!(ty.span()=> #odm::check::projected(#path));
        quote_spanned!(ty.span()=> #field.#function::<#ty>())
    });

    let mut generics = super::generics::owned(container.generics);
    if target.is_generic() {
        generics
            .make_where_clause()
            .predicates
            .push(parse_quote!(#this: #odm::stored::Fields + #odm::stored::Row + ::core::marker::Send));
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let is_document = super::copy::is_document(&target, of);
    let described = super::described::of_projection(&target, of, &generics);
    let coded = super::stored::of_projection(&target, of);
    quote! {
        #described
        #coded
        #[automatically_derived]
        impl #impl_generics #krate::Projection<#of> for #this #where_clause {
            fn fields() -> ::std::vec::Vec<&'static str> {
                #is_document
                ::std::vec![#(#names),*]
            }
        }
    }
}
