//! The constants of a shard key, and the index that it needs.

use super::Target;
use super::index::const_name;
use crate::attr::document::Document;
use crate::attr::index::{Collation, Index, Key, Kind};
use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

/// The shard key of the collection, with stored names.
pub fn meta(target: &Target, document: &Document) -> TokenStream {
    let odm = &target.odm;
    let Some(declared) = &document.shard_key else {
        return quote!(::core::option::Option::None);
    };
    let fields = declared.keys.iter().map(|key| {
        let (path, hashed) = (const_name(target, &key.path), key.kind == Kind::Hashed);
        quote!(#odm::ShardKeyField { path: #path, hashed: #hashed })
    });
    quote!(::core::option::Option::Some(&#odm::ShardKeyMeta { fields: &[#(#fields),*] }))
}

/// The index that a shard key needs, where none begins with the key.
///
/// MongoDB takes one that holds all documents, and compares texts byte by byte. Where there is another one on the same fields, which two
/// indexes can't have on every server, `_id` follows.
pub fn index(target: &Target, document: &Document) -> Option<Index> {
    let declared = document.shard_key.as_ref()?;
    let id = target
        .fields
        .iter()
        .find(|field| target.container.roles.is_id(field))?
        .ident()?;
    let is_id = |key: &Key| key.path.len() == 1 && key.path.first() == Some(id);
    if let [key] = declared.keys.as_slice()
        && is_id(key)
        && key.kind == Kind::Ascending
    {
        return None;
    }
    let collation = document
        .collation
        .as_ref()
        .filter(|one| one.locale.value() != "simple");
    let on_fields = target.fields.iter().flat_map(|field| &field.indexes);
    let mut others: Vec<(&[Key], bool)> = on_fields
        .chain(&document.indexes)
        .map(|index| {
            let is_simple = match &index.collation {
                Some(own) => own.locale.value() == "simple",
                None => collation.is_none(),
            };
            let leaves_out_deleted = index.unique.is_some() && document.soft_delete.is_some();
            let holds_all = index.sparse.is_none() && index.partial.is_none() && !leaves_out_deleted;
            (index.keys.as_slice(), is_simple && holds_all)
        })
        .collect();
    let referred_once: Vec<Key> = target
        .fields
        .iter()
        .filter(|field| field.reference.as_ref().is_some_and(|one| one.one.is_some()))
        .filter_map(|field| {
            Some(Key {
                path: vec![field.ident()?.clone()],
                kind: Kind::Ascending,
            })
        })
        .collect();
    let is_unique_index_whole = collation.is_none() && document.soft_delete.is_none();
    others.extend(
        referred_once
            .iter()
            .map(|key| (std::slice::from_ref(key), is_unique_index_whole)),
    );
    let begins = |keys: &[Key]| {
        let same = |(a, b): (&Key, &Key)| a.path == b.path && a.kind == b.kind;
        keys.len() >= declared.keys.len() && declared.keys.iter().zip(keys).all(same)
    };
    if others.iter().any(|(keys, serves)| *serves && begins(keys)) {
        return None;
    }
    let mut keys = declared.keys.clone();
    let is_taken = others
        .iter()
        .any(|(other, _)| other.len() == keys.len() && begins(other));
    if is_taken && !keys.iter().any(is_id) {
        keys.push(Key {
            path: vec![id.clone()],
            kind: Kind::Ascending,
        });
    }
    Some(Index {
        collation: collation.map(|one| Collation {
            locale: LitStr::new("simple", one.locale.span()),
            strength: 3,
            numeric_ordering: false,
        }),
        ..Index::new(declared.span, keys)
    })
}
