//! The constants of declared indexes.

use super::{Target, paths};
use crate::attr::document::Expire;
use crate::attr::index::{Collation, Index, Key, Kind};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

/// One index. Its fields are reached through the typed paths, so that a wrong one does not compile.
pub fn meta(target: &Target, index: &Index) -> TokenStream {
    let odm = &target.odm;
    let keys = index.keys.iter().map(|key| {
        // No path leads to it: the variants are asked for by `is_login()`.
        if let Some(tag) = tag(target, key) {
            return key_named(odm, quote!(#tag), key);
        }
        let path = path(target, &key.path);
        // An attribute on a field has the assertion on the field's type.
        if index.expire_after.is_some() && !index.on_field {
            on_path(target, key, dated(target, &key.path, path), true)
        } else {
            // An attribute on a field has the assertion on the field's type.
            on_path(target, key, path, !index.on_field)
        }
    });
    let some = quote!(::core::option::Option::Some);
    // The parameters of a request are checked by it.
    let named = |key: &&Key| key.kind != Kind::Wildcard && tag(target, key).is_none();
    let first = index.keys.first().filter(named).map(|key| {
        let (krate, this) = (&target.krate, &target.this);
        let path = path_from(quote!(p), &key.path);
        quote!(first: #some(#odm::request::name_of::<#this, _, _>(&|p: <#this as #krate::Document>::Paths| #path)),)
    });
    // A field of the document's own is in no variant. A search for words has no place for a condition of its index.
    let within = index
        .keys
        .iter()
        .filter(|key| key.path.len() > 1 && !matches!(key.kind, Kind::Text { .. }));
    let variants: Vec<TokenStream> = within
        .map(|key| {
            let (krate, this) = (&target.krate, &target.this);
            let path = path_from(quote!(p), &key.path);
            quote!(#odm::request::variant_of::<#this, _, _>(&|p: <#this as #krate::Document>::Paths| #path))
        })
        .collect();
    let variants = (!variants.is_empty()).then(|| quote!(variants: &[#(#variants),*],));
    let name = index.name.as_ref().map(|name| quote!(name: #some(#name),));
    let unique = index.unique.map(|_| quote!(unique: true,));
    let sparse = index.sparse.map(|_| quote!(sparse: true,));
    let expire = index.expire_after.as_ref().map(|at| {
        let seconds = at.value;
        quote!(expire_after: #some(#seconds),)
    });
    let partial = index.partial.as_ref().map(|closure| {
        let this = &target.this;
        quote!(partial: #some(|| #odm::partial_filter::<#this, _>(#closure)),)
    });
    let collation = index.collation.as_ref().map(|declared| {
        let collation = collation(odm, declared);
        quote!(collation: #some(#collation),)
    });
    let default_language = index.default_language.as_ref();
    let default_language = default_language.map(|language| quote!(default_language: #some(#language),));
    let language_override = index.language_override.as_ref();
    let language_override = language_override.map(|field| quote!(language_override: #some(#field),));
    let names = |paths: &[Vec<syn::Ident>]| {
        let names = paths.iter().map(|fields| path(target, fields));
        quote!(&[#(|| #names.name()),*])
    };
    let include = index.include.as_ref().map(|at| names(&at.value));
    let include = include.map(|names| quote!(include: #names,));
    let exclude = index.exclude.as_ref().map(|at| names(&at.value));
    let exclude = exclude.map(|names| quote!(exclude: #names,));
    quote! {
        #odm::IndexMeta {
            #first #variants #name #unique #sparse #expire #partial #collation #default_language #language_override #include #exclude
            ..#odm::IndexMeta::on(&[#(#keys),*])
        }
    }
}

/// The field with the name of the variant, if the key names it.
fn tag<'a>(target: &'a Target, key: &Key) -> Option<&'a str> {
    let [name] = key.path.as_slice() else { return None };
    target.tag.as_deref().filter(|tag| name.unraw() == *tag)
}

/// A path that ends at a date, or does not compile.
fn dated(target: &Target, fields: &[syn::Ident], path: TokenStream) -> TokenStream {
    let odm = &target.odm;
    let span = fields
        .last()
        .map_or_else(proc_macro2::Span::call_site, syn::Ident::span);
    // A field of the document's own is stored as it declares; of what is behind a path the type is known.
    let own = match fields {
        [name] => target.fields.iter().find(|field| field.ident() == Some(name)),
        _ => None,
    };
    match own {
        Some(field) if !field.field.opaque => {
            let stored = field.stored();
            quote_spanned!(span=> #odm::check::dated_as::<#stored, _, _, _, _>(#path))
        }
        _ => quote_spanned!(span=> #odm::check::dated_path(#path)),
    }
}

/// The name of a field of the document's own, which is a date or does not compile.
pub fn date(target: &Target, field: &syn::Ident) -> TokenStream {
    let fields = std::slice::from_ref(field);
    let path = dated(target, fields, path(target, fields));
    quote_spanned!(field.span()=> #path.name())
}

/// The name of a field of the document's own.
pub fn name(target: &Target, field: &syn::Ident) -> TokenStream {
    let path = path(target, std::slice::from_ref(field));
    quote_spanned!(field.span()=> #path.name())
}

/// When documents expire.
pub fn expiry(target: &Target, expire: &Expire) -> TokenStream {
    let (odm, after) = (&target.odm, expire.after);
    let name = date(target, &expire.field);
    quote!(#odm::Expiry { path: || #name, after: #after })
}

/// How strings are compared, of an index or of a collection.
pub fn collation(odm: &TokenStream, declared: &Collation) -> TokenStream {
    let (locale, strength, numeric) = (&declared.locale, declared.strength, declared.numeric_ordering);
    quote! {
        #odm::CollationMeta {
            locale: #locale,
            strength: #strength,
            numeric_ordering: #numeric,
        }
    }
}

/// One field of the order of children, by its typed path. With parameters the type is a document under conditions, which do
/// not hold where its fields are listed, so the path begins at the struct of paths itself.
pub fn order_key(target: &Target, key: &Key) -> TokenStream {
    if !target.is_generic() {
        return on_path(target, key, path(target, &key.path), true);
    }
    let (odm, this) = (&target.odm, &target.this);
    let ty = paths::ty(target, quote!(#this), quote!(#odm::Root));
    let value = paths::value(target);
    on_path(
        target,
        key,
        path_from(quote!({ let paths: #ty = #value; paths }), &key.path),
        false,
    )
}

fn on_path(target: &Target, key: &Key, path: TokenStream, checked: bool) -> TokenStream {
    // With parameters the types are not known.
    key_of(&target.odm, &path, key, checked && !target.is_generic())
}

/// A field of an index, or of an order, by the path to it.
pub fn key_of(odm: &TokenStream, path: &TokenStream, key: &Key, checked: bool) -> TokenStream {
    if key.path.is_empty() {
        return key_named(odm, quote!(""), key);
    }
    let span = key
        .path
        .last()
        .map_or_else(proc_macro2::Span::call_site, syn::Ident::span);
    let name = if checked && key.kind.is_by_value() {
        quote_spanned!(span=> #path.indexed_name())
    } else {
        quote_spanned!(span=> #path.name())
    };
    key_named(odm, name, key)
}

/// The same by its name.
fn key_named(odm: &TokenStream, name: TokenStream, key: &Key) -> TokenStream {
    let kind = match key.kind {
        Kind::Ascending => quote!(Ascending),
        Kind::Descending => quote!(Descending),
        Kind::Text { weight } => quote!(Text { weight: #weight }),
        Kind::Geo => quote!(Geo),
        Kind::Hashed => quote!(Hashed),
        Kind::Wildcard => quote!(Wildcard),
    };
    quote!(#odm::IndexKey { path: || #name, kind: #odm::IndexKind::#kind })
}

/// The typed path to a field, by the Rust names that lead there.
pub fn path(target: &Target, fields: &[syn::Ident]) -> TokenStream {
    let (krate, this) = (&target.krate, &target.this);
    let span = fields
        .first()
        .map_or_else(proc_macro2::Span::call_site, syn::Ident::span);
    path_from(
        quote_spanned!(span=> <#this as #krate::Document>::paths()),
        fields,
    )
}

fn path_from(start: TokenStream, fields: &[syn::Ident]) -> TokenStream {
    fields
        .iter()
        .fold(start, |path, field| quote_spanned!(field.span()=> #path.#field))
}
