//! The declaration of a reference, as constants; and the traits that find a child from its parent.

use super::{Target, generics, index};
use crate::ast::Field;
use crate::attr::Count;
use crate::attr::copy::Entry;
use crate::attr::reference::{GREATEST_MAX, OnDelete, Reference};
use crate::ty;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, Type, parse_quote};

/// Its `ReferenceKind`.
pub fn kind(target: &Target, declared: &Reference) -> TokenStream {
    let odm = &target.odm;
    if declared.parent {
        quote!(#odm::ReferenceKind::Parent)
    } else if declared.many.is_some() {
        quote!(#odm::ReferenceKind::Many)
    } else {
        quote!(#odm::ReferenceKind::One)
    }
}

/// The `ReferenceMeta` of a field, as a reference to a constant.
pub fn meta(target: &Target, field: &Field, declared: &Reference) -> TokenStream {
    let (odm, ty) = (&target.odm, field.ty);
    let span = ty.span();
    let inverse = match &declared.inverse {
        Some(inverse) => {
            let inverse = inverse.unraw().to_string();
            quote!(::core::option::Option::Some(#inverse))
        }
        None => quote!(::core::option::Option::None),
    };
    let kind = kind(target, declared);
    let base = quote_spanned!(span=> #odm::ReferenceMeta::of::<#ty>(#kind, #inverse));
    let by = declared.by.as_ref().map(|by| {
        let name = key_name(target, field, by);
        quote!(by: || #name,)
    });
    let expected = declared.expected.as_ref().map(|at| {
        let expected = at.value(odm);
        quote!(expected: ::core::option::Option::Some(#expected),)
    });
    let one = declared.one.map(|_| quote!(one: true,));
    let keys = order(target, declared);
    let order = declared.order.as_ref().map(|_| quote!(order: &[#(#keys),*],));
    let check = declared.check.as_ref().map(|at| {
        let check = at.value;
        quote!(check: #check,)
    });
    let indexed = declared.index.as_ref().map(|at| {
        let index = at.value;
        quote!(index: #index,)
    });
    let on_delete = declared.on_delete.as_ref().map(|at| {
        let rule = match at.value {
            OnDelete::Restrict => quote!(Restrict),
            OnDelete::Cascade => quote!(Cascade),
            OnDelete::Nullify => quote!(Nullify),
            OnDelete::Pull => quote!(Pull),
            OnDelete::Keep => quote!(Keep),
        };
        quote!(on_delete: #odm::OnDelete::#rule,)
    });
    let same = declared.same.as_ref().map(|at| {
        let fields = at.value.iter().map(|field| field.unraw().to_string());
        quote!(same: &[#(#fields),*],)
    });
    let options: Vec<TokenStream> = [by, expected, one, order, check, indexed, on_delete, same]
        .into_iter()
        .flatten()
        .collect();
    let meta = if options.is_empty() {
        base
    } else {
        quote!(#odm::ReferenceMeta { #(#options)* ..#base })
    };
    quote!(const { &#meta })
}

/// The keys of `order(…)`.
pub fn order(target: &Target, declared: &Reference) -> Vec<TokenStream> {
    let keys = declared.order.iter().flat_map(|order| &order.value);
    keys.map(|key| index::order_key(target, key)).collect()
}

/// The type that a reference names as its document.
pub fn target_of(target: &Target, ty: &Type) -> TokenStream {
    let odm = &target.odm;
    quote_spanned!(ty.span()=> <<#ty as #odm::Reference>::Pointer as #odm::OneTarget>::Target)
}

/// The stored name of the field that a reference is by, which has the type of the reference's key.
fn key_name(target: &Target, field: &Field, by: &Ident) -> TokenStream {
    let (odm, ty) = (&target.odm, field.ty);
    let (other, key) = (
        target_of(target, field.ty),
        quote_spanned!(ty.span()=> <<#ty as #odm::Reference>::Pointer as #odm::OneTarget>::Key),
    );
    let path = quote_spanned!(by.span()=> <#other as #odm::NamedDocument>::paths().#by);
    quote_spanned!(by.span()=> #odm::check::key::<#key, _, _, _, _>(#path))
}

/// `ChildOf` for the parents of a document, of which each is another type.
pub fn children(target: &Target, generics: &syn::Generics) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    implement_children(
        target,
        generics,
        |position| quote!(const { #odm::ParentField::of(&<#this as #odm::Fielded>::FIELDS[#position]) }),
    )
}

/// The same, with what gives the field at a position.
pub fn implement_children(
    target: &Target,
    generics: &syn::Generics,
    field: impl Fn(usize) -> TokenStream,
) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let implement = |parent: &Parent| {
        let (ty, field) = (parent.ty, field(parent.position));
        let mut generics = generics.clone();
        let name = match &parent.named {
            Named::Document(name) => {
                one_of_its_type(target, parent, name, &mut generics);
                quote!(#name)
            }
            // As a condition, since what is no reference is said where the field is.
            Named::Unseen(condition) => {
                generics.params.push(parse_quote!(__Parent: #krate::Document));
                generics
                    .make_where_clause()
                    .predicates
                    .push(parse_quote!(#ty: #odm::check::#condition<__Parent>));
                quote!(__Parent)
            }
        };
        let (impl_generics, _, where_clause) = generics.split_for_impl();
        let only = parent.one.then(|| {
            quote! {
                #[automatically_derived]
                impl #impl_generics #odm::OnlyChildOf<#name> for #this #where_clause {}
            }
        });
        quote! {
            #[automatically_derived]
            impl #impl_generics #odm::ChildOf<#name> for #this #where_clause {
                fn parent() -> #odm::ParentField {
                    #field
                }
            }
            #only
        }
    };
    parents(target).iter().map(implement).collect()
}

/// The condition that none of the parents behind aliases is of this type too. It names a lifetime, so that it is asked for
/// where the children are.
fn one_of_its_type(target: &Target, parent: &Parent, name: &Type, generics: &mut syn::Generics) {
    if parent.beside.is_empty() {
        return;
    }
    let (odm, this, beside) = (&target.odm, &target.this, &parent.beside);
    generics.params.insert(0, parse_quote!('odm));
    generics.make_where_clause().predicates.push(parse_quote! {
        #odm::check::Several<'odm, {
            #[allow(unused_imports)]
            use #odm::check::RefersNot as _;
            false #(|| <#odm::check::Refers<#beside, #name>>::IS)*
        }>: #odm::check::OneParent<#this, #name>
    });
}

/// A type of parent.
struct Parent<'a> {
    /// The position of the field that names it.
    position: usize,
    ty: &'a Type,
    one: bool,
    named: Named,
    /// The types of the other fields whose parents the compiler alone knows.
    beside: Vec<&'a Type>,
}

enum Named {
    Document(Box<Type>),
    /// Behind an alias, or by another field's list: the condition that tells it.
    Unseen(TokenStream),
}

/// The types of parents; without one that two fields name, or may name.
fn parents<'a>(target: &Target<'a>) -> Vec<Parent<'a>> {
    let mut all: Vec<Parent> = Vec::new();
    for (position, field) in target.fields.iter().enumerate() {
        let entry = field.entry();
        let declared = field.reference.as_ref().or(entry.map(|entry| &entry.reference));
        let Some(declared) = declared.filter(|declared| declared.parent) else {
            continue;
        };
        let parent = |named: Named| Parent {
            position,
            ty: field.ty,
            one: declared.one.is_some(),
            named,
            beside: Vec::new(),
        };
        if let Some(Entry { of, .. }) = entry {
            all.push(parent(Named::Document(Box::new(parse_quote!(#of)))));
            continue;
        }
        match (&declared.any, ty::referred(field.ty)) {
            (Some(any), _) if any.documents.is_empty() => {
                all.push(parent(Named::Unseen(quote!(ParentAmong))))
            }
            (Some(any), _) => all.extend(
                any.documents
                    .iter()
                    .map(|path| parent(Named::Document(Box::new(parse_quote!(#path))))),
            ),
            (None, Some(document)) => all.push(parent(Named::Document(Box::new(document.clone())))),
            (None, None) => all.push(parent(Named::Unseen(quote!(ParentIs)))),
        }
    }
    if all.len() < 2 {
        return all;
    }
    let parameters = generics::parameters(target.container.generics);
    let beside: Vec<&Type> = all
        .iter()
        .filter(|parent| matches!(parent.named, Named::Unseen(_)))
        .map(|parent| parent.ty)
        .collect();
    let alone: Vec<bool> = all
        .iter()
        .enumerate()
        .map(|(i, parent)| {
            let others = || all.iter().enumerate().filter(move |(other, _)| *other != i);
            match &parent.named {
                Named::Document(name) => others().all(|(_, other)| match &other.named {
                    Named::Document(other) => differ(name, other, &parameters),
                    // With a parameter, the compiler could not tell before the type is used.
                    Named::Unseen(_) => {
                        !ty::mentions(name, &parameters) && !ty::mentions(other.ty, &parameters)
                    }
                }),
                // Of several, the compiler could not tell that they differ.
                Named::Unseen(_) => false,
            }
        })
        .collect();
    all.into_iter()
        .zip(alone)
        .filter(|(_, alone)| *alone)
        .map(|(parent, _)| Parent {
            beside: beside.clone(),
            ..parent
        })
        .collect()
}

/// Whether the names of two types say that they are not one: by the last segment, since a path to it can be written in several
/// ways, and a parameter can stand for anything.
fn differ(one: &Type, other: &Type, parameters: &[&Ident]) -> bool {
    let is_parameter = |ty: &Type| parameters.iter().any(|name| ty::exactly(ty, &name.to_string()));
    if is_parameter(one) || is_parameter(other) {
        return false;
    }
    let (Some(one), Some(other)) = (ty::last(one), ty::last(other)) else {
        return false;
    };
    if one.ident.unraw() != other.ident.unraw() {
        return true;
    }
    // `Part<Steel>` and `Part<Wood>`.
    (0..)
        .map_while(|n| ty::argument(one, n).zip(ty::argument(other, n)))
        .any(|(one, other)| differ(one, other, parameters))
}

/// Assertions about the other documents, in a constant that no constant of this type needs, since the others may refer to this
/// one.
pub fn asserts(target: &Target, fields: &[&Field]) -> TokenStream {
    fields
        .iter()
        .filter_map(|field| {
            let declared = field.reference.as_ref()?;
            let by = declared.by.as_ref().map(|by| unique(target, field, by));
            let inverse = declared
                .inverse
                .as_ref()
                .map(|inverse| two_way(target, field, declared, inverse));
            Some(quote!(#by #inverse))
        })
        .collect()
}

/// The assertions as an item of their own, for a type without parameters.
pub fn checks(target: &Target, fields: &[&Field]) -> TokenStream {
    let asserts = asserts(target, fields);
    if asserts.is_empty() || target.is_generic() {
        return TokenStream::new();
    }
    quote!(const _: () = { #asserts };)
}

/// The assertions in a type with parameters, where it is used.
pub fn generic_asserts(target: &Target, fields: &[&Field]) -> TokenStream {
    let asserts = asserts(target, fields);
    if asserts.is_empty() || !target.is_generic() {
        return TokenStream::new();
    }
    quote!(const { #asserts })
}

/// Whether a reference stands anywhere in an embedded type, and whether a field that changes often does: `HOLDS_REFERENCE`
/// and `HOLDS_VOLATILE` of its `Value`.
pub fn holds(target: &Target, fields: &[&Field]) -> TokenStream {
    let references = any(target, fields, "HOLDS_REFERENCE", |field| {
        field.reference.is_some()
    });
    let volatile = any(target, fields, "HOLDS_VOLATILE", |field| field.volatile.is_some());
    let extra = any(target, fields, "HOLDS_EXTRA", |field| field.field.extra);
    let cut = any(target, fields, "CUT", |field| {
        let by_key = field
            .reference
            .as_ref()
            .is_some_and(|reference| reference.by.is_some());
        field.field.rules.normalize.is_some() || field.is_foreign() || by_key
    });
    quote!(#references #volatile #extra #cut)
}

/// A constant of an embedded type: whether one of its fields is one of these, or what it holds says so by the same constant.
fn any(target: &Target, fields: &[&Field], name: &str, is_one: impl Fn(&Field) -> bool) -> TokenStream {
    let constant = quote::format_ident!("{name}");
    let parts: Vec<TokenStream> = fields
        .iter()
        .filter_map(|field| {
            if is_one(field) {
                Some(quote!(true))
            } else {
                within(target, field, name)
            }
        })
        .collect();
    if parts.is_empty() {
        return TokenStream::new();
    }
    quote!(const #constant: bool = #(#parts)||*;)
}

/// Whether one of these values is a document, or holds one: `DOCUMENT` of what they stand in.
pub fn holds_document(target: &Target, fields: &[&Field]) -> TokenStream {
    let odm = &target.odm;
    let parts = fields
        .iter()
        .filter(|field| field.reference.is_none())
        .filter_map(|field| {
            let within = within(target, field, "DOCUMENT")?;
            let stored = field.stored();
            Some(if field.is_array() {
                quote!(<#stored as #odm::Array>::MAP || #within)
            } else {
                within
            })
        });
    quote!(false #(|| #parts)*)
}

/// The value of this constant for the type of a field, or of its items. `None` where it is known to be empty.
fn within(target: &Target, field: &Field, name: &str) -> Option<TokenStream> {
    let (odm, stored) = (&target.odm, field.stored());
    let name = quote::format_ident!("{name}");
    // A type inside itself is asked for what else it holds.
    // The name `DateTime` does not tell its crate.
    let is_plain = ty::is_scalar(stored) && !ty::exactly(ty::single(stored), "DateTime");
    if field.field.opaque || field.embed.depth.is_some() || is_plain {
        return None;
    }
    Some(if field.is_array() {
        quote!(<<#stored as #odm::Array>::Item as #odm::Value>::#name)
    } else {
        // Without a bound: an unknown type is one error, of the field itself.
        quote!({
            #[allow(unused_imports)]
            use #odm::stored::Otherwise as _;
            #odm::stored::ByType::<#stored>::#name
        })
    })
}

/// Whether what is stored in a field has a part that changes often.
pub fn holds_volatile(target: &Target, field: &Field) -> TokenStream {
    within(target, field, "HOLDS_VOLATILE").unwrap_or_else(|| quote!(false))
}

fn panics(span: Span, call: TokenStream) -> TokenStream {
    quote_spanned! {span=>
        if let ::core::option::Option::Some(message) = #call {
            ::core::panic!("{}", message.as_str());
        }
    }
}

fn unique(target: &Target, field: &Field, by: &Ident) -> TokenStream {
    let odm = &target.odm;
    let (owner, rust, text) = (target.container.name(), &field.rust, ty::name(field.ty));
    let (ty, name) = (field.ty, by.unraw().to_string());
    let unique = panics(
        by.span(),
        quote_spanned!(by.span()=> #odm::check::unique_key::<#ty>(#name, #owner, #rust, #text)),
    );
    let like_id = panics(
        by.span(),
        quote_spanned!(by.span()=> #odm::check::key_like_id::<#ty>(#name, #owner, #rust, #text)),
    );
    let other = target_of(target, field.ty);
    let types = quote_spanned! {by.span()=>
        #odm::check::Types<
            <<#ty as #odm::Reference>::Pointer as #odm::OneTarget>::Key,
            <#other as #odm::Identified>::Id,
        >
    };
    // The compiler does not compute a constant whose types are wrong, so that this is said alone.
    let name = key_name(target, field, by);
    quote! {
        let _ = || #name;
        #unique
        {
            #[allow(unused_imports)]
            use #odm::check::Differ as _;
            if <#types>::SAME {
                #like_id
            }
        }
    }
}

fn two_way(target: &Target, field: &Field, declared: &Reference, inverse: &Ident) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let (owner, rust, text) = (target.container.name(), &field.rust, ty::name(field.ty));
    let (ty, name) = (field.ty, inverse.unraw().to_string());
    let number = |number: Option<&Count>| match number.map(|number| number.value(odm)) {
        Some(number) => quote!(::core::option::Option::Some(#number)),
        None => quote!(::core::option::Option::None),
    };
    let max_items = declared.max_items();
    let max = number(max_items.as_ref());
    let expected = number(declared.expected.as_ref());
    let other = target_of(target, field.ty);
    let paths = quote_spanned!(ty.span()=> <#other as #krate::Document>::paths());
    let path = quote_spanned!(inverse.span()=> #paths.#inverse);
    let refers_back = quote_spanned!(inverse.span()=> #odm::check::inverse::<#this, _, _, _, _>(#path));
    let span = declared
        .expected
        .as_ref()
        .filter(|expected| match (expected.known(), &max_items) {
            (Some(expected), Some(max)) => expected > max.known().unwrap_or(GREATEST_MAX),
            (expected, _) => expected.is_none_or(|expected| expected > GREATEST_MAX),
        })
        .map_or(inverse.span(), |expected| expected.span());
    let fits = panics(
        span,
        quote_spanned!(span=> #odm::check::two_way::<#this, #ty>(#name, #max, #expected, #owner, #rust, #text)),
    );
    quote! {
        let _ = || #refers_back;
        #fits
    }
}
