//! The substitute for the generated code of a type with errors: the same names, without content, so that the errors are
//! all that the compiler reports.

use crate::ast::Container;
use crate::attr::projection::Projection;
use crate::attr::request::Request;
use crate::ctxt::Ctxt;
use crate::expand::{Target, copy, default_crate, reference, stored, targets, union};
use crate::ty;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Field, Fields, Path};

fn named(input: &DeriveInput) -> Vec<&Field> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => fields.named.iter().collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// A type with parameters gets the errors alone: bounds for a stand-in would be guesses.
fn is_simple(input: &DeriveInput) -> bool {
    input.generics.params.is_empty() && input.generics.where_clause.is_none()
}

fn paths(input: &DeriveInput, odm: &TokenStream) -> TokenStream {
    let (ident, vis) = (&input.ident, &input.vis);
    let paths = format_ident!("{}Fields", ident.unraw());
    let fields = named(input);
    let names: Vec<_> = fields.iter().map(|field| field.ident.as_ref()).collect();
    let rust = names
        .iter()
        .map(|name| name.map(|name| name.unraw().to_string()).unwrap_or_default());
    let members = fields.iter().enumerate().map(|(i, field)| {
        let (name, vis, ty) = (&field.ident, &field.vis, &field.ty);
        quote!(#[allow(missing_docs)] #vis #name: #odm::Path<R, #ty, #odm::At<P, #ident, #i>>,)
    });
    quote! {
        #[doc(hidden)]
        #[allow(dead_code)]
        #vis struct #paths<R = #ident, P = #odm::Root> {
            #(#members)*
            __none: ::core::marker::PhantomData<fn() -> (R, P)>,
        }
        impl<R, P> ::core::clone::Clone for #paths<R, P> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<R, P> ::core::marker::Copy for #paths<R, P> {}
        impl #odm::Fielded for #ident {
            const FIELDS: &'static [#odm::FieldMeta] = &[#(#odm::FieldMeta::opaque(#rust, #rust, "")),*];
        }
    }
}

/// Generated types of references, on which other types may rely.
fn references(input: &DeriveInput, krate: &Path, document: bool) -> TokenStream {
    let cx = Ctxt::new();
    let container = Container::read(&cx, input);
    let _ = cx.check(); // the errors have been said
    let target = Target::new(&container, Some(krate.clone()));
    let unions = union::define_anyway(target.references(), &input.vis, krate);
    let children = document
        .then(|| reference::implement_children(&target, &input.generics, |_| quote!(::core::unreachable!())));
    let entries = copy::define(&container, &input.vis, krate, &[]);
    let copies = (!document).then(|| copy::implement_anyway(&container, krate));
    quote!(#unions #children #entries #copies)
}

/// The type of the id, by which other types name the document, and what names it so. An `ObjectId` where the id is what is
/// wrong.
fn id(input: &DeriveInput, krate: &Path) -> (TokenStream, TokenStream) {
    let cx = Ctxt::new();
    let mut container = Container::read(&cx, input);
    let _ = cx.check(); // the errors have been said
    let stored = || container.fields().iter().filter(|field| !field.skipped());
    let id = stored()
        .find(|field| field.name == "_id")
        .or_else(|| stored().find(|field| field.rust == "id"))
        .filter(|field| !ty::is_option(field.ty) && ty::many(field.ty).is_none())
        .filter(|field| !ty::mentions(field.ty, &[container.ident]));
    let Some(field) = id else {
        return (quote!(#krate::__private::ObjectId), TokenStream::new());
    };
    let ty = field.ty;
    container.roles.id = Some(field.rust.clone());
    let target = Target::new(&container, Some(krate.clone()));
    (quote!(#ty), targets::targets(&target, &input.generics))
}

fn value(input: &DeriveInput, odm: &TokenStream) -> TokenStream {
    let ident = &input.ident;
    let coded = stored::stand_in(odm, ident, true);
    quote! {
        #coded
        impl #odm::Compared for #ident {
            type As = #odm::ByValue;
        }
        impl #odm::Value for #ident {
            const SIZE: #odm::Size = #odm::Size::UNBOUNDED;
            fn shape() -> #odm::Shape {
                #odm::Shape::Any
            }
        }
    }
}

pub fn document(input: &DeriveInput, krate: Option<Path>, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    if !is_simple(input) {
        return error;
    }
    let krate = krate.unwrap_or_else(default_crate);
    let odm = quote!(#krate::__private);
    let (ident, vis) = (&input.ident, &input.vis);
    let (new, paths_ident) = (
        format_ident!("New{}", ident.unraw()),
        format_ident!("{}Fields", ident.unraw()),
    );
    let (paths, value) = (paths(input, &odm), value(input, &odm));
    let references = references(input, &krate, true);
    let (id, targets) = id(input, &krate);
    let members = named(input).into_iter().map(|field| {
        let (name, vis, ty) = (&field.ident, &field.vis, &field.ty);
        quote!(#[allow(missing_docs)] #vis #name: #ty,)
    });
    quote! {
        #error
        #paths
        #value
        #references
        #[doc(hidden)]
        #[allow(dead_code)]
        #vis struct #new { #(#members)* }
        #targets
        impl #krate::Document for #ident {
            type Id = #id;
            type New = #new;
            type Paths = #paths_ident;
            const META: &'static #odm::DocumentMeta = &#odm::DocumentMeta {
                name: "",
                collection: "",
                shape: || #odm::Shape::Any,
                indexes: &[],
                validation: #odm::Validation::STRICT,
                collation: ::core::option::Option::None,
                expiry: ::core::option::Option::None,
                kind: #odm::CollectionKind::Plain,
                append_only: false,
                soft_delete: ::core::option::Option::None,
                pre_and_post_images: false,
                bucket: ::core::option::Option::None,
                extra: || false,
                hooks: &[],
                search_indexes: &[],
                several: #odm::Several::No,
                checks: &[],
                shared: &[],
            };
            fn paths() -> Self::Paths {
                ::core::unreachable!()
            }
            fn id(&self) -> &Self::Id {
                ::core::unreachable!()
            }
            fn fresh(_: Self::New, _: #odm::DateTime) -> #odm::Fresh<Self> {
                ::core::unreachable!()
            }
        }
        impl #odm::FromNew for #ident {
            fn from_new(_: Self::New, _: #odm::DateTime) -> Self {
                ::core::unreachable!()
            }
        }
        impl #krate::__private::Insertable<#ident> for #ident {
            fn fresh(self, _: #odm::DateTime) -> #odm::Fresh<#ident> {
                ::core::unreachable!()
            }
        }
        impl #krate::__private::Replaceable for #ident {}
        impl #krate::__private::Deletable for #ident {}
        impl #krate::__private::PreAndPostImages for #ident {}
        impl #krate::__private::Insertable<#ident> for #new {
            fn fresh(self, _: #odm::DateTime) -> #odm::Fresh<#ident> {
                ::core::unreachable!()
            }
        }
    }
}

