//! `NewX`: the fields that the application supplies, and how a whole document is made of them.

use super::Target;
use crate::ast::Field;
use crate::attr::document::Document;
use crate::attr::serde::Default_;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Ident, Meta, Token};

/// The fields that the application supplies.
pub(super) fn supplied<'a>(target: &'a Target) -> impl Iterator<Item = &'a Field<'a>> {
    target
        .fields
        .iter()
        .copied()
        .filter(|field| !target.container.roles.made(field) && !is_filled_in(field) && !field.field.extra)
}

/// Of a reference with copies, the application supplies the reference.
pub(super) fn supplied_type(target: &Target, field: &Field) -> TokenStream {
    let (odm, ty) = (&target.odm, field.ty);
    let Some(entry) = field.entry() else {
        return quote!(#ty);
    };
    let of = &entry.of;
    around(entry, ty, quote!(#odm::Ref<#of>))
}

/// One, several or none of them, as the field says.
fn around(entry: &crate::attr::copy::Entry, ty: &syn::Type, one: TokenStream) -> TokenStream {
    if entry.reference.many.is_some() {
        quote!(::std::vec::Vec<#one>)
    } else if crate::ty::is_option(ty) {
        quote!(::core::option::Option<#one>)
    } else {
        one
    }
}

/// Whether the library fills in the field of a new document before it is sent.
fn is_filled_in(field: &Field) -> bool {
    field.is_derived() || field.field.scope
}

/// Whether a document holds what only the database, or the scope of a handle, knows.
fn is_partial(target: &Target) -> bool {
    let mut fields = target.fields.iter();
    fields.any(|field| field.copy.is_some() || field.field.scope)
}

/// The derives of the struct, each once.
pub(super) fn derives(document: &Document) -> impl Iterator<Item = &syn::Path> {
    let more = document.derives.iter();
    let more = more.filter(|path| !document.new_derives.contains(path));
    document.new_derives.iter().chain(more)
}

fn uses_serde(document: &Document) -> bool {
    derives(document).any(|path| {
        path.segments
            .last()
            .is_some_and(|segment| segment.ident == "Serialize" || segment.ident == "Deserialize")
    })
}

/// The struct.
pub fn define(target: &Target, document: &Document) -> TokenStream {
    let ident = target.new_ident();
    let (vis, generics) = (target.container.vis, target.container.generics);
    let (params, where_clause) = (&generics.params, &generics.where_clause);
    let params = (!params.is_empty()).then(|| quote!(<#params>));
    let serde = uses_serde(document);
    let fields = supplied(target).map(|field| {
        let (vis, name, ty) = (field.vis, field.ident(), supplied_type(target, field));
        let attrs = field
            .original
            .attrs
            .iter()
            .filter(|attr| attr.path().is_ident("doc") || serde && attr.path().is_ident("serde"));
        // A field without documentation is one in the document too, where the lint belongs.
        quote!(#(#attrs)* #vis #name: #ty,)
    });
    // A parameter that only made or skipped fields use still has to be used.
    let unused = unused(target);
    let marker = (!unused.is_empty()).then(|| {
        let skip = serde.then(|| quote!(#[serde(skip)]));
        quote! {
            #[doc(hidden)]
            #skip
            pub __unused: ::core::marker::PhantomData<fn() -> (#(#unused,)*)>,
        }
    });
    let derives: Vec<_> = derives(document).collect();
    let derives = (!derives.is_empty()).then(|| quote!(#[derive(#(#derives),*)]));
    let container = serde.then(|| container(target, &COPIED));
    let doc = format!(
        "A new [`{}`]: the fields that the application supplies to insert one.",
        target.container.name()
    );
    let with_defaults = with_defaults(target);
    quote! {
        #with_defaults
        #[doc = #doc]
        #[allow(missing_docs, dead_code)]
        #derives
        #container
        #vis struct #ident #params #where_clause {
            #(#fields)*
            #marker
        }
    }
}

/// How it is written and read.
pub fn coded(target: &Target) -> TokenStream {
    let typed: Vec<_> = supplied(target)
        .map(|field| (field, supplied_type(target, field)))
        .collect();
    let marker = (!unused(target).is_empty()).then(|| quote!(__unused: ::core::marker::PhantomData,));
    super::stored::of_new(target, &typed, &quote!(#marker))
}

/// `New…::new`, of the fields without `#[field(default = …)]`, if any has it: what a new document begins with.
fn with_defaults(target: &Target) -> Option<TokenStream> {
    let is_given = |field: &&Field| field.field.default.is_none();
    if target.is_generic() || supplied(target).all(|field| is_given(&field)) {
        return None;
    }
    let (new, this, vis) = (target.new_ident(), target.container.ident, target.container.vis);
    let given = supplied(target).filter(is_given).map(|field| {
        let (name, ty) = (field.ident(), supplied_type(target, field));
        quote!(#name: #ty)
    });
    let values = supplied(target).map(|field| {
        let name = field.ident();
        match &field.field.default {
            None => quote!(#name,),
            Some(_) => {
                let function = quote::format_ident!("default_{}", field.rust);
                quote!(#name: #this::#function(),)
            }
        }
    });
    let doc = format!(
        "Of the fields without a default, in their order. The others have theirs, and can be set: \
         `{new} {{ field: value, ..{new}::new(…) }}`."
    );
    Some(quote! {
        impl #new {
            #[doc = #doc]
            #[allow(clippy::too_many_arguments, dead_code)]
            #vis fn new(#(#given),*) -> Self {
                #new { #(#values)* }
            }
        }
    })
}

/// `#[serde(rename_all)]` and the like hold for the new struct too; a container's `default` does not, since the new struct
/// has none.
const COPIED: [&str; 5] = ["rename_all", "deny_unknown_fields", "crate", "bound", "expecting"];

/// The entries with these names of the container's `#[serde(…)]`, whatever else stands in the same attribute.
fn container(target: &Target, names: &[&str]) -> TokenStream {
    let attrs = target.container.attrs.iter();
    attrs
        .filter(|attr| attr.path().is_ident("serde"))
        .filter_map(|attr| {
            let entries = Punctuated::<Meta, Token![,]>::parse_terminated;
            attr.parse_args_with(entries).ok() // what can't be read is an error of its own
        })
        .flatten()
        .filter(|entry| names.iter().any(|name| entry.path().is_ident(name)))
        .map(|entry| quote!(#[serde(#entry)]))
        .collect()
}

fn unused<'a>(target: &'a Target) -> Vec<&'a Ident> {
    target
        .container
        .generics
        .type_params()
        .map(|param| &param.ident)
        .filter(|param| !supplied(target).any(|field| crate::ty::mentions(field.ty, &[param])))
        .collect()
}

/// `FromNew`, of a document that is whole with what the application supplies.
pub fn from_new(target: &Target, generics: &syn::Generics) -> TokenStream {
    if is_partial(target) {
        return TokenStream::new();
    }
    let (odm, this) = (&target.odm, &target.this);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let convert = convert(target);
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::FromNew for #this #where_clause {
            fn from_new(new: Self::New, now: #odm::DateTime) -> Self {
                #convert
            }
        }
    }
}

/// The body of `fresh`.
pub fn fresh(target: &Target) -> TokenStream {
    let odm = &target.odm;
    if !is_partial(target) {
        return quote!(#odm::Fresh::Whole(<Self as #odm::FromNew>::from_new(new, now)));
    }
    // The same struct without what is derived, and with bare references in the place of those with copies: both are stored alike.
    let stored: Vec<&Field> = target
        .fields
        .iter()
        .copied()
        .filter(|field| !is_filled_in(field))
        .collect();
    let ty = |field: &Field| {
        let ty = field.ty;
        match field.entry() {
            None => quote!(#ty),
            Some(entry) => {
                let of = &entry.of;
                around(entry, ty, quote_spanned!(ty.span()=> #odm::Bare<#of>))
            }
        }
    };
    let fields = stored.iter().map(|field| {
        let (name, ty) = (field.ident(), ty(field));
        quote!(#name: #ty,)
    });
    let typed: Vec<_> = stored.iter().map(|field| (*field, ty(field))).collect();
    let ident = quote::format_ident!("__Stored");
    let coded = super::stored::of_partial(target, &ident, &typed);
    let values = stored.iter().map(|field| {
        let name = field.ident();
        let i = target.fields.iter().position(|other| other.rust == field.rust);
        let bare = |one: TokenStream| quote!(#odm::Bare::new(&<Self as #odm::Fielded>::FIELDS[#i], #one));
        let each = bare(quote!(one));
        let value = match field.entry() {
            None => supply(target, field),
            Some(entry) if entry.reference.many.is_some() => {
                quote!(new.#name.into_iter().map(|one| #each).collect())
            }
            Some(_) if crate::ty::is_option(field.ty) => quote!(new.#name.map(|one| #each)),
            Some(_) => bare(quote!(new.#name)),
        };
        quote!(#name: #value,)
    });
    quote! {
        let _ = &now;
        #[allow(dead_code)]
        struct __Stored {
            #(#fields)*
        }
        #coded
        #odm::partial::<Self>(&__Stored { #(#values)* })
    }
}

/// The body of `from_new`.
fn convert(target: &Target) -> TokenStream {
    let ident = target.container.ident;
    let fields = target.container.fields().iter().map(|field| {
        let (odm, name) = (&target.odm, field.ident());
        let value = supply(target, field);
        if field.is_deferred {
            return quote!(#name: #odm::Deferred::new(#value),);
        }
        quote!(#name: #value,)
    });
    quote! {
        let _ = (&new, &now);
        #ident { #(#fields)* }
    }
}

/// The value of a field in a new document.
fn supply(target: &Target, field: &Field) -> TokenStream {
    let (odm, roles) = (&target.odm, &target.container.roles);
    let (name, span) = (field.ident(), field.ty.span());
    if field.skipped() || field.field.extra {
        default(target, field)
    } else if let Some(function) = &field.field.generate {
        quote!(#function())
    } else if roles.is_id(field) && roles.managed_id {
        quote_spanned!(span=> #odm::ObjectId::new())
    } else if roles.is_created(field) || roles.is_updated(field) {
        now(target, field)
    } else if roles.is_version(field) {
        quote_spanned!(span=> 1)
    } else if roles.is_deleted(field) {
        quote_spanned!(span=> ::core::option::Option::<#odm::DateTime>::None)
    } else {
        quote!(new.#name)
    }
}

/// The time of the write, in the type of a field that holds it.
pub fn now(target: &Target, field: &Field) -> TokenStream {
    let (odm, span) = (&target.odm, field.ty.span());
    quote_spanned!(span=> #odm::native::at(now))
}

/// The value that serde reads where the field is missing.
pub(super) fn default(target: &Target, field: &Field) -> TokenStream {
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

/// `Insertable` for the whole document and for the new struct, and `Replaceable` for one that is ever changed, `Deletable`. Those of a
/// bucket, a time series and a view have a bound that never holds, so that the compiler says what to do where one is written.
pub fn insertable(target: &Target, document: &Document, generics: &syn::Generics) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let ident = target.new_ident();
    let only = |generics: &mut syn::Generics, bound: TokenStream| {
        generics.params.insert(0, syn::parse_quote!('odm));
        let predicates = &mut generics.make_where_clause().predicates;
        predicates.push(syn::parse_quote!(#odm::Application<'odm>: #bound));
    };
    let (mut inserted, mut replaced, mut deleted) = (generics.clone(), generics.clone(), generics.clone());
    if let Some(items) = &document.items {
        only(&mut inserted, quote!(#odm::WritesBuckets<#items, #this>));
        only(&mut replaced, quote!(#odm::WritesBuckets<#items, #this>));
    }
    if document.view.is_some() {
        for generics in [&mut inserted, &mut replaced, &mut deleted] {
            only(generics, quote!(#odm::WritesViews<#this>));
        }
    }
    if document.time_series.is_some() {
        only(&mut replaced, quote!(#odm::ChangesMeasurements<#this>));
        only(&mut deleted, quote!(#odm::ChangesMeasurements<#this>));
    }
    let (replaced_generics, _, replaced_where) = replaced.split_for_impl();
    let (deleted_generics, _, deleted_where) = deleted.split_for_impl();
    let deletable = quote! {
        #[automatically_derived]
        impl #deleted_generics #krate::__private::Deletable for #this #deleted_where {}
    };
    let (impl_generics, _, where_clause) = inserted.split_for_impl();
    let (_, ty_generics, _) = target.container.generics.split_for_impl();
    let replaceable = document.append_only.is_none().then(|| {
        quote! {
            #[automatically_derived]
            impl #replaced_generics #krate::__private::Replaceable for #this #replaced_where {}
        }
    });
    let images = document.pre_and_post_images.is_some().then(|| {
        quote! {
            #[automatically_derived]
            impl #impl_generics #krate::__private::PreAndPostImages for #this #where_clause {}
        }
    });
    let soft_delete = document.soft_delete.is_some().then(|| {
        quote! {
            #[automatically_derived]
            impl #impl_generics #krate::__private::SoftDelete for #this #where_clause {}
        }
    });
    let versioned = document.version.is_some().then(|| {
        quote! {
            #[automatically_derived]
            impl #impl_generics #krate::__private::patch::Versioned for #this #where_clause {}
        }
    });
    quote! {
        #replaceable
        #deletable
        #images
        #soft_delete
        #versioned
        #[automatically_derived]
        impl #impl_generics #krate::__private::Insertable<#this> for #this #where_clause {
            fn fresh(self, _: #odm::DateTime) -> #odm::Fresh<#this> {
                #odm::Fresh::Whole(self)
            }
        }
        #[automatically_derived]
        impl #impl_generics #krate::__private::Insertable<#this> for #ident #ty_generics #where_clause {
            fn fresh(self, now: #odm::DateTime) -> #odm::Fresh<#this> {
                <#this as #krate::Document>::fresh(self, now)
            }
        }
    }
}
