//! `XFields` of an enum: the typed paths of what is in its variants, and the question which one a document has.

use super::{Target, codec, generics, paths};
use crate::ast::{Field, Style, Variant};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Ident, parse_quote};

/// The member of an enum's struct of paths for a variant.
struct Member {
    /// The struct of the paths of a variant with named fields.
    define: TokenStream,
    ty: TokenStream,
    value: TokenStream,
}

/// The variants that can be stored, of several whose paths are called alike the first.
pub fn distinct<'a>(variants: &'a [Variant<'a>]) -> Vec<&'a Variant<'a>> {
    let mut distinct: Vec<&Variant> = Vec::new();
    for variant in variants.iter().filter(|variant| !variant.serde.skip) {
        if !distinct.iter().any(|other| other.path() == variant.path()) {
            distinct.push(variant);
        }
    }
    distinct
}

/// The paths of an enum whose variants, as far as they can be stored, are these.
pub fn implement(target: &Target, variants: &[&Variant]) -> TokenStream {
    let (odm, this, vis) = (&target.odm, &target.this, target.container.vis);
    let ident = paths::ident(target);
    let paths::Own { root, parent } = paths::own(target);
    let mut define = TokenStream::new();
    let (mut members, mut values) = (Vec::new(), Vec::new());
    let mut questions = TokenStream::new();
    for (number, variant) in variants.iter().enumerate() {
        let name = path_ident(variant);
        let rust = variant.ident.unraw().to_string();
        if let Some(member) = member(target, number, variant) {
            let (ty, value) = (member.ty, member.value);
            let doc = format!("What is in `{rust}`.");
            members.push(quote!(#[doc = #doc] #vis #name: #ty,));
            values.push(quote!(#name: #value,));
            define.extend(member.define);
        }
        let is = format_ident!("is_{}", variant.path(), span = variant.ident.span());
        let doc =
            format!("The documents that have the variant `{rust}`; of an array, those with such an item.");
        let (bound, condition) = if target.container.serde.untagged {
            (
                Some(quote!(where #parent: #odm::Tagged<#this>)),
                quote!(<#parent as #odm::Tagged<#this>>::is::<#odm::Filter<#root>>()),
            )
        } else {
            (
                None,
                quote!(#odm::is_variant::<#root, #odm::In<#parent, #this, #number>>()),
            )
        };
        questions.extend(quote! {
            #[doc = #doc]
            #[allow(dead_code)]
            #vis fn #is(self) -> #odm::Filter<#root> #bound {
                #condition
            }
        });
    }
    let doc = format!(
        "The typed paths of [`{}`]: those of its variants.",
        target.container.name()
    );
    let struct_of_paths = paths::define_named(target, &ident, &doc, &members, true);
    let value = paths::with_none(&ident, &values, true);
    let ty = paths::ty(target, quote!(__R), quote!(__P));
    let owned = generics::owned(target.container.generics);
    let (impl_generics, _, where_clause) = owned.split_for_impl();
    let fields: Vec<&Field> = variants.iter().flat_map(|variant| stored(variant)).collect();
    let codecs = codec::define_for(target, &fields);
    let of_paths = paths::with_own(target, None);
    let (_, path_arguments, _) = of_paths.split_for_impl();
    let mut asked = generics::stored(target, &fields);
    asked.params.push(parse_quote!(#root: 'static));
    asked.params.push(parse_quote!(#parent: #odm::Step));
    let (asked_generics, _, asked_where) = asked.split_for_impl();
    quote! {
        #define
        #struct_of_paths
        #codecs
        impl #asked_generics #ident #path_arguments #asked_where {
            #questions
        }
        #[automatically_derived]
        impl #impl_generics #odm::Nested for #this #where_clause {
            type Form = #odm::OfVariants;
            type Fields<__R: 'static, __P: 'static> = #ty;
            fn fields<__R: 'static, __P: 'static>() -> &'static #ty {
                const { &#value }
            }
        }
    }
}

/// `shipped` of `Shipped`. A few words can't be names even with `r#`.
pub(super) fn path_ident(variant: &Variant) -> Ident {
    let (name, span) = (variant.path(), variant.ident.span());
    match name.as_str() {
        "self" | "super" | "crate" => Ident::new(&format!("{name}_"), span),
        name => syn::parse_str::<Ident>(name).map_or_else(
            |_| Ident::new_raw(name, span),
            |mut ident| {
                ident.set_span(span);
                ident
            },
        ),
    }
}

fn stored<'a>(variant: &'a Variant<'a>) -> impl Iterator<Item = &'a Field<'a>> {
    variant.fields.iter().filter(|field| !field.skipped())
}

fn member(target: &Target, number: usize, variant: &Variant) -> Option<Member> {
    let (odm, this) = (&target.odm, &target.this);
    let paths::Own { root, parent } = paths::own(target);
    let serde = &target.container.serde;
    if matches!(variant.style, Style::Unit | Style::Tuple) {
        return None;
    }
    if serde.untagged {
        return Some(Member {
            define: TokenStream::new(),
            ty: quote!(#odm::AnUntaggedEnumHasNoPaths<#this>),
            value: quote!(#odm::AnUntaggedEnumHasNoPaths::NEW),
        });
    }
    let step = quote!(#odm::In<#parent, #this, #number>);
    let fields: Vec<&Field> = stored(variant).collect();
    if variant.style == Style::Newtype {
        let field = *fields.first()?;
        let ty = field.ty;
        // The fields of the content stand beside the tag.
        if serde.tag.is_some() && serde.content.is_none() {
            return Some(Member {
                define: TokenStream::new(),
                ty: quote!(#odm::Flattened<#root, #ty, #step>),
                value: quote!(#odm::Flattened::NEW),
            });
        }
        let codec = codec::of(target, field).unwrap_or_else(|| quote!(#odm::Needed));
        let step = paths::stored_at(target, field, step);
        return Some(Member {
            define: TokenStream::new(),
            ty: quote!(#odm::Path<#root, #ty, #step, #codec>),
            value: quote!(#odm::Path::NEW),
        });
    }
    let rust = variant.ident.unraw().to_string();
    let ident = target.name(|name| format!("{name}{rust}Fields"));
    let of = quote!(#odm::Variant<#this, #number>);
    let members = paths::members(target, &of, &fields, |field| field.is_derived());
    let doc = format!(
        "The typed paths of what is in [`{}::{rust}`].",
        target.container.name()
    );
    Some(Member {
        define: paths::define_named(target, &ident, &doc, &members, members.is_empty()),
        ty: paths::ty_named(target, &ident, quote!(#root), step),
        value: paths::value_named(target, &ident, &fields),
    })
}
