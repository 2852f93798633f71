//! `#[derive(Document)]`: everything that one generates.

use super::{
    Target, builder, codec, copy, described, fielded, generics, index, meta, names, new, patch, paths,
    reference, several, stored, targets, union,
};
use crate::ast::{Container, Field};
use crate::attr::document::Document;
use crate::ctxt::Ctxt;
use crate::{check, fallback, receiver};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::DeriveInput;
use syn::spanned::Spanned;

pub fn derive(input: &DeriveInput) -> TokenStream {
    let input = &receiver::named(input);
    let cx = Ctxt::new();
    let document = Document::parse(&cx, &input.attrs);
    if let syn::Data::Enum(_) = &input.data {
        return several::derive(cx, input, &document);
    }
    let container = Container::document(&cx, input, &document);
    check::document(&cx, &container, &document);
    match cx.check() {
        Ok(()) => expand(&container, &document),
        Err(error) => fallback::document(&container, &document, &error),
    }
}

fn expand(container: &Container, document: &Document) -> TokenStream {
    let mut target = Target::new(container, document.krate.clone());
    target.unique = meta::unique(container, document);
    target.is_document = true;
    target.is_bucket = document.items.is_some();
    let managed = |field: &Field| meta::managed(&container.roles, field);
    let paths = paths::define(&target, |field| {
        !managed(field).is_empty()
            || field.is_derived()
            || document.append_only.is_some()
            || document.time_series.is_some()
            || document.view.is_some()
            || document.items.is_some()
    });
    let codecs = codec::define(&target);
    let new = new::define(&target, document);
    let builder = document.builder.map(|_| builder::define(&target));
    let patch = document
        .patch
        .map(|_| patch::define(&target, true, &patch::derives(document)));
    let fielded = fielded::implement(&target, managed);
    let value = meta::never_embedded(&target);
    let generics = generics::document(&target);
    let implementation = implement(&target, document, &generics);
    let keys = index::unique_keys(&target, document, &generics);
    let insertable = new::insertable(&target, document, &generics);
    let described = described::of_new(&target, &generics);
    let coded_new = new::coded(&target);
    let targets = targets::targets(&target, &generics);
    let children = reference::children(&target, &generics);
    let checks = reference::checks(&target, &target.fields);
    let unions = union::define(target.references(), container.vis, &target.krate);
    let copies = copy::checks(&target);
    let ways = copy::ways(&target);
    let entries = copy::define(container, container.vis, &target.krate, &document.derives);
    let size = (!target.is_generic()).then(|| meta::too_large(&target));
    let order = meta::id_order(&target, document);
    let stored_with = several::stored_with(container, document);
    let nested = several::nested(&target, document);
    let coded = stored::of_fields(&target);
    quote! {
        #coded
        #stored_with
        #nested
        #paths
        #codecs
        #new
        #builder
        #patch
        #fielded
        #value
        #implementation
        #keys
        #insertable
        #coded_new
        #described
        #targets
        #children
        #checks
        #unions
        #copies
        #ways
        #entries
        #size
        #order
    }
}

fn implement(target: &Target, document: &Document, generics: &syn::Generics) -> TokenStream {
    let roles = &target.container.roles;
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (_, ty_generics, _) = target.container.generics.split_for_impl();
    let id = target.fields.iter().find(|field| roles.is_id(field));
    let (id_name, id_ty) = (id.map(|field| field.ident()), id.map(|field| field.ty));
    let new = target.new_ident();
    let new_ty = quote!(#new #ty_generics);
    let identified = id_ty.map(|ty| targets::identified(target, ty, &new_ty, ty.span()));
    let paths = paths::ty(target, quote!(#this), quote!(#odm::Root));
    let paths_value = paths::value(target);
    let fresh = new::fresh(target);
    let from_new = new::from_new(target, generics);
    let meta = meta::meta(target, document, &several::place_of_struct(target, document));
    let constants = several::constants_of_variant(target, document);
    let names_differ = names::checks_of_struct(target);
    let (one_name, generic_names) = (names_differ.item, names_differ.statement);

    let touch = roles
        .updated
        .as_ref()
        .and_then(|_| target.fields.iter().find(|f| roles.is_updated(f)))
        .map(|field| {
            let (name, span) = (field.ident(), field.ty.span());
            let now = super::new::now(target, field);
            let set = quote_spanned!(span=> self.#name = #now;);
            quote! {
                fn touch(&mut self, now: #odm::DateTime) {
                    #set
                }
            }
        });
    let version = target
        .fields
        .iter()
        .find(|field| roles.is_version(field))
        .map(|field| {
            let (name, span) = (field.ident(), field.ty.span());
            let get = quote_spanned!(span=> ::core::option::Option::Some(self.#name));
            quote! {
                fn version(&self) -> ::core::option::Option<i64> {
                    #get
                }
                fn set_version(&mut self, version: i64) {
                    self.#name = version;
                }
            }
        });
    quote! {
        #identified
        #[automatically_derived]
        impl #impl_generics #odm::Paths for #paths #where_clause {
            type Document = #this;
        }
        #[automatically_derived]
        impl #impl_generics #krate::Document for #this #where_clause {
            type Paths = #paths;
            #constants
            const META: &'static #odm::DocumentMeta = {
                #generic_names
                #meta
            };
            fn paths() -> Self::Paths {
                #paths_value
            }
            fn id(&self) -> &#id_ty {
                &self.#id_name
            }
            fn fresh(new: Self::New, now: #odm::DateTime) -> #odm::Fresh<Self> {
                #fresh
            }
            #touch
            #version
        }
        #one_name
        #from_new
    }
}
