//! `#[bucket(…)]`: the document that holds the items, and how the library's buckets reach into it.
//!
//! The document is emitted with its derives, so that its validator, indexes, paths and joins are those of any other.

use super::common_traits::{self, Part};
use super::{Target, at, generics, if_serde};
use crate::attr::Count;
use crate::attr::bucket::Per;
use crate::attr::index::Kind;
use crate::check::bucket::{Plan, sum_type};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, LitStr, parse_quote};

pub fn define(target: &Target, plan: &Plan) -> TokenStream {
    let document = document(target, plan);
    let implementation = implement(target, plan);
    let asserts = asserts(target, plan);
    quote!(#document #implementation #asserts)
}

/// The same names, where the item has errors.
pub fn stand_in(target: &Target, plan: &Plan) -> TokenStream {
    let document = document(target, plan);
    let implementation = implement(target, plan);
    quote!(#document #implementation)
}

fn text(ident: &Ident) -> String {
    ident.unraw().to_string()
}

fn document(target: &Target, plan: &Plan) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let vis = target.container.vis;
    let Plan {
        of,
        name,
        collection,
        parent,
        items,
        page,
        count,
        size,
        ..
    } = plan;
    let name_span = name.span();
    // The compiler names this place where the parent is no document.
    let reference = at(of.span(), quote!(#odm::Ref<#of>));
    let path = |path: &dyn quote::ToTokens| {
        let text = crate::ty::text(path);
        LitStr::new(&text, name.span())
    };
    let (odm_path, serde_path) = (path(krate), path(&quote!(#odm::serde)));
    let written = size.text();
    let size = match size {
        Count::Literal(size, _) => proc_macro2::Literal::u64_unsuffixed(*size).into_token_stream(),
        Count::Constant(size) => size.into_token_stream(),
    };
    let on_delete = Ident::new(plan.on_delete, name.span());
    let check = (!plan.check).then(|| quote!(, check = false));
    // The scope of a bucket is that of its parent, so a field of it in the shard key is the same in both.
    let keys = plan.shard_key.iter().flat_map(|declared| &declared.keys);
    let same: Vec<&Ident> = keys
        .filter_map(|key| key.path.first())
        .filter(|name| {
            plan.scopes
                .iter()
                .any(|field| field.ident.as_ref() == Some(*name))
        })
        .collect();
    let same = (!same.is_empty()).then(|| quote!(, same(#(#same),*)));
    let pages = plan.pages();
    // An index of the pages that begins with the parent serves the reference, too.
    let index = (pages.first() == Some(&parent)).then(|| quote!(index = false,));
    let shard_key = plan.shard_key.as_ref().map(|declared| {
        let keys = declared.keys.iter().map(|key| {
            let path = &key.path;
            match key.kind {
                Kind::Hashed => quote!(hashed(#(#path).*)),
                _ => quote!(#(#path).*),
            }
        });
        quote!(shard_key(#(#keys),*),)
    });
    let (order, open, start) = match &plan.period {
        None => (quote!(#page), quote!(#parent), TokenStream::new()),
        Some((per, start)) => {
            let doc = format!(
                " The beginning of the {} (UTC) that the items are of.",
                match per {
                    Per::Hour => "hour",
                    Per::Day => "day",
                    Per::Month => "month",
                }
            );
            (
                quote!(#start, #page),
                quote!(#parent, #start),
                quote!(#[doc = #doc] pub #start: #odm::DateTime,),
            )
        }
    };
    let time = plan.time.as_ref().map(|time| {
        let (first, last) = (&time.first, &time.last);
        quote! {
            /// The least time of the items; `None` without an item.
            #[serde(default, skip_serializing_if = "::core::option::Option::is_none")]
            pub #first: ::core::option::Option<#odm::DateTime>,
            /// The greatest time of the items; `None` without an item.
            #[serde(default, skip_serializing_if = "::core::option::Option::is_none")]
            pub #last: ::core::option::Option<#odm::DateTime>,
        }
    });
    let total = |ty: &syn::Type| match sum_type(ty) {
        Some("i64") => quote!(i64),
        Some(_) => quote!(f64),
        None => quote!(<#ty as #odm::Summable>::Sum),
    };
    let sums = plan.sums.iter().map(|sum| {
        let (name, total) = (&sum.name, total(sum.ty));
        let doc = format!(" The sum of the items' `{}`.", sum.stored);
        quote!(#[doc = #doc] pub #name: #total,)
    });
    let with = if_serde::field(odm);
    let types: Vec<TokenStream> = [reference.clone(), quote!(::std::vec::Vec<#this>)]
        .into_iter()
        .chain(plan.scopes.iter().map(|field| field.ty.to_token_stream()))
        .collect();
    let bounds = if_serde::bounds(odm, &types);
    let scopes = plan.scopes.iter().map(|field| {
        let (attrs, name, ty) = (&field.attrs, &field.ident, &field.ty);
        quote! {
            /// The value of the handle's scope by which the items were pushed, as the parent has it.
            #[field(scope)]
            #with
            #(#attrs)*
            pub #name: #ty,
        }
    });
    let part = |name: &Ident, ty: TokenStream| Part::new(name.clone(), parse_quote!(#ty));
    let named = |name: &str| Ident::new(name, name_span);
    let moment = || quote!(::core::option::Option<#odm::DateTime>);
    let mut parts = vec![
        part(&named("id"), quote!(#odm::ObjectId)),
        part(parent, reference.clone()),
    ];
    parts.extend(
        plan.period
            .iter()
            .map(|(_, start)| part(start, quote!(#odm::DateTime))),
    );
    parts.extend([
        part(page, quote!(i32)),
        part(count, quote!(i32)),
        part(items, quote!(::std::vec::Vec<#this>)),
    ]);
    parts.extend(
        plan.time
            .iter()
            .flat_map(|time| [part(&time.first, moment()), part(&time.last, moment())]),
    );
    parts.extend(plan.sums.iter().map(|sum| Part {
        has_all: true,
        ..part(&sum.name, total(sum.ty))
    }));
    parts.extend(
        plan.scopes
            .iter()
            .filter_map(|field| Some(part(field.ident.as_ref()?, field.ty.to_token_stream()))),
    );
    parts.extend([
        part(&named("room"), quote!(i32)),
        part(&named("version"), quote!(i64)),
    ]);
    let common = common_traits::implement(odm, name, &text(name), &parts);
    let doc = format!(
        " Up to {written} of the `{this}` that belong to one document. Items are written by `odm.buckets::<{this}>()`.",
        this = target.container.name()
    );
    quote! {
        #[doc = #doc]
        #[derive(
            #krate::Document,
            #odm::serde::Serialize,
            #odm::serde::Deserialize,
        )]
        #[serde(crate = #serde_path)]
        #bounds
        #[document(
            crate = #odm_path,
            collection = #collection,
            version,
            __items = #this,
            #shard_key
            index(fields(#(#pages),*), unique),
            index(fields(#open), name = "open", partial = |bucket| bucket.room.gt(0)),
        )]
        #vis struct #name {
            /// Its own id.
            #[serde(rename = "_id")]
            pub id: #odm::ObjectId,
            /// The document that the items belong to.
            #[parent_ref(order(#order), #index on_delete = #on_delete #check #same)]
            #with
            pub #parent: #reference,
            #start
            /// Its number among those that follow each other, from 1.
            #[field(min = 1)]
            pub #page: i32,
            /// How many items it holds.
            #[field(min = 0, max = #size)]
            pub #count: i32,
            /// The items, in the order in which they came.
            #[embed(max = #size, large = "a bucket, whose size is its purpose")]
            #with
            pub #items: ::std::vec::Vec<#this>,
            #time
            #(#sums)*
            #(#scopes)*
            /// How many more items it takes. Once that is 0 it takes no more, also if items are deleted.
            #[field(min = 0, max = #size)]
            pub room: i32,
            /// One more with every write, by which a change of an item sees that nothing came between.
            pub version: i64,
        }
        #common
    }
}

fn implement(target: &Target, plan: &Plan) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let Plan {
        of,
        name,
        items,
        collection,
        ..
    } = plan;
    let (parent, page, count, list) = (
        text(&plan.parent),
        text(&plan.page),
        text(&plan.count),
        text(&plan.items),
    );
    let size = plan.size.value(odm);
    let size = quote!(#size as i32);
    let none = quote!(::core::option::Option::None);
    let some = |value: TokenStream| quote!(::core::option::Option::Some(#value));
    let time = plan.time.as_ref().map_or(none.clone(), |time| {
        let (field, first, last) = (time.stored, text(&time.first), text(&time.last));
        some(quote!(#odm::BucketTime { field: #field, first: #first, last: #last }))
    });
    let period = plan.period.as_ref().map_or(none, |(per, start)| {
        let start = text(start);
        let per = match per {
            Per::Hour => quote!(Hour),
            Per::Day => quote!(Day),
            Per::Month => quote!(Month),
        };
        some(quote!(#odm::BucketPeriod { per: #odm::Per::#per, start: #start }))
    });
    let sums = plan.sums.iter().map(|sum| {
        let (field, name, ty) = (sum.stored, text(&sum.name), sum.ty);
        quote!(#odm::BucketSum { field: #field, name: #name, float: <#ty as #odm::Summable>::FLOAT })
    });
    let kind = match plan.period {
        None => quote!(#krate::__private::ByCount),
        Some(_) => quote!(#krate::__private::ByTime),
    };
    let timed = plan.time.is_some().then(|| {
        quote! {
            #[automatically_derived]
            impl #krate::__private::Timed for #this {}
        }
    });
    let mut generics = target.container.generics.clone();
    let parent_type = generics::with_type(&mut generics, odm, "__Parent", of);
    let predicates = &mut generics.make_where_clause().predicates;
    predicates.push(parse_quote!(#parent_type: #odm::Identified));
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::__private::Bucketed for #this #where_clause {
            type Bucket = #name;
            type Parent = #parent_type;
            const BUCKET: &'static #odm::BucketMeta = &#odm::BucketMeta {
                collection: #collection,
                parent: #parent,
                page: #page,
                count: #count,
                items: #list,
                size: #size,
                period: #period,
                time: #time,
                sums: &[#(#sums),*],
            };
            fn push<C: #odm::Change<#name>>(on: C, items: &[Self]) -> C {
                on.push_all(|bucket| #odm::written(bucket.#items), items)
            }
            fn edit<C: #odm::Change<#name>>(
                on: C,
                items: #odm::Filter<#odm::Element<Self>>,
                change: #odm::Changes<#odm::Element<Self>>,
            ) -> C {
                on.elem(|bucket| #odm::written(bucket.#items), |_| items, |_| change)
            }
            fn delete<C: #odm::Change<#name>>(on: C, items: #odm::Filter<#odm::Element<Self>>) -> C {
                on.pull_where(|bucket| #odm::written(bucket.#items), |_| items)
            }
            fn items(bucket: #name) -> ::std::vec::Vec<Self> {
                bucket.#items
            }
        }
        #[automatically_derived]
        impl #kind for #this {}
        #timed
    }
}

/// Assertions about the fields of a bucket that syntax can't see, with the caret on their types.
fn asserts(target: &Target, plan: &Plan) -> TokenStream {
    let odm = &target.odm;
    let time = plan.time.as_ref().map(|time| {
        let ty = time.ty;
        quote_spanned!(ty.span()=> #odm::check::moment::<#ty>();)
    });
    let sums = plan.sums.iter().map(|sum| {
        let ty = sum.ty;
        quote_spanned!(ty.span()=> #odm::check::summed::<#ty>();)
    });
    let size = plan.size.constant().map(|constant| {
        let (size, name, items) = (plan.size.signed(odm), text(&plan.name), text(&plan.items));
        let ty = format!("Vec<{}>", target.container.name());
        quote_spanned! {constant.span()=>
            if let ::core::option::Option::Some(message) =
                #odm::check::counted(&#odm::check::Takes::BUCKET, #size, #name, #items, #ty)
            {
                ::core::panic!("{}", message.as_str());
            }
        }
    });
    quote!(const _: () = { #time #(#sums)* #size };)
}
