//! The constants of a document, and what else a struct and an enum of documents have alike.

use super::{Target, generics, index, reference, search, shard_key};
use crate::ast::{Container, Field, Roles};
use crate::attr::document::{Document, Hooks, Validation};
use crate::ty;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

/// The `Managed` of a field that the library writes.
pub fn managed(roles: &Roles, field: &Field) -> TokenStream {
    if roles.is_id(field) {
        quote!(Id)
    } else if roles.is_created(field) {
        quote!(CreatedAt)
    } else if roles.is_updated(field) {
        quote!(UpdatedAt)
    } else if roles.is_version(field) {
        quote!(Version)
    } else if roles.is_deleted(field) {
        quote!(DeletedAt)
    } else if field.field.scope {
        quote!(Scope)
    } else {
        TokenStream::new()
    }
}

/// Where no validator demands the order of the fields of an `_id`, somebody has to say that it is kept.
pub fn id_order(target: &Target, document: &Document) -> Option<TokenStream> {
    let is = |ident: &Option<Ident>, text: &str| ident.as_ref().is_some_and(|ident| ident == text);
    let validation = document.validation.as_ref()?;
    let is_kept = !is(&validation.level, "off") && !is(&validation.action, "warn");
    if is_kept || document.sole_writer.is_some() || target.is_generic() {
        return None;
    }
    let odm = &target.odm;
    let id = target
        .fields
        .iter()
        .find(|field| target.container.roles.is_id(field))?;
    let (ty, span) = (id.ty, id.ty.span());
    Some(quote_spanned!(span=> const _: () = #odm::check::id_is_plain::<#ty>();))
}

/// The fields that have a unique index of their own: one that holds for all documents, and tells all values apart.
pub fn unique(container: &Container, document: &Document) -> Vec<String> {
    let on_fields = container.fields().iter().flat_map(|field| &field.indexes);
    let alone = on_fields.chain(&document.indexes).filter_map(|index| {
        let [key] = index.keys.as_slice() else { return None };
        let [field] = key.path.as_slice() else { return None };
        let all = index.unique.is_some() && index.partial.is_none() && index.collation.is_none();
        (all && key.kind.is_sorted()).then(|| field.unraw().to_string())
    });
    alone.chain(container.roles.id.clone()).collect()
}

/// A bound that never holds, with the message of rule two where the document is embedded.
pub fn never_embedded(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let mut generics = generics::owned(target.container.generics);
    generics.params.insert(0, syn::parse_quote!('odm));
    generics
        .make_where_clause()
        .predicates
        .push(syn::parse_quote!(#odm::Application<'odm>: #odm::Embeds<#this>));
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Value for #this #where_clause {
            const SIZE: #odm::Size = #odm::Size::UNBOUNDED;
            fn shape() -> #odm::Shape {
                #odm::Shape::Any
            }
        }
    }
}

/// Refused before anything runs: the size of a struct without parameters is computed by `cargo check`.
pub fn too_large(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let name = target.container.name();
    let span = target.container.ident.span();
    let statement = quote_spanned! {span=>
        if let ::core::option::Option::Some(message) = #odm::size::too_large(#name, <#this as #odm::Fielded>::FIELDS) {
            ::core::panic!("{}", message.as_str());
        }
    };
    if target.is_generic() {
        statement
    } else {
        quote!(const _: () = { #statement };)
    }
}

/// The part of the constants that all documents of a collection share.
pub struct InCollection {
    /// The collection's name.
    pub name: TokenStream,
    pub validation: TokenStream,
    pub collation: TokenStream,
    pub shared: TokenStream,
    pub pre_and_post_images: TokenStream,
    pub shard_key: TokenStream,
    /// Whether it holds documents of several types.
    pub several: TokenStream,
}

impl InCollection {
    /// Of a document that declares them.
    pub fn declared(target: &Target, document: &Document, several: TokenStream) -> InCollection {
        let odm = &target.odm;
        let name = document.collection.as_ref();
        let name = name.map(syn::LitStr::value).unwrap_or_default();
        let images = document.pre_and_post_images.is_some();
        let shared = &document.shared;
        InCollection {
            name: quote!(#name),
            validation: validation(odm, document.validation.as_ref()),
            collation: match &document.collation {
                Some(declared) => {
                    let collation = index::collation(odm, declared);
                    quote!(::core::option::Option::Some(#collation))
                }
                None => quote!(::core::option::Option::None),
            },
            shared: quote!(&[#(#shared),*]),
            pre_and_post_images: quote!(#images),
            shard_key: shard_key::meta(target, document),
            several,
        }
    }
}

pub fn meta(target: &Target, document: &Document, of: &InCollection) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let name = target.container.name();
    let InCollection {
        name: collection,
        validation,
        collation,
        shared,
        pre_and_post_images,
        shard_key,
        several,
    } = of;
    let deny_unknown = target.container.serde.deny_unknown_fields;
    let on_fields = target.fields.iter().flat_map(|field| &field.indexes);
    let of_shard_key = shard_key::index(target, document);
    let indexes = on_fields
        .chain(&document.indexes)
        .chain(&of_shard_key)
        .map(|declared| index::meta(target, declared));
    let search_indexes = document
        .search_indexes
        .iter()
        .map(|declared| search::meta(target, declared));
    let append_only = document.append_only.is_some();
    let generated_id = target.container.roles.managed_id;
    let kind = kind(target, document);
    let soft_delete = match target
        .fields
        .iter()
        .find(|field| target.container.roles.is_deleted(field))
    {
        Some(field) => {
            let name = &field.name;
            quote!(::core::option::Option::Some(#name))
        }
        None => quote!(::core::option::Option::None),
    };
    let bucket = match &document.items {
        Some(items) => {
            let krate = &target.krate;
            quote!(::core::option::Option::Some(<#items as #krate::__private::Bucketed>::BUCKET))
        }
        None => quote!(::core::option::Option::None),
    };
    let expiry = match &document.expire {
        Some(expire) => {
            let expiry = index::expiry(target, expire);
            quote!(::core::option::Option::Some(#expiry))
        }
        None => quote!(::core::option::Option::None),
    };
    let hooks = hooks(target, &document.hooks);
    let checks = super::rules::of_document(target, document);
    let claims = claims(target, document, of);
    let asserts = target.is_generic().then(|| {
        let (size, references) = (too_large(target), reference::asserts(target, &target.fields));
        quote!(#size #references)
    });
    let enabled = search::enabled(target, document);
    quote! {{
        #asserts
        #enabled
        &#odm::DocumentMeta {
            name: #name,
            collection: #collection,
            shape: || #odm::Shape::Struct(const {
                &#odm::StructShape {
                    ty: ::core::option::Option::Some(::core::any::type_name::<#this>),
                    name: #name,
                    fields: <#this as #odm::Fielded>::FIELDS,
                    deny_unknown: #deny_unknown,
                }
            }),
            indexes: &[#(#indexes),*],
            collation: #collation,
            expiry: #expiry,
            validation: #validation,
            append_only: #append_only,
            kind: #kind,
            soft_delete: #soft_delete,
            shared: #shared,
            pre_and_post_images: #pre_and_post_images,
            bucket: #bucket,
            extra: || const { #odm::check::shows_more(<#this as #odm::Fielded>::FIELDS) },
            hooks: &[#(#hooks),*],
            several: #several,
            checks: &[#(#checks),*],
            search_indexes: &[#(#search_indexes),*],
            shard_key: #shard_key,
            generated_id: #generated_id,
            claims: #claims,
            decode: #odm::decodes::<#this>,
        }
    }}
}

/// The collection of the claims of `unique(global)`, where an index declares it. It compares strings as the documents' collection does.
fn claims(target: &Target, document: &Document, of: &InCollection) -> TokenStream {
    let on_fields = target.fields.iter().flat_map(|field| &field.indexes);
    let mut indexes = on_fields.chain(&document.indexes);
    if document.variant_of.is_some() || !indexes.any(|index| index.global.is_some()) {
        return quote!(::core::option::Option::None);
    }
    let odm = &target.odm;
    let InCollection { name, collation, .. } = of;
    let is_sharded = document.shard_key.is_some();
    quote! {
        ::core::option::Option::Some(const {
            &#odm::DocumentMeta::of_claims(::core::concat!("_odm_claims.", #name), #collation, #is_sharded)
        })
    }
}

/// The kind of the collection. The caret of an error about the function of a view is on its path.
fn kind(target: &Target, document: &Document) -> TokenStream {
    let (krate, odm) = (&target.krate, &target.odm);
    let option = |value: Option<TokenStream>| match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    };
    if let Some(at) = &document.capped {
        let size = at.value.size.value;
        let max = option(at.value.max.as_ref().map(|max| max.value).map(|max| quote!(#max)));
        quote!(#odm::CollectionKind::Capped { size: #size, max: #max })
    } else if let Some(at) = &document.time_series {
        let series = &at.value;
        let time = index::date(target, &series.time);
        let meta = series.meta.as_ref().map(|field| index::name(target, field));
        let meta = option(meta.map(|name| quote!(|| #name)));
        let granularity = series
            .granularity
            .as_ref()
            .map(|granularity| granularity.to_string());
        let granularity = option(granularity.map(|granularity| quote!(#granularity)));
        let expire_after = series.expire_after.as_ref().map(|at| at.value);
        let expire_after = option(expire_after.map(|seconds| quote!(#seconds)));
        quote! {
            #odm::CollectionKind::TimeSeries(#odm::TimeSeriesMeta {
                time: || #time,
                meta: #meta,
                granularity: #granularity,
                expire_after: #expire_after,
            })
        }
    } else if let Some(at) = &document.view {
        let (of, pipeline) = (&at.value.of, &at.value.pipeline);
        let handle = quote!(handle);
        let stages = quote_spanned!(pipeline.span()=> #odm::view_stages::<#of, _, _>(#handle, #pipeline));
        quote! {
            #odm::CollectionKind::View(#odm::ViewMeta {
                of: || <#of as #krate::Document>::META.name,
                collection: || <#of as #krate::Document>::META.collection,
                stages: |#handle| #stages,
            })
        }
    } else {
        quote!(#odm::CollectionKind::Plain)
    }
}

/// The functions that its writes call. The caret of an error about their arguments is on their paths.
///
/// The argument is not named at that place: where a macro declares the document with a path that it was given, no generated name is known
/// there.
fn hooks<'a>(target: &'a Target, hooks: &'a Hooks) -> impl Iterator<Item = TokenStream> + use<'a> {
    let (odm, this) = (&target.odm, &target.this);
    let declared = [
        (&hooks.before_write, quote!(BeforeWrite), quote!(in_transaction)),
        (
            &hooks.in_transaction,
            quote!(InTransaction),
            quote!(in_transaction),
        ),
        (&hooks.after_commit, quote!(AfterCommit), quote!(after_commit)),
    ];
    declared.into_iter().filter_map(move |(path, at, call)| {
        let path = path.as_ref()?;
        let name = ty::text(path);
        let argument = quote!(call);
        let call = quote_spanned!(path.span()=> #odm::hooks::#call::<#this, _, _, _>(#argument, #path));
        Some(quote! {
            #odm::hooks::HookMeta {
                name: #name,
                at: #odm::hooks::HookTime::#at,
                call: |#argument| #call,
            }
        })
    })
}

fn validation(odm: &TokenStream, declared: Option<&Validation>) -> TokenStream {
    let Some(declared) = declared else {
        return quote!(#odm::Validation::STRICT);
    };
    let level = match declared.level.as_ref().map(ToString::to_string).as_deref() {
        Some("off") => quote!(Off),
        Some("moderate") => quote!(Moderate),
        _ => quote!(Strict),
    };
    let action = match declared.action.as_ref().map(ToString::to_string).as_deref() {
        Some("warn") => quote!(Warn),
        _ => quote!(Error),
    };
    quote!(#odm::Validation { level: #odm::Level::#level, action: #odm::Action::#action })
}
