//! The rules of values, as parts of a field's bounds, and the assertions about the types that take them.

use super::Target;
use crate::ast::Field;
use crate::attr::rules::{OneOf, Pattern};
use crate::ty;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

/// `unique_items`.
pub fn unique(field: &Field) -> Option<TokenStream> {
    field
        .field
        .rules
        .unique_items
        .map(|_| quote!(unique_items: true,))
}

/// The other rules: of an array, of its items.
pub fn of_values(target: &Target, field: &Field) -> Option<TokenStream> {
    let (odm, rules) = (&target.odm, &field.field.rules);
    if !rules.of_values() {
        return None;
    }
    let some = quote!(::core::option::Option::Some);
    let pattern = rules.pattern.as_ref().map(|at| {
        let pattern = match &at.value {
            Pattern::Email => quote!(#odm::values::email),
            Pattern::Url => quote!(#odm::values::url),
            Pattern::Text(text) => quote! {
                || {
                    static PATTERN: #odm::values::Pattern = #odm::values::Pattern::new(#text);
                    &PATTERN
                }
            },
        };
        quote!(pattern: #some(#pattern),)
    });
    let one_of = rules.one_of.as_ref().map(|at| {
        let choices: Vec<TokenStream> = match &at.value {
            OneOf::Texts(texts) => texts
                .iter()
                .map(|text| quote!(#odm::values::Choice::Text(#text)))
                .collect(),
            OneOf::Numbers(numbers) => numbers
                .iter()
                .map(|number| quote!(#odm::values::Choice::Int(#number)))
                .collect(),
        };
        quote!(one_of: &[#(#choices),*],)
    });
    let multiple_of = rules.multiple_of.as_ref().map(|factor| {
        let factor = factor.value(odm);
        quote!(multiple_of: #some(#factor as i64),)
    });
    let normalize = rules.normalize.as_ref().map(|at| {
        let (trim, lowercase) = (at.value.trim, at.value.lowercase);
        quote!(normalize: #odm::values::Normalize { trim: #trim, lowercase: #lowercase },)
    });
    let check = rules.check_with.as_ref().map(|function| {
        let name = ty::text(function);
        let item = item(target, field);
        // A reference to a `String` becomes one to a `str` where the function is called.
        let call = quote_spanned! {function.span()=>
            #odm::values::value::<#item, _>(stored, |value| #function(value))
        };
        quote! {
            check: #some(#odm::values::ValueCheck { name: #name, call: |stored| #call }),
        }
    });
    Some(quote! {
        rules: #some(const {
            &#odm::values::ValueRules {
                #pattern #one_of #multiple_of #normalize #check
                ..#odm::values::ValueRules::NONE
            }
        }),
    })
}

/// The type of a single value: of an array its item, of an option what is in it.
fn item(target: &Target, field: &Field) -> TokenStream {
    let (odm, ty) = (&target.odm, field.ty);
    if field.is_array() {
        quote_spanned!(ty.span()=> <#ty as #odm::Array>::Item)
    } else {
        let inner = ty::option(ty).unwrap_or(ty);
        quote!(#inner)
    }
}

/// The rules for a whole document.
pub fn of_document<'a>(
    target: &'a Target,
    document: &'a crate::attr::document::Document,
) -> impl Iterator<Item = TokenStream> + use<'a> {
    let (odm, this) = (&target.odm, &target.this);
    let compared = document.checks.iter().map(move |closure| {
        let text = ty::text(&closure.body);
        let condition = quote_spanned!(closure.span()=> #odm::check_filter::<#this, _>(#closure));
        let known = if target.is_generic() {
            quote!(::core::option::Option::None)
        } else {
            quote!(::core::option::Option::Some(|| {
                static KNOWN: #odm::values::KnownExpression = #odm::values::KnownExpression::new();
                &KNOWN
            }))
        };
        quote! {
            #odm::values::CheckMeta {
                text: #text,
                rule: #odm::values::CheckRule::Compare {
                    condition: || #condition,
                    known: #known,
                },
            }
        }
    });
    let function = document.check_with.iter().map(move |function| {
        let text = ty::text(function);
        let call = quote_spanned! {function.span()=>
            #odm::values::whole_document::<#this, _>(stored, #function)
        };
        quote! {
            #odm::values::CheckMeta {
                text: #text,
                rule: #odm::values::CheckRule::Function(|stored| #call),
            }
        }
    });
    compared.chain(function)
}

/// The assertions about the type, which give a message where it takes no such rule.
pub fn asserts(target: &Target, field: &Field) -> TokenStream {
    let (odm, rules) = (&target.odm, &field.field.rules);
    let (stored, span) = (field.stored(), field.stored().span());
    let (owner, rust, text) = (target.container.name(), &field.rust, ty::name(field.ty));
    let mut out = TokenStream::new();
    let mut message = |span: Span, call: TokenStream| {
        out.extend(quote_spanned! {span=>
            if let ::core::option::Option::Some(message) = #odm::check::#call {
                ::core::panic!("{}", message.as_str());
            }
        });
    };
    if rules.unique_items.is_some() && field.is_array() {
        message(
            span,
            quote_spanned!(span=> unique_items::<#stored>(#owner, #rust, #text)),
        );
    }
    if let Some(factor) = rules
        .multiple_of
        .as_ref()
        .filter(|factor| factor.constant().is_some())
    {
        let value = factor.signed(odm);
        let takes = quote!(&#odm::check::Takes::MULTIPLE_OF);
        message(
            factor.span(),
            quote!(counted(#takes, #value, #owner, #rust, #text)),
        );
    }
    let item = if field.is_array() {
        quote_spanned!(span=> <#stored as #odm::Array>::Item)
    } else {
        quote!(#stored)
    };
    let (texts, numbers) = match rules.one_of.as_ref().map(|at| &at.value) {
        Some(OneOf::Texts(_)) => (true, false),
        Some(OneOf::Numbers(_)) => (false, true),
        None => (false, false),
    };
    if texts || rules.pattern.is_some() || rules.normalize.is_some() {
        out.extend(quote_spanned!(span=> #odm::check::texts::<#item>();));
    }
    if numbers || rules.multiple_of.is_some() {
        out.extend(quote_spanned!(span=> #odm::check::integers::<#item>();));
    }
    out
}
