//! Assertions about the type of a field, with the caret on the type.

use super::{Target, reference};
use crate::ast::Field;
use crate::attr::copy::Copy;
use crate::attr::reference::OnDelete;
use crate::attr::{Count, Number};
use crate::check::value_rules;
use crate::ty;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

/// The assertions of one field, as statements of a constant.
pub fn of(target: &Target, field: &Field) -> TokenStream {
    let odm = &target.odm;
    let stored = field.stored();
    let span = stored.span();
    if field.field.extra {
        return quote_spanned!(span=> #odm::check::extra::<#stored>(););
    }
    let (owner, rust, text) = (target.container.name(), &field.rust, ty::name(field.ty));
    let mut out = TokenStream::new();
    if field.field.opaque {
        // A codec may tell them apart.
        if field.serde.with.is_none() {
            out.extend(quote_spanned! {span=>
                #[allow(unused_imports)]
                use #odm::OneNull as _;
                if let ::core::option::Option::Some(message) =
                    #odm::check::one_null(#odm::Nulls::<#stored>::TWICE, #owner, #rust, #text)
                {
                    ::core::panic!("{}", message.as_str());
                }
            });
        }
        return out;
    }
    if field.field.has_range() {
        out.extend(quote_spanned!(span=> #odm::check::numeric::<#stored>();));
    }
    if field.serde.flatten.is_some() {
        out.extend(quote_spanned!(span=> #odm::check::flattened::<#stored>();));
    }
    if field.indexes.iter().any(|index| index.expire_after.is_some()) {
        out.extend(quote_spanned!(span=> #odm::check::dated::<#stored>();));
    }
    if target.container.roles.is_deleted(field) {
        out.extend(quote_spanned!(span=> #odm::check::deleted_at::<#stored>();));
    }
    let parameters = super::generics::parameters(target.container.generics);
    let is_ordered = |index: &crate::attr::index::Index| index.keys.iter().any(|key| key.kind.is_by_value());
    if field.indexes.iter().any(is_ordered) && !ty::mentions(stored, &parameters) {
        out.extend(quote_spanned!(span=> #odm::check::indexed::<#stored>();));
    }
    // Of a two-way reference, the path of the other side says so.
    if field
        .reference
        .as_ref()
        .is_some_and(|declared| declared.inverse.is_none())
    {
        out.extend(quote_spanned!(span=> #odm::check::refers::<#stored>();));
    }
    let mut by_id = TokenStream::new();
    let mut message = |call: TokenStream| {
        out.extend(quote_spanned! {span=>
            if let ::core::option::Option::Some(message) = #call {
                ::core::panic!("{}", message.as_str());
            }
        });
    };
    match &field.reference {
        Some(declared) => {
            let kind = reference::kind(target, declared);
            let any = declared.any.is_some();
            message(
                quote_spanned!(span=> #odm::check::relationship::<#stored>(#kind, #any, #owner, #rust, #text)),
            );
            // A `Ref<T>` with one parameter is by the id.
            let other_key = match ty::referred(stored) {
                Some(_) => ty::referred_by(stored).is_some(),
                None => !ty::is_scalar(stored),
            };
            if declared.by.is_none() && !any && other_key {
                by_id.extend(quote_spanned!(span=> #odm::check::by_id::<#stored>();));
            }
            // Copies beside it are emptied with it, as a whole.
            if target.container.copies.is_none()
                && declared
                    .on_delete
                    .as_ref()
                    .is_some_and(|at| at.value == OnDelete::Nullify)
            {
                message(quote_spanned!(span=> #odm::check::nullified::<#stored>(#owner, #rust, #text)));
            }
        }
        // Of the types that everybody knows, it need not be asked.
        // Of a `DateTime`, whose it is.
        None if ty::is_scalar(stored)
            && !ty::exactly(ty::single(stored), "DateTime")
            && !ty::has_options(stored) => {}
        None => {
            let check = match (field.embed.depth.is_some(), field.is_array()) {
                (true, true) => quote!(no_nested_reference_items),
                (true, false) => quote!(no_nested_reference),
                (false, true) => quote!(no_reference_items),
                (false, false) if field.ident().is_none() => quote!(no_unnamed_reference),
                (false, false) => quote!(no_reference),
            };
            message(quote_spanned!(span=> #odm::check::#check::<#stored>(#owner, #rust, #text)));
        }
    }
    if field.field.max_len.is_some() || field.field.min_len.is_some() {
        let check = if field.is_array() {
            quote!(item_length)
        } else {
            quote!(length)
        };
        message(quote_spanned!(span=> #odm::check::#check::<#stored>(#owner, #rust, #text)));
    }
    if field.embed.key_len.is_some() {
        message(quote_spanned!(span=> #odm::check::keys::<#stored>(#owner, #rust, #text)));
    }
    if let (Some(max), None) = (&field.embed.max, &field.embed.large) {
        let max = max.value(odm);
        message(quote_spanned!(span=> #odm::check::few::<#stored>(#owner, #rust, #text, #max)));
    }
    out.extend(super::rules::asserts(target, field));
    out.extend(constants(target, field));
    out.extend(by_id);
    out
}

/// The rules for the numbers in attributes, for constants: the derive has checked the literals (`check::field` and its like).
fn constants(target: &Target, field: &Field) -> TokenStream {
    let odm = &target.odm;
    let (owner, rust, text) = (target.container.name(), &field.rust, ty::name(field.ty));
    let mut out = TokenStream::new();
    let mut message = |span: Span, call: TokenStream| {
        out.extend(quote_spanned! {span=>
            if let ::core::option::Option::Some(message) = #odm::check::#call {
                ::core::panic!("{}", message.as_str());
            }
        });
    };
    let subset = match &field.copy {
        Some(Copy::Subset(subset)) => Some(&subset.limit),
        _ => None,
    };
    let reference = field
        .reference
        .as_ref()
        .or(field.entry().map(|entry| &entry.reference));
    let most = reference.and_then(|reference| reference.max.as_ref());
    let expected = reference.and_then(|reference| reference.expected.as_ref());
    let declared = [
        // Of a bucket, whose size has been asserted, it says the same.
        ("ITEMS", field.embed.max.as_ref().filter(|_| !target.is_bucket)),
        ("KEY_LEN", field.embed.key_len.as_ref()),
        ("DEPTH", field.embed.depth.as_ref()),
        ("MAX_LEN", field.field.max_len.as_ref()),
        ("MIN_LEN", field.field.min_len.as_ref()),
        ("REFERENCES", most),
        ("EXPECTED", expected),
        ("SUBSET", subset),
    ];
    for (takes, count) in declared {
        if let Some(count) = count.filter(|count| count.constant().is_some()) {
            let (takes, value) = (quote::format_ident!("{takes}"), count.signed(odm));
            message(
                count.span(),
                quote!(counted(&#odm::check::Takes::#takes, #value, #owner, #rust, #text)),
            );
        }
    }
    // Of the two sides of a two-way reference the types decide.
    let one_way = reference.is_some_and(|reference| reference.inverse.is_none());
    let max_items = field.max_items();
    let pairs = [
        (
            ("min_len", field.field.min_len.as_ref()),
            ("max_len", field.field.max_len.as_ref()),
        ),
        (
            ("expected", expected.filter(|_| one_way)),
            ("max", max_items.as_ref()),
        ),
    ];
    for ((least, first), (greatest, second)) in pairs {
        let (Some(first), Some(second)) = (first, second) else {
            continue;
        };
        if let Some(span) = one_constant(first, second) {
            let (first, second) = (first.signed(odm), second.signed(odm));
            message(
                span,
                quote!(in_order((#least, #first), (#greatest, #second), #owner, #rust, #text)),
            );
        }
    }
    out_of_range(target, field, &mut message);
    // The count and the room of a bucket are bounded by its size.
    let (min, max) = (&field.field.min, &field.field.max);
    for (option, at) in [("min", min), ("max", max)] {
        if let Some(constant) = at.as_ref().and_then(|at| at.value.constant())
            && !target.is_bucket
        {
            let parts = Number::parts(constant, odm);
            message(
                constant.span(),
                quote!(bounding(#option, #parts, #owner, #rust, #text)),
            );
        }
    }
    if let (Some(min), Some(max)) = (min, max)
        && let Some(constant) = min.value.constant().or(max.value.constant())
        && !target.is_bucket
    {
        let (min, max) = (min.value.value(odm), max.value.value(odm));
        message(
            constant.span(),
            quote!(range_in_order(#min, #max, #owner, #rust, #text)),
        );
    }
    out
}

/// A default within the range and the length of its field, where one of them is a constant.
fn out_of_range(target: &Target, field: &Field, message: &mut impl FnMut(Span, TokenStream)) {
    let odm = &target.odm;
    let (owner, rust, text) = (target.container.name(), &field.rust, ty::name(field.ty));
    let Some(default) = &field.field.default else {
        return;
    };
    let option = |value: Option<TokenStream>| match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    };
    let (min, max) = (&field.field.min, &field.field.max);
    let bounds = [min, max].into_iter().flatten();
    if let Some(number) = value_rules::number(field)
        && field.field.has_range()
        && (number.constant().is_some() || bounds.into_iter().any(|at| at.value.constant().is_some()))
    {
        let number = number.value(odm);
        let [min, max] = [min, max].map(|at| option(at.as_ref().map(|at| at.value.value(odm))));
        message(
            default.span(),
            quote!(default_in_range(#number, #min, #max, #owner, #rust, #text)),
        );
    }
    let (min, max) = (&field.field.min_len, &field.field.max_len);
    let bounds = [min, max].into_iter().flatten();
    if let Some(length) = value_rules::length(field)
        && bounds.into_iter().any(|count| count.constant().is_some())
    {
        let [min, max] = [min, max].map(|count| option(count.as_ref().map(|count| count.signed(odm))));
        message(
            default.span(),
            quote!(default_of_length(#length as i128, #min, #max, #owner, #rust, #text)),
        );
    }
}

/// Where one of them is a constant.
fn one_constant(first: &Count, second: &Count) -> Option<Span> {
    let constant = [first, second]
        .into_iter()
        .find(|count| count.constant().is_some())?;
    Some(constant.span())
}

/// The constant that computes `constant`, with the assertions in it, as soon as `cargo check` sees the type; of a type with
/// parameters, its first use does. The assertions stand in that constant rather than in one of their own, since the
/// compiler reports a type that does not fit once for a constant.
pub fn computed(target: &Target, constant: TokenStream) -> TokenStream {
    if target.is_generic() {
        TokenStream::new()
    } else {
        quote!(const _: () = { let _ = #constant; };)
    }
}
