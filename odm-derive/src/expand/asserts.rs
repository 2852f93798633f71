//! What is asserted of a field by its type, with the caret on the type.

use super::{Target, reference};
use crate::ast::{Data, Field};
use crate::attr::reference::OnDelete;
use crate::ty;
use proc_macro2::TokenStream;
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
    let (owner, rust, text) = (target.container.name(), &field.rust, ty::text(field.ty));
    let mut out = TokenStream::new();
    if let (Some(place), Some(unbuffered)) = (buffer(target, field), reference::unbuffered(target, field)) {
        out.extend(quote_spanned! {span=>
            if let ::core::option::Option::Some(message) =
                #odm::check::buffered(#unbuffered, #owner, #rust, #text, #place)
            {
                ::core::panic!("{}", message.as_str());
            }
        });
    }
    if field.field.opaque {
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
                by_id = quote_spanned!(span=> #odm::check::by_id::<#stored>(););
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
        None if ty::is_scalar(stored) => {}
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
        let max = max.value;
        message(quote_spanned!(span=> #odm::check::few::<#stored>(#owner, #rust, #text, #max)));
    }
    out.extend(by_id);
    out
}

/// Where a field stands, if serde reads it through a buffer of its own.
fn buffer(target: &Target, field: &Field) -> Option<&'static str> {
    let container = target.container;
    if field.serde.flatten.is_some() {
        return Some("in a struct with `#[serde(flatten)]`");
    }
    match (&container.data, &container.serde.tag) {
        (Data::Enum(_), Some(_)) => Some("in an enum with `#[serde(tag)]`"),
        (Data::Enum(_), None) if container.serde.untagged => Some("in an enum with `#[serde(untagged)]`"),
        _ => None,
    }
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