pub fn embed(input: &DeriveInput, krate: Option<Path>, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    if !is_simple(input) {
        return error;
    }
    let krate = krate.unwrap_or_else(default_crate);
    let odm = quote!(#krate::__private);
    let ident = &input.ident;
    let value = value(input, &odm);
    let references = references(input, &krate, false);
    let nested =
        matches!(&input.data, Data::Struct(data) if matches!(data.fields, Fields::Named(_))).then(|| {
            let (paths_ident, paths) = (format_ident!("{}Fields", ident.unraw()), paths(input, &odm));
            quote! {
                #paths
                impl #odm::Nested for #ident {
                    type Form = #odm::OfFields;
                    type Fields<R: 'static, P: 'static> = #paths_ident<R, P>;
                    fn fields<R: 'static, P: 'static>() -> &'static Self::Fields<R, P> {
                        ::core::unreachable!()
                    }
                }
            }
        });
    quote! {
        #error
        #value
        #references
        impl #krate::Embed for #ident {}
        #nested
    }
}

pub fn projection(input: &DeriveInput, projection: &Projection, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    let Some(of) = projection.of.as_ref().filter(|_| is_simple(input)) else {
        return error;
    };
    let krate = projection.krate.clone().unwrap_or_else(default_crate);
    let ident = &input.ident;
    let coded = stored::stand_in(&quote!(#krate::__private), ident, false);
    quote! {
        #error
        #coded
        impl #krate::Projection<#of> for #ident {
            fn fields() -> ::std::vec::Vec<&'static str> {
                ::core::unreachable!()
            }
        }
    }
}

pub fn row(input: &DeriveInput, krate: Option<syn::Path>, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    if !is_simple(input) {
        return error;
    }
    let krate = krate.unwrap_or_else(default_crate);
    let coded = stored::stand_in(&quote!(#krate::__private), &input.ident, true);
    quote!(#error #coded)
}

pub fn request(input: &DeriveInput, request: &Request, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    let Some(of) = request.of.as_ref().filter(|_| is_simple(input)) else {
        return error;
    };
    let krate = request.krate.clone().unwrap_or_else(default_crate);
    let ident = &input.ident;
    quote! {
        #error
        impl #krate::request::RequestQuery for #ident {
            type Document = #of;
            const DECLARED: &'static #krate::__private::request::Parameters = &#krate::__private::request::Parameters {
                max_limit: 0,
                max_conditions: 0,
                max_values: 0,
                conditions: &[],
                sort: ::core::option::Option::None,
                pages: false,
            };
            fn read(_: &mut #krate::__private::request::Given) -> Self {
                ::core::unreachable!()
            }
        }
        impl #krate::__private::request::IntoParts<#of> for #ident {
            fn into_parts(self) -> #krate::__private::request::Parts<#of> {
                ::core::unreachable!()
            }
        }
    }
}
