//! The sources of derived fields, as constants; the structs of copies; and assertions about the sources.

use super::common_traits::{self, Part};
use super::{Target, at, generics, if_serde, index};
use crate::ast::{Container, Field};
use crate::attr::At;
use crate::attr::access::Access;
use crate::attr::copy::{Computed, Consistency, Copy, Entry, FieldCopy, Fields, Operation, Source, Subset};
use crate::attr::index::Key;
use crate::attr::reference::{OnDelete, Reference};
use crate::ty;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, Path, Type, Visibility, parse_quote};

fn consistency(odm: &TokenStream, consistency: Option<&At<Consistency>>) -> TokenStream {
    let mode = match consistency.map(|at| at.value) {
        None => quote!(Auto),
        Some(Consistency::Atomic) => quote!(Atomic),
        Some(Consistency::Eventual) => quote!(Eventual),
        Some(Consistency::Snapshot) => quote!(Snapshot),
    };
    quote!(#odm::Consistency::#mode)
}

/// The paths of a document that an attribute names.
fn paths(target: &Target, of: &TokenStream, span: proc_macro2::Span) -> TokenStream {
    let odm = &target.odm;
    quote_spanned!(span=> <#of as #odm::NamedDocument>::paths())
}

fn path(of: &Path) -> TokenStream {
    quote_spanned!(of.span()=> #of)
}

/// The assertion that a type which an attribute names is a document.
pub fn is_document(target: &Target, of: &Path) -> TokenStream {
    let odm = &target.odm;
    quote_spanned!(of.span()=> #odm::check::document::<#of>();)
}

/// Through which reference a field is copied, and the document that it names.
struct Through<'a> {
    /// The stored name of the reference, if there is one.
    name: Option<&'a str>,
    /// Its type; a reference that is always there where there is none.
    ty: TokenStream,
    document: TokenStream,
}

fn through<'a>(target: &'a Target, copy: &FieldCopy) -> Option<Through<'a>> {
    let odm = &target.odm;
    let find = |ident: &Ident| {
        let rust = ident.unraw().to_string();
        target.fields.iter().copied().find(|field| field.rust == rust)
    };
    match &copy.from {
        Source::Through(reference) => {
            let field = find(reference)?;
            let ty = field.ty;
            Some(Through {
                name: Some(&field.name),
                ty: quote!(#ty),
                document: super::reference::target_of(target, ty),
            })
        }
        Source::Whole { of, id } => {
            let document = path(of);
            Some(Through {
                name: id.as_ref().and_then(find).map(|field| field.name.as_str()),
                ty: quote_spanned!(of.span()=> #odm::Ref<#document>),
                document,
            })
        }
    }
}

/// The `Copied` of a field, as a reference to a constant.
pub fn meta(target: &Target, field: &Field) -> Option<TokenStream> {
    let odm = &target.odm;
    let copied = match field.copy.as_ref()? {
        Copy::Entry(_) => return None,
        Copy::Field(copy) => {
            let Through { name, document, .. } = through(target, copy)?;
            let name = name?;
            let (source, consistency) = (&copy.field, consistency(odm, copy.consistency.as_ref()));
            let paths = paths(target, &document, source.span());
            let source = quote_spanned!(source.span()=> #paths.#source);
            quote! {
                #odm::Copied::Field(#odm::FieldCopy {
                    through: #name,
                    source: || #source.name(),
                    field: || #odm::field_of(#source),
                    consistency: #consistency,
                })
            }
        }
        Copy::Subset(subset) => of_subset(target, field, subset),
        Copy::Computed(computed) => of_computed(target, computed),
    };
    Some(quote!(const { &#copied }))
}

/// The `EntryMeta` of a reference with copies, as a reference to a constant.
pub fn entry_meta(target: &Target, field: &Field) -> Option<TokenStream> {
    let Entry { of, reference, .. } = field.entry()?;
    let (odm, item, of) = (&target.odm, item(field), path(of));
    let optional = ty::is_option(field.ty);
    let meta = quote_spanned!(item.span()=> #odm::EntryMeta::of::<#item, #of>(#optional));
    let meta = if !reference.parent {
        meta
    } else {
        let one = reference.one.is_some();
        let order = super::reference::order(target, reference);
        quote!(#meta.parent(#one, &[#(#order),*]))
    };
    Some(quote!(const { &#meta }))
}

fn parent(target: &Target, of: &TokenStream, by: Option<&Ident>) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    match by {
        None => quote!(#odm::check::parent::<#of, #this>),
        Some(by) => {
            let name = by.unraw().to_string();
            quote!(|| const { #odm::check::parent_at::<#of>(#name) })
        }
    }
}

fn filter(target: &Target, of: &TokenStream, filter: Option<&syn::Expr>) -> TokenStream {
    let odm = &target.odm;
    match filter {
        None => quote!(::core::option::Option::None),
        Some(closure) => {
            quote!(::core::option::Option::Some(|| #odm::children_filter::<#of, _>(#closure)))
        }
    }
}

fn of_subset(target: &Target, field: &Field, subset: &Subset) -> TokenStream {
    let (odm, ty) = (&target.odm, field.ty);
    let of = path(&subset.of);
    let limit = subset.limit.value(odm);
    let keys = order(target, &of, &subset.order.value);
    let (last, consistency) = (subset.last(), consistency(odm, subset.consistency.as_ref()));
    let parent = parent(target, &of, subset.by.as_ref());
    let filter = filter(target, &of, subset.filter.as_ref());
    let fields = quote_spanned!(ty.span()=> || #odm::check::elements::<#ty, #of>());
    quote! {
        #odm::Copied::Subset(#odm::Subset {
            child: || <#of as #odm::NamedDocument>::META,
            parent: #parent,
            limit: #limit as u32,
            order: #keys,
            last: #last,
            fields: #fields,
            single: false,
            filter: #filter,
            consistency: #consistency,
        })
    }
}

fn order(target: &Target, of: &TokenStream, keys: &[Key]) -> TokenStream {
    let keys = keys.iter().map(|key| {
        index::key_of(
            &target.odm,
            &child_key(target, of, key),
            key,
            !target.is_generic(),
        )
    });
    quote!(&[#(#keys),*])
}

fn child_key(target: &Target, of: &TokenStream, key: &Key) -> TokenStream {
    let span = key
        .path
        .first()
        .map_or_else(proc_macro2::Span::call_site, Ident::span);
    let mut at = paths(target, of, span);
    for field in &key.path {
        at = quote_spanned!(field.span()=> #at.#field);
    }
    at
}

fn of_computed(target: &Target, computed: &Computed) -> TokenStream {
    let odm = &target.odm;
    let of = path(&computed.of);
    let consistency = consistency(odm, computed.consistency.as_ref());
    let parent = parent(target, &of, computed.by.as_ref());
    let filter = filter(target, &of, computed.filter.as_ref());
    // The value of one child is a subset that holds no array.
    let single = |last: bool| {
        let order = order(target, &of, &computed.order);
        let fields = computed.field.as_ref().map(|field| {
            let name = field.unraw().to_string();
            let source = quote_spanned!(field.span()=> #odm::check::stored::<#of>(#name));
            quote!(#odm::CopiedField { name: "value", source: #source })
        });
        quote! {
            #odm::Copied::Subset(#odm::Subset {
                child: || <#of as #odm::NamedDocument>::META,
                parent: #parent,
                limit: 1,
                order: #order,
                last: #last,
                fields: || const { &[#fields] },
                single: true,
                filter: #filter,
                consistency: #consistency,
            })
        }
    };
    let operation = match computed.operation {
        Operation::Count => quote!(Count),
        Operation::Sum => quote!(Sum),
        Operation::Avg => quote!(Avg),
        Operation::Min => quote!(Min),
        Operation::Max => quote!(Max),
        Operation::First => return single(false),
        Operation::Last => return single(true),
    };
    let source = match &computed.field {
        None => quote!(::core::option::Option::None),
        Some(field) => {
            let paths = paths(target, &of, field.span());
            let name = quote_spanned!(field.span()=> #paths.#field.name());
            quote!(::core::option::Option::Some(|| #name))
        }
    };
    quote! {
        #odm::Copied::Computed(#odm::Computed {
            child: || <#of as #odm::NamedDocument>::META,
            parent: #parent,
            operation: #odm::Operation::#operation,
            of: #source,
            filter: #filter,
            consistency: #consistency,
        })
    }
}

/// The source of a derived field, as far as its attribute tells: the operation, and the paths. A subset holds structs whose fields
/// are copies of their own.
fn sources(target: &Target, copy: &Copy) -> Option<(TokenStream, Vec<TokenStream>)> {
    let of_field = |of: &TokenStream, field: &Ident| {
        let paths = paths(target, of, field.span());
        quote_spanned!(field.span()=> #paths.#field)
    };
    let of_keys = |of: &Path, keys: &[Key]| -> Vec<TokenStream> {
        let of = path(of);
        let keys = keys.iter().filter(|key| !key.path.is_empty());
        keys.map(|key| child_key(target, &of, key)).collect()
    };
    match copy {
        // A copy that is made once updates nothing.
        Copy::Field(copy)
            if matches!(
                copy.consistency.as_ref().map(|at| at.value),
                Some(Consistency::Snapshot)
            ) =>
        {
            None
        }
        Copy::Field(copy) => {
            let document = through(target, copy)?.document;
            Some((quote!(COPY), vec![of_field(&document, &copy.field)]))
        }
        Copy::Entry(_) => None,
        Copy::Subset(subset) => Some((quote!(SUBSET), of_keys(&subset.of, &subset.order.value))),
        Copy::Computed(computed) => {
            let field = computed
                .field
                .iter()
                .map(|field| of_field(&path(&computed.of), field));
            let sources: Vec<_> = field.chain(of_keys(&computed.of, &computed.order)).collect();
            (!sources.is_empty()).then(|| (quote!(COMPUTED), sources))
        }
    }
}

/// The ways from the fields to what they are derived of in the end, by their positions.
pub fn ways(target: &Target) -> TokenStream {
    let (odm, this, owner) = (&target.odm, &target.this, target.container.name());
    let ways = target.fields.iter().enumerate().filter_map(|(i, field)| {
        if target.is_generic() {
            return None;
        }
        let (relation, sources) = sources(target, field.copy.as_ref()?)?;
        let rust = &field.rust;
        let place = quote!(::core::concat!(
            ::core::module_path!(),
            ":",
            ::core::line!(),
            ":",
            ::core::column!()
        ));
        let each = sources
            .iter()
            .map(|path| quote!(.and_those(&#odm::check::way::<__Steps, _, _, _, _>(|| #path))));
        Some(quote!(#i => #odm::check::Way::of(#place, #owner, #rust, #odm::check::#relation)#(#each)*,))
    });
    let ways: TokenStream = ways.collect();
    let way = (!ways.is_empty()).then(|| {
        quote! {
            const WAY: #odm::check::Way = match __FIELD {
                #ways
                _ => #odm::check::Way::END,
            };
        }
    });
    let mut generics = generics::owned(target.container.generics);
    generics.params.push(parse_quote!(const __FIELD: usize));
    generics.params.push(parse_quote!(__Steps: #odm::check::Steps));
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::check::CopiesOf<__FIELD, __Steps> for #this #where_clause {
            #way
        }
    }
}

/// The same of a document with errors, of which nothing is known.
pub fn no_ways(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let mut generics = generics::owned(target.container.generics);
    generics.params.push(parse_quote!(const __FIELD: usize));
    generics.params.push(parse_quote!(__Steps));
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        impl #impl_generics #odm::check::CopiesOf<__FIELD, __Steps> for #this #where_clause {}
    }
}

/// Assertions about the sources, in items of their own, since no constant of this type may need one of the other document,
/// which may have copies of this one.
pub fn checks(target: &Target) -> TokenStream {
    target
        .fields
        .iter()
        .filter_map(|field| {
            let copy = field.copy.as_ref()?;
            let (check, ends) = (check(target, field, copy), ends(target, field, copy));
            Some(quote!(#check #ends))
        })
        .collect()
}

/// That a field is not derived of itself in the end.
fn ends(target: &Target, field: &Field, copy: &Copy) -> Option<TokenStream> {
    let (odm, this) = (&target.odm, &target.this);
    let (owner, rust, text) = (target.container.name(), &field.rust, ty::name(field.ty));
    let position = target.fields.iter().position(|other| other.rust == field.rust)?;
    let span = match copy {
        Copy::Field(copy) if target.container.copies.is_none() => copy.field.span(),
        Copy::Computed(computed) => computed.of.span(),
        Copy::Subset(subset) => subset.of.span(),
        _ => field.ident().span(),
    };
    (!target.is_generic() && sources(target, copy).is_some()).then(|| {
        quote_spanned! {span=>
            const _: () = {
                let way = &<#this as #odm::check::CopiesOf<#position, #odm::check::AllSteps>>::WAY;
                if let ::core::option::Option::Some(message) = #odm::check::circular(way, #owner, #rust, #text) {
                    ::core::panic!("{}", message.as_str());
                }
            };
        }
    })
}

fn check(target: &Target, field: &Field, copy: &Copy) -> TokenStream {
    let (odm, this, ty) = (&target.odm, &target.this, field.ty);
    let (owner, rust, text) = (target.container.name(), &field.rust, ty::name(field.ty));
    let constant = |span: proc_macro2::Span, call: TokenStream| {
        quote_spanned! {span=>
            const _: () = {
                if let ::core::option::Option::Some(message) = #call {
                    ::core::panic!("{}", message.as_str());
                }
            };
        }
    };
    let shown = field
        .field
        .access
        .as_ref()
        .is_none_or(|access| access.value == Access::ReadOnly);
    // Never called: that it compiles is what is asked.
    let typed = |statements: TokenStream| quote!(const _: fn() = || { #statements };);
    let by = |of: &TokenStream, by: Option<&Ident>| match by {
        None => TokenStream::new(),
        Some(by) => {
            let paths = paths(target, of, by.span());
            quote_spanned!(by.span()=> #odm::check::parent_path::<#this, _, _, _, _>(#paths.#by);)
        }
    };
    let orders = |keys: &[Key], of: &TokenStream| -> TokenStream {
        let keys = keys.iter().filter_map(|key| {
            let [key] = key.path.as_slice() else { return None };
            let name = key.unraw().to_string();
            Some(constant(
                key.span(),
                quote_spanned!(key.span()=> #odm::check::orders::<#of>(#name, #owner, #rust, #text)),
            ))
        });
        keys.collect()
    };
    match copy {
        Copy::Field(copy) => {
            let Some(Through {
                ty: reference,
                document,
                ..
            }) = through(target, copy)
            else {
                return TokenStream::new();
            };
            let (source, name) = (&copy.field, copy.field.unraw().to_string());
            let paths = paths(target, &document, source.span());
            let source = quote_spanned!(source.span()=> #paths.#source);
            let call = match field.serde.with {
                None => quote_spanned!(ty.span()=> copied),
                Some(_) => quote_spanned!(ty.span()=> copied_with_codec),
            };
            let typed = typed(
                quote_spanned!(ty.span()=> #odm::check::source::<#reference, _, _, _, _>(#source).#call::<#ty>();),
            );
            let within = super::reference::holds_volatile(target, field);
            let worth = constant(
                copy.field.span(),
                quote_spanned! {copy.field.span()=>
                    #odm::check::copyable::<#document>(#name, #owner, #rust, #text, #within, #shown)
                },
            );
            quote!(#typed #worth)
        }
        Copy::Entry(entry) => {
            let (item, of) = (item(field), path(&entry.of));
            let name = ty::text(item);
            constant(
                item.span(),
                quote_spanned!(item.span()=> #odm::check::has_reference::<#item, #of>(#owner, #rust, #text, #name)),
            )
        }
        Copy::Subset(subset) => {
            let of = path(&subset.of);
            let by = by(&of, subset.by.as_ref());
            let typed = (!by.is_empty()).then(|| typed(by));
            let ids = constant(
                ty.span(),
                quote_spanned!(ty.span()=> #odm::check::with_id::<#ty, #of>(#owner, #rust, #text)),
            );
            let order = orders(&subset.order.value, &of);
            quote!(#typed #ids #order)
        }
        Copy::Computed(computed) => {
            let of = path(&computed.of);
            let is_document = is_document(target, &computed.of);
            let by = by(&of, computed.by.as_ref());
            let by = quote!(#is_document #by);
            let Some(source) = &computed.field else {
                return typed(quote_spanned!(ty.span()=> #odm::check::count::<#ty>(); #by));
            };
            let name = source.unraw().to_string();
            let within = super::reference::holds_volatile(target, field);
            // A sum and an average tell no value of a child.
            let shown = shown && !matches!(computed.operation, Operation::Sum | Operation::Avg);
            let worth = constant(
                source.span(),
                quote_spanned! {source.span()=>
                    #odm::check::derivable::<#of>(#name, #owner, #rust, #text, #within, #shown)
                },
            );
            let paths = paths(target, &of, source.span());
            let source = quote_spanned!(source.span()=> #paths.#source);
            let call = match computed.operation {
                Operation::Avg => quote_spanned!(ty.span()=> average),
                Operation::Sum => quote_spanned!(ty.span()=> sum),
                _ => quote_spanned!(ty.span()=> of_one),
            };
            let typed = typed(quote_spanned!(ty.span()=> #odm::check::of_child(#source).#call::<#ty>(); #by));
            let order = orders(&computed.order, &of);
            quote!(#typed #worth #order)
        }
    }
}

/// The struct of copies that the field holds.
pub fn item<'a>(field: &Field<'a>) -> &'a Type {
    ty::single(field.ty)
}

/// The structs that `fields(…)` makes.
pub fn define(container: &Container, vis: &Visibility, krate: &Path, derives: &[Path]) -> TokenStream {
    let mut names: Vec<String> = Vec::new();
    container
        .all_fields()
        .into_iter()
        .filter_map(|field| {
            let (of, fields, consistency, reference) = match field.copy.as_ref()? {
                Copy::Entry(Entry {
                    of,
                    fields,
                    consistency,
                    reference,
                    ..
                }) => (of, fields.as_ref()?, consistency.as_ref(), Some(reference)),
                Copy::Subset(subset) => (&subset.of, subset.fields.as_ref()?, None, None),
                _ => return None,
            };
            let Type::Path(path) = ty::plain(item(field)) else {
                return None;
            };
            let ident = path.path.get_ident()?;
            // Two fields of one struct are one struct; that they list the same is left to the compiler, which names it.
            if names.contains(&ident.to_string()) {
                return None;
            }
            names.push(ident.to_string());
            let owner = container.ident;
            Some(define_one(
                ident,
                owner,
                of,
                fields,
                consistency,
                reference,
                vis,
                krate,
                derives,
            ))
        })
        .collect()
}

#[allow(clippy::too_many_arguments)]
fn define_one(
    alias: &Ident,
    owner: &Ident,
    of: &Path,
    fields: &Fields,
    consistency: Option<&At<Consistency>>,
    reference: Option<&Reference>,
    vis: &Visibility,
    krate: &Path,
    derives: &[Path],
) -> TokenStream {
    let odm = quote!(#krate::__private);
    // Another document may make a struct of the same name: then the alias is what exists twice, and not all that is
    // implemented for the struct.
    let ident = &format_ident!("{}Of{}", alias.unraw(), owner.unraw(), span = alias.span());
    let called = alias.unraw().to_string();
    // The compiler says that it exists twice, which is all that it says: so it says what to do.
    let twice = format_ident!(
        "{called}_is_made_twice__rename_it_in_one_of_the_two_fields__or_list_its_fields_in_one_of_them_only",
        span = alias.span()
    );
    let serde = ty::text(quote!(#odm::serde));
    let name = ty::text(of);
    let doc = format!("Copies of fields of a [`{name}`], with the reference to it.");
    // A fault of the document is reported where it is named.
    let id = at(of.span(), quote!(#krate::Ref<#of>));
    let consistency = consistency.map(|at| {
        let mode = match at.value {
            Consistency::Atomic => quote!(atomic),
            Consistency::Eventual => quote!(eventual),
            Consistency::Snapshot => quote!(snapshot),
        };
        quote!(, consistency = #mode)
    });
    let options = reference.map(|reference| {
        let on_delete = reference.on_delete.as_ref().map(|at| {
            let rule = match at.value {
                OnDelete::Restrict => quote!(restrict),
                OnDelete::Cascade => quote!(cascade),
                OnDelete::Nullify => quote!(nullify),
                OnDelete::Pull => quote!(pull),
                OnDelete::Keep => quote!(keep),
            };
            quote!(on_delete = #rule,)
        });
        let check = reference.check.as_ref().map(|at| {
            let value = at.value;
            quote!(check = #value,)
        });
        let index = reference.index.as_ref().map(|at| {
            let value = at.value;
            quote!(index = #value,)
        });
        quote!(#on_delete #check #index)
    });
    // A field that is listed twice is an error of its own.
    let listed = fields.list.iter().enumerate().filter(|(i, field)| {
        let before = fields.list.iter().take(*i);
        field.ident.as_ref().is_some_and(|name| name != "id")
            && !before.into_iter().any(|other| other.ident == field.ident)
    });
    let listed: Vec<&syn::Field> = listed.map(|(_, field)| field).collect();
    let fields = listed.iter().map(|field| {
        let (attrs, ident, ty) = (&field.attrs, &field.ident, &field.ty);
        let has_doc = attrs.iter().any(|attr| attr.path().is_ident("doc"));
        let doc = ident.as_ref().filter(|_| !has_doc).map(|ident| {
            let doc = format!("A copy of `{name}.{}`.", ident.unraw());
            quote!(#[doc = #doc])
        });
        let has_serde = attrs.iter().any(|attr| attr.path().is_ident("serde"));
        let default = (ty::is_option(ty) && !has_serde).then(|| quote!(#[serde(default)]));
        let with = (!has_serde).then(|| if_serde::field(&odm));
        quote!(#doc #default #with #(#attrs)* pub #ident: #ty,)
    });
    let types: Vec<TokenStream> = std::iter::once(quote!(#krate::Ref<#of>))
        .chain(listed.iter().map(|field| field.ty.to_token_stream()))
        .collect();
    let (bounds, with) = (if_serde::bounds(&odm, &types), if_serde::field(&odm));
    let mut parts = vec![Part::new(format_ident!("id"), parse_quote!(#krate::Ref<#of>))];
    parts.extend(
        listed
            .iter()
            .filter_map(|field| Some(Part::new(field.ident.clone()?, field.ty.clone()))),
    );
    let common = common_traits::implement(&odm, ident, &called, &parts);
    let there = ["Embed", "Serialize", "Deserialize", "Clone", "Debug", "PartialEq"];
    let derives = derives.iter().filter(|path| {
        let last = path.segments.last().map(|last| last.ident.to_string());
        last.is_none_or(|last| !there.contains(&last.as_str()))
    });
    let names = quote_spanned! {alias.span()=>
        #[doc = #doc]
        #vis type #alias = #ident;
        #[doc(hidden)]
        #[allow(dead_code, non_upper_case_globals)]
        const #twice: () = ();
    };
    quote! {
        #names
        #[doc = #doc]
        #[derive(
            #krate::Embed, #odm::serde::Serialize, #odm::serde::Deserialize,
            #(#derives,)*
        )]
        #[serde(crate = #serde, rename = #called)]
        #bounds
        #[embed(crate = #krate, __alias = #called)]
        #[denormalize(from = #of #consistency)]
        #vis struct #ident {
            #[doc = "The document that they are of."]
            #[reference(#options)]
            #with
            pub id: #id,
            #(#fields)*
        }
        #common
    }
}

/// The implementation for a struct with `#[denormalize(from = T)]`.
pub fn implement(target: &Target) -> TokenStream {
    let Some(copies) = &target.container.copies else {
        return TokenStream::new();
    };
    let (odm, this) = (&target.odm, &target.this);
    let of = path(&copies.of);
    let id = target.fields.iter().find(|field| field.reference.is_some());
    let copied = target.fields.iter().map(|field| {
        let (name, rust) = (&field.name, &field.rust);
        let source = match field.reference {
            Some(_) => quote!("_id"),
            None => quote!(#odm::check::stored::<#of>(#rust)),
        };
        quote!(#odm::CopiedField { name: #name, source: #source })
    });
    let copy_of = quote! {
        #[automatically_derived]
        impl #odm::CopyOf<#of> for #this {
            const COPIED: &'static [#odm::CopiedField] = &[#(#copied),*];
        }
    };
    // The reference says so of what it refers to.
    let entry = match id {
        Some(id) => entry(target, &of, &id.name),
        None => {
            let is_document = is_document(target, &copies.of);
            quote!(const _: fn() = || { #is_document };)
        }
    };
    quote!(#copy_of #entry)
}

fn entry(target: &Target, of: &TokenStream, name: &str) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let mut generics = target.container.generics.clone();
    let document = generics::with_type(&mut generics, odm, "__Of", of);
    let predicates = &mut generics.make_where_clause().predicates;
    predicates.push(parse_quote!(#document: #odm::NamedDocument));
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Entry for #this #where_clause {
            type Of = #document;
            const ID: &'static str = #name;
        }
        #[automatically_derived]
        impl #odm::Pointer for #this {
            const TARGETS: &'static [#odm::TargetMeta] = <#this as #odm::Entry>::TARGETS_OF;
            const UNION: bool = false;
            const WITHIN: ::core::option::Option<&'static str> =
                ::core::option::Option::Some(<#this as #odm::Entry>::ID);
        }
        #odm::reference_of_one!([] #this);
        #[automatically_derived]
        impl #odm::check::ToDocuments for #this {}
    }
}

/// The same of a struct with errors, so that nothing else is reported of it.
pub fn implement_anyway(container: &Container, krate: &Path) -> TokenStream {
    let Some(copies) = &container.copies else {
        return TokenStream::new();
    };
    let target = Target::new(container, Some(krate.clone()));
    let (odm, this) = (&target.odm, &target.this);
    let of = path(&copies.of);
    let id = target.fields.iter().find(|field| field.reference.is_some());
    let entry = id.map(|id| entry(&target, &of, &id.name));
    quote! {
        impl #odm::CopyOf<#of> for #this {
            const COPIED: &'static [#odm::CopiedField] = &[];
        }
        #entry
    }
}
