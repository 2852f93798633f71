//! `#[derive(Embed)]` of a struct; enums are in [`super::enums`].

use super::value::{compared, compared_as, null_of, stored_like};
use super::{
    Target, asserts, bucket, codec, copy, described, enums, fielded, generics, names, numbered, patch, paths,
    reference, stored, targets, union,
};
use crate::ast::{Container, Data, Style};
use crate::attr::embed::Container as Embed;
use crate::ctxt::Ctxt;
use crate::{attr, check, fallback, receiver};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::DeriveInput;
use syn::spanned::Spanned;

pub fn derive(input: &DeriveInput) -> TokenStream {
    let input = &receiver::named(input);
    if let Some(error) = check::not_a_document(input) {
        return error.to_compile_error();
    }
    let cx = Ctxt::new();
    let embed = Embed::parse(&cx, &input.attrs);
    let mut container = Container::read(&cx, input);
    container.alias = embed.alias.as_ref().map(syn::LitStr::value);
    let container = container;
    check::embed(&cx, &container, &embed);
    let declared = attr::bucket::Bucket::parse(&cx, &input.attrs);
    let bucket = declared.and_then(|bucket| check::bucket::plan(&cx, &container, &bucket));
    match cx.check() {
        Ok(()) => expand(&container, &embed, bucket.as_ref()),
        Err(error) => fallback::embed(&container, &embed, bucket.as_ref(), &error),
    }
}

fn expand(container: &Container, embed: &Embed, bucket: Option<&check::bucket::Plan>) -> TokenStream {
    let target = Target::new(container, embed.krate.clone());
    let body = match &container.data {
        Data::Struct(Style::Named, _) => named(&target),
        Data::Struct(Style::Newtype, _) => newtype(&target),
        Data::Struct(Style::Tuple, _) => tuple(&target),
        Data::Struct(Style::Unit, _) => unit(&target),
        Data::Enum(variants) => match &embed.repr {
            Some(repr) => numbered::implement(&target, variants, repr),
            None => enums::implement(&target, variants),
        },
        Data::Union => TokenStream::new(),
    };
    let coded = match (&container.data, &embed.repr) {
        (Data::Enum(_), Some(repr)) => stored::numbered(&target, repr),
        (Data::Enum(variants), None) => stored::of_enum(&target, variants),
        _ => stored::of_struct(&target),
    };
    let marker = marker(&target);
    let no_document = targets::no_document(&target, embed.patch.is_some());
    let described = embed.repr.is_none().then(|| described::of_embedded(&target));
    let id = embed.id.then(|| id(&target));
    let unions = union::define(target.references(), container.vis, &target.krate);
    let copies = copy::implement(&target);
    let ways = copy::ways(&target);
    let checks = copy::checks(&target);
    let entries = copy::define(container, container.vis, &target.krate, &embed.derives);
    let bucket = bucket.map(|plan| bucket::define(&target, plan));
    let patch = embed.patch.map(|_| {
        let derives: Vec<_> = embed.derives.iter().collect();
        patch::define(&target, false, &derives)
    });
    quote!(#body #coded #marker #no_document #described #id #unions #copies #ways #checks #entries #bucket #patch)
}

fn marker(target: &Target) -> TokenStream {
    let (krate, this) = (&target.krate, &target.this);
    let fields = target.container.all_fields();
    let generics = generics::stored(target, &fields);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Embed for #this #where_clause {}
    }
}

