//! Claims: the documents of the library that hold the values of keys with `unique(global)`.
//!
//! Each collection whose documents have such a key has a collection of claims beside it, `_odm_claims.users` of `users`, with its
//! collation: the server compares the values of claims as it compares those of the documents. The `_id` of a claim has the fields of
//! the key with their values, so that the server takes one claim for each value.

use crate::model::document::{CollationMeta, DocumentMeta, IndexKey, IndexKind, IndexMeta};
use crate::model::meta::names::{escaped, meet};
use crate::model::meta::shard_key::{ShardKeyField, ShardKeyMeta};
use crate::model::meta::{Bounds, FieldMeta, Shape, StructShape};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, doc};

/// In a claim: the `_id` of the document that has the values.
pub(crate) const OWNER: &str = "owner";

/// In a claim: the values of the other fields of the owner's shard key, where one is declared.
pub(crate) const OWNER_KEY: &str = "key";

/// In a claim: how often it was written. Each write of a document that has the values raises it, so that whoever removes a claim meets
/// the write.
pub(crate) const WRITES: &str = "writes";

/// By its owner an audit, and the reconciler, find the claims of a document that is gone.
const BY_OWNER: &[IndexMeta] = &[IndexMeta::on(&[IndexKey {
    path: || OWNER,
    kind: IndexKind::Ascending,
}])];

const BY_ID: &ShardKeyMeta = &ShardKeyMeta {
    fields: &[ShardKeyField {
        path: "_id",
        hashed: false,
    }],
};

const FIELDS: &[FieldMeta] = &[
    FieldMeta::opaque("id", "_id", "Bson"),
    FieldMeta::opaque("owner", OWNER, "Bson"),
    FieldMeta::value::<i64>("writes", WRITES, "i64", Bounds::NONE),
];

impl DocumentMeta {
    /// The constants of the claims of documents with this collation, which may have a shard key. Claims of sharded documents are sharded by their `_id`,
    /// which each statement names, but for those under a collation, whose text values no shard key may have.
    #[doc(hidden)]
    pub const fn of_claims(
        collection: &'static str,
        collation: Option<CollationMeta>,
        is_sharded: bool,
    ) -> DocumentMeta {
        DocumentMeta {
            shard_key: if is_sharded && collation.is_none() {
                Some(BY_ID)
            } else {
                None
            },
            name: "Claim",
            collection,
            collation,
            shape: || {
                Shape::Struct(&StructShape {
                    ty: None,
                    name: "Claim",
                    fields: FIELDS,
                    deny_unknown: false,
                })
            },
            indexes: BY_OWNER,
            ..DocumentMeta::STAND_IN
        }
    }
}

/// The name of the declaration that such documents have claims, one for all their keys.
pub(crate) fn claims_name(holder: &DocumentMeta) -> String {
    format!("{}: claims", holder.collection)
}

/// A key that is unique over all shards.
#[derive(Clone, Debug)]
pub(crate) struct GlobalKey {
    /// The documents that have it.
    pub(crate) holder: &'static DocumentMeta,
    /// Their claims.
    pub(crate) claims: &'static DocumentMeta,
    pub(crate) index: &'static IndexMeta,
    /// Its fields, in the order of the index.
    pub(crate) paths: Vec<&'static str>,
}

impl GlobalKey {
    /// The name of the index, which a refusal has.
    pub(crate) fn index_name(&self) -> String {
        let parts = self.index.keys.iter().zip(&self.paths).map(|(key, path)| {
            let direction = if key.kind == IndexKind::Descending { -1 } else { 1 };
            format!("{path}_{direction}")
        });
        let by_default = || parts.collect::<Vec<_>>().join("_");
        self.index.name.map_or_else(by_default, str::to_owned)
    }

    /// `users: unique(email)`
    pub(crate) fn name(&self) -> String {
        format!("{}: unique({})", self.holder.collection, self.paths.join(", "))
    }

    /// The fields on which the claim of a document depends.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &'static str> {
        let of_shard_key = self.owner_fields();
        let own = self.paths.iter().copied().chain(self.holder.soft_delete);
        own.chain(of_shard_key)
    }

    /// Whether a change of this field may change the claim.
    pub(crate) fn is_of(&self, field: &str) -> bool {
        self.reads().any(|read| meet(read, field))
    }

    /// The fields of the shard key that a claim has beside the `_id` of its owner.
    fn owner_fields(&self) -> impl Iterator<Item = &'static str> + use<> {
        let fields = self.holder.shard_key.map_or(&[][..], |key| key.fields);
        fields
            .iter()
            .map(|field| field.path)
            .filter(|path| *path != "_id")
    }

    /// The values that a document claims, as the `_id` of its claim. `None` where it claims nothing: a field is missing or `null`, or the
    /// document is deleted and kept.
    pub(crate) fn value(&self, document: &RawDocument) -> Option<Document> {
        let deleted_at = self.holder.soft_delete.and_then(|name| at(document, name));
        if deleted_at.is_some() {
            return None;
        }
        self.values_of(|path| Bson::try_from(at(document, path)?).ok())
    }

    /// The `_id` of the claim on the values that these fields have, where each has one.
    pub(crate) fn values_of(&self, value: impl Fn(&str) -> Option<Bson>) -> Option<Document> {
        let fields = self.paths.iter().map(|path| Some((escaped(path), value(path)?)));
        fields.collect()
    }

    /// The values in the fields of a claim, by the names of the document's fields.
    pub(crate) fn fields_of(&self, claim: &Document) -> Document {
        let values = self.paths.iter().zip(claim.values());
        values
            .map(|(path, value)| ((*path).to_owned(), value.clone()))
            .collect()
    }

    /// Whether a claim with this `_id` is one of this key.
    pub(crate) fn has_claim(&self, claim: &Document) -> bool {
        let names = self.paths.iter().map(|path| escaped(path));
        claim.keys().cloned().eq(names)
    }

    /// The part of a claim that says on which shard its owner is. `None` where no shard key is declared.
    pub(crate) fn owner_key(&self, document: &RawDocument) -> Option<(&'static str, Document)> {
        let fields = self.owner_fields().map(|path| {
            let value = at(document, path).and_then(|value| Bson::try_from(value).ok());
            (escaped(path), value.unwrap_or(Bson::Null))
        });
        let key: Document = fields.collect();
        (!key.is_empty()).then_some((OWNER_KEY, key))
    }

    /// The condition of the owner, as far as a claim names its shard.
    pub(crate) fn owner_condition(&self, claim: &RawDocument) -> Document {
        let key = claim.get_document(OWNER_KEY).ok();
        let fields = self.owner_fields().filter_map(|path| {
            let value = key?.get(escaped(path)).ok()??;
            let value = Bson::try_from(value).ok()?;
            Some((path.to_owned(), Bson::from(doc! { "$eq": value })))
        });
        fields.collect()
    }
}

/// The value at a dotted name, outside of arrays, that is neither missing nor `null`.
fn at<'d>(document: &'d RawDocument, name: &str) -> Option<RawBsonRef<'d>> {
    let mut parts = name.split('.');
    let mut value = document.get(parts.next()?).ok()??;
    for part in parts {
        value = value.as_document()?.get(part).ok()??;
    }
    Some(value).filter(|value| !matches!(value, RawBsonRef::Null | RawBsonRef::Undefined))
}
