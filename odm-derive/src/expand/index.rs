//! The constants of declared indexes.

use super::{Target, paths};
use crate::attr::document::{Document, Expire};
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
        let name = const_name(target, &key.path);
        quote!(first: #some(#name),)
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
    let global = index.global.map(|_| quote!(global: true,));
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
            #first #variants #name #unique #global #sparse #expire #partial #collation #default_language #language_override #include #exclude
            ..#odm::IndexMeta::on(&[#(#keys),*])
        }
    }
}

/// The unique keys of a document: of `get_by` and its like, which take the fields of one in any order.
///
/// Documents of several types in one collection have the keys of all of them, which one derive does not see.
pub fn unique_keys(target: &Target, document: &Document, generics: &syn::Generics) -> TokenStream {
    if document.variant_of.is_some() {
        return any_key(target, generics);
    }
    let roles = &target.container.roles;
    let id = target.fields.iter().find(|field| roles.is_id(field));
    let id = id
        .and_then(|field| field.ident())
        .map(|id| vec![std::slice::from_ref(id)]);
    let on_fields = target.fields.iter().flat_map(|field| &field.indexes);
    let declared = on_fields.chain(&document.indexes);
    let declared =
        declared.filter(|index| index.unique.is_some() && index.keys.iter().all(|key| key.kind.is_sorted()));
    let declared = declared.map(|index| index.keys.iter().map(|key| key.path.as_slice()).collect());
    let referred_once = target.fields.iter().filter_map(|field| {
        let reference = field
            .reference
            .as_ref()
            .filter(|of| of.one.is_some() && of.any.is_none())?;
        let order = reference.order.iter().flat_map(|order| &order.value);
        let order = order.map(|key| key.path.as_slice());
        Some(
            [std::slice::from_ref(field.ident()?)]
                .into_iter()
                .chain(order)
                .collect(),
        )
    });
    let all: Vec<Vec<&[syn::Ident]>> = id.into_iter().chain(declared).chain(referred_once).collect();
    let is_of_scope = |path: &&[syn::Ident]| {
        let [name] = path else { return false };
        let mut scopes = target.fields.iter().filter(|field| field.field.scope);
        scopes.any(|field| field.ident() == Some(name))
    };
    let mut keys = std::collections::BTreeSet::new();
    for key in &all {
        let own: Vec<&[syn::Ident]> = key.iter().copied().filter(|path| !is_of_scope(path)).collect();
        for fields in [key, &own] {
            let parts: Option<Vec<(usize, bool)>> = fields.iter().map(|path| part(target, path)).collect();
            keys.extend(
                parts
                    .filter(|parts| !parts.is_empty())
                    .map(orders)
                    .into_iter()
                    .flatten(),
            );
        }
    }
    let (odm, this) = (&target.odm, &target.this);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let keys = keys.iter().map(|parts| {
        let parts: Vec<TokenStream> = parts
            .iter()
            .map(|(i, within)| match within {
                true => quote!(#odm::PartWithin<#this, #i>),
                false => quote!(#odm::PartOf<#this, #i>),
            })
            .collect();
        let key = match parts.as_slice() {
            [part] => quote!(#part),
            parts => quote!((#(#parts),*)),
        };
        quote! {
            #[automatically_derived]
            #[diagnostic::do_not_recommend]
            impl #impl_generics #odm::HasKey<#key> for #this #where_clause {}
        }
    });
    keys.collect()
}

/// Every combination of fields, of which the operation looks up whether it is a key.
pub fn any_key(target: &Target, generics: &syn::Generics) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let mut with_key = generics.clone();
    with_key.params.push(syn::parse_quote!(__K));
    let (impl_generics, ..) = with_key.split_for_impl();
    let (_, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::HasKey<__K> for #this #where_clause {}
    }
}

/// The number of the field, and whether the part of the key is a field of the struct in it.
fn part(target: &Target, path: &[syn::Ident]) -> Option<(usize, bool)> {
    let (first, rest) = path.split_first()?;
    let at = target
        .fields
        .iter()
        .position(|field| field.ident() == Some(first))?;
    Some((at, !rest.is_empty()))
}

/// The number of fields of a key up to which they may be given in any order; of more, in the declared one.
const MOST_REORDERED: usize = 4;

fn orders<T: Copy>(parts: Vec<T>) -> Vec<Vec<T>> {
    if parts.len() == 1 || parts.len() > MOST_REORDERED {
        return vec![parts];
    }
    let mut all = Vec::new();
    for i in 0..parts.len() {
        let mut rest = parts.clone();
        let first = rest.remove(i);
        all.extend(orders(rest).into_iter().map(|mut rest| {
            rest.insert(0, first);
            rest
        }));
    }
    all
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

/// The dotted name of a field as a constant.
pub fn const_name(target: &Target, fields: &[syn::Ident]) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let path = path_from(quote!(p), fields);
    quote!(#odm::request::name_of::<#this, _, _>(&|p: <#this as #krate::Document>::Paths| #path))
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
