//! `FieldMeta` constants, and the `Fielded` impl that lists them.

use super::{Target, asserts, copy, generics, reference, rules};
use crate::ast::Field;
use crate::attr::access::Access;
use crate::attr::serde::Default_;
use crate::attr::{Count, Number};
use crate::ty;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

/// The metadata of one field. The type is named in one place, with its own span, so that a type that can't be stored is
/// one error with its caret on the type.
pub fn meta(target: &Target, field: &Field, managed: TokenStream) -> TokenStream {
    let odm = &target.odm;
    let stored = field.stored();
    let (rust, name, text) = (&field.rust, &field.name, ty::name(field.ty));
    let bounds = bounds(target, field, true);
    let span = stored.span();
    let make = if field.field.opaque {
        quote!(#odm::FieldMeta::opaque(#rust, #name, #text))
    } else if let Some(declared) = &field.reference {
        let reference = reference::meta(target, field, declared);
        quote_spanned!(span=> #odm::FieldMeta::refers::<#stored>(#rust, #name, #text, #bounds, #reference))
    } else {
        let constructor = match (field.is_array(), field.embed.depth.is_some()) {
            (false, false) => quote_spanned!(span=> value::<#stored>),
            (true, false) => quote_spanned!(span=> items::<#stored>),
            (false, true) => quote_spanned!(span=> recursive::<#stored>),
            (true, true) => quote_spanned!(span=> recursive_items::<#stored>),
        };
        quote_spanned!(span=> #odm::FieldMeta::#constructor(#rust, #name, #text, #bounds))
    };
    // A missing option is read as `None`, unless a function reads it: its shape is no option then, but holds one.
    // The rules hold of the value within.
    let outer = field.field.rules.are_declared().then(|| {
        let bounds = self::bounds(target, field, false);
        quote!(bounds: #bounds,)
    });
    let make = if field.needed(&target.container.serde) && ty::is_option(stored) && !field.field.opaque {
        quote! {
            #odm::FieldMeta { shape: || #odm::Shape::Bounded(const { &#make }), #outer ..#make }
        }
    } else {
        make
    };
    let aliases = &field.serde.aliases;
    // Documents that were there before lack it.
    let is_deleted = target.container.roles.is_deleted(field);
    let required = field.required(&target.container.serde) && !is_deleted;
    let flatten = field.serde.flatten.is_some();
    let aliases = (!aliases.is_empty()).then(|| quote!(aliases: &[#(#aliases),*],));
    let required = (!required).then(|| quote!(required: false,));
    let flatten = flatten.then(|| quote!(flatten: true,));
    let managed = (!managed.is_empty()).then(|| quote!(managed: #odm::Managed::#managed,));
    let unique = target.unique.contains(&field.rust).then(|| quote!(unique: true,));
    let copied = copy::meta(target, field).map(|meta| quote!(copied: ::core::option::Option::Some(#meta),));
    let entry =
        copy::entry_meta(target, field).map(|meta| quote!(entry: ::core::option::Option::Some(#meta),));
    let volatile = field.volatile.map(|_| quote!(volatile: true,));
    // Where the missing field is read as something else, `None` has to be stored.
    let is_none = !matches!(field.serde.default, Some(Default_::Function(_)))
        && target.container.serde.default.is_none()
        && ty::is_option(field.ty);
    let skips_none = (field.serde.skips_none && is_none).then(|| quote!(skips_none: true,));
    let default = default(target, field).filter(|_| managed.is_none());
    let left_out =
        (field.serde.skip_serializing_if.is_some() && default.is_some()).then(|| quote!(left_out: true,));
    let inserted = (field.field.always || field.field.default.is_some()).then(|| quote!(inserted: true,));
    let stored = field.field.always.then(|| quote!(stored: true,));
    let access = field.field.access.as_ref().map(|access| {
        let access = match access.value {
            Access::Private => quote!(Private),
            Access::ReadOnly => quote!(ReadOnly),
            Access::WriteOnly => quote!(WriteOnly),
        };
        quote!(access: #odm::Access::#access,)
    });
    let sensitive = field.field.sensitive.then(|| quote!(sensitive: true,));
    let deferred = field.is_deferred.then(|| quote!(deferred: true,));
    let cut = field.is_foreign().then(|| quote!(cut: true,));
    let json = field
        .json
        .as_ref()
        .map(|json| quote!(json: ::core::option::Option::Some(#json),));
    let json_text = field.field.json_text.map(|_| quote!(json_text: true,));
    let set: Vec<_> = [
        aliases, required, flatten, managed, unique, entry, copied, volatile, skips_none, default, left_out,
        inserted, stored, access, sensitive, deferred, json, json_text, cut,
    ]
    .into_iter()
    .flatten()
    .collect();
    if set.is_empty() {
        return make;
    }
    quote!(#odm::FieldMeta { #(#set)* ..#make })
}

/// The functions that serde's attributes name.
pub fn defaults(target: &Target) -> Option<TokenStream> {
    // A type with parameters has none, and an error of its own.
    if target.is_generic() {
        return None;
    }
    let functions: Vec<TokenStream> = target
        .container
        .fields()
        .iter()
        .filter_map(|field| {
            let (value, ty, vis) = (field.field.default.as_ref()?, field.ty, field.vis);
            let name = quote::format_ident!("default_{}", field.rust);
            let doc = format!(
                "What a missing `{}` is read as, and what a new document gets.",
                field.rust
            );
            Some(quote! {
                #[doc = #doc]
                #vis fn #name() -> #ty {
                    #value
                }
            })
        })
        .collect();
    let this = target.container.ident;
    (!functions.is_empty()).then(|| {
        quote! {
            impl #this {
                #(#functions)*
            }
        }
    })
}

/// The value that serde reads where the field is missing. Of a type that is a parameter of the struct it is not known whether it has a
/// default, and whether that can be encoded.
fn default(target: &Target, field: &Field) -> Option<TokenStream> {
    let (odm, this, ty) = (&target.odm, &target.this, field.ty);
    let name = field.ident()?;
    let parameters = generics::parameters(target.container.generics);
    let of_struct = &target.container.serde.default;
    if field.serde.flatten.is_some()
        || ty::mentions(ty, &parameters)
        || target.is_generic() && field.serde.default.is_none()
    {
        return None;
    }
    let value = match (&field.serde.default, of_struct) {
        (Some(Default_::Function(function)), _) => quote!(#function()),
        // The server finds what reads as `None` by itself.
        (Some(Default_::Trait), _) if ty::is_option(ty) => return None,
        (Some(Default_::Trait), _) => quote!(<#ty as ::core::default::Default>::default()),
        (None, Some(Default_::Function(function))) => quote!({
            let whole: #this = #function();
            whole.#name
        }),
        (None, Some(Default_::Trait)) => quote!(<#this as ::core::default::Default>::default().#name),
        (None, None) => return None,
    };
    let codec = super::codec::of(target, field).unwrap_or_else(|| quote!(#odm::Plain));
    Some(quote!(default: ::core::option::Option::Some(|| #odm::default_of::<#ty, #codec>(#value)),))
}

fn bounds(target: &Target, field: &Field, with_rules: bool) -> TokenStream {
    let odm = &target.odm;
    declared_bounds(target, field, with_rules).unwrap_or_else(|| quote!(#odm::Bounds::NONE))
}

/// The bounds, if any is declared.
pub(super) fn declared_bounds(target: &Target, field: &Field, with_rules: bool) -> Option<TokenStream> {
    let odm = &target.odm;
    let count = |name: &str, count: Option<&Count>| {
        let name = quote::format_ident!("{name}");
        let value = count.map(|count| count.value(odm));
        value.map(|value| quote!(#name: ::core::option::Option::Some(#value),))
    };
    let number = |name: &str, at: &Option<crate::attr::At<Number>>| {
        let name = quote::format_ident!("{name}");
        at.as_ref().map(|at| {
            let value = at.value.value(odm);
            quote!(#name: ::core::option::Option::Some(#value),)
        })
    };
    let depth = field.embed.depth.as_ref().map(|at| {
        let depth = at.value(odm);
        let depth = quote!(#depth as u32);
        quote!(depth: ::core::option::Option::Some(#depth),)
    });
    let set: Vec<TokenStream> = [
        count("max_items", field.max_items().as_ref()),
        count("max_len", field.field.max_len.as_ref()),
        count("min_len", field.field.min_len.as_ref()),
        count("key_len", field.embed.key_len.as_ref()),
        number("min", &field.field.min),
        number("max", &field.field.max),
        depth,
        rules::unique(field).filter(|_| with_rules),
        rules::of_values(target, field).filter(|_| with_rules),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!set.is_empty()).then(|| quote!(#odm::Bounds { #(#set)* ..#odm::Bounds::NONE }))
}

/// `impl Fielded`, with the assertions of all fields.
pub fn implement(target: &Target, managed: impl Fn(&Field) -> TokenStream) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let generics = generics::stored(target, &target.fields);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let metas = target
        .fields
        .iter()
        .map(|field| meta(target, field, managed(field)));
    let asserts: TokenStream = target
        .fields
        .iter()
        .map(|field| asserts::of(target, field))
        .collect();
    let defaults = defaults(target);
    quote! {
        #defaults
        #[automatically_derived]
        impl #impl_generics #odm::Fielded for #this #where_clause {
            const FIELDS: &'static [#odm::FieldMeta] = {
                #asserts
                &[#(#metas),*]
            };
        }
    }
}
