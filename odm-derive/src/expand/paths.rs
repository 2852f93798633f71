//! `XFields`: the struct of typed paths.

use super::{Target, codec, generics};
use crate::ast::Field;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Ident;

/// The names of the two parameters that the struct has besides those of the type.
struct Own {
    root: Ident,
    parent: Ident,
}

fn own(target: &Target) -> Own {
    let taken = generics::parameters(target.container.generics);
    let free = |name: &str| {
        let mut ident = format_ident!("{name}");
        while taken.contains(&&ident) {
            ident = format_ident!("__{ident}");
        }
        ident
    };
    Own {
        // No name that a type of the application may have: it would be shadowed in the struct.
        root: free("__R"),
        parent: free("__P"),
    }
}

/// The struct's name.
pub fn ident(target: &Target) -> Ident {
    target.name(|name| format!("{name}Fields"))
}

/// The type, with `root` and `parent` as its last two arguments.
pub fn ty(target: &Target, root: TokenStream, parent: TokenStream) -> TokenStream {
    let ident = ident(target);
    let arguments = generics::arguments(target.container.generics);
    quote!(#ident<#arguments #root, #parent>)
}

/// The struct and its `Clone` and `Copy`. A field that the library writes has a path that no update takes.
pub fn define(target: &Target, read_only: impl Fn(&Field) -> bool) -> TokenStream {
    let (odm, this, vis) = (&target.odm, &target.this, target.container.vis);
    let ident = ident(target);
    let Own { root, parent } = own(target);
    let params = &target.container.generics.params;
    let comma = (!params.is_empty() && !params.trailing_punct()).then(|| quote!(,));
    let conditions = &target.container.generics.where_clause;

    let fields = target.fields.iter().enumerate();
    // Fields that no struct declares have no path.
    let fields = fields.filter(|(_, field)| !field.field.extra).map(|(i, field)| {
        let (name, vis, ty) = (field.ident(), field.vis, field.ty);
        let doc = if field.serde.flatten.is_some() {
            format!("The fields of `{}`, which stand in their parent.", field.rust)
        } else {
            format!("`{}`", field.name)
        };
        let doc = documented(field, &doc);
        let at = quote!(#odm::At<#parent, #this, #i>);
        if field.serde.flatten.is_some() {
            let at = if read_only(field) {
                quote!(#odm::Kept<#at>)
            } else {
                at
            };
            return quote! {
                #doc
                #vis #name: #odm::Flattened<#root, #ty, #at>,
            };
        }
        let at = match (&field.field.stored, field.field.opaque) {
            (_, true) => quote!(#odm::StoredAs<#at, #odm::Opaque>),
            (Some(stored), false) => quote!(#odm::StoredAs<#at, #stored>),
            (None, false) => at,
        };
        let codec = match (codec::of(target, field), read_only(field)) {
            (Some(_), true) if field.serde.serialize_with.is_none() => Some(quote!(, #odm::ReadOnly)),
            (Some(codec), true) => Some(quote!(, #odm::ReadOnly<#codec>)),
            (None, true) => Some(quote!(, #odm::ReadOnly)),
            (codec, false) => codec.map(|codec| quote!(, #codec)),
        };
        quote! {
            #doc
            #vis #name: #odm::Path<#root, #ty, #at #codec>,
        }
    });
    // A struct without stored fields has nothing that would use the parameters.
    let none = is_empty(target)
        .then(|| quote!(__none: ::core::marker::PhantomData<fn() -> (#this, #root, #parent)>,));

    let mut copied = target.container.generics.clone();
    copied.params.push(syn::parse_quote!(#root));
    copied.params.push(syn::parse_quote!(#parent));
    let (impl_generics, ty_generics, where_clause) = copied.split_for_impl();
    let doc = format!(
        "The typed paths of [`{}`]: the stored name of each field.",
        target.container.name()
    );
    quote! {
        #[doc = #doc]
        #[allow(dead_code)]
        #vis struct #ident<#params #comma #root = #this, #parent = #odm::Root> #conditions {
            #(#fields)*
            #none
        }

        #[automatically_derived]
        impl #impl_generics ::core::clone::Clone for #ident #ty_generics #where_clause {
            fn clone(&self) -> Self {
                *self
            }
        }
        #[automatically_derived]
        impl #impl_generics ::core::marker::Copy for #ident #ty_generics #where_clause {}
    }
}

/// The documentation of the field itself, where it has one, above that of its path.
fn documented(field: &Field, path: &str) -> TokenStream {
    let attrs = field.original.attrs.iter();
    let docs: Vec<_> = attrs
        .filter(|attr| attr.path().is_ident("doc") && matches!(attr.meta, syn::Meta::NameValue(_)))
        .collect();
    let gap = (!docs.is_empty()).then(|| quote!(#[doc = ""]));
    quote!(#(#docs)* #gap #[doc = #path])
}

/// Whether no field has a path.
fn is_empty(target: &Target) -> bool {
    target.fields.iter().all(|field| field.field.extra)
}

/// Its only value.
pub fn value(target: &Target) -> TokenStream {
    let ident = ident(target);
    let odm = &target.odm;
    let paths = target
        .fields
        .iter()
        .filter(|field| !field.field.extra)
        .map(|field| {
            let name = field.ident();
            match field.serde.flatten {
                Some(_) => quote!(#name: #odm::Flattened::NEW,),
                None => quote!(#name: #odm::Path::NEW,),
            }
        });
    let none = is_empty(target).then(|| quote!(__none: ::core::marker::PhantomData));
    quote!(#ident { #(#paths)* #none })
}