/// `#[embed(id)]`: what it holds must be able to stand in `_id` too.
fn id(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let fields = target.container.all_fields();
    let generics = generics::stored(target, &fields);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    // Fields that are stored in place of the type itself; a field of a document may be an array.
    let alone: Vec<&crate::ast::Field> = match &target.container.data {
        Data::Struct(Style::Newtype, fields) => fields.iter().collect(),
        Data::Enum(variants) if target.container.serde.untagged => variants
            .iter()
            .filter(|v| v.style == Style::Newtype)
            .flat_map(|v| &v.fields)
            .collect(),
        _ => Vec::new(),
    };
    let held = alone.into_iter().map(|field| {
        let ty = field.ty;
        quote_spanned!(ty.span()=> #odm::check::id::<#ty>();)
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::IdValue for #this #where_clause {}
        const _: () = { #(#held)* };
    }
}

fn value(
    target: &Target,
    size: TokenStream,
    document: TokenStream,
    names: Option<TokenStream>,
    shape: TokenStream,
    compared: TokenStream,
) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let generics = generics::stored(target, &target.fields);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let holds = reference::holds(target, &target.fields);
    let checks = reference::checks(target, &target.fields);
    let asserts = reference::generic_asserts(target, &target.fields);
    let names = names.map(|names| quote!(const NAMES: #odm::Names = #names;));
    let null = null(target).map(|null| quote!(const NULL: bool = #null;));
    let names_differ = names::checks_of_struct(target);
    let (one_name, generic_names) = (names_differ.item, names_differ.statement);
    quote! {
        #compared
        #[automatically_derived]
        impl #impl_generics #odm::Value for #this #where_clause {
            const SIZE: #odm::Size = #size;
            const DOCUMENT: bool = #document;
            #names
            #null
            #holds
            fn shape() -> #odm::Shape {
                #generic_names
                #asserts
                #shape
            }
        }
        #one_name
        #checks
    }
}

/// Whether a value may be stored as `null`, where that can be told.
fn null(target: &Target) -> Option<TokenStream> {
    let is_single = target.container.serde.transparent
        || matches!(
            target.container.data,
            Data::Struct(Style::Newtype | Style::Unit, _)
        );
    match target.fields.first() {
        None => is_single.then(|| quote!(true)),
        Some(field) => null_of(target, field).filter(|_| is_single),
    }
}

/// `impl Fielded`, which `cargo check` computes.
fn fields(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let fielded = fielded::implement(target, |_| TokenStream::new());
    let computed = asserts::computed(target, quote!(<#this as #odm::Fielded>::FIELDS));
    quote!(#fielded #computed)
}

fn named(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let define = paths::define(target, |field| field.is_derived());
    let codecs = codec::define(target);
    let fielded = fields(target);
    let name = target.container.name();
    let deny_unknown = target.container.serde.deny_unknown_fields;
    let value = if target.container.serde.transparent {
        transparent(target)
    } else {
        value(
            target,
            quote!(#odm::Size::known(#odm::size::document(<#this as #odm::Fielded>::FIELDS))),
            quote!(true),
            Some(names::of_fields(target, &target.fields)),
            quote! {
                #odm::Shape::Struct(const {
                    &#odm::StructShape {
                        ty: ::core::option::Option::Some(::core::any::type_name::<#this>),
                        name: #name,
                        fields: <#this as #odm::Fielded>::FIELDS,
                        deny_unknown: #deny_unknown,
                    }
                })
            },
            compared(target, quote!(#odm::ByParts)),
        )
    };
    let nested = (!target.container.serde.transparent).then(|| paths::nested(target));
    let define = (!target.container.serde.transparent).then_some(define);
    quote!(#define #codecs #fielded #value #nested)
}

/// A struct of one field is stored as that field is.
fn newtype(target: &Target) -> TokenStream {
    let fielded = fields(target);
    let value = transparent(target);
    quote!(#fielded #value)
}

fn transparent(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let Some(field) = target.fields.first() else {
        return unit(target);
    };
    let ty = field.stored();
    let compared = compared_as(target, field);
    let like = stored_like(target, field);
    let declares =
        field.field.has_bounds() || field.field.opaque || field.is_array() || field.embed.depth.is_some();
    let value = if declares {
        let document = reference::holds_document(target, &target.fields);
        let has_size = field.field.max_len.is_some()
            || field.field.opaque
            || field.is_array()
            || field.reference.is_some()
            || field.embed.depth.is_some();
        let size = if has_size {
            quote!(#odm::Size::known(<#this as #odm::Fielded>::FIELDS[0].size))
        } else {
            // The field that holds it may declare its length.
            quote!(<#ty as #odm::Value>::SIZE)
        };
        value(
            target,
            size,
            document,
            None,
            quote!(#odm::Shape::Bounded(const { &<#this as #odm::Fielded>::FIELDS[0] })),
            compared,
        )
    } else {
        value(
            target,
            quote!(<#ty as #odm::Value>::SIZE),
            quote!(<#ty as #odm::Value>::DOCUMENT),
            Some(quote!(<#ty as #odm::Value>::NAMES)),
            quote!(<#ty as #odm::Value>::shape()),
            compared,
        )
    };
    quote!(#value #like)
}

fn tuple(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let fielded = fields(target);
    let shapes = target
        .fields
        .iter()
        .enumerate()
        .map(|(i, _)| quote!(|| #odm::Shape::Bounded(const { &<#this as #odm::Fielded>::FIELDS[#i] })));
    let value = value(
        target,
        quote!(#odm::Size::known(#odm::size::tuple(<#this as #odm::Fielded>::FIELDS))),
        reference::holds_document(target, &target.fields),
        None,
        quote!(#odm::Shape::Tuple(const { &[#(#shapes),*] })),
        compared(target, quote!(#odm::ByValue)),
    );
    quote!(#fielded #value)
}

fn unit(target: &Target) -> TokenStream {
    let odm = &target.odm;
    value(
        target,
        quote!(#odm::Size::fixed(0)),
        quote!(false),
        None,
        quote!(#odm::Shape::Null),
        compared(target, quote!(#odm::ByValue)),
    )
}
