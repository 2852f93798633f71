//! `NewX`: the fields that the application supplies, and how a whole document is made of them.

use super::Target;
use super::document::Roles;
use crate::ast::Field;
use crate::attr::document::Document;
use crate::attr::serde::Default_;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Ident};

pub fn ident(target: &Target) -> Ident {
    target.name(|name| format!("New{name}"))
}

fn supplied<'a>(target: &'a Target, roles: &'a Roles) -> impl Iterator<Item = &'a Field<'a>> {
    target.fields.iter().copied().filter(|field| !roles.made(field))
}

fn uses_serde(document: &Document) -> bool {
    document.new_derives.iter().any(|path| {
        path.segments
            .last()
            .is_some_and(|segment| segment.ident == "Serialize" || segment.ident == "Deserialize")
    })
}

/// The struct.
pub fn define(target: &Target, roles: &Roles, document: &Document) -> TokenStream {
    let ident = ident(target);
    let (vis, generics) = (target.container.vis, target.container.generics);
    let (params, where_clause) = (&generics.params, &generics.where_clause);
    let params = (!params.is_empty()).then(|| quote!(<#params>));
    let serde = uses_serde(document);
    let fields = supplied(target, roles).map(|field| {
        let (vis, name, ty) = (field.vis, field.ident(), field.ty);
        let attrs = field
            .original
            .attrs
            .iter()
            .filter(|attr| attr.path().is_ident("doc") || serde && attr.path().is_ident("serde"));
        // A field without documentation is one in the document too, where the lint belongs.
        quote!(#(#attrs)* #vis #name: #ty,)
    });
    // A parameter that only made or skipped fields use still has to be used.
    let unused = unused(target, roles);
    let marker = (!unused.is_empty()).then(|| {
        let skip = serde.then(|| quote!(#[serde(skip)]));
        quote! {
            #[doc(hidden)]
            #skip
            pub __unused: ::core::marker::PhantomData<fn() -> (#(#unused,)*)>,
        }
    });
    let derives = &document.new_derives;
    let derives = (!derives.is_empty()).then(|| quote!(#[derive(#(#derives),*)]));
    let container = target.container.attrs.iter().filter(|attr| serde && copied(attr));
    let doc = format!(
        "A new [`{}`]: the fields that the application supplies to insert one.",
        target.container.name()
    );
    quote! {
        #[doc = #doc]
        #[allow(missing_docs, dead_code)]
        #derives
        #(#container)*
        #vis struct #ident #params #where_clause {
            #(#fields)*
            #marker
        }
    }
}

/// `#[serde(rename_all)]` and the like hold for the new struct too; a container's `default` does not, since the new struct
/// has none.
fn copied(attr: &Attribute) -> bool {
    if !attr.path().is_ident("serde") {
        return false;
    }
    let mut only = true;
    let read = attr.parse_nested_meta(|meta| {
        only &= ["rename_all", "deny_unknown_fields", "crate", "bound", "expecting"]
            .iter()
            .any(|name| meta.path.is_ident(name));
        crate::attr::skip(&meta)
    });
    only && read.is_ok()
}

fn unused<'a>(target: &'a Target, roles: &Roles) -> Vec<&'a Ident> {
    target
        .container
        .generics
        .type_params()
        .map(|param| &param.ident)
        .filter(|param| !supplied(target, roles).any(|field| crate::ty::mentions(field.ty, &[param])))
        .collect()
}

/// The body of `from_new`.
pub fn convert(target: &Target, roles: &Roles) -> TokenStream {
    let odm = &target.odm;
    let ident = target.container.ident;
    let fields = target.container.fields().iter().map(|field| {
        let (name, span) = (field.ident(), field.ty.span());
        let value = if field.skipped() {
            default(target, field)
        } else if roles.is_id(field) && roles.managed_id {
            quote_spanned!(span=> #odm::ObjectId::new())
        } else if roles.is_created(field) || roles.is_updated(field) {
            quote_spanned!(span=> now)
        } else if roles.is_version(field) {
            quote_spanned!(span=> 1)
        } else {
            quote!(new.#name)
        };
        quote!(#name: #value,)
    });
    quote! {
        let _ = (&new, &now);
        #ident { #(#fields)* }
    }
}

/// What serde reads for a skipped field.
fn default(target: &Target, field: &Field) -> TokenStream {
    let (name, this, span) = (field.ident(), &target.this, field.ty.span());
    match (&field.serde.default, &target.container.serde.default) {
        (Some(Default_::Function(function)), _) => quote!(#function()),
        (None, Some(Default_::Function(function))) => {
            quote!({ let document: #this = #function(); document.#name })
        }
        (None, Some(Default_::Trait)) => {
            quote!({ let document = <#this as ::core::default::Default>::default(); document.#name })
        }
        _ => quote_spanned!(span=> ::core::default::Default::default()),
    }
}

/// `Insertable` for the new struct.
pub fn insertable(target: &Target, generics: &syn::Generics) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let ident = ident(target);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (_, ty_generics, _) = target.container.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Insertable<#this> for #ident #ty_generics #where_clause {
            fn into_document(self, now: #odm::DateTime) -> #this {
                <#this as #krate::Document>::from_new(self, now)
            }
        }
    }
}
